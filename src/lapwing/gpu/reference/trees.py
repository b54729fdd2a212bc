"""Matchings of tight pairs and alternating trees that finish a solve of the core method where costs tie.

A list holds some of the columns that tie for a row. So trees of the core's searches do not meet in lists, and whole
rows are read again in every search: 600 of each row, of 4096 x 4096 rounded sums. The method "hungarian-tree"
(kernels/reference/hungarian_tree.cu) goes on from any feasible duals with any pairs that are tight. Before its
forests it finds a largest matching of the tight pairs (kernels/reference/tight_pairs.cuh), and it takes few updates of
the duals where each makes many pairs tight. Where it matches rows slowly at first, the core method goes on from its
prices.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from lapwing.errors import GpuError
from lapwing.gpu.core.solver import CoreSolve, Report
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.reference.hungarian_tree import HungarianTreeSolve
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import HUNGARIAN_TREE, REFERENCE_THREADS
from lapwing.gpu.runtime.workspace import Workspace

#: Reads of a row by searches, before trees may finish; of points they are up to 30, without ties.
MOST_READS = 8.0
#: Trees give up if they take more levels for each row that they match than this share of the core's reads for each row
#: that it matched, those of the auction included. On an H200, of 4096 rows, a level takes 9 us, a read 0.2 to 0.3.
_LEVELS_A_READ = 1 / 6
_ARRAYS = 12  # of TightPairs, at multiples of 256 bytes


def can_finish(matrix: CanonicalMatrix) -> bool:
    """Whether trees read such costs, and the core's prices suit them: those of a square problem."""
    return matrix.rows == matrix.cols and not matrix.prices and matrix.dtype in HungarianTreeSolve.dtypes()


def memory_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory beside the core's workspace, without that of tight pairs; 0 for problems that trees do not finish."""
    if rows != cols or dtype not in HungarianTreeSolve.dtypes():
        return 0
    return HungarianTreeSolve.memory_bytes(rows, cols, cols, dtype)


def tight_bytes(rows: int) -> int:
    """Memory of class TightPairs in kernels/reference/tight_pairs.cuh: three bits a pair, and a few words a line."""
    line = -(-rows // 128) * 16
    return (3 * rows + 1 + 7) * line + 5 * 4 * rows + _ARRAYS * 256


def finish(solve: CoreSolve, before: Report, array_template: GpuArray | None, by_tight_pairs: bool = True) -> Report:
    """Match the rows that a solve has left free; unfinished if that takes many levels. Waits for the end.

    Parameters
    ----------
    solve : CoreSolve
        Whose matrix `can_finish`.
    before : Report
        Of its last launch.
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    by_tight_pairs : bool
        Whether `tight_bytes` may be taken, if they are free.
    """
    matrix, context = solve.matrix, solve.context
    kernel = kernels(context, HUNGARIAN_TREE, HUNGARIAN_TREE.of_cost(matrix.dtype))["solve_hungarian_tree"]
    with ExitStack() as stack:
        size = memory_bytes(matrix.rows, matrix.cols, matrix.dtype)
        trees = stack.enter_context(Workspace(context, {"all": (size, "uint8")}, array_template))
        trees.clear()
        bits = 0
        with suppress(GpuError):  # trees do without
            if by_tight_pairs:
                sizes = {"all": (tight_bytes(matrix.rows), "uint8")}
                bits = stack.enter_context(Workspace(context, sizes, array_template))["all"]
        reads = (before.refreshes + before.full_rows) / max(1, before.left - before.free_rows)
        return solve.go_on_by(before, kernel, REFERENCE_THREADS, trees["all"], 1, reads * _LEVELS_A_READ, bits)
