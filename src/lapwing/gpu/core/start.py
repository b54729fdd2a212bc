"""The start of a solve on the GPU: prices from column minima, from two orders, or from samples, level by level.

Unstructured costs (uniform, integers) need no more than column minima, some not even those of all rows
(kernels/core/start/minima.cuh). For structured costs (points, low rank) column minima are far off. The first phase of
the auction distinguishes the two: it raises the bound by less than 0.01 list gaps a row, or by more than 0.015 (0.05
from 2000 rows on).

If structured costs are nearly of rank one, two orders give prices (sorted_prices.py). Otherwise a sample of rows and
columns is solved, its prices are carried over to four times as many rows and columns, and so on
(kernels/core/start/start.cu). So it is where searches from column minima take many steps. A random sample is solved
roughly: it has more rows than columns in one place and fewer in another, so its own prices are far from those of the
whole (in the plane, twice as far as zero prices). Stratified samples (gpu/costs/spatial_order.py for points,
stratified.py for matrices) are solved exactly: the error of their prices is a seventh to a fifth of that. The first
sample may be harder than the whole; then a CPU solves it (host_sample.py).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lapwing._core import Neighbours
from lapwing.errors import GpuError
from lapwing.gpu.core.bounds import column_grid, row_grid
from lapwing.gpu.core.host_sample import optimal_prices
from lapwing.gpu.core.memory import workspace_bytes
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import (
    EXPLORING,
    FINER,
    OPTIMAL,
    RECTANGULAR,
    ROUGH,
    STRATIFIED,
    STRATIFIED_MATRIX,
    STRUCTURED,
    TIED,
    UNFINISHED,
    UNSTRUCTURED,
    WARM_UP,
    CoreSolve,
    Report,
    Schedule,
)
from lapwing.gpu.core.sorted_prices import Axis, find_axis, orders, prices_in_order
from lapwing.gpu.core.stratified import PIVOTS, Members, SampleLists, pivot_points, stratified
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.computed import row_group_blocks
from lapwing.gpu.costs.spatial_order import prices_in_boxes
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel
from lapwing.gpu.runtime.programs import COMPUTED_START, CORE_START
from lapwing.gpu.runtime.tuning import BOX_POINTS, COL_SALT, ROW_SALT
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.inputs import processors

_THREADS = CORE_START.constants["THREADS"]
GROWTH = 4  # of the sample, from level to level: a power of two
# Where columns outnumber rows by more than one of so many, rounds without epsilon and searches may do without dummy
# rows. They end if the rounds leave more than one row of so many, or searches read more rows again, for each row, or
# take more steps: as many as take as long as a solve with dummy rows.
_NEARLY_SQUARE, LEFT_WITHOUT_DUMMIES, READS_WITHOUT_DUMMIES = 64, 8, 4.0
_STEPS_WITHOUT_DUMMIES, _ROWS_OF_STEP = 5500, 16
LEAST_ROWS = 128  # below, lists are a good part of their rows, and hardly any search is long
_FIRST_SAMPLE = 400  # rows at least, and less than GROWTH times as many; matrices with fewer rows do without
# Steps of searches for each row: of a solve from column minima before samples are taken, and of the first sample before
# a CPU solves it.
_EXPLORED_STEPS, _FIRST_STEPS = 1, 8
_POINTS_OF_THREAD, _MOST_THREADS = 8192, 8  # that put rows, or columns, in order
_AXIS_SAMPLE = 128  # rows at least, and less than twice as many
_SORTED_LEFT = 8  # if prices from orders leave one row of so many after a few rounds, they are good everywhere
_SORTED_PHASES_LEFT = 0.75  # if phases from them leave more of the rows, samples give better ones
# The same where costs tie, trees have given up, searches have read rows so often since, and more of the rows are free.
_READS_AFTER_TREES, _FREE_AFTER_TREES = 24.0, 0.02


def sample_bytes(rows: int, cols: int, dtype: str, computed: bool = False, priced: bool = False) -> int:
    """Memory for the largest sample, as far as it is not the solve's own; `cols`: without unmatched columns."""
    if min(rows, cols) < GROWTH * _FIRST_SAMPLE:
        return 0
    of_rows, of_cols = rows // GROWTH, cols // GROWTH
    costs = 0 if computed else of_rows * of_cols * ITEM_BYTES[dtype]
    prices = 8 * of_rows if priced else 0
    return costs + prices + workspace_bytes(of_rows, of_cols + of_rows * priced, dtype)


