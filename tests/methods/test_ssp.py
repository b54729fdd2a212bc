"""Algorithm 1015: what it reads, and from where."""

from __future__ import annotations

import os

import numpy as np
import pytest

import lapwing as lw
from support.checks import assert_optimal, assert_proven


def published_rows(cost):
    """Rows evaluated after the start by the schedule of the authors' published code, one plain step after the other."""
    n = len(cost)
    v, epsilon, least, order = _published_start(cost)
    if epsilon > 0:
        order = np.arange(n)
    rows, phase = 0, 0
    while True:
        evaluated, v, by_paths, by_epsilon = _published_phase(cost, v, order[::-1] if phase % 2 else order, epsilon)
        rows += evaluated
        if epsilon == 0:
            return rows
        smaller = min(epsilon / 4, by_epsilon / (8 * n))
        epsilon = 0 if (phase > 0 and by_paths > by_epsilon) or smaller < least else _in_units(smaller, cost)
        phase += 1


def _in_units(x, cost):
    unit = 2.0 ** (np.floor(np.log2(np.abs(cost).max())) - 46)
    return np.floor(x / unit) * unit


def _greedy(cost, v, order):
    picked, free = np.zeros(len(cost), int), np.zeros(len(cost))
    for i in order:
        picked[i] = np.argmin(cost[i] - v + free)
        free[picked[i]] = np.inf
    return picked


def _published_start(cost):
    n = len(cost)
    rows, least = np.arange(n), cost.min(axis=1)
    v = np.partition(cost - least[:, None], 1, axis=0)[1]
    v -= v.max()
    upper = min(np.trace(cost), cost[rows, _greedy(cost, np.zeros(n), rows)].sum())
    gap, greedy_gap = np.trace(cost) - least.sum(), upper - least.sum()
    two = np.partition(cost - v, 1, axis=1)[:, :2]
    lower = two[:, 0].sum() + v.sum()
    left = min(upper, cost[rows, _greedy(cost, v, rows[::-1])].sum()) - lower
    order = rows
    if gap < 4 * left:
        order = np.lexsort((-rows, -(two[:, 1] - two[:, 0])))
        picked, prices, earlier = _greedy(cost, v, order), v.copy(), np.ones(n, bool)
        for i in order[::-1]:
            earlier[picked[i]] = False
            ceiling = cost[i, picked[i]] - prices[picked[i]]
            prices = np.where(earlier, np.minimum(prices, cost[i] - ceiling), prices)
        prices -= prices.max()
        left = cost[rows, picked].sum() - max(lower, (cost - prices).min(axis=1).sum() + prices.sum())
        share = left / greedy_gap
        v = _in_units(v * share + prices * (1 - share), cost) if share > 1e-9 else prices
    left = min(left, gap / 4)
    epsilon = n * left * np.sqrt(left / gap) / (n * n) if left > 1e-6 * gap else 0
    least = gap / 16 / (n * n)
    return v, _in_units(epsilon, cost) if epsilon >= least else 0, least, order[::-1]


def _published_phase(cost, v, order, epsilon):
    n = len(cost)
    v, row_to_col, col_to_row = v.copy(), np.full(n, -1), np.full(n, -1)
    evaluated, by_paths, by_epsilon = 0, 0.0, 0.0
    for start in order:
        distance, came, closed, i, reached, offset = np.full(n, np.inf), np.zeros(n, int), [], start, 0.0, 0.0
        open_ = np.ones(n, bool)
        while i >= 0:
            evaluated += 1
            reach = cost[i] - v - offset
            better = open_ & (reach < distance)
            distance[better], came[better] = reach[better], i
            nearest = np.where(open_, distance, np.inf)
            ties = np.flatnonzero(nearest == nearest.min())
            j = ties[np.argmax(col_to_row[ties] < 0)]
            reached = max(reached, distance[j]) if closed else distance[j]
            open_[j] = False
            closed.append(j)
            i = col_to_row[j]
            if i >= 0:
                offset = cost[i, j] - v[j] - reached
        fall = reached - distance[closed]
        by_paths, by_epsilon = by_paths + fall.sum(), by_epsilon + epsilon * len(closed)
        v[closed] -= fall + epsilon
        while True:
            i = came[j]
            col_to_row[j] = i
            row_to_col[i], j = j, row_to_col[i]
            if i == start:
                break
    return evaluated, v, by_paths, by_epsilon


@pytest.mark.parametrize("cls", ["uniform", "geometric", "disjoint", "lowrank:1", "lowrank:8", "sanity", "int:1"])
def test_evaluates_the_rows_of_the_published_schedule(cls):
    """On whole numbers, where no rounding decides between columns."""
    for seed in range(4):
        cost = lw.instances.generate(cls, 100, seed)
        cost = np.round(cost * 2**16 / cost.max())
        statistics = lw.solve(cost, method="ssp").statistics
        assert statistics["rows_scanned"] - statistics["rows_scanned_start"] == published_rows(cost)


TEXT = ("least_v", "picked_v", "last_v", "whole_gap", "any_gap", "in_order", "stop_early")


