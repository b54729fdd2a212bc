"""A dense matrix in memory, viewed and never copied.

The compiled core reads float32, float64, int32 and int64 in native byte order, aligned, with unit stride along at least
one axis. The maker of a `DenseCost` has seen to that (`lapwing.inputs`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostArray, CostSource, Tier
from lapwing.errors import ArgumentError

_BLOCK_BYTES: Final = 8 << 20

CORE_DTYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64))


@dataclass(frozen=True)
class DenseCost(CostSource):
    """A view of (m, n) costs of one of `CORE_DTYPES`, in any layout that `is_readable` accepts."""

    tier: ClassVar[Tier] = "dense"
    array: CostArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def rows_are_contiguous(self) -> bool:
        return bool(self.array.strides[1] == self.array.itemsize)

    def compiled(self, transposed: bool) -> CostArray:
        """The array, or its transposed view."""
        return self.array.T if transposed else self.array

    def read(self, rows: slice) -> CostArray:
        """A view of some rows."""
        return self.array[rows]

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
        rows = np.flatnonzero(row_to_col >= 0)
        return np.asarray(self.array[rows, row_to_col[rows]])


@dataclass(frozen=True)
class FilledCost(DenseCost):
    """Integers with pairs left out as a matrix, for methods that read nothing else.

    Integers have no infinity: a large number stands for each pair that is left out. With largest magnitude c and at
    most k terms in an answer, a number above (2 k - 1) c is in no optimal answer unless every answer needs it: then no
    assignment exists. So optima and their duals are those of the given pairs, exactly.

    Attributes
    ----------
    pairs : SparseCost
    fill : int
        In place of a pair that is not given.
    """

    pairs: CostSource = field(kw_only=True)
    fill: int = field(kw_only=True)

    def fills(self, row_to_col: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows with a column that is none of their pairs'."""
        matched = np.flatnonzero(row_to_col >= 0)
        found: NDArray[np.int64] = matched[self.array[matched, row_to_col[matched]] == self.fill]
        return found


def is_readable(array: CostArray) -> bool:
    """Whether the core reads this matrix in place."""
    return (
        array.dtype in CORE_DTYPES
        and array.dtype.isnative
        and array.flags.aligned
        and array.itemsize in array.strides
        and all(stride % array.itemsize == 0 for stride in array.strides)
    )


def row_blocks(costs: CostArray | CostSource) -> Iterator[slice]:
    """Slices of a few megabytes: what is done to one after the other can be interrupted, and needs little memory."""
    rows = costs.shape[0]
    step = max(1, _BLOCK_BYTES * rows // max(1, costs.nbytes))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def converted(array: CostArray, dtype: np.dtype[Any]) -> CostArray:
    """A copy as `dtype`, compact, in the order in which `array` lies in memory."""
    if math.prod(array.shape) * dtype.itemsize > sys.maxsize:
        raise ArgumentError(
            f"costs of shape {array.shape} and dtype {array.dtype} have to be copied as {dtype}, which exceeds the "
            "address space; compute them with a source of lapwing.costs"
        )
    copy = np.empty_like(array, dtype=dtype, subok=False)
    for rows in row_blocks(array):
        copy[rows] = array[rows]
    return copy
