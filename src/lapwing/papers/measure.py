"""Solves of one run of the tables: each method on each instance once, whatever tables have it.

A result counts if its objective is that of a certified answer. Times of a CPU are of the whole call, times of a GPU of
the solve, after a first solve that compiles; they hold the wait for the costs, which are copied from the host.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import instances
from lapwing.costs.streamed import physical_limit
from lapwing.methods import methods_on
from lapwing.options import name_and_options
from lapwing.papers.tables import Column, Instance

_SAME = 1e-9  # relative; float objectives that agree
_SHORT_SECONDS = 0.1  # solves shorter than this are repeated, and the least time counts
_REPETITIONS = 3
_SHARES = 3  # equal shares of the time left that one table may take: later ones have many of its solves
_ROWS_AT_ONCE = 64  # of a matrix that is made, a thread each


@dataclass(frozen=True)
class Solved:
    """The measurements of one solve."""

    objective: float
    seconds: float
    n: int
    statistics: dict[str, float]


def _rows(solved: Solved) -> float | None:
    found = solved.statistics
    if "dense_rows_read" in found:
        return found["dense_rows_read"]
    return found["rows_scanned"] - found.get("rows_scanned_start", 0) if "rows_scanned" in found else None


def _shares(solved: Solved) -> dict[str, float] | None:
    whole = ("solve_seconds", "certify_seconds")
    steps = {name.removesuffix("_seconds"): value for name, value in solved.statistics.items()
             if name.endswith("_seconds") and name not in whole}  # fmt: skip
    total = sum(steps.values())
    return {name: value / total for name, value in steps.items()} if total > 0 else None


def _covers(solved: Solved) -> float | None:
    found = solved.statistics.get("iterations")
    return None if found is None else found + 1


#: The figures that a column may measure; None if the method does not count it.
QUANTITIES: dict[str, Callable[[Solved], Any]] = {
    "time": lambda solved: solved.seconds,
    "objective": lambda solved: solved.objective,
    "rows": _rows,
    "shares": _shares,
    "covers": _covers,
    "one": lambda _: 1.0,
}


def quantity(name: str, solved: Solved) -> Any:
    """A key of `QUANTITIES`, "statistic NAME" or "seconds NAME", of a solve."""
    if name in QUANTITIES:
        return QUANTITIES[name](solved)
    kind, _, word = name.partition(" ")
    counted = word.startswith("matched_by_") and "matched_before_update" in solved.statistics
    return solved.statistics.get(word if kind == "statistic" else f"{word}_seconds", 0.0 if counted else None)


@dataclass(frozen=True)
class Limits:
    """How much is run.

    Attributes
    ----------
    small : bool
        Only the instances up to each table's `small_n`.
    largest : int or None
        No instance above this.
    seconds : float
        A solve is given up after so long, and the method is not asked for larger instances of the class.
    budget : float
        Seconds after which nothing else is solved; no table takes all of it (`Measurements.share`).
    threads : int
    device : str
        As for `lapwing.solve`.
    """

    small: bool = False
    largest: int | None = None
    seconds: float = 60.0
    budget: float = math.inf
    threads: int = 1
    device: str = "cpu"


class NotMeasuredError(Exception):
    """Why there is no figure of ours."""


@dataclass
class Measurements:
    """The solves of a run.

    Raises
    ------
    InternalError
        By `of`, if a method's objective is not that of the certified answer.
    """

    limits: Limits
    _end: float = field(init=False)  # of all, and of the table that is run
    _until: float = field(init=False)
    _solved: dict[tuple[Any, ...], Solved | str] = field(default_factory=dict)
    _given_up: dict[tuple[Any, ...], int] = field(default_factory=dict)  # the size that took too long
    _optima: dict[tuple[Any, ...], float] = field(default_factory=dict)
    _warm: set[tuple[Any, ...]] = field(default_factory=set)
    _last: tuple[Any, NDArray[Any] | None] = (None, None)

    def __post_init__(self) -> None:
        self._until = self._end = time.monotonic() + self.limits.budget

    def share(self, tables: int) -> None:
        """Let the table that comes next take its share of the time, where so many are left."""
        now = time.monotonic()
        self._until = now + (self._end - now) * min(1.0, _SHARES / tables)

    def of(self, column: Column, instance: Instance) -> list[Solved]:
        """The solves of a column's method on an instance, a seed each.

        Raises
        ------
        NotMeasuredError
        """
        device, threads = self._where(column)
        name, _ = name_and_options(column.method or "")
        if device != "cpu" and name not in methods_on("cuda"):
            raise NotMeasuredError("not on a GPU")
        if device == "cpu" and threads > (os.cpu_count() or 1):
            raise NotMeasuredError(f"needs {threads} cores")
        return [self._solve(column, instance, seed, device, threads) for seed in range(1, instance.seeds + 1)]

    def _where(self, column: Column) -> tuple[str, int]:
        """Device and threads."""
        if column.device == "cuda" and self.limits.device == "cpu":
            raise NotMeasuredError("on a GPU")
        device = self.limits.device if column.device != "cpu" else "cpu"
        return device, (column.threads or self.limits.threads) if device == "cpu" else 1

    def _solve(self, column: Column, instance: Instance, seed: int, device: str, threads: int) -> Solved:
        solver = (instance.cls, str(column.method), device, threads)
        key = (*solver, instance.n, seed)
        if key not in self._solved:
            if instance.n >= self._given_up.get(solver, math.inf):
                raise NotMeasuredError("not asked: a smaller one took too long")
            if (size := instance.n**2 * _dtype(instance)().itemsize) > physical_limit():
                raise NotMeasuredError(f"a matrix of {size / 1e9:.0f} GB")
            if time.monotonic() > self._until:
                raise NotMeasuredError("no time was left")
            self._solved[key] = self._measure(column, instance, seed, device, threads)
        found = self._solved[key]
        if isinstance(found, str):
            self._given_up[solver] = min(instance.n, self._given_up.get(solver, instance.n))
            raise NotMeasuredError(found)
        return found

    def _measure(self, column: Column, instance: Instance, seed: int, device: str, threads: int) -> Solved | str:
        cost = self._costs(instance, seed)
        optimum = self._optimum(instance, seed)
        warmed = (str(column.method), device, cost.dtype.str)
        if device != "cpu" and warmed not in self._warm:
            self._once(column, cost[:64, :64].copy(), device, threads)
            self._warm.add(warmed)
        best, result = math.inf, None
        for _ in range(_REPETITIONS):
            result, took = self._once(column, cost, device, threads)
            best = min(best, took)
            if best > _SHORT_SECONDS:
                break
        assert result is not None
        if result.status != "optimal":
            return f"not done after {self.limits.seconds:g} s"
        if not math.isclose(result.objective, optimum, rel_tol=_SAME, abs_tol=_SAME):
            raise lapwing.InternalError(
                f"method {column.method} found {result.objective} on {instance.label}, where {optimum} is proven"
            )
        return Solved(result.objective, best, instance.n, dict(result.statistics))

    def _once(self, column: Column, cost: NDArray[Any], device: str, threads: int) -> tuple[lapwing.Result, float]:
        start = time.perf_counter()
        result = lapwing.solve(
            cost,
            method=column.method or "auto",
            threads=threads if device == "cpu" else None,
            time_limit=self.limits.seconds,
            certify=False,
            device=device,
        )
        took = time.perf_counter() - start
        return result, took if device == "cpu" else result.statistics["solve_seconds"]

    def _costs(self, instance: Instance, seed: int) -> NDArray[Any]:
        """int32 for integers; the last ones are kept."""
        key = (instance.cls, instance.n, seed)
        if self._last[0] != key:
            self._last = (None, None)  # before others are made
            self._last = (key, _made(instance, seed, _dtype(instance)))
        assert self._last[1] is not None
        return self._last[1]

    def _optimum(self, instance: Instance, seed: int) -> float:
        key = (instance.cls, instance.n, seed)
        if key not in self._optima:
            limits = self.limits
            threads = limits.threads if limits.device == "cpu" else None
            result = lapwing.solve(self._costs(instance, seed), threads=threads, device=limits.device)
            self._optima[key] = float(result.objective)
        return self._optima[key]


def _dtype(instance: Instance) -> type[np.int32] | type[np.float64]:
    return np.int32 if instance.cls.startswith("int") else np.float64


def _made(instance: Instance, seed: int, dtype: type) -> NDArray[Any]:
    """The matrix of an instance, made by all cores."""
    n = instance.n
    made: NDArray[Any] = np.empty((n, n), dtype)

    def fill(first: int) -> None:
        rows = np.arange(first, min(first + _ROWS_AT_ONCE, n))
        made[first : first + _ROWS_AT_ONCE] = instances.block(instance.cls, n, seed, rows, np.arange(n), dtype=dtype)

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, n, _ROWS_AT_ONCE)))
    return made
