"""The core method on one GPU (kernels/core.cu): candidate lists, auction phases, searches, without asking the host.

A `CoreSolve` is one matrix, one workspace and the launches; what to start from is `core_start`'s matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from numpy.typing import NDArray

from lapwing.errors import InternalError
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.copies import copy_bytes, fill_bytes, read, write
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import CORE, INTEGERS
from lapwing.gpu.watch import TimeIsUpError, Watch
from lapwing.gpu.workspace import Workspace

_THREADS = CORE.constants["THREADS"]
_CLUSTER = 8  # kMiddleBlocks of core_state.cuh
_SMALL_BLOCK = 256  # threads, of all kernels but the persistent one
_LIST = 32  # kListSize of core_state.cuh
_ARRAYS, _ALIGNMENT, _HEAD_BYTES = 36, 256, 16384  # at most so many arrays, each aligned, and what stands before them
_BLOCKS_A_PROCESSOR = 8  # of grids that walk over rows
_COMPLETED_AT_ONCE = 4096  # rows of an interrupted solve, so that it can be interrupted, too
OPTIMAL, INFEASIBLE, INVALID, CONTRADICTION, UNFINISHED, STOPPED = range(6)


@dataclass(frozen=True)
class Schedule:
    """Of the auction: epsilons in widths of a list, falling by `factor`, then zero; and most rounds of a phase.

    Before them `opening` rounds without epsilon, which may do for all. If the first phase raises the bound by more than
    `shortfall` list widths a row, the solve ends there, unfinished: it should start from other prices.
    """

    first: float
    last: float
    factor: float
    rounds: int
    opening: int = 0
    shortfall: float = math.inf


#: A few rounds without epsilon.
OPENING = Schedule(0.0, 0.0, 0.25, 8)
#: Where row and column minima are nearly right; the same, to find out whether they are; where lists are far from their
#: final prices.
UNSTRUCTURED = Schedule(1 / 32, 1 / 4096, 0.5, 16, opening=8)
EXPLORING = replace(UNSTRUCTURED, shortfall=1 / 80)  # uniform and integer costs have 0.005, points 0.015 and more
STRUCTURED = Schedule(16.0, 1 / 1024, 0.5, 40)
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
    empty_row: int
    width: float
    start_bound: float
    bound: float


@dataclass(frozen=True)
class Oriented:
    """The matrix as the kernels see it: at most as many rows as columns, the elements of a row side by side.

    With `prices` (an address; 0 for none) the last `rows` columns are exits: row i may stay free at prices[i].
    """

    pointer: int
    rows: int
    cols: int
    row_stride: int
    dtype: str
    maximize: bool
    prices: int = 0

    @property
    def real_cols(self) -> int:
        """Columns that are not exits."""
        return self.cols - self.rows if self.prices else self.cols

    @property
    def dual_dtype(self) -> str:
        return "int64" if self.dtype in INTEGERS else "float64"


def workspace_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory for `rows` <= `cols`, the duals and the matching not counted."""
    listed = 4 if dtype in ("float16", "bfloat16", "float32") else 8
    by_row = _LIST * (4 + listed) + 5 * 8 + 12 * 4 + 2 * 2 * 8
    by_col = 5 * 8 + 5 * 4
    return _HEAD_BYTES + rows * by_row + cols * by_col + _ARRAYS * _ALIGNMENT


@dataclass(frozen=True)
class Outputs:
    """What a solve delivers, of the matrix as oriented: arrays on the GPU, in the user's sense.

    Attributes
    ----------
    row_to_col, col_to_row : int64, -1 where there is no partner
    picked : of the dual dtype
        What every row costs: its matched cost, or its price.
    u, v : of the dual dtype
        v is that of the real columns alone.
    """

    row_to_col: GpuArray
    col_to_row: GpuArray
    picked: GpuArray
    u: GpuArray
    v: GpuArray

    def oriented(self, transposed: bool) -> tuple[GpuArray, GpuArray, GpuArray, GpuArray]:
        """u, v, row_to_col and col_to_row of the matrix, or of its transpose."""
        if transposed:
            return self.v, self.u, self.col_to_row, self.row_to_col
        return self.u, self.v, self.row_to_col, self.col_to_row


