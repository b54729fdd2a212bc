"""Files larger than memory: the dense problem's answer, and files that change."""

from __future__ import annotations

import mmap
import os
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import lapwing as lw
from lapwing.costs.streamed import FileRows
from support.checks import assert_optimal
from support.strategies import matrices

pytestmark = pytest.mark.skipif(not hasattr(os, "preadv"), reason="needs preadv")


def mapped(folder, cost, mode="r", order="C"):
    path = folder / "cost.npy"
    np.save(path, cost if order == "F" else np.ascontiguousarray(cost))
    return np.load(path, mmap_mode=mode)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cost=matrices(
        dtypes=[np.float16, np.float32, np.float64, np.bool_, np.int8, np.uint16, np.uint32, np.int32, np.int64],
        layouts=("C", "big-endian"),
    ),
    maximize=st.booleans(),
    priced=st.booleans(),
    method=st.sampled_from(["auto", "core"]),
)
def test_as_the_dense_problem(tmp_path, cost, maximize, priced, method):
    if cost.shape[0] > cost.shape[1]:
        priced = True
    price = float(np.rint(np.median(cost))) if priced else None
    matrix = mapped(tmp_path, cost)
    result = lw.solve(matrix, maximize=maximize, unmatched_cost=price, method=method, memory_limit=0)
    assert result.plan.tier == "streamed"
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert result.u.dtype == lw.solve(cost).u.dtype


@pytest.mark.parametrize("cls", ["uniform", "geometric"])
@pytest.mark.parametrize("limit", [0, "2MB", "1GB"])
@pytest.mark.parametrize("threads", [1, 2])
def test_larger_problems(tmp_path, cls, limit, threads):
    cost = lw.instances.generate(cls, 1200, 1).astype(np.float32)
    matrix = mapped(tmp_path, cost)
    result = lw.solve(matrix, memory_limit=limit, threads=threads)
    assert result.plan.tier == ("dense" if limit == "1GB" else "streamed")
    assert result.objective == lw.solve(cost).objective and result.certificate.exact
    assert lw.certify(matrix, result.row_to_col, result.u, result.v, memory_limit=limit).exact


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_parts_of_maps_with_what_was_written_to_them(tmp_path, mode):
    cost = np.random.default_rng(0).random((700, 900))
    matrix = mapped(tmp_path, cost, mode)
    if mode != "r":
        matrix[5, :] = cost[5, :] = 0.25
    for part in (np.s_[:], np.s_[100:], np.s_[3:500, 7:], np.s_[::3], np.s_[:, :700]):
        result = lw.solve(matrix[part], method="core", memory_limit=0)
        assert result.plan.tier == "streamed"
        assert_optimal(result, cost[part])


def test_what_is_no_map_of_a_file_stays_in_memory(tmp_path):
    cost = np.random.default_rng(0).random((40, 50))
    matrix = mapped(tmp_path, cost)
    for array in (matrix * 2, matrix + 0, np.asarray(matrix).copy()):
        assert_optimal(lw.solve(array), np.asarray(array))
    assert_optimal(lw.solve(matrix * 2, memory_limit=0), cost * 2)


def test_fortran_order(tmp_path):
    tall = np.random.default_rng(0).random((60, 40))
    matrix = mapped(tmp_path, np.asfortranarray(tall), order="F")
    with pytest.raises(lw.ArgumentError, match=r"19200 bytes, above memory_limit=5000.*solve its transpose, cost\.T"):
        lw.solve(matrix, memory_limit=5000)
    result = lw.solve(matrix.T, memory_limit=5000)
    assert result.plan.tier == "streamed"
    assert_optimal(result, tall.T)


def test_tall_files_are_refused(tmp_path):
    matrix = mapped(tmp_path, np.random.default_rng(0).random((60, 40)))
    with pytest.raises(lw.ArgumentError, match="more rows than columns; supply the rows of the transposed"):
        lw.solve(matrix, memory_limit=0)
    assert lw.solve(matrix, memory_limit="1GB").status == "optimal"


def test_invalid_costs_are_named(tmp_path):
    cost = np.random.default_rng(0).random((1100, 1200)).astype(np.float16)
    cost[777, 3] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[777, 3\] is nan"):
        lw.solve(mapped(tmp_path, cost), memory_limit=0)
    with pytest.raises(lw.DtypeError, match="uint64 costs cannot be streamed"):
        lw.solve(mapped(tmp_path, np.ones((3, 3), np.uint64)), memory_limit=0)
    with pytest.raises(lw.DtypeError, match="complex128"):
        lw.solve(mapped(tmp_path, np.ones((3, 3), complex)), memory_limit=0)
    with pytest.raises(lw.ArgumentError, match="memory_limit must be a size like"):
        lw.solve(cost, memory_limit="lots")


# --- files that change ----------------------------------------------------------------------------


def test_a_truncated_file(tmp_path):
    matrix = mapped(tmp_path, np.random.default_rng(0).random((1100, 1100)))
    os.truncate(matrix.filename, 128 + 1000 * 1100 * 8)
    with pytest.raises(lw.ArgumentError, match=r"cost\.npy ends before row 1099.*truncated"):
        lw.solve(matrix, memory_limit=0)


