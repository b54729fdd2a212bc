"""Where GPU tests run: on a GPU, on the processor under the CUDA emulator, or only as far as the compiler."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import sys
from dataclasses import dataclass, field
from typing import Any

import emulated_toolkit
import numpy as np
import pytest

from lapwing.gpu.arrays import ANY, GpuArray, empty_array
from lapwing.gpu.copies import read, write
from lapwing.gpu.device import Context


@pytest.fixture
def compiler():
    """NVRTC, which needs no GPU."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        pytest.skip("cuda-core is not installed: pip install 'lapwing[cuda13]'")


@pytest.fixture
def emulated_gpu(monkeypatch):
    """A context of the emulated GPU, entered; kernels run on the processor, small problems only."""
    if emulated_toolkit.COMPILER is None or sys.platform != "linux":
        pytest.skip("the CUDA emulator needs Linux and a C++ compiler")
    emulated_toolkit.install(monkeypatch)
    with Context() as context:
        yield context
    assert not emulated_toolkit.DRIVER.contexts, "a context was left current"


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def real_gpu(monkeypatch, kernel_folder):
    """A context of the first GPU, entered; compiled kernels stay out of the user's cache."""
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(kernel_folder))
    with Context() as context:
        yield context


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


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """Every test that takes this runs on the emulated GPU, and on a real one where there is one."""
    return Gpu(request.getfixturevalue(f"{request.param}_gpu"))