def nothing() -> None:
    """Follow no launch."""


class CoreSolve:
    """One solve: arrays on the GPU, and the launches.

    Parameters
    ----------
    context : Context, entered
    matrix : Oriented
    watch : Watch, entered
    like : GpuArray, optional
        In whose library the duals are made.
    sample : GpuArray, optional
        The matrix, if it is not the whole problem but a sample that nobody else keeps.

    Attributes
    ----------
    u, v : GpuArray
        The duals of the problem as minimised. `v` must be set before `list_rows`: any prices if rows == cols, else by
        `zero_prices`.
    exit_v : (rows,) array of the dual dtype, or None
        What `v` of the exits begins with (struct Matrix of kernels/core_state.cuh).
    after_launch : callable
        Launches what should follow every launch in the order of the stream, without waiting for the report.
    """

    def __init__(
        self,
        context: Context,
        matrix: Oriented,
        watch: Watch,
        like: GpuArray | None = None,
        sample: GpuArray | None = None,
        exit_v: NDArray[Any] | None = None,
    ) -> None:
        self.context, self.matrix, self.exit_v = context, matrix, exit_v
        self._watch, self._sample, self._owner = watch, sample is not None, sample
        self._kernels = kernels(context, CORE, CORE.variant(COST=matrix.dtype))
        self.u = empty_array(context, (matrix.rows,), matrix.dual_dtype, like)
        self.v = empty_array(context, (matrix.cols,), matrix.dual_dtype, like)
        size = workspace_bytes(matrix.rows, matrix.cols, matrix.dtype)
        self._workspace = Workspace(context, {"all": (size, "uint8")}, like)
        sizes = (matrix.pointer, matrix.row_stride, matrix.rows, matrix.cols, int(matrix.maximize), matrix.prices)
        self._arguments = (*sizes, self.u.pointer, self.v.pointer, self._workspace["all"])
        self.after_launch: Callable[[], None] = nothing
        self._solved_since_listing = False
        # Under a time limit, prices that phases may leave far behind: those with the best bound between launches, and
        # those of the present lists, whose bound comes with the next report.
        self._kept: Workspace | None = None
        if watch.limited and not self._sample:
            sizes_of_v = dict.fromkeys(("best", "listed"), (matrix.cols, matrix.dual_dtype))
            self._kept = Workspace(context, sizes_of_v, like)
        self._best_bound = -math.inf
        self._lists_are_fresh = False

    def zero_prices(self) -> None:
        """Set `v` to where it must begin when there are more columns than rows."""
        matrix = self.matrix
        fill_bytes(self.context, self.v.pointer, 0, self.v.nbytes)
        if self.exit_v is not None:
            write(self.context, self.v.pointer + matrix.real_cols * self.exit_v.itemsize, self.exit_v)

    def list_rows(self) -> None:
        """List every row under the prices in `v`, in the order of the stream."""
        processors = self.context.info.processors
        self._solved_since_listing = False
        self._lists_are_fresh = True
        self._keep("listed", self.v.pointer)
        self._launch("prepare", processors)
        self._launch("list_rows", min(self.matrix.rows, processors * _BLOCKS_A_PROCESSOR))

    def launch(self, schedule: Schedule, most_left: int | None = None) -> None:
        """Solve on the lists, in the order of the stream; no further if the auction leaves over `most_left` rows."""
        solver = self._kernels["solve"]
        most = self.matrix.rows if most_left is None else most_left
        epsilons = (float(schedule.first), float(schedule.last), float(schedule.factor))
        rounds = (schedule.rounds, schedule.opening, float(schedule.shortfall))
        self._watch.look_at_the_clock()
        watch = self._watch.pointer(self._sample)
        arguments = (*self._arguments, *epsilons, *rounds, most, watch)
        solver.launch_cooperative(self.context, _CLUSTER, _THREADS, *arguments)
        self._solved_since_listing = True
        self.after_launch()

    def report(self) -> Report:
        """What the kernel says; waits for its end.

        Raises
        ------
        TimeIsUpError
            If it was stopped before its end.
        InternalError
            If an invariant did not hold.
        """
        report = self._read_report()
        if report.status == STOPPED or (report.status == UNFINISHED and self._watch.stopped):
            raise TimeIsUpError
        return report

    def interrupted(self) -> Report:
        """When the time is up, wherever that was noticed: feasible duals, and a matching that is completed greedily."""
        if not self._solved_since_listing:
            self.zero_prices()
            self.list_rows()
            self.launch(OPENING)
        report = self._read_report()
        if report.status == STOPPED or report.status == UNFINISHED:
            self._kernels["complete_most"].launch_cooperative(self.context, _CLUSTER, _THREADS, *self._arguments)
            for first in range(0, self.matrix.rows, _COMPLETED_AT_ONCE):
                self._kernels["complete"].launch(self.context, 1, _THREADS, *self._arguments, first, _COMPLETED_AT_ONCE)
                self._watch.wait(self._sample)
        return report

    def improve_duals(self, report: Report) -> bool:
        """After an interruption: the duals with the best bound, unless `report` has it; the matching is lost then."""
        if self._kept is None or report.status == OPTIMAL or report.bound >= self._best_bound:
            return False
        copy_bytes(self.context, self.v.pointer, self._kept["best"], self.v.nbytes)
        self.list_rows()
        self.launch(OPENING)  # which ends before it has begun, with row minima
        self._read_report()
        return True

    def _read_report(self) -> Report:
        self._watch.wait(self._sample)
        words = read(self.context, self._workspace["all"], len(fields(Report)), "int64")
        integers = sum(field.type == "int" for field in fields(Report))
        report = Report(*map(int, words[:integers]), *map(float, words[integers:].view("float64")))
        if report.status == CONTRADICTION:
            raise InternalError(f"the searches contradict each other; please report it with the matrix ({report})")
        if not self._sample and report.status in (OPTIMAL, UNFINISHED, STOPPED):
            self._learn(report)
        return report

    def _learn(self, report: Report) -> None:
        """The bounds, and what they come from."""
        bounds = [(report.bound, self.v.pointer)] if report.status == UNFINISHED else []
        if self._lists_are_fresh:
            bounds.append((report.start_bound, self._kept["listed"] if self._kept else 0))
        self._lists_are_fresh = False
        for bound, prices in bounds:
            if bound > self._best_bound:
                self._best_bound = bound
                self._keep("best", prices)
        self._watch.learn(max(report.bound, self._best_bound))

    def _keep(self, name: str, prices: int) -> None:
        if self._kept is not None:
            copy_bytes(self.context, self._kept[name], prices, self.v.nbytes)

    def read_row(self, i: int) -> NDArray[Any]:
        """The costs of row i, as they are given."""
        matrix = self.matrix
        at = matrix.pointer + i * matrix.row_stride * ITEM_BYTES[matrix.dtype]
        return read(self.context, at, matrix.real_cols, matrix.dtype)

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """What the user gets, in the user's sense, if the solve comes to its end, or `always`.

        `outputs` may hold `u` and `v` themselves.
        """
        pointers = (outputs.row_to_col, outputs.col_to_row, outputs.picked, outputs.u, outputs.v)
        self._launch("deliver", self.context.info.processors, int(always), *(array.pointer for array in pointers))

    def name_violator(self, of_rows: int, of_cols: int, outside: int) -> None:
        """If there is no assignment: set the bytes of the rows and columns that make a Hall violator.

        How many allowed pairs these rows have outside these columns is added to a word, by code of its own.
        """
        self._launch("violator", self.context.info.processors, of_rows, of_cols)
        blocks = min(self.matrix.rows, self.context.info.processors * _BLOCKS_A_PROCESSOR)
        self._launch("check_violator", blocks, of_rows, of_cols, outside)

    def _launch(self, name: str, grid: int, *more: int | float) -> None:
        self._kernels[name].launch(self.context, grid, _SMALL_BLOCK, *self._arguments, *more)
