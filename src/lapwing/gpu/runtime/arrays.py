"""Arrays on a GPU, whatever library they are of: viewed in place, and made anew in the same library.

PyTorch, CuPy and JAX are asked in their own words, and only if they are loaded already, as they are when an array is
theirs; any other array speaks through DLPack or `__cuda_array_interface__`. Work on an array belongs on the stream on
which its library has work in order: the current stream of PyTorch or CuPy, the stream that the interface names, else
the default stream, which DLPack makes wait for the producer (JAX).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lapwing.errors import ArgumentError, DtypeError, GpuError
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.device import LEGACY_STREAM, Context
from lapwing.gpu.runtime.programs import FLOATS, INTEGERS

ITEM_BYTES = {name: 2 if name == "bfloat16" else np.dtype(name).itemsize for name in FLOATS + INTEGERS}

_CUDA = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged


@dataclass(eq=False, slots=True)  # not frozen, which would take five times as long to make
class GpuArray:
    """An immutable strided view of an array in a GPU's memory.

    Attributes
    ----------
    owner : object
        The array as its library knows it; keeps the memory alive.
    pointer : int
        Of element (0, 0, ...).
    shape, strides : tuple of int
        Strides count elements, and may be 0 or negative.
    dtype : str
        NumPy's name, or "bfloat16"; bool is "uint8".
    ordinal : int
        The GPU, as the driver counts.
    stream : int
        Handle of the stream on which the array is ready and its users belong.
    library : Library
    """

    owner: Any
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    ordinal: int
    stream: int
    library: Library

    @property
    def nbytes(self) -> int:
        """Of its elements, each counted once per place."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]

    @property
    def is_contiguous(self) -> bool:
        """Whether elements lie in C order, without gaps."""
        return self.strides == row_major(self.shape)


class Library(Protocol):
    """How arrays of one library are read, made and handed over."""

    def is_on_gpu(self, array: Any) -> bool: ...

    def view(self, array: Any) -> GpuArray: ...

    def empty(self, context: Context, shape: tuple[int, ...], dtype: str) -> GpuArray:
        """An array without values, contiguous, on the context's GPU and in the order of its stream."""
        ...

    def handed_over(self, context: Context, array: GpuArray) -> Any:
        """The user's array for one of `empty` that work on the context's stream has filled or will fill."""
        ...

    def kept_bytes(self, ordinal: int) -> int:
        """Memory of a GPU that the library keeps for arrays to come."""
        ...


def is_gpu_array(array: Any) -> bool:
    """Whether `array` lives in a GPU's memory; imports nothing."""
    return _library(array).is_on_gpu(array)


def view_array(array: Any) -> GpuArray:
    """View an array for which `is_gpu_array` holds.

    Raises
    ------
    DtypeError
        If its dtype is not one that Lapwing solves on a GPU.
    ArgumentError
        If it cannot be viewed, such as one that is spread over several GPUs.
    GpuError
        If cuda-core is missing.
    """
    return _library(array).view(array)


def view_if_on_gpu(array: Any) -> GpuArray | None:
    """`view_array` of an array that may be anywhere; None for what is on the host."""
    library = _library(array)
    return library.view(array) if library.is_on_gpu(array) else None


def empty_array(
    context: Context, shape: tuple[int, ...], dtype: str, array_template: GpuArray | None = None
) -> GpuArray:
    """An array of `array_template`'s library, or memory of the driver's pool, in the order of the context's stream.

    Raises
    ------
    GpuError
        If there is not so much memory.
    """
    try:
        return (ANY if array_template is None else array_template.library).empty(context, shape, dtype)
    except (RuntimeError, MemoryError) as error:  # as libraries call it
        raise _no_memory(context, math.prod(shape) * ITEM_BYTES[dtype], error) from error


def _no_memory(context: Context, size: int, error: Exception) -> GpuError:
    why = str(error).partition("\n")[0]
    return GpuError(
        f"GPU {context.info.ordinal} gives no {size} bytes ({why}): free some memory, or solve on the CPU with "
        "device='cpu'"
    )


Empty = tuple[tuple[int, ...], tuple[int, ...], str]  # an array to be made: its shape, strides, dtype


