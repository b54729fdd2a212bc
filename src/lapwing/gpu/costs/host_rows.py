"""A matrix that stays on the host: the transfer of its rows to the GPU, and the row caches kept there.

Rows come through two buffers, part after part: while kernels work on one, the threads of `upload` fill the other. Of
every row a row cache is kept, its nearest columns under the prices at which it was read (kernels/costs/host_rows.cuh).
A running kernel writes the whole rows that it needs to a `Request`, which `StoredRows.serve` polls. Rows of other
processes come in the same way (distributed/gpu_solver.py).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostSource
from lapwing.errors import ArgumentError
from lapwing.gpu.costs.upload import Copier, copying_threads
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.copies import OwnStream, fill_bytes, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.programs import INTEGERS
from lapwing.gpu.runtime.workspace import Sizes, Workspace, workspace_bytes

_ALIGNMENT = 16  # bytes, of a row
_LARGEST_PART = 256 << 20  # bytes of a buffer,
_THREAD_BYTES = 4 << 20  # that a thread copies, at least
_SHARE = 4  # and at most one part of so many of all memory
_LEAST_DEPTH, _MOST_DEPTH = 64, 4096  # of stores
_DEPTH_STEP = 32
_MESSAGE_BYTES, _RANKS_DEPTH = 64 << 20, 256  # of rows of other ranks: of a buffer, and of row caches
_SAMPLE_SHARE, _LEAST_SAMPLE, _MOST_SAMPLE = 16, 512, 16384  # rows of a sample: one of so many, between these
#: Bytes of struct CacheRecord of kernels/costs/host_rows.cuh, and what parts of a record are multiples of.
RECORD_HEAD, RECORD_WORD = 16, 8
_REQUEST = struct.Struct("@Q6I")  # struct Request of kernels/costs/host_rows.cuh
_ANSWERED, _INSUFFICIENT, _AS_CACHES = 20, 16, 28  # offsets of words of it

Ids = NDArray[np.int32]


class Lines(Protocol):
    """The source of rows, in the orientation in which they are solved.

    Attributes
    ----------
    shape : (lines, positions)
    dtype : dtype
    threads : int
        That may read at once.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    threads: int

    def read(self, ids: Ids) -> NDArray[Any]:
        """Whole lines, (len(ids), positions); perhaps a view."""
        ...

    def picked(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The cost of every line at a position of its own, which is not negative, in order."""
        ...


class MatrixLines:
    """Of a matrix in memory, or mapped into it."""

    def __init__(self, lines: NDArray[Any]) -> None:
        self._lines = lines
        self.shape: tuple[Any, Any] = (lines.shape[0], lines.shape[1])
        self.dtype: np.dtype[Any] = lines.dtype
        self.threads: int = copying_threads()

    def read(self, ids: Ids) -> NDArray[Any]:
        """A view where rows follow each other."""
        return self._lines[_run_of(ids) or ids]

    def picked(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        found = np.flatnonzero(positions >= 0)
        return np.asarray(self._lines[found, positions[found]])


class SourceLines:
    """Of a source that supplies rows to one thread at a time."""

    def __init__(self, source: CostSource) -> None:
        self._source = source
        self.shape: tuple[int, int] = source.shape
        self.dtype: np.dtype[Any] = source.dtype
        self.threads: int = 1

    def read(self, ids: Ids) -> NDArray[Any]:
        run = _run_of(ids)
        if run is not None:
            return self._source.read(run)
        return np.vstack([self._source.read(slice(int(i), int(i) + 1)) for i in ids])

    def picked(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        return self._source.picked(positions)


def _run_of(ids: Ids) -> slice | None:
    first, last = int(ids[0]), int(ids[-1])
    follows = last - first + 1 == len(ids) and bool((np.diff(ids) == 1).all())
    return slice(first, last + 1) if follows else None


@dataclass(frozen=True)
class StreamLayout:
    """The GPU's memory for a matrix on the host, beside the memory of every solve.

    Attributes
    ----------
    lines, positions : int
        As solved.
    dtype : str
    room : int
        Rows in a buffer.
    depth : int
        Columns in a store.
    """

    lines: int
    positions: int
    dtype: str
    room: int
    depth: int

    @property
    def pitch(self) -> int:
        """Elements from row to row of a buffer."""
        item = ITEM_BYTES[self.dtype]
        return -(-self.positions * item // _ALIGNMENT) * _ALIGNMENT // item

    @property
    def row_bytes(self) -> int:
        """The same in bytes."""
        return self.pitch * ITEM_BYTES[self.dtype]

    @property
    def sizes(self) -> Sizes:
        item = ITEM_BYTES[self.dtype]
        dual = "int64" if self.dtype in INTEGERS else "float64"
        part = (self.room * self.pitch * item, "uint8")
        return {
            "rows": part, "other_rows": part, "whose": (self.room, "int32"), "other_whose": (self.room, "int32"),
            "owner": (self.room, "int32"), "place": (self.lines, "int32"),
            "cached_col": (self.lines * self.depth, "int32"), "cached_cost": (self.lines * self.depth * item, "uint8"),
            "cached_count": (self.lines, "int32"), "cached_bound": (self.lines, dual),
            "insufficient": (self.lines, "int32"),
            "request": (_REQUEST.size, "uint8"), "block": (16, "int64"),
        }  # fmt: skip

    @property
    def nbytes(self) -> int:
        return workspace_bytes(self.sizes)


def least_layout(shape: tuple[int, int], dtype: str) -> StreamLayout:
    """The smallest that will do."""
    lines, positions = shape
    return StreamLayout(lines, positions, dtype, 1, min(_LEAST_DEPTH, positions))


def largest_layout(shape: tuple[int, int], dtype: str, budget: int) -> StreamLayout | None:
    """The largest of use within so many bytes; None if there is none."""
    lines, positions = shape
    least = least_layout(shape, dtype)
    row_bytes = least.pitch * ITEM_BYTES[dtype]
    room = min(lines, max(1, min(_LARGEST_PART, budget // _SHARE) // row_bytes))
    flat = StreamLayout(lines, positions, dtype, room, 0)
    depth = (budget - flat.nbytes) // (lines * (4 + ITEM_BYTES[dtype])) // _DEPTH_STEP * _DEPTH_STEP
    layout = StreamLayout(lines, positions, dtype, room, min(max(depth, least.depth), _MOST_DEPTH, positions))
    return next((fits for fits in (layout, least) if fits.nbytes <= budget), None)


def layout_of_ranks(shape: tuple[int, int], dtype: str, budget: int) -> StreamLayout | None:
    """For rows that are sent by other ranks, few at once; None if there is no room."""
    lines, positions = shape
    least = least_layout(shape, dtype)
    room = min(lines, max(1, _MESSAGE_BYTES // (least.pitch * ITEM_BYTES[dtype])))
    layout = StreamLayout(lines, positions, dtype, room, min(_RANKS_DEPTH, positions))
    return next((fits for fits in (layout, least) if fits.nbytes <= budget), None)


def record_bytes(layout: StreamLayout) -> int:
    """Of a row cache that comes in place of a row."""
    costs = layout.depth * ITEM_BYTES[layout.dtype]
    return RECORD_HEAD + 4 * even(layout.depth) + -(-costs // RECORD_WORD) * RECORD_WORD


def even(count: int) -> int:
    """The next even number."""
    return -(-count // 2) * 2


def sample_rows(lines: int) -> int:
    """Rows of a sample that tells prices; 0 for problems that do without."""
    return 0 if lines < 2 * _LEAST_SAMPLE else min(max(lines // _SAMPLE_SHARE, _LEAST_SAMPLE), _MOST_SAMPLE)


@dataclass(frozen=True, eq=False)
class Streamed:
    """A matrix on the host, to be solved on a GPU.

    Attributes
    ----------
    shape : (m, n)
        As given.
    dtype : str
    lines : Lines
        As solved.
    transposed : bool
        Whether lines are columns.
    layout : StreamLayout
    """

    shape: tuple[int, int]
    dtype: str
    lines: Lines
    transposed: bool
    layout: StreamLayout


def lines_of(matrix: NDArray[Any], priced: bool) -> tuple[Lines, bool]:
    """The lines of a matrix as they are solved, and whether they are its columns: when tall, or square by columns."""
    rows, cols = matrix.shape
    by_columns = matrix.strides[0] < matrix.strides[1]
    transposed = not priced and (rows > cols or (rows == cols and by_columns))
    return MatrixLines(matrix.T if transposed else matrix), transposed


def lines_of_source(source: CostSource, priced: bool) -> tuple[Lines, bool]:
    """The rows of a source.

    Raises
    ------
    ArgumentError
        If there are more of them than columns.
    """
    rows, cols = source.shape
    if rows > cols and not priced:
        raise ArgumentError(
            f"costs that come by rows have shape {source.shape}, more rows than columns; supply the rows of the "
            "transposed problem, or pass unmatched_cost="
        )
    return SourceLines(source), False


class _Part:
    """Some lines, as `Copier` takes them."""

    def __init__(self, lines: Lines, ids: Ids) -> None:
        self._lines, self._ids = lines, ids
        self.shape, self.dtype, self.itemsize = (len(ids), lines.shape[1]), lines.dtype, lines.dtype.itemsize

    def __getitem__(self, piece: tuple[slice, slice]) -> NDArray[Any]:
        rows, places = piece
        return self._lines.read(self._ids[rows])[:, places]


class StoredRows(ABC):
    """Rows of one matrix that come from elsewhere when they are asked for, and the memory where they arrive.

    Attributes
    ----------
    block : int
        The address of struct Costs::Data.
    rows_read : int
        So far.
    """

    def __init__(self, context: Context, layout: StreamLayout, stream: OwnStream) -> None:
        self.context: Context = context
        self.layout: StreamLayout = layout
        self._memory = memory = Workspace(context, layout.sizes)
        self._pitch_bytes = layout.pitch * ITEM_BYTES[layout.dtype]
        self._stream = stream
        self.block: int = memory["block"]
        self.rows_read: int = 0
        words = (
            layout.pitch, memory["rows"], memory["owner"], memory["place"], layout.room, layout.depth,
            memory["cached_col"], memory["cached_cost"], memory["cached_count"], memory["cached_bound"],
            memory["insufficient"], memory["request"], *self._own_rows(),
        )  # fmt: skip
        write(context, self.block, np.array(words, np.int64))
        fill_bytes(context, memory["place"], 0, 4 * layout.lines)
        self.forget()

    def counts(self) -> dict[str, float]:
        """What came so far, as statistics of a solve name it."""
        return {"rows_read": float(self.rows_read)}

    def forget(self) -> None:
        """In the order of the stream: no rows are here, and none are asked for."""
        fill_bytes(self.context, self._memory["owner"], 0xFF, 4 * self.layout.room)
        fill_bytes(self.context, self._memory["request"], 0, _REQUEST.size)

    def every(self, ids: Ids, visit: Callable[[int, int, int, int], None], wait: Callable[[float], None]) -> None:
        """Have rows come, part after part: visit(address of the rows, of their numbers, first, count) launches work.

        `wait` waits for the stream; it is told which share of the rows has come.
        """
        room = self.layout.room
        buffers = [(self._memory[f"{name}rows"], self._memory[f"{name}whose"]) for name in ("", "other_")]
        parts = [ids[first : first + room] for first in range(0, len(ids), room)]
        self.forget()
        self.context.synchronize()  # other streams will write there
        for k, part in enumerate(parts):
            rows, whose = buffers[k % 2]
            if k == 0:
                self._fill(rows, part)
            write(self.context, whose, part)
            visit(rows, whose, k * room, len(part))
            if k + 1 < len(parts):
                self._fill(buffers[(k + 1) % 2][0], parts[k + 1])
            wait((k + 1) / len(parts))

    def take_insufficient(self) -> Ids:
        """After all work: the rows that list_rows found scant, in order."""
        count = self._request()[3]
        fill_bytes(self.context, self._memory["request"] + _INSUFFICIENT, 0, 4)
        return np.sort(self._fetched(self._memory["insufficient"], count))

    def serve(self) -> None:
        """Send the rows that a running kernel waits for, if it waits."""
        _, _, asked, _, answered, *_ = self._request()
        if asked == answered:
            return
        address, count, *_, for_caches, _ = self._request()  # read again: other words were written earlier
        owner = self._bring(self._fetched(address, count), for_caches != 0)
        as_caches = np.array([(owner < 0).any()], np.uint32)
        self._stream.send(self._memory["request"] + _AS_CACHES, as_caches)
        self._stream.send(self._memory["owner"], owner)
        self._stream.send(self._memory["request"] + _ANSWERED, np.array([asked], np.uint32))
        self._stream.synchronize()

    def _own_rows(self) -> tuple[int, int, int, int]:
        """The last words of struct Costs::Data: of rows that are on the GPU all the time."""
        return 0, 0, 0, 0

    def _bring(self, ids: Ids, for_caches: bool) -> Ids:
        """Have rows come to where a running kernel expects them; what stands where (`owner` of struct Costs::Data)."""
        self._fill(self._memory["rows"], ids)
        return ids

    def _request(self) -> tuple[int, ...]:
        return _REQUEST.unpack(self._stream.fetch(self._memory["request"], _REQUEST.size))

    def _fetched(self, address: int, count: int) -> Ids:
        return np.frombuffer(self._stream.fetch(address, 4 * count), np.int32)

    @abstractmethod
    def _fill(self, rows: int, ids: Ids) -> None:
        """Bring rows to an address, in no order with the stream."""


class HostRows(StoredRows):
    """Rows of a matrix on the host."""

    def __init__(self, context: Context, streamed: Streamed, stream: OwnStream) -> None:
        super().__init__(context, streamed.layout, stream)
        self._lines = streamed.lines
        self._pool = ThreadPoolExecutor(self._lines.threads)  # its threads end when it is dropped

    def _fill(self, rows: int, ids: Ids) -> None:
        self.rows_read += len(ids)
        threads = min(self._lines.threads, -(-len(ids) * self._pitch_bytes // _THREAD_BYTES))
        part = _Part(self._lines, ids)
        with Copier(self.context, part, rows, self._pitch_bytes, threads, self._pool) as copier:
            copier.finish()
