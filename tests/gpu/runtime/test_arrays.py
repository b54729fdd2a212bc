"""Arrays of every library: viewed in place, made anew in the same library, handed over; and the workspace."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from lapwing.errors import ArgumentError, DtypeError
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import (
    ANY,
    CUPY,
    ITEM_BYTES,
    JAX,
    TORCH,
    Exported,
    empty_array,
    is_gpu_array,
    row_major,
    view_array,
)
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import LEGACY_STREAM
from lapwing.gpu.runtime.workspace import Workspace, workspace_bytes

# --- without any library: stand-ins with the same words ---------------------------------------------------------------


class Tensor:
    """As much of torch.Tensor as is asked for."""

    layout = "strided"

    def __init__(self, shape, strides, dtype, cuda=True, index=1):
        self.shape, self._strides, self.dtype, self.is_cuda = shape, strides, dtype, cuda
        self.device = SimpleNamespace(index=index)

    def stride(self):
        return self._strides

    def get_device(self):
        return self.device.index

    def data_ptr(self):
        return 4096


@pytest.fixture
def torch(monkeypatch):
    made = []

    def empty(shape, dtype, device):
        made.append(device)
        return Tensor(shape, row_major(shape), f"torch.{dtype}", index=int(device.removeprefix("cuda:")))

    module = SimpleNamespace(
        Tensor=Tensor,
        strided="strided",
        empty=empty,
        made=made,
        _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: 100 + ordinal),
        device=lambda kind, ordinal: f"{kind}:{ordinal}",
        **{name: name for name in ITEM_BYTES},
    )
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_torch(torch):
    tensor = Tensor((3, 5), (10, 2), "torch.bfloat16")
    assert is_gpu_array(tensor) and not is_gpu_array(Tensor((1,), (1,), "torch.float32", cuda=False))
    array = view_array(tensor)
    assert (array.shape, array.strides, array.dtype) == ((3, 5), (10, 2), "bfloat16")
    assert (array.pointer, array.ordinal, array.stream, array.library) == (4096, 1, 101, TORCH)
    assert array.owner is tensor and array.nbytes == 30
    context = SimpleNamespace(info=SimpleNamespace(ordinal=1), stream_handle=101)
    made = empty_array(context, (4,), "int64", array)
    assert torch.made == ["cuda:1"] and made.dtype == "int64"
    assert made.library.handed_over(context, made) is made.owner


def test_torch_sparse(torch):
    tensor = Tensor((3, 5), (5, 1), "torch.float32")
    tensor.layout = "torch.sparse_coo"
    with pytest.raises(ArgumentError, match=r"sparse_coo.*to_dense"):
        view_array(tensor)


@pytest.mark.parametrize(
    ("dtype", "words"), [("uint64", "int64"), ("complex64", "float32"), ("float8_e4m3fn", "float32")]
)
def test_dtypes_that_are_refused(torch, dtype, words):
    with pytest.raises(DtypeError, match=rf"{dtype}.*{words}"):
        view_array(Tensor((3, 5), (5, 1), f"torch.{dtype}"))


def test_bool_is_uint8(torch):
    assert view_array(Tensor((3, 5), (5, 1), "torch.bool")).dtype == "uint8"


def test_cupy(monkeypatch):
    class Array:
        shape, strides, itemsize, dtype = (3, 5), (-40, 8), 4, np.dtype(np.float32)
        device, data = SimpleNamespace(id=2), SimpleNamespace(ptr=8192)

    streams = SimpleNamespace(get_current_stream=lambda ordinal: SimpleNamespace(ptr=200 + ordinal))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=Array, cuda=streams))
    array = view_array(Array())
    assert is_gpu_array(Array()) and array.library is CUPY
    assert (array.pointer, array.strides, array.dtype, array.ordinal, array.stream) == (
        8192,
        (-10, 2),
        "float32",
        2,
        202,
    )


def stub_views(monkeypatch, view):
    """Make cuda.core's view of any array `view`; returns the streams that were asked for."""
    streams = []

    def from_any_interface(array, stream_ptr):
        streams.append(stream_ptr)
        if isinstance(view, Exception):
            raise view
        return view

    utils = SimpleNamespace(StridedMemoryView=SimpleNamespace(from_any_interface=from_any_interface))
    monkeypatch.setattr(toolkit, "core", lambda: SimpleNamespace(utils=utils))
    return streams


