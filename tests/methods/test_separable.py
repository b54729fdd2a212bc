"""Costs that are a number of the row plus one of the column, but for few pairs (reductions/separable.hpp)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from support.checks import assert_optimal


def deletions(n, dtype="float64", seed=0, reach=0.05, offsets=0.0):
    """Points that are moved if that is cheaper than to delete one and to insert the other."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((n, 2)), rng.random((n, 2))
    moved = np.hypot(*(x[:, None] - y).transpose(2, 0, 1))
    numbers = [reach * rng.random(n), reach * rng.random(n), offsets * rng.random(n), offsets * rng.random(n)]
    if dtype.startswith("int"):
        moved, *numbers = (np.rint(1000 * part) for part in (moved, *numbers))
    cost = np.minimum(moved, np.add.outer(*numbers[:2])) + np.add.outer(*numbers[2:])
    return cost.astype(dtype)


def assert_right(cost, maximize=False, pairs=None):
    """`pairs`: SciPy's, if they are known."""
    result = lw.solve(cost, maximize=maximize, threads=1)
    best = cost[pairs or linear_sum_assignment(cost, maximize)].sum(dtype="float64")
    assert result.objective == pytest.approx(best, rel=1e-12)
    assert_optimal(result, cost, maximize=maximize)
    pairs = lw.linear_sum_assignment(cost, maximize)
    assert cost[pairs].sum(dtype="float64") == pytest.approx(best, rel=1e-12)
    return result


@pytest.mark.parametrize("n", [390, 1030])
@pytest.mark.parametrize("offsets", [0.0, 1.0, -1000.0])
def test_against_scipy(n, offsets):
    cost = deletions(n, offsets=offsets)
    pairs = linear_sum_assignment(cost)
    for given_cost, maximize in ((cost, False), (-cost, True), (np.asfortranarray(cost) + 1, False)):
        assert "separable" in assert_right(given_cost, maximize, pairs).statistics


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "int16"])
def test_other_types(dtype):
    """Sums are rounded to float32, so that costs are not separable as they stand."""
    result = assert_right(deletions(450, dtype, offsets=1.0))
    assert ("separable" in result.statistics) == (dtype != "float32")


def test_small_costs_keep_their_digits():
    """Of 1e-9 beside numbers of 1: all that counts are the digits that sums would lose."""
    rng = np.random.default_rng(3)
    cost = np.add.outer(rng.random(400), rng.random(400)) + 1.0
    for shift in range(3):
        cost[np.arange(400), (np.arange(400) + shift) % 400] = 1e-9 * rng.random(400)
    result = assert_right(cost)
    assert result.certificate.bound <= 400 * 2.0**-52 * result.objective


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([385, 400, 433]),
    cheaper=st.sampled_from([0, 1, 5, 30, 90]),
    dearer=st.sampled_from([0, 0, 0, 1, 50]),
    unit=st.sampled_from([1, 0.1, 1e-9, 1e9]),
    forbidden=st.booleans(),
    maximize=st.booleans(),
)
def test_sums_with_exceptions(seed, n, cheaper, dearer, unit, forbidden, maximize):
    rng = np.random.default_rng(seed)
    cost = rng.integers(-50, 50, (n, 1)) + rng.integers(0, 90, (1, n)) * 1.0
    cost[rng.random((n, n)) < cheaper / n] -= rng.integers(0, 60)
    cost[rng.random((n, n)) < dearer / n] += rng.integers(0, 60)
    cost *= unit
    if forbidden:
        cost[rng.integers(0, n, 5), rng.integers(0, n, 5)] = np.inf
    result = lw.solve(-cost if maximize else cost, maximize=maximize)
    best = cost[linear_sum_assignment(cost)].sum()
    assert result.objective == pytest.approx(-best if maximize else best, rel=1e-11, abs=1e-9 * unit)
    assert_optimal(result, -cost if maximize else cost, maximize=maximize)
