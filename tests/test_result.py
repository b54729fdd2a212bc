"""Results: objectives without rounding, duals with the right signs, SciPy's order."""

import math

import numpy as np
import pytest

import lapwing as lw
from support.checks import ALL_METHODS

METHODS = ["auto", *ALL_METHODS]


@pytest.mark.parametrize("method", METHODS)
def test_objectives_of_integers_are_python_integers(method):
    cost = np.full((3, 3), 2**58 - 1) - np.eye(3, dtype=np.int64)
    result = lw.solve(cost, method=method)
    assert type(result.objective) is int and result.objective == 3 * (2**58 - 2)
    assert type(lw.solve(cost, method=method, certify=False).objective) is int


@pytest.mark.parametrize("certify", [False, True])
def test_objectives_of_floats_are_correctly_rounded(certify):
    cost = np.where(np.eye(4, dtype=bool), [1e16, 1.0, -1e16, 1.0], np.inf)
    assert lw.solve(cost, certify=certify).objective == 2.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(30, 30), (20, 40), (40, 20)])
@pytest.mark.parametrize("maximize", [False, True])
def test_signs_of_the_duals(method, shape, maximize):
    cost = np.random.default_rng(1).integers(-50, 50, shape)
    result = lw.solve(cost, maximize=maximize, method=method)
    reduced = cost - result.u[:, None] - result.v[None, :]
    if maximize:
        reduced = -reduced
    assert (reduced >= 0).all()
    assert (reduced[result.row_ind, result.col_ind] == 0).all()
    assert result.u.sum() + result.v.sum() == result.objective == result.lower_bound
    sign = -1 if maximize else 1
    if shape[0] < shape[1]:
        assert (sign * result.v <= 0).all() and (result.v[result.col_to_row < 0] == 0).all()
    if shape[0] > shape[1]:
        assert (sign * result.u <= 0).all() and (result.u[result.row_to_col < 0] == 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maximize", [False, True])
def test_signs_of_the_duals_with_unmatched_costs(method, maximize):
    cost = np.random.default_rng(2).integers(0, 100, (40, 30))
    price = np.random.default_rng(3).integers(10, 60, 40)
    result = lw.solve(cost, maximize=maximize, unmatched_cost=price, method=method)
    sign = -1 if maximize else 1
    assert (sign * (cost - result.u[:, None] - result.v) >= 0).all()
    assert (sign * result.u <= sign * price).all() and (sign * result.v <= 0).all()
    free = result.row_to_col < 0
    assert free.any() and (result.u[free] == price[free]).all()
    assert result.u.sum() + result.v.sum() == result.objective


def test_scipy_order_of_tall_matrices():
    cost = np.random.default_rng(0).random((9, 4))
    result = lw.solve(cost)
    assert (np.diff(result.row_ind) > 0).all() and sorted(result.col_ind) == [0, 1, 2, 3]
    assert math.fsum(cost[result.row_ind, result.col_ind]) == result.objective


def test_it_reads_for_people():
    assert repr(lw.solve([[1, 2], [2, 1]])) == "<lapwing.Result: optimal, objective 2, 2 x 2, jv>"


def test_statistics_have_times():
    statistics = lw.solve(np.random.default_rng(0).random((300, 300))).statistics
    assert statistics["solve_seconds"] > 0 and statistics["certify_seconds"] > 0
    assert all(isinstance(value, float) for value in statistics.values())
