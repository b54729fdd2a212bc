"""A matrix from the host's memory to the GPU's, as fast as the link allows, without a copy of it on the host.

The operating system may move pageable memory, so a GPU cannot read it directly: the driver copies it piece by piece,
in one thread, at a fraction of the link's speed. Here several threads copy, each through two pinned buffers of its own:
one is filled while the other is sent. Long lines (rows, or columns where these are contiguous) begin at multiples of 16
bytes, so that kernels read 16 bytes at once. They arrive nearly in order, so that work on the first lines can begin
during the transfer of others.
"""

from __future__ import annotations

import math
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime.arrays import ANY, ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import OwnStream, pinned
from lapwing.gpu.runtime.device import Context

_BUFFER_BYTES = 8 << 20
_MOST_THREADS = 8
_LEAST_PART = 64 << 20  # bytes that are worth a launch while others come,
_MOST_PARTS = 16  # of which there are no more than this
_ALIGNMENT = 16  # bytes, of a line on the GPU,
_ALIGNED_FROM = 1024  # unless it is shorter than this, where that would take much memory

_Piece = tuple[int, slice, slice]  # bytes from the beginning, lines and places in them


class _Lane:
    """A pinned buffer and a stream; kept for the next matrix, as pinning takes longer than sending."""

    def __init__(self) -> None:
        self.buffer = pinned(_BUFFER_BYTES)
        self.stream = OwnStream()


_idle: defaultdict[int, list[_Lane]] = defaultdict(list)
_lock = threading.Lock()


