"""The papers' methods over ranks: proven answers, and the refusals of core."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapwing as lw
from support import distributed_cases as cases

METHODS = ("hungarian-bfs", "hungarian-tree", "ssp")


def check(answers, costs, maximize=False):
    errors = [answer for answer in answers if not isinstance(answer, dict)]
    assert not errors, errors
    row_to_col = np.concatenate([answer["row_to_col"] for answer in answers])
    assert sorted(row_to_col) == list(range(len(costs)))
    answer = answers[0]
    assert answer["objective"] == lw.solve(costs, maximize=maximize).objective
    certificate = answer["certificate"]
    assert certificate.complete and answer["status"] == "optimal"
    assert certificate.exact if costs.dtype.kind == "i" else certificate.bound < 1e-12
    return answer


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("maximize", [False, True])
def test_every_dtype(ranks, method, dtype, maximize):
    random = np.random.default_rng(3)
    costs = random.random((24, 24)) if np.dtype(dtype).kind == "f" else random.integers(-90, 90, (24, 24))
    costs = costs.astype(dtype)
    answer = check(ranks.run(cases.solve, costs, method=method, maximize=maximize), costs, maximize)
    assert answer["statistics"]["rows_scanned" if method == "ssp" else "iterations"] > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0, 1, 3, 31])
def test_ranks_without_rows(ranks, method, size):
    costs = np.random.default_rng(4).integers(0, 9, (size, size))
    check(ranks.run(cases.solve, costs, method=method, own=cases.uneven), costs)


@pytest.mark.parametrize("method", METHODS)
def test_points_and_forbidden_pairs(ranks, method):
    random = np.random.default_rng(5)
    x, y = random.random((20, 2)), random.random((20, 2))
    costs = ((x[:, None] - y) ** 2).sum(-1)
    costs[random.random((20, 20)) < 0.4] = math.inf
    np.fill_diagonal(costs, 1.0)
    check(ranks.run(cases.solve, costs, method=method), costs)
    check(ranks.run(cases.solve_tensor, costs, True, method=method), costs)


@pytest.mark.parametrize("method", METHODS)
def test_what_core_refuses(ranks, method):
    costs = np.random.default_rng(6).random((30, 30))
    costs[[3, 20]] = math.inf
    costs[[3, 20], 4] = 1.0
    for error in ranks.run(cases.solve, costs, method=method):
        assert isinstance(error, lw.InfeasibleError) and error.rows.tolist() == [3, 20]
    costs[3, 9] = math.nan
    for error in ranks.run(cases.solve, costs, method=method):
        assert isinstance(error, lw.InvalidCostError) and (error.row, error.col) == (3, 9)
    for error in ranks.run(cases.solve, np.full((8, 8), 2**61), method=method):
        assert isinstance(error, lw.RangeError)


@pytest.mark.parametrize("method", METHODS)
def test_what_they_cannot_do(ranks, method):
    costs = np.ones((6, 6))
    for given, options in ((costs[:, :5].T, {}), (costs, {"unmatched_cost": 1.0}), (costs, {"time_limit": 1.0})):
        for error in ranks.run(cases.solve, given, method=method, **options):
            assert isinstance(error, lw.ArgumentError) and "method='core'" in str(error)
    assert f"method {method!r}" in ranks.run(cases.plan, costs, method=method)[1]


@pytest.mark.parametrize("method", METHODS)
def test_the_papers_instances(ranks, method):
    costs = lw.instances.generate("int:10", 60, seed=1, dtype=np.int32)
    check(ranks.run(cases.solve, costs, method=method), costs)
