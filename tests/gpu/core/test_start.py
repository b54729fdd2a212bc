"""Where a solve on a GPU starts: which start suits the costs, and that it is a good one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.host_sample import optimal_prices
from lapwing.gpu.core.monitor import Monitor, TimeIsUpError
from lapwing.gpu.core.solver import EXPLORING, OPTIMAL, CoreSolve, Schedule
from lapwing.gpu.core.sorted_prices import find_axis, orders, prices_in_order
from lapwing.gpu.core.start import StartFinder
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.runtime.copies import read

ROWS = 320


def draw(kind: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    x, y = rng.random((size, 8)), rng.random((size, 8))
    sums = 3 * rng.random(size)[:, None] - 2 * rng.random(size)
    if kind == "uniform":
        return rng.random((size, size))
    if kind == "normal":
        return rng.normal(size=(size, size))
    if kind == "points":
        return ((x[:, None, :2] - y[None, :, :2]) ** 2).sum(-1)
    if kind == "line":
        return abs(x[:, :1] - y[:, 0]) ** 1.5 + sums
    rank = {"rank one": 1, "rank eight": 8}[kind]
    return x[:, :rank] @ y[:, :rank].T + sums


def small_samples(monkeypatch, **more: float) -> None:
    """Samples of few rows, and whatever else in gpu/core/start.py."""
    sizes = {"LEAST_ROWS": 64, "_FIRST_SAMPLE": 80, "GROWTH": 2, "_AXIS_SAMPLE": 64}
    for name, value in (sizes | more).items():
        monkeypatch.setattr(core_start, name, value)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0))


@pytest.mark.parametrize("kind", ["rank one", "line"])
def test_orders_solve_what_lies_on_a_line(kind: str) -> None:
    cost = draw(kind, 150)
    axis = find_axis(cost)
    assert axis is not None
    (row, other_row), (col, other_col) = axis.rows, axis.cols
    row_order, col_order = orders(cost[:, col] - cost[:, other_col], cost[row] - cost[other_row])
    ordered = cost[row_order][:, col_order]
    assert ordered.trace() == pytest.approx(lw.solve(cost).objective, rel=1e-12)
    most = ordered.diagonal(1) - ordered.diagonal()[:-1]
    least = ordered.diagonal()[1:] - ordered.diagonal(-1)
    assert (least <= most + 1e-12).all()
    prices = prices_in_order((most + least) / 2)
    assert (ordered - prices).min(axis=1) == pytest.approx(ordered.diagonal() - prices, abs=1e-12)


@pytest.mark.parametrize("kind", ["uniform", "points", "rank eight"])
def test_no_orders_for_what_does_not(kind: str) -> None:
    assert find_axis(draw(kind, 150)) is None


def test_no_orders_from_forbidden_pairs() -> None:
    cost = draw("rank one", 150)
    cost[3, 4] = np.inf
    assert find_axis(cost) is None
    assert find_axis(np.zeros((150, 150))) is not None


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    ("kind", "dtype", "levels"),
    [
        ("rank one", "float32", 0),
        ("line", "float64", 0),
        ("rank one", "int64", 0),
        pytest.param("points", "float32", 2, marks=pytest.mark.slow),
        ("rank eight", "int32", 2),
        ("uniform", "float32", 0),
        ("normal", "float32", 0),
    ],
)
def test_starts(gpu, monkeypatch, kind, dtype, levels, maximize):
    small_samples(monkeypatch)
    cost = draw(kind, ROWS)
    if "int" in dtype:
        cost = np.rint(1e6 * cost)
    cost = (-cost if maximize else cost).astype(dtype)
    given = gpu.put(cost)
    with Monitor(gpu.context) as monitor:
        solve = CoreSolve(gpu.context, CanonicalMatrix(given.pointer, ROWS, ROWS, ROWS, dtype, maximize), monitor)
        start = StartFinder(gpu.context, monitor, None)
        report = start.run(solve)
    assert report.status == OPTIMAL
    assert start.levels == levels
    sign = -1 if maximize else 1
    u, v = (read(gpu.context, at, ROWS, solve.matrix.dual_dtype) for at in (solve.u, solve.v))
    slack = sign * cost.astype(u.dtype) - u[:, None] - v
    assert slack.min() >= (-1e-12 if u.dtype.kind == "f" else 0)
    assert sign * (u.sum() + v.sum()) == pytest.approx(lw.solve(cost, maximize=maximize).objective, rel=1e-9)


@pytest.fixture
def on_host(monkeypatch):
    """The samples that the host has solved."""
    solved = []

    def noted(costs, *options):
        prices = optimal_prices(costs, *options)
        solved.append((costs, prices))
        return prices

    monkeypatch.setattr(core_start, "optimal_prices", noted)
    return solved


@pytest.mark.parametrize(("dtype", "maximize"), [("float32", False), ("int64", True)])
def test_the_host_solves_a_sample_whose_searches_are_long(gpu, monkeypatch, on_host, dtype, maximize):
    small_samples(monkeypatch, _FIRST_STEPS=0)
    cost = draw("rank eight", ROWS)
    if dtype == "int64":
        cost = np.rint(1e6 * cost)
    cost = (-cost if maximize else cost).astype(dtype)
    result = lw.solve(cost, device="cuda", maximize=maximize)
    assert result.certificate.complete and result.statistics["levels"] == 2
    assert result.objective == pytest.approx(lw.solve(cost, maximize=maximize).objective, rel=1e-9)
    ((sample, prices),) = on_host
    assert sample.shape == (80, 80) and np.isin(sample, cost).all() and prices is not None


def test_the_prices_stay_if_the_host_finds_no_assignment(gpu, monkeypatch):
    small_samples(monkeypatch, _FIRST_STEPS=0)
    monkeypatch.setattr(core_start, "optimal_prices", lambda *_: None)
    cost = draw("rank eight", ROWS)
    result = lw.solve(cost, device="cuda")
    assert result.certificate.complete and result.statistics["levels"] == 2
    assert result.objective == pytest.approx(lw.solve(cost).objective, rel=1e-9)


def test_samples_follow_searches_that_are_long(gpu, monkeypatch):
    small_samples(monkeypatch, _EXPLORED_STEPS=0)
    cost = draw("normal", ROWS)
    result = lw.solve(cost, device="cuda")
    assert result.certificate.complete and result.statistics["levels"] == 2
    assert result.objective == pytest.approx(lw.solve(cost).objective, rel=1e-9)


def test_phases_go_on_while_many_rows_are_free(gpu):
    cost = draw("rank eight", ROWS)
    reports = []
    with Monitor(gpu.context) as monitor:
        for times in (1, 50):
            given = gpu.put(cost)
            matrix = CanonicalMatrix(given.pointer, ROWS, ROWS, ROWS, "float64", False)
            solve = CoreSolve(gpu.context, matrix, monitor)
            solve.start_at_column_minima()
            solve.list_rows()
            solve.launch(Schedule(16.0, 1 / 8, 0.5, 2, times=times))
            reports.append(solve.report())
    short, long = reports
    assert short.status == long.status == OPTIMAL and short.phases == long.phases
    assert short.rounds == 2 * short.phases < long.rounds <= 100 * long.phases
    assert long.left < short.left


def test_the_host_keeps_to_the_time_limit():
    with pytest.raises(TimeIsUpError):
        optimal_prices(draw("points", 300), False, Clock(0.0))
    assert optimal_prices(np.full((3, 3), np.inf), False, Clock(1.0)) is None


class Clock:
    """The part of a monitor that `optimal_prices` asks."""

    def __init__(self, remaining: float) -> None:
        self.remaining = remaining

    def stop(self) -> None:
        """Tell nobody."""


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["random walks", "powers", "deviations"])
def test_costs_whose_searches_are_long(real_gpu, kind):
    """Such costs took 0.8, 2 and 0.4 seconds, most of it in the first sample, or without any."""
    size, rng = 4096, np.random.default_rng(1)
    if kind == "random walks":
        x, y = rng.normal(size=(2, size, 2)).cumsum(axis=1)
        cost = np.hypot(*(x[:, None] - y).transpose(2, 0, 1))
    elif kind == "powers":
        cost = rng.random((size, 1)) ** (5 * rng.random(size))
    else:
        cost = rng.random((size, 1)) * (np.arange(size) - size * rng.random((size, 1))) ** 2
    cost = cost.astype(np.float32)
    result = lw.solve(cost, device="cuda")
    assert result.certificate.complete and result.statistics["levels"] == 1
    assert result.objective == pytest.approx(lw.solve(cost).objective, rel=1e-9)


@pytest.mark.gpu
def test_a_mixture_has_a_sample_after_all(real_gpu):
    """Distances in the plane and noise: few rows are left, but each search matches few of them."""
    size, rng = 8000, np.random.default_rng(1)
    x, y = rng.random((2, size, 2), np.float32)
    cost = rng.random((size, size), np.float32)
    for d in range(2):
        cost += 4 * abs(x[:, d, None] - y[:, d])
    result = lw.solve(cost, device="cuda")
    assert result.certificate.complete and result.statistics["levels"] > 0
