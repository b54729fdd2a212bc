"""What the tables of the papers hold: instances, columns, what is measured, and what was published.

A published figure stands here only with the source in which it can be read; where none could be found, the column says
so. Instances are of `lapwing.instances`, drawn afresh, so published times and ours differ in machine and draw alike.
Algorithm 1015's are those of its authors' test commands; the others' classes and sizes are ours, within the ranges of
the papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lapwing.options import Auction, MethodOptions, Munkres, Ssp

PAPERS: Final = {
    "date-nagi": "K. Date, R. Nagi: GPU-accelerated Hungarian algorithms for the linear assignment problem. Parallel "
    "Computing 57, 2016",
    "lopes": "P. A. C. Lopes, S. S. Yadav, A. Ilic, S. K. Patra: Fast block distributed CUDA implementation of the "
    "Hungarian algorithm. Journal of Parallel and Distributed Computing 130, 2019",
    "report-2021": "The 2021 report on improvements of Lopes and others' implementation",
    "report-2022": "The 2022 report on improvements of Lopes and others' implementation",
    "algorithm-1015": "S. Guthe, D. Thuerck: Algorithm 1015: A fast scalable solver for the dense linear (sum) "
    "assignment problem. ACM Transactions on Mathematical Software 47, 2021",
}


@dataclass(frozen=True)
class Instance:
    """One line of a table: a class of `lapwing.instances`, a size, and how many seeds are averaged."""

    cls: str
    n: int
    seeds: int = 1

    @property
    def label(self) -> str:
        return f"{self.cls} {self.n}"


@dataclass(frozen=True)
class Column:
    """One column of a table: a method of Lapwing, by its name or with options, or None for published figures alone."""

    label: str
    method: str | MethodOptions | None


@dataclass(frozen=True)
class Table:
    """A table or figure.

    Attributes
    ----------
    name : str
        As on the command line.
    paper : str
        A key of `PAPERS`.
    title : str
    measure : {"seconds", "rows", "path", "shares"}
        Seconds of a solve; rows evaluated over n, the start not counted; rows of an augmenting path, on average; each
        step's share of the time.
    columns : tuple of Column
    instances : tuple of Instance
        Sizes grow within a class.
    small_n : int
        `small` runs leave out larger ones.
    published : {(instance label, column label): figure}
    source : str
        Where the published figures can be read, or why there are none.
    note : str
        What to know when reading.
    """

    name: str
    paper: str
    title: str
    measure: str
    columns: tuple[Column, ...]
    instances: tuple[Instance, ...]
    small_n: int
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    source: str = "no source with the published figures was found"
    note: str = ""


CORE = Column("core", "core")
JV = Column("jv", "jv")
TREE = Column("alternating tree", "hungarian-tree")
BFS = Column("classical", "hungarian-bfs")
MUNKRES = Column("munkres", "munkres")
SSP = Column("with epsilon", "ssp")
PLAIN_SSP = Column("without epsilon", Ssp(pricing=False))
STAGES = tuple(Munkres().stages)
AUCTIONS = (Column("auction, plain", Auction("plain")), Column("auction, optimised", Auction("optimised")))

_RANGES = ("int:1", "int:10", "int:100")
_OURS = "the choice of sizes and ranges is ours"
_CLASSES = ("uniform", "geometric", "disjoint", "sanity", "lowrank:1", "lowrank:2", "lowrank:4", "lowrank:8")


def _grid(classes: tuple[str, ...], sizes: tuple[int, ...], seeds: int = 1) -> tuple[Instance, ...]:
    return tuple(Instance(cls, n, seeds) for cls in classes for n in sizes)


def _date_nagi() -> tuple[Table, ...]:
    ours = (BFS, TREE, CORE)
    what = "the choice of sizes and ranges is ours, up to the sizes of the paper's abstract"
    abstract = "the paper's abstract (experts.illinois.edu): 400 million variables within 13 seconds on average"
    large = 20000
    return (
        Table("date-nagi-1", "date-nagi", "Table 1: against the CPU", "seconds", (*ours, JV),
              _grid(_RANGES, (500, 1000, 2000, 3000, 4000, 5000)), 1000, note=what),
        Table("date-nagi-2", "date-nagi", "Table 2: large problems on one GPU", "seconds", ours,
              _grid(_RANGES, (500, 1000, 5000, 10000, large)), 500,
              {(f"{cls} {large}", TREE.label): 13.0 for cls in _RANGES}, abstract, what),
        Table("date-nagi-3", "date-nagi", "Table 3: several GPUs", "seconds", ours,
              _grid(_RANGES, (500, 10000, 20000, 40000)), 500, note=f"{what}; here on one machine's CPU"),
    )  # fmt: skip


def _lopes() -> tuple[Table, ...]:
    sizes, few = (128, 256, 512, 1024, 2048, 4096, 8192), (MUNKRES, CORE)
    steps = tuple(
        Table(f"lopes-figure-{number}", "lopes", f"Figure {number}: the share of each step, {cls}", "shares",
              (MUNKRES,), _grid((cls,), sizes), 1024, note=_OURS)
        for number, cls in zip((10, 11, 12), ("int:0.1", "int:1", "int:10"), strict=True)
    )  # fmt: skip
    return (
        *(Table(f"lopes-{number}", "lopes", f"Table {number}: {cls}", "seconds", columns, _grid((cls,), sizes), 512,
                note=_OURS)
          for number, cls, columns in (
              (1, "int:0.1", few), (2, "int:1", few), (3, "int:10", few), (4, "int:100", (*few, TREE, JV)))),
        *steps,
    )  # fmt: skip


def _reports() -> tuple[Table, ...]:
    ranges = ("int:0.001", "int:0.01", "int:0.1", "int:1", "int:10", "int:100", "int:1000")
    gurobi = Column("Gurobi", None)
    stages = [Column("no stage", Munkres(stages=()))]
    stages += [Column(f"to ({k})", Munkres(stages=STAGES[: k + 1])) for k in range(len(STAGES) - 1)]
    return (
        Table("report-2021-2", "report-2021", "Table II: run time", "seconds", (MUNKRES, CORE),
              _grid(("int:0.1", "int:1", "int:10"), (512, 1024, 2048, 4096)), 512, note=_OURS),
        Table("report-2021-3", "report-2021", "Table III: the improvements at range 1000 n", "seconds",
              (*stages, MUNKRES, CORE), _grid(("int:1000",), (256, 512, 1024, 2048, 4096)), 512,
              note="each stage is added to those before it, munkres has all; on a CPU (1) and (2) mean something"),
        *(Table(f"report-2022-{number}", "report-2022", f"Table {roman}: n = {n}", "seconds",
                (MUNKRES, JV, gurobi, CORE), tuple(Instance(cls, n) for cls in ranges), 512,
                note="Gurobi's column as published only")
          for number, roman, n in zip(range(3, 11), ("III", "IV", "V", "VI", "VII", "VIII", "IX", "X"),
                                      (64, 128, 256, 512, 1024, 2048, 4096, 8192), strict=True)),
    )  # fmt: skip


def _algorithm_1015() -> tuple[Table, ...]:
    sizes = (1000, 2000, 4000, 8000, 16000, 32000)
    small = (250, 500, *sizes)
    commands = "commands in the authors' readme (github.com/sguthe/lap-solver) tell the instances, not the figures"
    hard = ("uniform", "geometric", "disjoint", "sanity")
    ssp = Column("Algorithm 1015", "ssp")
    paper = "algorithm-1015"
    return (
        Table("algorithm-1015-1", paper, title="Table 1: rows evaluated, over n", measure="rows",
              columns=(PLAIN_SSP, SSP, CORE), instances=_grid(_CLASSES, small, 3), small_n=1000, source=commands,
              note="the reads of the start do not count, as in the authors' code; the fit is of rows, not of rows / n"),
        Table("algorithm-1015-2", paper, title="Table 2: against the auction", measure="seconds",
              columns=(*AUCTIONS, ssp, CORE), instances=_grid(hard, small), small_n=1000, source=commands),
        Table("algorithm-1015-3", paper, title="Table 3: against others", measure="seconds",
              columns=(ssp, JV, TREE, CORE), instances=_grid(hard, small), small_n=500, source=commands,
              note="8 threads in the paper, one here unless --threads says otherwise"),
        Table("algorithm-1015-figures-1-3", paper, title="Figures 1 to 3: rows of an augmenting path", measure="path",
              columns=(PLAIN_SSP, SSP), instances=_grid(hard, small), small_n=1000, source=commands,
              note="the scan counts beside them are Table 1's"),
        Table("algorithm-1015-figure-4", paper, title="Figure 4: rows evaluated, over n, drawn", measure="rows",
              columns=(PLAIN_SSP, SSP), instances=_grid(_CLASSES, small), small_n=500, source=commands),
        Table("algorithm-1015-figures-5-8", paper, title="Figures 5 to 8: run time by class", measure="seconds",
              columns=(PLAIN_SSP, SSP, CORE), instances=_grid(_CLASSES, small), small_n=500, source=commands),
    )  # fmt: skip


#: Every table, by the name that `lapwing papers --table` takes.
TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (*_date_nagi(), *_lopes(), *_reports(), *_algorithm_1015())
}
