"""The methods of papers on the emulated GPU: Python and kernels together, on small problems.

More of them are solved by cpp/tests/emulation/papers_test.cpp, in less time.
"""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu.kinds import choose
from lapwing.gpu.reference import REFERENCE_METHODS, ReferenceSolve, munkres, ssp
from lapwing.options import STAGES
from lapwing.papers import Column, Instance, Limits, Table, run_table
from lapwing.request import Request
from support import emulated_toolkit
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted, draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """A barrier of 2048 emulated threads takes a while."""
    monkeypatch.setattr(ReferenceSolve, "threads", 64)
    monkeypatch.setattr(ssp.SspSolve, "search_threads", 32)


@pytest.mark.parametrize("method", REFERENCE_METHODS)
@pytest.mark.parametrize("maximize", [False, True])
def test_small_problems(method, maximize):
    for shape, kind in (((1, 7), "uniform"), ((12, 12), "ties"), ((40, 9), "points"), ((45, 45), "uniform")):
        cost = draw(shape, "float32", kind=kind)
        result = lw.solve(np.asfortranarray(cost), device="cuda", method=method, maximize=maximize)
        assert result.plan.method == method and result.plan.device == "cuda:0"
        assert_optimal(result, cost, maximize=maximize)


@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_unmatched_costs(method):
    cost = draw((12, 30), "float32")
    prices = np.random.default_rng(1).integers(-50, 300, 12)
    result = lw.solve(cost, device="cuda", method=method, unmatched_cost=prices)
    assert_optimal(result, cost, unmatched_cost=prices)


@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_forbidden_pairs(method):
    cost = draw((30, 20), "float32")
    cost[np.random.default_rng(1).random(cost.shape) < 0.5] = np.inf
    assert_optimal(lw.solve(cost, device="cuda", method=method), cost)
    cost[3:, :4] = np.inf
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda", method=method)
    assert_hall_violator(caught.value, cost)
    cost[11, 13] = np.nan
    with pytest.raises(lw.InvalidCostError) as named:
        lw.solve(cost, device="cuda", method=method)
    assert (named.value.row, named.value.col) == (11, 13)


@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_no_time_at_all(method):
    assert check_interrupted(draw((20, 30), "float32"), method=method, time_limit=0).status == "time_limit"


@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_what_the_callable_raises_stops_the_solve(method, monkeypatch):
    monkeypatch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
    cost = draw((30, 30), "float32", kind="points")

    def refuse(progress):
        raise LookupError

    with pytest.raises(LookupError):
        lw.solve(cost, device="cuda", method=method, progress=refuse)
    assert emulated_toolkit.BACKGROUND.is_done()
    assert_optimal(lw.solve(cost, device="cuda", method=method), cost)


@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_the_report_is_waited_for(method, monkeypatch):
    """Not what an earlier solve left in the same memory."""
    monkeypatch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
    cost, impossible = draw((30, 30), "float32", kind="points"), np.full((30, 30), np.inf, np.float32)
    for _ in range(2):
        assert_optimal(lw.solve(cost, device="cuda"), cost)
        with pytest.raises(lw.InfeasibleError):
            lw.solve(impossible, device="cuda", method=method)
        assert_optimal(lw.solve(cost, device="cuda", method=method), cost)
    emulated_toolkit.BACKGROUND.wait()


@pytest.mark.parametrize("stage", [None, *STAGES])
def test_every_stage_alone(stage):
    method = lw.Munkres(stages=[stage] if stage else [])
    cost = draw((20, 20), "float32")
    assert_optimal(lw.solve(cost, device="cuda", method=method), cost)


def test_plain_shortest_paths():
    cost = draw((20, 20), "float32")
    result = lw.solve(cost, device="cuda", method=lw.Ssp(pricing=False))
    assert_optimal(result, cost)
    assert result.statistics["phases"] == 1
    with pytest.raises(lw.ArgumentError, match="Ssp.*solved on a CPU"):
        lw.solve(cost, device="cuda", method=lw.Ssp(text="in_order"))


