"""The last step of a solve of costs on a GPU: the arrays of its answer become the user's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import Answer, inverse
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.copies import begin_write, read
from lapwing.gpu.runtime.device import Context


def given_back(answer: Answer, context: Context, template: GpuArray | None, cols: int) -> Answer:
    """An answer in the library of the costs.

    Parameters
    ----------
    answer : Answer
        With arrays on the GPU, or NumPy's where the CPU had the last word; it is changed.
    context : Context
        Entered, and of the costs.
    template : GpuArray or None
        An array of the library. None: NumPy's arrays are wanted.
    cols : int
        Number of columns.
    """
    if template is not None and answer.col_to_row is None:
        answer.col_to_row = inverse(answer.row_to_col, cols)
    given = {name: _contiguous(getattr(answer, name)) for name in ("row_to_col", "col_to_row", "u", "v")}
    for name, array in given.items():
        if template is None:
            setattr(answer, name, None if array is None else host_array(context, array))
        else:
            view = gpu_array(context, array, template)
            setattr(answer, name, view.library.handed_over(context, view))
    if template is not None and any(isinstance(array, np.ndarray) for array in given.values()):
        context.synchronize()  # they are on their way
    return answer


def gpu_array(context: Context, array: GpuArray | NDArray[Any], template: GpuArray | None) -> GpuArray:
    """An array of an answer in GPU memory, wherever it is; it is contiguous, and stays until the stream is done."""
    if isinstance(array, GpuArray):
        return array
    view = empty_array(context, array.shape, array.dtype.name, template)
    begin_write(context, view.pointer, array)
    return view


def host_array(context: Context, array: GpuArray | NDArray[Any]) -> NDArray[Any]:
    """An array of an answer on the host, wherever it is."""
    if isinstance(array, np.ndarray):
        return array
    return read(context, array.pointer, math.prod(array.shape), array.dtype)


def _contiguous(array: Any) -> Any:
    return np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array
