"""Matchings of tight pairs and alternating trees that finish a solve of the core method where costs tie.

A list holds some of the columns that tie for a row. So trees of the core's searches do not meet in lists, and whole
rows are read again in every search: 600 of each row, of 4096 x 4096 rounded sums. The method "hungarian-tree"
(kernels/reference/hungarian_tree.cu) goes on from any feasible duals with any pairs that are tight. Before each of its
forests it finds a largest matching of the tight pairs (kernels/reference/tight_pairs.cuh), and it takes few updates of
the duals where each makes many pairs tight. Where it matches rows slowly at first, the core method goes on from its
prices.
"""

from __future__ import annotations

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
#: that it matched, those of the auction included. On an H200, of 4096 rows, a level takes 10 us, a read 0.2 to 0.3.
_LEVELS_A_READ = 1 / 6
_ARRAYS = 13  # of TightPairs, at multiples of 256 bytes


def can_finish(matrix: CanonicalMatrix) -> bool:
    """Whether trees read such costs, and the core's prices suit them: those of a square problem."""
    return matrix.rows == matrix.cols and not matrix.prices and matrix.dtype in HungarianTreeSolve.dtypes()


def memory_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory beside the core's workspace; 0 for problems that trees do not finish."""
    if rows != cols or dtype not in HungarianTreeSolve.dtypes():
        return 0
    return HungarianTreeSolve.memory_bytes(rows, cols, cols, dtype) + _tight_bytes(rows)


def _tight_bytes(rows: int) -> int:
    """Of class TightPairs in kernels/reference/tight_pairs.cuh: three bits a pair, and a few words a line."""
    line = -(-rows // 128) * 16
    return (3 * rows + 1 + 7) * line + 5 * 4 * rows + _ARRAYS * 256


def finish(solve: CoreSolve, before: Report, array_template: GpuArray | None) -> Report:
    """Match the rows that a solve has left free; unfinished if that takes many levels. Waits for the end.

    Parameters
    ----------
    solve : CoreSolve
        Whose matrix `can_finish`.
    before : Report
        Of its last launch.
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    """
    matrix, context = solve.matrix, solve.context
    sizes = {
        "trees": (memory_bytes(matrix.rows, matrix.cols, matrix.dtype) - _tight_bytes(matrix.rows), "uint8"),
        "tight": (_tight_bytes(matrix.rows), "uint8"),
    }
    kernel = kernels(context, HUNGARIAN_TREE, HUNGARIAN_TREE.of_cost(matrix.dtype))["solve_hungarian_tree"]
    with Workspace(context, sizes, array_template) as memory:
        memory.clear()
        reads = (before.refreshes + before.full_rows) / max(1, before.left - before.free_rows)
        return solve.go_on_by(
            before, kernel, REFERENCE_THREADS, memory["trees"], 1, reads * _LEVELS_A_READ, memory["tight"]
        )
