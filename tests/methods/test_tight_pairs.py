"""Costs of few values, matched by phases of largest matchings (cpp/include/lapwing/tight)."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.everyday import CLASSES
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw

BY_PHASES = ["rounded sums to 10", "rounded sums to 100", "exact sums, rounded", "distances to 1 decimals"]
BY_PHASES += ["per cent, beta", "Hamming, 16 bits", "times in 5 minutes", "dates", "grid", "skills", "RGB colours"]
BY_PHASES += ["edit distances of words", "tenths near a million", "wages times hours"]


def assert_right(cost, by_phases=None, maximize=False, **options):
    result = lw.solve(cost, maximize=maximize, threads=1, **options)
    rows, cols = linear_sum_assignment(cost, maximize)
    best = cost[rows, cols].sum(dtype=np.int64 if np.issubdtype(cost.dtype, np.integer) else np.float64)
    assert result.objective == pytest.approx(best, rel=1e-12)
    certificate = result.certificate
    assert certificate.exact or certificate.bound <= len(cost) * 2.0**-50 * max(abs(result.objective), 1)
    assert by_phases is None or ("matching_phases" in result.statistics) == by_phases
    pairs = lw.linear_sum_assignment(cost, maximize)
    assert cost[pairs].sum(dtype=np.float64) == pytest.approx(float(best), rel=1e-12)
    return result


@pytest.mark.parametrize("name", BY_PHASES)
def test_a_class_is_matched_by_phases(name):
    n = 1100 if name in ("grid", "dates", "per cent, beta") else 600
    cost = np.asarray(CLASSES[name](np.random.default_rng([3, n]), n))
    assert_right(cost, by_phases=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "uint8"])
@pytest.mark.parametrize("shape", [(450, 450), (440, 460), (600, 450)])
def test_types_shapes_and_senses(shape, dtype):
    rng = np.random.default_rng(5)
    cost = np.rint(60 * (rng.random((shape[0], 1)) + rng.random((1, shape[1])) + 0.2 * rng.random(shape))).astype(dtype)
    for maximize in (False, True):
        result = assert_right(cost, by_phases=True, maximize=maximize)
        assert result.certificate.exact


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(400, 400), (390, 450), (470, 400), (449, 449)]),
    most=st.sampled_from([1, 2, 5, 30, 200, 900]),
    structure=st.sampled_from(["noise", "rows", "columns", "sums", "differences", "products"]),
    repeated=st.sampled_from([1, 1, 2, 8]),
    unit=st.sampled_from([1, 1, 0.25, 5, 0.1, 0.01]),
    shift=st.sampled_from([0, -100, 10**6]),
    maximize=st.booleans(),
)
def test_costs_of_few_values(seed, shape, most, structure, repeated, unit, shift, maximize):
    rng = np.random.default_rng(seed)
    rows, cols = shape
    noise = rng.integers(0, most + 1, shape)
    by_row, by_col = rng.integers(0, most + 1, (rows, 1)), rng.integers(0, most + 1, (1, cols))
    cost = {
        "noise": noise,
        "rows": by_row + noise // 4,
        "columns": by_col + noise // 4,
        "sums": by_row + by_col + noise // 8,
        "differences": np.abs(by_row - by_col),
        "products": by_row * by_col // most,
    }[structure]
    cost = cost[rng.integers(0, -(-rows // repeated), rows)] + shift
    assert_right(np.round(cost * unit, 2) if unit != 1 else cost, maximize=maximize)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_a_cost_of_another_kind_is_found_in_any_place(dtype):
    rng = np.random.default_rng(8)
    cost = rng.integers(0, 30, (500, 500)).astype(dtype) + rng.integers(0, 30, (500, 1)).astype(dtype)
    wrong = [10**7, -(10**7)] if dtype == "int64" else [0.5, 0.1, 1e7, 1e300, np.inf]
    for value in wrong:
        for place in [(0, 1), (499, 499), (250, 3)]:
            changed = cost.copy()
            changed[place] = value
            assert_right(changed)
    if dtype == "float64":
        cost[317, 28] = np.nan
        with pytest.raises(lw.InvalidCostError, match=r"cost\[317, 28\] is nan"):
            lw.solve(cost)
        cost[317, 28] = -np.inf
        with pytest.raises(lw.InvalidCostError):
            lw.solve(cost)


def test_forbidden_pairs_and_prices():
    rng = np.random.default_rng(9)
    cost = np.rint(20 * (rng.random((500, 1)) + rng.random((1, 500))))
    prices = np.full(500, 17.0)
    result = lw.solve(cost, unmatched_cost=prices)
    padded = np.concatenate([cost, np.where(np.eye(500) > 0, 17.0, 1e6)], axis=1)
    assert result.objective == padded[linear_sum_assignment(padded)].sum() and result.certificate.exact
    cost[rng.random((500, 500)) < 0.3] = np.inf
    assert assert_right(cost, by_phases=True).certificate.exact
    cost[:, 7] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(cost)


def flights(rng, shape):
    """Minutes between an arrival and a departure, and whether these can be one aircraft's."""
    gap = rng.integers(0, 1440, shape[1]) - rng.integers(0, 1440, (shape[0], 1))
    return gap, gap >= 30


@pytest.mark.parametrize("large", [1e5, 1e6, 1e9, 1e300, np.inf, 2**31 - 1, 2**40])
@pytest.mark.parametrize("shape", [(900, 900), (800, 900), (500, 1000), (900, 700)])
@pytest.mark.parametrize("maximize", [False, True])
def test_pairs_that_cost_far_more(shape, large, maximize):
    """Some rows have no other pairs, or not enough of them: then the large ones take part."""
    rng = np.random.default_rng(12)
    gap, feasible = flights(rng, shape)
    dtype = np.int64 if isinstance(large, int) else np.float64
    nearby = np.abs(np.arange(shape[0])[:, None] * shape[1] // shape[0] - np.arange(shape[1])) < 2
    for allowed in (feasible | nearby, feasible):
        cost = np.where(allowed, gap % 1440, large).astype(dtype)
        if maximize:
            cost = -cost
        if not np.isfinite(large) and allowed is feasible:
            with pytest.raises(lw.InfeasibleError):
                lw.solve(cost, maximize=maximize)
        else:
            assert_right(cost, maximize=maximize)


@pytest.mark.parametrize("n", [600, 1100])
def test_too_many_phases_are_given_up(n):
    """Products, where each phase matches few rows: another method answers."""
    rng = np.random.default_rng(10)
    cost = np.rint(-900 * rng.random((n, 1)) * rng.random((1, n)))
    assert_right(cost, by_phases=False)


def test_a_time_limit():
    cost = np.asarray(CLASSES["dates"](np.random.default_rng(4), 1500))
    result = lw.solve(cost, time_limit=0)
    assert result.status == "time_limit"
    best = assert_right(cost, by_phases=True).objective
    for limit in (1e-3, 5e-3, 2e-2):
        result = lw.solve(cost, time_limit=limit)
        assert result.lower_bound <= best <= result.objective


def test_any_layout():
    """Rows or columns must be contiguous; other matrices are copied before."""
    cost = np.asfortranarray(CLASSES["rounded sums to 10"](np.random.default_rng(6), 500))
    for view in (cost, cost.T, cost[:, ::-1], cost[::-1], np.repeat(np.repeat(cost, 2, 0), 2, 1)[::2, ::2]):
        assert_right(view, by_phases=True)
