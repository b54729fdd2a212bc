"""Runs a table: for each instance a cell for each column, with the printed figure and ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.papers.measure import Limits, Measurements, NotMeasuredError, quantity
from lapwing.papers.published import paper
from lapwing.papers.tables import SECONDS, Column, Instance, Table


def run_table(table: Table, measured: Measurements | Limits) -> dict[str, Any]:
    """Run a table again.

    Returns
    -------
    dict, as for JSON
        ``rows``: for each instance a cell for each column, with the ``value`` of ours in the table's unit (a dict for
        shares), what was ``published``, and a ``remark`` where ours is missing. Lines that are larger than the run have
        what was published alone. ``fits``: of counts of rows, the power of n that fits them best, by class and column.

    Raises
    ------
    InternalError
        If a method's objective is not that of the certified answer.
    """
    measured = Measurements(measured) if isinstance(measured, Limits) else measured
    limits = measured.limits
    most = min(limits.largest or math.inf, table.small_n if limits.small else math.inf)
    instances = [instance for instance in table.instances if instance.n <= most or instance.printed]
    ours = {}
    for k in sorted(range(len(instances)), key=lambda k: instances[k].n):  # what ends early lacks the largest of each
        ours[k] = _cells(table, instances[k], measured if instances[k].n <= most else None)
    rows = [
        {"instance": instance.label, "cls": instance.cls, "n": instance.n, "cells": ours[k]}
        for k, instance in enumerate(instances)
    ]
    return {
        "table": table.name,
        "paper": paper(table.paper).citation,
        "title": table.title,
        "unit": table.unit,
        "their_machine": table.machine,
        "note": table.note,
        "small": limits.small,
        "threads": limits.threads,
        "device": limits.device,
        "shown": [column.label for column in table.columns if column.shown],
        "rows": rows,
        "fits": _fits(table, rows) if table.unit == "rows" else {},
    }


def _cells(table: Table, instance: Instance, measured: Measurements | None) -> dict[str, dict[str, Any]]:
    """Of one line; without measurements what was published."""
    cells: dict[str, dict[str, Any]] = {}
    for column in table.columns:
        printed = instance.printed.get(column.printed) if column.printed else None
        cells[column.label] = {"published": printed} | _ours(table, column, instance, measured, cells)
    return cells


def _ours(
    table: Table, column: Column, instance: Instance, measured: Measurements | None, cells: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The value, or why there is none."""
    nothing: dict[str, Any] = {"value": None}
    if column.formed:
        kind, first, second = column.formed
        one, other = cells[first]["value"], cells[second]["value"]
        if one is None or other is None:
            return nothing | {"remark": cells[first if one is None else second]["remark"]}
        return {"value": one - other if kind == "difference" else one / other if other else math.inf}
    if column.method is None:
        return nothing | {"remark": column.remark}
    if instance.gpus > 1:
        return nothing | {"remark": column.remark}
    if measured is None:
        return nothing | {"remark": "larger than this run"}
    try:
        values = [quantity(column.quantity, solved) for solved in measured.of(column, instance)]
    except NotMeasuredError as why:
        return nothing | {"remark": str(why)}
    if any(value is None for value in values):
        return nothing | {"remark": "not counted"}
    timed = column.quantity == "time" or column.quantity.startswith("seconds")
    return {"value": _mean(values, SECONDS.get(table.unit, 1.0) if timed else 1.0)}


def _mean(values: list[Any], scale: float) -> Any:
    if isinstance(values[0], dict):
        return {key: float(np.mean([value[key] for value in values])) for key in values[0]}
    return float(np.mean(values)) * scale


def _fits(table: Table, rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of the counts of each class and column the power of n with the least squares, beside the printed one."""
    fits: dict[str, dict[str, Any]] = {}
    printed = table.printed
    for cls in dict.fromkeys(row["cls"] for row in rows):
        for column in table.columns:
            points = [(row["n"], row["cells"][column.label]["value"]) for row in rows if row["cls"] == cls]
            known = [(n, value) for n, value in points if value]
            theirs = printed.fits.get((cls, column.printed)) if printed else None
            ours = fit_power(*np.array(known, dtype=float).T) if len(known) > 1 else None
            fits.setdefault(cls, {})[column.label] = {"published": theirs, "value": ours}
    return fits


def fit_power(n: NDArray[np.float64], counts: NDArray[np.float64]) -> tuple[float, float, float]:
    """(factor, power, error): factor n**power with the least squares to the counts themselves.

    The error is the root of the mean square over the mean count, in per cent.
    """
    scaled = n / n.max()

    def factor_and_rest(power: float) -> tuple[float, float]:
        shape = scaled**power
        factor = float(counts @ shape / (shape @ shape))
        return factor, float(np.sum((counts - factor * shape) ** 2))

    low, high = 0.0, 4.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if factor_and_rest(left)[1] < factor_and_rest(right)[1]:
            high = right
        else:
            low = left
    power = (low + high) / 2
    factor, rest = factor_and_rest(power)
    error = 100 * math.sqrt(rest / len(n)) / float(counts.mean())
    return factor / float(n.max()) ** power, power, error
