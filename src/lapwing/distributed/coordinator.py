"""The rank that solves: it orders, the owners of the rows follow, and every order ends with an answer of each of them.

An owner that fails answers with its error, so all are ready for the next message when the coordinator raises it. An
owner whose connection fails is gone: no order is sent any more, and the others are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.distributed.channel import Channel, Interrupts
from lapwing.distributed.messages import Message, error_of, failure
from lapwing.distributed.shard import Shard
from lapwing.errors import GroupError

_PING_SECONDS: Final = 2.0  # between two looks at the owners while a search needs none of them


class Coordinator:
    """Sends orders to the owners of rows, of which this process is one.

    Parameters
    ----------
    channel : Channel
        Of rank 0.
    shard : Shard
        Of this rank.
    interrupts : Interrupts

    Attributes
    ----------
    begins : (size + 1,) int64
        The first row of each rank, and the number of all rows.
    """

    begins: NDArray[np.int64]

    def __init__(self, channel: Channel, shard: Shard | None, interrupts: Interrupts) -> None:
        self.size: int = channel.size
        self.shard: Shard | None = shard
        self._channel, self._interrupts = channel, interrupts
        self._gone: dict[int, GroupError] = {}
        self._next_ping = 0.0

    def owners_of(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """The rank of each row."""
        owners: NDArray[np.int64] = np.searchsorted(self.begins, rows, side="right") - 1
        return owners

    def ask(self, orders: Mapping[int, Message], meanwhile: Callable[[], None] | None = None) -> dict[int, Message]:
        """Have orders followed by several ranks at once; `meanwhile` is called when they have been sent.

        Raises
        ------
        GroupError
            If a rank is gone.
        Exception
            The error that a rank answered; if several did, that of the first rank.
        """
        if self._gone:
            raise next(iter(self._gone.values()))
        with self._interrupts.put_off():
            others = [rank for rank in orders if rank != 0]
            sent = self._send({rank: orders[rank] for rank in others})
            own: BaseException | None = None
            answers: dict[int, Message] = {}
            try:
                if meanwhile is not None:
                    meanwhile()
                if 0 in orders:
                    assert self.shard is not None
                    answers[0] = self.shard.follow(orders[0])
            except BaseException as error:
                own = error
            self._wait(sent)
            answers |= self.receive(others)
        if own is not None:
            raise own
        if self._gone:
            raise next(iter(self._gone.values()))
        for rank in sorted(answers):
            if answers[rank].kind == "failure":
                raise error_of(answers[rank])
        self._next_ping = time.monotonic() + _PING_SECONDS
        return answers

    def receive(self, ranks: Iterable[int]) -> dict[int, Message]:
        """The next message of each of these ranks but those that are gone."""
        answers = {}
        for rank in ranks:
            if rank in self._gone:
                continue
            try:
                answers[rank] = self._channel.receive(rank)
            except GroupError as error:
                self._gone[rank] = error
        return answers

    def tell(self, messages: Mapping[int, Message]) -> None:
        """Send messages without replies to the ranks that are connected."""
        with self._interrupts.put_off():
            self._wait(self._send({rank: messages[rank] for rank in messages if rank != 0}))

    def tell_all(self, error: BaseException) -> None:
        """End the solve of the other ranks with an error."""
        self.tell(dict.fromkeys(range(1, self.size), failure(error, 0)))

    @property
    def lost(self) -> GroupError | None:
        """The error of a rank that is gone, if there is one."""
        return next(iter(self._gone.values()), None)

    def look_after(self) -> None:
        """Ask the owners whether they are there, now and then; called while a search runs."""
        if time.monotonic() >= self._next_ping:
            self.ask(dict.fromkeys(range(1, self.size), Message("ping")))

    def _send(self, messages: Mapping[int, Message]) -> dict[int, Any]:
        return {rank: sent for rank in messages if (sent := self._try(rank, self._sending(rank, messages[rank])))}

    def _sending(self, rank: int, message: Message) -> Callable[[], Any]:
        return lambda: self._channel.send(rank, message)

    def _wait(self, sent: Mapping[int, Any]) -> None:
        for rank, sending in sent.items():
            self._try(rank, sending.wait)

    def _try(self, rank: int, action: Callable[[], Any]) -> Any:
        if rank in self._gone:
            return None
        try:
            return action()
        except GroupError as error:
            self._gone[rank] = error
            return None
