"""Batches in memory that belongs to somebody else's program, such as one that XLA runs for JAX.

Costs and answer are buffers, objects with `__cuda_array_interface__`; the work is on the stream that the program names.
"""

from __future__ import annotations

import math
from typing import Any

from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import solve_any
from lapwing.gpu.runtime.arrays import view_array
from lapwing.gpu.runtime.copies import copy_bytes
from lapwing.gpu.runtime.device import shared_context
from lapwing.gpu.runtime.programs import INTEGERS


def solve_into(program: Any, answer: tuple[Any, Any, Any], costs: Any, prices: tuple[Any, ...], maximize: bool) -> None:
    """Solve a batch and write row_to_col, objective and status.

    Parameters
    ----------
    program : object
        Its `stream` is the handle of a stream: JAX's `ExecutionContext`.
    answer : three contiguous buffers of (B, m) int64, (B,) float64 or int64, (B,) int32, or of as many bytes
    costs : contiguous buffer (..., m, n)
        All axes but the last two count the B problems.
    prices : up to two contiguous buffers, (..., m, 2) and (..., n, 2) of the words of float64 or int64
        At which rows and columns may stay free; with those of columns the host waits.
    maximize : bool

    Raises
    ------
    DtypeError, GpuError
    """
    stream = program.stream
    stack = view_array(_OnStream(costs, stream, 2))
    options = BatchOptions(maximize)
    if prices:
        dtype = "<i8" if stack.dtype in INTEGERS else "<f8"
        given = tuple(view_array(_OnStream(each, stream, 1, dtype)) for each in prices)
        options.unmatched_cost = given if len(given) == 2 else given[0]
    with shared_context(stack.ordinal, stream) as context:
        solved = solve_any(context, stack, options)
        for buffer, array in zip(answer, solved.arrays[:3], strict=True):
            copy_bytes(context, buffer.__cuda_array_interface__["data"][0], array.pointer, array.nbytes)


class _OnStream:
    """A buffer that is ready on a stream, with one axis before its last `axes`; its words as numbers of a `dtype`."""

    def __init__(self, buffer: Any, stream: int, axes: int, dtype: str | None = None) -> None:
        interface = dict(buffer.__cuda_array_interface__)
        shape = tuple(interface["shape"])
        if dtype is not None:
            interface["typestr"], shape = dtype, shape[:-1]
        interface |= {"shape": (math.prod(shape[:-axes]), *shape[-axes:]), "strides": None}
        interface |= {"stream": stream, "version": 3}  # the first that knows streams; JAX may say 2
        self.__cuda_array_interface__ = interface
