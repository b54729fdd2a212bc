"""Whether an optimum is the only one, against all assignments of small problems."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw


def optima(cost, price=None):
    """How many assignments are optimal, by enumeration in exact arithmetic."""
    totals = all_totals(cost, price)
    least, _ = min(totals)
    return len({cols for total, cols in totals if total == least})


def least_total(cost, price=None):
    return min(all_totals(cost, price))[0]


def all_totals(cost, price):
    m, n = cost.shape
    if price is None and m > n:
        return all_totals(cost.T, None)
    exact = [[Fraction(float(c)) if np.isfinite(c) else None for c in row] for row in cost]
    if price is not None:  # at column -1
        exact = [[*row, Fraction(float(price))] for row in exact]
    totals = []
    for cols in itertools.permutations([*range(n), *([-1] * m if price is not None else [])], m):
        chosen = [row[j] for row, j in zip(exact, cols, strict=True)]
        if None not in chosen:
            totals.append((sum(chosen), cols))
    return totals


@settings(max_examples=200)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    levels=st.integers(1, 12),
    scale=st.sampled_from([None, 1.0, 0.1, 1e-3]),
    share=st.sampled_from([0.0, 0.3]),
    price=st.sampled_from([None, None, 0, 1, 3]),
    maximize=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_against_all_assignments(shape, levels, scale, share, price, maximize, seed):
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, levels, shape)
    if scale is not None:
        cost = cost * scale + rng.integers(0, 2, shape) * 0.1
        cost[rng.random(shape) < share] = np.inf
        price = None if price is None else price * 0.1
    sign = -1 if maximize else 1
    try:
        result = lw.solve(sign * cost, maximize=maximize, unmatched_cost=None if price is None else sign * price)
    except lw.InfeasibleError:
        return
    # Of floats an answer may be optimal up to rounding, beside a better one.
    chosen = [*(cost[result.row_ind, result.col_ind]), *([price] * len(result.free_rows) if price is not None else [])]
    is_best = sum(map(Fraction, map(float, chosen))) == least_total(cost, price)
    assert result.is_unique() == (is_best and optima(cost, price) == 1)


def test_prices_beyond_float64_and_infinite_ones():
    large = 2**54
    assert lw.solve(np.array([[large], [large - 1]]), unmatched_cost=large + 2).is_unique()
    assert lw.solve(np.array([[3, 2 * large + 1], [0, 1], [3, 2]]), unmatched_cost=2 * large).is_unique()
    cost = np.array([[0.1, 1e16], [0.3, 0.7]])
    for prices in ([np.inf, 1.0], (1.0, [np.inf, 0.0])):
        assert lw.solve(cost, unmatched_cost=prices).is_unique()
    rng = np.random.default_rng(5)
    for _ in range(60):
        cost = rng.integers(0, 4, (3, 3)) * 0.1
        result = lw.solve(cost, unmatched_cost=[np.inf, 0.3, 0.3])
        price_columns = np.where(np.eye(3), [[np.inf], [0.3], [0.3]], np.inf)
        assert result.is_unique() == lw.solve(np.concatenate([cost, price_columns], axis=1)).is_unique()


@pytest.mark.parametrize("n", [1, 60])
def test_random_floats_and_constants(n):
    cost = np.random.default_rng(n).random((n, n))
    assert lw.solve(cost).is_unique() and lw.solve(cost.astype(np.float32), certify=False).is_unique()
    assert lw.solve(np.ones((n, n))).is_unique() == (n == 1)
    assert lw.solve([[1, 2], [2, 1]]).is_unique() and not lw.solve([[1, 2], [2, 3]]).is_unique()


def test_sources():
    dense = np.array([[1, 2, 9], [2, 1, 9], [9, 9, 1]])
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        assert lw.solve(kind(dense)).is_unique()
        assert not lw.solve(kind([[1, 2], [2, 3]])).is_unique()
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert lw.solve(lw.costs.squared_euclidean(points, points)).is_unique()
    assert not lw.solve(lw.costs.squared_euclidean(points, points * 0)).is_unique()


def test_what_cannot_be_said():
    import pickle

    with pytest.raises(lw.ArgumentError, match="pickled without its costs"):
        pickle.loads(pickle.dumps(lw.solve(np.eye(3)))).is_unique()
    stopped = lw.solve(np.random.default_rng(0).random((1000, 1000)), time_limit=0)
    with pytest.raises(lw.ArgumentError, match="time limit"):
        stopped.is_unique()
