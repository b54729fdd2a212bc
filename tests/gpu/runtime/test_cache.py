"""Compiled programs on disk: kept, shared by processes that start together, rebuilt when damaged, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lapwing.gpu.runtime import cache
from lapwing.gpu.runtime import compile as compiler
from lapwing.gpu.runtime.cache import cache_folder, cache_size, cached_program
from lapwing.gpu.runtime.programs import BATCH_STAGE, Program

FLOAT32 = BATCH_STAGE.variant(COST="float32")

needs_compiler = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """Notes every program that is compiled."""
    seen = []

    def noting(program, variant, architecture, quick):
        seen.append((program.name, variant, architecture))
        return compiler.compile_program(program, variant, architecture, quick=quick)

    monkeypatch.setattr(cache, "compile_program", noting)
    return seen


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@needs_compiler
def test_compiled_once(folder, compiled):
    first = cached_program(BATCH_STAGE, FLOAT32, 90)
    assert first.startswith(b"\x7fELF") and len(entries(folder)) == 1
    began = time.perf_counter()
    assert cached_program(BATCH_STAGE, FLOAT32, 90) == first
    assert time.perf_counter() - began < 0.2
    assert len(compiled) == 1
    files, size = cache_size()
    assert files == 1 and size > len(first)


@needs_compiler
def test_everything_that_matters_is_in_the_key(folder, compiled, monkeypatch):
    cached_program(BATCH_STAGE, FLOAT32, 90)
    cached_program(BATCH_STAGE, FLOAT32, 80)
    cached_program(BATCH_STAGE, BATCH_STAGE.variant(COST="float64"), 90)
    constants = {**BATCH_STAGE.constants, "THREADS": 128}
    other = Program(BATCH_STAGE.name, BATCH_STAGE.source, BATCH_STAGE.kernels, BATCH_STAGE.choices, constants)
    cached_program(other, FLOAT32, 90)
    text = compiler.source_text(BATCH_STAGE.source)
    monkeypatch.setattr(cache, "program_text", lambda *_: text + "// another header\n")
    cached_program(BATCH_STAGE, FLOAT32, 90)
    assert len(compiled) == len(entries(folder)) == 5


@needs_compiler
def test_the_compilers_version_is_in_the_key(folder, compiled, monkeypatch):
    from cuda.core.utils._program_cache import _keys

    cached_program(BATCH_STAGE, FLOAT32, 90)
    monkeypatch.setattr(_keys, "_nvrtc_version", lambda: (99, 9))
    cached_program(BATCH_STAGE, FLOAT32, 90)
    assert len(compiled) == 2


@needs_compiler
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_entry_is_rebuilt(folder, compiled, damage):
    code = cached_program(BATCH_STAGE, FLOAT32, 90)
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    entry.write_bytes({"cut": whole[: len(whole) // 2], "flipped": bytes(changed), "empty": b""}[damage])
    assert cached_program(BATCH_STAGE, FLOAT32, 90) == code
    assert len(compiled) == 2 and entry.read_bytes() == whole


@needs_compiler
def test_an_entry_that_is_no_file(folder, compiled):
    cached_program(BATCH_STAGE, FLOAT32, 90)
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    (entry / "in the way").touch()
    assert cached_program(BATCH_STAGE, FLOAT32, 90).startswith(b"\x7fELF")


@needs_compiler
def test_a_folder_that_cannot_be_made(tmp_path, compiled, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert cached_program(BATCH_STAGE, FLOAT32, 90).startswith(b"\x7fELF")
    assert len(compiled) == 2 and cache_size() == (0, 0)


@needs_compiler
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(folder, compiled):
    kept = cached_program(BATCH_STAGE, FLOAT32, 90)
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    try:
        assert cached_program(BATCH_STAGE, FLOAT32, 90) == kept and len(compiled) == 1
        assert cached_program(BATCH_STAGE, FLOAT32, 80) and len(compiled) == 2
    finally:
        for path in folders:
            path.chmod(0o700)


@needs_compiler
def test_writing_that_fails(folder, compiled, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert cached_program(BATCH_STAGE, FLOAT32, 90).startswith(b"\x7fELF")
    assert entries(folder) == []


@needs_compiler
def test_processes_that_start_together(folder):
    script = (
        "from lapwing.gpu.runtime.cache import cached_program; from lapwing.gpu.runtime.programs import BATCH_STAGE\n"
        "import hashlib, sys; sys.stdin.readline()\n"
        "code = cached_program(BATCH_STAGE, BATCH_STAGE.variant(COST='float32'), 90)\n"
        "print(hashlib.sha256(code).hexdigest())\n"
    )
    command = [sys.executable, "-c", script]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    digests = {process.communicate(timeout=100)[0] for process in processes}
    assert len(digests) == 1 and len(digests.pop().strip()) == 64
    assert all(process.returncode == 0 for process in processes) and len(entries(folder)) == 1


def test_where_it_is(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("LAPWING_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lapwing"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "lapwing"
