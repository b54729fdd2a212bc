"""Costs computed from points: each docstring's definition to the last bit, and the dense problem's answer."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import lapwing as lw
from lapwing.costs.points import PointCost
from lapwing.cpu import held
from support.checks import assert_optimal
from support.metrics import DEFINED, METRICS_AND_SUM, defined


def matrix(source):
    return source.read(slice(None))


def points(rng, count, dims, metric="", dtype=np.float64):
    values = rng.normal(size=(count, 2 if metric == "haversine" else dims))
    return (np.clip(values, -1.5, 1.5) if metric == "haversine" else values).astype(dtype)


def pair(metric, seed=0, m=70, n=90, dims=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return METRICS_AND_SUM[metric](points(rng, m, dims, metric, dtype), points(rng, n, dims, metric, dtype))


# --- the numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("metric", DEFINED)
def test_definition_to_the_last_bit(metric, dtype):
    rng = np.random.default_rng(1)
    for dims in (0, 1, 2, 3, 8):
        x, y = points(rng, 33, dims, dtype=dtype), points(rng, 97, dims, dtype=dtype)
        source = METRICS_AND_SUM[metric](x, y)
        working = np.float32 if dtype == np.float16 else dtype
        assert source.dtype == working and source.shape == (33, 97)
        assert np.array_equal(matrix(source), defined(metric, x.astype(working), y.astype(working)))


@pytest.mark.parametrize(
    ("metric", "scipy_name", "options"),
    [("minkowski", "minkowski", {"p": 2.5}), ("cosine", "cosine", {}), ("euclidean", "euclidean", {})],
)
def test_against_scipy(metric, scipy_name, options):
    rng = np.random.default_rng(2)
    x, y = points(rng, 30, 4), points(rng, 50, 4)
    expected = cdist(x, y, scipy_name, **options)
    assert np.allclose(matrix(METRICS_AND_SUM[metric](x, y)), expected, rtol=1e-13, atol=1e-13)
    single = matrix(METRICS_AND_SUM[metric](x.astype(np.float32), y.astype(np.float32)))
    assert single.dtype == np.float32 and np.allclose(single, expected, rtol=1e-5, atol=1e-6)


def test_haversine_against_its_own_formula():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-1, 1, (200, 2)) * [np.pi / 2, np.pi], rng.uniform(-1, 1, (300, 2)) * [np.pi / 2, np.pi]
    y[:50] = x[:50] + rng.normal(size=(50, 2)) * 1e-5
    y[:, 0] = y[:, 0].clip(-np.pi / 2, np.pi / 2)
    y[50] = [-x[0, 0], x[0, 1] + np.pi]  # the antipode
    latitude, longitude = (x[:, None] - y[None]).transpose(2, 0, 1)
    h = np.sin(latitude / 2) ** 2 + np.cos(x[:, None, 0]) * np.cos(y[None, :, 0]) * np.sin(longitude / 2) ** 2
    expected = 2 * np.arcsin(np.sqrt(h.clip(0, 1)))
    got = matrix(lw.costs.haversine(x, y))
    assert np.abs(got - expected).max() < 1e-7  # the antipode's arcsine: the root of the rounding
    assert np.abs(got - expected)[expected < 3].max() < 1e-14
    assert abs(got[0, 50] - np.pi) < 1e-7
    single = lw.costs.haversine(x.astype(np.float32), y.astype(np.float32))
    assert np.abs(matrix(single) - expected)[expected < 3].max() < 1e-5


def test_weighted_sum_in_the_order_of_the_terms():
    rng = np.random.default_rng(4)
    x, y = points(rng, 20, 3, dtype=np.float32), points(rng, 30, 3, dtype=np.float32)
    a, b = lw.costs.squared_euclidean(x, y), lw.costs.euclidean(x[:, :2], y[:, :2])
    summed = lw.costs.weighted(a, 0.3, b, 2.0)
    assert np.array_equal(matrix(summed), np.float32(0.3) * matrix(a) + np.float32(2) * matrix(b))
    nested = lw.costs.weighted(summed, 2.0, a, 1.0)
    assert np.array_equal(matrix(nested), np.float32(0.6) * matrix(a) + np.float32(4) * matrix(b) + matrix(a))
    wide = lw.costs.weighted(a, 0.3, lw.costs.euclidean(x.astype(np.float64), y), 1.0)
    exact = lw.costs.squared_euclidean(x.astype(np.float64), y)
    assert wide.dtype == np.float64
    assert np.array_equal(matrix(wide), 0.3 * matrix(exact) + matrix(lw.costs.euclidean(x.astype(np.float64), y)))


@pytest.mark.parametrize("metric", METRICS_AND_SUM)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_way_to_read_gives_the_same_bits(metric, dtype):
    source = pair(metric, dtype=dtype)
    whole = matrix(source)
    assert np.array_equal(source.read(slice(3, 60, 7)), whole[3:60:7])
    assert np.array_equal(source.read(slice(5, 5)), whole[5:5])
    row_to_col = np.r_[np.arange(20), np.full(10, -1), np.arange(50, 90)]
    rows = np.flatnonzero(row_to_col >= 0)
    assert np.array_equal(source.picked(row_to_col), whole[rows, row_to_col[rows]])
    turned = source.compiled(transposed=True)
    assert np.array_equal(turned.read(0, 90).reshape(90, 70), whole.T)
    assert np.array_equal(matrix(pickle.loads(pickle.dumps(source))), whole)


@pytest.mark.parametrize("metric", sorted(set(METRICS_AND_SUM) - {"haversine"}))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n", "dims"), [(70, 90, 150), (67, 130, 17), (1, 5, 300), (133, 3, 129)])
def test_points_of_many_dimensions_in_tiles(metric, dtype, m, n, dims):
    source = pair(metric, m=m, n=n, dims=dims, dtype=dtype).compiled(transposed=False)
    rows, cols = (index.ravel() for index in np.indices((m, n)))
    singly = source.pairs(rows.astype(np.int64), cols.astype(np.int64))
    assert np.array_equal(source.read(0, m), singly)
    assert np.array_equal(source.read(0, m, 2, math.inf, None), singly)
    assert np.array_equal(source.read(m // 2, m), singly.reshape(m, n)[m // 2 :].ravel())


# --- solving --------------------------------------------------------------------------------------

SCATTERS = {
    "random": lambda rng, count, dims: rng.random((count, dims)),
    "all equal": lambda rng, count, dims: np.full((count, dims), 0.3),
    "duplicates": lambda rng, count, dims: rng.random((1 + count // 4, dims))[rng.integers(0, 1 + count // 4, count)],
    "collinear": lambda rng, count, dims: rng.random((count, 1)) * np.ones(dims),
    "grid": lambda rng, count, dims: rng.integers(0, 3, (count, dims)).astype(float),
    "far away": lambda rng, count, dims: 1e6 + rng.random((count, dims)),
    "wide range": lambda rng, count, dims: np.ldexp(rng.normal(size=(count, dims)), rng.integers(-30, 30, (count, 1))),
}


@settings(max_examples=300)
@given(
    metric=st.sampled_from([name for name in METRICS_AND_SUM if name != "haversine"]),
    scatter=st.sampled_from(sorted(SCATTERS)),
    dims=st.integers(1, 8),
    m=st.integers(1, 25),
    n=st.integers(1, 25),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    maximize=st.booleans(),
    priced=st.booleans(),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(["auto", "core", "jv", "ssp", "auction"]),
)
def test_as_the_dense_problem(metric, scatter, dims, m, n, dtype, maximize, priced, seed, method):
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        x, y = (SCATTERS[scatter](rng, count, dims).clip(-6e4, 6e4).astype(dtype) for count in (m, n))
    if metric == "cosine":
        x, y = x[x.any(axis=1)], y[y.any(axis=1)]
        if not (len(x) and len(y)):
            return
    source = METRICS_AND_SUM[metric](x, y)
    cost = matrix(source)
    price = float(np.median(cost)) if priced else None
    result = lw.solve(source, maximize=maximize, unmatched_cost=price, method=method)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert result.objective == lw.solve(cost, maximize=maximize, unmatched_cost=price).objective or not (
        result.certificate.exact
    )
    assert result.plan.tier == "computed"


@pytest.mark.parametrize("metric", METRICS_AND_SUM)
@pytest.mark.parametrize(("m", "n"), [(1500, 1500), (1100, 1300), (1300, 1100)])
def test_larger_problems(metric, m, n):
    source = pair(metric, m=m, n=n, dims=2, dtype=np.float32)
    result = lw.solve(source, method="core", threads=2)
    dense = lw.solve(matrix(source), method="core")
    assert result.plan.method == "core" and "no matrix" in str(result.plan)
    assert result.objective == pytest.approx(dense.objective, rel=1e-12)
    assert dense.certificate.exact == result.certificate.exact
    assert result.statistics["dense_rows_read"] < 40 * max(m, n)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS_AND_SUM)
def test_three_thousand_points(metric):
    source = pair(metric, m=3000, n=3000, dims=2)
    dense = lw.solve(matrix(source), method="core")
    assert lw.solve(source).objective == pytest.approx(dense.objective, rel=1e-12)


def test_rank_one_and_other_starts():
    rng = np.random.default_rng(5)
    for x, y in [(rng.random((1200, 1)), rng.random((1200, 1))), (rng.random((1200, 2)), 5 + rng.random((1200, 2)))]:
        for source in (lw.costs.inner_product(x, y), lw.costs.squared_euclidean(x, y)):
            result = lw.solve(source, method="core")
            assert result.objective == pytest.approx(lw.solve(matrix(source)).objective, rel=1e-12)
            assert result.statistics["start_levels"] >= 1 or result.statistics["dense_rows_read"] < 2 * 1200


def test_the_certificate_judges_the_computed_problem():
    source = pair("squared_euclidean", m=80, n=80)
    result = lw.solve(source)
    assert lw.certify(source, result.row_to_col, result.u, result.v).bound <= 1e-12
    wrong = result.row_to_col.copy()
    wrong[[0, 1]] = wrong[[1, 0]]
    certificate = lw.certify(source, wrong, result.u, result.v)
    assert certificate.gap > 0 and certificate.bound >= certificate.gap
    above = result.u.copy()
    above[7] += 1
    certificate = lw.certify(source, result.row_to_col, above, result.v)
    assert certificate.violation == pytest.approx(1, rel=1e-9) and certificate.violation_at[0] == 7
    dense = lw.certify(matrix(source), result.row_to_col, above, result.v)
    assert certificate == dense


def test_float32_far_from_the_origin_is_the_problem_of_the_rounded_points():
    """The proof is of the points as they are given: rounded coordinates, exact differences."""
    rng = np.random.default_rng(6)
    points32 = [(1e5 + rng.random((300, 2))).astype(np.float32) for _ in range(2)]
    result = lw.solve(lw.costs.squared_euclidean(*points32), method="core")
    exact = lw.costs.squared_euclidean(*(p.astype(np.float64) for p in points32))
    assert result.certificate.exact
    assert result.objective == lw.solve(exact, method="core").objective  # a coarse grid: nothing is rounded


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_match(shape):
    m, n = shape
    source = lw.costs.euclidean(np.zeros((m, 2)), np.zeros((n, 2)))
    result = lw.solve(source)
    assert result.objective == 0 and result.row_to_col.tolist() == [-1] * m and result.certificate.exact
    assert lw.solve(source, unmatched_cost=2.0).objective == 2 * m


def test_starts_batches_and_limits():
    source = pair("euclidean", m=400, n=400, dims=2)
    first = lw.solve(source, method="core")
    for start in (first, (first.u, first.v), (first.u * 1e6, first.v * 1e6)):
        assert lw.solve(source, start=start).objective == pytest.approx(first.objective, rel=1e-12)
    batch = lw.solve_batch([source, matrix(source)], certify=True)
    assert batch.objective[0] == pytest.approx(batch.objective[1], rel=1e-12)
    seen = []
    late = lw.solve(pair("minkowski", m=700, n=700), method="core", time_limit=0.05, progress=seen.append)
    assert late.status == "time_limit" and late.lower_bound <= late.objective
    if late.certificate is None:  # a busy machine: the limit came before every row was read
        assert late.lower_bound == -math.inf
    else:
        assert late.certificate.complete and math.isfinite(late.certificate.bound)
    assert lw.solve(source, unmatched_cost=1e308, method="core").objective == first.objective


@settings(max_examples=60)
@given(
    metric=st.sampled_from(sorted(set(METRICS_AND_SUM) - {"haversine", "minkowski"})),
    dims=st.integers(16, 300),
    m=st.integers(1, 60),
    n=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64]),
    maximize=st.booleans(),
    priced=st.booleans(),
    gated=st.booleans(),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(["auto", "core", "ssp", "hungarian-tree"]),
)
def test_a_matrix_is_held_of_many_dimensions(metric, dims, m, n, dtype, maximize, priced, gated, seed, method):
    source = pair(metric, seed, m, n, dims, dtype)
    middle = float(np.median(matrix(source)))
    if gated:
        source = PointCost(tuple(replace(term, limit=middle) for term in source.terms))
    problem = {"maximize": maximize, "unmatched_cost": middle if priced else None}
    assert lw.plan(source, method=method, **problem).holds_matrix
    try:
        result = lw.solve(source, method=method, **problem)
    except lw.InfeasibleError:
        with pytest.raises(lw.InfeasibleError):
            lw.solve(source, method="core", memory_limit=0, **problem)
        return
    assert_optimal(result, source.in_sense(maximize).read(slice(None)), **problem)
    other = lw.solve(source, method="core", memory_limit=0, **problem)
    assert not other.plan.holds_matrix
    assert result.objective == pytest.approx(other.objective, rel=1e-12, abs=1e-12)
    assert lw.certify(source, result.row_to_col, result.u, result.v, **problem).primal == result.objective


def test_a_held_matrix_with_a_wrong_cost_is_refused(monkeypatch):
    source = pair("euclidean", m=40, n=40, dims=20)
    right = held.with_matrix

    def wrong(*given):
        problem, *others = right(*given)
        problem.cost.array[3] += np.where(np.arange(40) == lw.solve(source, memory_limit=0).row_to_col[3], 1, 0)
        return problem, *others

    monkeypatch.setattr(held, "with_matrix", wrong)
    with pytest.raises(lw.InternalError, match="certificate refuses"):
        lw.solve(source)


def test_many_dimensions_with_a_time_limit_and_progress():
    rng = np.random.default_rng(3)
    source = lw.costs.squared_euclidean(rng.normal(size=(2500, 600)), rng.normal(size=(2500, 600)))
    seen = []
    late = lw.solve(source, time_limit=0.1, progress=seen.append)
    assert late.status == "time_limit" and late.lower_bound <= late.objective
    assert "costs" in {state.stage for state in seen}


# --- the plan, and what cannot be used ------------------------------------------------------------


def test_plan_says_where_the_costs_are():
    rng = np.random.default_rng(7)
    small, large = (lw.costs.euclidean(rng.random((n, 2)), rng.random((n, 2))) for n in (200, 20_000))
    plan = lw.plan(large)
    assert (plan.method, plan.tier) == ("core", "computed") and plan.memory_bytes < 60e6
    assert "float64, computed: method 'core'" in str(plan) and "no matrix is held" in str(plan)
    assert lw.plan(large, device="auto").tier == "computed"  # wherever
    plan = lw.plan(small)
    assert plan.method == "jv" and "written out as a matrix once: 312.5 KiB" in str(plan)
    assert plan.memory_bytes > 200 * 200 * 8
    deep = lw.costs.euclidean(rng.random((3000, 16)), rng.random((2000, 16)))
    plan = lw.plan(deep)
    assert plan.holds_matrix and plan.tier == "computed" and plan.transposed and plan.memory_bytes > 3000 * 2000 * 8
    assert "computed once, as a matrix of 45.8 MiB: of 16 dimensions" in str(plan)
    assert not lw.plan(deep, memory_limit="45MB").holds_matrix and not lw.plan(large).holds_matrix
    long = lw.costs.euclidean(rng.random((5, 2)), rng.random((1_000_000, 2)))
    assert lw.plan(long).method == "core"
    huge = lw.costs.euclidean(rng.random((40_000, 2)), rng.random((40_000, 2)))
    with pytest.raises(lw.ArgumentError, match=r"'jv' reads a matrix, which takes 11.9 GiB .*use method='core'"):
        lw.plan(huge, method="jv")


SOME = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: lw.costs.euclidean(SOME, np.zeros((3, 4))), lw.ArgumentError, r"same number of dimensions.*\(3, 4\)"),
        (lambda: lw.costs.euclidean(SOME[:, 0], SOME), lw.ArgumentError, r"pass X\[:, None\]"),
        (lambda: lw.costs.euclidean(SOME, np.zeros((1, 2, 3))), lw.ArgumentError, r"Y must have shape .*\(1, 2, 3\)"),
        (lambda: lw.costs.euclidean(SOME, [[0, 1], [2]]), lw.ArgumentError, "Y is no array of points"),
        (lambda: lw.costs.euclidean(SOME.astype(complex), SOME), lw.DtypeError, "X has dtype complex128; convert"),
        (lambda: lw.costs.euclidean(SOME.astype(object), SOME), lw.DtypeError, "X has dtype object"),
        (lambda: lw.costs.euclidean(SOME, [[0, 0], [0, math.nan]]), lw.ArgumentError, r"Y\[1, 1\] is nan"),
        (lambda: lw.costs.euclidean(SOME, [[math.inf, 0]]), lw.ArgumentError, r"Y\[0, 0\] is inf"),
        (lambda: lw.costs.euclidean(SOME, [[2**60, 0]]), lw.RangeError, r"Y holds 1152921504606846976, beyond 2\^53"),
        (lambda: lw.costs.euclidean([[-(2**63), 0]], SOME), lw.RangeError, "X holds 9223372036854775808"),
        (lambda: lw.costs.squared_euclidean(SOME, [[1e160, 0]]), lw.RangeError, "may reach inf.*scale the points down"),
        (
            lambda: lw.costs.squared_euclidean(np.float32([[1e25]]), np.float32([[0]])),
            lw.RangeError,
            r"may reach 2e\+50, and only 3.4e\+38.*pass them as float64",
        ),
        (lambda: lw.costs.minkowski(SOME, [[1e200, 1]], 3), lw.RangeError, "may reach inf"),
        (lambda: lw.costs.inner_product([[1e200]], [[1e200]]), lw.RangeError, "may reach inf"),
        (lambda: lw.costs.minkowski(SOME, SOME, 0.5), lw.ArgumentError, "p must be at least 1, got 0.5"),
        (lambda: lw.costs.minkowski(SOME, SOME, math.nan), lw.ArgumentError, "p must be at least 1, got nan"),
        (lambda: lw.costs.minkowski(SOME, SOME, "two"), lw.DtypeError, "p must be a number, got 'two'"),
        (lambda: lw.costs.cosine([[1, 0], [0, 0]], SOME + 1), lw.ArgumentError, r"X\[1\] lies at the origin"),
        (lambda: lw.costs.haversine(SOME, [[45.0, 7.0]]), lw.ArgumentError, r"Y\[0, 0\] is 45.0.*np.radians"),
        (lambda: lw.costs.haversine(np.zeros((2, 3)), np.zeros((2, 3))), lw.ArgumentError, "latitude and longitude"),
        (lambda: lw.costs.minkowski(SOME, SOME, 10**400), lw.ArgumentError, "p is beyond float64: pass math.inf"),
        (lambda: lw.costs.weighted(lw.costs.cosine(SOME + 1, SOME + 1), 10**400), lw.ArgumentError, "must be finite"),
        (
            lambda: lw.costs.euclidean(np.ma.masked_array(SOME, [[0, 0], [0, 1], [0, 0]]), SOME),
            lw.ArgumentError,
            r"X is masked at \(1, 1\).*filled",
        ),
        (lambda: lw.costs.euclidean([[2**63, -1], [2**60 + 1, 0]], SOME), lw.RangeError, "X has integers up to"),
        (lambda: lw.costs.weighted(), lw.ArgumentError, "got 0 arguments"),
        (lambda: lw.costs.weighted(lw.costs.cosine(SOME + 1, SOME + 1)), lw.ArgumentError, "got 1 arguments"),
        (lambda: lw.costs.weighted(SOME, 1.0), lw.DtypeError, "takes sources of lapwing.costs, got ndarray"),
        (lambda: lw.costs.weighted(lw.costs.euclidean(SOME, SOME), "x"), lw.DtypeError, "weight must be a number"),
        (lambda: lw.costs.weighted(lw.costs.euclidean(SOME, SOME), math.inf), lw.ArgumentError, "must be finite"),
        (
            lambda: lw.costs.weighted(lw.costs.euclidean(SOME, SOME), 1, lw.costs.euclidean(SOME, SOME[:2]), 1),
            lw.ArgumentError,
            r"one shape, got \(3, 3\) and \(3, 2\)",
        ),
        (lambda: lw.solve(lw.costs.euclidean(SOME, SOME), unmatched_cost=[1, 2]), lw.ArgumentError, "unmatched_cost"),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_points_are_copied():
    x = np.random.default_rng(8).random((30, 2))
    source = lw.costs.euclidean(x, x)
    before = matrix(source)
    x += 1
    assert np.array_equal(matrix(source), before) and isinstance(source, PointCost)
    assert "30 x 30 float64, 1 euclidean" in repr(source)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.int64])
def test_integer_points_are_exact_in_float64(dtype):
    rng = np.random.default_rng(9)
    x, y = (rng.integers(0, 2 if dtype is bool else 100, (60, 3)).astype(dtype) for _ in range(2))
    result = lw.solve(lw.costs.squared_euclidean(x, y), method="core")
    whole = ((x[:, None].astype(int) - y[None].astype(int)) ** 2).sum(axis=2)
    assert result.certificate.exact and result.objective == lw.solve(whole).objective
