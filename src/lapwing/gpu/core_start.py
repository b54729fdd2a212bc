"""Where a solve on the GPU starts: prices from column minima, or from a sample that was solved, level by level.

First a few rounds without epsilon show whether column minima are all but right (sums of a row's and a column's part,
many ties). Unstructured costs (uniform, integers) need no more than column minima. For structured ones (points, low
rank) these are far off: there a random sample of rows and columns is solved first, and its duals are carried over to
four times as many rows and columns, and so on (kernels/core_start.cu). A small sample tells which: by how much column
and row minima fall short of its optimum, in widths of a candidate list, a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.gpu.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.copies import fill_bytes, write
from lapwing.gpu.core import (
    ESTIMATE,
    OPENING,
    OPTIMAL,
    STRUCTURED,
    UNFINISHED,
    UNSTRUCTURED,
    CoreSolve,
    Oriented,
    Report,
    Schedule,
    workspace_bytes,
)
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import CORE_START
from lapwing.gpu.watch import Watch
from lapwing.gpu.workspace import Workspace

_THREADS = CORE_START.constants["THREADS"]
_GROWTH = 4  # of the sample, from level to level
_LEAST_ROWS = 2000  # below, a sample costs more than it saves
_FIRST_SAMPLE = 400  # rows at least, and less than _GROWTH times as many
_STRUCTURED_FROM = 0.04  # shortfall of the minima, in list widths a row
_OPENING_LEFT = 32  # if a few rounds without epsilon leave one row of so many, searches do the rest
_SEED = 20  # of the sample


@dataclass(frozen=True)
class Level:
    """What one level's solve said."""

    rows: int
    report: Report


def sample_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory for the largest sample, as far as it is not the solve's own."""
    largest = rows // _GROWTH if rows == cols and rows >= _LEAST_ROWS else 0
    return largest * largest * ITEM_BYTES[dtype] + workspace_bytes(largest, largest, dtype)


