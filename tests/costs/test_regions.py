"""Points that bid in regions, which are the same for any number of threads (cpp: lapwing/core/regions.hpp)."""

import numpy as np
import pytest

import lapwing as lw

FROM = 16_384  # columns (RegionTuning::kFrom)


def scattered(rng, count, kind):
    if kind == "grid":
        return rng.integers(0, 150, (count, 2))
    if kind == "blobs":
        return rng.random((12, 2))[rng.integers(0, 12, count)] + rng.normal(0, 0.01, (count, 2))
    return rng.random((count, 2))


@pytest.mark.parametrize(
    ("kind", "more_columns", "price", "maximize"),
    [
        ("uniform", 0, None, False),
        ("grid", 0, None, False),
        ("uniform", 0, None, True),
        ("uniform", 900, None, False),
        ("blobs", 0, 0.0004, False),
    ],
)
def test_threads_change_nothing(kind, more_columns, price, maximize):
    rng = np.random.default_rng(12)
    x, y = scattered(rng, FROM, kind), scattered(rng, FROM + more_columns, kind)
    source = lw.costs.squared_euclidean(x.astype(np.float32), y.astype(np.float32))
    one, three = (
        lw.solve(source, unmatched_cost=price, maximize=maximize, method="core", threads=threads) for threads in (1, 3)
    )
    assert one.status == "optimal"
    assert one.certificate.bound <= 1e-9 * abs(one.objective)
    for name in ("row_to_col", "u", "v"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    for name in ("bids", "dense_rows_read", "rows_scanned"):
        assert one.statistics[name] == three.statistics[name]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_time_limit_in_the_midst_of_bids(threads):
    rng = np.random.default_rng(13)
    source = lw.costs.squared_euclidean(*rng.random((2, 3 * FROM, 2), dtype=np.float32))
    for limit in (0.1, 0.3):
        result = lw.solve(source, method="core", threads=threads, time_limit=limit)
        assert (np.sort(result.row_to_col) == np.arange(3 * FROM)).all()
        assert result.status == "optimal" or result.lower_bound <= result.objective