def empty_arrays(context: Context, wanted: tuple[Empty, ...], array_template: GpuArray) -> tuple[list[Any], list[int]]:
    """Contiguous arrays of a template's library and their addresses: tensors of PyTorch, or views to be handed over.

    Raises
    ------
    GpuError
        If there is not so much memory.
    """
    if array_template.library is TORCH:
        try:
            tensors = TORCH.empty_tensors(array_template.ordinal, wanted)
        except RuntimeError as error:
            raise _no_memory(
                context, sum(math.prod(shape) * ITEM_BYTES[dtype] for shape, _, dtype in wanted), error
            ) from error
        return tensors, [tensor.data_ptr() for tensor in tensors]
    views = [empty_array(context, shape, dtype, array_template) for shape, _, dtype in wanted]
    return list(views), [view.pointer for view in views]


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _dtype_name(name: str) -> str:
    if name == "bool":
        return "uint8"
    if name in ITEM_BYTES:
        return name
    remedy = "cast it to int64 if its values allow it" if name == "uint64" else "cast it to float32 or float64"
    raise DtypeError(f"cost has dtype {name}, which is not solved on a GPU: {remedy}")


class Torch:
    """PyTorch."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}  # by PyTorch's dtype
        self._dtypes: dict[str, Any] = {}
        self._allocator: Any = None
        self._current_device: Any = None
        self._strided: Any = None  # PyTorch's layout
        self._stream_of: Any = None

    def is_on_gpu(self, tensor: Any) -> bool:
        return bool(tensor.is_cuda)

    def view(self, tensor: Any) -> GpuArray:
        if self._stream_of is None:
            torch = sys.modules["torch"]
            self._strided = torch.strided
            self._stream_of = torch._C._cuda_getCurrentRawStream  # as its own compiled code does
        if tensor.layout is not self._strided:
            raise ArgumentError(f"cost is a {tensor.layout} tensor on a GPU; pass cost.to_dense()")
        ordinal = tensor.get_device()
        name = self._names.get(tensor.dtype)
        if name is None:
            name = self._names[tensor.dtype] = _dtype_name(str(tensor.dtype).removeprefix("torch."))
        return GpuArray(
            tensor,
            tensor.data_ptr(),
            tuple(tensor.shape),
            tensor.stride(),
            name,
            ordinal,
            self._stream_of(ordinal),
            self,
        )

    def empty(self, context: Context, shape: tuple[int, ...], dtype: str) -> GpuArray:
        ordinal, strides = context.info.ordinal, row_major(shape)
        (tensor,) = self.empty_tensors(ordinal, ((shape, strides, dtype),))
        return GpuArray(tensor, tensor.data_ptr(), shape, strides, dtype, ordinal, context.stream_handle, self)

    def empty_tensors(self, ordinal: int, wanted: tuple[Empty, ...]) -> list[Any]:
        """Tensors on a GPU, by the call that PyTorch's own compiled code makes, where it is there."""
        torch, dtypes = sys.modules["torch"], self._dtypes
        if not dtypes:
            guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
            self._current_device = getattr(torch._C, "_cuda_getDevice", lambda: -1)
            self._allocator = getattr(guards, "_empty_strided_cuda", None)
            dtypes.update({name: getattr(torch, name) for name in ITEM_BYTES})
        empty = self._allocator  # on the current GPU
        if empty is not None and self._current_device() == ordinal:
            return [empty(shape, strides, dtypes[dtype]) for shape, strides, dtype in wanted]
        device = torch.device("cuda", ordinal)
        return [torch.empty(shape, dtype=dtypes[dtype], device=device) for shape, _, dtype in wanted]

    def handed_over(self, context: Context, array: GpuArray) -> Any:
        return array.owner

    def kept_bytes(self, ordinal: int) -> int:
        cuda = sys.modules["torch"].cuda
        return int(cuda.memory_reserved(ordinal) - cuda.memory_allocated(ordinal))


