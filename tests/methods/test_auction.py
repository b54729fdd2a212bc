"""The auction: both variants, the limits of its bids, and the last stage."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from support.checks import assert_hall_violator, assert_optimal, assert_proven, scipy_objective
from support.strategies import matrices

VARIANTS = ("optimised", "plain")


@given(cost=matrices(forbid=True), maximize=st.booleans())
def test_plain_bids(cost, maximize):
    if maximize:
        cost = -cost
    try:
        result = lw.solve(cost, maximize=maximize, method=lw.Auction("plain"))
    except lw.InfeasibleError as error:
        assert_hall_violator(error, cost, maximize=maximize)
        assert scipy_objective(cost, maximize=maximize) is None
    else:
        assert_optimal(result, cost, maximize=maximize)


@pytest.mark.parametrize("cls", ["uniform", "int:1", "geometric", "disjoint", "lowrank:2", "sanity"])
def test_lists_save_reading_and_change_no_bid(cls):
    cost = lw.instances.generate(cls, 400, 1)
    optimised, plain = (lw.solve(cost, method=lw.Auction(variant)) for variant in VARIANTS)
    assert optimised.statistics["bids"] == plain.statistics["bids"]
    assert np.array_equal(optimised.row_to_col, plain.row_to_col)
    assert optimised.statistics["rows_scanned"] <= plain.statistics["rows_scanned"] + 400
    if cls == "uniform":
        assert optimised.statistics["rows_scanned"] < plain.statistics["rows_scanned"] / 2


def test_the_last_phase_of_integers_is_optimal():
    """Costs times rows + 1, epsilon 1: the last stage changes few prices."""
    cost = lw.instances.generate("int:100", 300, 1, dtype=np.int32)
    result = lw.solve(cost, method="auction")
    assert result.certificate is not None and result.certificate.exact
    assert result.statistics["rows_scanned_phase_1"] < 4 * 300
    assert result.statistics["auction_left"] == 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_price_wars_end(variant, dtype):
    """Three rows want the same two columns, and the third choice is dear: each bid raises a price by epsilon alone."""
    cost = np.full((60, 60), 10**9, dtype)
    cost[:, :30] = 0
    began = time.perf_counter()
    assert_proven(lw.solve(cost, method=lw.Auction(variant)), cost)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_solution_is_found_out(variant):
    cost = np.random.default_rng(0).random((200, 200))
    cost[:101, 100:] = np.inf
    began = time.perf_counter()
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, method=lw.Auction(variant))
    assert_hall_violator(caught.value, cost)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_integers_without_room_for_scaling(variant):
    """Beside the largest costs there is no room to multiply, or even to bid."""
    for base in (2**45, 2**52, 2**55):
        cost = np.random.default_rng(3).integers(-base, base, (12, 12))
        result = lw.solve(cost, method=lw.Auction(variant))
        assert result.certificate is not None and result.certificate.exact


def test_options():
    assert lw.solve(np.eye(3), method=lw.Auction("plain")).objective == 0
    assert lw.solve(np.eye(3), method=lw.Ssp(pricing=False)).statistics["phases"] == 1
    with pytest.raises(lw.ArgumentError, match="'variant' of method 'auction' must be"):
        lw.Auction("fast")
    with pytest.raises(lw.ArgumentError, match="'pricing' of method 'ssp' must be True or False"):
        lw.Ssp("no")
