"""``lapwing info``: what a bug report needs, without loading anything heavy."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
from dataclasses import fields
from importlib import metadata
from typing import Any

import click
import numpy as np

from lapwing.gpu.runtime.cache import cache_folder, cache_size
from lapwing.methods import METHODS
from lapwing.options import OPTIONS


@click.command(
    help="Print versions, compiler, CPU features, threads, methods, the GPUs that are seen, the cache of their kernels."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def info(as_json: bool) -> None:
    facts = collect()
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        click.echo(f"{name.replace('_', ' ') + ':':<18}{text or 'none'}")


def version() -> str:
    """Lapwing's version."""
    return metadata.version("lapwing")


def collect() -> dict[str, Any]:
    """All facts by name."""
    from lapwing import _core

    features = _core.features()
    return {
        "lapwing": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "processor": processor(),
        "compiler": features["compiler"],
        "simd": features["simd"],
        "simd_targets": features["simd_targets"],
        "hardware_threads": features["hardware_threads"],
        "usable_threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "methods": methods(),
        "gpus": gpus(),
        "gpu_driver": gpu_driver(),
        "cuda_core": installed("cuda-core"),
        "nvrtc": installed("nvidia-cuda-nvrtc") or installed("nvidia-cuda-nvrtc-cu12"),
        "kernel_cache": kernel_cache(),
    }


def methods() -> list[str]:
    """The names of the methods, with those of their options."""
    named = {name: ", ".join(field.name for field in fields(options)) for name, options in OPTIONS.items()}
    return [f"{name} ({named[name]})" if name in named else name for name in METHODS]


def processor() -> str:
    """The processor's name, as the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def installed(package: str) -> str:
    """The version of a package, empty if it is not installed; nothing is imported."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def kernel_cache() -> str:
    """The folder of compiled GPU kernels, and their number."""
    files, size = cache_size()
    return f"{cache_folder()} ({files} {'file' if files == 1 else 'files'}, {size / 2**20:.1f} MiB)"


def gpu_driver() -> str:
    """The driver's version and the newest CUDA that it runs, empty if there is no driver."""
    driver, version = _driver(), ctypes.c_int()
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return ""
    cuda = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as lines:
            own = re.search(r"\s(\d+\.[\d.]+)\s", lines.readline())
    except OSError:
        own = None
    return f"{own[1]} ({cuda})" if own else cuda


def _driver() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def gpus() -> list[str]:
    """Names and compute capabilities of NVIDIA GPUs, asked of the driver; empty without driver or GPU."""
    driver = _driver()
    count = ctypes.c_int()
    if driver is None or driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_gpu(driver, ordinal) for ordinal in range(count.value)]


def _gpu(driver: ctypes.CDLL, ordinal: int) -> str:
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    capability = []
    if driver.cuDeviceGet(ctypes.byref(device), ordinal) != 0 or driver.cuDeviceGetName(name, len(name), device) != 0:
        return f"GPU {ordinal} (the driver does not name it)"
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    return f"{name.value.decode(errors='replace')} (compute capability {'.'.join(capability)})"
