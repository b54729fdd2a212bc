"""NumPy's own files: .npy, memory-mapped so that the costs are read when the solver wants them, and .npz.

Headers are read and checked against the file's size before anything is mapped or allocated. Arrays of Python objects
are pickles, which may run any code when loaded: they are refused.
"""

from __future__ import annotations

import math
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lapwing.files.base import FileFormatError, FileProblem, ReadOptions, file_size

#: Name of the array to read from an .npz file with several.
COST_NAME: Final = "cost"
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
_DEFLATE_RATIO: Final = 1032  # no deflate stream grows more than this


def read_npy(path: Path, options: ReadOptions) -> FileProblem:
    """Map a two-dimensional array of real numbers; it takes no memory, so there is no limit."""
    size = file_size(path)
    with path.open("rb") as stream:
        shape, fortran, dtype = _header(path, stream)
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
    """Read the array named ``cost``, or the only one."""
    file_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return FileProblem(_member(path, archive, options.memory_limit), options.maximize, "npz")
    except _DAMAGE as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(path, f"cannot be read as .npz ({error}); save it again with numpy.savez") from error


def _member(path: Path, archive: zipfile.ZipFile, memory_limit: int) -> NDArray[Any]:
    names = [name for name in archive.namelist() if name.endswith(".npy")]
    name = names[0] if len(names) == 1 else f"{COST_NAME}.npy"
    if name not in names:
        found = ", ".join(name.removesuffix(".npy") for name in names[:5]) or "none"
        raise FileFormatError(path, f"needs one array, or one named {COST_NAME!r}; it has {found}")
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileFormatError(path, f"is packed by method {info.compress_type}; save it with numpy.savez_compressed")
    if info.file_size > info.compress_size * _DEFLATE_RATIO + 64:
        raise FileFormatError(
            path, f"declares {info.file_size} bytes for {info.compress_size} packed ones; it is damaged"
        )
    with archive.open(info) as stream:
        shape, fortran, dtype = _header(path, stream)
        count = math.prod(shape)
        if stream.tell() + count * dtype.itemsize > info.file_size:
            raise FileFormatError(path, f"is truncated: fewer bytes than {_by(shape)} {dtype} need; copy it again")
        if info.compress_type != zipfile.ZIP_STORED and count * dtype.itemsize > memory_limit:
            message = (
                f"{_by(shape)} {dtype} are above memory_limit= (--memory-limit); save them as .npy, which is mapped"
            )
            raise FileFormatError(path, message)
        cost = np.empty(count, dtype=dtype)
        _read_into(path, stream, cost)
    return cost.reshape(shape[::-1]).T if fortran else cost.reshape(shape)


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


def _header(path: Path, stream: IO[bytes]) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype of a two-dimensional array of real numbers."""
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
    if dtype.kind not in "biuf":
        raise FileFormatError(path, f"holds {dtype}, not real numbers; convert the costs to a float or integer type")
    if len(shape) != 2 or not all(0 <= size < 2**31 for size in shape):
        raise FileFormatError(path, f"has shape {shape}; costs need two dimensions, rows and columns, below 2**31")
    return (int(shape[0]), int(shape[1])), bool(fortran), dtype


def _by(shape: tuple[int, int]) -> str:
    return f"{shape[0]} x {shape[1]} costs of type"
