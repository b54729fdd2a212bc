"""Where GPU tests run: on a GPU, on the processor under the CUDA emulator, or only as far as the compiler."""

from __future__ import annotations

import importlib.util
import sys

import emulated_toolkit
import pytest


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
    from lapwing.gpu.device import Context

    with Context() as context:
        yield context
    assert not emulated_toolkit.DRIVER.contexts, "a context was left current"
