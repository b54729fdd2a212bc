"""NumPy's own files: .npy, memory-mapped so that the costs are read when the solver wants them, and .npz.

An .npz file holds a matrix, or the arrays of a sparse matrix that SciPy saved.

Headers are read and checked against the file's size before anything is mapped or allocated. Arrays of Python objects
are pickles, which may run any code when loaded: they are refused.
"""

from __future__ import annotations

import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost, edges, sparse
from lapwing.errors import ArgumentError, DtypeError, RangeError
from lapwing.files.base import FileFormatError, FileProblem, ReadOptions, check_sparse_size, file_size

#: Name of the array to read from an .npz file with several.
COST_NAME: Final = "cost"
_Check = Callable[[Path, tuple[int, ...], np.dtype[Any]], None]  # raises for an array that is not wanted
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
_DEFLATE_RATIO: Final = 1032  # no deflate stream grows more than this


def read_npy(path: Path, options: ReadOptions) -> FileProblem:
    """Map a two-dimensional array of real numbers; it takes no memory, so there is no limit."""
    size = file_size(path)
    with path.open("rb") as stream:
        shape, fortran, dtype = _header(path, stream, _check_costs)
        offset = stream.tell()
    needed = math.prod(shape) * dtype.itemsize
    if offset + needed > size:
        raise FileFormatError(
            path,
            f"is truncated: {_by(shape)} {dtype} need {offset + needed} bytes, but the file has {size}; copy it again",
        )
    order: Any = "F" if fortran else "C"
    if needed == 0:
        return FileProblem(np.empty(shape, dtype=dtype), options.maximize, "npy")
    return FileProblem(np.memmap(path, dtype, "r", offset, shape, order), options.maximize, "npy")


def read_npz(path: Path, options: ReadOptions) -> FileProblem:
    """Read the array named ``cost``, or the only one, or the sparse matrix that SciPy saved."""
    file_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            cost = _sparse(path, archive, options) if _is_sparse(archive) else _dense(path, archive, options)
            return FileProblem(cost, options.maximize, "npz")
    except _DAMAGE as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(path, f"cannot be read as .npz ({error}); save it again with numpy.savez") from error


def _dense(path: Path, archive: zipfile.ZipFile, options: ReadOptions) -> NDArray[Any]:
    names = [name for name in archive.namelist() if name.endswith(".npy")]
    name = names[0] if len(names) == 1 else f"{COST_NAME}.npy"
    if name not in names:
        found = ", ".join(name.removesuffix(".npy") for name in names[:5]) or "none"
        raise FileFormatError(path, f"needs one array, or one named {COST_NAME!r}; it has {found}")
    return _member(path, archive, name, options.memory_limit, _check_costs)


def _is_sparse(archive: zipfile.ZipFile) -> bool:
    return {"format.npy", "shape.npy", "data.npy"} <= set(archive.namelist())


def _sparse(path: Path, archive: zipfile.ZipFile, options: ReadOptions) -> SparseCost:
    """What `scipy.sparse.save_npz` writes: the arrays of a matrix under their names, and its format."""

    def member(name: str, kinds: str) -> NDArray[Any]:
        def check(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
            if dtype.kind not in kinds or dtype.itemsize > 64 or len(shape) > 1:
                raise FileFormatError(path, f"holds no sparse matrix of numbers: {name!r} is {shape} {dtype}")

        if f"{name}.npy" not in archive.namelist():
            raise FileFormatError(path, f"holds a sparse matrix without its array {name!r}; it is damaged")
        return _member(path, archive, f"{name}.npy", options.memory_limit, check)

    form = member("format", "SU").reshape(-1)[:1].astype("U").tolist()
    sizes = member("shape", "iu").tolist()
    if form not in (["csr"], ["csc"], ["coo"]) or not isinstance(sizes, list) or len(sizes) != 2:
        raise FileFormatError(
            path,
            f"holds a sparse array of format {''.join(form)!r}, shape {sizes}; save a matrix as csr, csc or coo",
        )
    if min(sizes) < 0:
        raise FileFormatError(path, f"holds a sparse matrix of shape {sizes}; it is damaged")
    shape = (sizes[0], sizes[1])
    check_sparse_size(path, shape, options.memory_limit)
    data = member("data", "biuf")
    try:
        if form == ["csr"]:
            return sparse(member("indptr", "iu"), member("indices", "iu"), data, shape)
        if form == ["coo"]:
            return edges(member("row", "iu"), member("col", "iu"), data, shape)
        return sparse(member("indptr", "iu"), member("indices", "iu"), data, shape, by_columns=True)
    except (ArgumentError, DtypeError, RangeError) as error:
        raise FileFormatError(path, f"holds a damaged matrix: {error}") from error


def _member(path: Path, archive: zipfile.ZipFile, name: str, memory_limit: int, check: _Check) -> NDArray[Any]:
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileFormatError(path, f"is packed by method {info.compress_type}; save it with numpy.savez_compressed")
    if info.file_size > info.compress_size * _DEFLATE_RATIO + 64:
        raise FileFormatError(
            path, f"declares {info.file_size} bytes for {info.compress_size} packed ones; it is damaged"
        )
    with archive.open(info) as stream:
        shape, fortran, dtype = _header(path, stream, check)
        count = math.prod(shape)
        if stream.tell() + count * dtype.itemsize > info.file_size:
            raise FileFormatError(path, f"is truncated: fewer bytes than {_by(shape)} {dtype} need; copy it again")
        if info.compress_type != zipfile.ZIP_STORED and count * dtype.itemsize > memory_limit:
            message = f"{_by(shape)} {dtype} are above memory_limit= (--memory-limit); save them without compression"
            raise FileFormatError(path, message)
        values = np.empty(count, dtype=dtype)
        _read_into(path, stream, values)
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def _read_into(path: Path, stream: IO[bytes], target: NDArray[Any]) -> None:
    """Fill a one-dimensional array with the stream's next bytes."""
    octets = target.view(np.uint8)
    done = 0
    while done < octets.size:
        chunk = stream.read(min(1 << 20, octets.size - done))
        if not chunk:
            raise FileFormatError(path, f"is truncated after {done} of {octets.size} bytes; copy it again")
        octets[done : done + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        done += len(chunk)


def _header(path: Path, stream: IO[bytes], check: _Check) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype of an array that `check` accepts."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings(action="ignore"):  # the header is parsed as Python text, which may warn of itself,
            shape, fortran, dtype = read(stream)
    except Exception as error:  # and what it raises is not documented
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise FileFormatError(path, f"has a damaged .npy header ({reason}); save it again with numpy.save") from error
    if dtype.hasobject:
        raise FileFormatError(
            path,
            "holds Python objects (a pickle), which is refused because loading one can run any code; "
            "save the costs as an array of numbers",
        )
    check(path, shape, dtype)
    return tuple(map(int, shape)), bool(fortran), dtype


def _check_costs(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is no matrix of real numbers."""
    if dtype.kind not in "biuf":
        raise FileFormatError(path, f"holds {dtype}, not real numbers; convert the costs to a float or integer type")
    if len(shape) != 2 or not all(0 <= size < 2**31 for size in shape):
        raise FileFormatError(path, f"has shape {shape}; costs need two dimensions, rows and columns, below 2**31")


def _by(shape: tuple[int, ...]) -> str:
    return f"{' x '.join(map(str, shape))} numbers of type"
