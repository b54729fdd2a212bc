"""Compiled programs on disk, so that only the first use of a program on a machine waits for the compiler.

The store and its keys are cuda.core's (`FileStreamProgramCache`, `make_program_cache_key`): a key covers the text with
all headers in it, the options, the architecture and the compiler's version; an entry appears at once or not at all, so
processes may start together. An entry begins with the SHA-256 of its code: a damaged one is compiled again and
replaced. A folder that cannot be written is no error: then nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.compile import compile_program, program_options, program_text
from lapwing.gpu.runtime.programs import Program, Variant
from lapwing.gpu.runtime.shipped import shipped_program

_DIGEST_BYTES = 32
_MOST_BYTES = 256 * 2**20  # entries that were not read for longest go first


def cache_folder() -> Path:
    """$LAPWING_CACHE_DIR, or lapwing/ in the user's cache folder."""
    chosen = os.environ.get("LAPWING_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lapwing"


def cache_size() -> tuple[int, int]:
    """Files and bytes in the cache."""
    sizes = []
    for path in cache_folder().rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                sizes.append(path.stat().st_size)
    return len(sizes), sum(sizes)


def cached_program(program: Program, variant: Variant, architecture: int, quick: bool = False) -> bytes:
    """As `compile_program`, but shipped code or the cache's if there is any.

    Raises
    ------
    GpuError
        If cuda-core is missing or the compiler refuses.
    """
    code = find_program(program, variant, architecture, quick)
    if code is None:
        code = compile_program(program, variant, architecture, quick=quick)
        _write(_open_store(), _key(program, variant, architecture, quick), code)
    return code


def find_program(program: Program, variant: Variant, architecture: int, quick: bool = False) -> bytes | None:
    """The result of `cached_program` if it needs no compiling, else None."""
    shipped = shipped_program(program, variant, architecture)
    return _read(_open_store(), _key(program, variant, architecture, quick)) if shipped is None else shipped


def _key(program: Program, variant: Variant, architecture: int, quick: bool) -> bytes:
    key: bytes = toolkit.core().utils.make_program_cache_key(
        code=program_text(program, variant),
        code_type="c++",
        options=program_options(program, variant, architecture, quick=quick),
        target_type="cubin",
    )
    return key


def can_keep() -> bool:
    """Whether there is a store."""
    return _open_store() is not None


def _open_store() -> Any:
    """The store, or None where there can be none."""
    try:
        return toolkit.core().utils.FileStreamProgramCache(cache_folder(), max_size_bytes=_MOST_BYTES)
    except OSError:
        return None


def _read(store: Any, key: bytes) -> bytes | None:
    """An entry's code, or None if there is none that is whole."""
    try:
        entry = None if store is None else store.get(key)
    except OSError:
        return None
    if entry is None or hashlib.sha256(entry[_DIGEST_BYTES:]).digest() != entry[:_DIGEST_BYTES]:
        return None
    return bytes(entry[_DIGEST_BYTES:])


def _write(store: Any, key: bytes, code: bytes) -> None:
    if store is not None:
        with contextlib.suppress(OSError):
            store[key] = hashlib.sha256(code).digest() + code
