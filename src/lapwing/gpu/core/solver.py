"""The core method on one GPU (kernels/core/core.cu): candidate lists, auction phases and searches in one launch.

A `CoreSolve` is one matrix, one workspace and the launches; `start` finds the prices that it starts from.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InternalError
from lapwing.gpu.core.memory import PARTNERS, key_count, layout
from lapwing.gpu.core.monitor import Monitor, TimeIsUpError
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import Mail, copy_bytes, fetch, read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel
from lapwing.gpu.runtime.programs import COMPUTED_CORE, COMPUTED_START, CORE, CORE_START
from lapwing.gpu.runtime.tuning import CLUSTER_BLOCKS, LINES, SAMPLE_STEP
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = CORE.constants["THREADS"]
_SMALL_BLOCK = 256  # threads, of all kernels but the persistent one
_BLOCKS_A_PROCESSOR = 8  # of grids that walk over rows
_LISTERS_A_PROCESSOR = 4  # blocks of list_rows, which take rows as they get done: as many as run side by side
_PACK = 16  # bytes that a thread of column_minima loads at once, aligned
_LEAST_BAND = 8  # rows that a block of it is worth
_MINIMA_BLOCKS = 2  # blocks of it on a processor; more of them make DRAM slower
_SAMPLED_BYTES = 1 << 27  # of a matrix of which a sample may spare a read (kernels/core/start/minima.cuh)
_COMPLETED_AT_ONCE = 4096  # rows of an interrupted solve, so that it can be interrupted, too
NO_LIMIT = 2**32 - 1  # of steps
OPTIMAL, INFEASIBLE, INVALID, CONTRADICTION, UNFINISHED, STOPPED, TIED = range(7)


@dataclass(frozen=True)
class Schedule:
    """Of the auction: epsilons in widths of a list, falling by `factor`, then zero; and most rounds of a phase.

    As long as many rows are free, a phase with epsilon takes up to `times` as many. Before the phases `warm_up` rounds
    without epsilon, which may do for all. If the first phase raises the bound by more than `structure_threshold` list
    widths a row, and it, all phases or the first searches leave many rows, the solve ends there, unfinished: it should
    start from other prices. It ends, too, when its searches have taken `most_steps`.
    """

    first: float
    last: float
    factor: float
    rounds: int
    times: int = 1
    warm_up: int = 0
    structure_threshold: float = math.inf
    most_steps: int = NO_LIMIT


#: A few rounds without epsilon.
WARM_UP = Schedule(0.0, 0.0, 0.25, 8)
#: Where columns outnumber rows: rounds without epsilon alone. One takes about a microsecond, a search some hundred.
RECTANGULAR = Schedule(0.0, 0.0, 0.5, 256)
#: Where row and column minima are nearly right; the same, to find out whether they are; where lists are far from their
#: final prices.
UNSTRUCTURED = Schedule(1 / 32, 1 / 4096, 0.5, 16, warm_up=8)
EXPLORING = replace(UNSTRUCTURED, structure_threshold=1 / 80)  # uniform, integers: 0.005; points: 0.015 and more
STRUCTURED = Schedule(16.0, 1 / 1024, 0.5, 40)
#: The same with prices of a stratified sample, which are nearly right: of points, and of a matrix.
STRATIFIED = replace(STRUCTURED, first=4.0)
STRATIFIED_MATRIX = replace(STRUCTURED, first=2.0, rounds=16)
#: For samples: the coarsest, or any random one, whose prices need not be better than it can tell; and those that have
#: prices from a coarser one.
ROUGH = Schedule(16.0, 1 / 8, 0.5, 30, times=8)
FINER = replace(ROUGH, first=4.0, times=1)


class Report(NamedTuple):
    """The report of a solve: struct Report of kernels/core/state.cuh, field by field."""

    status: int
    invalid_row: int
    free_rows: int
    phases: int
    rounds: int
    bids: int
    searches: int
    steps: int
    scans: int
    refreshes: int
    full_rows: int
    left: int
    local: int
    empty_row: int
    pieces_read: int
    list_gap: float
    start_bound: float
    bound: float


_REPORT = struct.Struct("@15q3d")
REPORT_BYTES, REPORT_SIZE = 256, _REPORT.size  # room for it, and its own size


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class Outputs:
    """The answer of a solve, of the matrix as oriented: arrays on the GPU, in the user's sense.

    Attributes
    ----------
    row_to_col, col_to_row : int64, -1 where there is no partner
    u, v : of the dual dtype
        v is that of the real columns alone.
    turned : bool
        Whether columns were solved as rows, at the one price at which rows may stay free (gpu/costs/unmatched.py): u
        and v are those of the problem as given, exchanged.
    """

    row_to_col: GpuArray
    col_to_row: GpuArray
    u: GpuArray
    v: GpuArray
    turned: bool = False

    def as_given(self, transposed: bool) -> tuple[GpuArray, GpuArray, GpuArray, GpuArray]:
        """u, v, row_to_col and col_to_row of the matrix, or of its transpose."""
        if transposed:
            return self.v, self.u, self.col_to_row, self.row_to_col
        return self.u, self.v, self.row_to_col, self.col_to_row


def nothing() -> None:
    """Follow no launch."""


class CoreSolve:
    """One solve: its memory on the GPU, all in one block, and the launches.

    Parameters
    ----------
    context : Context, entered
    matrix : CanonicalMatrix
    monitor : Monitor, entered
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    is_sample : bool
        Whether it is not the whole problem.
    owner : object, optional
        Keeps the matrix, or prices, if no other object does.

    Attributes
    ----------
    u, v : int
        Addresses of the duals of the problem as minimised. Before every `list_rows` comes `prepare`, and after that, if
        rows == cols, any prices may be written to `v`.
    keys : int
        For column minima (kernels/common/column_keys.cuh).
    picked : int
        Where `deliver` says, in the dual dtype, what every row costs: its matched cost, or its price.
    listings : int
        How often all rows were listed.
    tree_steps, tight_steps : int
        Levels of trees, and steps of searches along tight pairs, of the method that went on in `go_on_by`.
    keep : function or None
        Called now and then while the whole problem is solved: see `snapshot`.
    most_left : int or None
        If the auction leaves over more rows, every launch ends there, unfinished.
    most_reads : float
        If searches read more rows again, for each row, every launch ends there: status `TIED` of square problems, if
        costs tie, and `UNFINISHED` of others.
    before_launch : callable
        Called when all is ready for a launch; may set `most_left`.
    after_launch : callable
        Launches what should follow every launch in the order of the stream, without waiting for the report.
    has_dummies : bool
        Whether columns that outnumber rows go to dummy rows (kernels/core/search/dummies.cuh), so that the method of
        square problems solves it.
    keeps_lists : bool
        Whether candidate lists are valid at the end.
    may_have_dummies : bool
        Whether the kernels know dummy rows.
    """

    keeps_lists: ClassVar[bool] = True
    may_have_dummies: ClassVar[bool] = True

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        array_template: GpuArray | None = None,
        is_sample: bool = False,
        owner: object = None,
    ) -> None:
        self.context: Context = context
        self.matrix: CanonicalMatrix = matrix
        self._monitor, self._sample, self._owner = monitor, is_sample, owner
        self._kernels = self._load_kernels()
        rows, cols, dual = matrix.rows, matrix.cols, matrix.dual_dtype
        self._memory = memory = Workspace(context, layout(rows, cols, matrix.dtype, dual), array_template)
        self.u: int = memory["u"]
        self.v: int = memory["v"]
        self.picked: int = memory["picked"]
        self.keys: int = memory["keys"]
        of_matrix = (matrix.pointer, matrix.row_stride, rows, cols, int(matrix.maximize), matrix.prices)
        self._arguments = (*of_matrix, self.u, self.v, memory["state"])
        self._mail = monitor.mail(0, _REPORT.size)
        self._report: Report | None = None
        self.most_left: int | None = None
        self.most_reads: float = math.inf
        self.has_dummies: bool = False
        self.before_launch: Callable[[], None] = nothing
        self.after_launch: Callable[[], None] = nothing
        self.keep: Callable[[], None] | None = None
        self.listings: int = 0
        self.tree_steps: int = 0
        self.tight_steps: int = 0
        self._solved_since_listing = False
        # Under a time limit, prices that phases may leave far behind: those with the best bound between launches, and
        # those of the present lists, whose bound comes with the next report.
        self._kept: Workspace | None = None
        if monitor.limited and not self._sample:
            self._kept = Workspace(context, dict.fromkeys(("best", "listed"), (cols, dual)), array_template)
        self._best_bound = -math.inf
        self._lists_are_fresh = False
        self._prices_are_lowered = False  # as lists of a matrix need them

    def _load_kernels(self) -> dict[str, Kernel]:
        return self.matrix.kernels(self.context, CORE, COMPUTED_CORE)

    def begin_glance(self, mail: Mail) -> None:
        """Look at a few costs of a matrix (kernels/core/start/glance.cuh)."""
        self._launch("glance", 1, mail.address)

    def prepare(self, zero_prices: bool = False) -> None:
        """Set back what listing and solving begin with; and `v`, to where it must begin with more columns than rows."""
        self._prepare(*((0, 0) if zero_prices else (self.keys, key_count(self.matrix.cols))))

    def _prepare(self, keys: int, key_count: int, sampled: bool = False) -> None:
        self._solved_since_listing = self._prices_are_lowered = False
        self._launch("prepare", self.context.info.processors * _MINIMA_BLOCKS, keys, key_count, int(sampled))

    def start_at_column_minima(self, copier: Copier | None = None) -> bool:
        """`prepare`, and set `v` to the column minima of a square matrix; False if costs are computed.

        The matrix may be on its way; what has come is read while the rest comes.
        """
        matrix = self.matrix
        if matrix.cost_program is not None:
            return False
        size, are_whole_packs = matrix.rows, self._are_whole_packs
        sampled = copier is None and size * size * ITEM_BYTES[matrix.dtype] >= _SAMPLED_BYTES
        self._prepare(self.keys, key_count(size), sampled)
        read = size - -(-size // SAMPLE_STEP) if sampled and are_whole_packs else size
        parts = [range(read)] if copier is None else copier.parts
        chunks, bands = self._minima_grid(len(parts[0]), are_whole_packs)
        for part in parts:
            if copier is not None:
                copier.wait_for(part)
            ends = part.start, part.stop
            self._launch("column_minima", chunks * bands, self.keys, int(sampled), *ends, bands, len(parts))
        self._prices_are_lowered = True
        return True

    @property
    def _are_whole_packs(self) -> bool:
        """Whether every row of the matrix consists of whole packs (kernels/costs/packs.cuh)."""
        matrix, item = self.matrix, ITEM_BYTES[self.matrix.dtype]
        return (matrix.pointer | matrix.row_stride * item | matrix.cols * item) % _PACK == 0

    def _minima_grid(self, rows: int, are_whole_packs: bool) -> tuple[int, int]:
        """Chunks of columns and bands of rows, of column_minima over so many rows."""
        pack = _PACK // ITEM_BYTES[self.matrix.dtype]
        chunks = -(-self.matrix.cols // (_SMALL_BLOCK * pack))
        bands = max(1, min(rows // _LEAST_BAND, _MINIMA_BLOCKS * self.context.info.processors // chunks))
        return (chunks, bands) if are_whole_packs else (chunks + 1, -(-bands // pack) * pack)

    def list_rows(self) -> None:
        """List every row under the prices in `v`, in the order of the stream."""
        self._begin_listing()
        matrix, blocks = self.matrix, self.context.info.processors * _BLOCKS_A_PROCESSOR
        if matrix.cost_program is None:
            if not self._prices_are_lowered:
                self._launch("lower_prices", min(-(-matrix.cols // _SMALL_BLOCK), blocks))
            self._launch("list_rows", min(matrix.rows, self.context.info.processors * _LISTERS_A_PROCESSOR))
            return
        if matrix.in_order:
            self._launch("price_boxes", blocks)
        for part in matrix.cost_program.parts(matrix.rows, matrix.cols):
            if part.start and self._sample:
                self._monitor.wait(sample=True)
            elif part.start:
                self._monitor.wait_in_pass("list", part.start / matrix.rows)
            self._launch("list_rows", min(-(-len(part) // LINES), blocks), part.start, len(part))

    def _begin_listing(self) -> None:
        self._solved_since_listing = False
        self._lists_are_fresh = True
        self.listings += 1
        self._keep("listed", self.v)

    def launch(self, schedule: Schedule, most_left: int | None = None) -> None:
        """Solve on the lists, in the order of the stream; no further if the auction leaves over `most_left` rows."""
        self.before_launch()
        limits = [limit for limit in (most_left, self.most_left) if limit is not None]
        most = min(limits, default=self.matrix.rows)
        epsilons = (float(schedule.first), float(schedule.last), float(schedule.factor))
        most_steps = schedule.most_steps if self.most_left is None else NO_LIMIT
        counts = (schedule.rounds, schedule.times, schedule.warm_up, most_steps)
        ends = (float(schedule.structure_threshold), float(self.most_reads), most)
        self._monitor.look_at_the_clock()
        monitor = self._monitor.pointer(self._sample)
        arguments = (*self._arguments, *epsilons, *counts, *ends, int(self.has_dummies), monitor, self._mail.address)
        self._launch_solve(*arguments)
        self._monitor.mark()
        self._solved_since_listing = True
        self.after_launch()

    def _launch_solve(self, *arguments: int | float) -> None:
        self._kernels["solve"].launch_cooperative(self.context, CLUSTER_BLOCKS, _THREADS, *arguments)

    def go_on_by(self, before: Report, kernel: Kernel, threads: int, more: int, *options: int | float) -> Report:
        """Let the kernel of another method go on from the duals and the pairs that there are; waits for its end.

        Returns the report `before`, of the last launch, with the end of this one.

        Parameters
        ----------
        before : Report
        kernel : Kernel
            Of kernels/reference.
        threads : int
            Of a block.
        more : int
            The address of the method's own workspace.
        *options : int, float
            Its last arguments.
        """
        self._monitor.look_at_the_clock()
        monitor = self._monitor.pointer(self._sample)
        kernel.launch_cooperative(self.context, 1, threads, *self._arguments, more, monitor, *options)
        fetch(self.context, self._memory["state"], self._mail.memory)
        self._monitor.mark()
        self.after_launch()
        ended = self._read_report()
        self.tree_steps, self.tight_steps = ended.steps, ended.searches
        self._report = before._replace(status=ended.status, free_rows=ended.free_rows, bound=ended.bound)
        return self._in_time(self._report)

    def report(self) -> Report:
        """The report; waits for the end of the solve, not for later work.

        Raises
        ------
        TimeIsUpError
            If it was stopped before its end.
        InternalError
            If an invariant did not hold.
        """
        return self._in_time(self._read_report())

    def _in_time(self, report: Report) -> Report:
        if report.status == STOPPED or (report.status in (UNFINISHED, TIED) and self._monitor.stopped):
            raise TimeIsUpError
        return report

    def interrupted(self) -> Report:
        """When the time is up, wherever that was noticed: feasible duals, and a matching that is completed greedily."""
        report = self._report if self._solved_since_listing else None
        if report is None:
            self.prepare(zero_prices=True)
            self.list_rows()
            self.launch(WARM_UP)
            report = self._read_report()
        if report.status in (STOPPED, UNFINISHED, TIED):
            self._complete()
        return report

    def _complete(self) -> None:
        """Match rows that are free greedily."""
        self._kernels["complete_most"].launch_cooperative(self.context, CLUSTER_BLOCKS, _THREADS, *self._arguments)
        for first in range(0, self.matrix.rows, _COMPLETED_AT_ONCE):
            self._kernels["complete"].launch(self.context, 1, _THREADS, *self._arguments, first, _COMPLETED_AT_ONCE)
            self._monitor.wait(self._sample)

    def improve_duals(self, report: Report) -> bool:
        """After an interruption: the duals with the best bound, unless `report` has it; the matching is lost then."""
        if self._kept is None or report.status == OPTIMAL or report.bound >= self._best_bound:
            return False
        self.prepare()
        self.replace_prices(self._kept["best"])
        self.list_rows()
        self.launch(WARM_UP)  # which ends before it has begun, with row minima
        self._read_report()
        return True

    def _read_report(self) -> Report:
        self._monitor.wait(self._sample, self.keep)
        self._report = report = Report._make(_REPORT.unpack_from(self._mail.memory.data))
        if report.status == CONTRADICTION:
            raise InternalError(f"the searches contradict each other; please report it with the matrix ({report})")
        if not self._sample and report.status in (OPTIMAL, UNFINISHED, STOPPED, TIED):
            self._learn(report)
        return report

    def _learn(self, report: Report) -> None:
        """The bounds, and what they come from."""
        bounds = [(report.bound, self.v)] if report.status in (UNFINISHED, TIED) else []
        if self._lists_are_fresh:
            bounds.append((report.start_bound, self._kept["listed"] if self._kept else 0))
        self._lists_are_fresh = False
        for bound, prices in bounds:
            if bound > self._best_bound:
                self._best_bound = bound
                self._keep("best", prices)
        self._monitor.learn(max(report.bound, self._best_bound))

    def _keep(self, name: str, prices: int) -> None:
        if self._kept is not None:
            self._copy_prices(self._kept[name], prices)

    def replace_prices(self, prices: int) -> None:
        """Set `v`."""
        self._copy_prices(self.v, prices)

    def _copy_prices(self, to: int, prices: int) -> None:
        copy_bytes(self.context, to, prices, self.matrix.cols * ITEM_BYTES[self.matrix.dual_dtype])

    def read_row(self, i: int) -> NDArray[Any]:
        """The costs of row i, as they are given."""
        matrix = self.matrix
        if matrix.cost_program is None:
            at = matrix.pointer + i * matrix.row_stride * ITEM_BYTES[matrix.dtype]
            return read(self.context, at, matrix.real_cols, matrix.dtype)
        with Workspace(self.context, {"row": (matrix.real_cols, matrix.dtype)}) as memory:
            gather = matrix.kernels(self.context, CORE_START, COMPUTED_START)["gather"]
            shape = (matrix.row_stride, i, 1, matrix.real_cols)
            gather.launch(self.context, 1, _SMALL_BLOCK, matrix.pointer, *shape, memory["row"])
            return read(self.context, memory["row"], matrix.real_cols, matrix.dtype)

    def snapshot(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """u, v (of real columns) and the partners of rows, as they are while a kernel changes them, as minimised.

        u is read before v, which only falls, so that they are feasible but for what moves just then.
        """
        rows, cols, dual = self.matrix.rows, self.matrix.real_cols, self.matrix.dual_dtype
        stream = self._monitor.stream
        u, v = (np.frombuffer(stream.fetch(at, 8 * n), dual) for at, n in ((self.u, rows), (self.v, cols)))
        if self.has_dummies and cols:
            u, v = u + v.max(), v - v.max()
        partners = np.frombuffer(stream.fetch(self._memory["state"] + PARTNERS, 4 * rows), np.int32)
        kept = np.full(rows, -1, np.int64)
        found, first = np.unique(partners, return_index=True)  # while pairs change, two rows may have one column
        real = (found >= 0) & (found < cols)
        kept[first[real]] = found[real]
        return u, v, kept

    def picked_values(self, _outputs: Outputs) -> NDArray[Any]:
        """The cost of every row, in the dual dtype, after `deliver`."""
        return read(self.context, self.picked, self.matrix.rows, self.matrix.dual_dtype)

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """Write the answer, in the user's sense, if the solve comes to its end, or `always`."""
        if self.matrix.prices and not always:
            self._match_ties()
        matching = (outputs.row_to_col.pointer, outputs.col_to_row.pointer)
        duals = (outputs.u.pointer, outputs.v.pointer)
        how = (int(always), int(outputs.turned))
        self._launch("deliver", self.context.info.processors, *how, *matching, self.picked, *duals)

    def _match_ties(self) -> None:
        """Match more rows, where that costs nothing, if the solve comes to its end."""
        listed = int(self.keeps_lists)
        self._kernels["match_ties"].launch_cooperative(self.context, CLUSTER_BLOCKS, _THREADS, *self._arguments, listed)

    def name_violator(self, of_rows: int, of_cols: int, outside: int) -> None:
        """If there is no assignment: set the bytes of the rows and columns that make a Hall violator.

        How many allowed pairs these rows have outside these columns is added to a word, by code of its own.
        """
        self._launch("violator", self.context.info.processors, of_rows, of_cols)
        blocks = min(self.matrix.rows, self.context.info.processors * _BLOCKS_A_PROCESSOR)
        self._launch("check_violator", blocks, of_rows, of_cols, outside)

    def _launch(self, name: str, grid: int, *more: int | float) -> None:
        self._kernels[name].launch(self.context, grid, _SMALL_BLOCK, *self._arguments, *more)
