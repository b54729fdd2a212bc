"""The two starts of jv: column reduction, and prices of zero (cpp/include/lapwing/steep_rows.hpp,
saturated_rows.hpp, jv/trial.inc.hpp)."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.everyday import CLASSES
from scipy.optimize import linear_sum_assignment

import lapwing as lw

STEEP = ["negative Pareto", "-exp(5 normal)", "1 - exp(-d2 / 0.0005)"]
# Rows read a row at most, n = 1000; from columns without a trial they take 99, 93, 34, 68, 28 and 70.
SATURATED = {
    "overlap of discs": 4,
    "1 - IoU, boxes 0.05": 4,
    "tanh(d / 0.05)": 26,
    "d2 / (d2 + 0.001)": 30,
    "Jaccard": 13,
    "min(d2, 0.02) in space": 8,
}
# Vectors of fewer than 512 bits come to ties in another order: 11.5 rows by those, 14.0 by these.
BY_NARROW_VECTORS = {"Jaccard": 14.5}
# Prices of zero lose, on trial (without: 33, 50, 48).
LOST = {"rounded sums to 10": 40, "a tenth of the columns zero": 60, "dates": 60}


def solved(name, n, dtype="float64", maximize=False):
    """Return the rows read for each row of the matrix, after checks."""
    cost = np.ascontiguousarray(CLASSES[name](np.random.default_rng([1, n]), n))
    if np.dtype(dtype).kind == "i":
        cost = np.rint(cost * (1 << 20) / np.abs(cost).max())
    cost = (-cost if maximize else cost).astype(dtype)
    result = lw.solve(cost, method="jv", maximize=maximize, threads=1)
    best = cost[linear_sum_assignment(cost, maximize)].astype(np.float64).sum()
    assert result.objective == pytest.approx(float(best), rel=1e-9)
    assert result.status == "optimal" and result.certificate.complete
    return result.statistics["rows_read"] / len(cost)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("name", STEEP)
def test_steep_rows_start_from_zero(name, dtype, maximize):
    """They take 17 to 30 reads a row from columns."""
    assert solved(name, 200, dtype, maximize) < 5


@pytest.mark.parametrize("name", ["uniform", "ranks", "shared ranks", "one cheap column", "sums and noise"])
def test_other_rows_start_from_columns(name):
    cost = np.asarray(CLASSES[name](np.random.default_rng([1, 200]), 200))
    result = lw.solve(cost, method="jv", threads=1)
    assert result.statistics["rows_read"] < {"sums and noise": 75}.get(name, 8) * len(cost)


@pytest.mark.parametrize("n", [200, 400, 1000])
def test_row_reduction_goes_on_where_a_match_takes_few_reads(n):
    """With one read a row alone, 3.7, 5.6 and 6.0 reads a row."""
    assert solved("rows of other scales", n) < 3.6


@pytest.mark.parametrize("order", ["as dates come", "as they go", "any"])
def test_rows_share_out_columns_whose_minima_many_attain(order):
    """Whatever the order of the columns; 144 reads a row in the first, if rows take the first column that is free."""
    rng = np.random.default_rng(0)
    places = {"as dates come": slice(None), "as they go": slice(None, None, -1), "any": rng.permutation(1000)}
    cost = np.ascontiguousarray(CLASSES["weighted tardiness"](rng, 1000)[:, places[order]])
    for given in (cost, np.rint(cost).astype(np.int64)):
        result = lw.solve(given, method="jv", threads=1)
        assert result.objective == pytest.approx(given[linear_sum_assignment(given)].sum())
        assert result.certificate.complete and result.statistics["rows_read"] < 40 * len(cost)


@pytest.mark.parametrize("n", [40, 60])
@pytest.mark.parametrize("name", ["tanh(d / 0.05)", "1 - exp(-d2 / 0.0005)", "-exp(5 normal)", "min(d, 0.1)"])
def test_few_saturated_rows_start_once_more_from_zero(name, n):
    """They take 7 to 12 reads a row from columns."""
    assert solved(name, n) < 6


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("name", SATURATED)
def test_saturated_rows_start_from_zero(name, dtype, maximize):
    narrow = BY_NARROW_VECTORS if lw._core.features()["simd"] != "avx512" else {}
    assert solved(name, 1000, dtype, maximize) < narrow.get(name, SATURATED[name])


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("name", LOST)
def test_a_trial_that_fails_costs_little(name, dtype):
    reads = solved(name, 1000, dtype)
    if dtype == "float64":
        assert reads < LOST[name]


@pytest.mark.parametrize("limit", [0.0, 0.002, 0.005, 0.01])
def test_a_time_limit_may_end_a_trial(limit):
    cost = np.asarray(CLASSES["rounded sums to 10"](np.random.default_rng([1, 1000]), 1000))
    result = lw.solve(cost, method="jv", time_limit=limit, threads=1)
    assert result.lower_bound <= cost[linear_sum_assignment(cost)].sum()
    assert sorted(result.row_to_col) == list(range(1000))


def test_progress_gives_bounds_throughout():
    cost = np.asarray(CLASSES["sums and noise"](np.random.default_rng([1, 1000]), 1000))
    bounds = []
    result = lw.solve(cost, method="jv", progress=lambda progress: bounds.append(progress.bound), threads=1)
    assert bounds == sorted(bounds)
    assert max(bounds, default=0) <= result.objective * (1 + 1e-9)


def test_few_columns_that_all_rows_may_take_are_a_violator():
    """Found from prices of zero as from those of column reduction."""
    rng = np.random.default_rng(5)
    cost = np.asarray(CLASSES["overlap of discs"](rng, 600)) + 0.01 * rng.random((600, 600))
    cost[100:300, 150:] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(cost, method="jv")


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("cols", [40, 43, 2050, 4500])
def test_rows_are_checked_as_they_are_first_read(cols, maximize):
    """Where columns outnumber rows: wherever the bad cost lies, beside forbidden pairs, and whoever is read twice."""
    rng = np.random.default_rng(cols)
    cost = rng.random((12, cols))
    cost[:, ::7] = -np.inf if maximize else np.inf
    cost[3] = cost[2]
    cost[:, 5] = 2 if maximize else -2  # all rows want it
    best = cost[linear_sum_assignment(cost, maximize)].sum()
    assert lw.solve(cost, method="jv", maximize=maximize).objective == pytest.approx(best)
    for row, col in [(0, 0), (11, cols - 1), (5, 9), (11, 8), (3, cols - 8)]:
        for bad in (np.nan, np.inf if maximize else -np.inf):
            wrong = cost.copy()
            wrong[row, col] = bad
            with pytest.raises(lw.InvalidCostError, match=rf"cost\[{row}, {col}\] is {bad}"):
                lw.solve(wrong, method="jv", maximize=maximize)
            with pytest.raises(ValueError, match="invalid numeric entries"):
                lw.linear_sum_assignment(wrong, maximize)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int16"])
@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (17, 15), (33, 31), (40, 16), (70, 24), (131, 65)])
def test_matrices_whose_columns_are_contiguous(shape, dtype, maximize):
    """They are copied by squares, and line by line where these do not fit."""
    rng = np.random.default_rng(shape)
    whole = (rng.integers(-1000, 1000, (2 * shape[0], 2 * shape[1])) * (0.5 if "f" in dtype else 1)).astype(dtype)
    for cost in (
        np.asfortranarray(whole)[: shape[0], : shape[1]],
        whole[: shape[0], : shape[1]],
        whole[::2, : shape[1]],
        whole[::2, ::2],
        np.asfortranarray(whole)[: shape[0], ::-1][:, : shape[1]],
    ):
        best = float(cost[linear_sum_assignment(cost, maximize)].astype(np.float64).sum())
        for pairs in (cost, cost.T):
            result = lw.solve(pairs, maximize=maximize, method="jv")
            assert result.objective == best and result.certificate.exact
            assert pairs[lw.linear_sum_assignment(pairs, maximize)].astype(np.float64).sum() == best


@pytest.mark.parametrize("n", [33, 37, 49, 57, 63])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_ties_after_another_start(n, dtype):
    """Rows that attained column minima have no spare columns under prices of zero, to which short rows turn."""
    for seed in range(120):
        rng = np.random.default_rng([n, seed])
        cost = np.where(rng.random((n, n)) < 0.3 * rng.random(), rng.integers(0, 4, (n, n)), 4).astype(dtype)
        best = cost[linear_sum_assignment(cost)].sum()
        assert cost[lw.linear_sum_assignment(cost)].sum() == best
        assert lw.solve(cost).objective == best
