"""Time limits and warm starts."""

import time

import numpy as np
import pytest

import lapwing as lw
from support.checks import ALL_METHODS, KINDS, assert_optimal, assert_proven
from support.checks import slow_cost as slow_method_cost


@pytest.fixture(scope="module")
def slow_cost():
    """Takes every method a few tenths of a second."""
    return lw.instances.generate("geometric", 1500, 1)


@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, lambda c: c[:, :1000], lambda c: c[:1000]])
@pytest.mark.parametrize("limit", [0, 0.02])
def test_time_limit(slow_cost, method, maximize, layout, limit):
    cost = layout(-slow_cost if maximize else slow_cost)
    optimum = lw.solve(cost, maximize=maximize).objective
    began = time.perf_counter()
    result = lw.solve(cost, method=method, maximize=maximize, time_limit=limit, certify=False)
    assert time.perf_counter() - began < 1.0
    if result.status == "optimal":
        assert result.objective == pytest.approx(optimum, abs=1e-9)
        return
    certificate = lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize)
    assert result.status == "time_limit" and certificate.fault is None
    tolerance = 1e-9 * abs(optimum)
    sign = -1 if maximize else 1
    assert sign * certificate.optimum_bound <= sign * optimum + tolerance
    assert sign * result.lower_bound <= sign * optimum + tolerance


@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize("maximize", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_answer_at_the_limit_is_the_best_that_was_seen(method, maximize):
    sign = -1 if maximize else 1
    cost = sign * slow_method_cost(method)
    began = time.perf_counter()
    lw.solve(cost, method=method, maximize=maximize, certify=False)
    seconds = time.perf_counter() - began
    for part in (0.4, 0.8):
        seen = []
        result = lw.solve(cost, method=method, maximize=maximize, time_limit=part * seconds, progress=seen.append)
        tolerance = 1e-9 * abs(result.objective)
        assert all(sign * result.objective <= sign * report.objective + tolerance for report in seen)
        assert all(sign * result.lower_bound >= sign * report.bound - tolerance for report in seen)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_time_limit_with_unmatched_costs(slow_cost, method):
    cost = slow_cost[:, :1200]
    optimum = lw.solve(cost, unmatched_cost=0.001).objective
    result = lw.solve(cost, unmatched_cost=0.001, method=method, time_limit=0.005)
    assert result.lower_bound <= optimum + 1e-12


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("shape", [(300, 300), (300, 400), (400, 300)])
@pytest.mark.parametrize("limit", [0, 1e-3, 60])
def test_a_row_without_columns_is_infeasible_at_any_time(method, shape, limit):
    cost = np.add.outer(*map(np.random.default_rng(0).random, shape))
    cost[np.s_[299] if shape[0] == 300 else np.s_[:, 299]] = np.inf
    with pytest.raises(lw.InfeasibleError, match=r"this 1 (row|column) \(299\) has no (row|column)"):
        lw.solve(cost, method=method, time_limit=limit)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_generous_time_limit_changes_nothing(method):
    cost = np.random.default_rng(0).random((60, 60))
    assert_optimal(lw.solve(cost, method=method, time_limit=1e12), cost)
    assert_optimal(lw.solve(cost, method=method, time_limit=60), cost)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(400, 400), (300, 500), (500, 300)])
def test_solving_again_from_the_result(shape, dtype, maximize):
    cost = np.random.default_rng(0).random(shape)
    cost = (cost * 1000).astype(dtype)
    first = lw.solve(cost, maximize=maximize, method="core")
    for start in (first, (first.u, first.v)):
        again = lw.solve(cost, start=start, maximize=maximize)
        assert again.plan.method == "core"
        assert_proven(again, cost, maximize=maximize)
        assert again.objective == pytest.approx(first.objective, rel=1e-12)


