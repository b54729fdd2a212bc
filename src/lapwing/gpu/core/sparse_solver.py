"""The core method on one GPU for sparse costs (kernels/core/sparse_core.cu): the lists of short rows are the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import UNFINISHED, CoreSolve, Report, Schedule
from lapwing.gpu.core.start import StartFinder
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.sparse import SparseLines
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import INTEGERS, SPARSE_CORE
from lapwing.gpu.runtime.tuning import LIST_SIZE

_THREADS = SPARSE_CORE.constants["THREADS"]
_SMALL_BLOCK = 256
_BLOCKS_A_PROCESSOR = 8
#: Epsilons in steps from a row's nearest column to the next are 1 to 1/128: a list gap is 32 such steps.
SPARSE = Schedule(1 / 32, 1 / 4096, 0.5, 16, warm_up=8)
#: Where columns may stay free: rounds without epsilon alone, which spare longer searches.
FREE_COLUMNS = Schedule(0.0, 0.0, 0.5, 64)
#: The same with dummy rows: after so many steps of searches, and one more for so many rows.
STEPS_WITHOUT_DUMMIES = 800
ROWS_OF_STEP = 64
WITH_DUMMIES = Schedule(1 / 8, 1 / 4096, 0.25, 32, warm_up=8)


class SparseSolve(CoreSolve):
    """One solve.

    Attributes
    ----------
    lines : SparseLines
    """

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        lines: SparseLines,
        array_template: GpuArray | None,
    ) -> None:
        super().__init__(context, matrix, monitor, array_template)
        self.lines: SparseLines = lines
        self._blocks = context.info.processors * _BLOCKS_A_PROCESSOR

    def _load_kernels(self) -> dict[str, Kernel]:
        return kernels(self.context, SPARSE_CORE, SPARSE_CORE.of_cost(self.matrix.dtype))

    def start_at_column_minima(self, _copier: Copier | None = None) -> bool:
        """See `CoreSolve`."""
        self.prepare()
        self._launch("column_minima", self._blocks, self.keys)
        self._launch("take_minima", self._blocks, self.keys)
        return True

    def list_rows(self) -> None:
        """See `CoreSolve`."""
        self._begin_listing()
        self._launch("list_rows", self._blocks)
        if self.lines.longest + bool(self.matrix.prices) > LIST_SIZE:
            blocks = self.context.info.processors
            self._kernels["list_long_rows"].launch(self.context, blocks, _THREADS, *self._arguments)

    def read_row(self, i: int) -> NDArray[Any]:
        """The costs of row i, as they are given; infinite where there is no entry, or 0 of integers."""
        dtype = self.matrix.dtype
        ends, across, data = (int(at) for at in read(self.context, self.lines.block, 3, "int64"))
        first, last = (int(end) for end in read(self.context, ends + 8 * i, 2, "int64"))
        values = read(self.context, data + ITEM_BYTES[dtype] * first, last - first, dtype)
        forbidden = 0 if dtype in INTEGERS else -math.inf if self.matrix.maximize else math.inf
        row = np.full(self.matrix.real_cols, forbidden, values.dtype)
        row[read(self.context, across + 4 * first, last - first, "int32")] = values
        return row


class SparseStartFinder(StartFinder):
    """Column minima, and the epsilons that suit sparse costs."""

    def run(self, solve: CoreSolve) -> Report:
        """See `StartFinder`."""
        if solve.matrix.rows == solve.matrix.cols:
            solve.start_at_column_minima()
            return self.run_from(solve, SPARSE)
        most_steps = STEPS_WITHOUT_DUMMIES + solve.matrix.rows // ROWS_OF_STEP
        solve.prepare(zero_prices=True)
        report = self.run_from(solve, replace(FREE_COLUMNS, most_steps=most_steps))
        if report.status != UNFINISHED:
            return report
        solve.has_dummies = True
        solve.prepare(zero_prices=True)
        return self.run_from(solve, WITH_DUMMIES)
