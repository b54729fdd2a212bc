"""Costs far above all others, on a GPU: seen in some rows, and forbidden in a copy of the matrix.

cpp/include/lapwing/reductions/large_costs.hpp says which costs are large, and why an optimum without them is one
with them, too. A solve with them takes several times as long and proves nothing, so the host looks at a sample before
the solve, or while the first kernel runs: first at a few thousand costs (`Glance`), and if these do not decide at all
costs of some rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import MOST_PITCH, OwnStream, host_dtype, widened
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START

#: Elements of a matrix that a CPU solves in no more time than a GPU (benchmarks/results/gpu_crossover.json).
SMALL = 1 << 18
_SAMPLED_ROWS = 16
_GLANCED_COLS = 256  # of a sampled row
_THREADS = CORE_START.constants["THREADS"]


class Glance:
    """A look at pieces of some rows of a matrix on a GPU; they are copied while the caller launches kernels.

    The pieces move to the right from row to row in the upper half of the matrix, and to the left in the lower half.

    Parameters
    ----------
    matrix : CanonicalMatrix
    stream : OwnStream
        Which waits for the matrix, if that is still to be written.
    memory : uint8 array
        Pinned, 64 KiB.
    """

    def __init__(self, matrix: CanonicalMatrix, stream: OwnStream, memory: NDArray[np.uint8]) -> None:
        self._matrix, self._stream = matrix, stream
        item, cols = ITEM_BYTES[matrix.dtype], min(matrix.real_cols, _GLANCED_COLS)
        row_bytes = matrix.row_stride * item
        self._rows = _sampled(matrix.rows, MOST_PITCH // row_bytes - 1)
        count = len(range(matrix.rows)[self._rows])
        self._costs = memory[: count * cols * item].view(host_dtype(matrix.dtype)).reshape(count, cols)
        upper = count // 2
        room, step = matrix.real_cols - cols, self._rows.step
        shift = room // max(1, count - upper - 1) * item
        if upper:
            stream.begin_rows(self._costs[:upper], matrix.pointer, step * row_bytes + shift)
        lower = matrix.pointer + upper * step * row_bytes + room * item
        stream.begin_rows(self._costs[upper:], lower, step * row_bytes - shift)

    def limit(self, prices: NDArray[Any] | None) -> float | None:
        """The limit above which costs, as minimised, are large; infinite if none is seen, None if that is not clear."""
        matrix = self._matrix
        self._stream.synchronize()
        costs = _in_core_dtype(widened(self._costs, matrix.dtype))
        prices = None if prices is None else np.ascontiguousarray(prices[self._rows])
        # Without prices as one row: a piece may show nothing but large costs.
        seen = costs.reshape(1, -1) if prices is None else costs
        large = _core.find_large_costs(seen, matrix.maximize, prices, len(seen), matrix.rows)
        if large is None:
            return math.inf
        return large[0] if _leaves_every_row_a_cost(costs, large[0], matrix.maximize, prices) else None


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
