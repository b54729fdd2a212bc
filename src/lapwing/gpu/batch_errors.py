"""Why a problem of a batch on a GPU has no answer: the CPU solves it again, and words the error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.errors import ArgumentError, InternalError, LapwingError
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.batch_inputs import BatchRequest, Prices
from lapwing.gpu.copies import read
from lapwing.gpu.device import Context
from lapwing.methods import METHODS, run
from lapwing.plan import make_plan

# What `status` holds (kernels/batch.cuh).
SOLVED, INFEASIBLE, INVALID_COST, TOO_LARGE, BAD_COUNTS = range(5)


def raise_for_first(context: Context, request: BatchRequest, status: int) -> None:
    """Wait for the status, which is at this address, and raise for the first problem without an answer.

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
        With a note that says which problem.
    ArgumentError
        For counts beyond the array.
    """
    codes = read(context, status, request.costs.shape[0], "int32")
    if not codes.any():
        return
    b = int(np.flatnonzero(codes)[0])
    rows, cols = request.costs.shape[1:]
    rows = _count(context, request.row_counts, b, rows)
    cols = _count(context, request.col_counts, b, cols)
    if codes[b] == BAD_COUNTS:
        raise ArgumentError(
            f"problem {b} is {rows} x {cols} by its counts, but costs has problems of {request.costs.shape[1]} x "
            f"{request.costs.shape[2]}; counts are from 0 to that"
        )
    try:
        prices = None if request.prices is None else host_prices(context, request.prices, b, rows)
        matrix = _host_matrix(context, request.costs, b)[:rows, :cols]
        problem = inputs.make_problem(matrix, request.maximize, prices)
        traits = {name: method.traits for name, method in METHODS.items()}
        plan = make_plan(problem.form, traits, method="auto", threads=1, warm_start=False, processors=1)
        run(problem, plan, None, float("inf"), None)
    except LapwingError as error:
        error.add_note(f"in problem {b} of the batch")
        raise
    raise InternalError(
        f"problem {b} of the batch was refused on the GPU, with status {codes[b]}, but solves on the CPU"
    )


def _count(context: Context, counts: GpuArray | None, b: int, otherwise: int) -> int:
    if counts is None:
        return otherwise
    return int(read(context, counts.pointer + b * ITEM_BYTES[counts.dtype], 1, counts.dtype)[0])


def _host_matrix(context: Context, costs: GpuArray, b: int) -> NDArray[Any]:
    """Problem b, whatever its strides; bfloat16 as float32."""
    return _host_copy(context, costs, costs.pointer + b * costs.strides[0] * ITEM_BYTES[costs.dtype], 1)


def host_prices(context: Context, prices: Prices, b: int, rows: int) -> Any:
    """The prices of problem b, or the one of all its rows."""
    if prices.array is None:
        return prices.scalar
    if not prices.array.shape:
        return read(context, prices.array.pointer, 1, prices.array.dtype)[0]
    if len(prices.array.shape) == 1:
        return _host_copy(context, prices.array, prices.array.pointer, 0)[:rows]
    pointer = prices.array.pointer + b * prices.array.strides[0] * ITEM_BYTES[prices.array.dtype]
    return _host_copy(context, prices.array, pointer, 1)[:rows]


def _host_copy(context: Context, array: GpuArray, pointer: int, skipped: int) -> NDArray[Any]:
    """A copy of the array at `pointer` with the axes after the `skipped` first ones of `array`."""
    shape, strides = array.shape[skipped:], array.strides[skipped:]
    if 0 in shape:
        return np.zeros(shape, np.float32 if array.dtype == "bfloat16" else array.dtype)
    reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    below = sum(min(r, 0) for r in reach)
    span = sum(max(r, 0) for r in reach) - below + 1
    items = read(context, pointer + below * ITEM_BYTES[array.dtype], span, array.dtype)
    steps = [stride * items.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(items[-below:], shape, steps)
