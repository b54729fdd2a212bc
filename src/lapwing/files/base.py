"""The answer of every reader, and its errors."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from lapwing.costs.base import MAX_LINES
from lapwing.costs.sparse import SparseCost
from lapwing.errors import LapwingError

#: Bytes of memory that a matrix from a small file may take, unless `read` gets another limit.
DEFAULT_LIMIT: Final = 1 << 31
_MESSAGE_LENGTH: Final = 400


class FileFormatError(LapwingError, ValueError):
    """A file is malformed, truncated, too large, or of no known format.

    A message may quote the file, which may hold anything: past 400 characters its middle is left out.

    Attributes
    ----------
    path : Path
    line : int or None
        The line at fault, counted from 1, where the file is text and the fault is in one line.
    """

    def __init__(self, path: Path, message: str, line: int | None = None) -> None:
        if len(message) > _MESSAGE_LENGTH:
            half = _MESSAGE_LENGTH // 2
            message = f"{message[:half]} ... {message[-half:]}"
        self.path: Path = path
        self.message: str = message
        self.line: int | None = line
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.message, self.line)


Ids = tuple[list[str], list[str]]


@dataclass(frozen=True)
class FileProblem:
    """The problem that a file holds.

    Attributes
    ----------
    cost : ndarray of shape (m, n), or lapwing.costs.SparseCost
        int64 or float64 from text, any real dtype from .npy and .npz; +inf (-inf where `maximize`) forbids a pair, and
        so does a sparse file that leaves it out.
    maximize : bool
        As it was read.
    format : str
        The format it was read as.
    ids : two lists of str, or None
        What rows and columns are called, if the file says so.
    """

    cost: NDArray[Any] | SparseCost
    maximize: bool
    format: str
    ids: Ids | None = None


@dataclass(frozen=True)
class ReadOptions:
    """What `read` was asked for.

    Attributes
    ----------
    maximize : bool
        The sense.
    memory_limit : int
        Most bytes for unpacking a compressed file, for the mirrored half of a symmetric matrix, and for what a sparse
        file needs for each row and column.
    labels : bool
        Whether the first line and the first column of a table name its columns and rows.
    """

    maximize: bool = False
    memory_limit: int = DEFAULT_LIMIT
    labels: bool = False


def check_dense_size(path: Path, shape: tuple[int, int], limit: int) -> None:
    """Refuse a file whose dense float64 matrix would take more than `limit` bytes."""
    needed = shape[0] * shape[1] * 8
    if needed > sys.maxsize:
        raise FileFormatError(path, f"{shape[0]} x {shape[1]} costs are more than any computer can address")
    if needed > limit:
        raise FileFormatError(
            path,
            f"{shape[0]} x {shape[1]} costs take {_size(needed)} as a dense matrix, more than the limit of "
            f"{_size(limit)}; raise memory_limit= (--memory-limit)",
        )


def check_sparse_size(path: Path, shape: tuple[int, int], limit: int) -> None:
    """Refuse a sparse matrix with more rows and columns than are supported, or than `limit` bytes hold a number for."""
    if max(shape) > MAX_LINES:
        raise FileFormatError(path, f"has {shape[0]} x {shape[1]} costs; at most {MAX_LINES} a side are supported")
    needed = (shape[0] + shape[1] + 1) * 8
    if needed > limit:
        raise FileFormatError(
            path,
            f"{shape[0]} rows and {shape[1]} columns take {_size(needed)}, more than the limit of {_size(limit)}; "
            "raise memory_limit= (--memory-limit)",
        )


def file_size(path: Path) -> int:
    """Size in bytes of a regular file; anything else (a folder, a device, a pipe) is refused."""
    if not path.is_file():
        os.stat(path)  # names the reason if there is nothing at all
        raise FileFormatError(path, "is not a regular file; save the costs to a file first")
    return path.stat().st_size


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024  # type: ignore[assignment]
    return f"{count:.4g} TiB"
