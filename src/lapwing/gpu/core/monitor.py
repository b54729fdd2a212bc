"""Watching a solve that runs on the GPU: time limit, progress, Ctrl-C.

The kernel polls a word of device memory (struct HostChannel of kernels/core/control/host_channel.cuh). The host, which
waits anyway, asks the stream whether it is done, sleeps a little, and copies to and from that memory on a stream of
its own: to stop the kernel at the time limit or after an exception, Ctrl-C among them, and to fetch news for
`progress=`.
"""

from __future__ import annotations

import math
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.copies import Mail, OwnStream, pinned
from lapwing.gpu.runtime.device import Context, checked
from lapwing.progress import Hook

_EACH = 32  # bytes of struct Watch; the second is for samples, which are stopped with the rest, but have no news
_BYTES = 2 * _EACH
_MAIL_BYTES = 8192
_GLANCE_BYTES = 512
_NEWS = struct.Struct("@6Id")  # stop, wanted, stage, phase, matched, told; bound
_STAGES = ("list", "auction", "search")
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING
_SECONDS_BETWEEN_NEWS = 0.05
_BUSY_SECONDS = 0.005  # of waiting without sleep, for problems that take no longer
_NAP = 1e-4  # seconds


class Word(Protocol):
    """A report that a kernel writes to the host's memory."""

    @property
    def is_over(self) -> bool:
        """Whether the kernel has written it."""
        ...


class TimeIsUpError(Exception):
    """The time limit stopped a solve; its duals are feasible, and matched pairs tight."""


class _Words:
    """The memory and the stream of one watch; kept for the next, since making them takes longer than small solves."""

    def __init__(self) -> None:
        self.pointer = int(checked(toolkit.driver().cuMemAlloc(_BYTES)))
        self.mail = Mail.of(pinned(_MAIL_BYTES))
        self.glance = Mail.of(pinned(_GLANCE_BYTES))
        self.stream = OwnStream()
        self.mark = checked(toolkit.driver().cuEventCreate(_NO_TIMING))
        self.write(0, b"\0" * _BYTES)

    def write(self, offset: int, values: bytes) -> None:
        self.stream.send(self.pointer + offset, np.frombuffer(values, np.uint8))
        self.stream.synchronize()

    def read(self) -> bytes:
        return self.stream.fetch(self.pointer, _EACH)


_idle: defaultdict[int, list[_Words]] = defaultdict(list)
_lock = threading.Lock()


