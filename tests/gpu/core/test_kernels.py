"""Parts of the core method's kernels, each in a small program of its own."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pytest

from lapwing.gpu.core.memory import workspace_bytes
from lapwing.gpu.runtime import compile as compiler
from lapwing.gpu.runtime import launch
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import Program
from support import emulated_toolkit


@pytest.fixture
def build(gpu, monkeypatch, tmp_path):
    """Compiles kernels that include some of the package's."""

    def built(source, dtype, threads):
        shutil.copytree(compiler.KERNELS, tmp_path, dirs_exist_ok=True)
        name = source.partition("void ")[2].partition("(")[0]
        (tmp_path / f"{name}.cu").write_text(source)
        program = Program(name, f"{name}.cu", (name,), {"COST": (dtype,)}, {"THREADS": threads})
        monkeypatch.setattr(compiler, "KERNELS", tmp_path)
        monkeypatch.setattr(emulated_toolkit, "PROGRAMS", (program,))
        monkeypatch.setattr(launch, "_loaded", {})
        return kernels(gpu.context, program, program.variant(COST=dtype))[name]

    return built


CARVING = """
#include "costs/matrix.cuh"

#include "core/lists/matrix.cuh"

using Listing = MatrixListing;

extern "C" __global__ void carve(int64 rows, int64 cols, int64* end) {
    State state;
    state.matrix.rows = static_cast<int32>(rows);
    state.matrix.cols = static_cast<int32>(cols);
    state.carve(nullptr);
    *end = reinterpret_cast<int64>(state.end);
}
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_workspace_holds_what_kernels_take(gpu, dtype, build):
    carve = build(CARVING, dtype, 1024)
    for rows, cols in ((1, 1), (5, 1000), (1000, 1000), (100_000, 180_000), (180_000, 180_000)):
        end = gpu.put(np.zeros(1, np.int64))
        carve.launch(gpu.context, 1, 1, rows, cols, end.pointer)
        taken, planned = int(gpu.get(end)[0]), workspace_bytes(rows, cols, dtype)
        # Two prices of listings a column are 4 bytes each for a matrix, 8 for computed costs of 8 bytes.
        assert taken <= planned <= taken + (0 if dtype == "float32" else 8 * cols) + 256


CAPPING = """
#include "costs/matrix.cuh"

#include "core/lists/matrix.cuh"

using Listing = MatrixListing;

#include "core/control/tasks.cuh"
extern "C" __global__ void radius(uint64* distance, int32* cols, int64 count, int64 wanted, uint64* answer) {
    Shared& memory = shared();
    if (threadIdx.x == 0) {
        memory.state.distance = distance;
        memory.state.free_cols = cols;
    }
    __syncthreads();
    find_radius(Team{memory.state, memory.control.counts, false, 1}, memory.scratch, count, wanted);
    __syncthreads();
    if (threadIdx.x == 0) *answer = memory.control.counts.answer;
}
"""


@pytest.mark.parametrize("kind", ["floats", "ties", "equal", "far"])
def test_the_cap_is_the_distance_of_the_last_column_wanted(gpu, kind, build):
    radius = build(CAPPING, "float32", 64)
    random = np.random.default_rng(8)
    for count in (1, 64, 65, 256, 257, 700):  # 64 are ranked; 4 a thread stay in registers
        keys = random.random(count).view(np.uint64)
        if kind in ("ties", "equal"):
            keys = random.integers(0, 9 if kind == "ties" else 1, count).astype(np.uint64)
        if kind == "far":
            keys[random.random(count) < 0.5] = 2**64 - 1
        cols = random.permutation(count).astype(np.int32)
        distance, at, answer = (gpu.put(array) for array in (keys, cols, np.zeros(1, np.uint64).view(np.int64)))
        for wanted in {1, count // 2 + 1, count - count // 8, count}:
            radius.launch(gpu.context, 1, 64, distance.pointer, at.pointer, count, wanted, answer.pointer)
            assert gpu.get(answer).view(np.uint64)[0] == np.sort(keys)[wanted - 1]


LISTING = """
#include "costs/matrix.cuh"

