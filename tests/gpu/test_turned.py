"""Rows that may stay free at one price, where they outnumber columns: columns are solved as rows."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.costs import points_matrix
from support.checks import assert_optimal
from support.emulated_solves import check_interrupted, draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def solved_rows(monkeypatch):
    """How many rows each launch has."""
    counts, launch = [], CoreSolve.launch

    def noted(self, *arguments, **named):
        counts.append(self.matrix.rows)
        launch(self, *arguments, **named)

    monkeypatch.setattr(CoreSolve, "launch", noted)
    return counts


def unit(shape, dtype, seed, kind):
    """Costs from 0 to 1."""
    return (draw(shape, "float64", seed, kind) / 1000).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int64"])
@pytest.mark.parametrize("kind", ["uniform", "points", "ties"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(90, 30), (41, 40)])
@pytest.mark.parametrize("share", [0.05, 0.5, 2.0])
def test_a_matrix(solved_rows, dtype, kind, maximize, shape, share):
    cost = (200 * unit(shape, "float64", 3, kind)).astype(dtype)
    price = np.quantile(cost.astype(float), min(share, 1.0)) * max(share, 1.0)
    price = float(np.rint(price)) if np.dtype(dtype).kind in "iu" else float(price)
    result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert solved_rows and set(solved_rows) == {shape[1]}
    again = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=price, certify=False)
    assert again.objective == pytest.approx(result.objective, rel=1e-13)


@pytest.mark.parametrize("price", [-3, 0, 10**12])
def test_prices_of_any_size(price):
    """Below all costs, and above."""
    cost = draw((60, 25), "int32", 1, "uniform")
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=price), cost, unmatched_cost=price)


def test_one_price_in_an_array(solved_rows):
    cost = unit((60, 25), "float32", 1, "uniform")
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=np.full(60, 0.25)), cost, unmatched_cost=0.25)
    assert set(solved_rows) == {25}


@pytest.mark.parametrize("prices", [np.r_[0.5, np.full(59, 0.25)], np.r_[inf, np.full(59, 0.25)]], ids=["other", "inf"])
def test_prices_by_row_stay_with_the_rows(solved_rows, prices):
    cost = unit((60, 25), "float32", 1, "uniform")
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=prices), cost, unmatched_cost=prices)
    assert set(solved_rows) == {60}


def test_a_square_matrix_by_columns_is_not_copied(solved_rows):
    cost = np.asfortranarray(unit((50, 50), "float64", 2, "points"))
    plan = lw.plan(cost, device="cuda", unmatched_cost=0.01)
    assert plan.transposed and not any("not contiguous" in reason for reason in plan.reasons)
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=0.01), cost, unmatched_cost=0.01)


def test_without_room_for_a_copy_the_matrix_stays_as_it_is(solved_rows):
    cost = unit((300, 100), "float64", 2, "uniform")
    whole = lw.plan(cost, device="cuda", unmatched_cost=0.1)
    result = lw.solve(cost, device="cuda", unmatched_cost=0.1, memory_limit=whole.memory_bytes + cost.nbytes - 1)
    assert_optimal(result, cost, unmatched_cost=0.1)
    assert whole.transposed and set(solved_rows) == {300}


def test_forbidden_pairs():
    random = np.random.default_rng(5)
    cost = unit((80, 30), "float64", 2, "uniform")
    cost[random.random(cost.shape) < 0.7] = inf
    cost[:, 3] = cost[7] = inf
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=0.3), cost, unmatched_cost=0.3)


def test_costs_far_above_the_others():
    cost = unit((900, 600), "float64", 2, "uniform")
    cost[np.random.default_rng(5).random(cost.shape) < 0.2] = 1e13
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=0.3), cost, unmatched_cost=0.3)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("maximize", [False, True])
def test_points(solved_rows, monkeypatch, held, maximize):
    monkeypatch.setattr(points_matrix, "LEAST_COMPUTED", 10**6 if held else 0)
    x, y = (np.random.default_rng(n).random((n, 2)).astype(np.float32) for n in (110, 60))
    source, price = lw.costs.squared_euclidean(x, y), 0.9 if maximize else 0.01
    asked = {"maximize": maximize, "unmatched_cost": price}
    result = lw.solve(source, device="cuda", **asked)
    assert_optimal(result, source.read(slice(None)), **asked)
    assert set(solved_rows) == {60} and lw.plan(source, device="cuda", **asked).transposed
    assert lw.solve(source, device="cuda", certify=False, **asked).objective == pytest.approx(result.objective)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(120, 50), (60, 60)])
def test_sparse_costs(solved_rows, form, maximize, shape):
    cells = np.random.default_rng(4).random(shape) < 0.1
    cost = np.where(cells, unit(shape, "float32", 4, "uniform"), -inf if maximize else inf)
    source = sp.coo_array((cost[cells], np.nonzero(cells)), shape).asformat(form)
    price = 0.6 if maximize else 0.4
    result = lw.solve(source, device="cuda", maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert set(solved_rows) == {shape[1]}


@pytest.mark.parametrize("method", ["ssp", "munkres", "hungarian-tree", "auction"])
def test_reference_methods(method):
    cost = unit((40, 22), "float64", 2, "uniform")
    assert_optimal(lw.solve(cost, device="cuda", unmatched_cost=0.2, method=method), cost, unmatched_cost=0.2)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("limit", [0.0, 0.02, 0.2])
def test_a_time_limit(maximize, limit):
    cost = unit((300, 150), "float32", 2, "points")
    check_interrupted(cost, maximize, 0.2, repeatable=limit == 0, time_limit=limit)


def test_progress_counts_all_rows():
    cost, seen = unit((300, 150), "float32", 2, "points"), []
    result = lw.solve(cost, device="cuda", unmatched_cost=0.2, progress=seen.append)
    assert seen[-1].matched == 300 == seen[-1].rows
    assert seen[-1].objective == pytest.approx(result.objective)


def test_a_checkpoint_has_duals_of_the_problem_as_given(tmp_path):
    cost = unit((300, 150), "float64", 2, "points")
    path = tmp_path / "kept.npz"
    result = lw.solve(cost, device="cuda", unmatched_cost=0.2, checkpoint=path)
    assert_optimal(result, cost, unmatched_cost=0.2)
    assert_optimal(lw.solve(cost, unmatched_cost=0.2, checkpoint=path), cost, unmatched_cost=0.2)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_small_problems(data):
    rows, cols = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 6))
    dtype, maximize = data.draw(st.sampled_from(["float32", "float64", "int32"])), data.draw(st.booleans())
    values = st.integers(-4, 4) if data.draw(st.booleans()) else st.integers(-(10**6), 10**6)
    cost = np.array(data.draw(st.lists(values, min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    cost = cost.astype(dtype) * (np.dtype(dtype).type(0.1) if dtype != "int32" else 1)
    price = data.draw(values) * (0.1 if dtype != "int32" else 1)
    result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
