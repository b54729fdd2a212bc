"""Costs capped at one greatest value, on a GPU: solved as sparse costs whose rows may stay free at the cap.

Overlaps, clipped distances and 0/1 costs mostly equal their greatest value, the cap. Lists cannot rank pairs that tie,
so a solve of the matrix reads whole rows again and again. Without these pairs, let each row stay free at the cap. An
optimum leaves free rows and free columns, and every pair of these costs the cap: one below it would be matched. With
them in pairs, the optimum is one of the matrix, and its duals are feasible there: u <= cap and v <= 0 bound each pair
at the cap, and those of free lines are tight. For this no row may lack a column, so there are at least as many columns
as rows, or every row may stay free at less than the cap.

`below_cap` takes two passes over the matrix, to count and to copy (kernels/core/start/capped.cuh).
"""

from __future__ import annotations

from lapwing.gpu.core.glance import most_below
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import Outputs
from lapwing.gpu.core.sparse_solver import SparseSolve
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.sparse import SparseLines, block_of_lines
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START, SPARSE_LINES
from lapwing.gpu.runtime.workspace import Workspace

#: If the auction leaves more than one of so many rows, capped costs are solved anew as sparse ones. Measured at 2000
#: and 4096 rows: classes whose searches take long leave 0.014 and more, those that are over in no time 0.008.
CAPPED_LEFT = 100
_MORE_THAN_SEEN = 2  # times as many entries as a look may promise are too many
_THREADS = CORE_START.constants["THREADS"]
_BLOCKS_A_PROCESSOR = 8
_WARP = 32
_ONE_BLOCK = 256  # threads
_LONGEST = 3  # of enum ReportWord of kernels/costs/sparse_lines.cu


def lines_below(
    context: Context, matrix: GpuArray, cap: int | float, maximize: bool, array_template: GpuArray | None
) -> SparseLines | None:
    """The pairs of a matrix that cost less than the cap, by rows; None if they are many, or a pair costs more.

    Parameters
    ----------
    context : Context, entered
    matrix : (m, n)
    cap : as minimised
    maximize : bool
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    """

    def empty(count: int, dtype: str) -> GpuArray:
        return empty_array(context, (max(1, count),), dtype, array_template)

    rows, cols = matrix.shape
    start, of_lines = kernels(context, CORE_START, CORE_START.of_cost(matrix.dtype)), kernels(context, SPARSE_LINES)
    blocks = min(-(-rows * _WARP // _THREADS), context.info.processors * _BLOCKS_A_PROCESSOR)
    of_matrix = (matrix.pointer, *matrix.strides, rows, cols, int(maximize), cap)
    ends = empty(rows + 1, "int64")
    with Workspace(context, {"report": (_LONGEST + 1, "int64"), "counts": (rows, "uint32")}, array_template) as memory:
        memory.clear()
        start["count_below"].launch(context, blocks, _THREADS, *of_matrix, memory["counts"], memory["report"])
        of_lines["add_up_counts"].launch(context, 1, _THREADS, memory["counts"], rows, ends.pointer)
        of_lines["find_longest"].launch(context, blocks, _THREADS, ends.pointer, rows, memory["report"])
        report = read(context, memory["report"], _LONGEST + 1, "int64")
        entries = int(read(context, ends.pointer + 8 * rows, 1, "int64")[0])
    if report[0] or entries > _MORE_THAN_SEEN * most_below(cols) * rows:
        return None
    across, data = empty(entries, "int32"), empty(entries, matrix.dtype)
    start["keep_below"].launch(context, blocks, _THREADS, *of_matrix, ends.pointer, across.pointer, data.pointer)
    addresses = {"ends": ends.pointer, "across": across.pointer, "data": data.pointer}
    block = block_of_lines(context, addresses, array_template)
    owners = (block, ends, across, data)
    return SparseLines(block.pointer, (rows, cols), matrix.dtype, False, int(report[_LONGEST]), owners)


class CappedSolve(SparseSolve):
    """One solve of what is below the cap; its answer has pairs at the cap, too."""

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        lines: SparseLines,
        cap: int | float,
        array_template: GpuArray | None,
    ) -> None:
        super().__init__(context, matrix, monitor, lines, array_template)
        self._cap = cap

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """See `CoreSolve`."""
        super().deliver(outputs, always)
        matching = (outputs.row_to_col.pointer, outputs.col_to_row.pointer)
        self._kernels["pair_free"].launch(self.context, 1, _ONE_BLOCK, *self._arguments, self._cap, *matching)