#include "core/lists/matrix.cuh"

using Listing = MatrixListing;

extern "C" __global__ __launch_bounds__(THREADS)
    void NAME(const Cost* cost, int64 pitch, int64 rows, int64 cols, int64 maximize, Dual* v, unsigned char* workspace,
              int32* list_col, Dual* tau) {
    State& state = shared().state;
    if (threadIdx.x == 0) {
        state.matrix = {{cost, pitch}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, nullptr};
        state.v = v;
        state.carve(workspace);
        state.list_col = list_col;
        state.tau = tau;
    }
    __syncthreads();
    lower_all_prices(Team{state, shared().control.counts, false, 1});
    for (int32 i = 0; i < rows; ++i) LISTING;
}
"""


def build_listing(build, dtype, again):
    """A kernel that lists all rows, and how many threads it has."""
    at_first = "__syncthreads_or(make_list<true>(state.matrix, i))"
    name, listing, threads = ("relisted", "relist_row(i)", 512) if again else ("listed", at_first, 256)
    return build(LISTING.replace("NAME", name).replace("LISTING", listing), dtype, threads), threads


def draw_rows(kind, shape, dtype, random):
    """Costs whose lists are hard to tell, each kind in another way."""
    cost = random.random(shape)
    if kind == "near ties":
        cost = random.random(shape[1]) + random.random((shape[0], 1)) + 0.1
    if kind == "forbidden":
        cost[random.random(shape) < 0.9] = np.inf
    if kind == "falling":
        cost = np.sort(cost, axis=1)[:, ::-1]
    if kind == "side by side":
        cost = abs(np.arange(shape[1]) / shape[1] - random.random((shape[0], 1))) ** 1.5 / 2 + cost / 100
    if np.dtype(dtype).kind == "i":
        scale = {"ties": 40, "equal": 1, "large": 1e6, "near ties": 9e8}.get(kind, 2e9)
        return (scale * (cost - (kind == "uniform") / 2) + (kind == "large") * 2e9).astype(dtype)
    scale, offset = {"ties": (1, 0), "equal": (0, 3), "large": (1, 1e9)}.get(kind, (1, 0))
    return ((np.floor(40 * cost) if kind == "ties" else scale * cost) + offset).astype(dtype)


@pytest.mark.parametrize("again", [False, True], ids=["at first", "again"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_lists_are_the_nearest_columns_in_order(gpu, dtype, again, build):
    """With 256 threads a row at first, with the team's again: against NumPy, on rows of more than one piece, too."""
    kernel, threads = build_listing(build, dtype, again)
    random = np.random.default_rng(3)
    dual = "int64" if dtype == "int32" else "float64"
    far = 2**62 - 1 if dtype == "int32" else np.inf
    kinds = ["uniform", "near ties", "ties", "equal", "large", "falling", "side by side"]
    kinds += ["forbidden"] * (dtype != "int32")
    shapes = (2, 5), (3, 33), (2, 640), (2, 8200), (1, 9001)
    for kind, (rows, cols), maximize in itertools.product(kinds, shapes, (0, 1)):
        cost = draw_rows(kind, (rows, cols), dtype, random)
        cost = -cost if maximize else cost
        minimised = -cost.astype(dual) if maximize else cost.astype(dual)
        with np.errstate(invalid="ignore"):
            v = np.where(minimised.min(axis=0) < far, minimised.min(axis=0), 0).astype(dual)
        if kind == "uniform":
            v -= (random.random(cols) / 3).astype(dual)  # not on the costs' grid
        x = minimised - v
        given, prices = gpu.put(cost), gpu.put(v)
        workspace = gpu.put(np.zeros(workspace_bytes(rows, cols, dtype), np.uint8))
        lists, tau = gpu.put(np.zeros((rows, 32), np.int32)), gpu.put(np.zeros(rows, dual))
        size = (given.pointer, cols, rows, cols, maximize, prices.pointer)
        kernel.launch(gpu.context, 1, threads, *size, workspace.pointer, lists.pointer, tau.pointer)
        for i in range(rows):
            first = i * cols // rows
            order = np.lexsort(((np.arange(cols) - first) % cols, x[i]))
            order = order[x[i][order] < far]
            said, bound = gpu.get(lists)[i], gpu.get(tau)[i]
            length = np.count_nonzero(said >= 0)
            assert (said[length:] == -1).all()
            if kind in ("near ties", "large") and length < min(32, len(order)):  # what ties as floats alone is left out
                assert length >= 16 and np.float32(bound) == bound
                assert np.count_nonzero(abs(x[i] - bound) <= np.spacing(np.float32(bound))) > 128
                order = order[np.isin(order, said) | (x[i][order] < bound)]
                assert (np.delete(x[i], said[:length]) >= bound).all()
            else:
                assert length == min(32, len(order))
                assert bound == (x[i][order[32]] if len(order) > 32 else far)
            assert said[:length].tolist() == order[:length].tolist()


