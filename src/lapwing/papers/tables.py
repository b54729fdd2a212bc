"""The contents of a paper's table: instances, columns, and the figure that each column measures or quotes.

A column has a method of Lapwing, or what it is formed of, or neither; and it may name a column of the printed table.
`catalogue` has all tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lapwing.options import MethodOptions
from lapwing.papers.published import Printed, Row, paper

#: A second in a table's unit; other units are counts and factors.
SECONDS = {"s": 1.0, "ms": 1000.0}


@dataclass(frozen=True)
class Instance:
    """One line of a table: a class of `lapwing.instances`, a size, and how many seeds are averaged.

    Attributes
    ----------
    gpus : int
        Of the paper's run; 0 where the table does not say.
    printed : dict
        The line of the printed table.
    """

    cls: str
    n: int
    seeds: int = 1
    gpus: int = 0
    printed: Row = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.cls} {self.n}" + (f" on {self.gpus}" if self.gpus else "")


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    label : str
    method : str, MethodOptions or None
        The counterpart in Lapwing; None if there is none.
    printed : str
        The column of the printed table, "" if none.
    quantity : str
        A key of `measure.QUANTITIES`; "statistic NAME"; or "seconds NAME", of a step.
    device : "", "cpu" or "cuda"
        The device of the counterpart; "" is the device of the run.
    threads : int
        0: as chosen for the run.
    formed : tuple of str
        ("quotient" or "difference", label, label), of columns to the left.
    shown : bool
        Whether it is printed; others are there for columns that are formed.
    remark : str
        Why ours is empty, where it is always.
    """

    label: str
    method: str | MethodOptions | None = None
    printed: str = ""
    quantity: str = "time"
    device: str = ""
    threads: int = 0
    formed: tuple[str, ...] = ()
    shown: bool = True
    remark: str = "published only"


@dataclass(frozen=True)
class Table:
    """A table or figure.

    Attributes
    ----------
    name : str
        As on the command line.
    paper : str
        A name in `published.PAPERS`.
    title : str
        Its number in the paper first.
    unit : {"s", "ms", "rows", "count", "factor", "share", "percent"}
        Of its columns, but for objectives and counts among times.
    columns : tuple of Column
    instances : tuple of Instance
        Sizes grow within a class.
    small_n : int
        `small` runs solve no larger instances.
    number : str
        Of the printed table; "" for a figure.
    machine : str
        The paper's.
    device : "" or "cpu"
        Where it can be run; "": anywhere.
    note : str
        What to know when reading.
    """

    name: str
    paper: str
    title: str
    unit: str
    columns: tuple[Column, ...]
    instances: tuple[Instance, ...]
    small_n: int
    number: str = ""
    machine: str = ""
    note: str = ""
    device: str = ""

    @property
    def printed(self) -> Printed | None:
        """The printed table, if the paper's text has one."""
        return paper(self.paper).tables[self.number] if self.number else None


def grid(classes: tuple[str, ...], sizes: tuple[int, ...], seeds: int = 1) -> tuple[Instance, ...]:
    """Every class in every size."""
    return tuple(Instance(cls, n, seeds) for cls in classes for n in sizes)


def lines(key: str, number: str, seeds: int = 1) -> tuple[Instance, ...]:
    """The lines of a printed table, in its order."""
    rows = paper(key).tables[number].rows
    return tuple(Instance(row["cls"], row["n"], seeds, row.get("gpus", 0), row) for row in rows)
