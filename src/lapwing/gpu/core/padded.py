"""A matrix with a few more columns than rows, made square: by rows that cost nothing with any column.

The square method ranks with epsilon, starts from samples, and its searches serve all free rows in one pass; where
columns outnumber rows, prices of free columns must not fall, and none of that is allowed. Rows of padding take the
columns that stay free. They tie everywhere, so they must not be too many. It pays for structured costs, of which the
rounds without epsilon leave many rows; others need no more than these rounds.
"""

from __future__ import annotations

from dataclasses import replace

from lapwing.gpu.core.solver import CoreSolve, Outputs
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import fill_bytes
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START

#: It is tried if the rounds leave more than one of so many rows. Measured on the emulator at 700 and 2000 rows: points
#: in up to three dimensions and low-rank costs leave 0.04 to 0.16, uniform and normal costs and points in eight
#: dimensions 0.004 to 0.02.
PADDED_LEFT = 40
_LEAST_ROWS = 128
# Many rows of padding wait until the others are matched (kernels/core/search/padding.cuh); few are matched like these,
# which is quicker.
_LEAST_WAITING = 64
_MOST_PADDING, _MOST_WAITING = 1 / 48, 1 / 32  # of the rows
_THREADS = CORE_START.constants["THREADS"]


def is_nearly_square(shape: tuple[int, int]) -> bool:
    """Whether so few rows of padding make it square that these do not take long."""
    rows, cols = sorted(shape)
    padding = cols - rows
    most = _MOST_WAITING if padding >= _LEAST_WAITING else _MOST_PADDING
    return rows >= _LEAST_ROWS and 0 < padding <= most * rows


def pad(context: Context, view: CanonicalForm, array_template: GpuArray | None) -> CanonicalForm:
    """A square copy of a matrix as the kernels see it."""
    matrix = view.matrix
    rows, cols, item = matrix.rows, matrix.cols, ITEM_BYTES[matrix.dtype]
    square = empty_array(context, (cols, cols), matrix.dtype, array_template)
    gather = kernels(context, CORE_START, CORE_START.of_cost(matrix.dtype))["gather"]
    blocks = min(rows, 64 * context.info.processors)
    of_matrix = (matrix.pointer, matrix.row_stride, 1, rows, cols, 1, 0, 0)
    gather.launch(context, blocks, _THREADS, *of_matrix, square.pointer)
    fill_bytes(context, square.pointer + rows * cols * item, 0, (cols - rows) * cols * item)
    padding = cols - rows
    waiting = padding if padding >= _LEAST_WAITING else 0
    made = replace(matrix, pointer=square.pointer, rows=cols, row_stride=cols, padding=padding, waiting=waiting)
    return CanonicalForm(made, view.transposed, square)


class PaddedSolve(CoreSolve):
    """One solve of a matrix with rows of padding."""

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """See `CoreSolve`."""
        matching = (outputs.row_to_col.pointer, outputs.col_to_row.pointer)
        duals = (outputs.u.pointer, outputs.v.pointer)
        told = (int(always), self.matrix.padding, *matching, self.picked, *duals)
        self._launch("deliver_padded", self.context.info.processors, *told)
