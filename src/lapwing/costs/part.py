"""Some rows and columns of any costs, as costs of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostSource
from lapwing.costs.coordinates import Coordinates
from lapwing.costs.dense import DenseCost
from lapwing.costs.points import PointCost
from lapwing.costs.sparse import SparseCost
from lapwing.errors import ArgumentError

Indices = NDArray[np.int64]


def part(cost: CostSource, rows: Indices, cols: Indices) -> CostSource:
    """The costs of these rows and columns, in this order: computed from points, else copied.

    Raises
    ------
    ArgumentError
        If a copy of costs that are in no matrix would take more than their `matrix_limit`.
    """
    if isinstance(cost, DenseCost):
        return DenseCost(cost.array[np.ix_(rows, cols)])
    if isinstance(cost, SparseCost):
        return _of_sparse(cost, rows, cols)
    if isinstance(cost, PointCost) and len(rows) and len(cols):
        return of_points(cost, rows, cols)
    needed = len(rows) * len(cols) * cost.dtype.itemsize
    if needed > cost.matrix_limit:
        raise ArgumentError(
            f"the problem falls apart, and its part of {len(rows)} x {len(cols)} costs takes {needed} bytes as a "
            f"matrix, more than {cost.matrix_limit}: raise memory_limit=, or pass a matrix or sparse costs"
        )
    matrix = np.empty((len(rows), len(cols)), cost.dtype)
    for k, i in enumerate(rows.tolist()):
        matrix[k] = cost.read(slice(i, i + 1))[0, cols]
    return DenseCost(matrix)


def of_points(cost: PointCost, rows: NDArray[Any], cols: NDArray[Any]) -> PointCost:
    """The same of points: at least one row and one column."""
    terms = [replace(term, x=Coordinates(term.x.host[rows]), y=Coordinates(term.y.host[cols])) for term in cost.terms]
    return replace(cost, terms=tuple(terms))


def _of_sparse(cost: SparseCost, rows: Indices, cols: Indices) -> SparseCost:
    lines, across = (cols, rows) if cost.by_columns else (rows, cols)
    begins, counts = cost.indptr[lines], np.diff(cost.indptr)[lines]
    ends = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    entries = np.arange(ends[-1]) + np.repeat(begins - ends[:-1], counts)
    position: NDArray[Any] = np.full(cost.shape[0 if cost.by_columns else 1], -1, np.int32)
    position[across] = np.arange(len(across), dtype=np.int32)
    found = position[cost.indices[entries]]
    kept = found >= 0
    line = np.repeat(np.arange(len(lines)), counts)[kept]
    np.cumsum(np.bincount(line, minlength=len(lines)), out=ends[1:])
    shape = len(rows), len(cols)
    return SparseCost(ends, found[kept], cost.data[entries[kept]], shape, cost.by_columns)
