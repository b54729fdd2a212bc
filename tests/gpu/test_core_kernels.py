"""Parts of the core method's kernels, each in a small program of its own."""

from __future__ import annotations

import emulated_toolkit
import numpy as np
import pytest

from lapwing.gpu import compile as compiler
from lapwing.gpu import launch
from lapwing.gpu.core import workspace_bytes
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import Program


@pytest.fixture
def build(gpu, monkeypatch, tmp_path):
    """Compiles kernels that include some of the package's."""

    def built(source, dtype, threads):
        for path in compiler.KERNELS.glob("*.cuh"):
            (tmp_path / path.name).write_text(path.read_text())
        name = source.partition("void ")[2].partition("(")[0]
        (tmp_path / f"{name}.cu").write_text(source)
        program = Program(name, f"{name}.cu", (name,), {"COST": (dtype,)}, {"THREADS": threads})
        monkeypatch.setattr(compiler, "KERNELS", tmp_path)
        monkeypatch.setattr(emulated_toolkit, "PROGRAMS", (program,))
        monkeypatch.setattr(launch, "_loaded", {})
        return kernels(gpu.context, program, program.variant(COST=dtype))[name]

    return built


CARVING = """
#include "core_orders.cuh"
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
        assert taken <= planned <= 1.02 * taken + 20_000


CAPPING = """
#include "core_tasks.cuh"
extern "C" __global__ void cap(uint64* distance, int32* cols, int64 count, int64 wanted, uint64* answer) {
    Shared& memory = shared();
    if (threadIdx.x == 0) {
        memory.state.distance = distance;
        memory.state.free_cols = cols;
    }
    __syncthreads();
    find_cap(Team{memory.state, memory.desk.counts, false, 1}, memory.scratch, count, wanted);
    __syncthreads();
    if (threadIdx.x == 0) *answer = memory.desk.counts.answer;
}
"""


@pytest.mark.parametrize("kind", ["floats", "ties", "equal", "far"])
def test_the_cap_is_the_distance_of_the_last_column_wanted(gpu, kind, build):
    cap = build(CAPPING, "float32", 64)
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
            cap.launch(gpu.context, 1, 64, distance.pointer, at.pointer, count, wanted, answer.pointer)
            assert gpu.get(answer).view(np.uint64)[0] == np.sort(keys)[wanted - 1]
