"""Points in clusters that need not all be matched: the answers of the dense problem, in about as much work as square.

Before dummy rows bid (cpp: lapwing/core/dummy_rows.hpp) such a problem read hundreds of rows a row.
"""

import numpy as np
import pytest

import lapwing as lw
from support.checks import assert_matching, assert_proven

_CLUSTERS, _SPREAD = 40, 0.01


def clusters(rng, count, shares):
    centres = np.random.default_rng(7).random((_CLUSTERS, 2))
    return centres[rng.choice(_CLUSTERS, count, p=shares)] + rng.normal(0, _SPREAD, (count, 2))


def two_sets(seed, m, n, uneven):
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.full(_CLUSTERS, 2)) if uneven else np.full(_CLUSTERS, 1 / _CLUSTERS) for _ in range(2)]
    return clusters(rng, m, shares[0]), clusters(rng, n, shares[1])


@pytest.mark.parametrize(
    ("m", "n", "uneven", "price"),
    [
        (3000, 3000, True, 1.0),  # above all costs: binds nobody
        (3000, 3000, True, 0.01),
        (3000, 3000, False, 0.0003),
        (2600, 3900, True, None),
        (3000, 3100, False, None),
        (3100, 3000, False, 0.05),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_the_dense_problem(m, n, uneven, price, dtype):
    x, y = (points.astype(dtype) for points in two_sets(m + n, m, n, uneven))
    source = lw.costs.squared_euclidean(x, y)
    result = lw.solve(source, unmatched_cost=price, method="core", threads=1)
    cost = source.read(slice(None)).reshape(m, n)
    assert result.status == "optimal"
    assert_matching(result, cost, price)
    assert_proven(result, cost, unmatched_cost=price)
    assert result.statistics["dense_rows_read"] < 60 * m
    assert result.statistics["rows_scanned"] < 60 * m


@pytest.mark.parametrize("threads", [1, 2])
def test_ties_at_the_price_are_matched(threads):
    rng = np.random.default_rng(4)
    x, y = (rng.integers(0, 60, (2500, 2)).astype(np.float32) for _ in range(2))
    source = lw.costs.squared_euclidean(x, y)
    cost = source.read(slice(None)).reshape(2500, 2500)
    for price in (1.0, 4.0, 5.0):
        result = lw.solve(source, unmatched_cost=price, threads=threads)
        dense = lw.solve(cost, unmatched_cost=price, threads=threads)
        assert result.objective == dense.objective
        assert (result.row_to_col >= 0).sum() == (dense.row_to_col >= 0).sum()
