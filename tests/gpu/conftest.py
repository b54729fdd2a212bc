"""Where GPU tests run: on a GPU, on the processor under the CUDA emulator, or only as far as the compiler."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from functools import partial

import pytest

from lapwing.gpu import early_end
from lapwing.gpu import plan as gpu_plan
from lapwing.gpu.core import monitor
from lapwing.gpu.costs import points_matrix
from lapwing.gpu.costs.host_rows import StreamLayout
from lapwing.gpu.kinds import choose
from lapwing.gpu.kinds.capped import CappedCosts
from lapwing.gpu.runtime.device import Context
from support import emulated_programs, emulated_toolkit
from support.gpu_memory import Gpu

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of the GPU from the other tests


@pytest.fixture
def compiler():
    """NVRTC, which needs no GPU."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        pytest.skip("cuda-core is not installed: pip install 'lapwing[cuda13]'")


@pytest.fixture
def emulated_gpu(monkeypatch):
    """A context of the emulated GPU, entered; kernels run on the processor, small problems only."""
    if emulated_programs.COMPILER is None or sys.platform != "linux":
        pytest.skip("the CUDA emulator needs Linux and a C++ compiler")
    emulated_toolkit.install(monkeypatch)
    with Context() as context:
        yield context
    assert not emulated_toolkit.DRIVER.contexts, "a context was left current"
    overruns, emulated_toolkit.OVERRUNS[:] = emulated_toolkit.OVERRUNS[:], []
    assert not overruns, "a kernel wrote behind the end of its memory"


@pytest.fixture
def gpus(emulated_gpu, meanwhile, monkeypatch):
    """Names of emulated GPUs, which share out matrices of any size, and work at the same time."""
    monkeypatch.setattr(emulated_toolkit.DRIVER, "count", 3)
    monkeypatch.setattr(choose, "LEAST_SHARDED_BYTES", 0)
    return lambda count: [f"cuda:{k}" for k in range(count)]


@pytest.fixture
def below(monkeypatch):
    """The solves below a cap, of which there is one whenever the auction leaves a row."""
    monkeypatch.setattr(early_end, "CAPPED_LEFT", 10**6)
    made, init = [], CappedCosts.__init__

    def noted(self, *arguments):
        made.append(self)
        init(self, *arguments)

    monkeypatch.setattr(CappedCosts, "__init__", noted)
    return made


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory):
    """Compiled kernels stay out of the user's cache; a cache for tests that is filled already can be named."""
    return os.environ.get("LAPWING_CACHE_DIR") or tmp_path_factory.mktemp("kernels")


@pytest.fixture
def real_gpu(monkeypatch, kernel_folder):
    """A context of the first GPU, entered."""
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(kernel_folder))
    with Context() as context:
        yield context


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """Every test that takes this runs on the emulated GPU, and on a real one where there is one."""
    return Gpu(request.getfixturevalue(f"{request.param}_gpu"))


@pytest.fixture
def no_matrix_is_held(monkeypatch):
    """The costs of points are computed whenever they are needed, however many dimensions there are."""
    monkeypatch.setattr(points_matrix, "LEAST_DIMS", math.inf)


@pytest.fixture
def meanwhile(monkeypatch):
    """Kernels run beside the host, which they may ask for rows; news every 10 ms."""
    monkeypatch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
    monkeypatch.setattr(monitor, "_SECONDS_BETWEEN_NEWS", 0.01)
    yield
    emulated_toolkit.BACKGROUND.wait_for_all()


@pytest.fixture
def room_for(monkeypatch):
    """No room for a matrix, but for so many rows, and stores of such a depth."""

    def layout(room, depth, shape, dtype, _):
        return StreamLayout(*shape, dtype, min(room, shape[0]), min(depth, shape[1]))

    def apply(room, depth):
        monkeypatch.setattr(choose, "is_too_large", lambda *_: True)
        monkeypatch.setattr(gpu_plan, "largest_layout", partial(layout, room, depth))

    return apply
