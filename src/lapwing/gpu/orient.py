"""A matrix in any layout as the core method's kernels read it: wide or square, the elements of a row side by side."""

from __future__ import annotations

from dataclasses import dataclass

from lapwing.gpu.arrays import GpuArray, empty_array
from lapwing.gpu.core import Oriented
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import CORE_START

_THREADS = CORE_START.constants["THREADS"]


@dataclass(frozen=True)
class View:
    """The oriented matrix, whether it is the transpose of what was given, and what keeps its memory alive."""

    matrix: Oriented
    transposed: bool
    owner: GpuArray


def orient(context: Context, cost: GpuArray, maximize: bool) -> View:
    """View a matrix of shape (m, n), neither of them 0; copied if what must be contiguous is not."""
    rows, cols = cost.shape
    row_stride, col_stride = cost.strides
    transposed = rows > cols or (rows == cols and row_stride == 1 != col_stride)
    if transposed:
        rows, cols, row_stride, col_stride = cols, rows, col_stride, row_stride
    if col_stride == 1 or cols == 1:
        return View(Oriented(cost.pointer, rows, cols, row_stride, cost.dtype, maximize), transposed, cost)
    copy = empty_array(context, (rows, cols), cost.dtype, cost)
    gather = kernels(context, CORE_START, CORE_START.variant(COST=cost.dtype))["gather"]
    blocks = min(rows, 64 * context.info.processors)
    gather.launch(context, blocks, _THREADS, cost.pointer, row_stride, col_stride, rows, cols, 1, copy.pointer)
    return View(Oriented(copy.pointer, rows, cols, cols, cost.dtype, maximize), transposed, copy)
