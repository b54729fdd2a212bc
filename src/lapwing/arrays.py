"""Arrays in a GPU's memory, recognised without the GPU's modules where an array is plainly on the host.

`lapwing.gpu.runtime.arrays` knows the libraries. It is loaded when an array is first seen that may be on a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

_ON_HOST = (np.ndarray, list, tuple, int, float)


def is_gpu_array(array: Any) -> bool:
    """Whether `array` lives in a GPU's memory."""
    if isinstance(array, _ON_HOST):
        return False
    from lapwing.gpu.runtime import arrays

    return arrays.is_gpu_array(array)


def view_if_on_gpu(array: Any) -> GpuArray | None:
    """A view of an array in a GPU's memory; None for what is on the host."""
    if isinstance(array, _ON_HOST):
        return None
    from lapwing.gpu.runtime import arrays

    return arrays.view_if_on_gpu(array)


def to_host(values: Any) -> Any:
    """Values that may be on a GPU, as NumPy's; anything else as it is."""
    view = None if values is None else view_if_on_gpu(values)
    return values if view is None else read_view(view)


def read_view(view: GpuArray) -> NDArray[Any]:
    """A copy on the host; see `lapwing.gpu.runtime.copies.read_array`."""
    from lapwing.gpu.runtime.copies import read_array

    return read_array(view)
