"""Matrices with a few more columns than rows, made square on the GPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import backend
from lapwing.gpu.core import padded as core_padded
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.padded import is_nearly_square
from lapwing.gpu.kinds.resident import PaddedMatrix
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def padded(monkeypatch):
    """The matrices that were made square: whenever rounds leave a row."""
    monkeypatch.setattr(backend, "PADDED_LEFT", 10**6)
    made = []
    init = PaddedMatrix.__init__

    def noted(self, whole):
        made.append(self)
        init(self, whole)

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
            is_nearly_square, ((150, 150), (100, 101), (150, 154), (300, 150), (1200, 1263), (1300, 1364), (2048, 2113))
        )
    )
    assert all(map(is_nearly_square, ((150, 153), (2048, 2112), (8250, 8000))))
