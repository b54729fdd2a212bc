"""Costs far above all others, on a GPU: detected in some rows, and forbidden in a copy of the matrix.

cpp/include/lapwing/reductions/large_costs.hpp defines which costs are large, and shows why an optimum without them
is one with them, too. A solve with them takes several times as long and proves nothing, so the host reads a sample
before the solve. For a matrix on the GPU, a kernel looks at a few thousand costs (gpu/core/glance.py). If their
exponents have a gap, the host reads all costs of some rows.
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
_PIECE_COLS = 256  # of a sampled row, for a first look
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
    """The same for a matrix on a GPU, while kernels run there that leave it as it is.

    Pieces of the rows, which move to the right from row to row, are often enough.
    """
    item = ITEM_BYTES[matrix.dtype]
    row_bytes = matrix.row_stride * item
    some = _sampled(matrix.rows, MOST_PITCH // row_bytes - 1)
    count = len(range(matrix.rows)[some])
    limit = math.inf
    for cols in (_PIECE_COLS, matrix.real_cols):
        if limit == math.inf and cols <= matrix.real_cols:
            shift = (matrix.real_cols - cols) // max(1, count - 1)
            pitch = some.step * row_bytes + shift * item
            costs = stream.fetch_rows(matrix.pointer, pitch, (count, cols), matrix.dtype)
            limit = _find_large(costs, matrix.maximize, None if prices is None else prices[some], matrix.rows)
    return limit


def _sampled(rows: int, most_step: int) -> slice:
    """Rows of a sample, evenly spread unless the step is limited."""
    count = min(_SAMPLED_ROWS, rows)
    step = max(1, min(rows // count, most_step))
    return slice(0, count * step, step)


def _find_large(costs: NDArray[Any], maximize: bool, prices: NDArray[Any] | None, pairs: int) -> float:
    """The costs above a gap that leaves every row a cost or a price below it."""
    costs = _in_core_dtype(costs)
    prices = None if prices is None else np.ascontiguousarray(prices)
    while True:
        large = _core.find_large_costs(costs, maximize, prices, len(costs), pairs)
        if large is None:
            return math.inf
        above = large[0]
        if _leaves_every_row_a_cost(costs, above, maximize, prices):
            return above
        # A few costs next to zero, which others are far above: look for a gap among those.
        costs = np.where(costs >= -above if maximize else costs <= above, 0, costs)
        prices = None if prices is None else np.where(prices <= above, 0.0, prices)


def _leaves_every_row_a_cost(costs: NDArray[Any], above: float, maximize: bool, prices: NDArray[Any] | None) -> bool:
    """Or a price, without those above a limit."""
    least = -costs.max(axis=1) if maximize else costs.min(axis=1)
    return bool((least if prices is None else np.minimum(least, prices)).max() <= above)


def _in_core_dtype(costs: NDArray[Any]) -> NDArray[Any]:
    return costs.astype(np.float32) if costs.dtype == np.float16 else costs


def without_large(context: Context, cost: GpuArray, above: float, maximize: bool) -> GpuArray:
    """A copy of a matrix in which the large costs are forbidden."""
    copy = empty_array(context, cost.shape, cost.dtype, cost)
    forbid = kernels(context, CORE_START, CORE_START.of_cost(cost.dtype))["forbid_large"]
    rows, cols = cost.shape
    blocks = min(rows, 64 * context.info.processors)
    most = -above if maximize else above
    forbid.launch(context, blocks, _THREADS, cost.pointer, *cost.strides, rows, cols, int(maximize), most, copy.pointer)
    return copy
