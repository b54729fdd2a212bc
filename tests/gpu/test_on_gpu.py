"""Tests that need a real GPU: the libraries' arrays and streams, contexts, memory that does not grow, times."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.certificate.proof import Candidate, prove_on_gpu
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import ANY, CUPY, JAX, TORCH, GpuArray, empty_array, is_gpu_array, view_array
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.device import LEGACY_STREAM, Context, checked, device_count, device_info
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CERTIFICATE
from lapwing.gpu.runtime.workspace import Workspace

pytestmark = pytest.mark.gpu

VALUES = np.arange(12.0).reshape(3, 4)
FLOAT32 = CERTIFICATE.variant(COST="float32")


def values_of(array):
    """A strided float64 view's values, read element by element."""
    with Context(array.ordinal, array.stream) as context:
        rows, cols = array.shape
        return [
            [float(read(context, array.pointer + 8 * (i * array.strides[0] + j * array.strides[1]), 1, "float64")[0])
             for j in range(cols)] for i in range(rows)
        ]  # fmt: skip


def fill(context, array, value):
    """Set every element of a contiguous float64 array."""
    write(context, array.pointer, np.full(array.shape, float(value)))


# --- libraries --------------------------------------------------------------------------------------------------------


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(VALUES, device="cuda:0").T[1:, :]
    array = view_array(tensor)
    assert is_gpu_array(tensor) and not is_gpu_array(tensor.cpu())
    assert array.library is TORCH and array.pointer == tensor.data_ptr() and array.shape == (3, 3)
    assert values_of(array) == VALUES.T[1:].tolist()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert view_array(tensor).stream == stream.cuda_stream
        with Context(0, stream.cuda_stream) as context:
            made = empty_array(context, (2, 3), "float64", array)
            fill(context, made, 7)
            answer = made.library.handed_over(context, made)
    assert isinstance(answer, torch.Tensor) and answer.dtype == torch.float64 and (answer == 7).all().item()
    for dtype in ("bfloat16", "float16", "bool", "uint8", "int8", "uint16", "uint32", "int64"):
        name = view_array(torch.zeros(2, 2, dtype=getattr(torch, dtype), device="cuda")).dtype
        assert name == ("uint8" if dtype == "bool" else dtype)
    assert view_array(torch.zeros(3, 0, device="cuda")).shape == (3, 0)


def test_cupy():
    cupy = pytest.importorskip("cupy")
    given = cupy.asarray(VALUES)[::-1, ::2]
    array = view_array(given)
    assert is_gpu_array(given) and array.library is CUPY and values_of(array) == VALUES[::-1, ::2].tolist()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        assert view_array(given).stream == stream.ptr
        with Context(0, stream.ptr) as context:
            made = empty_array(context, (2, 3), "float64", array)
            fill(context, made, 7)
            answer = made.library.handed_over(context, made)
        assert isinstance(answer, cupy.ndarray) and (answer == 7).all()


