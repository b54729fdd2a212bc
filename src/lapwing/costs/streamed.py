"""A matrix in a file that is larger than memory: rows are read when they are needed, and some are kept.

A memory map would read them, too, but would end the process with a signal where a file was truncated, and its pages
count as the process's memory. So rows are read from the file itself, converted as they come, and kept in the same cache
as a callback's.
"""

from __future__ import annotations

import mmap
import os
import weakref
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.base import MAX_LINES, CostArray, Tier
from lapwing.costs.dtypes import core_dtype
from lapwing.costs.mapped import check_mapped
from lapwing.costs.rows import RowCost
from lapwing.errors import ArgumentError, DtypeError

_COMPARED_BYTES: Final = 4096
_LARGE_ROW_BYTES: Final = 1 << 18
_PHYSICAL_SHARE: Final = 2  # of which a matrix may take one part without being streamed


class StreamedCost(RowCost):
    """(m, n) costs of a file, read row by row; made by `streamed`."""

    tier: ClassVar[Tier] = "streamed"

    @cached_property
    def _source(self) -> _core.CostSource:
        """Read by the core itself, without Python, where the file holds the costs as they are computed with."""
        reader = self.callback
        if not isinstance(reader, FileRows) or reader.stored != self.dtype or not hasattr(_core, "file_costs_float32"):
            return super()._source
        make = getattr(_core, f"file_costs_{self.dtype}")
        source: _core.CostSource = make(*self.shape, self.cache_bytes, *reader.place, self._supply)
        return source


class FileRows:
    """Reads rows of a C-ordered matrix in a file: the callback behind a `StreamedCost`.

    Whether the file has changed is asked for every block and large row, and so all through the certificate's pass.

    Parameters
    ----------
    path : path of the file
    position : int
        Of the first row in it, in bytes.
    stride : int
        From one row to the next, in bytes.
    cols : int
    stored, dtype : dtypes
        In the file and of the costs; `dtype` holds every number of `stored`.
    """

    def __init__(
        self, path: str, position: int, stride: int, cols: int, stored: np.dtype[Any], dtype: np.dtype[Any]
    ) -> None:
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        self._path, self._position, self._stride = path, position, stride
        self.stored: np.dtype[Any] = stored
        self._dtype = dtype
        self._row_bytes = cols * stored.itemsize
        self._version = self._stamp()

    def __repr__(self) -> str:
        return f"{self._path}"

    @property
    def place(self) -> tuple[int, int, int, int, int]:
        """The data from which the core reads rows: file, position, stride, the file's size and time of change."""
        return self._file, self._position, self._stride, *self._version

    def __call__(self, begin: int, end: int) -> CostArray:
        """Rows begin to end - 1."""
        if (end - begin > 1 or self._row_bytes >= _LARGE_ROW_BYTES) and self._stamp() != self._version:
            raise ArgumentError(f"{self._path} was changed while its costs were being read; solve it again")
        rows = self.bytes(begin, end).view(self.stored)
        return rows if rows.dtype == self._dtype else rows.astype(self._dtype)

    def bytes(self, begin: int, end: int) -> NDArray[np.uint8]:
        """The bytes of some rows, (end - begin, bytes of a row)."""
        data = np.empty((end - begin, self._row_bytes), np.uint8)
        if self._stride == self._row_bytes or end - begin == 1:
            self._fill(data.reshape(-1).data, begin)
        else:
            for k in range(end - begin):
                self._fill(data[k].data, begin + k)
        return data

    def _fill(self, target: memoryview, row: int) -> None:
        position = self._position + row * self._stride
        done = 0
        while done < len(target):
            count = os.preadv(self._file, [target[done:]], position + done)
            if count == 0:
                raise ArgumentError(
                    f"{self._path} ends before row {row + done // max(1, self._stride)} of its costs: it was truncated "
                    "since it was mapped; restore it and map it again"
                )
            done += count

    def _stamp(self) -> tuple[int, int]:
        status = os.fstat(self._file)
        return status.st_size, status.st_mtime_ns