def planned_matrix(context: Context, matrix: NDArray[Any], by_rows: bool = False) -> GpuArray:
    """A host matrix as it will lie on the GPU, without memory yet: lines in one piece each, rows if `by_rows`."""
    dtype = matrix.dtype.name
    item = ITEM_BYTES[dtype]
    by_columns = not by_rows and is_by_columns(matrix)
    length = matrix.shape[0] if by_columns else matrix.shape[1]
    pitch = -(-length * item // _ALIGNMENT) * _ALIGNMENT // item if length * item >= _ALIGNED_FROM else length
    strides = (1, pitch) if by_columns else (pitch, 1)
    place = context.info.ordinal, context.stream_handle
    return GpuArray(None, 0, matrix.shape, strides, dtype, *place, ANY)


def upload(context: Context, matrix: NDArray[Any], by_rows: bool = False) -> tuple[GpuArray, Copier]:
    """Begin to copy a host matrix, (m, n) with unit stride along one axis, to the GPU; see `planned_matrix`.

    The copier is to be entered at once, with ``with``; the matrix may be changed when that is left.
    """
    view = planned_matrix(context, matrix, by_rows)
    lines = matrix.T if not by_rows and is_by_columns(matrix) else matrix
    pitch = max(view.strides) if min(matrix.shape) > 0 else 0
    memory = empty_array(context, (max(len(lines) * pitch * lines.itemsize, 1),), "uint8")
    context.synchronize()  # other streams will write there
    threads = min(copying_threads(), -(-memory.nbytes // (2 * _BUFFER_BYTES)))
    copier = Copier(context, lines, memory.pointer, pitch * lines.itemsize, threads)
    return GpuArray(memory, memory.pointer, *_rest(view)), copier


def _rest(view: GpuArray) -> tuple[Any, ...]:
    return view.shape, view.strides, view.dtype, view.ordinal, view.stream, view.library


def is_by_columns(matrix: NDArray[Any]) -> bool:
    """Whether the columns of a host matrix are contiguous, and its rows are not."""
    down, across = matrix.strides
    return down == matrix.itemsize and (across != matrix.itemsize or matrix.shape[1] == 1)


def copying_threads() -> int:
    """That keep the link busy."""
    return min(_MOST_THREADS, os.cpu_count() or 1)


class Copier:
    """One matrix on its way, while a ``with`` block lasts; at its end no thread copies any more.

    Parameters
    ----------
    context : Context
    lines : array or the like
        With a shape, an itemsize, and arrays for ``lines[rows, places]``, both slices.
    target, pitch_bytes : int
        Where the first line begins, and from line to line.
    threads : int
        By so many; one is the caller's own.
    pool : ThreadPoolExecutor, optional
        One that is kept.
    """

    def __init__(
        self,
        context: Context,
        lines: Any,
        target: int,
        pitch_bytes: int,
        threads: int,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._context, self._lines, self._target, self._pitch_bytes = context, lines, target, pitch_bytes
        self._threads, self._pool = max(threads, 1), pool
        share = -(-lines.shape[0] * pitch_bytes // self._threads)
        self._piece_bytes = min(_BUFFER_BYTES, -(-share // 2)) if threads > 1 else _BUFFER_BYTES
        self._at_once = self._piece_bytes // max(pitch_bytes, 1) or 1  # lines of a piece
        self._news = threading.Condition()  # guards what threads tell:
        self._arrived: list[float] = [0] * self._threads  # pieces of every share; without end when it has
        self._error: BaseException | None = None
        self._busy, self._cancelled = 0, False

    def __enter__(self) -> Copier:
        if self._threads == 1:
            self._copy_share(0)
            return self
        pool = self._pool or ThreadPoolExecutor(self._threads)
        try:
            for k in range(self._threads):
                pool.submit(self._work, k)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._error = None  # whose traceback holds the copier

    def _stop(self) -> None:
        """Also when Ctrl-C is pressed once more: memory at both ends must not go while somebody is at work there."""
        interrupt = None
        while True:
            try:
                with self._news:
                    self._cancelled = True
                    self._news.wait_for(lambda: self._busy == 0)
                break
            except KeyboardInterrupt as again:
                interrupt = again
        if interrupt is not None:
            raise interrupt

    @property
    def parts(self) -> list[range]:
        """Lines that are best waited for together, in order."""
        count = self._lines.shape[0]
        parts = 1
        if self._threads > 1 and not self._is_in_pieces:
            parts = max(1, min(_MOST_PARTS, count, count * self._pitch_bytes // _LEAST_PART))
        ends = [count * k // parts for k in range(parts + 1)]
        return [range(first, last) for first, last in pairwise(ends)]

    def wait_for(self, part: range) -> None:
        """Wait until this part has come, and those before it; raises what went wrong on the way."""
        with self._news:
            self._news.wait_for(lambda: self._error is not None or self._leading >= part.stop)
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Wait until all lines have come; raises what went wrong on the way."""
        self.wait_for(self.parts[-1])

    @property
    def _is_in_pieces(self) -> bool:
        """Whether a line fits no buffer."""
        return self._pitch_bytes > _BUFFER_BYTES

    @property
    def _leading(self) -> float:
        """Lines that have come, from the first on."""
        pieces = min(count * self._threads + k for k, count in enumerate(self._arrived))
        if self._is_in_pieces:
            return 0 if pieces < math.inf else math.inf
        return pieces * self._at_once

    def _pieces(self) -> Iterator[_Piece]:
        """Whole lines, as many as fit a buffer; or pieces of a line that does not."""
        count, length = self._lines.shape
        if not self._is_in_pieces:
            for first in range(0, count, self._at_once):
                at = first * self._pitch_bytes
                yield at, slice(first, min(first + self._at_once, count)), slice(0, length)
            return
        part = _BUFFER_BYTES // self._lines.itemsize
        for line in range(count):
            for first in range(0, length, part):
                at = line * self._pitch_bytes + first * self._lines.itemsize
                yield at, slice(line, line + 1), slice(first, min(first + part, length))

    def _work(self, share: int) -> None:
        """The work of a thread."""
        with self._news:
            if self._cancelled:
                return
            self._busy += 1
        try:
            self._copy_share(share)
        except BaseException as error:
            self._error = self._error or error
        finally:
            with self._news:
                self._busy -= 1
                self._news.notify()

    def _copy_share(self, share: int) -> None:
        """Every so many-th piece, from this on."""
        with self._context:
            lanes = [self._lane(), self._lane()]
            try:
                for k, (at, rows, places) in enumerate(islice(self._pieces(), share, None, self._threads)):
                    if self._cancelled:
                        return
                    lanes[k % 2].stream.synchronize()
                    self._tell(share, k - 1)
                    self._send(lanes[k % 2], at, self._lines[rows, places])
            finally:
                for lane in lanes:
                    lane.stream.synchronize()
                with _lock:
                    _idle[self._context.info.ordinal] += lanes
        self._tell(share, math.inf)

    def _tell(self, share: int, arrived: float) -> None:
        with self._news:
            self._arrived[share] = arrived
            self._news.notify()

    def _send(self, lane: _Lane, at: int, piece: NDArray[Any]) -> None:
        rows, length = piece.shape
        pitch = self._pitch_bytes // piece.itemsize if rows > 1 else length
        staged = lane.buffer[: rows * pitch * piece.itemsize].view(piece.dtype).reshape(rows, pitch)
        np.copyto(staged[:, :length], piece)  # without the interpreter's lock
        lane.stream.send(self._target + at, staged)

    def _lane(self) -> _Lane:
        ordinal = self._context.info.ordinal
        with _lock:
            idle = _idle[ordinal]
            found = idle.pop() if idle else None
        return found or _Lane()
