"""Among optimal answers, every method gives one with the most matches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from support.checks import ALL_METHODS, assert_optimal
from support.ties import most_matches, tied_problem

problems = given(
    seed=st.integers(0, 2**32),
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    values=st.integers(1, 6),
    dtype=st.sampled_from([np.float32, np.float64, np.int32, np.int64]),
    maximize=st.booleans(),
)


@pytest.mark.parametrize("method", ALL_METHODS)
@problems
def test_every_method(method, seed, m, n, values, dtype, maximize):
    cost, prices = tied_problem(seed, m, n, values, dtype)
    result = lw.solve(cost, maximize=maximize, unmatched_cost=prices, method=method)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=prices)
    assert (result.row_to_col >= 0).sum() == most_matches(cost, prices, maximize)
    assert result.certificate.exact


@problems
def test_sparse_costs_and_batches(seed, m, n, values, dtype, maximize):
    cost, prices = tied_problem(seed, m, n, values, dtype)
    row, col = np.indices(cost.shape).reshape(2, -1)
    pairs = sp.coo_array((cost.ravel(), (row, col)), shape=cost.shape)
    most = most_matches(cost, prices, maximize)
    assert (lw.solve(pairs, maximize=maximize, unmatched_cost=prices).row_to_col >= 0).sum() == most
    batch = lw.solve_batch(cost[None], maximize=maximize, unmatched_cost=prices, certify=True)
    assert (batch.row_to_col >= 0).sum() == most and batch.certificates[0].exact


@problems
def test_prices_of_columns(seed, m, n, values, dtype, maximize):
    """A price of columns beside one of rows is as good as both added to the rows' where every column could be."""
    cost, prices = tied_problem(seed, m, n, values, dtype)
    of_cols = np.full(n, values // 2).astype(dtype)
    result = lw.solve(cost, maximize=maximize, unmatched_cost=(prices, of_cols))
    assert (result.row_to_col >= 0).sum() == most_matches(cost - of_cols, prices, maximize)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_pairs_at_the_price_are_matched(method):
    assert (lw.solve([[3, 3], [3, 3]], unmatched_cost=3, method=method).row_to_col >= 0).all()
    tenths = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert (lw.solve(tenths, unmatched_cost=[0.2, 0.4], method=method).row_to_col >= 0).all()


def test_many_ties_take_little_time():
    """One search by layers for all rows, not one for each."""
    cost = np.ones((1500, 1500))
    assert (lw.solve(cost, unmatched_cost=1.0, method="core").row_to_col >= 0).all()
