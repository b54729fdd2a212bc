"""Matrices that stay on the host while a GPU solves: the answers that they have there, certified."""

from __future__ import annotations

import _thread
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import host_solver as host_solve
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.solver import EXPLORING
from lapwing.gpu.costs import host_rows
from lapwing.gpu.costs.host_rows import largest_layout, least_layout
from support import emulated_toolkit
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted, draw

pytestmark = pytest.mark.usefixtures("gpu", "meanwhile")


def solve(cost, **options):
    result = lw.solve(cost, device="cuda", **options)
    assert result.plan.tier == "streamed"
    return result


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (20, 9), (30, 30)])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
def test_small_problems(room_for, shape, dtype, kind):
    room_for(*((7, 5) if kind == "points" else (100, 40)))
    cost = draw(shape, dtype, kind=kind)
    maximize = kind != "uniform"
    result = solve(np.asfortranarray(cost) if maximize else cost, maximize=maximize)
    assert_optimal(result, cost, maximize=maximize)


def test_rows_that_stores_do_not_decide(room_for):
    """Rounded sums: more columns tie than a store holds, so rows are read again and looked at in full."""
    room_for(16, 40)
    random = np.random.default_rng(7)
    cost = np.round(8 * (random.random((80, 1)) + random.random((1, 80)))).astype(np.float32)
    result = solve(cost)
    assert_optimal(result, cost)
    assert result.statistics["full_rows"] > 0 and result.statistics["rows_read"] > 2 * len(cost)


def test_equal_costs_beyond_the_stores(room_for):
    room_for(9, 6)
    cost = np.where(np.arange(24) < 12, 0, 1e12).astype(np.float32) + np.zeros((24, 1), np.float32)
    assert_optimal(solve(cost), cost)


def test_close_costs(room_for):
    """That are the same number to a float32."""
    room_for(20, 9)
    cost = (2**29 + np.random.default_rng(5).integers(0, 300, (30, 30))).astype(np.int32)
    assert_optimal(solve(cost), cost)


def test_deep_stores_need_no_row_twice(room_for):
    room_for(16, 64)
    cost = draw((100, 100), "float32")
    result = solve(cost)
    assert_optimal(result, cost)
    assert result.statistics["rows_read"] == 2 * len(cost)  # and for the certificate


