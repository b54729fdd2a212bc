"""Rows that may stay free, where every method has its turn: tall problems, ties at the price, equal lines, sums."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from support.checks import assert_matching, assert_optimal, assert_proven

DTYPES = [np.float32, np.float64, np.int32, np.int64]


def few_values(rng, m, n):
    return rng.integers(0, 4, (m, n))


def nested(rng, m, n):
    return np.maximum(rng.integers(0, n, m)[:, None] - np.arange(n), 0)  # zero from some column on


def equal_lines(rng, m, n):
    return rng.integers(0, 100, (12, n))[rng.integers(0, 12, m)]


def uniform(rng, m, n):
    return rng.integers(0, 10_000, (m, n))


def sums(rng, m, n):
    return rng.integers(0, 1000, (m, 1)) + rng.integers(0, 1000, n)


CLASSES = [few_values, nested, equal_lines, uniform, sums]


def most_matched(cost, price, maximize):
    """How many rows can be matched in an optimal answer: each match is worth less than the least difference."""
    cost, price = (cost.astype(np.int64), int(price)) if not maximize else (-cost.astype(np.int64), -int(price))
    worth = len(cost) + 1
    scaled = np.minimum(cost * worth - 1, price * worth)
    answer = lw.solve(scaled if cost.shape[0] <= cost.shape[1] else scaled.T)
    row_to_col = answer.row_to_col
    rows = np.flatnonzero(row_to_col >= 0)
    chosen = scaled if cost.shape[0] <= cost.shape[1] else scaled.T
    return int((chosen[rows, row_to_col[rows]] < price * worth).sum())


@settings(max_examples=40)
@given(
    make=st.sampled_from(CLASSES),
    shape=st.sampled_from([(300, 300), (420, 300), (300, 360), (650, 320)]),
    dtype=st.sampled_from(DTYPES),
    quantile=st.sampled_from([0.0, 0.02, 0.3, 0.7, 1.0]),
    maximize=st.booleans(),
    in_columns=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_optimal_with_the_most_matches(make, shape, dtype, quantile, maximize, in_columns, seed):
    cost = make(np.random.default_rng(seed), *shape).astype(dtype)
    cost = np.asfortranarray(cost) if in_columns else cost
    price = np.quantile(cost, 1 - quantile if maximize else quantile, method="nearest").item()
    result = lw.solve(cost, unmatched_cost=price, maximize=maximize, threads=1)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert (result.row_to_col >= 0).sum() == most_matched(cost, price, maximize)


@pytest.mark.parametrize("maximize", [False, True])
def test_tall_at_one_price(maximize):
    rng = np.random.default_rng(3)
    cost = rng.random((900, 420)) * (-1 if maximize else 1)
    price = -0.002 if maximize else 0.002
    result = lw.solve(cost, unmatched_cost=price, maximize=maximize)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert 0 < (result.row_to_col >= 0).sum() < 420


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_tall_with_a_bad_cost_names_its_place(bad):
    cost = np.random.default_rng(4).random((700, 300))
    cost[611, 23] = bad
    with pytest.raises(lw.InvalidCostError, match=r"cost\[611, 23\]"):
        lw.solve(cost, unmatched_cost=0.5)


def test_tall_stops_in_time_with_a_bound():
    cost = np.random.default_rng(5).random((1400, 1300))
    result = lw.solve(cost, unmatched_cost=0.9, time_limit=0, threads=1)
    exact = lw.solve(cost, unmatched_cost=0.9, threads=1)
    assert result.status == "time_limit"
    assert result.objective >= exact.objective >= result.certificate.dual - 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_up_to_rounding(dtype):
    rng = np.random.default_rng(6)
    x, y = rng.random((1300, 2)), rng.random((1300, 2)) + 3
    cost = np.abs(x[:, None] - y[None]).sum(-1).astype(dtype)
    result = lw.solve(cost, threads=1)
    assert_matching(result, cost, None)
    assert_proven(result, cost)
    assert "dense_rows_read" not in result.statistics  # lists tell nothing here


def test_prices_of_all_rows_of_few_distinct_ones_must_have_a_sum():
    cost = np.random.default_rng(7).integers(0, 9, (4, 100))[np.arange(400) % 4]
    with pytest.raises(lw.RangeError, match=r"unmatched_cost\[0\] is"):
        lw.solve(cost, unmatched_cost=2**53, certify=False)


def test_few_distinct_rows_are_counted_as_rows():
    cost = np.random.default_rng(8).random((12, 650))[np.arange(600) % 12]
    result = lw.solve(cost, unmatched_cost=0.5)
    assert_optimal(result, cost, unmatched_cost=0.5)
    assert result.statistics["distinct_rows"] == 12


@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.sampled_from([None, "csr", "csc"]))
def test_most_matches_where_lines_of_both_sides_must_be_matched(seed, maximize, whole, form):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 5, 2)
    sign = -1 if maximize else 1
    cost = sign * rng.integers(-1, 2, (m, n)).astype(int if whole else float)
    sides = [np.where(rng.random(size) < 0.5, np.inf, rng.integers(-1, 2, size)) for size in (m, n)]
    prices = tuple(sign * side for side in sides)
    allowed, given = np.ones((m, n), bool), cost
    if form is not None:
        allowed = rng.random((m, n)) < 0.7
        rows, cols = np.nonzero(allowed)
        given = sp.coo_array((cost[rows, cols], (rows, cols)), (m, n)).asformat(form)
    best = (math.inf, 0)
    for chosen in itertools.product(range(-1, n), repeat=int(m)):
        taken = [j for j in chosen if j >= 0]
        if len(set(taken)) < len(taken) or not all(allowed[i, j] for i, j in enumerate(chosen) if j >= 0):
            continue
        free_cols = [j for j in range(n) if j not in taken]
        total = sum(sides[0][i] if j < 0 else sign * cost[i, j] for i, j in enumerate(chosen))
        best = min(best, (total + sum(sides[1][j] for j in free_cols), -len(taken)))
    if best[0] == math.inf:
        with pytest.raises(lw.InfeasibleError):
            lw.solve(given, unmatched_cost=prices, maximize=maximize)
        return
    result = lw.solve(given, unmatched_cost=prices, maximize=maximize)
    assert sign * result.objective == best[0] and len(result.pairs) == -best[1]
    assert result.certificate.exact


def test_the_smallest_violator_where_no_line_may_stay_free():
    for cost, prices, rows, cols in (
        ([[np.inf], [1], [1.0]], np.inf, [0], []),
        ([[np.inf, 1]], (0.5, [np.inf, np.inf]), [], [0]),
    ):
        with pytest.raises(lw.InfeasibleError) as raised:
            lw.solve(cost, unmatched_cost=prices)
        assert (raised.value.rows.tolist(), raised.value.cols.tolist()) == (rows, cols)


@pytest.mark.parametrize("as_pairs", [False, True])
def test_ties_of_costs_far_above_their_differences(as_pairs):
    base = 712e12  # in steps of 1/8; by less than 2 the costs of a path are one number up to rounding
    eighths = [[2, 2, 2, 4, 2, 1], [3, 1, 1, 3, 2, 2], [4, 2, 3, 5, 4, 2]]
    cost = base + np.array(eighths) / 8
    result = lw.solve(sp.coo_array(cost) if as_pairs else cost, unmatched_cost=base + 0.25)
    assert_proven(result, cost, unmatched_cost=base + 0.25)
    assert (result.row_to_col >= 0).all()


@given(st.integers(0, 2**32), st.sampled_from([7e14, 2.0**51, 2.0**50, 100.0]), st.booleans())
def test_most_matches_whatever_the_base(seed, base, as_pairs):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6, 2)
    steps, unit = rng.integers(0, 6, (m, n)), np.spacing(base) * rng.integers(1, 3)
    price = int(rng.integers(0, 6))
    result = lw.solve(
        sp.coo_array(base + steps * unit) if as_pairs else base + steps * unit, unmatched_cost=base + price * unit
    )
    if result.certificate.exact:
        assert len(result.pairs) == len(lw.solve(steps, unmatched_cost=price).pairs)