class Start:
    """Finds prices for a solve, and the epsilons that suit them; runs it."""

    def __init__(self, context: Context, watch: Watch, like: GpuArray | None) -> None:
        self.context, self.watch, self.like = context, watch, like
        self.levels: list[Level] = []

    def run(self, solve: CoreSolve) -> Report:
        """Find prices, list and solve; waits for the end."""
        matrix = solve.matrix
        with Workspace(self.context, {"keys": (matrix.cols, "int64")}, self.like) as memory:
            if matrix.rows != matrix.cols:
                solve.zero_prices()
                return self.run_from(solve, UNSTRUCTURED)
            self._column_minima(matrix, solve.v.pointer, memory["keys"])
            if matrix.rows < _LEAST_ROWS:
                return self.run_from(solve, UNSTRUCTURED)
            solve.list_rows()
            solve.launch(OPENING, matrix.rows // _OPENING_LEFT)
            report = solve.report()
            if report.status != UNFINISHED:
                return report
            if self._climb(solve, memory["keys"]):
                return self.run_from(solve, STRUCTURED)
            solve.launch(UNSTRUCTURED)  # the lists are as good as new: prices only rose
            return solve.report()

    def run_from(self, solve: CoreSolve, schedule: Schedule, most_left: int | None = None) -> Report:
        """List and solve under the prices in `solve.v` (see `CoreSolve.launch`); waits for the end."""
        solve.list_rows()
        solve.launch(schedule, most_left)
        return solve.report()

    def _climb(self, solve: CoreSolve, keys: int) -> bool:
        """From sample to sample, up to prices for the whole; False if column minima are as good."""
        matrix = solve.matrix
        size = matrix.rows
        while size >= _GROWTH * _FIRST_SAMPLE:
            size //= _GROWTH
        random = np.random.Generator(np.random.Philox(_SEED))
        order = np.concatenate([random.permutation(matrix.rows), random.permutation(matrix.cols)]).astype(np.int32)
        with Workspace(self.context, {"order": (order.size, "int32")}, self.like) as memory:
            write(self.context, memory["order"], order)
            rows, cols = memory["order"], memory["order"] + 4 * matrix.rows
            below: tuple[int, CoreSolve] | None = None
            while size < matrix.rows:
                sample = self._gather(matrix, rows, cols, size)
                level = CoreSolve(self.context, self._oriented(sample, matrix), self.watch, self.like, sample=True)
                if below is None:
                    self._column_minima(level.matrix, level.v.pointer, keys)
                    report = self.run_from(level, ESTIMATE, most_left=0)
                    if not _is_structured(report, size):
                        return False
                    if report.status == UNFINISHED:
                        report = self.run_from(level, UNSTRUCTURED)
                else:
                    self._carry_over(matrix, rows, cols, below, size, level.v.pointer, keys)
                    report = self.run_from(level, STRUCTURED)
                self.levels.append(Level(size, report))
                if report.status != OPTIMAL:
                    return False
                below = (size, level)
                size = min(size * _GROWTH, matrix.rows)
            if below is None:
                return False
            self._carry_over(matrix, rows, cols, below, matrix.rows, solve.v.pointer, keys, whole=True)
            return True

    def _gather(self, matrix: Oriented, rows: int, cols: int, size: int) -> GpuArray:
        sample = empty_array(self.context, (size, size), matrix.dtype, self.like)
        self._launch(
            matrix, "gather", size, matrix.pointer, matrix.row_stride, 1, size, size, rows, cols, sample.pointer
        )
        return sample

    def _oriented(self, sample: GpuArray, matrix: Oriented) -> Oriented:
        rows, cols = sample.shape
        return Oriented(sample.pointer, rows, cols, cols, matrix.dtype, matrix.maximize)

    def _column_minima(self, matrix: Oriented, v: int, keys: int) -> None:
        self._column_bounds(matrix, matrix.rows, 0, 0, 0, v, keys)

    def _carry_over(
        self,
        matrix: Oriented,
        rows: int,
        cols: int,
        below: tuple[int, CoreSolve],
        size: int,
        v: int,
        keys: int,
        whole: bool = False,
    ) -> None:
        """Prices for the first `size` columns of the order, or all in their own order, from a solved sample's."""
        sampled, level = below
        row_of, col_of = (0, 0) if whole else (rows, cols)
        shape = (int(matrix.maximize), size, sampled, row_of, cols)
        with Workspace(self.context, {"u": (size, matrix.dual_dtype)}, self.like) as memory:
            blocks = min(size, 64 * self.context.info.processors)
            arguments = (matrix.pointer, matrix.row_stride, *shape, level.v.pointer, memory["u"])
            self._launch(matrix, "row_bounds", blocks, *arguments)
            self._column_bounds(matrix, size, row_of, col_of, memory["u"], v, keys)

    def _column_bounds(self, matrix: Oriented, size: int, row_of: int, col_of: int, u: int, v: int, keys: int) -> None:
        fill_bytes(self.context, keys, 0xFF, size * ITEM_BYTES["int64"])
        chunks = -(-size // _THREADS)
        bands = max(1, min(size, 16 * self.context.info.processors // chunks))
        shape = (int(matrix.maximize), size, size, bands, row_of, col_of)
        self._launch(matrix, "column_bounds", chunks * bands, matrix.pointer, matrix.row_stride, *shape, u, keys)
        self._launch(matrix, "set_prices", chunks, keys, size, v)

    def _launch(self, matrix: Oriented, name: str, grid: int, *arguments: int) -> None:
        loaded = kernels(self.context, CORE_START, CORE_START.variant(COST=matrix.dtype))
        loaded[name].launch(self.context, grid, _THREADS, *arguments)


def _is_structured(report: Report, rows: int) -> bool:
    return report.width > 0 and report.bound - report.start_bound > _STRUCTURED_FROM * rows * report.width
