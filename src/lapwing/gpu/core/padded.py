"""A matrix made square: by rows that cost nothing with any column, and by columns where rows may stay free.

The square method ranks with epsilon, starts from samples, and its searches serve all free rows in one pass; where
columns outnumber rows, prices of free columns must not fall, and none of that is allowed. Rows of padding take the
columns that stay free. They tie everywhere, so they must not be too many. It pays for structured costs, of which the
rounds without epsilon leave many rows; others need no more than these rounds.

Where there are more of them it pays, too, if searches read many rows again and again, as they do of clusters in which
rows and columns differ in number. If rows may stay free at a price, they stay so in columns that all of them share,
the exits. That needs one more than rows stay free. A row that has its unmatched column in a search keeps it, so those
that have theirs when a search is given up, and those without a column, are enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.gpu.core.solver import CoreSolve, Outputs
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import narrowed, widened, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.prices import shown_numbers

#: It is tried if the rounds leave more than one of so many rows. Measured on the emulator at 700 and 2000 rows: points
#: in up to three dimensions and low-rank costs leave 0.04 to 0.16, uniform and normal costs and points in eight
#: dimensions 0.004 to 0.02.
PADDED_LEFT = 40
_LEAST_ROWS = 128
# Many rows of padding wait until the others are matched (kernels/core/search/padding.cuh); few are matched like these,
# which is quicker.
_LEAST_WAITING = 64
_MOST_PADDING, _MOST_WAITING = 1 / 48, 1 / 64  # of the rows
#: A matrix that is not square is made so if searches have read more rows again, for each row. Measured at 8000 rows:
#: clusters and distances read 1 to 20 where they take no longer as they are, and 30 to 1000 where they take longer.
SQUARED_READS = 16.0
#: The same for computed costs, of which boxes spare most pairs; their matrix is written first.
SQUARED_COMPUTED_READS = 64.0
#: Of the free memory, for a copy.
MOST_COPIED = 1 / 2
_MOST_SQUARED = 4  # times as many rows
_MOST_EXITS = 1 / 8  # of the rows
_THREADS = CORE_START.constants["THREADS"]


def is_nearly_square(shape: tuple[int, int]) -> bool:
    """Whether so few rows of padding make it square that these do not take long."""
    rows, cols = sorted(shape)
    padding = cols - rows
    most = _MOST_WAITING if padding >= _LEAST_WAITING else _MOST_PADDING
    return rows >= _LEAST_ROWS and 0 < padding <= most * rows


def may_be_squared(shape: tuple[int, int], prices: NDArray[Any] | None) -> bool:
    """Whether a matrix can be made square, and is not much larger then; `prices`: unmatched costs, as minimised."""
    rows, cols = shape if prices is not None else sorted(shape)
    if rows < _LEAST_ROWS or cols > _MOST_SQUARED * rows:
        return False
    if prices is None:
        return rows != cols
    return prices.dtype != np.int64 or bool(np.abs(shown_numbers(prices)).max() < ABSENT)


def is_worth_squaring(rows: int, cols: int, exits: int) -> bool:
    """Whether a matrix that is made square with so many exits, which tie everywhere, is not much larger."""
    return rows < cols + exits <= _MOST_SQUARED * rows and exits <= _MOST_EXITS * rows


def square_bytes(size: int, dtype: str) -> int:
    """Memory for a square copy."""
    return size * size * ITEM_BYTES[dtype]


def _holds(dtype: str, numbers: NDArray[Any]) -> bool:
    """Whether a type holds these numbers to the last digit."""
    with np.errstate(over="ignore"):
        return bool((widened(narrowed(numbers, dtype), dtype) == numbers).all())


def pad(
    context: Context, view: CanonicalForm, array_template: GpuArray | None, exits: int, prices: NDArray[Any] | None
) -> CanonicalForm:
    """A square copy of a matrix as the kernels see it, with so many exits; `prices`: as minimised, of these.

    Its costs have the type of duals where their own cannot hold the prices.
    """
    matrix = view.matrix
    rows, cols = matrix.rows, matrix.real_cols
    given = -prices if prices is not None and matrix.maximize else prices
    is_wide = given is not None and not _holds(matrix.dtype, given)
    size, dtype = cols + exits, matrix.dual_dtype if is_wide else matrix.dtype
    square = empty_array(context, (size, size), dtype, array_template)
    start = kernels(context, CORE_START, CORE_START.of_cost(matrix.dtype))
    make_square = start["make_wide_square" if is_wide else "make_square"]
    blocks = min(size, 64 * context.info.processors)
    with Workspace(context, {"exits": (rows, dtype)}, array_template) as memory:
        if given is not None:
            write(context, memory["exits"], narrowed(given, dtype))
        of_matrix = (matrix.pointer, matrix.row_stride, rows, cols, size)
        make_square.launch(context, blocks, _THREADS, *of_matrix, memory["exits"], square.pointer)
    padding = size - rows
    made = replace(
        matrix,
        pointer=square.pointer,
        rows=size,
        cols=size,
        row_stride=size,
        dtype=dtype,
        prices=0,
        padding=padding,
        waiting=padding if padding >= _LEAST_WAITING else 0,
        exits=exits,
    )
    return CanonicalForm(made, view.transposed, square)


class PaddedSolve(CoreSolve):
    """One solve of a matrix with rows of padding.

    Attributes
    ----------
    prices : int
        Address of what rows cost that stay free; 0 if none may.
    """

    prices: int = 0

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """See `CoreSolve`."""
        matching = (outputs.row_to_col.pointer, outputs.col_to_row.pointer)
        duals = (outputs.u.pointer, outputs.v.pointer)
        padding = (self.matrix.padding, self.matrix.exits, self.prices)
        told = (int(always), *padding, *matching, self.picked, *duals)
        self._launch("deliver_padded", self.context.info.processors, *told)
