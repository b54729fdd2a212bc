"""Integers whose sums leave int64, but that are near each other: solved less a constant, exactly."""

import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw

_ENDS = [np.iinfo(np.int64).max, np.iinfo(np.int64).min, 1 << 62, -(1 << 62)]


@st.composite
def far_away(draw):
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    small = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, draw(st.sampled_from([3, 1000])), (m, n))
    end = draw(st.sampled_from(_ENDS))
    return end, end - small if end > 0 else end + small


def exact(cost, result):
    return sum(int(cost[i, j]) for i, j in result.pairs)


@given(far_away(), st.booleans(), st.sampled_from(["C", "F"]))
def test_dense(drawn, maximize, order):
    end, cost = drawn
    cost = np.asarray(cost, order=order)
    near = cost - np.int64(end)
    result, other = lw.solve(cost, maximize=maximize), lw.solve(near, maximize=maximize)
    assert isinstance(result.objective, int) and result.objective == exact(cost, result) == result.lower_bound
    assert result.objective == other.objective + len(result.pairs) * int(end)
    assert result.u.dtype == result.v.dtype == np.int64
    for proof in (result.certificate, lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize)):
        assert proof.exact and proof.primal == proof.dual == proof.optimum_bound == result.objective
    assert sum(map(int, result.u)) + sum(map(int, result.v)) == result.objective
    assert result.is_unique() == other.is_unique()
    assert lw.solve(cost, maximize=maximize, certify=False).objective == result.objective
    rows, cols = lw.linear_sum_assignment(cost, maximize)
    assert sum(map(int, cost[rows, cols])) == result.objective


@given(far_away(), st.data())
def test_sparse_with_gaps_and_as_many_pairs_as_possible(drawn, data):
    end, cost = drawn
    end, cost = (end - 10**5, cost - 10**5) if end > 0 else (end + 10**5, cost + 10**5)  # room for longer paths
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    row, col = np.nonzero(rng.random(cost.shape) < data.draw(st.sampled_from([0.3, 0.7])))
    pairs = scipy.sparse.coo_array((cost[row, col], (row, col)), cost.shape)
    near = scipy.sparse.coo_array((cost[row, col] - np.int64(end), (row, col)), cost.shape)
    result, other = lw.solve(pairs, infeasible="partial"), lw.solve(near, infeasible="partial")
    assert result.status == other.status and result.certificate.exact
    assert result.objective == exact(cost, result) == other.objective + len(result.pairs) * int(end)


@pytest.mark.parametrize("maximize", [False, True])
def test_prices(maximize):
    rng = np.random.default_rng(1)
    small = rng.integers(0, 100, (20, 15))
    end = 1 << 61
    cost, price = end - small, end - 30
    result = lw.solve(cost, unmatched_cost=price, maximize=maximize)
    other = lw.solve(-small, unmatched_cost=-30, maximize=maximize)
    assert result.objective == other.objective + 20 * end and result.certificate.exact
    assert result.row_to_col.tolist() == other.row_to_col.tolist()


def test_munkres_idiom():
    profit = np.random.default_rng(2).integers(0, 50, (30, 30))
    result = lw.solve((sys.maxsize - profit).tolist())
    assert 30 * sys.maxsize - result.objective == lw.solve(profit, maximize=True).objective


def test_what_is_far_apart_is_refused_as_before():
    with pytest.raises(lw.RangeError, match=r"cost\[0, 1\] is 9223372036854775807"):
        lw.solve(np.array([[0, 2**63 - 1], [1, 1]]))
    with pytest.raises(lw.RangeError):
        lw.solve(np.array([[-(2**63), 2**63 - 1], [1, 1]]))
