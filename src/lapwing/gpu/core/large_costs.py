"""Costs far above all others, on a GPU: seen in some rows, and forbidden in a copy of the matrix.

cpp/include/lapwing/reductions/large_costs.hpp says which costs are large, and why an optimum without them is one
with them, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing import _core
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START

_SAMPLED_ROWS = 16
_THREADS = CORE_START.constants["THREADS"]


def find_large(solve: CoreSolve, prices: Any) -> float | None:
    """The limit above which costs, as minimised, are large, by a look at some rows; None if there is no such limit.

    Parameters
    ----------
    solve : CoreSolve
        Of a matrix of floats on the GPU.
    prices : (rows,) float64 or None
        Unmatched costs, as minimised.
    """
    matrix = solve.matrix
    count = min(_SAMPLED_ROWS, matrix.rows)
    rows = [t * matrix.rows // count for t in range(count)]
    costs = np.stack([solve.read_row(i) for i in rows])
    costs = costs.astype(np.float32) if costs.dtype == np.float16 else costs
    of_rows = None if prices is None else np.ascontiguousarray(prices[rows])
    large = _core.find_large_costs(costs, matrix.maximize, of_rows, count, matrix.rows)
    return None if large is None else large[0]


def without_large(context: Context, cost: GpuArray, above: float, maximize: bool) -> GpuArray:
    """A copy of a matrix in which the large costs are forbidden."""
    copy = empty_array(context, cost.shape, cost.dtype, cost)
    forbid = kernels(context, CORE_START, CORE_START.of_cost(cost.dtype))["forbid_large"]
    rows, cols = cost.shape
    blocks = min(rows, 64 * context.info.processors)
    most = -above if maximize else above
    forbid.launch(context, blocks, _THREADS, cost.pointer, *cost.strides, rows, cols, int(maximize), most, copy.pointer)
    return copy
