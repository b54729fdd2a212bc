"""Watching a solve: a live line on standard error, or the caller's own function."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """Where a solve stands.

    Attributes
    ----------
    stage : str
        A short word: "list", "search", ...
    phase : int
        Of the stage.
    matched, rows : int
        Rows that have a column now, of how many (of the smaller side).
    bound : float
        The optimum is not below it (not above it when maximising); infinite before anything is known.
    objective : float
        Of the best complete assignment so far; infinite before there is one.
    seconds : float
        Since the start.
    """

    stage: str
    phase: int
    matched: int
    rows: int
    bound: float
    objective: float
    seconds: float

    @property
    def gap(self) -> float:
        """How far the best complete assignment so far may be from the optimum."""
        return abs(self.objective - self.bound)

    def __str__(self) -> str:
        return (
            f"lapwing: {self.seconds:6.1f} s  {self.stage} {self.phase}  {self.matched}/{self.rows} matched  "
            f"{self.described_bound()}"
        )

    def described_bound(self) -> str:
        """Bound and gap in words, as far as they are known."""
        bound = f"bound {self.bound:.9g}" if math.isfinite(self.bound) else "no bound yet"
        return f"{bound}  gap {self.gap:.3g}" if math.isfinite(self.gap) else bound


class ProgressLine:
    """Prints each report over the last one on a terminal, and as a line a second elsewhere."""

    _SECONDS_BETWEEN_LINES = 1.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._width = 0
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        text = str(progress)
        if self._live:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif progress.seconds >= self._next:
            self._stream.write(text + "\n")
            self._next = progress.seconds + self._SECONDS_BETWEEN_LINES
        self._stream.flush()

    def close(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


class Reporter:
    """Turns what a method reports into `Progress` for `progress=`; a context manager that tidies the line away.

    `hook` is what the methods call, or None if nobody watches. An exception that the caller's function raises stops the
    solve and reaches the caller.
    """

    def __init__(self, progress: bool | Callable[..., object], rows: int, maximize: bool) -> None:
        self._line = ProgressLine(sys.stderr) if progress is True else None
        self._target: Callable[..., object] | None = self._line or (progress if callable(progress) else None)
        self._rows = rows  # to be matched
        self._sign = -1.0 if maximize else 1.0
        self._start = time.perf_counter()

    @property
    def hook(self) -> Callable[..., None] | None:
        return None if self._target is None else self.report

    def report(self, stage: str, phase: int, matched: int, bound: float, objective: float = math.inf) -> None:
        if self._target is not None:
            seconds = time.perf_counter() - self._start
            values = self._sign * bound, self._sign * objective
            self._target(Progress(stage, phase, matched, self._rows, *values, seconds))

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line is not None:
            self._line.close()
