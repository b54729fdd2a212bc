"""The core method on one GPU for a matrix that stays on the host (gpu/costs/host_rows.py).

At best, every row is read once into its row cache and once for the certificate, and a few rows, whose caches are
insufficient, once while the method runs. If the first caches are of little use under the starting prices of the method,
most rows are read once more.

The starting prices are column minima, found while the row caches are filled under prices 0. When prices rise, the bound
of a cache falls by the largest increase. If costs have structure, some whole rows are a sample. Its square part is
solved here like any matrix, and the sample's `u` gives prices for all columns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import match_ties
from lapwing.answer import inverse
from lapwing.costs.rows import rows as costs_of_rows
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import EXPLORING, OPTIMAL, UNFINISHED, UNSTRUCTURED, CoreSolve, Outputs, Report, Schedule
from lapwing.gpu.core.start import LEAST_ROWS, StartFinder, structured, unstructured
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.host_rows import Ids, Lines, StoredRows, sample_rows
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import copy_bytes, fill_bytes, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import CORE, HOST_CORE, STORED
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = CORE.constants["THREADS"]
_SMALL_BLOCK = 256
_EPSILON_DEPTH = 64  # of stores, for an epsilon of one list width: so that most rows do with their stores
_SEED = 5  # of samples


class HostSolve(CoreSolve):
    """One solve.

    Attributes
    ----------
    rows : StoredRows
    """

    may_have_dummies = False

    def __init__(
        self, context: Context, matrix: CanonicalMatrix, monitor: Monitor, rows: StoredRows, lines: Lines
    ) -> None:
        super().__init__(context, matrix, monitor)
        self.rows: StoredRows = rows
        self._lines = lines
        self._has_caches, self._is_complete = False, True
        monitor.serve = rows.serve

    def _load_kernels(self) -> dict[str, Kernel]:
        return kernels(self.context, HOST_CORE, HOST_CORE.of_cost(self.matrix.dtype))

    # --- lists ---

    def prepare(self, zero_prices: bool = False) -> None:
        """See `CoreSolve`."""
        if zero_prices:
            self._has_caches = False
        super().prepare(zero_prices)

    def cache_with_minima(self) -> None:
        """Put every row into its store under prices 0, and set `v` to the column minima."""
        size = 8 * self.matrix.cols
        with Workspace(self.context, {"minima": (self.matrix.cols, self.matrix.dual_dtype)}) as memory:
            minima = memory["minima"]
            fill_bytes(self.context, self.v, 0, size)
            self._cache_rows(_all_rows(self.matrix), minima)
            self.replace_prices(minima)

    def replace_prices(self, prices: int) -> None:
        """See `CoreSolve`: stores are of other prices."""
        with Workspace(self.context, {"before": (self.matrix.cols, self.matrix.dual_dtype)}) as memory:
            size = 8 * self.matrix.cols
            copy_bytes(self.context, memory["before"], self.v, size)
            copy_bytes(self.context, self.v, prices, size)
            self._kernels["lower_bounds"].launch(self.context, 1, _THREADS, *self._arguments, memory["before"])
            self.context.synchronize()

    def list_rows(self) -> None:
        """List every row under the prices in `v`: from the stores, as far as there are any that prove enough."""
        self._begin_listing()
        if not self._has_caches:
            return self._cache_rows(_all_rows(self.matrix), 0)
        self._kernels["list_rows"].launch(
            self.context, min(self.matrix.rows, 8 * self.context.info.processors), _THREADS, *self._arguments
        )
        self._monitor.wait()
        insufficient = self.rows.take_insufficient()
        if len(insufficient):
            self._cache_rows(insufficient, 0)
        return None

    def _cache_rows(self, ids: Ids, minima: int) -> None:
        """Read rows into their stores and lists; and find their column minima, if there is an address for these."""

        def visit(rows: int, whose: int, first: int, count: int) -> None:
            blocks = min(count, 4 * self.context.info.processors)
            self._kernels["cache_rows"].launch(self.context, blocks, _THREADS, *self._arguments, rows, whose, count)
            if minima:
                self.lower_to_minima(rows, 0, first, count, len(ids), minima)

        self.rows.every(ids, visit, partial(self._monitor.wait_in_pass, "list"))
        self._has_caches = True

    def lower_to_minima(self, rows: int, of_rows: int, first: int, count: int, all_rows: int, target: int) -> None:
        """The least cost - u of each column, to `target`: of rows that come in parts."""
        arguments = [*self._arguments]
        arguments[7] = target
        blocks = -(-self.matrix.cols // _SMALL_BLOCK)
        ends = (int(first == 0), int(first + count == all_rows))
        self._kernels["column_minima"].launch(
            self.context, blocks, _SMALL_BLOCK, *arguments, rows, count, of_rows, *ends
        )

    def gather_cols(self, rows: int, count: int, cols: int, width: int, target: int) -> None:
        """Some columns of rows that came."""
        self._kernels["gather_cols"].launch(
            self.context, count, _SMALL_BLOCK, *self._arguments, rows, count, cols, width, target
        )

    # --- the solve ---

    def launch(self, schedule: Schedule, most_left: int | None = None) -> None:
        """See `CoreSolve`."""
        self.rows.forget()
        super().launch(schedule, most_left)

    def _complete(self) -> None:
        self._is_complete = False  # until `deliver`, with the rows on the host

    def deliver(self, outputs: Outputs, always: bool = True) -> None:
        """See `CoreSolve`."""
        super().deliver(outputs, always)
        if self.matrix.prices and not always:
            self._match_more(outputs)
        if self._is_complete:
            return
        matrix, context = self.matrix, self.context
        row_to_col = read(context, outputs.row_to_col.pointer, matrix.rows, "int64")
        col_to_row = read(context, outputs.col_to_row.pointer, matrix.real_cols, "int64")
        prices = read(context, matrix.prices, matrix.rows, matrix.dual_dtype) if matrix.prices else None
        free_cols = np.flatnonzero(col_to_row < 0)
        for i in np.flatnonzero(row_to_col < 0):
            costs = self.read_row(int(i))[free_cols].astype(np.float64)
            costs = -costs if matrix.maximize else costs
            best = int(np.argmin(costs)) if len(costs) else -1
            if best >= 0 and costs[best] < (np.inf if prices is None else prices[i]):
                row_to_col[i] = free_cols[best]
                col_to_row[free_cols[best]] = i
                free_cols = np.delete(free_cols, best)
        write(context, outputs.row_to_col.pointer, row_to_col)
        write(context, outputs.col_to_row.pointer, col_to_row)
        self._is_complete = True  # duals that are delivered later need no matching

    def _match_ties(self) -> None:
        """See `CoreSolve`: after the delivery, with the rows on the host."""

    def _match_more(self, outputs: Outputs) -> None:
        matrix, context, lines = self.matrix, self.context, self._lines
        row_to_col = read(context, outputs.row_to_col.pointer, matrix.rows, "int64")
        if (row_to_col >= 0).all():
            return
        dtype = np.dtype(STORED[matrix.dtype])

        def rows_of(begin: int, end: int) -> NDArray[Any]:
            return np.asarray(lines.read(np.arange(begin, end, dtype=np.int32))).astype(dtype, copy=False)

        v = read(context, outputs.v.pointer, matrix.real_cols, matrix.dual_dtype)
        prices = read(context, matrix.prices, matrix.rows, matrix.dual_dtype)
        source = costs_of_rows(rows_of, lines.shape, dtype).compiled(False)
        matched = match_ties(source, matrix.maximize, prices, row_to_col, -v if matrix.maximize else v)
        write(context, outputs.row_to_col.pointer, matched)
        write(context, outputs.col_to_row.pointer, inverse(matched, matrix.real_cols))

    def read_row(self, i: int) -> NDArray[Any]:
        """The costs of row i, as they are given."""
        return np.asarray(self._lines.read(np.array([i], np.int32))[0])

    def picked_values(self, outputs: Outputs) -> NDArray[Any]:
        """The cost of every row, in the dual dtype, if `outputs` were delivered."""
        partners = read(self.context, outputs.row_to_col.pointer, self.matrix.rows, "int64")
        values = read(self.context, self.picked, self.matrix.rows, self.matrix.dual_dtype)
        values[partners >= 0] = self._lines.picked(partners)
        return values

    def name_violator(self, of_rows: int, of_cols: int, outside: int) -> None:
        """See `CoreSolve`: the rows are read again."""
        self._launch("violator", self.context.info.processors, of_rows, of_cols)
        marked = np.flatnonzero(read(self.context, of_rows, self.matrix.rows, "uint8")).astype(np.int32)

        def visit(rows: int, whose: int, _: int, count: int) -> None:
            self._launch("check_violator", count, rows, whose, count, of_cols, outside)

        self.rows.every(marked, visit, partial(self._monitor.wait_in_pass, "check"))


class HostStartFinder(StartFinder):
    """Prices for a matrix on the host, and the epsilons that suit them."""

    def run(self, solve: CoreSolve) -> Report:
        """See `StartFinder`."""
        assert isinstance(solve, HostSolve)
        matrix = solve.matrix
        if matrix.rows != matrix.cols:
            solve.prepare(zero_prices=True)
            return self.run_from(solve, UNSTRUCTURED)
        self._start_at_minima(solve)
        is_small = matrix.rows < LEAST_ROWS
        report = self.run_from(solve, unstructured(matrix.rows, UNSTRUCTURED if is_small else EXPLORING))
        if report.status != UNFINISHED:
            return report
        return self.run_from(solve, self._start_at_sample(solve))

    def _start_at_minima(self, solve: HostSolve) -> None:
        """Prices are column minima, and rows are cached."""
        solve.prepare()
        solve.cache_with_minima()

    def _start_at_sample(self, solve: HostSolve) -> Schedule:
        """Prices are those of a sample; the epsilons that suit them."""
        solve.prepare()
        self._sample_prices(solve)
        schedule = structured(solve.matrix.rows)
        widest = solve.rows.layout.depth / _EPSILON_DEPTH
        return replace(schedule, first=min(schedule.first, max(1.0, widest)))

    def _sample_prices(self, solve: HostSolve) -> None:
        """Replace the prices by those that the duals of a sample give, if that can be solved."""
        matrix, context = solve.matrix, self.context
        size = sample_rows(matrix.rows)
        if size == 0:
            return
        rows, cols = sampled_lines(matrix.rows, size)
        costs = empty_array(context, (size, size), matrix.dtype)
        with Workspace(context, {"cols": (size, "int32"), "v": (matrix.cols, matrix.dual_dtype)}) as memory:
            write(context, memory["cols"], cols)

            def gather(came: int, _: int, first: int, count: int) -> None:
                target = costs.pointer + first * size * ITEM_BYTES[matrix.dtype]
                solve.gather_cols(came, count, memory["cols"], size, target)

            solve.rows.every(rows, gather, partial(self.monitor.wait_in_pass, "start"))
            sample = self._solved_sample(matrix, costs, size)
            if sample is None:
                return

            def lower(came: int, _: int, first: int, count: int) -> None:
                solve.lower_to_minima(came, sample.u + 8 * first, first, count, size, memory["v"])

            solve.rows.every(rows, lower, partial(self.monitor.wait_in_pass, "start"))
            solve.replace_prices(memory["v"])

    def _solved_sample(self, matrix: CanonicalMatrix, costs: GpuArray, size: int) -> CoreSolve | None:
        part = CanonicalMatrix(costs.pointer, size, size, size, matrix.dtype, matrix.maximize)
        sample = CoreSolve(self.context, part, self.monitor, is_sample=True, owner=costs)
        starter = StartFinder(self.context, self.monitor)
        report = starter.run(sample)
        self.levels += 1 + starter.levels
        return sample if report.status in (OPTIMAL, UNFINISHED) else None


def sampled_lines(lines: int, size: int) -> tuple[Ids, Ids]:
    """The rows and the columns of a random sample of a square matrix, in order."""
    random = np.random.default_rng(_SEED)
    rows, cols = (np.sort(random.choice(lines, size, replace=False)).astype(np.int32) for _ in range(2))
    return rows, cols


def _all_rows(matrix: CanonicalMatrix) -> Ids:
    return np.arange(matrix.rows, dtype=np.int32)


class OwnersStartFinder(HostStartFinder):
    """The same where several GPUs have the rows, and make column minima and prices of a sample from all of them."""

    def _start_at_minima(self, solve: HostSolve) -> None:
        """See `HostStartFinder`."""
        solve.start_at_column_minima()

    def _start_at_sample(self, solve: HostSolve) -> Schedule:
        """See `HostStartFinder`."""
        self._sample_prices(solve)
        return structured(solve.matrix.rows)
