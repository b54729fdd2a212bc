"""The figures that the papers print, as data: a JSON file a paper, with its tables by number.

Figures are as printed; null is what is not printed, or was not run. Columns ``cls`` and ``n`` name the instance by the
classes of `lapwing.instances`, ``gpus`` the number of GPUs. Left out are objectives in Date and Nagi's Table 3 for
[0, 10n], where the paper prints those of [0, n] again. In Table 2 of Algorithm 1015 the last comma of five times stands
for the decimal point, as everywhere else in that table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Printed:
    """One table of a paper.

    Attributes
    ----------
    columns : tuple of str
        What is printed, without ``cls``, ``n`` and ``gpus``.
    rows : tuple of dict
        A line of the table each.
    fits : {(cls, column): (factor, power, error in per cent)}
        Of factor n**power to a column, where the table prints it.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    fits: dict[tuple[str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Paper:
    """Authors, title, venue and year, and the tables by number."""

    citation: str
    tables: dict[str, Printed]


@cache
def paper(key: str) -> Paper:
    """The paper of a name in `PAPERS`."""
    text = files(__package__).joinpath(f"{key}.json").read_text(encoding="utf-8")
    data = json.loads(text)
    citation = f"{', '.join(data['authors'])}: {data['title']}. {data['venue']}, {data['year']}"
    return Paper(citation, {table["number"]: _printed(table) for table in data["tables"]})


def _printed(table: dict[str, Any]) -> Printed:
    columns = tuple(name for name in table["columns"] if name not in ("cls", "n", "gpus"))
    rows = tuple(dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
    fits = {(cls, column): (factor, power, error) for cls, column, factor, power, error in table.get("fits", [])}
    return Printed(columns, rows, fits)


PAPERS = ("date-nagi", "lopes", "report-2021", "report-2022", "algorithm-1015")
