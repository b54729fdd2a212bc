"""`max_distance` of points: pairs beyond it are forbidden, however rows are read."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.errors import ArgumentError, DtypeError


def gated(cost, limit, maximize=False):
    return np.where(cost > limit, -np.inf if maximize else np.inf, cost)


KINDS = {
    "squared_euclidean": (lw.costs.squared_euclidean, lambda d: d * d),
    "euclidean": (lw.costs.euclidean, float),
    "manhattan": (lambda x, y, **o: lw.costs.minkowski(x, y, 1, **o), float),
    "chebyshev": (lambda x, y, **o: lw.costs.minkowski(x, y, math.inf, **o), float),
    "minkowski": (lambda x, y, **o: lw.costs.minkowski(x, y, 3, **o), float),
    "cosine": (lw.costs.cosine, float),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    seed=st.integers(0, 2**32), m=st.integers(0, 9), n=st.integers(0, 9), share=st.floats(0, 1), maximize=st.booleans()
)
def test_the_matrix(name, dtype, seed, m, n, share, maximize):
    make, as_cost = KINDS[name]
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(m, 3)).astype(dtype), rng.normal(size=(n, 3)).astype(dtype)
    costs = np.asarray(make(x, y))
    distance = (
        float(np.sqrt(np.quantile(costs, share)) if name == "squared_euclidean" else np.quantile(costs, share))
        if costs.size
        else 1.0
    )
    source = make(x, y, max_distance=max(distance, 0.0))
    wanted = gated(costs, dtype(as_cost(max(distance, 0.0))), maximize)
    assert np.array_equal(np.asarray(source.in_sense(maximize)), wanted)
    assert np.array_equal(
        np.asarray(pickle.loads(pickle.dumps(source))), gated(costs, dtype(as_cost(max(distance, 0.0))))
    )
    options = {"maximize": maximize, "infeasible": "partial"}
    result, other = lw.solve(source, **options), lw.solve(wanted, **options)
    assert len(result.pairs) == len(other.pairs) and result.objective == pytest.approx(
        other.objective, rel=1e-9, abs=1e-9
    )
    assert result.certificate.complete


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [0.003, 0.02, 0.2])
def test_by_boxes(dtype, limit):
    """Many columns: rows are read by boxes, and boxes beyond the limit are left out."""
    rng = np.random.default_rng(1)
    x, y = rng.random((1500, 2)).astype(dtype), rng.random((2500, 2)).astype(dtype)
    source, price = lw.costs.euclidean(x, y, max_distance=limit), 0.9 * limit
    result = lw.solve(source, unmatched_cost=price)
    matrix = lw.solve(gated(np.asarray(lw.costs.euclidean(x, y)), dtype(limit)), unmatched_cost=price)
    assert result.objective == pytest.approx(matrix.objective, rel=1e-12)
    assert result.certificate.bound <= 1e-10 and (result.pair_costs <= dtype(limit)).all()
    assert len(result.pairs) == len(matrix.pairs)


def test_as_many_near_pairs_as_possible():
    rng = np.random.default_rng(2)
    x, y = rng.random((1200, 2)), rng.random((2100, 2))
    source = lw.costs.squared_euclidean(x, y, max_distance=0.02)
    result, other = (lw.solve(cost, infeasible="partial") for cost in (source, np.asarray(source)))
    assert result.status == "partial" and len(result.pairs) == len(other.pairs)
    assert result.objective == pytest.approx(other.objective, rel=1e-12) and result.certificate.complete


def test_a_term_of_a_sum_has_its_own_gate():
    rng = np.random.default_rng(3)
    place, colour = rng.random((20, 2)), rng.random((20, 3))
    near = lw.costs.euclidean(place, place[::-1], max_distance=0.3)
    both = lw.costs.weighted(near, -2.0, lw.costs.euclidean(colour, colour), 1.0)
    distance = np.asarray(lw.costs.euclidean(place, place[::-1]))
    plain = np.asarray(
        lw.costs.weighted(lw.costs.euclidean(place, place[::-1]), -2.0, lw.costs.euclidean(colour, colour), 1.0)
    )
    assert np.array_equal(np.asarray(both), np.where(distance > 0.3, np.inf, plain))


def test_the_limit_is_checked():
    x = np.zeros((2, 2))
    for wrong in (-1, math.nan):
        with pytest.raises(ArgumentError, match="max_distance must be at least 0"):
            lw.costs.euclidean(x, x, max_distance=wrong)
    with pytest.raises(DtypeError, match="max_distance must be a number, got 'near'"):
        lw.costs.euclidean(x, x, max_distance="near")
    assert "up to 0.5" in repr(lw.costs.euclidean(x, x, max_distance=0.5))
    assert lw.solve(lw.costs.squared_euclidean(x, x, max_distance=1e155)).objective == 0  # whose square is infinite
    assert lw.solve(lw.costs.euclidean(x, x, max_distance=0)).objective == 0
    assert lw.solve(lw.costs.euclidean(np.float32(x), np.float32(x), max_distance=1e300)).objective == 0


def test_regions_that_a_gate_keeps_apart():
    """A search that finds no free column ends, though columns that no row may take are open."""
    rng = np.random.default_rng(9)
    x, y = rng.random((2, 4000, 2)).astype(np.float32)
    x[:2003] += 10
    y[:2000] += 10
    source = lw.costs.squared_euclidean(x, y, max_distance=2.0)
    with pytest.raises(lw.InfeasibleError, match="columns"):
        lw.solve(source, threads=1)
    result = lw.solve(source, unmatched_cost=5.0, threads=1)
    assert (result.row_to_col < 0).sum() >= 3
    assert result.certificate.bound < 1e-6
