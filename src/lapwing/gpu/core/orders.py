"""Orders of a running solve to the GPUs that have its rows (kernels/core/lists/owners.cuh).

The coordinator posts the rows in a word of the first GPU's memory, which the host polls while it waits. It launches the
listing on the other GPUs, on streams of their own, since work on the others may have been launched that waits for the
solve; and answers when the lists have come. Copies of the driver from the first GPU could wait for it, so the kernels
fetch prices and send lists themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.costs.sharded import ORDER_BYTES
from lapwing.gpu.runtime.copies import OwnStream, fill_bytes
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel

_ORDER = struct.Struct("@Q3I")  # list, count, asked, answered
_ANSWERED = 16  # bytes before it
_SMALL_BLOCK = 256

Arguments = tuple[int, ...]  # of a problem


@cache
def _stream_of(ordinal: int) -> OwnStream:
    """A stream for orders, kept until the process ends; called in a context of that GPU."""
    return OwnStream()


class Clerk:
    """One of the other GPUs: a context with a stream for orders, its kernels, and the first arguments of these."""

    def __init__(
        self, context: Context, load: Callable[[Context], dict[str, Kernel]], arguments: Arguments, threads: int
    ) -> None:
        with context:
            self._stream = _stream_of(context.info.ordinal)
        self._context = Context(context.info.ordinal, int(self._stream.handle))
        self._kernels = load(self._context)
        self._arguments, self._threads = arguments, threads
        self.begin(0, 0, 0, (0, 0, 0))  # a kernel is loaded when it is first launched, which may wait for the solve

    def begin(self, prices: int, rows: int, count: int, targets: Sequence[int]) -> None:
        """Launch the listing of those of so many rows that are here."""
        with self._context as context:
            processors = context.info.processors
            self._kernels["take_prices"].launch(context, processors, _SMALL_BLOCK, *self._arguments, prices)
            self._kernels["list_ordered"].launch(
                context, max(1, min(count, 2 * processors)), self._threads, *self._arguments, rows, count, *targets
            )

    def finish(self) -> None:
        """Wait for it."""
        with self._context:
            self._stream.synchronize()


class Orders:
    """The orders of one solve.

    Parameters
    ----------
    context : Context
        Of the first GPU.
    monitor : Monitor
    order : int
        Address of struct Order.
    clerks : list of Clerk
    prices : int
        Address of v on the first GPU.
    targets : addresses
        Of its lists' columns and costs, and of tau.
    """

    def __init__(
        self,
        context: Context,
        monitor: Monitor,
        order: int,
        clerks: Sequence[Clerk],
        prices: int,
        targets: Sequence[int],
    ) -> None:
        self._context, self._monitor, self._order = context, monitor, order
        self._clerks, self._prices, self._targets = clerks, prices, targets
        self.answered: int = 0

    def forget(self) -> None:
        """In the order of the stream: nothing is ordered."""
        fill_bytes(self._context, self._order, 0, ORDER_BYTES)

    def serve(self) -> bool:
        """Follow an order, if there is one."""
        stream = self._monitor.stream
        _, _, asked, answered = _ORDER.unpack(stream.fetch(self._order, _ORDER.size))
        if asked == answered:
            return False
        rows, count, *_ = _ORDER.unpack(stream.fetch(self._order, _ORDER.size))  # written before `asked`
        for clerk in self._clerks:
            clerk.begin(self._prices, rows, count, self._targets)
        for clerk in self._clerks:
            clerk.finish()
        stream.send(self._order + _ANSWERED, np.array([asked], np.uint32))
        stream.synchronize()
        self.answered += 1
        return True
