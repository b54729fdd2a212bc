"""Costs capped at one greatest value, on the GPU: solved as sparse costs whose rows may stay free at the cap."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import early_end
from lapwing.gpu.core import capped, start
from lapwing.gpu.core.solver import Schedule
from support.checks import assert_optimal
from support.gpu_memory import Gpu, OnGpu

SHORT = Schedule(0.0, 0.0, 0.5, 1)
pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def short_auction(below, monkeypatch):
    """Leaves rows, for which the solves below a cap are tried."""
    for schedule in ("UNSTRUCTURED", "RECTANGULAR"):
        monkeypatch.setattr(start, schedule, SHORT)


def clipped(shape, dtype, seed=1):
    """Distances in the plane, clipped where three in four or more are."""
    random = np.random.default_rng(seed)
    a, b = random.random((shape[0], 1, 2)), random.random((1, shape[1], 2))
    cost = np.minimum(np.sqrt(((a - b) ** 2).sum(-1)), 0.15)
    return np.round(100 * cost).astype(dtype) if np.dtype(dtype).kind in "iu" else cost.astype(dtype)


def given(context, cost, place):
    return OnGpu(Gpu(context), cost) if place == "gpu" else cost


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("place", ["host", "gpu"])
@pytest.mark.parametrize("shape", [(40, 40), (30, 45)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("certify", [False, True])
def test_capped_costs_are_solved_below_the_cap(emulated_gpu, below, dtype, place, shape, maximize, certify):
    cost = clipped(shape, dtype) * (-1 if maximize else 1)
    result = lw.solve(given(emulated_gpu, cost, place), device="cuda", maximize=maximize, certify=certify)
    assert len(below) == 1 and result.status == "optimal"
    if place == "host":
        assert_optimal(result, cost, maximize=maximize)
        assert result.row_to_col.min() >= 0
    else:  # no library reads the answer
        assert result.objective == pytest.approx(lw.solve(cost, maximize=maximize).objective, rel=1e-12)
        assert not certify or (result.certificate.complete and result.certificate.exact)


@pytest.mark.parametrize("shape", [(40, 40), (30, 45), (45, 30)])
@pytest.mark.parametrize("price", [0.05, 0.1499, 0.15, 0.3, np.inf])
@pytest.mark.parametrize("maximize", [False, True])
def test_rows_that_may_stay_free(below, shape, price, maximize):
    if price == np.inf and shape[0] > shape[1]:
        pytest.skip("infeasible")
    sign = -1 if maximize else 1
    cost = sign * clipped(shape, "float32")
    prices = sign * np.float32(price)
    result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=prices)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=prices)
    own = np.full(shape[0], price)
    own[::3] = 0.07
    result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=sign * own)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=sign * own)
    if shape[0] > shape[1] and price > 0.15:  # some rows cannot have a pair at the cap
        assert not below
    elif shape[0] <= shape[1] and price > 0.1:
        assert len(below) == 2


def test_rows_whose_only_way_out_is_to_stay_free(below):
    """A search in which only unmatched columns are free, and rows are examined in full."""
    random = np.random.default_rng(0)
    values = np.sqrt(((random.random((90, 1, 2)) - random.random((1, 60, 2))) ** 2).sum(-1))
    cost = np.minimum(values, 0.105).astype(np.float32)
    result = lw.solve(cost, device="cuda", unmatched_cost=0.158)
    assert_optimal(result, cost, unmatched_cost=0.158)
    assert result.statistics["full_rows"] > 0


def test_as_many_pairs_as_possible_at_the_price_of_staying_free(below):
    cost = clipped((40, 40), "int32")
    result = lw.solve(cost, device="cuda", unmatched_cost=15)
    assert len(below) == 1 and result.row_to_col.min() >= 0  # the cap is 15, too


def test_columns_side_by_side(below):
    cost = np.asfortranarray(clipped((40, 40), "float32"))
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert len(below) == 1
    tall = clipped((45, 30), "float32")
    assert_optimal(lw.solve(tall, device="cuda"), tall)
    assert len(below) == 1  # some columns would have to stay free


@pytest.mark.parametrize("odd", [0.2, np.inf, 1e12])
def test_a_few_costs_above_the_cap(below, odd):
    cost = clipped((80, 80), "float32")
    cost[3, 5] = odd  # in no row that is looked at
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not below


@pytest.mark.parametrize("odd", [np.nan, -np.inf])
def test_invalid_costs_are_named(odd):
    cost = clipped((80, 80), "float32")
    cost[3, 5] = odd
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(cost, device="cuda")
    assert (caught.value.row, caught.value.col) == (3, 5)


def test_too_many_pairs_below_the_cap(monkeypatch, below):
    monkeypatch.setattr(capped, "_MORE_THAN_SEEN", 0.01)
    cost = clipped((40, 40), "float32")
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not below


def test_no_capped_solve_for_few_rows_left(monkeypatch, below):
    monkeypatch.setattr(early_end, "CAPPED_LEFT", 1)
    cost = clipped((40, 40), "float32")
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not below


@pytest.mark.parametrize("cost", [np.ones((30, 30), np.float32), np.eye(30, dtype=np.int32), 1 - np.eye(30)])
def test_few_values(cost):
    assert_optimal(lw.solve(cost, device="cuda"), cost)


def test_more_entries_than_a_list_holds(below):
    random = np.random.default_rng(5)
    cost = np.ones((60, 300), np.float32)
    cost[random.random(cost.shape) < 0.2] = 0.5
    cost[:, :4] -= random.random((60, 4)).astype(np.float32) / 4
    result = lw.solve(cost, device="cuda")
    assert len(below) == 1
    assert_optimal(result, cost)


def test_rows_with_more_costs_below_the_cap_than_lists_are_good_for(below):
    random = np.random.default_rng(6)
    cost = np.ones((90, 700), np.float32)
    cost[random.random(cost.shape) < 0.2] = 0.5
    assert_optimal(lw.solve(cost, device="cuda"), cost)
    assert not below
