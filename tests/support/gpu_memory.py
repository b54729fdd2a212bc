"""A GPU, real or emulated, and what tests put into its memory."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lapwing.gpu.runtime.arrays import ANY, GpuArray, empty_array
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import Context


@dataclass
class Gpu:
    """A GPU, real or emulated, and what was put into its memory."""

    context: Context
    kept: list[Any] = field(default_factory=list)

    def put(self, array: np.ndarray, dtype: str | None = None) -> GpuArray:
        """A copy with the same strides; dtype "bfloat16" for its bits as uint16."""
        first, last = np.lib.array_utils.byte_bounds(array)
        span = np.frombuffer((ctypes.c_uint8 * (last - first)).from_address(first), np.uint8)
        block = empty_array(self.context, (len(span),), "uint8")
        write(self.context, block.pointer, span)
        self.kept.append(block)
        return GpuArray(
            owner=block,
            pointer=block.pointer + array.ctypes.data - first,
            shape=array.shape,
            strides=tuple(stride // array.itemsize for stride in array.strides),
            dtype=dtype or array.dtype.name,
            ordinal=0,
            stream=self.context.stream_handle,
            library=ANY,
        )

    def get(self, array: GpuArray) -> np.ndarray:
        """The values of a contiguous array, after all work."""
        return read(self.context, array.pointer, math.prod(array.shape), array.dtype).reshape(array.shape)

    def address(self, array: np.ndarray | None) -> int:
        """Of a copy; 0 for None."""
        return 0 if array is None else self.put(array).pointer


class OnGpu:
    """An array on the emulated GPU, of no library."""

    def __init__(self, gpu: Gpu, values: np.ndarray) -> None:
        self.memory = gpu.put(values)
        self.shape = values.shape
        data = (self.memory.pointer, False)
        self.__cuda_array_interface__ = {
            "data": data, "shape": values.shape, "strides": values.strides, "typestr": values.dtype.str, "version": 3
        }  # fmt: skip
