"""Points of which many are equal: a transport between places (cpp: lapwing/reductions/equal_lines.hpp)."""

import numpy as np
import pytest

import lapwing as lw
from support.checks import assert_matching, assert_optimal, assert_proven


def places(rng, count, side):
    return rng.integers(0, side, (count, 2)).astype(np.float32) / 8


@pytest.mark.parametrize("metric", ["squared_euclidean", "manhattan", "euclidean"])
@pytest.mark.parametrize(
    ("m", "n", "price", "maximize"),
    [
        (1500, 1500, None, False),
        (1500, 1500, None, True),
        (1500, 1900, None, False),
        (1900, 1500, None, False),
        (1500, 1500, 0.1, False),
        (1500, 1700, 0.3, True),
    ],
)
def test_as_the_dense_problem(metric, m, n, price, maximize):
    rng = np.random.default_rng(m + n)
    source = getattr(lw.costs, metric)(places(rng, m, 6), places(rng, n, 7))
    cost = source.read(slice(None)).reshape(m, n)
    result = lw.solve(source, unmatched_cost=price, maximize=maximize, method="core")
    assert result.statistics["distinct_rows"] <= 49
    assert_matching(result, cost, price)
    assert_proven(result, cost, unmatched_cost=price, maximize=maximize)


def test_a_price_for_each_row():
    rng = np.random.default_rng(5)
    x, y = places(rng, 600, 4), places(rng, 600, 4)
    of_place = rng.random(16)
    for prices in (of_place[(x * 8 @ [4, 1]).astype(int)], rng.random(600)):  # equal for equal rows, or not
        source = lw.costs.squared_euclidean(x, y)
        cost = source.read(slice(None)).reshape(600, 600)
        assert_optimal(lw.solve(source, unmatched_cost=prices, method="core"), cost, unmatched_cost=prices)


def test_forbidden_places():
    rng = np.random.default_rng(6)
    x, y = places(rng, 800, 5), places(rng, 800, 5)
    source = lw.costs.squared_euclidean(x, y, max_distance=0.3)
    cost = source.read(slice(None)).reshape(800, 800)
    assert_optimal(lw.solve(source, unmatched_cost=0.05, method="core"), cost, unmatched_cost=0.05)
    with pytest.raises(lw.InfeasibleError):
        lw.solve(lw.costs.squared_euclidean(x, y + np.float32(9), max_distance=0.3), method="core")


def test_many_points_at_few_places():
    rng = np.random.default_rng(7)
    source = lw.costs.squared_euclidean(places(rng, 20_000, 12), places(rng, 20_000, 12))
    result = lw.solve(source, time_limit=20)  # without a transport 17,000 take over a minute
    assert result.status == "optimal" and result.certificate.exact