def test_samples(monkeypatch, room_for):
    room_for(16, 40)
    monkeypatch.setattr(host_rows, "_LEAST_SAMPLE", 40)
    monkeypatch.setattr(host_solve, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(host_solve, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    cost = draw((90, 90), "float32", 3, "points")
    result = solve(cost)
    assert_optimal(result, cost)
    assert result.statistics["levels"] >= 1


def test_a_start(room_for):
    room_for(16, 40)
    cost = draw((50, 50), "float32", kind="points")
    first = solve(cost)
    again = solve(cost, start=first)
    assert_optimal(again, cost)
    assert again.statistics["rows_read"] == 2 * len(cost)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_rows_that_may_stay_free(room_for, dtype):
    room_for(9, 8)
    cost = draw((30, 20), dtype, kind="points")
    prices = draw((30, 1), dtype, 1)[:, 0]
    for price in (100, prices):
        assert_optimal(solve(cost, unmatched_cost=price), cost, unmatched_cost=price)


@pytest.mark.parametrize("shape", [(20, 20), (30, 12)])
def test_forbidden_pairs(room_for, shape):
    room_for(6, 5)
    cost = draw(shape, "float32")
    cost[np.random.default_rng(1).random(shape) < 0.5] = np.inf
    assert_optimal(solve(cost), cost)
    lines, theirs = (np.s_[:8], np.s_[:8, :3]) if shape[0] <= shape[1] else (np.s_[:, :8], np.s_[:3, :8])
    cost[lines] = np.inf
    cost[theirs] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        solve(cost)
    assert_hall_violator(caught.value, cost)


@pytest.mark.parametrize("order", ["C", "F"])
def test_invalid_costs_are_named(room_for, order):
    room_for(6, 5)
    cost = draw((20, 20), "float32").copy(order=order)
    cost[11, 13] = np.nan
    with pytest.raises(lw.InvalidCostError) as caught:
        solve(cost)
    assert (caught.value.row, caught.value.col) == (11, 13)


# --- rows from elsewhere ----------------------------------------------------------------------------------------------


def test_a_callback_and_a_file(room_for, tmp_path):
    room_for(7, 9)
    cost = draw((20, 30), "float32", kind="points")
    np.save(tmp_path / "cost.npy", cost)
    mapped = np.load(tmp_path / "cost.npy", mmap_mode="r")
    supplied = lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape, np.float32)
    for given in (mapped, supplied):
        for certify in (True, False):
            result = solve(given, certify=certify)
            if certify:
                assert_optimal(result, cost)
        assert result.objective == pytest.approx(cost[np.arange(20), result.row_to_col].sum(dtype=float), rel=1e-12)
    tall = lw.costs.rows(lambda begin, end: cost.T[begin:end], (30, 20), np.float32)
    with pytest.raises(lw.ArgumentError, match="supply the rows of the transposed problem"):
        solve(tall)


@pytest.mark.parametrize("when", [0, 12])
def test_what_the_callback_raises(room_for, when):
    room_for(3, 5)
    cost = draw((40, 40), "float32", kind="points")
    calls = iter(range(1000))

    def refuse(begin, end):
        if next(calls) == when:
            raise LookupError("no such rows")
        return cost[begin:end]

    with pytest.raises(LookupError, match="no such rows"):
        solve(lw.costs.rows(refuse, cost.shape, np.float32, cache=0))
    assert emulated_toolkit.BACKGROUND.is_done()
    assert_optimal(solve(cost), cost)


def test_ctrl_c(room_for):
    room_for(3, 5)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    cost = draw((60, 60), "float32", kind="points")
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                solve(cost)
    finally:
        signal.signal(signal.SIGINT, before)
    assert emulated_toolkit.BACKGROUND.is_done()


def test_progress(room_for):
    room_for(20, 20)
    cost, seen = draw((60, 60), "float32", kind="points"), []
    result = solve(cost, progress=seen.append)
    assert seen and seen[-1].objective == result.objective


@pytest.mark.parametrize("limit", [0, 0.02, 1e9])
@pytest.mark.parametrize(
    ("shape", "kind", "maximize", "price"),
    [
        ((30, 30), "uniform", False, None),
        ((70, 70), "points", True, None),
        ((20, 40), "ties", False, None),
        ((40, 20), "uniform", False, 0.3),
    ],
)
def test_a_time_limit(room_for, monkeypatch, shape, kind, maximize, price, limit):
    room_for(7, 5)
    monkeypatch.setattr(core_start, "LEAST_ROWS", 8)
    result = check_interrupted(draw(shape, "float32", kind=kind), maximize, price, repeatable=False, time_limit=limit)
    assert result.plan.tier == "streamed" and (result.status == "time_limit") >= (limit == 0)


def test_what_is_free_after_a_time_limit_is_matched(room_for):
    room_for(3, 4)
    cost = draw((25, 25), "int32")
    cost[3, 2:] = 2**31 - 1
    result = solve(cost, time_limit=0)
    assert sorted(result.row_to_col) == list(range(25))
    assert result.objective == cost[np.arange(25), result.row_to_col].sum()


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_the_plan():
    cost = np.empty((20000, 10000), np.float32)  # no page of it is touched
    made = lw.plan(cost, device="cuda", memory_limit="200MB")
    assert (made.tier, made.transposed, made.device) == ("streamed", True, "cuda:0")
    assert 150e6 < made.memory_bytes <= 200e6 and "stays on the host" in str(made)
    with pytest.raises(lw.ArgumentError, match=r"takes at least 1\d{7} bytes .* memory_limit=1000000 is allowed"):
        lw.plan(cost, device="cuda", memory_limit=1000000)
    assert lw.plan(cost[:100], device="cuda", memory_limit="200MB").tier == "dense"


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1000), (5000, 5000), (100, 3_000_000)])
def test_layouts_fit_and_use_what_there_is(shape, dtype):
    least = least_layout(shape, dtype).nbytes
    assert largest_layout(shape, dtype, least - 1) is None
    for budget in (least, 2 * least, 100 * least, 10**12):
        assert largest_layout(shape, dtype, budget).nbytes <= budget
    if shape == (5000, 5000):
        fifth = np.dtype(dtype).itemsize * 5000**2 // 5
        assert largest_layout(shape, dtype, fifth).nbytes > 0.95 * fifth
