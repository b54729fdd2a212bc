"""The call of each package on a sparse matrix; worker.py times it.

A solver returns a column for each row, beyond the last or -1 where the row stays free. Every package gets its own kind
of input, made before the clock starts, and where rows may stay free, a matrix with columns that stand for that. The
graph that OR-tools wants to be filled is part of its time, as our copy and our certificate are of ours. OR-tools takes
integers; costs of floats are rounded for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Solver = Callable[[Any], NDArray[Any]]

LEVELS = 1e7  # integers up to the largest cost


class Costs(NamedTuple):
    """The arrays of sparse_classes.SparseInstance, which the environments of peers do not have."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: NDArray[Any]
    price: float

    @property
    def n(self) -> int:
        """Rows, and columns."""
        return len(self.indptr) - 1

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each entry."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))


def load(path: Path) -> Costs:
    """Return the instance of a file."""
    with np.load(path) as file:
        return Costs(file["indptr"], file["indices"], file["data"], float(file["price"]))


def touch(costs: Costs) -> None:
    """Read the entries, so that they are in the caches as far as these go."""
    costs.data.max(), costs.indices.max()


def objective(costs: Costs, answer: NDArray[Any]) -> float:
    """Sum of the matched costs and of the prices of free rows; raises where a row or a column has two partners."""
    cols = np.where((answer >= 0) & (answer < costs.n), answer, -1)
    matched = cols[cols >= 0]
    if len(cols) != costs.n or len(np.unique(matched)) != len(matched):
        raise ValueError("not a matching")
    at = np.flatnonzero(cols[costs.rows] == costs.indices)
    if len(at) != len(matched):
        raise ValueError("a pair that is not allowed")
    free = costs.n - len(matched)
    return float(costs.data[at].sum(dtype=np.float64)) + (costs.price * free if free else 0.0)


def _with_exits(costs: Costs) -> Costs:
    """Rows and, for each of them, a column of its own at the price of staying free."""
    n = costs.n
    indptr = np.add(costs.indptr, np.arange(n + 1), dtype=np.int32)
    indices: NDArray[np.int32] = np.insert(costs.indices, costs.indptr[1:], np.arange(n, 2 * n, dtype=np.int32))
    return Costs(indptr, indices, np.insert(costs.data, costs.indptr[1:], costs.price), np.nan)


def _square(costs: Costs) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
    """Size and pairs of the smallest square problem that says the same."""
    if np.isnan(costs.price):
        return costs.n, costs.rows, costs.indices, costs.data
    n = costs.n
    one = np.arange(n, dtype=np.int32)
    rows = np.r_[costs.rows, one, one + n, costs.indices + n].astype(np.int32)
    cols = np.r_[costs.indices, one + n, one, costs.rows + n].astype(np.int32)
    data = np.r_[costs.data, np.full(n, costs.price), np.zeros(n + len(costs.data))]
    order = np.lexsort((cols, rows))
    return 2 * n, rows[order], cols[order], data[order]


def _matrix(costs: Costs, cols: int) -> Any:
    return import_module("scipy.sparse").csr_array((costs.data, costs.indices, costs.indptr), shape=(costs.n, cols))


def _scipy(costs: Costs) -> Solver:
    match = import_module("scipy.sparse.csgraph").min_weight_full_bipartite_matching
    complete = np.isnan(costs.price)
    matrix = _matrix(costs, costs.n) if complete else _matrix(_with_exits(costs), 2 * costs.n)
    return lambda _: np.asarray(match(matrix)[1])


def _ortools(costs: Costs) -> Solver:
    module = import_module("ortools.graph.python.linear_sum_assignment")
    _, rows, cols, data = _square(costs)
    whole = data if data.dtype.kind == "i" else np.rint(data * (LEVELS / data.max())).astype(np.int64)

    def solve(_: Costs) -> NDArray[Any]:
        solver = module.SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(rows, cols, whole)
        if solver.solve() != solver.OPTIMAL:
            raise ValueError("no optimal answer")
        return np.array([solver.right_mate(i) for i in range(costs.n)])

    return solve


def _lapmod(costs: Costs) -> Solver:
    lapmod = import_module("lap").lapmod
    size, rows, cols, data = _square(costs)
    begins = np.searchsorted(rows, np.arange(size + 1)).astype(np.int32)
    floats = data.astype(np.float64)
    return lambda _: np.asarray(lapmod(size, floats, begins, cols, return_cost=False)[0])[: costs.n]


def _lapwing(costs: Costs) -> Solver:
    solve = import_module("lapwing").solve
    matrix = _matrix(costs, costs.n)
    price = None if np.isnan(costs.price) else costs.price
    return lambda _: np.asarray(solve(matrix, unmatched_cost=price, threads=1).row_to_col)


MAKERS: dict[str, Callable[[Costs], Solver]] = {
    "lapwing:sparse": _lapwing,
    "sparse:scipy": _scipy,
    "sparse:ortools": _ortools,
    "sparse:lapmod": _lapmod,
}
