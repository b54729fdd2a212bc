"""Batches whose costs are on the host: copied to a GPU, solved there, and the answer copied back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import BatchOnGpu, batch_of, solve_any
from lapwing.gpu.kinds.choose import ordinal_of
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.problem import Stack
from lapwing.tensors import like


def solve_host_stack(
    stack: Stack, device: str, template: Any, *, duals: bool, certify: bool, check: bool, partial: bool
) -> BatchOnGpu:
    """The answer to a stack without prices of columns, in NumPy's arrays, or in tensors where `template` is one.

    Raises
    ------
    ArgumentError
        If there is no such device.
    InfeasibleError, InvalidCostError, RangeError
        With `check`, as `gpu.batch.solve_batch`.
    GpuError
        If the costs do not fit the GPU's memory, or there is no compiler.
    """
    given = stack.maximize, stack.unmatched_cost, stack.row_counts, stack.col_counts
    options = BatchOptions(*given, duals, certify, check, "partial" if partial else "raise")
    with shared_context(ordinal_of(device), 0) as context:
        costs = _sent(context, stack.costs)
        answer = solve_any(context, costs, options)
        arrays = [None if array is None else like(_read(context, array), template) for array in answer.arrays]
        return batch_of(arrays, costs.shape[2])


def _sent(context: Context, values: NDArray[Any]) -> GpuArray:
    array = empty_array(context, values.shape, values.dtype.name)
    write(context, array.pointer, np.ascontiguousarray(values))
    return array


def _read(context: Context, array: GpuArray) -> NDArray[Any]:
    return read(context, array.pointer, math.prod(array.shape), array.dtype).reshape(array.shape)
