"""The checks of answers in tests: SciPy where it can tell, the certificate always."""

from __future__ import annotations

import functools
import math
import signal
import time

import numpy as np
from scipy.optimize import linear_sum_assignment as scipy_assignment

import lapwing as lw
from lapwing.methods import methods_on

ALL_METHODS = sorted(methods_on("cpu"))
_GPU = " on a GPU"
ON_GPU = [name + _GPU for name in methods_on("cuda")]
DTYPES = [np.float32, np.float64, np.int32, np.int64]

# Classical Hungarian methods take up to n^4 steps.
CLASSICAL = ("hungarian-bfs", "munkres", "hungarian-bfs" + _GPU, "munkres" + _GPU)
HUNGARIAN = (*CLASSICAL, "hungarian-tree", "hungarian-tree" + _GPU)
# They share loops, threads and polls: where a test takes long, "munkres", which has the most memory, stands for them.
KINDS = [method for method in ALL_METHODS if method not in HUNGARIAN or method == "munkres"]

# Rounding allowed in a proof, over `magnitude`.
ROUNDING = 1e-12


# A solve that takes so long is sure to be watched, every 50 ms, and interrupted.
SLOW_SECONDS = 0.3
LARGEST_SLOW_ROWS = 8000  # 256 MB


def hard_cost(n):
    """A matrix, (n, n) float32, of which every method searches most for many rows."""
    rng = np.random.default_rng(0)
    return ((rng.random(n)[:, None] - 2 * rng.random(n)) ** 2).astype(np.float32)


@functools.cache
def slow_cost(method):
    """The first of the hard matrices, each larger than the last, that takes this method `SLOW_SECONDS` here and now."""
    n, growth = (150, 1.25) if method in CLASSICAL else (1000, 1.5)
    while True:
        cost = hard_cost(n)
        cost.flags.writeable = False  # tests share it
        if n >= LARGEST_SLOW_ROWS or min(_seconds(cost, method) for _ in range(2)) >= SLOW_SECONDS:
            return cost
        n = int(n * growth)


def _seconds(cost, method):
    began = time.perf_counter()
    lw.solve(cost, method=method, certify=False)
    return time.perf_counter() - began


def solve(cost, *, method, **options):
    """`lapwing.solve` by a method of the table, or by one of `ON_GPU`."""
    name, device = (method.removesuffix(_GPU), "cuda") if method in ON_GPU else (method, "cpu")
    return lw.solve(cost, method=name, device=device, **options)


def with_exits(cost, unmatched_cost, maximize=False):
    """The matrix with a private column for each row, at the price at which the row may stay free."""
    cost = np.asarray(cost, dtype=np.float64)
    exits = np.full((cost.shape[0], cost.shape[0]), -np.inf if maximize else np.inf)
    np.fill_diagonal(exits, unmatched_cost)
    return np.hstack([cost, exits])


def scipy_objective(cost, *, maximize=False, unmatched_cost=None):
    """The optimum by SciPy, or None if it finds none."""
    cost = np.asarray(cost, dtype=np.float64)
    if unmatched_cost is not None:
        cost = with_exits(cost, unmatched_cost, maximize)
    try:
        rows, cols = scipy_assignment(cost, maximize)
    except ValueError as error:
        assert "infeasible" in str(error)
        return None
    return math.fsum(cost[rows, cols].tolist())


def magnitude(result, cost):
    """The scale of rounding: the duals, and the largest cost."""
    values = np.abs(np.asarray(cost, dtype=np.float64))
    largest = values[np.isfinite(values)].max(initial=0.0)
    return float(np.abs(result.u.astype(np.float64)).sum() + np.abs(result.v.astype(np.float64)).sum() + largest)


def assert_matching(result, cost, unmatched_cost=None):
    """row_to_col and col_to_row are one matching that leaves nobody out, and the objective is its exact sum."""
    cost = np.asarray(cost)
    m, n = cost.shape
    matched = np.flatnonzero(result.row_to_col >= 0)
    assert result.row_to_col.shape == (m,) and result.row_to_col.dtype == np.int64
    assert result.col_to_row.shape == (n,) and result.col_to_row.dtype == np.int64
    assert np.array_equal(result.col_to_row[result.row_to_col[matched]], matched)
    assert np.count_nonzero(result.col_to_row >= 0) == len(matched)
    assert np.array_equal(result.row_ind, matched) and np.array_equal(result.col_ind, result.row_to_col[matched])
    parts = cost[matched, result.row_to_col[matched]].tolist()
    if unmatched_cost is None:
        assert len(matched) == min(m, n)
    else:
        parts += np.broadcast_to(unmatched_cost, (m,))[result.row_to_col < 0].tolist()
    assert result.objective == (sum(parts) if result.u.dtype.kind == "i" else math.fsum(parts))


def assert_proven(result, cost, *, maximize=False, unmatched_cost=None):
    """Certified afresh from the result's public fields alone; integers exactly, floats up to rounding."""
    certificate = lw.certify(
        cost, result.row_to_col, result.u, result.v, maximize=maximize, unmatched_cost=unmatched_cost
    )
    assert certificate.fault is None and certificate.complete
    assert certificate.primal == result.objective
    if result.u.dtype.kind == "i":
        assert certificate.exact, certificate
    else:
        assert certificate.bound <= ROUNDING * magnitude(result, cost), certificate
    return certificate


def assert_optimal(result, cost, *, maximize=False, unmatched_cost=None):
    """Everything that holds for an optimal answer, SciPy's objective included."""
    assert result.status == "optimal"
    assert_matching(result, cost, unmatched_cost)
    assert_proven(result, cost, maximize=maximize, unmatched_cost=unmatched_cost)
    expected = scipy_objective(cost, maximize=maximize, unmatched_cost=unmatched_cost)
    assert expected is not None
    assert abs(result.objective - expected) <= 1e-9 * max(magnitude(result, cost), abs(expected))


def assert_hall_violator(error, cost, *, maximize=False):
    """The rows (the columns of a tall matrix, of a square one either) that the error names have too few partners."""
    cost = np.asarray(cost, dtype=np.float64)
    allowed = cost != (-np.inf if maximize else np.inf)
    many, few = error.rows, error.cols
    if cost.shape[0] > cost.shape[1] or (cost.shape[0] == cost.shape[1] and len(error.cols) > len(error.rows)):
        allowed, many, few = allowed.T, error.cols, error.rows
    assert len(many) > len(few)
    assert len(set(many.tolist())) == len(many) and len(set(few.tolist())) == len(few)
    assert set(np.flatnonzero(allowed[many].any(axis=0)).tolist()) <= set(few.tolist())


def hear_interrupts() -> None:
    """Undo what a shell does to its background jobs, which ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
