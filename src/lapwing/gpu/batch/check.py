"""Problems of a batch that the GPU leaves open: the CPU solves them without rounding, or raises their error.

A kernel refuses float costs whose sums might overflow, and marks answers as doubtful whose prices are large beside the
objective (a large number in place of infinity). ``check=True`` waits and passes these to the exact solve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.answer import Answer
from lapwing.certificate import Certificate
from lapwing.cpu.backend import solve_as_asked
from lapwing.cpu.batch import PARTIAL
from lapwing.errors import ArgumentError, InternalError, LapwingError
from lapwing.gpu.batch.inputs import BatchOptions, BatchRequest, Prices
from lapwing.gpu.batch.launch import BatchArrays
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import Context
from lapwing.plan import make_plan

# The values of `status` (kernels/batch/batch.cuh), and its place among the arrays of an answer.
SOLVED, INFEASIBLE, INVALID_COST, TOO_LARGE, BAD_COUNTS, DOUBTFUL = range(6)
STATUS = 2


def settle(context: Context, request: BatchRequest, answer: BatchArrays, options: BatchOptions) -> None:
    """Wait for the answers, solve what is open, and raise for the first problem without an answer.

    Without `check` nothing is raised, and only what ``infeasible="partial"`` asks for is solved.

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
        With a note that gives the problem's index.
    ArgumentError
        For counts beyond the array.
    """
    codes = read(context, answer.pointers[STATUS], request.costs.shape[0], "int32")
    for b in np.flatnonzero(codes).tolist():
        if not options.check and codes[b] != INFEASIBLE:
            continue
        try:
            solved, proof = _solved(context, request, b, int(codes[b]), options.is_partial)
        except LapwingError as error:
            error.add_note(f"in problem {b} of the batch")
            raise
        if codes[b] not in (TOO_LARGE, DOUBTFUL) and solved.status != "partial":
            raise InternalError(
                f"problem {b} of the batch was refused on the GPU, with status {codes[b]}, but solves on the CPU"
            )
        _put(context, request, answer, b, solved, proof)


def _solved(context: Context, request: BatchRequest, b: int, code: int, partial: bool) -> tuple[Answer, Certificate]:
    """Problem b on the CPU, proven."""
    rows, cols = request.costs.shape[1:]
    rows = _count(context, request.row_counts, b, rows)
    cols = _count(context, request.col_counts, b, cols)
    if code == BAD_COUNTS:
        raise ArgumentError(
            f"problem {b} is {rows} x {cols} by its counts, but costs has problems of {request.costs.shape[1]} x "
            f"{request.costs.shape[2]}; counts are from 0 to that"
        )
    prices = None if request.prices is None else host_prices(context, request.prices, b, rows)
    matrix = _host_matrix(context, request.costs, b)[:rows, :cols]
    problem = inputs.make_problem(matrix, request.maximize, prices)
    solved, proof = solve_as_asked(problem, make_plan(problem.form), certify=True, partial=partial)
    assert proof is not None
    return solved, proof


def _put(
    context: Context, request: BatchRequest, answer: BatchArrays, b: int, solved: Answer, proof: Certificate
) -> None:
    """Write an answer in the place of problem b's; lines beyond its counts are -1 and 0."""
    rows, cols = request.costs.shape[1:]
    row_to_col, objective, status, u, v, *proofs = answer.pointers
    dual = request.form.dual_dtype
    parts: list[tuple[int, Any, int, int, str]] = [  # address, values, length, what is beyond them, dtype
        (row_to_col, solved.row_to_col, rows, -1, "int64"),
        (u, solved.u, rows, 0, dual),
        (v, solved.v, cols, 0, dual),
        (objective, [proof.primal], 1, 0, dual),
        (status, [PARTIAL if solved.status == "partial" else SOLVED], 1, 0, "int32"),
    ]
    if proofs:
        violation, gap, fault = proofs
        parts += [
            (violation, [proof.violation], 1, 0, dual),
            (gap, [proof.gap], 1, 0, dual),
            (fault, [0], 1, 0, "int32"),
        ]
    for pointer, values, length, beyond, dtype in parts:
        if pointer and length:
            line = np.full(length, beyond, dtype)
            line[: len(values)] = values
            write(context, pointer + b * line.nbytes, line)


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