def test_jax():
    jax = pytest.importorskip("jax")
    given = jax.numpy.asarray(VALUES.astype(np.float32)).T + 1
    array = view_array(given)
    assert is_gpu_array(given) and array.library is JAX and (array.shape, array.dtype) == ((4, 3), "float32")
    with Context(array.ordinal, array.stream) as context:
        assert sorted(read(context, array.pointer, 12, "float32").tolist()) == (VALUES + 1).ravel().tolist()
        made = empty_array(context, (2, 3), "float32", array)
        write(context, made.pointer, np.full((2, 3), 7, np.float32))
        answer = made.library.handed_over(context, made)
    assert isinstance(answer, jax.Array) and answer.shape == (2, 3) and float(answer.sum()) == 42


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_jax_gets_64_bits(dtype, request):
    """Assignments and duals keep their type where JAX is told to have such types at all."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    request.addfinalizer(lambda: jax.config.update("jax_enable_x64", False))
    array_template = view_array(jax.numpy.zeros((2, 2)))
    with Context(array_template.ordinal, array_template.stream) as context:
        made = empty_array(context, (3,), dtype, array_template)
        write(context, made.pointer, np.array([1, 2, 2**40], dtype))
        answer = made.library.handed_over(context, made)
    assert answer.dtype == dtype and np.asarray(answer).tolist() == [1, 2, 2**40]


def test_any_other_library(real_gpu):
    made = empty_array(real_gpu, (3, 4), "float64")
    write(real_gpu, made.pointer, VALUES)
    exported = made.library.handed_over(real_gpu, made)
    assert made.library is ANY and is_gpu_array(exported)
    array = view_array(exported)
    assert array.pointer == made.pointer and values_of(array) == VALUES.tolist()

    class Interface:
        __cuda_array_interface__ = {  # noqa: RUF012
            "version": 3, "shape": (3, 2), "strides": (32, 16), "typestr": "<f8", "data": (made.pointer, True),
            "stream": None,
        }  # fmt: skip

    array = view_array(Interface())
    assert (array.ordinal, array.stream, array.strides) == (0, LEGACY_STREAM, (4, 2))
    assert values_of(array) == VALUES[:, ::2].tolist()


# --- contexts ---------------------------------------------------------------------------------------------------------


def test_the_callers_context_comes_back():
    driver = toolkit.driver()
    before = int(checked(driver.cuCtxGetCurrent()))
    with Context() as context, context:
        assert int(checked(driver.cuCtxGetCurrent())) != 0
    assert int(checked(driver.cuCtxGetCurrent())) == before


def test_no_other_gpu_is_touched():
    script = (
        "import sys; from lapwing.gpu.runtime import toolkit\n"
        "from lapwing.gpu.runtime.device import Context, checked, device_count\n"
        "from lapwing.gpu.runtime.launch import kernels; from lapwing.gpu.runtime.programs import CERTIFICATE\n"
        "named = device_count() - 1\n"
        "with Context(named) as context: kernels(context, CERTIFICATE, CERTIFICATE.variant(COST='float32'))\n"
        "active = [checked(toolkit.driver().cuDevicePrimaryCtxGetState(k))[1] for k in range(device_count())]\n"
        "assert active == [0] * named + [1], active\n"
        "assert not {'torch', 'cupy', 'jax'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


def test_properties():
    for ordinal in range(device_count()):
        info = device_info(ordinal)
        assert info.processors > 0 and info.shared_bytes >= 48 * 1024 and info.total_bytes > 2**30
        assert info.clusters == (info.capability >= (9, 0)) and info.cooperative
        with Context(ordinal) as context:
            assert 0 < context.free_bytes() <= info.total_bytes
    with pytest.raises(lw.GpuError, match=f"no GPU {device_count()}"):
        device_info(device_count())


# --- work -------------------------------------------------------------------------------------------------------------


class Certified:
    """An answer in GPU memory, and its certificate by the CPU."""

    def __init__(self, context, n=500, seed=1):
        cost = lw.instances.generate("uniform", n, seed).astype(np.float32)
        result = lw.solve(cost)
        self.memory = Workspace(
            context, {"cost": (n * n, "float32"), "row_to_col": (n, "int64"), "u": (n, "float64"), "v": (n, "float64")}
        )
        for name, values in (("cost", cost), ("row_to_col", result.row_to_col), ("u", result.u), ("v", result.v)):
            write(context, self.memory[name], np.ascontiguousarray(values))
        self.expected = result.certificate
        place = context.info.ordinal, context.stream_handle
        self.cost = GpuArray(self.memory, self.memory["cost"], (n, n), (n, 1), "float32", *place, ANY)
        self.answer = Candidate(self.memory["row_to_col"], self.memory["u"], self.memory["v"])

    def prove(self, context):
        return prove_on_gpu(context, self.cost, self.answer)


def test_memory_does_not_grow(real_gpu):
    proven = Certified(real_gpu)
    pool = real_gpu.pool.attributes
    for _ in range(20):
        proven.prove(real_gpu)
    reserved, used = pool.reserved_mem_current, pool.used_mem_current
    for _ in range(1000):
        assert proven.prove(real_gpu) == proven.expected
    assert (pool.reserved_mem_current, pool.used_mem_current) == (reserved, used)


def test_threads_and_streams(real_gpu):
    """Every thread on a stream of its own, all at once."""
    proven = Certified(real_gpu)
    real_gpu.synchronize()
    device = toolkit.core().Device(0)
    device.set_current()
    streams = [device.create_stream() for _ in range(4)]
    failures = []

    def work(stream):
        with Context(0, int(stream.handle)) as context:
            failures.extend(1 for _ in range(50) if proven.prove(context) != proven.expected)

    threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_work_is_in_the_order_of_the_stream(real_gpu):
    """Earlier work of the stream is seen: the answer is spoilt and mended behind a long copy, without a wait."""
    proven = Certified(real_gpu, 200)
    driver, handle = toolkit.driver(), real_gpu.stream.handle
    with Workspace(real_gpu, {"a": (2**28, "uint8"), "b": (2**28, "uint8")}) as memory:
        good = read(real_gpu, proven.answer.u, 200, "float64")
        write(real_gpu, memory["a"], good)
        write(real_gpu, proven.answer.u, good + 1)
        for _ in range(50):
            checked(driver.cuMemcpyDtoDAsync(memory["b"], memory["a"], 2**28, handle))
        checked(driver.cuMemcpyDtoDAsync(proven.answer.u, memory["b"], good.nbytes, handle))
        assert proven.prove(real_gpu) == proven.expected


# --- times ------------------------------------------------------------------------------------------------------------


def test_a_launch_is_short(real_gpu):
    """The goal is 10 us; a busy machine gets three times as many."""
    kernel = kernels(real_gpu, CERTIFICATE, FLOAT32)["certify_place"]
    with Workspace(real_gpu, {"words": (64, "int64")}) as memory:
        memory.clear()
        word = memory["words"]
        for launch in (kernel.launch, kernel.launch_cooperative):
            times = []
            for _ in range(300):
                began = time.perf_counter()
                launch(real_gpu, 1, 256, word, 0, 1, 0, word, word, word, word)
                times.append(time.perf_counter() - began)
            assert statistics.median(times) < 30e-6


def test_loading_from_the_cache_is_quick(real_gpu):
    kernels(real_gpu, CERTIFICATE, FLOAT32)
    script = (
        "import time; from lapwing.gpu.runtime.device import Context; from lapwing.gpu.runtime.launch import kernels\n"
        "from lapwing.gpu.runtime.programs import CERTIFICATE\n"
        "with Context() as context:\n"
        "    began = time.perf_counter()\n"
        "    kernels(context, CERTIFICATE, CERTIFICATE.variant(COST='float32'))\n"
        "    print(time.perf_counter() - began)\n"
    )
    assert float(subprocess.check_output([sys.executable, "-c", script], timeout=100)) < 0.2
