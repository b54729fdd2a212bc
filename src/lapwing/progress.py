"""Watching a solve: a live line on standard error, or the caller's own function."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

# stage, phase, matched rows, bound, best objective, share of the stage that is done; of the problem as minimised
Hook = Callable[..., object]


_WIDTH = 79  # of a terminal, less the column after the last one


@dataclass(frozen=True)
class Progress:
    """The progress of a solve.

    Attributes
    ----------
    stage : str
        A short word: "list", "search", ..., "certify".
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
    remaining : float
        Seconds that the searches of method "core" on a CPU may still take, at their pace so far: right within a factor
        of about two. NaN where nothing is known: before them, and until they have matched half of the rows that they
        found free. The certificate is not counted.
    done : float
        Of the stage, from 0 to 1, where all rows are read: while they are listed, checked or certified. Else NaN.
    """

    stage: str
    phase: int
    matched: int
    rows: int
    bound: float
    objective: float
    seconds: float
    remaining: float = math.nan
    done: float = math.nan

    @property
    def gap(self) -> float:
        """How far the best complete assignment so far may be from the optimum."""
        return abs(self.objective - self.bound)

    def __str__(self) -> str:
        """All of it in a line; where that is longer than a terminal is wide, without the gap and some words."""
        when, what = f"lapwing: {self.seconds:6.1f} s", f"{self.stage} {self.described_phase()}"
        matched, remaining = f"{self.matched}/{self.rows}", self.described_remaining()
        line = f"{when}  {what}  {matched} matched  {self.described_bound()}{remaining}"
        if len(line) <= _WIDTH:
            return line
        bound = self.described_bound(brief=True)
        return f"{when} {what} {matched} {bound}{remaining.replace(' of searches', '')[1:]}"

    def described_phase(self) -> str:
        """How much of the stage is done, where that is known; else its phase."""
        return f"{self.phase}" if math.isnan(self.done) else f"{100 * self.done:.0f} %"

    def described_bound(self, brief: bool = False) -> str:
        """Bound and gap in words, as far as they are known; if brief, the bound alone."""
        bound = f"bound {self.bound:.{7 if brief else 9}g}" if math.isfinite(self.bound) else "no bound yet"
        return f"{bound}  gap {self.gap:.3g}" if math.isfinite(self.gap) and not brief else bound

    def described_remaining(self) -> str:
        """The remaining time as text; empty if it is unknown or less than a second."""
        if not self.remaining >= 1:
            return ""
        if self.remaining < 100:
            return f"  about {self.remaining:.0f} s of searches left"
        minutes = self.remaining / 60
        return f"  about {minutes:.0f} min of searches left" if minutes < 100 else f"  about {minutes / 60:.0f} h left"


class Remaining:
    """Estimates what the searches still take.

    The fewer rows are free, the longer is the search for the next one's column: with f rows free it takes a time of
    about s / f, so that it takes s ln 2 to halve them, however many there are (measured with method "core" on points in
    the plane, where each halving took the same time, from 8000 free rows down to 3). The pace s is that of the last
    halving. Nothing like it holds for the stages before, nor for other methods.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._seen: deque[tuple[int, float]] = deque()  # free rows and when, from twice as many as now on

    def __call__(self, stage: str, free: int, seconds: float) -> float:
        if stage != self._stage or (self._seen and free > self._seen[-1][0]):
            self._stage = stage
            self._seen.clear()
        if stage != "search":
            return math.nan
        if not self._seen or free < self._seen[-1][0]:
            self._seen.append((free, seconds))
        while len(self._seen) > 1 and self._seen[1][0] >= 2 * free:
            self._seen.popleft()
        before, then = self._seen[0]
        if free == 0:
            return 0.0
        if before < 2 * free:
            return math.nan
        pace = (seconds - then) / math.log(before / free)
        return pace * (1 + math.log(free))


class ProgressLine:
    """Prints each report over the last one on a terminal, and as a line a second elsewhere.

    A stream that is missing, closed or full is not written to any more: nothing is lost with it.
    """

    _SECONDS_BETWEEN_LINES = 1.0

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = None if stream is None or stream.closed else stream
        self._live = self._stream is not None and self._stream.isatty()
        self._width = 0
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        text = str(progress)
        if self._live:
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif progress.seconds >= self._next:
            self._write(text + "\n")
            self._next = progress.seconds + self._SECONDS_BETWEEN_LINES

    def close(self) -> None:
        if self._width:
            self._write("\r" + " " * self._width + "\r")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


class Reporter:
    """Turns the reports of a method into `Progress` for `progress=`; a context manager that clears the line.

    `hook` is the function that methods call, or None if no progress is wanted. An exception that
    the caller's function raises stops the solve and reaches the caller. `estimates` tells whether the searches of the
    method fit the model of `Remaining`.
    """

    def __init__(
        self, progress: bool | Callable[..., object], rows: int, maximize: bool, estimates: bool = False
    ) -> None:
        self._line = ProgressLine(sys.stderr) if progress is True else None
        self._target: Callable[..., object] | None = self._line or (progress if callable(progress) else None)
        self._rows = rows  # to be matched
        self._sign = -1.0 if maximize else 1.0
        self._known = -self._sign * math.inf, self._sign * math.inf  # bound and objective so far
        self._start = time.perf_counter()
        self._remaining = Remaining() if estimates else None

    @property
    def hook(self) -> Callable[..., None] | None:
        return None if self._target is None else self.report

    def report(
        self,
        stage: str,
        phase: int,
        matched: int,
        bound: float,
        objective: float = math.inf,
        done: float = math.nan,
    ) -> None:
        if self._target is not None:
            seconds = time.perf_counter() - self._start
            if stage != "certify":
                self._known = self._sign * bound, self._sign * objective
            else:  # the pass over the costs knows no bound but the method's, which comes first
                matched = self._rows
                before = self._known
                self._known = (
                    self._sign * bound if math.isfinite(bound) else before[0],
                    self._sign * objective if math.isfinite(objective) else before[1],
                )
            remaining = math.nan
            if self._remaining is not None:
                remaining = self._remaining(stage, self._rows - matched, seconds)
            self._target(Progress(stage, phase, matched, self._rows, *self._known, seconds, remaining, done))

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line is not None:
            self._line.close()
