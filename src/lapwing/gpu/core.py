"""The core method on one GPU (kernels/core.cu): candidate lists, auction phases, searches, without asking the host.

Four launches, then one small copy to the host. Memory beside the matrix: `workspace_bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from lapwing.errors import InternalError
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.copies import read
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import CORE, INTEGERS
from lapwing.gpu.workspace import Workspace

_THREADS = CORE.constants["THREADS"]
_SMALL_BLOCK = 256  # threads, of all kernels but the persistent one
_LIST = 32  # kListSize of core_state.cuh
_ARRAYS, _ALIGNMENT, _HEAD_BYTES = 32, 256, 4096  # at most so many arrays, each aligned, and what stands before them
_STATUS = ("optimal", "infeasible", "invalid", "contradiction")
_BLOCKS_A_PROCESSOR = 8  # of grids that walk over rows
FIRST_EPSILON = 1.0  # in widths of a list, where nothing better is known


@dataclass(frozen=True)
class Report:
    """What the kernel says of a solve: struct Report of kernels/core_state.cuh, field by field."""

    status: int
    invalid_row: int
    free_rows: int
    reached_cols: int
    phases: int
    rounds: int
    offers: int
    searches: int
    steps: int
    scans: int
    refreshes: int
    full_rows: int
    left: int


@dataclass(frozen=True)
class Oriented:
    """The matrix as the kernels see it: at most as many rows as columns, the elements of a row side by side."""

    pointer: int
    rows: int
    cols: int
    row_stride: int
    dtype: str

    @property
    def dual_dtype(self) -> str:
        return "int64" if self.dtype in INTEGERS else "float64"


def workspace_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory for `rows` <= `cols`, the duals and the matching not counted."""
    listed = 4 if dtype in ("float16", "bfloat16", "float32") else 8
    by_row = _LIST * (4 + listed) + 3 * 8 + 12 * 4
    by_col = 3 * 8 + 6 * 4
    return _HEAD_BYTES + rows * by_row + cols * by_col + _ARRAYS * _ALIGNMENT


class CoreSolve:
    """One solve: arrays on the GPU, and the launches.

    Parameters
    ----------
    context : Context, entered
    matrix : Oriented
    maximize : bool
    like : GpuArray
        In whose library outputs are made.
    """

    def __init__(self, context: Context, matrix: Oriented, maximize: bool, like: GpuArray | None) -> None:
        self.context, self.matrix = context, matrix
        self.kernels = kernels(context, CORE, CORE.variant(COST=matrix.dtype))
        self.u = empty_array(context, (matrix.rows,), matrix.dual_dtype, like)
        self.v = empty_array(context, (matrix.cols,), matrix.dual_dtype, like)
        size = workspace_bytes(matrix.rows, matrix.cols, matrix.dtype)
        self.workspace = Workspace(context, {"all": (size, "uint8")}, like)
        sizes = (matrix.pointer, matrix.row_stride, matrix.rows, matrix.cols, int(maximize))
        self.arguments = (*sizes, self.u.pointer, self.v.pointer, self.workspace["all"])

    def run(self, first_epsilon: float = FIRST_EPSILON) -> Report:
        """List and solve under the prices in `v`; waits for the end."""
        info = self.context.info
        blocks = info.processors * _BLOCKS_A_PROCESSOR
        self._launch("prepare", info.processors)
        self._launch("list_rows", min(self.matrix.rows, blocks))
        solver = self.kernels["solve"]
        grid = solver.resident_blocks(_THREADS)
        solver.launch_cooperative(self.context, grid, _THREADS, *self.arguments, first_epsilon)
        return self.report()

    def report(self) -> Report:
        """The kernel's report; waits for the end."""
        words = read(self.context, self.workspace["all"], len(fields(Report)), "int64")
        report = Report(*map(int, words))
        if report.status == _STATUS.index("contradiction"):
            raise InternalError(f"the searches contradict each other; please report it with the matrix ({report})")
        return report

    def deliver(self, partner: GpuArray, by_column: bool) -> None:
        """The column of each row, or the row of each column, as int64."""
        self._launch("deliver", self.context.info.processors, int(by_column), partner.pointer)

    def _launch(self, name: str, grid: int, *more: int | float) -> None:
        self.kernels[name].launch(self.context, grid, _SMALL_BLOCK, *self.arguments, *more)

