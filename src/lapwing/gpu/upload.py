"""A matrix from the host's memory to the GPU's, as fast as the link allows, without a copy of it on the host.

What a program allocates can be moved by the system, so that a GPU cannot read it by itself: the driver copies it
piece by piece, in one thread, at a fraction of the link's speed. Here several threads do that, each through two pinned
buffers of its own: one is filled while the other is sent. Long lines (rows, or columns where these are contiguous)
come to lie at multiples of 16 bytes, so that kernels read 16 bytes at once.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.arrays import ANY, ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.copies import OwnStream, pinned
from lapwing.gpu.device import Context

_BUFFER_BYTES = 8 << 20
_MOST_THREADS = 8
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


def placed(context: Context, matrix: NDArray[Any]) -> GpuArray:
    """A host matrix as it will lie on the GPU, without memory yet: lines in one piece each."""
    dtype = matrix.dtype.name
    item = ITEM_BYTES[dtype]
    by_columns = _by_columns(matrix)
    length = matrix.shape[0] if by_columns else matrix.shape[1]
    pitch = -(-length * item // _ALIGNMENT) * _ALIGNMENT // item if length * item >= _ALIGNED_FROM else length
    strides = (1, pitch) if by_columns else (pitch, 1)
    place = context.info.ordinal, context.stream_handle
    return GpuArray(None, 0, matrix.shape, strides, dtype, *place, ANY)


def upload(context: Context, matrix: NDArray[Any]) -> GpuArray:
    """Copy a host matrix, (m, n) with unit stride along one axis, to the GPU; it may be changed once this returns."""
    view = placed(context, matrix)
    lines = matrix.T if _by_columns(matrix) else matrix
    pitch = max(view.strides) if min(matrix.shape) > 0 else 0
    memory = empty_array(context, (max(len(lines) * pitch * lines.itemsize, 1),), "uint8")
    context.synchronize()  # other streams will write there
    threads = min(copying_threads(), -(-memory.nbytes // (2 * _BUFFER_BYTES)))
    Copier(context, lines, memory.pointer, pitch * lines.itemsize).run(threads)
    return GpuArray(memory, memory.pointer, *_rest(view))


def _rest(view: GpuArray) -> tuple[Any, ...]:
    return view.shape, view.strides, view.dtype, view.ordinal, view.stream, view.library


def _by_columns(matrix: NDArray[Any]) -> bool:
    down, across = matrix.strides
    return down == matrix.itemsize and (across != matrix.itemsize or matrix.shape[1] == 1)


def copying_threads() -> int:
    """That keep the link busy."""
    return min(_MOST_THREADS, os.cpu_count() or 1)


class Copier:
    """One matrix on its way.

    Parameters
    ----------
    context : Context
    lines : array or the like
        With a shape, an itemsize, and arrays for ``lines[rows, places]``, both slices.
    target, pitch_bytes : int
        Where the first line begins, and from line to line.
    """

    def __init__(self, context: Context, lines: Any, target: int, pitch_bytes: int) -> None:
        self.context, self.lines, self.target, self.pitch_bytes = context, lines, target, pitch_bytes
        self.cancelled, self.piece_bytes = False, _BUFFER_BYTES

    def run(self, threads: int, pool: ThreadPoolExecutor | None = None) -> None:
        """By so many threads, of a pool that is kept, if there is one."""
        if threads <= 1:
            return self._copy_share(0, 1)
        share = -(-self.lines.shape[0] * self.pitch_bytes // threads)
        self.piece_bytes = min(_BUFFER_BYTES, -(-share // 2))
        pool = pool or ThreadPoolExecutor(threads)
        shares = [pool.submit(self._copy_share, k, threads) for k in range(threads)]
        try:
            for share in shares:
                share.result()
        except BaseException:  # Ctrl-C among them
            self.cancelled = True
            wait(shares)
            raise
        return None

    def _pieces(self) -> Iterator[_Piece]:
        """Whole lines, as many as fit a buffer; or pieces of a line that does not."""
        count, length = self.lines.shape
        at_once = self.piece_bytes // max(self.pitch_bytes, 1) or 1
        if self.pitch_bytes <= _BUFFER_BYTES:
            for first in range(0, count, at_once):
                yield first * self.pitch_bytes, slice(first, min(first + at_once, count)), slice(0, length)
            return
        part = _BUFFER_BYTES // self.lines.itemsize
        for line in range(count):
            for first in range(0, length, part):
                at = line * self.pitch_bytes + first * self.lines.itemsize
                yield at, slice(line, line + 1), slice(first, min(first + part, length))

    def _copy_share(self, first: int, step: int) -> None:
        """Every `step`-th piece."""
        with self.context:
            lanes = [self._lane(), self._lane()]
            try:
                for k, (at, rows, places) in enumerate(islice(self._pieces(), first, None, step)):
                    if self.cancelled:
                        break
                    self._send(lanes[k % 2], at, self.lines[rows, places])
            finally:
                for lane in lanes:
                    lane.stream.synchronize()
                with _lock:
                    _idle[self.context.info.ordinal] += lanes

    def _send(self, lane: _Lane, at: int, piece: NDArray[Any]) -> None:
        lane.stream.synchronize()
        rows, length = piece.shape
        pitch = self.pitch_bytes // piece.itemsize if rows > 1 else length
        staged = lane.buffer[: rows * pitch * piece.itemsize].view(piece.dtype).reshape(rows, pitch)
        np.copyto(staged[:, :length], piece)  # without the interpreter's lock
        lane.stream.send(self.target + at, staged)

    def _lane(self) -> _Lane:
        ordinal = self.context.info.ordinal
        with _lock:
            idle = _idle[ordinal]
            found = idle.pop() if idle else None
        return found or _Lane()
