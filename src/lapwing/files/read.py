"""Reading a problem from a file: which format it is, then the reader of that format."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from lapwing.costs.rows import as_bytes
from lapwing.errors import ArgumentError
from lapwing.files.base import DEFAULT_LIMIT, FileFormatError, FileProblem, ReadOptions, file_size
from lapwing.files.delimited import read_delimited
from lapwing.files.dimacs import read_dimacs
from lapwing.files.matrix_market import read_matrix_market
from lapwing.files.numpy_files import read_npy, read_npz
from lapwing.files.orlib import read_orlib
from lapwing.files.table import read_parquet

_Reader = Callable[[Path, ReadOptions], FileProblem]
_READERS: Final[dict[str, _Reader]] = {
    "npy": read_npy,
    "npz": read_npz,
    "csv": read_delimited,
    "parquet": read_parquet,
    "mtx": read_matrix_market,
    "dimacs": read_dimacs,
    "orlib": partial(read_orlib, sparse=False),
    "orlib-sparse": partial(read_orlib, sparse=True),
}
#: Names that `read` takes as `format`.
FORMATS: Final = tuple(_READERS)

_BY_SUFFIX: Final = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "csv",
    ".mtx": "mtx",
    ".asn": "dimacs",
    ".dimacs": "dimacs",
}
_HEAD_BYTES: Final = 4096


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    maximize: bool = False,
    memory_limit: int | str = DEFAULT_LIMIT,
    labels: bool = False,
) -> FileProblem:
    """Read the costs of an assignment problem from a file.

    Parameters
    ----------
    path : path
        A regular file.
    format : {"npy", "npz", "csv", "parquet", "mtx", "dimacs", "orlib", "orlib-sparse"}, optional
        By default the content decides where it is unmistakable, then the name's ending, then the first lines.
    maximize : bool
        The sense in which the costs will be used.
    memory_limit : int or str
        In bytes, or as "4 GB": most for unpacking a compressed file, for the mirrored half of a symmetric matrix, and
        for what a sparse file needs for each row and column.
    labels : bool
        Whether the first line and the first column of a table (csv, parquet) name its columns and rows.

    Returns
    -------
    FileProblem
        With `cost`, `maximize`, `format` and, with labels, `ids`. A .npy file stays on disk (`numpy.memmap`); a sparse
        file is a source of costs for its pairs, and is never written out.

    Raises
    ------
    FileFormatError
        The file is malformed, truncated or too large; the message names the line.
    OSError
        The file cannot be opened.
    """
    path = Path(path)
    if "\0" in str(path):
        raise ArgumentError(f"the path {str(path)!r} has a NUL character, which no file name can have")
    limit = as_bytes(memory_limit, "memory_limit")
    if format is not None and format not in _READERS:
        raise ArgumentError(f"unknown format {format!r}; use one of {', '.join(FORMATS)}")
    reader = _detect(path) if format is None else _READERS[format]
    if labels and reader not in (read_delimited, read_parquet):
        raise ArgumentError(f"labels are read from tables (csv, parquet), and {path} is none")
    return reader(path, ReadOptions(maximize, limit, labels))


def _detect(path: Path) -> _Reader:
    file_size(path)
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if head.startswith(b"\x93NUMPY"):
        return read_npy
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return read_npz
    if head.startswith(b"PAR1"):
        return read_parquet
    if head[:1] == b"\x80":
        raise FileFormatError(
            path, "looks like a pickle, which is refused because loading one can run any code; use .npy"
        )
    if not head:
        raise FileFormatError(path, "is empty; it must hold a cost matrix")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:14].lower() == b"%%matrixmarket":
        return read_matrix_market
    if path.suffix.lower() in _BY_SUFFIX:
        return _READERS[_BY_SUFFIX[path.suffix.lower()]]
    first = text.split(b"\n", 1)[0].split()
    if first and first[0] in (b"c", b"p"):
        return read_dimacs
    return read_orlib if len(first) == 1 and first[0].isdigit() else read_delimited
