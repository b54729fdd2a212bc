"""The core method on one GPU (kernels/core.cu): candidate lists, auction phases, searches, without asking the host.

A `CoreSolve` is one matrix, one workspace and the launches; what to start from is `core_start`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from lapwing.errors import InternalError
from lapwing.gpu.arrays import GpuArray, empty_array
from lapwing.gpu.copies import read
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import CORE, INTEGERS
from lapwing.gpu.workspace import Workspace

_THREADS = CORE.constants["THREADS"]
_CLUSTER = 8  # kMiddleBlocks of core_state.cuh
_SMALL_BLOCK = 256  # threads, of all kernels but the persistent one
_LIST = 32  # kListSize of core_state.cuh
_ARRAYS, _ALIGNMENT, _HEAD_BYTES = 32, 256, 16384  # at most so many arrays, each aligned, and what stands before them
_BLOCKS_A_PROCESSOR = 8  # of grids that walk over rows
OPTIMAL, INFEASIBLE, INVALID, CONTRADICTION, UNFINISHED = range(5)


@dataclass(frozen=True)
class Schedule:
    """Of the auction: epsilons in widths of a list, falling by `factor`, then zero; and most rounds of a phase."""

    first: float
    last: float
    factor: float
    rounds: int


#: A few rounds without epsilon; and short phases, for an estimate of the optimum.
OPENING, ESTIMATE = Schedule(0.0, 0.0, 0.25, 8), Schedule(1 / 16, 1 / 1024, 0.25, 24)
#: Where row and column minima are nearly right, and where lists are far from their final prices.
UNSTRUCTURED, STRUCTURED = Schedule(1 / 16, 1 / 1024, 0.25, 64), Schedule(16.0, 1 / 1024, 0.5, 120)
#: For prices of a sample that need not be better than a sample can tell.
ROUGH = Schedule(16.0, 1 / 8, 0.5, 30)


@dataclass(frozen=True)
class Report:
    """What the kernel says of a solve: struct Report of kernels/core_state.cuh, field by field."""

    status: int
    invalid_row: int
    free_rows: int
    phases: int
    rounds: int
    offers: int
    searches: int
    steps: int
    scans: int
    refreshes: int
    full_rows: int
    left: int
    width: float
    start_bound: float
    bound: float


@dataclass(frozen=True)
class Oriented:
    """The matrix as the kernels see it: at most as many rows as columns, the elements of a row side by side."""

    pointer: int
    rows: int
    cols: int
    row_stride: int
    dtype: str
    maximize: bool

    @property
    def dual_dtype(self) -> str:
        return "int64" if self.dtype in INTEGERS else "float64"


def workspace_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory for `rows` <= `cols`, the duals and the matching not counted."""
    listed = 4 if dtype in ("float16", "bfloat16", "float32") else 8
    by_row = _LIST * (4 + listed) + 3 * 8 + 11 * 4 + 2 * 2 * 8
    by_col = 4 * 8 + 5 * 4
    return _HEAD_BYTES + rows * by_row + cols * by_col + _ARRAYS * _ALIGNMENT


class CoreSolve:
    """One solve: arrays on the GPU, and the launches.

    Parameters
    ----------
    context : Context, entered
    matrix : Oriented
    like : GpuArray, optional
        In whose library the duals are made.
    owner : GpuArray, optional
        What keeps the matrix's memory alive.

    Attributes
    ----------
    u, v : GpuArray
        The duals of the problem as minimised. `v` must be set before `run`: any prices; zero if rows < cols.
    """

    def __init__(
        self, context: Context, matrix: Oriented, like: GpuArray | None = None, owner: GpuArray | None = None
    ) -> None:
        self.context, self.matrix, self._owner = context, matrix, owner
        self._kernels = kernels(context, CORE, CORE.variant(COST=matrix.dtype))
        self.u = empty_array(context, (matrix.rows,), matrix.dual_dtype, like)
        self.v = empty_array(context, (matrix.cols,), matrix.dual_dtype, like)
        size = workspace_bytes(matrix.rows, matrix.cols, matrix.dtype)
        self._workspace = Workspace(context, {"all": (size, "uint8")}, like)
        sizes = (matrix.pointer, matrix.row_stride, matrix.rows, matrix.cols, int(matrix.maximize))
        self._arguments = (*sizes, self.u.pointer, self.v.pointer, self._workspace["all"])

    def list_rows(self) -> None:
        """List every row under the prices in `v`, in the order of the stream."""
        processors = self.context.info.processors
        self._launch("prepare", processors)
        self._launch("list_rows", min(self.matrix.rows, processors * _BLOCKS_A_PROCESSOR))

    def launch(self, schedule: Schedule, most_left: int | None = None) -> None:
        """Solve on the lists, in the order of the stream; no further if the auction leaves over `most_left` rows."""
        solver = self._kernels["solve"]
        most = self.matrix.rows if most_left is None else most_left
        epsilons = (float(schedule.first), float(schedule.last), float(schedule.factor))
        arguments = (*self._arguments, *epsilons, schedule.rounds, most)
        solver.launch_cooperative(self.context, _CLUSTER, _THREADS, *arguments)

    def report(self) -> Report:
        """What the kernel says; waits for its end.

        Raises
        ------
        InternalError
            If an invariant did not hold.
        """
        words = read(self.context, self._workspace["all"], len(fields(Report)), "int64")
        integers = sum(field.type == "int" for field in fields(Report))
        report = Report(*map(int, words[:integers]), *map(float, words[integers:].view("float64")))
        if report.status == CONTRADICTION:
            raise InternalError(f"the searches contradict each other; please report it with the matrix ({report})")
        return report

    def deliver(self, row_to_col: GpuArray, col_to_row: GpuArray, picked: GpuArray) -> None:
        """Partners as int64, -1 where there is none, and every row's matched cost; duals turn to the user's sense."""
        outputs = (row_to_col.pointer, col_to_row.pointer, picked.pointer)
        self._launch("deliver", self.context.info.processors, *outputs)

    def name_violator(self, of_rows: int, of_cols: int) -> None:
        """Set bytes of rows and columns, at these addresses, that make a Hall violator; if there is no assignment."""
        self._launch("violator", self.context.info.processors, of_rows, of_cols)

    def _launch(self, name: str, grid: int, *more: int | float) -> None:
        self._kernels[name].launch(self.context, grid, _SMALL_BLOCK, *self._arguments, *more)
