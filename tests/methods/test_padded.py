"""Matrices padded with dummies, so that rows and columns may stay free (cpp/include/lapwing/reductions/padded.hpp)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from support.checks import assert_optimal

DTYPES = ["float32", "float64", "int32", "int64"]
FORMS = ["equal", "own", "forbidden"]


def padded(form, rows, cols, dtype, seed=0, meeting=0.0):
    """Points in the plane that are matched if they are near, else deleted or inserted at prices of their own."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((rows, 2)), rng.random((cols, 2))
    size, prices = rows + cols, (0.1 * rng.random(rows), 0.1 * rng.random(cols))
    cost = np.full((size, size), meeting)
    cost[:rows, :cols] = np.hypot(*(x[:, None] - y).transpose(2, 0, 1))
    other = {"equal": None, "own": 5.0, "forbidden": np.inf}[form]
    for price, part in zip(prices, (cost[:rows, cols:], cost[rows:, :cols].T), strict=True):
        part[:] = price[:, None] if other is None else other
        np.fill_diagonal(part, price)
    if dtype.startswith("int"):
        cost = np.rint(1000 * np.where(np.isinf(cost), 1000, cost))
    return cost.astype(dtype)


def optimum(cost, maximize=False):
    return cost[linear_sum_assignment(cost, maximize)].sum(dtype="float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(200, 200), (350, 90), (30, 400)])
def test_against_scipy(dtype, form, shape):
    cost = padded(form, *shape, dtype)
    for given_cost, maximize in ((cost, False), (-cost, True), (np.asfortranarray(cost) + 1, False)):
        result = lw.solve(given_cost, maximize=maximize, threads=1)
        if "capped" not in result.statistics:  # as those are whose dummies are mostly far from a row
            assert result.statistics["dummy_rows"] + result.statistics["dummy_cols"] >= len(cost)
        assert result.objective == pytest.approx(
            optimum(given_cost, maximize), rel=1e-6 if dtype == "float32" else 1e-12
        )
        assert_optimal(result, given_cost, maximize=maximize)


@pytest.mark.parametrize("form", FORMS)
def test_sizes_that_core_solves(form):
    cost = padded(form, 520, 530, "float64")
    result = lw.solve(cost)
    assert result.statistics["dummy_rows"] == 530 and result.statistics["dummy_cols"] == 520
    assert result.objective == pytest.approx(optimum(cost), rel=1e-12)
    assert_optimal(result, cost)


@pytest.mark.parametrize("form", FORMS)
def test_any_order_of_rows_and_columns(form):
    solved = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        cost = padded(form, 220, 210, "float64", seed, meeting=0.01)[rng.permutation(430)][:, rng.permutation(430)]
        result = lw.solve(cost)
        assert_optimal(result, cost)
        solved += "dummy_rows" in result.statistics
    assert solved > 5


@given(st.sampled_from(FORMS), st.integers(190, 260), st.integers(190, 260), st.integers(-3, 3), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_ties_and_lucky_zeros(form, rows, cols, meeting, seed):
    """Few whole numbers: real rows may look like dummies, and dummies tie."""
    cost = np.minimum(padded(form, rows, cols, "float64", seed), 1.0)
    cost = np.where(cost < 1.0, np.rint(40 * cost), 99.0)
    cost[rows:, cols:] = meeting
    result = lw.solve(cost)
    assert result.certificate.exact and result.objective == optimum(cost)


def test_dummies_that_are_too_few_or_shared():
    cost = padded("own", 220, 210, "float64")
    shared = cost.copy()
    shared[:5, 210:] = 1.0
    shared[:5, 215] = 0.001  # five rows have the same cheapest dummy
    lacking = np.delete(np.delete(cost, 429, axis=0), 429, axis=1)
    for other in (shared, lacking):
        result = lw.solve(other)
        assert "dummy_rows" not in result.statistics
        assert_optimal(result, other)
        assert result.objective == pytest.approx(optimum(other), rel=1e-12)


def test_bad_costs_and_rows_that_must_be_matched():
    cost = padded("forbidden", 220, 210, "float64")
    without = cost.copy()
    without[7, 217] = np.inf  # row 7 has no dummy
    result = lw.solve(without)
    assert result.objective == pytest.approx(optimum(without), rel=1e-12)
    assert_optimal(result, without)
    without[7] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(without)
    for where in (3, 4), (3, 400), (400, 3), (400, 400):
        for bad in (np.nan, -np.inf):
            invalid = cost.copy()
            invalid[where] = bad
            with pytest.raises(lw.InvalidCostError, match=rf"cost\[{where[0]}, {where[1]}\] is {bad}"):
                lw.solve(invalid, certify=False)


@pytest.mark.parametrize("maximize", [False, True])
def test_integers_out_of_range(maximize):
    cost = padded("own", 220, 210, "int64")
    for where in (3, 4), (3, 400), (400, 3):
        too_large = cost.copy()
        too_large[where] = np.iinfo("int64").min
        with pytest.raises(lw.RangeError):
            lw.solve(too_large, maximize=maximize)


def test_a_time_limit():
    result = lw.solve(padded("own", 900, 900, "float64"), time_limit=0)
    assert result.status == "time_limit" and result.lower_bound <= result.objective