@pytest.mark.parametrize("again", [False, True], ids=["at first", "again"])
def test_lists_of_sums_that_differ_by_rounding_alone(gpu, again, build):
    """More columns than a list has room for cost a row nearly the same: what tau promises holds."""
    kernel, threads = build_listing(build, "float32", again)
    random = np.random.default_rng(4)
    for rows, cols in (40, 2000), (4, 8200), (2, 9001):
        of_rows, of_cols = random.random((rows, 1)), random.random(cols)
        cost = (of_rows + of_cols + 0.1).astype(np.float32)
        v = (of_cols + random.random(cols) / 2**26).astype(np.float32).astype(np.float64)
        x = cost.astype(np.float64) - v
        given, prices = gpu.put(cost), gpu.put(v)
        workspace = gpu.put(np.zeros(workspace_bytes(rows, cols, "float32"), np.uint8))
        lists, tau = gpu.put(np.zeros((rows, 32), np.int32)), gpu.put(np.zeros(rows, np.float64))
        size = (given.pointer, cols, rows, cols, 0, prices.pointer)
        kernel.launch(gpu.context, 1, threads, *size, workspace.pointer, lists.pointer, tau.pointer)
        for i in range(rows):
            said, bound = gpu.get(lists)[i], gpu.get(tau)[i]
            listed = said[said >= 0]
            order = (listed - i * cols // rows) % cols
            assert len(set(listed)) == len(listed) >= 16
            assert (np.lexsort((order, x[i][listed])) == np.arange(len(listed))).all()
            assert (np.delete(x[i], listed) >= bound).all()
            assert x[i][listed[0]] == x[i].min() <= bound
            if again:
                assert (x[i][listed] <= bound).all()


@pytest.mark.parametrize("again", [False, True], ids=["at first", "again"])
def test_a_row_of_many_pieces_that_are_all_nearer_than_the_last(gpu, again, build):
    """More columns pass, 128 of each piece, than there is room to note."""
    kernel, threads = build_listing(build, "float32", again)
    pieces, piece = 36, 8192
    cost = np.zeros((pieces, piece), np.float32)
    cost[:, ::64] = -1 - np.arange(pieces)[:, None]
    cols = cost.size
    given, prices = gpu.put(cost), gpu.put(np.zeros(cols))
    workspace = gpu.put(np.zeros(workspace_bytes(1, cols, "float32"), np.uint8))
    lists, tau = gpu.put(np.zeros((1, 32), np.int32)), gpu.put(np.zeros(1))
    size = (given.pointer, cols, 1, cols, 0, prices.pointer)
    kernel.launch(gpu.context, 1, threads, *size, workspace.pointer, lists.pointer, tau.pointer)
    assert gpu.get(tau)[0] == -pieces
    assert gpu.get(lists)[0].tolist() == ((pieces - 1) * piece + 64 * np.arange(32)).tolist()
