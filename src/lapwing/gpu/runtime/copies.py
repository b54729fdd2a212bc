"""Copies between host and GPU, in the order of a context's stream or on a stream of their own."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.device import Context, checked

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: in no order with the default stream
_HOST_MEMORY, _DEVICE_MEMORY = 1, 2  # CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
MOST_PITCH = 2**31 - 1  # bytes from row to row that the driver copies at once
_PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE: pinned for every GPU


def read(context: Context, pointer: int, count: int, dtype: str) -> NDArray[Any]:
    """`count` items of GPU memory as a NumPy array, after all work that was launched; bfloat16 comes as float32."""
    host = np.empty(count, host_dtype(dtype))
    if count:
        fetch(context, pointer, host)
        context.synchronize()
    return widened(host, dtype)


def host_dtype(dtype: str) -> str:
    """In which NumPy holds the bits of numbers of a GPU: it lacks bfloat16."""
    return "uint16" if dtype == "bfloat16" else dtype


def widened(host: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The numbers whose bits an array of `host_dtype` holds: of bfloat16 as float32."""
    return (host.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else host


def narrowed(numbers: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The bits of numbers in a type, for which `widened` goes back; what bfloat16 cannot hold is cut off."""
    if dtype == "bfloat16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(dtype)


def read_array(array: GpuArray) -> NDArray[Any]:
    """An array of any strides as NumPy's, after the work on its stream."""
    item = ITEM_BYTES[array.dtype]
    ends = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    before = -sum(min(end, 0) for end in ends)
    count = before + sum(max(end, 0) for end in ends) + 1 if math.prod(array.shape) else 0
    with Context(array.ordinal, array.stream) as context:
        memory = read(context, array.pointer - before * item, count, array.dtype)
    strides = [stride * memory.itemsize for stride in array.strides]
    return np.lib.stride_tricks.as_strided(memory[before:], array.shape, strides, writeable=False)


def fetch(context: Context, pointer: int, host: NDArray[Any]) -> None:
    """Copy GPU memory to a contiguous array, after all work that was launched; it is there when the stream is done.

    Nothing waits if the array is pinned.
    """
    checked(toolkit.driver().cuMemcpyDtoHAsync(host.ctypes.data, pointer, host.nbytes, context.stream.handle))


def pinned(size: int) -> NDArray[np.uint8]:
    """Host memory that GPUs read and write by themselves; never freed, so its owner keeps it for the next solve."""
    address = int(checked(toolkit.driver().cuMemHostAlloc(size, _PORTABLE)))
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


class Mail(NamedTuple):
    """Pinned memory of the host, which kernels write themselves: a copy of a few words would take the GPU 8 us."""

    address: int
    memory: NDArray[np.uint8]

    @staticmethod
    def of(memory: NDArray[np.uint8]) -> Mail:
        """Memory of `pinned`."""
        return Mail(memory.ctypes.data, memory)

    def part(self, first: int, size: int) -> Mail:
        """Some of its bytes."""
        return Mail(self.address + first, self.memory[first : first + size])


def write(context: Context, pointer: int, values: NDArray[Any]) -> None:
    """Fill GPU memory with a contiguous NumPy array, which may be changed once this returns."""
    if values.nbytes:
        begin_write(context, pointer, values)
        context.synchronize()


def begin_write(context: Context, pointer: int, values: NDArray[Any]) -> None:
    """The same; the array must stay as it is until the stream is done."""
    if values.nbytes:
        driver = toolkit.driver()
        checked(driver.cuMemcpyHtoDAsync(pointer, values.ctypes.data, values.nbytes, context.stream.handle))


def copy_bytes(context: Context, to: int, source: int, size: int) -> None:
    """Copy within GPU memory, in the order of the stream."""
    if size:
        checked(toolkit.driver().cuMemcpyDtoDAsync(to, source, size, context.stream.handle))


def fill_bytes(context: Context, pointer: int, byte: int, size: int) -> None:
    """Set bytes of GPU memory, in the order of the stream."""
    if size:
        checked(toolkit.driver().cuMemsetD8Async(pointer, byte, size, context.stream.handle))


class OwnStream:
    """A stream beside the caller's, for copies in no order with its work; made inside ``with context``."""

    def __init__(self) -> None:
        self.handle: Any = checked(toolkit.driver().cuStreamCreate(_NON_BLOCKING))

    def send(self, pointer: int, values: NDArray[Any]) -> None:
        """Begin to copy a contiguous array to the GPU; it must stay as it is until `synchronize`."""
        checked(toolkit.driver().cuMemcpyHtoDAsync(pointer, values.ctypes.data, values.nbytes, self.handle))

    def send_rows(self, pointer: int, pitch: int, values: NDArray[Any]) -> None:
        """The same with the rows of a matrix, each `pitch` bytes (at most `MOST_PITCH`) behind the one before."""
        driver = toolkit.driver()
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType, copy.dstMemoryType = driver.CUmemorytype(_HOST_MEMORY), driver.CUmemorytype(_DEVICE_MEMORY)
        copy.srcHost, copy.srcPitch = values.ctypes.data, values.strides[0]
        copy.dstDevice, copy.dstPitch = pointer, pitch
        copy.Height, copy.WidthInBytes = values.shape[0], values.shape[1] * values.itemsize
        checked(driver.cuMemcpy2DAsync(copy, self.handle))

    def begin_fetch(self, host: NDArray[Any], pointer: int) -> None:
        """Begin to copy GPU memory to a contiguous array; it is filled after `synchronize`."""
        checked(toolkit.driver().cuMemcpyDtoHAsync(host.ctypes.data, pointer, host.nbytes, self.handle))

    def fetch(self, pointer: int, size: int) -> bytes:
        """Bytes of GPU memory, now."""
        host = np.empty(size, np.uint8)
        self.begin_fetch(host, pointer)
        self.synchronize()
        return host.tobytes()

    def fetch_rows(self, pointer: int, pitch: int, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
        """Rows of GPU memory, `pitch` bytes from each to the next (at most `MOST_PITCH`), now; as `read` gives them."""
        host = np.empty(shape, host_dtype(dtype))
        self.begin_rows(host, pointer, pitch)
        self.synchronize()
        return widened(host, dtype)

    def begin_rows(self, host: NDArray[Any], pointer: int, pitch: int) -> None:
        """Begin to copy rows of GPU memory to those of a contiguous array; it is filled after `synchronize`."""
        driver = toolkit.driver()
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType, copy.dstMemoryType = driver.CUmemorytype(_DEVICE_MEMORY), driver.CUmemorytype(_HOST_MEMORY)
        copy.srcDevice, copy.srcPitch = pointer, pitch
        copy.dstHost, copy.dstPitch = host.ctypes.data, host.strides[0]
        copy.Height, copy.WidthInBytes = host.shape[0], host.strides[0]
        checked(driver.cuMemcpy2DAsync(copy, self.handle))

    def synchronize(self) -> None:
        """Wait until what was begun is done."""
        checked(toolkit.driver().cuStreamSynchronize(self.handle))