@pytest.mark.parametrize("cls", ["uniform", "geometric", "disjoint", "int:10"])
def test_solving_again_takes_one_reading(cls):
    cost = lw.instances.generate(cls, 1000, 1)
    first = lw.solve(cost, method="core")
    again = lw.solve(cost, start=first)
    assert again.statistics["dense_rows_read"] <= 1.1 * len(cost)
    assert_proven(again, cost)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(300, 300), (200, 350), (350, 200)])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e6, 1e12])
def test_any_start_will_do(order, shape, scale):
    rng = np.random.default_rng(4)
    cost = np.asarray(rng.random(shape), order=order)
    start = (rng.normal(size=shape[0]) * scale, rng.normal(size=shape[1]) * scale)
    assert_optimal(lw.solve(cost, start=start), cost)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("value", [0.5, 1e9, 1e300, 2**62, -(2**63)])
def test_any_start_will_do_for_integers(dtype, value):
    rng = np.random.default_rng(4)
    cost = rng.integers(0, 1000, (250, 250)).astype(dtype)
    v = rng.integers(-1, 2, 250) * value if isinstance(value, float) else np.where(rng.random(250) < 0.5, value, 0)
    assert_optimal(lw.solve(cost, start=(np.zeros(250), v)), cost)


def test_a_start_with_unmatched_costs():
    cost = np.random.default_rng(0).random((300, 250))
    first = lw.solve(cost, unmatched_cost=0.01)
    assert_optimal(lw.solve(cost, unmatched_cost=0.01, start=first), cost, unmatched_cost=0.01)
    assert_optimal(lw.solve(cost, unmatched_cost=0.02, start=first), cost, unmatched_cost=0.02)


def test_a_start_from_a_neighbouring_problem():
    rng = np.random.default_rng(0)
    cost = rng.random((400, 400))
    first = lw.solve(cost)
    changed = cost + rng.normal(size=cost.shape) * 1e-3
    assert_optimal(lw.solve(changed, start=first), changed)


def dear_sources():
    x, y = np.random.default_rng(0).random((2, 30_000, 9))  # too many dimensions for boxes
    yield lw.costs.squared_euclidean(x, y)
    x, y = x[:, :3], y[:, :3]
    yield lw.costs.minkowski(x, y, 3)
    yield lw.costs.expression("sqrt((x0-y0)**2 + (x1-y1)**2 + (x2-y2)**2)", x[:15_000], y[:15_000])


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 0.5}, {"threads": 2}])
@pytest.mark.parametrize("which", range(3))
def test_a_limit_that_comes_before_every_row_is_read(which, options):
    cost = list(dear_sources())[which]
    began = time.perf_counter()
    result = lw.solve(cost, time_limit=0.01, **options)
    assert time.perf_counter() - began < 1.0
    assert result.status == "time_limit" and result.certificate is None
    assert result.lower_bound == (np.inf if "maximize" in options else -np.inf)
    matched = result.row_to_col >= 0
    assert len(np.unique(result.row_to_col[matched])) == matched.sum()
    assert "unmatched_cost" in options or matched.all()
    assert np.isfinite(result.objective)


def test_an_early_limit_pairs_points_that_are_near():
    x = np.random.default_rng(0).random((20_000, 2))
    result = lw.solve(lw.costs.squared_euclidean(x, x + 1e-6), time_limit=0)
    assert result.objective < 1e-2 * len(x) / 3  # a third is what a random pair costs


def test_an_early_limit_keeps_away_from_forbidden_pairs():
    x = np.random.default_rng(0).random((3000, 1))
    source = lw.costs.expression("where(abs(x0-y0) < 0.5, abs(x0-y0), inf)", x, x)
    result = lw.solve(source, time_limit=0)
    assert np.isfinite(result.objective)
    assert (result.row_to_col >= 0).all()


def test_a_slow_callable_gets_half_of_the_time():
    cost = lw.instances.generate("disjoint", 1500, 1)
    began = time.perf_counter()
    lw.solve(cost, progress=lambda report: time.sleep(0.1), time_limit=0.3)
    assert time.perf_counter() - began < 1.2
