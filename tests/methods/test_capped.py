"""Costs of which most are equal to their row's largest one (cpp/include/lapwing/reductions/capped.hpp)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw

DTYPES = ["float32", "float64", "int32", "int64"]


def capped(rows, cols, below, dtype, seed=0, values=None, row_caps=False):
    """Costs of which so large a share is below the cap, of so many values."""
    rng = np.random.default_rng(seed)
    cost = rng.random((rows, cols))
    if values is not None:
        cost = np.floor(cost * values) / values
    cap = 1 + rng.random((rows, 1)) if row_caps else np.ones((rows, 1))
    cost = np.where(rng.random(cost.shape) < below, cost, cap)
    return (cost * (1 << 20)).astype(dtype) if np.dtype(dtype).kind == "i" else cost.astype(dtype)


def assert_right(cost, maximize=False, is_capped=None):
    result = lw.solve(cost, maximize=maximize)
    pairs = linear_sum_assignment(cost, maximize)
    total = cost[pairs].astype("int64" if cost.dtype.kind == "i" else "float64").sum()
    assert result.objective == pytest.approx(total, rel=1e-12, abs=1e-300)
    certificate = lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize)
    assert certificate.complete
    assert certificate.bound <= min(cost.shape) * 2.0**-52 * abs(result.objective)
    rows, cols = lw.linear_sum_assignment(cost, maximize)
    assert cost[rows, cols].astype(total.dtype).sum() == pytest.approx(total, rel=1e-12, abs=1e-300)
    if is_capped is not None:
        assert ("capped" in result.statistics) == is_capped
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 40), (300, 500), (500, 300), (400, 400), (400, 500), (500, 400), (1100, 1100)])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_few_pairs_below_the_cap(dtype, shape, maximize):
    """Few reads of small matrices suffice for jv."""
    cost = capped(*shape, 4 / shape[1], dtype)
    assert_right(-cost if maximize else cost, maximize, is_capped=min(shape) > 384)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_small_matrix_that_takes_more_reads(dtype):
    assert_right(capped(380, 380, 0.05, dtype, row_caps=True), is_capped=True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("values", [1, 2, 5, None])
@pytest.mark.parametrize("row_caps", [False, True])
def test_few_values(values, order, row_caps):
    cost = capped(400, 400, 0.01, "float64", values=values, row_caps=row_caps)
    assert_right(np.asarray(cost, order=order))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_with_more_pairs_than_a_list_holds(dtype):
    cost = capped(900, 900, 0.01, dtype)
    cost[::9] = capped(100, 900, 0.5, dtype, seed=1)
    assert_right(cost)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_costs_are_equal(dtype):
    assert_right(np.full((300, 320), 7, dtype), is_capped=False)
    assert_right(np.full((400, 420), 7, dtype), is_capped=True)


def test_forbidden_pairs_are_no_caps():
    cost = capped(200, 200, 0.05, "float64")
    cost[cost == 1] = np.inf
    cost[np.arange(200), np.arange(200)] = 0.5
    result = lw.solve(cost)
    assert "capped" not in result.statistics
    assert result.objective == pytest.approx(cost[linear_sum_assignment(cost)].sum())
    cost[cost == np.inf] = 2.0
    cost[3, 7] = np.inf
    assert_right(cost)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (77, 123), (199, 199)])
def test_invalid_costs_are_named(value, place):
    cost = capped(200, 200, 0.02, "float64")
    cost[place] = value
    with pytest.raises(lw.InvalidCostError, match=rf"\[{place[0]}, {place[1]}\]"):
        lw.solve(cost)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("cols", [400, 449, 463])
def test_caps_that_are_not_where_they_are_looked_for(dtype, maximize, cols):
    """A row's cap is guessed from the largest of four costs."""
    cost = capped(400, cols, 0.01, dtype, row_caps=True)
    looked_at = (np.arange(1, 8, 2) * cols) // 8
    some, few = cost[::3], cost[1::3]
    some[:, looked_at] = some.max(axis=1, keepdims=True) // 2  # all four are below it
    few[:, looked_at[1:]] = few.max(axis=1, keepdims=True) // 2
    cost -= cost.mean().astype(dtype)  # costs of both signs
    assert_right(-cost if maximize else cost, maximize, is_capped=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 50), (7, 0), (399, 418), (200, 447), (201, 448), (202, 450)])
@pytest.mark.parametrize("maximize", [False, True])
def test_costs_that_are_not_finite(dtype, value, place, maximize):
    """In a register of whole rows and behind the last one; a forbidden pair leaves the caps to other methods."""
    cost = capped(400, 451, 0.01, dtype)
    cost = -cost if maximize else cost
    cost[place] = value
    if value == (-np.inf if maximize else np.inf):
        assert_right(cost, maximize, is_capped=False)
    else:
        with pytest.raises(lw.InvalidCostError, match=rf"\[{place[0]}, {place[1]}\]"):
            lw.solve(cost, maximize=maximize)


def test_far_caps():
    cost = capped(300, 300, 0.02, "float64")
    assert_right(np.where(cost == 1, 1e15, cost))
    assert_right(np.where(cost == 1, 1e-15, cost))


@pytest.mark.parametrize("limit", [0, 0.001, 0.003])
def test_time_limit(limit):
    cost = capped(2000, 2000, 0.01, "float64")
    optimum = lw.solve(cost).objective
    result = lw.solve(cost, time_limit=limit)
    assert len(np.unique(result.row_to_col)) == 2000
    assert result.objective >= optimum - 1e-9
    assert result.lower_bound <= optimum + 1e-9


def test_batches():
    costs = np.stack([capped(60, 60, 0.05, "float64", seed) for seed in range(8)])
    answer = lw.solve_batch(costs, certify=True)
    expected = [cost[linear_sum_assignment(cost)].sum() for cost in costs]
    assert answer.objective == pytest.approx(expected, rel=1e-12)
    assert all(c.bound <= 60 * 2.0**-52 * c.primal for c in answer.certificates)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.integers(1, 70),
    cols=st.integers(1, 70),
    below=st.floats(0, 0.3),
    dtype=st.sampled_from(DTYPES),
    values=st.sampled_from([None, 1, 2, 3]),
    row_caps=st.booleans(),
    maximize=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_random_problems(rows, cols, below, dtype, values, row_caps, maximize, seed):
    cost = capped(rows, cols, below, dtype, seed, values, row_caps)
    assert_right(-cost if maximize else cost, maximize)