class Cupy:
    """CuPy."""

    def is_on_gpu(self, array: Any) -> bool:
        return True

    def view(self, array: Any) -> GpuArray:
        ordinal = array.device.id
        itemsize = array.itemsize
        return GpuArray(
            array,
            array.data.ptr,
            array.shape,
            tuple(stride // itemsize for stride in array.strides),
            _dtype_name(array.dtype.name),
            ordinal,
            sys.modules["cupy"].cuda.get_current_stream(ordinal).ptr,
            self,
        )

    def empty(self, context: Context, shape: tuple[int, ...], dtype: str) -> GpuArray:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(context.info.ordinal):
            return self.view(cupy.empty(shape, dtype=dtype))

    def handed_over(self, context: Context, array: GpuArray) -> Any:
        return array.owner

    def kept_bytes(self, ordinal: int) -> int:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(ordinal):
            return int(cupy.get_default_memory_pool().free_bytes())


class AnyArray:
    """DLPack or `__cuda_array_interface__`; new memory comes from the driver's stream-ordered pool."""

    def is_on_gpu(self, array: Any) -> bool:
        if hasattr(array, "__dlpack_device__"):
            try:
                return int(array.__dlpack_device__()[0]) in _CUDA
            except (BufferError, IndexError, RuntimeError, TypeError, ValueError):  # refused where it is read
                return False
        return hasattr(array, "__cuda_array_interface__")

    def view(self, array: Any) -> GpuArray:
        interface = getattr(array, "__cuda_array_interface__", None)
        stream = (interface.get("stream") if isinstance(interface, dict) else None) or LEGACY_STREAM
        try:
            view = toolkit.core().utils.StridedMemoryView.from_any_interface(array, stream_ptr=stream)
            dtype = view.dtype.name
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise ArgumentError(
                f"cost of type {type(array).__name__} cannot be viewed ({error}); copy it to one GPU, or to the host"
            ) from error
        shape = tuple(view.shape)
        strides = row_major(shape) if view.strides is None else tuple(view.strides)
        return GpuArray(view, view.ptr, shape, strides, _dtype_name(dtype), view.device_id, stream, self)

    def empty(self, context: Context, shape: tuple[int, ...], dtype: str) -> GpuArray:
        buffer = context.pool.allocate(max(math.prod(shape) * ITEM_BYTES[dtype], 1), stream=context.stream)
        return GpuArray(
            buffer,
            int(buffer.handle),
            shape,
            row_major(shape),
            dtype,
            context.info.ordinal,
            context.stream_handle,
            self,
        )

    def handed_over(self, context: Context, array: GpuArray) -> Any:
        view = toolkit.core().utils.StridedMemoryView.from_buffer(array.owner, array.shape, dtype=np.dtype(array.dtype))
        return Exported(view, context)

    def kept_bytes(self, ordinal: int) -> int:
        return 0  # the driver's pool, which Context.free_bytes counts


class Jax(AnyArray):
    """JAX: arrays come and go through DLPack."""

    def is_on_gpu(self, array: Any) -> bool:
        return any(device.platform in ("gpu", "cuda") for device in array.devices())

    def handed_over(self, context: Context, array: GpuArray) -> Any:
        return sys.modules["jax"].dlpack.from_dlpack(super().handed_over(context, array))


class Exported:
    """Memory that another library may take over with its `from_dlpack`, ordered after the work on a stream."""

    def __init__(self, view: Any, context: Context) -> None:
        self._view = view
        self._context = context

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._view.__dlpack_device__()
        return device

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        """As DLPack asks: the consumer's stream waits for ours, unless it is -1."""
        if stream != -1:
            with self._context:
                self._context.order_before(stream or LEGACY_STREAM)
        return self._view.__dlpack__(**options)


TORCH, CUPY, JAX, ANY = Torch(), Cupy(), Jax(), AnyArray()


_of_type: dict[type, Library] = {}


def _library(array: Any) -> Library:
    """The library of an array, among those that are loaded; `ANY` for any other."""
    found = _of_type.get(type(array))
    if found is None:
        found = _of_type[type(array)] = _find_library(array)
    return found


def _find_library(array: Any) -> Library:
    for name, kind, library in (("torch", "Tensor", TORCH), ("cupy", "ndarray", CUPY), ("jax", "Array", JAX)):
        module = sys.modules.get(name)
        if module is not None and isinstance(array, getattr(module, kind)):
            return library
    return ANY
