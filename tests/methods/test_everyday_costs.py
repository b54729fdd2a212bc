"""Costs that people have (benchmarks/everyday.py), by whatever methods "auto" takes for them or gives up."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.everyday import CLASSES
from scipy.optimize import linear_sum_assignment

import lapwing as lw


def assert_right(cost, maximize=False):
    result = lw.solve(cost, maximize=maximize)
    rows, cols = linear_sum_assignment(cost, maximize)
    assert result.objective == pytest.approx(float(cost[rows, cols].sum(dtype=np.float64)), rel=1e-9)
    certificate = lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize)
    assert result.status == "optimal" and result.certificate.complete and certificate.complete
    rows, cols = lw.linear_sum_assignment(cost, maximize)
    assert float(cost[rows, cols].sum(dtype=np.float64)) == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("n", [60, 420])
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_solved(name, n):
    cost = np.asarray(CLASSES[name](np.random.default_rng([2, n]), n))
    assert_right(cost)
    if not np.isinf(cost).any():
        assert_right(cost, maximize=True)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("n", [65, 130, 300])
@pytest.mark.parametrize("seed", range(4))
def test_few_rows_attain_the_minima_of_columns(n, seed, dtype):
    """Most rows attain a column's minimum, or none do but a few; step 1 of jv gives these a column."""
    rng = np.random.default_rng([n, seed])
    cost = rng.integers(0, 50, (n, n)) + np.where(rng.random((n, 1)) < seed / 4, 0, 100)
    cost[rng.random((n, n)) < (0.02, 0.3, 0.9, 0.98)[seed]] = 0
    cost[rng.integers(n)] = 0
    assert_right(cost.astype(dtype))
    assert_right(-cost.astype(dtype), maximize=True)


# Beyond the sizes that jv takes first: the core gives up in a sample, or later, and jv or ssp goes on.
GIVEN_UP = ["|x - y|", "rows of other scales", "blocks", "exact sums, rounded", "integer products", "ages", "blobs"]
GIVEN_UP += ["u^8", "0/1, 99 % zeros", "uniform, 2 n x n", "|x - 2y|", "a tenth of the columns zero"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", GIVEN_UP)
def test_a_class_that_is_hard_for_lists_is_solved(name, dtype):
    cost = CLASSES[name](np.random.default_rng(3), 1100).astype(dtype)
    assert_right(cost)


@pytest.mark.parametrize("is_matrix", [True, False])
@pytest.mark.parametrize("kind", ["log-normal", "inverse"])
def test_points_with_heavy_tails(kind, is_matrix):
    """Rows are read 14 to 22 times each; by phases down to the mean gap, and searches by lists, 46 to 121 times."""
    rng = np.random.default_rng(8)
    x, y = (rng.normal(size=(1100, 2)) for _ in range(2))
    x, y = (np.exp(2 * x), np.exp(2 * y)) if kind == "log-normal" else (1 / np.abs(x), 1 / np.abs(y))
    points = lw.costs.squared_euclidean(x, y)
    cost = np.asarray(points)
    result = lw.solve(cost if is_matrix else points, threads=1, method="core")
    rows, cols = linear_sum_assignment(cost)
    assert result.objective == pytest.approx(cost[rows, cols].sum(), rel=1e-12)
    assert result.statistics["dense_rows_read"] < 35 * len(x)


def test_rows_of_other_scales_are_maximised_from_prices_of_zero():
    """They read 7 rows a row; epsilon read 524, plain paths 17."""
    cost = CLASSES["rows of other scales"](np.random.default_rng([1, 1500]), 1500)
    result = lw.solve(cost, maximize=True, threads=1)
    assert result.objective == pytest.approx(float(cost[linear_sum_assignment(cost, True)].sum()), rel=1e-9)
    assert result.statistics["rows_read"] < 15 * len(cost)


@pytest.mark.parametrize("name", ["distances of clouds, 1 apart", "distances, the larger the better", "(x - 2y)^2"])
def test_rows_in_general_position_that_tell_columns_little_apart_stay_with_the_core(name):
    """It reads them 15 to 30 times a row, jv up to 300 times; at n = 8000 32 times and up to 540."""
    cost = CLASSES[name](np.random.default_rng(5), 2000)
    result = lw.solve(cost, threads=1)
    assert result.certificate.complete
    assert result.statistics["start_levels"] > 0
    assert result.statistics["dense_rows_read"] < 50 * len(cost)


@pytest.mark.parametrize("seed", [1, 3])
def test_searches_that_are_near_their_end_go_on(seed):
    """Phases that began anew read rows eight times as often, and left nearly all rows free."""
    cost = np.random.default_rng([seed, 1537]).weibull(0.3, (1537, 1537))
    result = lw.solve(cost, method="core", threads=1)
    assert result.certificate.complete and result.statistics["phases"] == 3
    assert result.statistics["dense_rows_read"] < 1.2 * len(cost)


@pytest.mark.parametrize("n", [1100, 1300, 1500])
def test_jv_tries_soon_where_rows_are_few(n):
    """A heavy tail towards the least costs: `core` scans 200 lists a row, `jv` reads 17 to 20 rows a row."""
    cost = np.random.default_rng(n).random((n, n)) ** 4
    result = lw.solve(cost, threads=1)
    assert result.certificate.complete and 5 * n < result.statistics["rows_read"] < 40 * n


@pytest.mark.parametrize("name", ["disjoint", "lowrank:1"])
def test_large_structured_costs_stay_with_the_core(name):
    """Their smallest sample reads more rows the larger it is; other methods take 6 to 20 times as long."""
    result = lw.solve(lw.instances.generate(name, 6200, 1, dtype=np.float32), threads=1)
    assert result.status == "optimal"
    assert result.statistics["start_levels"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", CLASSES)
def test_a_large_class_is_solved(name, dtype):
    cost = np.asarray(CLASSES[name](np.random.default_rng(4), 1300))
    if np.dtype(dtype).kind == "i":
        if np.isinf(cost).any() or np.abs(cost).max() > 1e9:
            pytest.skip("no integers")
        cost = cost * (1 if cost.dtype.kind == "i" else 1e6 if np.abs(cost).max() < 1000 else 1)
    with np.errstate(over="ignore"):
        cost = cost.astype(dtype)
    if dtype == "float32" and np.isinf(cost).all(axis=0).any():
        pytest.skip("out of float32's range")
    assert_right(cost)
    assert_right(-cost if np.isinf(cost).any() else cost, maximize=True)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_points_that_are_rows_and_columns_take_few_reads(dtype):
    """Beyond the sizes at which jv comes first: a look at some rows finds that they are each other's nearest."""
    n = 1600
    cost = CLASSES["distances without the diagonal"](np.random.default_rng(1), n)
    if dtype == "int64":
        cost = np.where(np.isinf(cost), 1e6, np.rint(1e4 * cost)).astype(dtype)
    result = lw.solve(cost)
    assert result.objective == pytest.approx(float(cost[linear_sum_assignment(cost)].sum()), rel=1e-12)
    assert result.statistics["rows_read"] < 4 * n
