"""Problems of which columns outnumber rows, or rows may stay free, solved with dummy rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw
from lapwing.gpu import early_end
from lapwing.gpu.core import sparse_solver
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.monitor import TimeIsUpError
from lapwing.gpu.core.solver import UNFINISHED, CoreSolve
from lapwing.gpu.costs import spatial_order
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def launches(monkeypatch):
    """Whether each launch had dummy rows, which it has as soon as rounds leave a row."""
    monkeypatch.setattr(core_start, "LEFT_WITHOUT_DUMMIES", 10**6)
    made = []
    launch = CoreSolve.launch

    def noted(self, *arguments, **named):
        made.append(self.has_dummies)
        launch(self, *arguments, **named)

    monkeypatch.setattr(CoreSolve, "launch", noted)
    return made


@pytest.fixture
def small_samples(monkeypatch):
    """Points are in boxes, though they are few, and samples are taken of few rows."""
    monkeypatch.setattr(spatial_order, "_LEAST", 1)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)


def points(rows, cols, evenness=1.0, dims=2, seed=1):
    """Points in clusters, with other shares of them for rows than for columns."""
    random = np.random.default_rng(seed)
    centres = random.random((5, dims))

    def side(count):
        shares = random.dirichlet(np.full(5, evenness))
        return centres[random.choice(5, size=count, p=shares)] + 0.02 * random.normal(size=(count, dims))

    return side(rows), side(cols)


def squared(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


# --- computed costs ---


@pytest.mark.parametrize(
    ("shape", "price", "dtype"),
    [
        ((130, 130), 0.05, "float32"),  # which float32 cannot hold
        ((130, 170), None, "float64"),
        ((150, 130), 0.0625, "float32"),
        *(
            pytest.param((150, cols), price, "float64", marks=pytest.mark.slow)
            for cols in (140, 150, 230)
            for price in (1.0, 0.01, 0.001)
        ),
    ],
)
def test_computed(launches, shape, price, dtype):
    x, y = (side.astype(dtype) for side in points(*shape))
    result = lw.solve(lw.costs.squared_euclidean(x, y), device="cuda", unmatched_cost=price)
    assert_optimal(result, squared(x, y), unmatched_cost=price)
    assert any(launches)


@pytest.mark.parametrize("shape", [(150, 270), *(pytest.param((300, n), marks=pytest.mark.slow) for n in (200, 300))])
@pytest.mark.parametrize("price", [pytest.param(1.0, marks=pytest.mark.slow), 0.01])
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_boxes_and_samples(launches, small_samples, shape, price, dtype):
    x, y = (side.astype(dtype) for side in points(*shape))
    result = lw.solve(lw.costs.squared_euclidean(x, y), device="cuda", unmatched_cost=price)
    assert_optimal(result, squared(x, y), unmatched_cost=price)
    assert any(launches)


@pytest.mark.parametrize("maximize", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_computed_prices_by_row(launches, small_samples, maximize):
    x, y = points(150, 140)
    prices = np.random.default_rng(2).uniform(-0.1 if maximize else 0.001, 0.1, 150)
    prices[::7] = -np.inf if maximize else np.inf
    asked = {"maximize": maximize, "unmatched_cost": prices}
    assert_optimal(lw.solve(lw.costs.squared_euclidean(x, y), device="cuda", **asked), squared(x, y), **asked)
    assert any(launches)


# --- matrices ---


@pytest.mark.parametrize("shape", [(150, 152), (152, 150), (200, 300)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int32", "int64"])
@pytest.mark.parametrize("kind", ["points", "uniform", "ties"])
@pytest.mark.parametrize("maximize", [False, True])
def test_more_columns(launches, shape, dtype, kind, maximize):
    cost = (0.2 * draw(shape, "float64", kind=kind)).astype(dtype)
    result = lw.solve(cost, device="cuda", maximize=maximize)
    assert_optimal(result, cost, maximize=maximize)
    assert sorted(result.u.shape + result.v.shape) == sorted(shape)
    assert any(launches) or kind == "ties"


@pytest.mark.parametrize("shape", [(200, 205), pytest.param((420, 300), marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", ["float32", pytest.param("int32", marks=pytest.mark.slow)])
def test_samples(launches, small_samples, shape, dtype):
    cost = draw(shape, dtype, kind="points")
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert any(launches) and (result.statistics["levels"] > 0 or shape == (420, 300))


@pytest.mark.parametrize(
    ("dtype", "price"),
    [
        ("float32", 400.0),
        ("float32", 400.1),  # which float32 cannot hold
        ("float16", 512.1),
        ("float64", 40.1),
        ("int32", 40),
        ("uint8", 90),
        ("uint8", 1000),  # which uint8 cannot hold
    ],
)
@pytest.mark.parametrize("maximize", [False, True])
def test_rows_that_may_stay_free(launches, small_samples, dtype, price, maximize):
    cost = 1000 * squared(*points(150, 150))
    cost = np.minimum(cost, 255 if dtype == "uint8" else 2000).astype(dtype)
    asked = {"maximize": maximize, "unmatched_cost": -price if maximize and dtype != "uint8" else price}
    if maximize and dtype != "uint8":
        cost = -cost
    assert_optimal(lw.solve(cost, device="cuda", **asked), cost, **asked)
    assert any(launches) or dtype == "uint8"


@pytest.mark.parametrize("shape", [(150, 160), (160, 150)])
def test_prices_by_row(launches, shape):
    cost = 1000 * squared(*points(*shape))
    prices = np.random.default_rng(2).uniform(1, 900, shape[0])
    prices[::17] = np.inf
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=prices), cost, unmatched_cost=prices)
    assert any(launches)


@pytest.mark.parametrize("offset", [-7.0, 1e6])
def test_costs_far_from_zero(launches, offset):
    cost = draw((150, 152), "float32", kind="points") + np.float32(offset)
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert any(launches)


def test_forbidden_pairs(launches):
    cost = draw((150, 152), "float32", kind="points")
    cost[np.random.default_rng(1).random(cost.shape) < 0.5] = np.inf
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=90.0), cost, unmatched_cost=90.0)
    assert any(launches)
    cost[:20] = np.inf
    cost[:20, :19] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda")
    assert_hall_violator(caught.value, cost)


@pytest.mark.parametrize("price", [None, 40.0])
def test_the_time_is_up(monkeypatch, launches, price):
    """What there is by then is the answer, with a bound that holds."""
    report = CoreSolve.report

    def late(solve):
        if not solve.has_dummies:
            return report(solve)
        solve._monitor.stop()
        report(solve)
        raise TimeIsUpError

    monkeypatch.setattr(CoreSolve, "report", late)
    cost = 1000 * squared(*points(150, 160))
    result = lw.solve(cost, device="cuda", unmatched_cost=price)
    optimum = lw.solve(cost, unmatched_cost=price).objective
    assert any(launches) and result.status == "time_limit" and result.certificate.complete
    assert result.lower_bound <= optimum * (1 + 1e-12) and optimum <= result.objective * (1 + 1e-12)
    assert result.lower_bound == result.certificate.optimum_bound


def test_few_rows_do_without(launches):
    cost = draw((100, 101), "float32", kind="points")
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not any(launches)


def test_most_matches(launches):
    """Of tied answers, one with the most."""
    cost = draw((200, 190), "int32", kind="ties")
    result = lw.solve(cost, device="cuda", unmatched_cost=1)
    assert_optimal(result, cost, unmatched_cost=1)
    assert (result.row_to_col >= 0).sum() == (lw.solve(cost, unmatched_cost=1).row_to_col >= 0).sum()


def test_searches_end_where_their_pace_is_too_slow(launches, monkeypatch):
    """They might take so many steps, but would take more."""
    monkeypatch.setattr(core_start, "LEFT_WITHOUT_DUMMIES", 1)
    monkeypatch.setattr(core_start, "_STEPS_WITHOUT_DUMMIES", 250)
    reports, report = [], CoreSolve.report
    monkeypatch.setattr(CoreSolve, "report", lambda self: reports.append(report(self)) or reports[-1])
    cost = draw((160, 165), "float32", kind="points")
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert launches[:2] == [False, True] and reports[0].status == UNFINISHED and 10 < reports[0].steps < 150


# --- sparse costs ---


@pytest.fixture
def few_steps(monkeypatch):
    """Dummy rows come as soon as short paths are matched."""
    monkeypatch.setattr(sparse_solver, "STEPS_WITHOUT_DUMMIES", 0)
    monkeypatch.setattr(sparse_solver, "ROWS_OF_STEP", 10**9)


def sparse_problem(shape, dtype, kind, maximize=False):
    """Costs, infinite where there is none, and the same as sparse ones."""
    if kind == "points":
        x, y = points(*shape, evenness=3.0)
        cost = 1000 * squared(x, y)
        there = cost < np.quantile(cost, 0.4)
    else:
        random = np.random.default_rng(1)
        cost = 1 + random.integers(0, 1000 if kind == "uniform" else 4, shape).astype(float)
        there = random.random(shape) < 0.15
    there[np.arange(min(shape)), np.arange(min(shape))] = True
    cost = cost.astype(dtype)
    source = sp.coo_array((cost[there], np.nonzero(there)), shape)
    return source, np.where(there, cost.astype(float), -np.inf if maximize else np.inf)


@pytest.mark.parametrize("shape", [(200, 200), (200, 260), (260, 200)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("kind", ["points", "uniform", "ties"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("by_row", [False, True])
def test_sparse_costs_with_prices(launches, few_steps, shape, dtype, kind, maximize, by_row):
    source, cost = sparse_problem(shape, dtype, kind, maximize)
    price = np.quantile(cost[np.isfinite(cost)], 0.3).round()
    if by_row:
        price = np.where(np.arange(shape[0]) % 7, price, -np.inf if maximize else np.inf)
        price[::2] += 1
    result = lw.solve(source, device="cuda", maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert any(launches) or kind != "points" or maximize or shape[0] == shape[1]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("kind", ["points", "uniform", "ties"])
def test_more_columns_of_sparse_costs(launches, few_steps, dtype, kind):
    source, cost = sparse_problem((200, 240), dtype, kind)
    assert_optimal(lw.solve(source, device="cuda"), cost)
    assert_optimal(lw.solve(source.T, device="cuda"), cost.T)


def test_no_assignment_of_sparse_costs(few_steps):
    source, cost = sparse_problem((200, 240), "float64", "uniform")
    held = cost[:, :12]
    held[np.isinf(held)] = 1
    cost[:14, 12:] = np.inf
    there = np.isfinite(cost)
    source = sp.coo_array((cost[there], np.nonzero(there)), cost.shape)
    with pytest.raises(lw.InfeasibleError) as error:
        lw.solve(source, device="cuda")
    assert_hall_violator(error.value, cost)


def test_capped_costs(launches, few_steps, monkeypatch):
    monkeypatch.setattr(early_end, "CAPPED_LEFT", 10**6)  # no row may be left
    x, y = points(300, 310, evenness=3.0)
    cost = np.minimum(squared(x, y), 0.0004)
    assert_optimal(lw.solve(cost, device="cuda"), cost)
