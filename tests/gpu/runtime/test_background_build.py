"""Slow programs: a quick build at first, the full one by another process, and what happens where that cannot be."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from lapwing.errors import ArgumentError
from lapwing.gpu.runtime import background_build as module
from lapwing.gpu.runtime import compile as compiler
from lapwing.gpu.runtime import launch
from lapwing.gpu.runtime.background_build import start_build
from lapwing.gpu.runtime.cache import cached_program, find_program
from lapwing.gpu.runtime.launch import finish_builds, kernels
from lapwing.gpu.runtime.programs import CERTIFICATE, COMPUTED_CORE, CORE, TEXT
from support import emulated_toolkit

FLOAT32 = CERTIFICATE.variant(COST="float32")
SLOW = replace(CERTIFICATE, is_slow_to_compile=True)  # so called; the other process knows it by its name

needs_compiler = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "cache"))


@cache
def full_build():
    return compiler.compile_program(CERTIFICATE, FLOAT32, 90)


@needs_compiler
def test_a_quick_build_and_then_the_full_one():
    code, build = start_build(SLOW, FLOAT32, 90)
    assert code.startswith(b"\x7fELF") and code == cached_program(SLOW, FLOAT32, 90, quick=True) != full_build()
    build.wait()
    assert build.is_over() and build.process.returncode == 0
    assert build.result() == full_build() == find_program(CERTIFICATE, FLOAT32, 90)
    assert start_build(SLOW, FLOAT32, 90) == (full_build(), None)


@needs_compiler
def test_the_other_process_survives():
    """The one that started it ends at once."""
    script = (
        "from dataclasses import replace; from lapwing.gpu.runtime.background_build import start_build\n"
        "from lapwing.gpu.runtime.programs import CERTIFICATE\n"
        "slow = replace(CERTIFICATE, is_slow_to_compile=True)\n"
        "_, build = start_build(slow, slow.variant(COST='float32'), 90)\n"
        "print(build.process.pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100)
    assert int(done.stdout) > 0 and "Error" not in done.stderr
    deadline = time.monotonic() + 60
    while find_program(CERTIFICATE, FLOAT32, 90) is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)  # it has the lower priority


@needs_compiler
def test_programs_that_are_not_slow_wait_for_the_compiler():
    assert start_build(CERTIFICATE, FLOAT32, 90) == (full_build(), None)


@needs_compiler
@pytest.mark.parametrize("executable", ["", "/usr/bin/false", "/nowhere/python3"])
def test_no_process_of_its_own(monkeypatch, executable):
    """Python is part of an application, or is gone."""
    monkeypatch.setattr(sys, "executable", executable)
    assert start_build(SLOW, FLOAT32, 90) == (full_build(), None)


@needs_compiler
def test_no_folder(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert start_build(SLOW, FLOAT32, 90) == (full_build(), None)


@needs_compiler
def test_a_compiler_without_quick_builds(monkeypatch):
    monkeypatch.setattr(module, "can_be_quick", lambda: False)
    assert start_build(SLOW, FLOAT32, 90) == (full_build(), None)


@needs_compiler
def test_a_process_that_fails():
    code, build = start_build(SLOW, FLOAT32, 90)
    build.abandon()
    assert build.is_over() and (build.result() or full_build()) == full_build()
    again, build = start_build(SLOW, FLOAT32, 90)
    assert again in (code, full_build())
    if build is not None:
        build.wait()


@needs_compiler
def test_faults_of_a_users_function():
    text = '#include "costs/function.cuh"\n#line 1 "cuda_source"\noops\n'
    with pytest.raises(ArgumentError, match="does not compile"):
        start_build(COMPUTED_CORE, COMPUTED_CORE.variant(COST="float32", TEXT=text), 90)


@needs_compiler
@pytest.mark.slow
def test_the_core_is_usable_soon():
    variant = CORE.variant(COST="float32")
    began = time.monotonic()
    code, build = start_build(CORE, variant, 90)
    quick = time.monotonic() - began
    build.wait()
    assert build.result() not in (None, code) and quick < 0.6 * (time.monotonic() - began)


def test_orders_are_read_as_they_are_written(monkeypatch):
    """By the other process, texts of users among them."""
    seen = []
    variant = COMPUTED_CORE.variant(COST="float64", TEXT='any "text"\n')
    text = module.order(COMPUTED_CORE, variant, 120)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(read=lambda: text))
    monkeypatch.setattr(module.os, "nice", lambda _: None, raising=False)
    monkeypatch.setattr(module, "cached_program", lambda *build: seen.append(build))
    module.main()
    assert seen == [(COMPUTED_CORE, variant, 120)] and dict(variant)[TEXT] == 'any "text"\n'


@pytest.mark.parametrize("made", [True, False])
def test_kernels_are_replaced_when_the_full_build_is_there(emulated_gpu, monkeypatch, made):
    code = emulated_toolkit.coded(CERTIFICATE, FLOAT32)
    build = SimpleNamespace(is_over=lambda: build.over, over=False, wait=lambda: setattr(build, "over", True))
    build.result = lambda: code if made else None
    monkeypatch.setattr(launch, "start_build", lambda *_: (code, build))
    monkeypatch.setattr(launch, "_background_builds", {})
    monkeypatch.setattr(launch, "_replaced", [])
    quick = kernels(emulated_gpu, CERTIFICATE, FLOAT32)
    assert kernels(emulated_gpu, CERTIFICATE, FLOAT32) is quick
    finish_builds()
    full = kernels(emulated_gpu, CERTIFICATE, FLOAT32)
    assert (full is not quick) == made and launch._replaced == ([quick] if made else [])
    assert kernels(emulated_gpu, CERTIFICATE, FLOAT32) is full and not launch._background_builds