def streamed_if_large(cost: Any, limit: int | None) -> Any:
    """The costs themselves, or of a mapped matrix that takes more than `limit` bytes (None: half of all) a source."""
    if not isinstance(cost, np.memmap) or cost.ndim != 2:
        return cost
    most = physical_limit() if limit is None else limit
    return streamed(cost, most) if cost.nbytes > most else cost


def streamed(matrix: np.memmap[Any, Any], limit: int) -> StreamedCost:
    """A mapped matrix as a source that keeps at most `limit` bytes of rows.

    Parameters
    ----------
    matrix : (m, n) np.memmap with contiguous rows, or a part of one; not empty
    limit : int

    Raises
    ------
    ArgumentError
        If rows are not contiguous, or the file is no longer the one that was mapped.
    DtypeError
    """
    dtype = core_dtype(matrix.dtype)
    if matrix.dtype.kind == "u" and matrix.dtype.itemsize == 8:
        raise DtypeError("uint64 costs cannot be streamed; save them as int64 or float64, or raise memory_limit=")
    if max(matrix.shape) > MAX_LINES:
        raise ArgumentError(f"cost has shape {matrix.shape}; at most {MAX_LINES} rows and columns are supported")
    if matrix.strides[1] != matrix.itemsize or matrix.strides[0] < 0:
        raise ArgumentError(
            f"the mapped matrix of shape {matrix.shape} takes {matrix.nbytes} bytes, above memory_limit={limit}, so it "
            "is read by rows, and these do not lie together in its file; solve its transpose, cost.T, if that has at "
            "most as many rows as columns, save it in C order, or raise memory_limit="
        )
    source: Any = _rows_of_file(matrix, dtype) or _RowsOfMap(matrix, dtype)
    return StreamedCost(source, (matrix.shape[0], matrix.shape[1]), dtype, limit, limit)


def physical_limit() -> int:
    """Largest mapped matrix, in bytes, that is read in place by default: half of the memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _PHYSICAL_SHARE
    except (AttributeError, OSError, ValueError):
        return 1 << 62


class _RowsOfMap:
    """Rows through the map itself, where the file cannot be read beside it: copied on write, or without a name."""

    def __init__(self, matrix: np.memmap[Any, Any], dtype: np.dtype[Any]) -> None:
        self._matrix, self._dtype = np.asarray(matrix), dtype

    def __call__(self, begin: int, end: int) -> CostArray:
        check_mapped(self._matrix)
        return self._matrix[begin:end].astype(self._dtype)


def _rows_of_file(matrix: np.memmap[Any, Any], dtype: np.dtype[Any]) -> FileRows | None:
    """A reader of the file behind a map, once it is sure to be the same; None where there is none to read."""
    mapping = getattr(matrix, "_mmap", None)
    if matrix.filename is None or matrix.mode == "c" or mapping is None or not hasattr(os, "preadv"):
        return None
    start = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    skipped = matrix.offset - matrix.offset % mmap.ALLOCATIONGRANULARITY  # of the file, before the map
    position = matrix.__array_interface__["data"][0] - start + skipped
    try:
        reader = FileRows(os.fspath(matrix.filename), position, matrix.strides[0], matrix.shape[1], matrix.dtype, dtype)
    except FileNotFoundError:
        raise ArgumentError(f"{matrix.filename} is gone since it was mapped; restore it and map it again") from None
    for row in (0, len(matrix) - 1):
        mapped = np.asarray(matrix[row]).view(np.uint8)[:_COMPARED_BYTES]
        if not np.array_equal(reader.bytes(row, row + 1)[0, :_COMPARED_BYTES], mapped):
            raise ArgumentError(f"{matrix.filename} was replaced or changed since it was mapped; map it again")
    return reader