@pytest.mark.parametrize("cls", ["uniform", "geometric", "lowrank:1", "int:1"])
@pytest.mark.parametrize("shape", [(50, 50), (40, 47)])
def test_ssp_reads_the_rows_of_the_cpu(cls, shape):
    """And with the prices of the CPU, to the last bit; it reads each row once more before it starts."""
    cost = instances.generate(cls, shape[0], 1, cols=shape[1], dtype="float32")
    expected, result = (lw.solve(cost, method="ssp", device=device) for device in ("cpu", "cuda"))
    ours, theirs = result.statistics, expected.statistics
    assert ours["phases"] == theirs["phases"]
    assert ours["rows_scanned_start"] == theirs["rows_scanned_start"] + shape[0]
    assert ours["rows_scanned"] == theirs["rows_scanned"] + shape[0]
    assert np.array_equal(result.row_to_col, expected.row_to_col) and np.array_equal(result.v, expected.v)


def test_ssp_with_columns_beyond_shared_memory(monkeypatch):
    monkeypatch.setattr(ssp, "_STATIC_BYTES", emulated_toolkit.SHARED_BYTES)
    cost = draw((30, 40), "float32")
    assert_optimal(lw.solve(cost, device="cuda", method="ssp"), cost)


@pytest.mark.parametrize(("cls", "dtype"), [("uniform", "float32"), ("geometric", "float64"), ("int:1", "int32")])
def test_auctions_with_lists_make_the_same_bids(cls, dtype):
    """And as many phases as on the CPU."""
    cost = instances.generate(cls, 40, 1, dtype=dtype)
    optimised, plain = (lw.solve(cost, device="cuda", method=lw.Auction(name)) for name in ("optimised", "plain"))
    assert_optimal(optimised, cost)
    assert np.array_equal(optimised.row_to_col, plain.row_to_col) and np.array_equal(optimised.v, plain.v)
    ours, theirs = optimised.statistics, plain.statistics
    assert ours["bids"] == theirs["bids"] and ours["auction_left"] == 0
    assert ours["rows_scanned"] < theirs["rows_scanned"]
    assert ours["auction_phases"] == lw.solve(cost, method="auction").statistics["auction_phases"]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_price_wars_end(dtype):
    """Three rows want the same two columns, and the third choice is dear: each bid raises a price by epsilon alone."""
    cost = np.full((12, 12), 10**9, dtype)
    cost[:, :6] = 0
    assert_optimal(lw.solve(cost, device="cuda", method="auction"), cost)


def test_switching(monkeypatch):
    monkeypatch.setattr(munkres, "_LEAST_SHARE", 1)
    cost = draw((50, 50), "float32")
    result = lw.solve(cost, device="cuda", method=lw.Munkres(switch=True, start="regret"))
    assert_optimal(result, cost)
    assert result.statistics["switched"] == 1


def test_slacks_that_need_more_than_four_bytes():
    cost = draw((20, 20), "int32")
    assert lw.solve(cost, device="cuda", method="munkres").statistics["slack_bytes"] == 4
    cost = np.random.default_rng(2).integers(-(2**31), 2**31, (20, 20)).astype(np.int32)
    result = lw.solve(cost, device="cuda", method="munkres")
    assert result.statistics["slack_bytes"] == 8
    assert_optimal(result, cost)


def test_the_plan():
    cost = np.zeros((300, 200), np.float16)
    made = lw.plan(cost, device="cuda", method="munkres")
    assert made.method == "munkres" and made.dtype == "float32"
    assert made.memory_bytes > 8 * 300 * 200 > lw.plan(cost, device="cuda", method="hungarian-tree").memory_bytes
    integers = lw.plan(cost.astype(np.int32), device="cuda", method="munkres")
    assert integers.memory_bytes >= made.memory_bytes  # four bytes a slack may not do
    assert "munkres: the classical Hungarian method on a slack matrix" in str(made)
    with pytest.raises(lw.ArgumentError, match="cannot use start="):
        lw.solve(cost, device="cuda", method="munkres", start=(np.zeros(300), np.zeros(200)))
    with pytest.raises(lw.ArgumentError, match="'core', 'ssp', 'auction', 'hungarian-bfs', 'hungarian-tree'"):
        lw.solve(cost, device="cuda", method="jv")


