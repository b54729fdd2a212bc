"""The one door to NVIDIA's Python packages: imported when first needed, untyped behind it.

`cuda.core` compiles, loads and launches; `cuda.bindings.driver` is the driver's own interface, for the few calls that
`cuda.core` does not offer. Neither needs a GPU or a driver to be imported.
"""

from __future__ import annotations

import importlib
import threading
from functools import cache
from typing import Any

from lapwing.errors import GpuError

_REMEDY = "install it with pip install 'lapwing[cuda13]', or 'lapwing[cuda12]' for a driver older than 580"
_OLDEST_CORE = (1, 2)
_importing = threading.RLock()  # cuda.core, imported by two threads at once, shows one of them half of itself


@cache
def core() -> Any:
    """The package `cuda.core`.

    Raises
    ------
    GpuError
        If it is not installed, or too old.
    """
    module = _imported("cuda.core")
    version = str(module.__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_CORE:
        wanted = ".".join(map(str, _OLDEST_CORE))
        raise GpuError(f"cuda-core {version} is too old for Lapwing, which needs {wanted} or later: {_REMEDY}")
    return module


@cache
def driver() -> Any:
    """The module `cuda.bindings.driver`; its functions return a tuple that starts with an error code."""
    return _imported("cuda.bindings.driver")


@cache
def nvrtc_version() -> tuple[int, int]:
    """Of the run-time compiler."""
    nvrtc = _imported("cuda.bindings.nvrtc")
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise GpuError(f"the run-time compiler NVRTC does not load ({error}); {_REMEDY}") from error
    return int(major), int(minor)


def _imported(name: str) -> Any:
    try:
        with _importing:
            return importlib.import_module(name)
    except ImportError as error:
        raise GpuError(f"GPUs need the package cuda-core, which does not import here ({error}); {_REMEDY}") from error
