"""Matrices with a few more columns than rows, made square on the GPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import early_end
from lapwing.gpu.core import padded as core_padded
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.monitor import TimeIsUpError
from lapwing.gpu.core.padded import is_nearly_square
from lapwing.gpu.kinds import resident
from lapwing.gpu.kinds.resident import PaddedMatrix
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def padded(monkeypatch):
    """The matrices that were made square: whenever rounds leave a row."""
    monkeypatch.setattr(early_end, "PADDED_LEFT", 10**6)
    made = []
    init = PaddedMatrix.__init__

    def noted(self, *arguments):
        made.append(self)
        init(self, *arguments)

    monkeypatch.setattr(PaddedMatrix, "__init__", noted)
    return made


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow), "int32"])
@pytest.mark.parametrize("shape", [(130, 131), pytest.param((130, 132), marks=pytest.mark.slow), (132, 130)])
@pytest.mark.parametrize("kind", ["points", "ties"])
@pytest.mark.parametrize("options", [{}, {"maximize": True, "certify": False}])
def test_nearly_square(padded, dtype, shape, kind, options):
    cost = draw(shape, dtype, kind=kind)
    result = lw.solve(cost, device="cuda", **options)
    assert len(padded) == 1 or kind == "ties"
    assert_optimal(result, cost, maximize=options.get("maximize", False))
    assert sorted(result.u.shape + result.v.shape) == sorted(shape)
    assert ((result.col_to_row >= 0).sum(), (result.row_to_col >= 0).sum()) == (130, 130)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow), "int32"])
@pytest.mark.parametrize("shape", [(194, 198), pytest.param((288, 289), marks=pytest.mark.slow), (294, 288)])
@pytest.mark.parametrize("kind", ["points", "ties"])
@pytest.mark.parametrize("options", [{}, pytest.param({"maximize": True}, marks=pytest.mark.slow)])
def test_rows_of_padding_wait(monkeypatch, padded, dtype, shape, kind, options):
    """Few of them, which otherwise do not; samples have some, too."""
    monkeypatch.setattr(core_padded, "_LEAST_WAITING", 1)
    monkeypatch.setattr(core_padded, "_MOST_WAITING", 1 / 32)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)
    cost = draw(shape, dtype, kind=kind)
    assert_optimal(lw.solve(cost, device="cuda", **options), cost, **options)
    assert padded or kind == "ties"


def test_many_rows_wait(monkeypatch, padded):
    monkeypatch.setattr(core_padded, "_MOST_WAITING", 1.0)
    monkeypatch.setattr(core_padded, "_LEAST_WAITING", 1)
    cost = draw((300, 345), "float32", kind="points")
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert padded


@pytest.mark.parametrize("offset", [-7.0, 1e6])
@pytest.mark.parametrize("least_waiting", [1, 64])
def test_costs_far_from_zero(monkeypatch, padded, offset, least_waiting):
    monkeypatch.setattr(core_padded, "_LEAST_WAITING", least_waiting)
    cost = draw((150, 152), "float32", kind="points") + np.float32(offset)
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert padded


@pytest.mark.parametrize("least_waiting", [1, 64])
def test_forbidden_pairs(monkeypatch, padded, least_waiting):
    monkeypatch.setattr(core_padded, "_LEAST_WAITING", least_waiting)
    cost = draw((150, 152), "float32", kind="points")
    cost[np.random.default_rng(1).random(cost.shape) < 0.5] = np.inf
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert padded
    cost[:20] = np.inf
    cost[:20, :19] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda")
    assert_hall_violator(caught.value, cost)


def test_others_stay_as_they_are(padded):
    for options in ({"unmatched_cost": 1e6}, {"memory_limit": 10**9}):
        cost = draw((150, 152), "float32", kind="points")
        lw.solve(cost, device="cuda", **options)
    assert not padded
    assert not any(
        map(
            is_nearly_square, ((150, 150), (100, 101), (150, 154), (300, 150), (1200, 1263), (1300, 1364), (4096, 4161))
        )
    )
    assert all(map(is_nearly_square, ((150, 153), (4096, 4160), (8100, 8000))))


# --- searches that read many rows again ---


@pytest.fixture
def at_once(monkeypatch, padded):
    """All searches are given up at once; the matrices of `padded`."""
    monkeypatch.setattr(early_end, "PADDED_LEFT", 1)
    monkeypatch.setattr(early_end, "SQUARED_READS", -1.0)
    monkeypatch.setattr(early_end, "SQUARED_COMPUTED_READS", -1.0)
    monkeypatch.setattr(core_padded, "_MOST_EXITS", 0.5)
    return padded


def clusters(rows, cols, evenness=20.0):
    """Squared distances of points in clusters, which have more rows or more columns."""
    random = np.random.default_rng(1)
    centres = random.random((5, 2))

    def points(count):
        shares = random.dirichlet(np.full(5, evenness))
        return centres[random.choice(5, size=count, p=shares)] + 0.02 * random.normal(size=(count, 2))

    x, y = points(rows), points(cols)
    return (1000 * ((x[:, None] - y[None]) ** 2).sum(-1)).astype(np.float32)


@pytest.mark.parametrize("shape", [(150, 180), (140, 300), (300, 140)])
@pytest.mark.parametrize("maximize", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_many_more_columns(at_once, shape, maximize):
    cost = clusters(*shape, evenness=0.3) * (-1 if maximize else 1)
    assert_optimal(lw.solve(cost, device="cuda", maximize=maximize), cost, maximize=maximize)
    assert len(at_once) == 1


@pytest.mark.parametrize(
    ("dtype", "price"),
    [
        ("float32", 400.0),
        ("float32", 400.1),  # which float32 cannot hold
        ("float16", 512.1),
        ("float64", 400.1),
        ("int32", 400),
        ("uint8", 90),
        ("uint8", 1000),  # which uint8 cannot hold
    ],
)
@pytest.mark.parametrize("maximize", [False, True])
def test_rows_that_may_stay_free(at_once, dtype, price, maximize):
    cost = clusters(150, 150) if dtype != "uint8" else np.minimum(clusters(150, 150), 255)
    cost = cost.astype(dtype)
    asked = {"maximize": maximize, "unmatched_cost": -price if maximize and dtype != "uint8" else price}
    if maximize and dtype != "uint8":
        cost = -cost
    assert_optimal(lw.solve(cost, device="cuda", **asked), cost, **asked)
    assert at_once or dtype == "uint8"


def test_prices_by_row(at_once):
    cost = clusters(150, 160)
    prices = np.random.default_rng(2).uniform(100, 900, 150)
    prices[::7] = np.inf
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=prices), cost, unmatched_cost=prices)
    assert at_once


def test_more_rows_than_columns(at_once):
    cost = clusters(160, 150)
    result = lw.solve(cost, device="cuda", unmatched_cost=300.0)
    assert_optimal(result, cost, unmatched_cost=300.0)
    assert at_once


def test_many_rows_stay_free(at_once, monkeypatch):
    """More than exits are made for; the solve goes on as it began."""
    monkeypatch.setattr(core_padded, "_MOST_EXITS", 1 / 8)
    cost = clusters(150, 150)
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=2.0), cost, unmatched_cost=2.0)
    assert not at_once


def test_forbidden_pairs_and_prices(at_once):
    cost = clusters(150, 150)
    cost[np.random.default_rng(1).random(cost.shape) < 0.3] = np.inf
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=450.0), cost, unmatched_cost=450.0)
    assert at_once


@pytest.mark.parametrize("dims", [2, pytest.param(5, marks=pytest.mark.slow)])  # with boxes; as a matrix that is held
@pytest.mark.parametrize(("cols", "price"), [(150, 1.0), (230, None)])
def test_computed_costs(at_once, dims, cols, price):
    random = np.random.default_rng(4)
    centres = random.random((5, dims))
    x, y = (centres[random.choice(5, n, p=random.dirichlet(np.ones(5)))] for n in (150, cols))
    x, y = x + 0.02 * random.normal(size=x.shape), y + 0.02 * random.normal(size=y.shape)
    result = lw.solve(lw.costs.squared_euclidean(x, y), device="cuda", unmatched_cost=price)
    assert_optimal(result, ((x[:, None] - y[None]) ** 2).sum(-1), unmatched_cost=price)
    assert at_once


@pytest.mark.parametrize("price", [None, 400.0])
def test_the_time_is_up_in_a_square_copy(monkeypatch, at_once, price):
    """What there is by then is the answer: nothing begins anew."""

    def late(solve):
        solve._monitor.stop()
        raise TimeIsUpError

    monkeypatch.setattr(core_padded.PaddedSolve, "report", late)
    cost = clusters(150, 160, evenness=1.0)
    result = lw.solve(cost, device="cuda", unmatched_cost=price)
    optimum = lw.solve(cost, unmatched_cost=price).objective
    assert at_once and result.status == "time_limit" and result.certificate.complete
    assert result.lower_bound <= optimum * (1 + 1e-12) and optimum <= result.objective * (1 + 1e-12)
    assert result.lower_bound == result.certificate.optimum_bound


def test_no_memory_for_a_square_copy(monkeypatch, at_once):
    monkeypatch.setattr(resident, "MOST_COPIED", 0.0)
    cost = clusters(150, 180, evenness=1.0)
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not at_once
