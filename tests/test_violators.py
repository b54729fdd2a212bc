"""The Hall violator of a dense problem: minimal, of the smaller kind where a matrix is square, in every layout."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from support.checks import ALL_METHODS, assert_hall_violator, scipy_objective


def named(cost, **options):
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, **options)
    return caught.value


@pytest.mark.parametrize("method", ["auto", *ALL_METHODS])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("maximize", [False, True])
def test_an_empty_line_is_named_alone(method, order, maximize):
    forbidden = -np.inf if maximize else np.inf
    for axis in (0, 1):
        cost = np.random.default_rng(axis).random((12, 12))
        cost[(slice(None), 7) if axis else 7] = forbidden
        error = named(np.asarray(cost, order=order), method=method, maximize=maximize)
        lines, others = (error.cols, error.rows) if axis else (error.rows, error.cols)
        assert lines.tolist() == [7] and len(others) == 0
        assert f"this 1 {'column' if axis else 'row'} (7) has no" in str(error)


@given(st.integers(2, 9), st.integers(0, 2**32), st.floats(0.1, 0.6), st.sampled_from(["C", "F"]), st.booleans())
def test_minimal_and_no_larger_than_what_it_leaves(n, seed, share, order, maximize):
    rng = np.random.default_rng(seed)
    allowed = rng.random((n, n)) < share
    cost = np.asarray(np.where(allowed, 1.0, -np.inf if maximize else np.inf), order=order)
    if scipy_objective(cost, maximize=maximize) is not None:
        return
    error = named(cost, maximize=maximize)
    assert_hall_violator(error, cost, maximize=maximize)
    many, few, pairs = error.rows, error.cols, allowed
    if len(error.cols) > len(error.rows):
        many, few, pairs = error.cols, error.rows, allowed.T
    assert len(many) == len(few) + 1 and len(many) + len(few) <= n
    for left_out in many:
        others = many[many != left_out]
        ones = np.where(pairs[np.ix_(others, few)], 1.0, np.inf)
        assert not len(others) or scipy_objective(ones) is not None


def test_points_of_which_one_has_no_near_one():
    x = np.arange(20.0)[:, None]
    y = np.append(x[:19], [[100.0]], axis=0)
    error = named(lw.costs.euclidean(x, y, max_distance=3))
    assert error.cols.tolist() == [19] and len(error.rows) == 0


def test_a_search_without_an_end_reads_few_rows():
    """A column without any pair: the core finds that out by reading each row some times, not hundreds."""
    n, asked = 800, []
    cost = np.random.default_rng(0).random((n, n))
    cost[:, 7] = np.inf

    def rows(begin, end):
        asked.append(end - begin)
        return cost[begin:end]

    named(lw.costs.rows(rows, (n, n), cache=0), method="core")
    assert sum(asked) <= 40 * n