@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_a_truncated_file_that_would_be_read_in_place(tmp_path, mode):
    """To read a page of a map behind the end of its file ends the process."""
    matrix = mapped(tmp_path, np.random.default_rng(0).random((300, 300)), mode)
    assert lw.solve(matrix).certificate.bound < 1e-9
    os.truncate(matrix.filename, 100_000)
    words = r"behind the mapped matrix has 100000 bytes.*truncated.*map it again"
    for view in (matrix, np.asarray(matrix), np.asarray(matrix).T[::2]):
        for call in (lw.solve, lw.plan, lw.linear_sum_assignment, lambda cost: lw.solve_batch(cost[None])):
            with pytest.raises(lw.ArgumentError, match=words):
                call(view)
    bytes_of_file = np.frombuffer(matrix._mmap, np.uint8)
    with pytest.raises(lw.ArgumentError, match=words):
        lw.solve(bytes_of_file.reshape(-1, 8))
    with pytest.raises(lw.ArgumentError, match=words):  # small enough for the compiled path
        lw.linear_sum_assignment(bytes_of_file[128:].view(np.float64)[-100:].reshape(10, 10))
    if mode == "c":
        with pytest.raises(lw.ArgumentError, match="truncated"):
            lw.solve(matrix, memory_limit=0)


def test_what_else_may_be_in_a_truncated_file(tmp_path):
    """Prices, duals, points, parts of sparse matrices, problems of a batch."""
    whole = mapped(tmp_path, np.random.default_rng(0).random((100, 100)))
    vector, points = whole.reshape(-1)[-50:], whole.reshape(-1)[-100:].reshape(50, 2)
    cost = np.random.default_rng(1).random((50, 50))
    entries = sparse.csr_array(cost)
    entries.data = whole.reshape(-1)[-2500:]
    index = sparse.coo_array(cost)
    index.coords = (whole.view(np.int64).reshape(-1)[-2500:], index.coords[1])
    result = lw.solve(cost)
    ways = (
        lambda: lw.solve(cost, unmatched_cost=vector),
        lambda: lw.solve(cost, start=(vector, np.zeros(50))),
        lambda: lw.certify(cost, result.row_to_col, vector, result.v),
        lambda: lw.solve(lw.costs.squared_euclidean(points, np.zeros((50, 2)))),
        lambda: lw.solve(lw.costs.expression("abs(x0 - y0)", np.zeros((50, 2)), points)),
        lambda: lw.solve(entries),
        lambda: lw.solve(index),
        lambda: lw.solve(memoryview(whole)),
        lambda: lw.solve_batch([cost, whole[-3:]]),
        lambda: lw.solve_batch(whole[-50:].reshape(50, 10, 10), unmatched_cost=vector),
    )
    os.truncate(whole.filename, 1000)
    for way in ways:
        with pytest.raises(lw.ArgumentError, match="truncated"):
            way()


def test_maps_of_no_file():
    memory = mmap.mmap(-1, 800)
    cost = np.frombuffer(memory, np.float64).reshape(10, 10)
    assert lw.solve(cost).objective == 0


def test_a_file_that_is_gone_or_another(tmp_path):
    matrix = mapped(tmp_path, np.random.default_rng(0).random((50, 50)))
    kept = tmp_path / "kept.npy"
    os.rename(matrix.filename, kept)
    with pytest.raises(lw.ArgumentError, match="is gone since it was mapped"):
        lw.solve(matrix, memory_limit=0)
    np.save(matrix.filename, np.random.default_rng(1).random((50, 50)))
    with pytest.raises(lw.ArgumentError, match="replaced or changed since it was mapped"):
        lw.solve(matrix, memory_limit=0)


def test_a_file_that_changes_while_it_is_read(tmp_path):
    cost = lw.instances.generate("geometric", 1500, 1)
    matrix = mapped(tmp_path, cost)

    def meddle(progress):
        with open(matrix.filename, "r+b") as file:
            file.seek(128)
            file.write(b"\0" * 800)

    with pytest.raises(lw.ArgumentError, match=r"was changed while its costs were being read"):
        while True:
            lw.solve(matrix, memory_limit=0, progress=meddle)


def test_files_are_closed(tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("needs Linux's /proc")
    matrix = mapped(tmp_path, np.random.default_rng(0).random((50, 50)))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        lw.solve(matrix, method="core", memory_limit=0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_plan(tmp_path):
    matrix = mapped(tmp_path, np.zeros((1100, 1200), np.float32))
    plan = lw.plan(matrix, memory_limit="1MB")
    assert (plan.method, plan.tier) == ("core", "streamed") and plan.memory_bytes > 1e6
    with pytest.raises(lw.ArgumentError, match="'jv' reads a matrix, which takes 5.0 MiB"):
        lw.plan(matrix, memory_limit="1MB", method="jv")
    assert "float32, streamed" in str(plan) and "976.6 KiB of them are kept" in str(plan)


def test_files_of_the_costs_own_dtype_are_read_without_python(tmp_path, monkeypatch):
    cost = lw.instances.generate("geometric", 1200, 1).astype(np.float32)
    asked = []
    really = FileRows.__call__
    monkeypatch.setattr(FileRows, "__call__", lambda self, *rows: asked.append(rows) or really(self, *rows))
    for matrix in (mapped(tmp_path, cost), mapped(tmp_path, cost)[5:, 3:]):
        result = lw.solve(matrix, memory_limit="2MB")
        assert_optimal(result, np.asarray(matrix))
        assert result.statistics["requests"] > 100 and not asked
    assert_optimal(lw.solve(mapped(tmp_path, cost.astype(np.float16)), memory_limit=0), cost.astype(np.float16))
    assert asked
