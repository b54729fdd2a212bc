"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lapwing.errors import ArgumentError


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary stream whose bytes replace `path` when the block ends without an exception.

    The bytes go to a temporary file in the same folder, which is flushed to the disk and then renamed; on an exception
    it is removed and `path` stays as it was. A symbolic link is followed, an existing file keeps its mode.

    Raises
    ------
    ArgumentError
        `path` exists and is not a regular file (a device must not be replaced by a file).
    OSError
        The folder cannot be written to.
    """
    target = Path(os.path.realpath(path))
    mode = 0o666  # less the process's umask
    if target.exists():
        if not target.is_file():
            raise ArgumentError(f"{path} is not a regular file; give the name of a file to write")
        mode = stat.S_IMODE(target.stat().st_mode)
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