class StartFinder:
    """Finds prices for a solve, and the epsilons that suit them; runs it.

    Parameters
    ----------
    context : Context, entered
    monitor : Monitor, entered
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    copier : Copier, entered, optional
        If the matrix, which is square, is on its way.
    finish_tied : callable, optional
        Goes on with a solve of a square matrix whose searches read many rows again since costs tie
        (gpu/reference/trees.py).

    Attributes
    ----------
    levels : int
        How many samples were solved.
    """

    def __init__(
        self,
        context: Context,
        monitor: Monitor,
        array_template: GpuArray | None = None,
        copier: Copier | None = None,
        finish_tied: Callable[[CoreSolve, Report], Report] | None = None,
    ) -> None:
        self.context: Context = context
        self.monitor: Monitor = monitor
        self.array_template: GpuArray | None = array_template
        self._copier = copier
        self._finish_tied = finish_tied
        self.levels: int = 0
        self._kernels: dict[str, Kernel] = {}
        self._members: Members = {}  # of the samples that have lists
        self._stratified: SampleLists | None = None  # of the matrix whose samples are taken

    def run(self, solve: CoreSolve) -> Report:
        """Find prices, list and solve; waits for the end."""
        matrix = solve.matrix
        if matrix.rows != matrix.cols:
            report = self._run_without_dummies(solve)
            if report is not None:
                return report
            solve.has_dummies = True
        if solve.has_dummies or not solve.start_at_column_minima(self._copier):
            solve.prepare()
            self._column_bounds(matrix, 1, 0, solve)
        if matrix.rows < LEAST_ROWS:
            return self.run_from(solve, UNSTRUCTURED)
        has_sample = matrix.rows >= GROWTH * _FIRST_SAMPLE
        most_free = matrix.rows // 2 if has_sample else math.inf
        exploring = unstructured(matrix.rows, EXPLORING)
        if has_sample:
            exploring = replace(exploring, most_steps=_EXPLORED_STEPS * matrix.rows)
        report = self.run_from(solve, exploring, most_free=most_free)
        if report.status != UNFINISHED or solve.most_left is not None:
            return report
        solve.prepare()
        sides = self._find_orders(matrix)  # while an axis is looked for
        if not solve.has_dummies and self._sort(solve):
            report = self.run_from(solve, WARM_UP, matrix.rows // _SORTED_LEFT, matrix.rows)
            if report.status != UNFINISHED:
                return report
            solve.prepare()
            report = self.run_from(solve, structured(matrix.rows), int(_SORTED_PHASES_LEFT * matrix.rows), matrix.rows)
            if report.status != UNFINISHED:
                return report
            solve.prepare()
        self._climb(solve, sides)
        return self.run_from(solve, structured(matrix.rows, self._schedule(matrix)))

    def _run_without_dummies(self, solve: CoreSolve) -> Report | None:
        """Solve a problem with more columns than rows as it is; None if dummy rows are better."""
        matrix, limit = solve.matrix, None
        schedule = RECTANGULAR
        if solve.may_have_dummies and min(matrix.rows, matrix.real_cols) >= LEAST_ROWS:
            if (matrix.cols - matrix.rows) * _NEARLY_SQUARE <= matrix.rows:
                return None
            limit = matrix.rows // LEFT_WITHOUT_DUMMIES
            most_steps = _STEPS_WITHOUT_DUMMIES + matrix.rows // _ROWS_OF_STEP
            schedule, solve.most_reads = replace(RECTANGULAR, most_steps=most_steps), READS_WITHOUT_DUMMIES
        solve.prepare(zero_prices=True)
        report = self.run_from(solve, schedule, limit)
        solve.most_reads = math.inf
        return None if report.status == UNFINISHED and solve.most_left is None else report

    def run_from(
        self, solve: CoreSolve, schedule: Schedule, most_left: int | None = None, most_free: float = math.inf
    ) -> Report:
        """List and solve under the prices in `solve.v` (see `CoreSolve.launch`); waits for the end.

        With `most_free`, where there will be better prices: if costs tie, it is unfinished where more rows are free, or
        trees give up and searches still take long.
        """
        report = self._launched(solve, schedule, most_left)
        if report.status != TIED:
            return report
        if report.free_rows > most_free:
            return report._replace(status=UNFINISHED)
        return self._finished(solve, report, goes_on=most_free == math.inf)

    def _launched(self, solve: CoreSolve, schedule: Schedule, most_left: int | None = None) -> Report:
        solve.list_rows()
        solve.launch(schedule, most_left)
        return solve.report()

    def _finished(self, solve: CoreSolve, before: Report, goes_on: bool) -> Report:
        """The report when trees have finished, or else the core method, from their prices."""
        assert self._finish_tied is not None
        with contextlib.suppress(GpuError):  # there is no memory, or no compiler: the core does without
            report = self._finish_tied(solve, before)
            if report.status != UNFINISHED:
                return report
        most_reads, solve.most_left = solve.most_reads, None  # it has begun, so it goes on
        solve.most_reads = math.inf if goes_on else _READS_AFTER_TREES
        report = self._go_on(solve)
        if report.status == TIED and report.free_rows <= _FREE_AFTER_TREES * solve.matrix.rows:
            solve.most_reads = math.inf
            report = self._go_on(solve)
        solve.most_reads = most_reads
        return report._replace(status=UNFINISHED) if report.status == TIED else report

    def _go_on(self, solve: CoreSolve) -> Report:
        solve.prepare()
        return self._launched(solve, WARM_UP)

    # --- orders ---

    def _sort(self, solve: CoreSolve) -> bool:
        """Prices from two orders; False if a sample shows that these do not explain the costs."""
        matrix = solve.matrix
        run = _run(matrix.rows, _AXIS_SAMPLE, 2)
        sample = self._gather(matrix, run)
        size = sample.shape[0]
        costs = read(self.context, sample.pointer, size * size, matrix.dtype).astype(np.float64).reshape(size, size)
        axis = find_axis(-costs if matrix.maximize else costs)
        prices = None if axis is None else self._prices_along(matrix, run, axis)
        if prices is None:
            return False
        write(self.context, solve.v, prices)
        return True

    def _prices_along(self, matrix: CanonicalMatrix, run: int, axis: Axis) -> NDArray[np.generic] | None:
        size, context = matrix.rows, self.context
        blocks = -(-size // _THREADS)
        sizes = {"keys": (2 * size, "float64"), "orders": (2 * size, "int32"), "rises": (size, matrix.dual_dtype)}
        with Workspace(context, sizes, self.array_template) as memory:
            keys, second_keys = memory["keys"], memory["keys"] + 8 * size
            self._launch(matrix, "sorting_keys", blocks, size, size, run, *axis.rows, *axis.cols, keys, second_keys)
            row_keys, col_keys = read(context, keys, 2 * size, "float64").reshape(2, size)
            if not (np.isfinite(row_keys).all() and np.isfinite(col_keys).all()):
                return None
            row_order, col_order = orders(row_keys, col_keys)
            write(context, memory["orders"], np.concatenate([row_order, col_order]).astype(np.int32))
            second_orders = memory["orders"] + 4 * size
            self._launch(matrix, "price_rises", blocks, size, memory["orders"], second_orders, memory["rises"])
            rises = read(context, memory["rises"], size - 1, matrix.dual_dtype)
        if not np.isfinite(rises).all():
            return None
        prices = np.empty(size, matrix.dual_dtype)
        prices[col_order] = prices_in_order(rises)
        return prices

    # --- samples ---

    def _climb(self, solve: CoreSolve, sides: list[Neighbours]) -> None:
        """From sample to sample, each solved as well as it is worth, up to prices for the whole."""
        run = _run(min(solve.matrix.rows, solve.matrix.real_cols), _FIRST_SAMPLE, GROWTH)
        if run == 1:
            return
        runs = [run]
        while runs[-1] > GROWTH:
            runs.append(runs[-1] // GROWTH)
        self._choose_samples(runs, sides)
        sample = self._sample(solve.matrix, run)
        self._column_bounds(solve.matrix, run, 0, sample)
        while True:
            self.levels += 1
            report = self._solve_sample(solve.matrix, sample, run)
            if report.status not in (OPTIMAL, UNFINISHED):
                return
            finer = run // GROWTH
            above = solve if finer == 1 else self._sample(solve.matrix, finer)
            self._carry_over(solve.matrix, sample, run, above, finer)
            if finer == 1:
                return
            sample, run = above, finer

    def _choose_samples(self, runs: list[int], sides: list[Neighbours]) -> None:
        """Choose the rows and columns of the samples with these runs, where a hash does not."""
        if sides:
            rows, cols = (side.order() for side in sides)
            self._members = stratified(rows, cols, runs)
            self._stratified = SampleLists(self.context, self._members, self.array_template)

    def _find_orders(self, matrix: CanonicalMatrix) -> list[Neighbours]:
        """Begin to put rows and columns of a matrix in order, for strata; nothing if there will be none."""
        shape = rows, cols = matrix.rows, matrix.real_cols
        if matrix.cost_program is not None or _run(min(shape), _FIRST_SAMPLE, GROWTH) == 1:  # a recipe has its own
            return []
        run = _run(min(shape), PIVOTS, 2)
        blocks = -(-max(shape) // _THREADS)

        def launch_keys(pivot: int, row_keys: int, col_keys: int) -> None:
            self._launch(matrix, "sorting_keys", blocks, rows, cols, run, pivot, 0, pivot, 0, row_keys, col_keys)

        points = pivot_points(self.context, shape, self.array_template, launch_keys)
        if points is None:
            return []
        threads = max(1, min(processors() // len(points), min(shape) // _POINTS_OF_THREAD, _MOST_THREADS))
        return [Neighbours(side, BOX_POINTS, threads) for side in points]

    def _schedule(self, matrix: CanonicalMatrix) -> Schedule:
        """For a structured matrix, or computed costs, when samples were taken."""
        if matrix.in_order:
            return STRATIFIED
        return STRUCTURED if self._stratified is None else STRATIFIED_MATRIX

    def _solve_sample(self, matrix: CanonicalMatrix, sample: CoreSolve, run: int) -> Report:
        rows, in_order = sample.matrix.rows, sample.matrix.in_order
        if not in_order and self._stratified is None:
            return self.run_from(sample, ROUGH, most_left=0)
        if self.levels > 1:
            return self.run_from(sample, structured(rows, STRATIFIED) if in_order else FINER)
        first = structured(rows, STRATIFIED) if in_order else ROUGH
        report = self.run_from(sample, replace(first, most_steps=_FIRST_STEPS * rows))
        if report.status == UNFINISHED and not sample.has_dummies:
            self._solve_on_host(matrix, sample, run)
        return report

    def _solve_on_host(self, matrix: CanonicalMatrix, sample: CoreSolve, run: int) -> None:
        """Set the prices of a sample that takes the GPU long; they stay if it has no assignment."""
        rows, at = sample.matrix.rows, sample.matrix.pointer
        if matrix.cost_program is not None:
            gathered = self._gather(matrix, run)
            at = gathered.pointer
        costs = read(self.context, at, rows * rows, matrix.dtype).reshape(rows, rows)
        prices = optimal_prices(costs, matrix.maximize, self.monitor)
        if prices is not None:
            write(self.context, sample.v, prices.astype(matrix.dual_dtype))

    def _lists(self, run: int) -> tuple[int, int]:
        """Of the rows and columns of a matrix's sample."""
        return (0, 0) if self._stratified is None else self._stratified.lists(run)

    def _sample(self, matrix: CanonicalMatrix, run: int) -> CoreSolve:
        rows, real_cols = matrix.rows // run, matrix.real_cols // run
        cols, prices = real_cols, 0
        kept: list[object] = []
        if matrix.prices:
            memory = self._unmatched_costs(matrix, run)
            cols, kept, prices = real_cols + rows, [memory], memory["prices"]
        if matrix.cost_program is None:
            costs = self._gather(matrix, run)
            kept.append(costs)
            part = CanonicalMatrix(costs.pointer, rows, cols, real_cols, matrix.dtype, matrix.maximize, prices)
        else:  # computed like the whole
            part = replace(matrix, rows=rows, cols=cols, row_stride=run, prices=prices)
        solve = CoreSolve(self.context, part, self.monitor, self.array_template, is_sample=True, owner=kept)
        solve.has_dummies = rows != cols
        solve.prepare()
        return solve

    def _unmatched_costs(self, matrix: CanonicalMatrix, run: int) -> Workspace:
        """What rows of a sample pay to stay free."""
        size = matrix.rows // run
        memory = Workspace(self.context, {"prices": (size, matrix.dual_dtype)}, self.array_template)
        of_sample = (matrix.pointer, matrix.row_stride, run, self._lists(run)[0], size, matrix.prices, memory["prices"])
        self._kernel(matrix, "take_prices").launch(self.context, -(-size // _THREADS), _THREADS, *of_sample)
        return memory

    def _gather(self, matrix: CanonicalMatrix, run: int) -> GpuArray:
        shape = matrix.rows // run, matrix.real_cols // run
        costs = empty_array(self.context, shape, matrix.dtype, self.array_template)
        of_matrix = (matrix.row_stride, 1, *shape, run, *self._lists(run))
        of_sample = of_matrix if matrix.cost_program is None else (run, 0, *shape)
        gather = self._kernel(matrix, "gather")
        gather.launch(self.context, shape[0], _THREADS, matrix.pointer, *of_sample, costs.pointer)
        return costs

    def _carry_over(self, matrix: CanonicalMatrix, sample: CoreSolve, run: int, above: CoreSolve, finer: int) -> None:
        """Prices for a larger sample, or the whole, from a smaller one's."""
        size = above.matrix.rows
        with Workspace(self.context, {"u": (size, matrix.dual_dtype)}, self.array_template) as memory:
            if matrix.cost_program is None:
                shape = (0, size, finer, sample.matrix.real_cols, run)
                lists = self._lists(finer)[0], self._lists(run)[1]
                grid = row_grid(size, self.context.info.processors)
                self._launch(matrix, "row_bounds", grid, *shape, *lists, sample.v, memory["u"])
            else:
                self._line_bounds(matrix.pointer, matrix, ROW_SALT, finer, run, sample.v, memory["u"])
            if matrix.prices:
                limit = self._kernel(matrix, "limit_bounds")
                limit.launch(self.context, -(-size // _THREADS), _THREADS, size, above.matrix.prices, memory["u"])
            self._column_bounds(matrix, finer, memory["u"], above)

    def _column_bounds(self, matrix: CanonicalMatrix, run: int, u: int, target: CoreSolve) -> None:
        if matrix.cost_program is not None:
            return self._line_bounds(matrix.cost_program.exchanged, matrix, COL_SALT, run, run, u, target.v)
        rows, cols = matrix.rows // run, matrix.real_cols // run
        chunks, bands = column_grid(rows, cols, self.context.info.processors)
        shape = (0, rows, cols, run, bands, *self._lists(run))
        self._launch(matrix, "column_bounds", chunks * bands, *shape, u, target.keys, target.v)

    def _line_bounds(
        self, block: int, matrix: CanonicalMatrix, lines: int, run: int, other_run: int, prices: int, least: int
    ) -> None:
        """The least cost - price of every row, or column, of one sample, over the columns or rows of another."""
        assert matrix.cost_program is not None
        sides = (matrix.rows, matrix.real_cols) if lines == ROW_SALT else (matrix.real_cols, matrix.rows)
        size, others, maximize = sides[0] // run, sides[1] // other_run, int(matrix.maximize)
        kernel, processors = self._kernel(matrix, "line_bounds"), self.context.info.processors
        is_boxed = prices and matrix.in_order and not maximize
        in_boxes = prices_in_boxes(others) if is_boxed else 0
        with Workspace(self.context, {"in_boxes": (in_boxes, matrix.dual_dtype)}, self.array_template) as memory:
            if in_boxes:
                of_positions = (others, other_run, prices, memory["in_boxes"])
                grid = row_group_blocks(others, processors)
                self._kernel(matrix, "price_boxes").launch(self.context, grid, _THREADS, block, *of_positions)
            for part in matrix.cost_program.parts(size, others):
                if part.start:
                    self.monitor.wait(sample=True)
                grid = row_group_blocks(len(part), processors)
                shape = (part.start, len(part), run, lines, others, other_run, prices, memory["in_boxes"])
                kernel.launch(self.context, grid, _THREADS, block, maximize, *shape, least)

    def _launch(self, matrix: CanonicalMatrix, name: str, grid: int, *arguments: int) -> None:
        of_matrix = (matrix.pointer, matrix.row_stride, int(matrix.maximize))
        self._kernel(matrix, name).launch(self.context, grid, _THREADS, *of_matrix, *arguments)

    def _kernel(self, matrix: CanonicalMatrix, name: str) -> Kernel:
        if not self._kernels:
            self._kernels = matrix.kernels(self.context, CORE_START, COMPUTED_START)
        return self._kernels[name]


def _run(rows: int, least: int, growth: int) -> int:
    """A power of `growth`: how many neighbours one row of a sample of at least `least` rows stands for."""
    run = 1
    while rows // (run * growth) >= least:
        run *= growth
    return run


def structured(rows: int, schedule: Schedule = STRUCTURED) -> Schedule:
    """The larger a matrix, the farther what phases leave over would have to be searched. Measured."""
    enough = STRUCTURED.rounds * (80 if rows < 20_000 else 20)  # rows, for which so many rounds are
    return replace(schedule, rounds=schedule.rounds * max(rows, enough) // enough)


def unstructured(rows: int, schedule: Schedule) -> Schedule:
    """More rounds, and finer ones, of large matrices: a round costs less than a step of the long searches. Measured."""
    times = min(max(rows // 8000, 1), 4)
    return replace(schedule, last=schedule.last / times, rounds=schedule.rounds * times)
