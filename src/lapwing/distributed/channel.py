"""Messages between the ranks of a `torch.distributed` group, point to point, between host memories.

Rank 0 of the group is the coordinator, and every other rank exchanges messages with it alone. So a rank waits for the
coordinator only, and the coordinator for a rank that owes an answer. If a process dies, its connection fails at once,
and the coordinator informs all others. In a collective, ranks could wait for a rank that waits for the dead one.
Messages go over gloo. A group of another backend (NCCL) gets a companion of gloo with the same ranks when it is first
used.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.distributed.messages import HEAD_BYTES, Message, body_bytes, decoded
from lapwing.errors import ArgumentError, GroupError, MissingPackageError

try:
    import torch
    import torch.distributed as dist
except ImportError as missing:
    raise MissingPackageError("lapwing.distributed needs PyTorch: pip install torch") from missing

_TAG: Final = 0x1A9  # of our messages: others' of the same group do not meet them
_companions: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Channel:
    """The messages of one rank.

    Attributes
    ----------
    rank, size : int
        This rank, and how many there are, within the group.

    Raises
    ------
    ArgumentError
        If there is no group, this process is not in it, or no backend can carry messages.
    """

    def __init__(self, group: Any = None) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise ArgumentError(
                "torch.distributed has no process group: start the program with torchrun, and call "
                "torch.distributed.init_process_group() first"
            )
        chosen = dist.group.WORLD if group is None else group
        self.rank: int = dist.get_rank(chosen)
        if self.rank < 0:
            raise ArgumentError("this process is not in the group: only the group's ranks call solve")
        self.size: int = dist.get_world_size(chosen)
        self._group = _over_gloo(chosen)
        self._ranks = dist.get_process_group_ranks(chosen)

    def send(self, to: int, message: Message) -> Sending:
        """Begin to send."""
        return Sending(self, to, message)

    def receive(self, source: int) -> Message:
        """Wait for a rank's next message.

        Raises
        ------
        GroupError
            If that rank is gone.
        """
        head = self._received(np.empty(HEAD_BYTES, np.uint8), source)
        size = body_bytes(head)
        body = np.empty(size, np.uint8)
        return decoded(head, self._received(body, source) if size else body)

    def _received(self, part: NDArray[np.uint8], source: int) -> NDArray[np.uint8]:
        with self.watching(source):
            work: Any = dist.irecv(torch.from_numpy(part), self._ranks[source], group=self._group, tag=_TAG)
            work.wait()
        return part

    def begin(self, part: NDArray[np.uint8], to: int) -> Any:
        """Begin to send bytes."""
        with self.watching(to):
            return dist.isend(torch.from_numpy(part), self._ranks[to], group=self._group, tag=_TAG)

    @contextmanager
    def watching(self, rank: int) -> Iterator[None]:
        """Turns failures of the connection to a rank into `GroupError`."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            first = (str(error).splitlines() or [""])[0]
            raise GroupError(
                f"rank {rank} of the group does not answer: its process has ended, or the group's timeout is over "
                f"({first}); look at its output, make a new group and solve again"
            ) from error


class Sending:
    """A message on its way: its memory must stay until it has been sent."""

    def __init__(self, channel: Channel, to: int, message: Message) -> None:
        self._channel, self._to = channel, to
        self._parts = message.encoded()
        self._works = [channel.begin(part, to) for part in self._parts]

    def wait(self) -> None:
        """Wait until it has been sent.

        Raises
        ------
        GroupError
        """
        with self._channel.watching(self._to):
            for work in self._works:
                work.wait()


def _over_gloo(group: Any) -> Any:
    """The group itself, or its companion."""
    if dist.get_backend(group) == dist.Backend.GLOO:
        return group
    if not dist.is_gloo_available():
        raise ArgumentError(
            f"the group's backend is {dist.get_backend(group)!r}, and this PyTorch has no gloo to carry messages "
            "between the hosts: install one that has"
        )
    if group not in _companions:
        ranks = dist.get_process_group_ranks(group)
        _companions[group] = dist.new_group(ranks, backend=dist.Backend.GLOO, use_local_synchronization=True)
    return _companions[group]


class Interrupts:
    """Ctrl-C, put off while ranks exchange messages, so that none is lost half-way; a context manager.

    Elsewhere, and on other threads than the main one, Python's own handler acts as ever.
    """

    def __init__(self) -> None:
        self._putting_off = 0
        self._previous: Any = None
        self.pending: bool = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._previous = before
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            if self.pending and error[0] is None:
                self._deliver()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pending = True
        if not self._putting_off:
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None = None) -> None:
        self.pending = False
        self._previous(signal.SIGINT, frame)

    @contextmanager
    def put_off(self) -> Iterator[None]:
        """Until the end of this block."""
        self._putting_off += 1
        try:
            yield
        finally:
            self._putting_off -= 1
        if self.pending and not self._putting_off:
            self._deliver()

    def raise_if_pending(self) -> None:
        """Raise what was put off, at a place where that is handled."""
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt
