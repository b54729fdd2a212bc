"""Rows and columns of a matrix in an order in which neighbours are alike, by costs alone: so samples can be stratified.

A row is a point: its coordinates are differences of its costs in a few columns, the pivots. What a row adds to all its
costs does not matter then; of squared distances, or costs of low rank, the coordinates are linear in what is behind
them. Columns likewise, by pivots among rows. Both come into the order of a k-d tree (cpp/src/neighbours.cpp). In the
plane, at n = 4000, prices of a sample that is drawn by these orders are off by a fifth to a quarter of what those of a
random sample are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lapwing._core import neighbours
from lapwing.gpu.arrays import GpuArray
from lapwing.gpu.copies import read, write
from lapwing.gpu.device import Context
from lapwing.gpu.workspace import Workspace

PIVOTS = 4  # rows, and columns


class Strata:
    """The orders, on the GPU.

    Attributes
    ----------
    addresses : (int, int)
        Of int32 arrays: rows, and columns, in order.
    """

    def __init__(self, context: Context, rows: np.ndarray, cols: np.ndarray, like: GpuArray | None) -> None:
        size = len(rows)
        self._memory = Workspace(context, {"orders": (2 * size, "int32")}, like)
        write(context, self._memory["orders"], np.concatenate([rows, cols]))
        self.addresses = self._memory["orders"], self._memory["orders"] + 4 * size


def find_strata(
    context: Context, size: int, like: GpuArray | None, launch_keys: Callable[[int, int, int], None]
) -> Strata | None:
    """Of a square matrix; None where differences are not finite, as with forbidden pairs.

    Parameters
    ----------
    launch_keys : function (pivot, row_keys, col_keys)
        Writes the differences of pivot `pivot`'s costs and pivot 0's, of every row and every column, as float64.
    """
    dims = PIVOTS - 1
    with Workspace(context, {"keys": (2 * dims * size, "float64")}, like) as memory:
        for k in range(dims):
            at = memory["keys"] + 16 * k * size
            launch_keys(k + 1, at, at + 8 * size)
        keys = read(context, memory["keys"], 2 * dims * size, "float64").reshape(dims, 2, size)
    with np.errstate(over="ignore"):
        points = keys.transpose(1, 2, 0).astype(np.float32, order="C")
    if not np.isfinite(points).all():
        return None
    return Strata(context, neighbours(points[0]), neighbours(points[1]), like)
