"""Rows that may stay free at one price, where they outnumber columns: points, and sparse costs, on a CPU."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import inputs
from lapwing.cpu import exact
from lapwing.cpu.solve import Control
from lapwing.cpu.turned import turned
from support.checks import assert_optimal


@pytest.fixture
def solved_shapes(monkeypatch):
    """Of every problem that a method solves."""
    shapes, run = [], exact.run

    def noted(problem, *arguments):
        shapes.append(problem.shape)
        return run(problem, *arguments)

    monkeypatch.setattr(exact, "run", noted)
    return shapes


def near(rows, cols, dtype, maximize=False, seed=1):
    """Sparse costs of pairs of points that are near each other; and a matrix, infinite elsewhere."""
    random = np.random.default_rng(seed)
    apart = np.abs(random.random((rows, 1, 2)) - random.random((1, cols, 2))).sum(-1)
    there = apart < 0.3
    cost = (1000 * apart + 1).astype(dtype)
    return sp.coo_array((cost[there], np.nonzero(there)), apart.shape), np.where(there, cost, -inf if maximize else inf)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("price", [30, 150, 2000])
def test_sparse_costs(solved_shapes, form, dtype, maximize, price):
    source, cost = near(70, 40, dtype, maximize)
    result = lw.solve(source.asformat(form), maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert solved_shapes == [(40, 70)]
    bare = lw.solve(source.asformat(form), maximize=maximize, unmatched_cost=price, certify=False)
    assert bare.objective == pytest.approx(result.objective, rel=1e-13)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "haversine", "inner_product"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("limit", [{}, {"max_distance": 0.3}])
def test_points(solved_shapes, metric, dtype, maximize, limit):
    if metric in ("inner_product", "manhattan") and limit:
        pytest.skip("it has no limit here")
    x, y = (np.random.default_rng(n).random((n, 2)).astype(dtype) + 0.1 for n in (90, 40))
    source = getattr(lw.costs, metric)(x, y, **limit)
    cost = source.in_sense(maximize).read(slice(None))
    price = float(np.quantile(cost[np.isfinite(cost)], 0.2))
    result = lw.solve(source, maximize=maximize, unmatched_cost=price)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    assert solved_shapes == [(40, 90)]


def test_prices_by_row_stay_with_the_rows(solved_shapes):
    source, cost = near(70, 40, "float64")
    for prices in (np.r_[100, np.full(69, 150)], np.r_[inf, np.full(69, 150)]):
        assert_optimal(lw.solve(source, unmatched_cost=prices), cost, unmatched_cost=prices)
    assert set(solved_shapes) == {(70, 40)}


def test_numbers_whose_digits_differ_by_far():
    """Duals are sums of parts, as far as float64 has too few digits."""
    source, cost = near(60, 30, "float64")
    source.data[::3] *= 1e17
    cost = np.where(np.isfinite(cost), source.toarray(), inf)
    for price in (1.0, 1e9, 1e22):
        assert_optimal(lw.solve(source, unmatched_cost=price), cost, unmatched_cost=price)


def test_a_number_that_is_none_is_named():
    x, y = np.random.default_rng(1).random((50, 2)), np.random.default_rng(2).random((20, 2))
    source, _ = near(50, 20, "float64")
    source.data[7] = np.nan
    row, col = (int(side[7]) for side in source.coords)
    with pytest.raises(lw.InvalidCostError, match=rf"cost\[{row}, {col}\]"):
        lw.solve(source, unmatched_cost=1.0)
    with pytest.raises(lw.RangeError, match="range of float64"):
        lw.solve(lw.costs.euclidean(x, y), unmatched_cost=1e308)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_time_limit(maximize):
    x, y = (np.random.default_rng(n).random((n, 2)) for n in (4000, 2000))
    source, price = lw.costs.euclidean(x, y), 0.3
    best = lw.solve(source, maximize=maximize, unmatched_cost=price).objective
    for limit in (0.0, 0.01, 0.03, 0.1):
        result = lw.solve(source, maximize=maximize, unmatched_cost=price, time_limit=limit)
        sign = -1 if maximize else 1
        assert sign * result.lower_bound <= sign * best * (1 + sign * 1e-12)
        assert sign * result.objective >= sign * best * (1 - sign * 1e-12)
        assert result.status == "time_limit" or result.objective == pytest.approx(best)


@pytest.mark.parametrize("maximize", [False, True])
def test_progress_is_that_of_the_given_problem(maximize):
    source, _ = near(70, 40, "float64", maximize)
    seen = []
    problem = inputs.make_problem(source, maximize, 150.0)
    control = turned(problem).control(Control(hook=lambda *values: seen.append(values)))
    control.hook("search", 1, 25, 1000.0, 2000.0, 0.5)
    price = -150.0 if maximize else 150.0
    assert seen == [("search", 1, 55, 1000.0 + 30 * price, 2000.0 + 30 * price, 0.5)]


def test_a_checkpoint(tmp_path):
    x, y = (np.random.default_rng(n).random((n, 2)) for n in (3000, 2900))
    source, path = lw.costs.euclidean(x, y), tmp_path / "kept.npz"
    result = lw.solve(source, unmatched_cost=0.01, checkpoint=path)
    again = lw.solve(source, unmatched_cost=0.01, checkpoint=path)
    assert again.certificate.complete and again.objective == pytest.approx(result.objective, rel=1e-14)


@settings(max_examples=150)
@given(st.data())
def test_small_problems(data):
    rows, cols = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 5))
    values = st.one_of(st.integers(-3, 3), st.integers(-(10**9), 10**9))
    dtype, maximize = data.draw(st.sampled_from(["float64", "int64"])), data.draw(st.booleans())
    cost = np.array(data.draw(st.lists(values, min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    there = np.array(data.draw(st.lists(st.booleans(), min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    scale = 0.1 if dtype == "float64" else 1
    cost, price = (cost * scale).astype(dtype), data.draw(values) * scale
    source = sp.coo_array((cost[there], np.nonzero(there)), cost.shape)
    dense = np.where(there, cost, -inf if maximize else inf)
    assert_optimal(
        lw.solve(source, maximize=maximize, unmatched_cost=price), dense, maximize=maximize, unmatched_cost=price
    )
