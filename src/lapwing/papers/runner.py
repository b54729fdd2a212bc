"""Measures one table: every method on every instance, every answer compared with a certified one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import instances
from lapwing.methods import METHODS, methods_on
from lapwing.options import name_and_options
from lapwing.papers.tables import PAPERS, Column, Instance, Table

_SAME = 1e-9  # relative; float objectives that agree
_SHORT_SECONDS = 0.1  # solves shorter than this are repeated, and the least time counts
_REPETITIONS = 3


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
    threads : int
    device : str
        As for `lapwing.solve`. On a GPU the time is that of the solve, with the costs in its memory.
    """

    small: bool = False
    largest: int | None = None
    seconds: float = 60.0
    threads: int = 1
    device: str = "cpu"

    def admits(self, table: Table, instance: Instance) -> bool:
        """Whether an instance is run."""
        return not (self.small and instance.n > table.small_n) and not (self.largest and instance.n > self.largest)


def run_table(table: Table, limits: Limits) -> dict[str, Any]:
    """Run a table again.

    Returns
    -------
    dict, as for JSON
        ``rows``: for each instance a cell for each column, with the ``value`` of ours (a dict of shares for "shares"),
        what was ``published``, and a ``remark`` where one is missing; ``fits``: for the counts, the exponent b of
        a n**b by class and column.

    Raises
    ------
    InternalError
        If a method's objective is not that of the certified answer.
    """
    rows, given_up = [], set()
    for instance in table.instances:
        if not limits.admits(table, instance):
            continue
        cells = {}
        solved = [_certified(instance, seed, limits) for seed in range(1, instance.seeds + 1)]
        for column in table.columns:
            cell = _cell(table, column, instance, solved, limits, (instance.cls, column.label) in given_up)
            if cell.get("value") is None and column.method is not None:
                given_up.add((instance.cls, column.label))
            cells[column.label] = cell
        rows.append({"instance": instance.label, "cls": instance.cls, "n": instance.n, "cells": cells})
    return {
        "table": table.name,
        "paper": PAPERS[table.paper],
        "title": table.title,
        "measure": table.measure,
        "source": table.source,
        "note": table.note,
        "small": limits.small,
        "threads": limits.threads,
        "device": limits.device,
        "rows": rows,
        "fits": _fits(table, rows) if table.measure == "rows" else {},
    }


def _certified(instance: Instance, seed: int, limits: Limits) -> tuple[NDArray[Any], float]:
    """The costs, int32 for integers, and their optimum."""
    dtype = np.int32 if instance.cls.startswith("int") else np.float64
    cost = instances.generate(instance.cls, instance.n, seed, dtype=dtype)
    return cost, float(lapwing.solve(cost, threads=limits.threads, device=limits.device).objective)


def _cell(
    table: Table,
    column: Column,
    instance: Instance,
    solved: list[tuple[NDArray[Any], float]],
    limits: Limits,
    given_up: bool,
) -> dict[str, Any]:
    published = table.published.get((instance.label, column.label))
    cell: dict[str, Any] = {"value": None, "published": published}
    if column.method is None:
        return cell | {"remark": "published only"}
    name, _ = name_and_options(column.method)
    if name not in METHODS:
        return cell | {"remark": f"no method {name!r}"}
    if limits.device != "cpu" and name not in methods_on("cuda"):
        return cell | {"remark": "not on a GPU"}
    if given_up:
        return cell | {"remark": "not asked: a smaller one took too long"}
    values = []
    for cost, optimum in solved:
        result, seconds = _timed(cost, column, limits)
        if result.status != "optimal":
            return cell | {"remark": f"not done after {limits.seconds:g} s"}
        if not math.isclose(result.objective, optimum, rel_tol=_SAME, abs_tol=_SAME):
            raise lapwing.InternalError(
                f"method {column.method} found {result.objective} on {instance.label}, where {optimum} is proven"
            )
        values.append(_measured(table.measure, result.statistics, instance.n, seconds))
        if not values[-1]:
            return cell | {"remark": "not counted on a GPU"}
    return cell | {"value": _mean(values)}


def _timed(cost: NDArray[Any], column: Column, limits: Limits) -> tuple[lapwing.Result, float]:
    best = math.inf
    for _ in range(_REPETITIONS):
        start = time.perf_counter()
        result = lapwing.solve(
            cost,
            method=column.method or "auto",
            threads=limits.threads,
            time_limit=limits.seconds,
            certify=False,
            device=limits.device,
        )
        took = time.perf_counter() - start
        best = min(best, took if limits.device == "cpu" else result.statistics["solve_seconds"])
        if best > _SHORT_SECONDS:
            break
    return result, best


def _measured(measure: str, statistics: dict[str, float], n: int, seconds: float) -> Any:
    """None, or nothing, if it was not counted."""
    if measure == "rows":
        if "dense_rows_read" in statistics:
            return statistics["dense_rows_read"] / n
        if "rows_scanned" not in statistics:
            return None
        return (statistics["rows_scanned"] - statistics.get("rows_scanned_start", 0)) / n
    if measure == "path":
        return statistics["path_rows"] / (n * statistics["phases"]) if "path_rows" in statistics else None
    if measure == "shares":
        steps = {name: value for name, value in statistics.items() if name.endswith("_seconds")}
        steps = {name.removesuffix("_seconds"): value for name, value in steps.items() if not _is_whole(name)}
        whole = sum(steps.values()) or 1
        return {name: value / whole for name, value in steps.items()}
    return seconds


def _is_whole(name: str) -> bool:
    return name in ("solve_seconds", "certify_seconds")


def _mean(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: float(np.mean([value[key] for value in values])) for key in values[0]}
    return float(np.mean(values))


def _fits(table: Table, rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The exponents of the powers that fit rows evaluated best, as functions of n."""
    fits: dict[str, dict[str, float]] = {}
    for cls in dict.fromkeys(row["cls"] for row in rows):
        for column in table.columns:
            points = [(row["n"], row["cells"][column.label]["value"]) for row in rows if row["cls"] == cls]
            points = [(n, n * value) for n, value in points if value]
            if len(points) >= 2:
                x, y = np.log(np.array(points, dtype=float)).T
                fits.setdefault(cls, {})[column.label] = float(np.polyfit(x, y, 1)[0])
    return fits
