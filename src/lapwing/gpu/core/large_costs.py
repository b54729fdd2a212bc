"""Costs far above all others, on a GPU: seen in some rows, and forbidden in a copy of the matrix.

cpp/include/lapwing/reductions/large_costs.hpp says which costs are large, and why an optimum without them is one
with them, too. A solve with them takes several times as long and proves nothing, so the host looks at a sample before
the solve, or while the first kernel runs. The quickest solves are over before that look begins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import MOST_PITCH, OwnStream
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START

#: Elements of a matrix that a CPU solves in no more time than a GPU (benchmarks/results/gpu_crossover.json).
SMALL = 1 << 18
_SAMPLED_ROWS = 16
_FIRST_COLS = 256  # of a sampled row that are looked at first
_LAUNCH_SECONDS, _BYTES_PER_SECOND = 1e-4, 1e12
_THREADS = CORE_START.constants["THREADS"]


def find_large_in_rows(matrix: NDArray[Any], maximize: bool, prices: NDArray[Any] | None, pairs: int) -> float:
    """The limit above which costs, as minimised, are large, by a look at some rows; infinite if there is no such limit.

    Parameters
    ----------
    matrix : (m, n) floats
        On the host.
    prices : (m,) float64 or None
        Unmatched costs, as minimised.
    pairs : int
        Of an assignment.
    """
    some = _sampled(len(matrix), len(matrix))
    return _find_large(matrix[some], maximize, None if prices is None else prices[some], pairs)


def find_large_on_gpu(matrix: CanonicalMatrix, stream: OwnStream, prices: NDArray[Any] | None) -> float:
    """The same for a matrix on a GPU, while kernels run there that leave it as it is."""
    row_bytes = matrix.row_stride * ITEM_BYTES[matrix.dtype]
    some = _sampled(matrix.rows, MOST_PITCH // row_bytes)
    shape = len(range(matrix.rows)[some]), matrix.real_cols
    costs = stream.fetch_rows(matrix.pointer, some.step * row_bytes, shape, matrix.dtype)
    return _find_large(costs, matrix.maximize, None if prices is None else prices[some], matrix.rows)


def quickest_seconds(matrix_bytes: int) -> float:
    """What a solve on a GPU takes at least: a few launches and reads of the matrix."""
    return _LAUNCH_SECONDS + matrix_bytes / _BYTES_PER_SECOND


def _sampled(rows: int, most_step: int) -> slice:
    """Rows of a sample, evenly spread unless the step is limited."""
    count = min(_SAMPLED_ROWS, rows)
    step = max(1, min(rows // count, most_step))
    return slice(0, count * step, step)


def _find_large(costs: NDArray[Any], maximize: bool, prices: NDArray[Any] | None, pairs: int) -> float:
    """What lies above a gap that leaves every row a cost or a price below it."""
    costs = costs.astype(np.float32) if costs.dtype == np.float16 else costs
    prices = None if prices is None else np.ascontiguousarray(prices)
    some = costs[:, :: max(1, costs.shape[1] // _FIRST_COLS)]
    if _core.find_large_costs(some, maximize, prices, len(some), pairs) is None:
        return math.inf  # what so few costs do not show is left to the proof
    while True:
        large = _core.find_large_costs(costs, maximize, prices, len(costs), pairs)
        if large is None:
            return math.inf
        above = large[0]
        small = costs >= -above if maximize else costs <= above
        if (small.any(axis=1) | (False if prices is None else prices <= above)).all():
            return above
        # A few costs next to zero, which others are far above: look for a gap among those.
        costs = np.where(small, 0, costs)
        prices = None if prices is None else np.where(prices <= above, 0.0, prices)


def without_large(context: Context, cost: GpuArray, above: float, maximize: bool) -> GpuArray:
    """A copy of a matrix in which the large costs are forbidden."""
    copy = empty_array(context, cost.shape, cost.dtype, cost)
    forbid = kernels(context, CORE_START, CORE_START.of_cost(cost.dtype))["forbid_large"]
    rows, cols = cost.shape
    blocks = min(rows, 64 * context.info.processors)
    most = -above if maximize else above
    forbid.launch(context, blocks, _THREADS, cost.pointer, *cost.strides, rows, cols, int(maximize), most, copy.pointer)
    return copy
