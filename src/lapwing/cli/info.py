"""``lapwing info``: what a bug report needs, without loading anything heavy."""

from __future__ import annotations

import ctypes
import json
import os
import platform
from importlib import metadata
from typing import Any

import click
import numpy as np


@click.command(help="Print version, compiler, CPU features, threads and the GPUs that are seen.")
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
        "gpus": gpus(),
    }


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


def gpus() -> list[str]:
    """Names and compute capabilities of NVIDIA GPUs, asked of the driver; empty without driver or GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
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
