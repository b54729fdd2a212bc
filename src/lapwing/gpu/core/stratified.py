"""Stratified samples of a matrix's rows and columns, found from costs alone.

A row is a point: its coordinates are differences of its costs in a few columns, the pivots. A constant that a row adds
to all its costs does not matter then; of squared distances, or costs of low rank, the coordinates are linear in the
points behind them. Columns likewise, by pivots among rows. Both are put in the order of a k-d tree
(cpp/src/costs/spatial_order.cpp), and a sample takes one of each run of neighbours. In the plane, at n = 4000, the
error of such a sample's prices is a fifth of that of a random sample.

A sample's rows and columns are in the order that they have in the matrix, so that a pass over their costs reads memory
in its order: at n = 100,000 it takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.workspace import Workspace

PIVOTS = 4  # rows, and columns
_SEED = 1


Members = dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]]  # rows and columns of samples, by their run


def stratified(rows: NDArray[np.int32], cols: NDArray[np.int32], runs: Sequence[int]) -> Members:
    """Samples of rows and columns that are given in order; a run: how many neighbours one row stands for."""
    random = np.random.default_rng(_SEED)
    return {run: (_sample(rows, run, random), _sample(cols, run, random)) for run in runs}


def hashed(size: int, run: int, salt: int) -> NDArray[np.int32]:
    """The members of a sample that a hash chooses (kernels/costs/sample.cuh)."""
    index = np.arange(size // run, dtype=np.uint32)
    x = index * np.uint32(2) + np.uint32(salt)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return (index * np.uint32(run) + ((x ^ x >> np.uint32(16)) & np.uint32(run - 1))).astype(np.int32)


class SampleLists:
    """Samples, as lists on the GPU."""

    def __init__(self, context: Context, members: Members, array_template: GpuArray | None) -> None:
        flat = np.concatenate([each for pair in members.values() for each in pair])
        self._memory = Workspace(context, {"lists": (len(flat), "int32")}, array_template)
        at = self._memory["lists"]
        write(context, at, flat)
        self._addresses = {1: (0, 0)}
        for run, (of_rows, of_cols) in members.items():
            self._addresses[run] = at, at + of_rows.nbytes
            at += of_rows.nbytes + of_cols.nbytes

    def lists(self, run: int) -> tuple[int, int]:
        """Addresses of the rows and the columns of a sample; 0 of all, where the run is 1."""
        return self._addresses[run]


def _sample(order: NDArray[np.int32], run: int, random: np.random.Generator) -> NDArray[np.int32]:
    """One of each `run` neighbours, in the order of the matrix."""
    size = len(order) // run
    members: NDArray[np.int32] = order[np.arange(size) * run + random.integers(0, run, size)]
    return np.sort(members)


def pivot_points(
    context: Context,
    shape: tuple[int, int],
    array_template: GpuArray | None,
    launch_keys: Callable[[int, int, int], None],
) -> list[NDArray[np.float32]] | None:
    """Rows and columns of a matrix as points, (m, 3) and (n, 3); None if they are not finite, as with forbidden pairs.

    Parameters
    ----------
    launch_keys : function (pivot, row_keys, col_keys)
        Writes the differences of pivot `pivot`'s costs and pivot 0's, of every row and every column, as float64.
    """
    dims, (rows, cols) = PIVOTS - 1, shape
    both = rows + cols
    with Workspace(context, {"keys": (dims * both, "float64")}, array_template) as memory:
        for k in range(dims):
            at = memory["keys"] + 8 * k * both
            launch_keys(k + 1, at, at + 8 * rows)
        keys = read(context, memory["keys"], dims * both, "float64").reshape(dims, both)
    with np.errstate(over="ignore"):
        points = keys.T.astype(np.float32, order="C")
    return [points[:rows], points[rows:]] if np.isfinite(points).all() else None
