"""Alternating trees that finish a solve of the core method where costs tie.

A list holds some of the columns that tie for a row. So trees of the core's searches do not meet in lists, and whole
rows are read again in every search: 600 of each row, of 4096 x 4096 rounded sums. The method "hungarian-tree"
(kernels/reference/hungarian_tree.cu) reads a row once an iteration, goes on from any feasible duals with any pairs that
are tight, and takes few updates of the duals where each makes many pairs tight. Where it matches rows slowly at first,
the core method goes on from its prices.
"""

from __future__ import annotations

from lapwing.gpu.core.solver import CoreSolve, Report
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.reference.hungarian_tree import HungarianTreeSolve
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import HUNGARIAN_TREE, REFERENCE_THREADS
from lapwing.gpu.runtime.workspace import Workspace

#: Reads of a row by searches, before trees may finish; of points they are up to 30, without ties.
MOST_READS = 8.0
#: Levels for each row that is matched, above which the core method goes on: so many of the reads that it made for each,
#: those of the auction included. On an H200, of 4096 rows, a level takes 10 us, and a read 0.2 to 0.3.
_LEVELS_A_READ = 1 / 6


def can_finish(matrix: CanonicalMatrix) -> bool:
    """Whether trees read such costs, and the core's prices suit them: those of a square problem."""
    return matrix.rows == matrix.cols and not matrix.prices and matrix.dtype in HungarianTreeSolve.dtypes()


def memory_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory beside the core's workspace; 0 for problems that trees do not finish."""
    if rows != cols or dtype not in HungarianTreeSolve.dtypes():
        return 0
    return HungarianTreeSolve.memory_bytes(rows, cols, cols, dtype)


class Trees:
    """Goes on with a solve of the core method, in its own workspace beside the core's.

    Parameters
    ----------
    context : Context, entered
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    """

    def __init__(self, context: Context, array_template: GpuArray | None) -> None:
        self._context = context
        self._array_template = array_template

    def __call__(self, solve: CoreSolve, before: Report) -> Report:
        """Match the rows that are free; unfinished if that takes many levels. Waits for the end.

        Parameters
        ----------
        solve : CoreSolve
        before : Report
            Of its last launch.
        """
        matrix, context = solve.matrix, self._context
        size = memory_bytes(matrix.rows, matrix.cols, matrix.dtype)
        program = kernels(context, HUNGARIAN_TREE, HUNGARIAN_TREE.variant(COST=matrix.dtype))
        with Workspace(context, {"all": (size, "uint8")}, self._array_template) as memory:
            memory.clear()
            kernel = program["solve_hungarian_tree"]
            reads = (before.refreshes + before.full_rows) / max(1, before.left - before.free_rows)
            return solve.go_on_by(before, kernel, REFERENCE_THREADS, memory["all"], 1, reads * _LEVELS_A_READ)
