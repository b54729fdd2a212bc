"""Contexts, device properties, and what is said where a GPU cannot be used."""

from __future__ import annotations

import importlib
import threading
from types import SimpleNamespace

import pytest

from lapwing.errors import GpuError
from lapwing.gpu.runtime import device, toolkit
from lapwing.gpu.runtime.device import LEGACY_STREAM, Context, checked, device_count, device_info
from support import emulated_toolkit

DRIVER = emulated_toolkit.DRIVER


def test_properties(emulated_gpu):
    info = emulated_gpu.info
    assert (info.ordinal, info.capability, info.architecture) == (0, (9, 0), 90)
    assert info.processors == emulated_toolkit.PROCESSORS and info.shared_bytes == emulated_toolkit.SHARED_BYTES
    assert info.cooperative and info.clusters and info.total_bytes == emulated_toolkit.TOTAL_BYTES
    assert emulated_gpu.free_bytes() == emulated_toolkit.TOTAL_BYTES // 2


def test_the_callers_context_comes_back(emulated_gpu):
    assert DRIVER.contexts == [1000]  # the fixture entered: nothing was current
    with emulated_gpu, emulated_gpu:
        assert DRIVER.contexts == [1000]  # ours is current: nothing to push
    DRIVER.contexts.append(55)  # a foreign one
    with emulated_gpu:
        assert DRIVER.contexts == [1000, 55, 1000]
    with pytest.raises(KeyError), emulated_gpu:
        raise KeyError
    assert DRIVER.contexts == [1000, 55]
    DRIVER.contexts.pop()


def test_threads_enter_for_themselves(emulated_gpu):
    entered = []

    def enter():
        with emulated_gpu:
            entered.append(True)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered == [True] * 4


def test_streams(emulated_gpu):
    assert Context().stream_handle == Context(0, 0).stream.handle == LEGACY_STREAM
    assert Context(0, 2).stream.handle == 2 and Context(0, 4711).stream.handle == 4711


def test_no_such_gpu(emulated_gpu):
    with pytest.raises(GpuError, match="no GPU 3: there is 1 GPU, number 0"):
        device_info(3)


def test_an_old_gpu(emulated_gpu, monkeypatch):
    old = SimpleNamespace(name="Old", compute_capability=SimpleNamespace(major=7, minor=0), properties=None)
    core = SimpleNamespace(**{**vars(emulated_toolkit.CORE), "Device": lambda ordinal: old})
    monkeypatch.setattr(toolkit, "core", lambda: core)
    device.device_info.cache_clear()
    with pytest.raises(GpuError, match=r"Old.*7\.0.*needs 7\.5.*CPU"):
        device_info(0)


def test_no_gpu_is_seen(emulated_gpu, monkeypatch):
    device.device_info.cache_clear()
    monkeypatch.setattr(DRIVER, "cuInit", lambda flags: (100,), raising=False)
    with pytest.raises(GpuError, match="nvidia-smi"):
        device_info(0)


def test_no_driver(monkeypatch):
    def missing(flags):
        raise RuntimeError("libcuda.so.1 not found")

    monkeypatch.setattr(toolkit, "driver", lambda: SimpleNamespace(cuInit=missing))
    assert device_count() == 0


def test_cuda_core_is_not_installed(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    toolkit.core.cache_clear()
    toolkit.driver.cache_clear()
    for ask in (toolkit.core, toolkit.driver, device_count):
        with pytest.raises(GpuError, match=r"cuda-core.*pip install 'lapwing\[cuda13\]'"):
            ask()


def test_cuda_core_is_too_old(monkeypatch):
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(__version__="0.3.2"))
    toolkit.core.cache_clear()
    try:
        with pytest.raises(GpuError, match=r"0\.3\.2 is too old.*1\.2"):
            toolkit.core()
    finally:
        toolkit.core.cache_clear()


def test_errors_of_the_driver_are_worded(emulated_gpu, monkeypatch):
    monkeypatch.setattr(DRIVER, "cuGetErrorString", lambda code: (0, b"out of memory"), raising=False)

    class Status(int):
        name = "CUDA_ERROR_OUT_OF_MEMORY"

    with pytest.raises(GpuError, match="CUDA_ERROR_OUT_OF_MEMORY: out of memory"):
        checked((Status(2), None))
    assert checked((Status(0), 7)) == 7 and checked((Status(0), 7, 8)) == (7, 8)
