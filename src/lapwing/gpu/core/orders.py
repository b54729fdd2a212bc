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
from lapwing.gpu.runtime.peers import order

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
        order(context, self._context)  # where the arguments' memory was allocated
        with self._context:
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
    address : int
        Of struct Order.
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
        address: int,
        clerks: Sequence[Clerk],
        prices: int,
        targets: Sequence[int],
    ) -> None:
        self._context, self._monitor, self._order = context, monitor, address
        self._clerks, self._prices, self._targets = clerks, prices, targets
        self.answered: int = 0
        self._forget()

    def _forget(self) -> None:
        """Nothing is ordered; waits, since the host reads the order on a stream of its own."""
        fill_bytes(self._context, self._order, 0, ORDER_BYTES)
        self._context.synchronize()

    def end(self) -> None:
        """After a kernel has ended: one that was stopped may have left an order that nobody needs."""
        if self._fetch() is not None:
            self._forget()

    def _fetch(self) -> int | None:
        """The number of the order that waits for an answer, if any."""
        _, _, asked, answered = _ORDER.unpack(self._monitor.stream.fetch(self._order, _ORDER.size))
        return None if asked == answered else asked

    def serve(self) -> bool:
        """Follow an order, if there is one."""
        asked, stream = self._fetch(), self._monitor.stream
        if asked is None:
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
