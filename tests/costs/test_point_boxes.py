"""Points in boxes: the answers of the dense problem, with few of its costs computed (cpp: lapwing/costs/boxes.hpp)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from costs.test_points import METRICS_AND_SUM, SCATTERS
from support.checks import assert_optimal, assert_proven

CLUSTERS = {"clusters": lambda rng, count, dims: rng.integers(0, 6, (count, 1)) + rng.normal(0, 0.01, (count, dims))}
MANY = SCATTERS | CLUSTERS


@settings(max_examples=15)
@given(
    metric=st.sampled_from(sorted(set(METRICS_AND_SUM) - {"haversine"})),
    scatter=st.sampled_from(sorted(MANY)),
    dims=st.integers(1, 4),
    m=st.sampled_from([30, 300]),
    n=st.integers(2048, 2300),
    dtype=st.sampled_from([np.float32, np.float64]),
    maximize=st.booleans(),
    priced=st.booleans(),
    apart=st.sampled_from([0, 0, 20]),
    threads=st.integers(1, 2),
    seed=st.integers(0, 2**32),
)
def test_as_the_dense_problem(metric, scatter, dims, m, n, dtype, maximize, priced, apart, threads, seed):
    rng = np.random.default_rng(seed)
    x, y = (MANY[scatter](rng, count, dims).astype(dtype) for count in (m, n))
    y = y + dtype(apart)
    if metric == "cosine":
        x, y = x + np.float32(0.125), y + np.float32(0.125)  # none at the origin
    source = METRICS_AND_SUM[metric](x, y)
    cost = source.read(slice(None)).reshape(m, n)
    price = float(np.median(cost)) if priced else None
    result = lw.solve(source, maximize=maximize, unmatched_cost=price, method="core", threads=threads)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)


@pytest.mark.parametrize(
    ("metric", "scatter"),
    [
        ("squared_euclidean", "random"),
        ("squared_euclidean", "clusters"),
        ("euclidean", "random"),
        ("manhattan", "random"),
        ("cosine", "random"),
    ],
)
def test_few_costs_are_computed(metric, scatter):
    rng = np.random.default_rng(3)
    n = 5000
    x, y = (MANY[scatter](rng, n, 2) - 0.5 for _ in range(2))
    result = lw.solve(METRICS_AND_SUM[metric](x, y), threads=1)
    assert result.certificate.bound <= 1e-9 * abs(result.objective)
    assert 0 < result.statistics["pairs_in_boxes"] < 0.15 * n * result.statistics["dense_rows_read"]


@pytest.mark.parametrize("weight", [1, 0.3])
@pytest.mark.parametrize("stretch", [1, 8])
def test_few_costs_are_computed_of_clouds_that_lie_apart(weight, stretch):
    """Rows are matched far away, where costs and prices vary much within a box."""
    rng = np.random.default_rng(7)
    n = 6000
    x, y = rng.normal(size=(2, n, 2)).astype(np.float32)
    y = y * np.float32([stretch, 1]) + np.float32(10)
    result = lw.solve(lw.costs.weighted(lw.costs.squared_euclidean(x, y), weight), threads=1)
    assert result.certificate.bound <= 1e-6 * abs(result.objective)
    assert 0 < result.statistics["pairs_in_boxes"] < 0.15 * n * result.statistics["dense_rows_read"]


@settings(max_examples=6)
@given(
    m=st.sampled_from([600, 2100]),
    power=st.sampled_from([3, 4]),
    both=st.booleans(),
    dims=st.integers(1, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    maximize=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_heavy_tails(m, power, both, dims, dtype, maximize, seed):
    """Searches read rows out (core/search.hpp); some columns, or all, may be left, and the farthest be wanted."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(m, dims)) ** power, rng.normal(size=(2100, dims)) ** (power if both else 1)
    source = lw.costs.squared_euclidean(x.astype(dtype), y.astype(dtype))
    result = lw.solve(source, maximize=maximize, method="core", threads=1)
    assert_proven(result, source.read(slice(None)).reshape(source.shape), maximize=maximize)


def test_searches_among_heavy_tails_do_not_read_rows_again_and_again():
    rng = np.random.default_rng(1)
    n = 4000
    x, y = (rng.normal(size=(2, n, 2)) ** 3).astype(np.float32)
    result = lw.solve(lw.costs.squared_euclidean(x, y), threads=1)
    assert result.certificate.bound <= 1e-9 * abs(result.objective)
    assert result.statistics["phases"] < 16
    assert result.statistics["dense_rows_read"] < 160 * n