@pytest.mark.parametrize(("given", "expected"), [(None, LEGACY_STREAM), (77, 77), ("absent", LEGACY_STREAM)])
def test_the_stream_that_an_interface_names(monkeypatch, given, expected):
    interface = {"version": 3} if given == "absent" else {"version": 3, "stream": given}
    view = SimpleNamespace(ptr=64, shape=(2, 3), strides=None, dtype=np.dtype(np.int16), device_id=0)
    streams = stub_views(monkeypatch, view)
    thing = SimpleNamespace(__cuda_array_interface__=interface)
    assert is_gpu_array(thing)
    array = view_array(thing)
    assert streams == [expected] and array.stream == expected
    assert array.strides == (3, 1) and array.owner is view and array.library is ANY


def test_jax(monkeypatch):
    class Array:
        def devices(self):
            return [SimpleNamespace(platform="gpu")]

    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(Array=Array))
    view = SimpleNamespace(ptr=64, shape=(2, 3), strides=(3, 1), dtype=np.dtype(np.float32), device_id=0)
    streams = stub_views(monkeypatch, view)
    assert is_gpu_array(Array()) and view_array(Array()).library is JAX and streams == [LEGACY_STREAM]


def test_what_cannot_be_viewed(monkeypatch):
    stub_views(monkeypatch, BufferError("it is sharded"))
    with pytest.raises(ArgumentError, match=r"it is sharded.*copy it"):
        view_array(SimpleNamespace(__cuda_array_interface__={}))


@pytest.mark.parametrize("array", [np.zeros((2, 2)), [[1, 2]], None, "text"])
def test_what_is_not_on_a_gpu(array):
    assert not is_gpu_array(array)


def test_exported_memory_makes_its_consumer_wait(emulated_gpu, monkeypatch):
    waits = []
    monkeypatch.setattr(emulated_gpu, "order_before", waits.append)
    view = SimpleNamespace(__dlpack__=lambda **options: options, __dlpack_device__=lambda: (2, 0))
    exported = Exported(view, emulated_gpu)
    assert exported.__dlpack__(stream=55, max_version=(1, 0)) == {"max_version": (1, 0)}
    exported.__dlpack__()
    exported.__dlpack__(stream=-1)
    assert waits == [55, LEGACY_STREAM] and exported.__dlpack_device__() == (2, 0)


@pytest.mark.parametrize(("shape", "strides"), [((), ()), ((7,), (1,)), ((2, 3), (3, 1)), ((2, 3, 4), (12, 4, 1))])
def test_row_major(shape, strides):
    assert row_major(shape) == strides


def test_looking_at_arrays_imports_nothing():
    script = (
        "import numpy, sys; from lapwing.gpu.runtime import arrays\n"
        "assert not arrays.is_gpu_array(numpy.zeros(3))\n"
        "assert not {'torch', 'cupy', 'jax', 'cuda'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# --- workspace --------------------------------------------------------------------------------------------------------


def test_workspace(emulated_gpu):
    sizes = {"bytes": (3, "uint8"), "numbers": (5, "float64"), "none": (0, "int64"), "halves": (200, "bfloat16")}
    with Workspace(emulated_gpu, sizes) as memory:
        assert memory.nbytes == workspace_bytes(sizes) == 256 + 256 + 0 + 512
        assert all(memory[name] % 256 == 0 for name in sizes)
        assert memory["numbers"] - memory["bytes"] == 256 and memory["halves"] == memory["none"]
        memory.clear()
        assert not read(emulated_gpu, memory["numbers"], 5, "float64").any()
        write(emulated_gpu, memory["numbers"], np.arange(5.0))
        assert read(emulated_gpu, memory["numbers"], 5, "float64").tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(KeyError):
            memory["other"]
    with Workspace(emulated_gpu, {}) as empty:
        assert empty.nbytes == 0


def test_workspace_of_the_users_library(torch, emulated_gpu):
    cost = view_array(Tensor((3, 5), (5, 1), "torch.float32", index=0))
    with Workspace(emulated_gpu, {"a": (1000, "float64")}, cost) as memory:
        assert torch.made == ["cuda:0"] and memory["a"] == 4096


def test_read_converts_bfloat16(emulated_gpu):
    values = np.array([1.5, -2.0, np.inf], np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    assert read(emulated_gpu, bits.ctypes.data, 3, "bfloat16").tolist() == values.tolist()
