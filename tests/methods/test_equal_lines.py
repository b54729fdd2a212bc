"""Costs with equal rows and columns (cpp/include/lapwing/reductions/equal_lines.hpp)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lapwing as lw

DTYPES = ["float32", "float64", "int32", "int64"]


def kinds_of(rows, cols, row_kinds, col_kinds, dtype, seed=0):
    rng = np.random.default_rng(seed)
    costs = rng.random((row_kinds, col_kinds)) if dtype[0] == "f" else rng.integers(-99, 99, (row_kinds, col_kinds))
    return costs.astype(dtype)[rng.integers(0, row_kinds, rows)][:, rng.integers(0, col_kinds, cols)]


def assert_right(cost, is_transport=True, **options):
    result = lw.solve(cost, **options)
    assert result.certificate.exact or result.certificate.bound <= len(cost) * 2.0**-50 * abs(result.objective)
    assert ("distinct_rows" in result.statistics) == is_transport
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(400, 400), (400, 900), (900, 400), (1100, 1100)])
@pytest.mark.parametrize("kinds", [(30, 30), (8, 400), (400, 8)])
def test_against_scipy(dtype, shape, kinds):
    cost = kinds_of(*shape, *kinds, dtype)
    for maximize in (False, True):
        best = cost[linear_sum_assignment(cost, maximize)].sum(dtype="int64" if dtype[0] == "i" else "float64")
        result = assert_right(np.asarray(cost, order="F" if maximize else "C"), maximize=maximize)
        assert result.objective == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("shape", [(400, 500), (900, 450)])
def test_rows_stay_free_at_prices(dtype, shape):
    cost = kinds_of(*shape, 20, 20, dtype, seed=3)
    prices = np.where(np.arange(shape[0]) % 2, np.quantile(cost, 0.004), np.quantile(cost, 0.4)).astype(dtype)
    result = assert_right(cost, unmatched_cost=prices)
    padded = np.concatenate([cost, np.where(np.eye(shape[0]) > 0, prices[:, None], 10**6)], axis=1)
    assert result.objective == pytest.approx(padded[linear_sum_assignment(padded)].sum(), rel=1e-12)
    assert 0 < len(result.pairs) <= min(shape)


def test_forbidden_pairs():
    cost = kinds_of(500, 500, 12, 12, "float64", seed=1)
    cost[np.isclose(cost, np.sort(np.unique(cost))[40])] = np.inf
    best = linear_sum_assignment(cost)
    assert assert_right(cost).objective == pytest.approx(cost[best].sum(), rel=1e-12)
    cost[:10] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(cost)
    cost[3, 4] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[3, 4\] is nan"):
        lw.solve(cost)


def test_too_large_and_too_many():
    cost = kinds_of(500, 500, 12, 12, "int64")
    with pytest.raises(lw.RangeError):
        lw.solve(np.where(cost > 0, 2**61, 0) * np.where(np.arange(500) % 2, 1, -1))
    with pytest.raises(lw.RangeError):
        lw.solve(np.where(cost > 0, -(2**63), 2**62)[:400], maximize=True)
    assert_right(np.random.default_rng(1).random((500, 500)), is_transport=False)


def test_a_time_limit_and_an_interruption():
    cost = kinds_of(1500, 1500, 300, 300, "float64")
    result = lw.solve(cost, time_limit=0)
    assert result.status == "time_limit" and result.lower_bound <= lw.solve(cost).objective


def test_lines_that_differ_in_one_place_are_not_taken_for_equal():
    cost = np.ones((600, 600))
    cost[np.arange(600), np.random.default_rng(2).permutation(600)] = 0.5
    assert lw.solve(cost).objective == 300
    cost = kinds_of(600, 600, 10, 10, "float64")
    cost[17, 23] = -1
    assert lw.solve(cost).objective == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [0.9, 0.99])
def test_lines_of_few_values_are_not_taken_for_equal(dtype, share):
    cost = (np.random.default_rng(4).random((700, 700)) > share).astype(dtype)
    result = assert_right(cost, is_transport=False)
    assert result.objective == 0