@settings(max_examples=6)
@given(
    kind=st.sampled_from(["line", "places", "two sides"]),
    metric=st.sampled_from(["manhattan", "euclidean", "squared_euclidean"]),
    m=st.sampled_from([700, 2100]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32),
)
def test_ties(kind, metric, m, dtype, seed):
    """Many columns are as near as each other, so that lists prove little and searches read rows out."""
    rng = np.random.default_rng(seed)

    def points(count, spread):
        if kind == "line":
            return spread * rng.random((count, 1))
        if kind == "places":
            return rng.integers(0, 40, (count, 2))
        return rng.integers(0, 2, (count, 2)) * 5 + spread * rng.random((count, 2))

    x, y = points(m, 1).astype(dtype), points(2100, 0.5).astype(dtype)
    source = getattr(lw.costs, metric)(x, y)
    result = lw.solve(source, method="core", threads=1)
    assert_proven(result, source.read(slice(None)).reshape(source.shape))


def test_a_search_does_not_find_ties_again_and_again():
    rng = np.random.default_rng(0)
    n = 4096
    x, y = np.sort(rng.random((n, 1)), 0).astype(np.float32), rng.random((n, 1)).astype(np.float32)
    result = lw.solve(lw.costs.manhattan(x, y), method="core", threads=1)
    assert result.certificate.bound <= 1e-9 * abs(result.objective)
    assert result.statistics["dense_rows_read"] < 50 * n


def test_regions_with_more_rows_than_columns():
    """Their prices fall in phases: no search walks through a region for each row that has to leave it."""
    rng = np.random.default_rng(1)
    n = 10_000
    centres = rng.random((50, 2))
    x, y = (
        (centres[rng.integers(0, 50, n)] + 0.01 * rng.normal(size=(n, 2))).astype(np.float32) for _ in range(2)
    )  # fmt: skip
    result = lw.solve(lw.costs.squared_euclidean(x, y), threads=1)
    assert result.certificate.bound <= 1e-9 * abs(result.objective)
    assert result.statistics["phases"] < 16 and result.statistics["bids"] < 140 * n


def test_many_dimensions_are_read_whole():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 2100, 8))
    result = lw.solve(lw.costs.squared_euclidean(x, y), threads=1)
    assert_optimal(result, ((x[:, None] - y[None]) ** 2).sum(axis=2))
    assert result.statistics["pairs_in_boxes"] == 0


def test_limits_starts_and_checkpoints(tmp_path):
    rng = np.random.default_rng(5)
    x, y = rng.random((2, 4000, 2))
    source = lw.costs.euclidean(x, y)
    whole = lw.solve(source, threads=1, checkpoint=tmp_path / "points.lwc")
    again = lw.solve(source, start=(whole.u, whole.v), threads=1)
    assert again.objective == pytest.approx(whole.objective, rel=1e-12)
    assert again.statistics["paths"] < 400
    kept = lw.solve(source, checkpoint=tmp_path / "points.lwc", threads=1)
    assert kept.objective == pytest.approx(whole.objective, rel=1e-12)
    for seconds in (0.0, 0.002, 0.02, 0.05):
        cut = lw.solve(source, time_limit=seconds, threads=1)
        assert sorted(cut.row_to_col) == list(range(4000))
        assert cut.objective >= whole.objective * (1 - 1e-12)
        assert cut.certificate is None or cut.objective - cut.certificate.bound <= whole.objective * (1 + 1e-12)


def test_a_wrong_dual_is_found_in_any_box():
    rng = np.random.default_rng(6)
    x, y = rng.random((2, 2000, 2)).astype(np.float32)
    source = lw.costs.squared_euclidean(x, y)
    cost = source.read(slice(None))
    result = lw.solve(source, threads=1)
    assert result.certificate.violation == 0
    for j in rng.integers(0, 2000, 20):
        v = result.v.copy()
        v[j] += rng.choice([1e-7, 1e-3, 10.0])
        found = lw.certify(source, result.row_to_col, result.u, v)
        worst = (result.u[:, None] + v[None] - cost.astype(np.float64)).max()
        assert found.violation == pytest.approx(worst, rel=1e-9)
        assert found.violation > 0