class Monitor:
    """One solve's watch; a context manager, inside its GPU's context.

    Parameters
    ----------
    context : Context, entered
    deadline : float
        By `time.perf_counter`; infinite for none.
    hook : function or None
        Gets progress about every 50 ms; what it raises stops the solve.

    Attributes
    ----------
    stopped : bool
        Whether whatever runs, or will, has been told to stop.
    limited : bool
        Whether there is a time limit.
    bound : float
        The best bound so far, of the problem as minimised.
    bound_shift : float
        What is to be added to the kernel's bounds.
    serve : function or None
        Called while the host waits, every fraction of a millisecond: gives a kernel what it waits for.
    keep_interval : float
        See `wait`.
    """

    def __init__(
        self,
        context: Context,
        deadline: float = math.inf,
        hook: Hook | None = None,
        keep_interval: float = math.inf,
    ) -> None:
        self._context, self._hook, self._deadline = context, hook, deadline
        self._next_news = time.perf_counter() + _SECONDS_BETWEEN_NEWS
        self.keep_interval: float = keep_interval
        self._next_keep = time.perf_counter() + keep_interval
        self._wanted = 0
        self.stopped: bool = False
        self.limited: bool = deadline < math.inf
        self.bound_shift: float = 0.0
        self.bound: float = -math.inf
        self.serve: Callable[[], None] | None = None
        self._marked = False
        self._pass: tuple[str, float] | None = None  # over all rows: the stage, and how much of it is done

    def __enter__(self) -> Monitor:
        ordinal = self._context.info.ordinal
        with _lock:
            idle = _idle[ordinal]
            self._words = idle.pop() if idle else None
        self._words = self._words or _Words()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._words is None:
            return
        if (
            error is not None or self.stopped
        ) and not self._is_done():  # perhaps after a launch, before the wait for it
            self._end()
        if self.stopped or self._wanted:
            self._words.write(0, b"\0" * _BYTES)
        with _lock:
            _idle[self._context.info.ordinal].append(self._words)
        self._words = None

    def mail(self, first: int, size: int) -> Mail:
        """Memory for what kernels say of a solve; it is there when they have been waited for."""
        assert self._words is not None
        return self._words.mail.part(first, size)

    @property
    def glance(self) -> Mail:
        """Memory for a kernel's report on a few costs."""
        assert self._words is not None
        return self._words.glance

    @property
    def stream(self) -> OwnStream:
        """On which the host copies while a kernel runs."""
        assert self._words is not None
        return self._words.stream

    def pointer(self, sample: bool) -> int:
        """Of the words that a kernel is to look at; `sample`: it solves not the whole problem."""
        assert self._words is not None
        return self._words.pointer + sample * _EACH

    def stop(self, orders: int = 1) -> None:
        """Tell the kernel, and those to come; each gives out so many orders first."""
        assert self._words is not None
        self.stopped = True
        value = np.frombuffer(struct.pack("@I", orders), np.uint8)
        for words in (0, _EACH):
            self._words.stream.send(self._words.pointer + words, value)
        self._words.stream.synchronize()

    @property
    def remaining(self) -> float:
        """Seconds up to the time limit."""
        return max(0.0, self._deadline - time.perf_counter())

    def look_at_the_clock(self) -> None:
        """Stop if the time is up; called before a launch, too, so that a limit of 0 is one."""
        if self.limited and not self.stopped and time.perf_counter() >= self._deadline:
            self.stop()

    def learn(self, bound: float) -> None:
        """A bound of the whole problem, from the kernel."""
        self.bound = max(self.bound, bound + self.bound_shift)

    def mark(self) -> None:
        """Note how far the stream's work has come, for the next `wait`."""
        assert self._words is not None
        self._marked = True
        checked(toolkit.driver().cuEventRecord(self._words.mark, self._context.stream.handle))

    def wait_for(self, word: Word) -> None:
        """Wait for a word of a kernel, but no longer than for the stream or the time limit."""
        began = time.perf_counter()
        while not (word.is_over or self.stopped or self._is_done()):
            if time.perf_counter() - began >= _BUSY_SECONDS:
                time.sleep(_NAP)
            self.look_at_the_clock()

    def wait_in_pass(self, stage: str, done: float) -> None:
        """`wait` while a pass over all rows is under way, of which so much is done."""
        self._pass = stage, done
        try:
            self.wait()
        finally:
            self._pass = None

    def wait(self, sample: bool = False, keep: Callable[[], None] | None = None) -> None:
        """Wait for the stream, or if there was a `mark` since the last time, for what came before it; see `pointer`.

        Every `keep_interval` seconds, and when interrupted, `keep` is called.
        """
        began = time.perf_counter()
        is_done = self._is_at_mark if self._marked else self._is_done
        self._marked = False
        try:
            while not is_done():
                now = time.perf_counter()
                self.look_at_the_clock()
                if self.serve is not None:
                    self.serve()
                if keep is not None and now >= self._next_keep:
                    keep()
                    self._next_keep = time.perf_counter() + self.keep_interval
                if self._hook is not None and now >= self._next_news:
                    self._next_news = now + _SECONDS_BETWEEN_NEWS
                    self._report(self._hook, sample)
                if now - began >= _BUSY_SECONDS:
                    time.sleep(_NAP)
        except BaseException:
            self._end()
            if keep is not None:
                keep()
            raise

    def _end(self) -> None:
        """Stop whatever runs, and wait for that."""
        self.stop()
        began = time.perf_counter()
        while not self._is_done():
            if time.perf_counter() - began >= _BUSY_SECONDS:
                time.sleep(_NAP)

    def finish(self, matched: int, objective: Callable[[], float]) -> None:
        """Pass on the objective, as minimised, which is asked for only if somebody watches."""
        if self._hook is not None:
            reached = objective()
            self._hook(_STAGES[-1], 0, matched, reached, reached)

    def _is_done(self) -> bool:
        return _is_ready(toolkit.driver().cuStreamQuery(self._context.stream.handle))

    def _is_at_mark(self) -> bool:
        assert self._words is not None
        return _is_ready(toolkit.driver().cuEventQuery(self._words.mark))

    def _report(self, hook: Hook, sample: bool) -> None:
        """Pass on the news that was asked for the last time, and ask for more."""
        if self._pass is not None:
            stage_of_pass, done = self._pass
            hook(stage_of_pass, 0, 0, self.bound, math.inf, done)
            return
        assert self._words is not None
        _, _, stage, phase, matched, told, bound = _NEWS.unpack(self._words.read())
        self._wanted += 1
        self._words.write(4, struct.pack("@I", self._wanted))
        if sample:
            hook("sample", 0, 0, self.bound)
        elif not told:
            hook(_STAGES[0], 0, 0, self.bound)
        else:
            self.learn(bound)
            hook(_STAGES[stage], phase, matched, self.bound)


def _is_ready(answer: tuple[Any, ...]) -> bool:
    """The driver's status of a stream or an event."""
    if int(answer[0]) == _NOT_READY:
        return False
    checked(answer)
    return True