def test_dtypes_on_a_gpu(gpu, monkeypatch):
    monkeypatch.setattr(choose, "view_if_on_gpu", lambda cost: cost)
    request = Request(method="munkres")
    for dtype in REFERENCE_METHODS["munkres"].dtypes():
        with choose.choose_kind(gpu.put(np.zeros((3, 3), dtype)), "cuda", request) as costs:
            assert costs.plan(request).dtype == dtype
    with pytest.raises(lw.DtypeError, match="takes costs of int32, float32, float64, int64 on a GPU, got int8"):
        choose.choose_kind(gpu.put(np.zeros((3, 3), np.int8)), "cuda", request)


def test_computed_costs_are_for_core():
    points = np.zeros((5, 2))
    with pytest.raises(lw.ArgumentError, match="'munkres' reads a matrix on a GPU"):
        lw.solve(lw.costs.euclidean(points, points), device="cuda", method="munkres")


def test_tables_on_a_gpu(monkeypatch):
    monkeypatch.setattr("lapwing.papers.measure._REPETITIONS", 1)
    columns = (
        Column("a", "munkres"),
        Column("b", "ssp", quantity="rows"),
        Column("c", "jv"),
        Column("d", "munkres", quantity="shares"),
        Column("e", "ssp", quantity="shares"),
        Column("f", "jv", device="cpu"),
    )
    table = Table("t", "lopes", "T", "ms", columns, (Instance("int:1", 15),), 15)
    cells = run_table(table, Limits(device="cuda"))["rows"][0]["cells"]
    assert cells["c"]["remark"] == "not on a GPU" and cells["f"]["value"] > 0
    assert cells["a"]["value"] > 0 and cells["b"]["value"] >= 15
    assert set(cells["d"]["value"]) == {f"step_{k}" for k in range(1, 7)} and cells["e"]["remark"] == "not counted"


@pytest.mark.parametrize("method", ["munkres", lw.Munkres(stages=()), "hungarian-bfs", "hungarian-tree"])
def test_what_the_hungarian_methods_count_and_time(method):
    """As on the CPU where the choice of paths does not matter; times of all steps."""
    cost = instances.generate("int:1", 40, 1, dtype="int32")
    ours, theirs = (lw.solve(cost, method=method, device=device).statistics for device in ("cuda", "cpu"))
    assert ours["matched_before_update"] == theirs["matched_before_update"] == largest_matching_of_zeros(cost)
    early = ours["matched_before_update"]
    assert early + sum(count for name, count in ours.items() if name.startswith("matched_by_")) == 40
    times = [seconds for name, seconds in ours.items() if name.endswith("_seconds")]
    assert all(seconds >= 0 for seconds in times) and sum(times) > 0


def largest_matching_of_zeros(cost):
    """After the reduction of rows, then of columns."""
    slack = cost - cost.min(axis=1, keepdims=True)
    slack -= slack.min(axis=0)
    return int(len(cost) - lw.solve((slack > 0).astype(np.float64)).objective)


@pytest.mark.parametrize("cls", ["int:1", "int:0.1"])
def test_counters_of_zeros(cls):
    """One by bins, or one that all threads add to: the same number."""
    cost = instances.generate(cls, 30, 1, dtype="int32")
    listed = [
        lw.solve(cost, device="cuda", method=lw.Munkres(stages=stages)).statistics["zeros_listed"]
        for stages in (STAGES, [name for name in STAGES if name != "reductions"])
    ]
    assert listed[0] == listed[1] > 0
