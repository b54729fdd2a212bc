"""Writing a file so that no reader ever sees a part of it."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lapwing.errors import ArgumentError

if sys.platform != "win32":
    import fcntl

_SECONDS_BEFORE_A_LOCK = 1.0  # more than a process takes from making a temporary file to locking it


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
    _remove_stale(target)
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            _lock(stream.fileno())
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:  # a full disk
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    _sync_folder(target.parent)


def check_output(path: str | os.PathLike[str], *others: str | os.PathLike[str] | None) -> None:
    """Refuse a name that cannot be written, or that is one of the other files of the same work, before the work.

    Raises
    ------
    ArgumentError
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise ArgumentError(f"{path} is not a regular file; give the name of a file to write")
    if not target.parent.is_dir():
        raise ArgumentError(f"{path} cannot be written: there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK):
        raise ArgumentError(f"{path} cannot be written: the folder {target.parent} is read-only; choose another")
    for other in others:
        if other is not None and (
            Path(os.path.realpath(other)) == target
            or (target.exists() and Path(other).exists() and target.samefile(other))
        ):
            raise ArgumentError(f"the answer would replace {other}, which is read or written too: give it another name")


def _prefix(target: Path) -> str:
    return f".{target.name[:200]}."


def _lock(descriptor: int) -> bool:
    """Mark a temporary file as one that is being written; False if it is so marked by another process."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(target: Path) -> None:
    """Remove temporary files of processes that were killed: no process holds their locks."""
    name = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{12}\.tmp")
    try:
        found = [entry.path for entry in os.scandir(target.parent) if name.fullmatch(entry.name)]
    except OSError:
        return
    for path in found:
        try:
            if time.time() - os.stat(path).st_mtime < _SECONDS_BEFORE_A_LOCK:
                continue
            with open(path, "rb") as stream:
                stale = _lock(stream.fileno())
            if stale:
                os.unlink(path)
        except OSError:
            continue


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