@pytest.mark.parametrize("text", [*TEXT, "compare_above", TEXT])
@pytest.mark.parametrize("shape", [(60, 60), (40, 90), (90, 40), (30, 31)])
def test_places_that_follow_the_text(text, shape):
    for cls in ("uniform", "geometric", "lowrank:1", "sanity", "int:1"):
        cost = lw.instances.generate(cls, shape[0], 1, cols=shape[1])
        assert_optimal(lw.solve(cost, method=lw.Ssp(text=text)), cost)
    forbidden = np.where(np.random.default_rng(0).random(shape) < 0.7, np.inf, cost.astype(float))
    forbidden[np.arange(min(shape)), np.arange(min(shape))] = 1
    assert_optimal(lw.solve(forbidden, method=lw.Ssp(text=text)), forbidden)


def test_what_the_places_change():
    """Each of these changes what is read, of costs that need a greedy choice or of others."""
    for cls, n, places in (
        ("uniform", 300, ("least_v", "in_order")),
        ("int:1", 50, ("stop_early",)),
        ("lowrank:2", 300, ("picked_v", "last_v", "whole_gap")),
    ):
        cost = lw.instances.generate(cls, n, 1)
        usual = lw.solve(cost, method="ssp").statistics
        for place in places:
            changed = lw.solve(cost, method=lw.Ssp(text=place)).statistics
            assert changed["rows_scanned"] != usual["rows_scanned"]
    assert lw.solve(cost, method=lw.Ssp(text="picked_v")).statistics["rows_scanned_start"] == 4 * len(cost)
    assert usual["rows_scanned_start"] == 5 * len(cost)
    assert lw.solve(cost, method=lw.Ssp(text="compare_above")).statistics["phases"] == 1
    with pytest.raises(lw.ArgumentError, match="some of"):
        lw.Ssp(text="none")


def test_when_any_gap_shows():
    """Below a millionth of the first gap the least epsilon stops it, too, but where the comparison is turned round."""
    rng = np.random.default_rng(1)
    cost = np.outer(rng.random(200), rng.random(200)) + 1e-6 * rng.random((200, 200))
    phases = {}
    for text in ("", "any_gap", "compare_above", ("compare_above", "any_gap")):
        phases[text] = lw.solve(cost, method=lw.Ssp(text=text or ())).statistics["phases"]
    assert list(phases.values()) == [1, 1, 1, 2]


@pytest.mark.parametrize("cls", ["sanity", "disjoint", "lowrank:1", "lowrank:2", "lowrank:8"])
def test_rows_evaluated_are_the_printed_ones(cls):
    """Those of Algorithm 1015's Table 1, up to what five matrices differ by."""
    n, printed = 1000, {"sanity": 1000, "disjoint": 28229, "lowrank:1": 3503, "lowrank:2": 28969, "lowrank:8": 22989}
    found = []
    for seed in range(1, 6):
        statistics = lw.solve(lw.instances.generate(cls, n, seed), method=lw.Ssp(text=TEXT), certify=False).statistics
        found.append(statistics["rows_scanned"] - statistics["rows_scanned_start"])
    assert np.mean(found) == pytest.approx(printed[cls], rel=0.12)


@pytest.mark.parametrize("shape", [(60, 60), (40, 90), (90, 40)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_costs_on_demand(shape, dtype):
    """Computed and supplied costs, never written out, have the answer of the matrix."""
    rng = np.random.default_rng(1)
    rows, cols = rng.random((shape[0], 2)).astype(dtype), rng.random((shape[1], 2)).astype(dtype)
    computed = lw.costs.squared_euclidean(rows, cols)
    matrix = computed.read(slice(None))
    supplied = lw.costs.rows(lambda begin, end: matrix[begin:end], shape, dtype)
    expected = lw.solve(matrix, method="ssp")
    for source in (computed, supplied) if shape[0] <= shape[1] else (computed,):
        result = lw.solve(source, method="ssp")
        assert "written out" not in str(result.plan)
        assert np.array_equal(result.row_to_col, expected.row_to_col)
        assert result.certificate is not None and result.certificate.bound <= 1e-12


def test_prices_that_meet_at_rounding():
    """The start's gap is 0 up to rounding, on either side."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        cost = rng.normal(size=(1, rng.integers(1, 4)))
        assert_optimal(lw.solve(cost, method="ssp"), cost)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_supplied_problem_without_a_solution(share):
    cost = np.random.default_rng(2).random((30, 30))
    cost[:20, int(30 * (1 - share)) :] = np.inf
    source = lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape, cost.dtype)
    if int(30 * (1 - share)) < 20:
        with pytest.raises(lw.InfeasibleError):
            lw.solve(source, method="ssp")
    else:
        assert_proven(lw.solve(source, method="ssp"), cost)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_threads_change_nothing(dtype):
    """Rows long enough to be shared."""
    cost = lw.instances.generate("int:3", 24, 5, cols=200_000, dtype=np.int32).astype(dtype)
    one, three = (lw.solve(cost, method="ssp", threads=threads) for threads in (1, 3))
    assert three.plan.threads == 3
    assert np.array_equal(one.row_to_col, three.row_to_col)
    assert np.array_equal(one.u, three.u) and np.array_equal(one.v, three.v)
    assert one.statistics["rows_scanned"] == three.statistics["rows_scanned"]


def test_the_plan_shares_long_rows_only():
    short, long = (lw.plan(np.zeros((600, cols), np.float32), method="ssp") for cols in (4000, 40_000))
    assert short.threads == 1 and 1 <= long.threads <= 4
    if os.cpu_count() > 1:
        assert "the rows are too short to be shared" in str(short)
