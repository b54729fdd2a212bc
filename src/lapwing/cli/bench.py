"""``lapwing bench``: a short comparison with the peers that are installed, in one process, one thread each.

Every round solves every instance with every solver, so that a slow moment of the machine meets all of them; the ratio
of a peer is its median time over Lapwing's. A peer that needs more than the limit on an instance is timed once there,
and not asked for larger ones of that class. Every answer's objective is compared with Lapwing's certified one.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import instances
from lapwing.cli.info import version
from lapwing.cli.peers import Assignment, Peer, installed_peers

_SECONDS_PER_SAMPLE = 1e-3  # short calls are repeated within a sample until it lasts about this long


Solver = Callable[[NDArray[Any]], Assignment]


@dataclass(frozen=True)
class Measurement:
    """One solver on one instance. `ratio` is the peer's time over Lapwing's: above 1, Lapwing is faster."""

    class_: str
    n: int
    solver: str
    seconds: float
    ratio: float
    optimal: bool


@click.command(
    help="""Compare Lapwing with SciPy, lap or lapx, lapjv and POT, as far as they are installed.

One thread each, float64 costs. A ratio above 1 means that Lapwing is faster; read ratios, not seconds."""
)
@click.option("--sizes", default="10,100,500", show_default=True, metavar="N,N,...", help="Sizes n x n.")
@click.option("--classes", default="uniform,int:10,geometric", show_default=True, metavar="CLASS,...")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Alternating repetitions.")
@click.option(
    "--limit",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="A peer that is slower is not asked for larger instances of the class.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def bench(sizes: str, classes: str, seed: int, rounds: int, limit: float, as_json: bool) -> None:
    numbers = _sizes(sizes)
    peers = installed_peers()
    versions = {"lapwing": version(), "numpy": np.__version__} | {peer.name: peer.version for peer in peers}
    measured = [
        measurement
        for class_ in classes.split(",")
        for measurement in _measure_class(class_, numbers, seed, rounds, limit, peers)
    ]
    if as_json:
        rows = [{name.rstrip("_"): value for name, value in asdict(m).items()} for m in measured]
        click.echo(json.dumps({"versions": versions, "seed": seed, "rounds": rounds, "threads": 1, "results": rows}))
    else:
        _show(measured, versions)


def _sizes(text: str) -> list[int]:
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise click.BadParameter(f"{text!r} is not a list of positive integers such as 10,100", param_hint="--sizes")
    return numbers


def _measure_class(
    class_: str, sizes: list[int], seed: int, rounds: int, limit: float, peers: list[Peer]
) -> list[Measurement]:
    measured: list[Measurement] = []
    for n in sizes:
        cost = instances.generate(class_, n, seed)
        best = lapwing.solve(cost, threads=1).objective
        solvers = {"lapwing": _lapwing(cost)} | {peer.name: peer.solve for peer in peers}
        first, optimal = {}, {}
        for name, solve in solvers.items():
            start = time.perf_counter()
            assignment = solve(cost)
            first[name] = time.perf_counter() - start
            optimal[name] = math.isclose(float(cost[assignment].sum()), best, rel_tol=1e-12, abs_tol=1e-12)
        slow = {name for name, seconds in first.items() if seconds > limit and name != "lapwing"}
        peers = [peer for peer in peers if peer.name not in slow]
        solvers = {name: solve for name, solve in solvers.items() if name not in slow}
        times = first | _alternate(solvers, cost, rounds, first)
        measured += [Measurement(class_, n, name, t, t / times["lapwing"], optimal[name]) for name, t in times.items()]
    return measured


def _lapwing(cost: NDArray[Any]) -> Solver:
    """The public function with the least overhead that stays on one thread."""
    if lapwing.plan(cost).threads == 1:
        return lapwing.linear_sum_assignment

    def solve(cost: NDArray[Any]) -> Assignment:
        result = lapwing.solve(cost, threads=1, certify=False)
        return result.row_ind, result.col_ind

    return solve


def _alternate(
    solvers: dict[str, Solver], cost: NDArray[Any], rounds: int, first: dict[str, float]
) -> dict[str, float]:
    """Median seconds of one call of each solver; `first` tells how many calls make a sample."""
    samples: dict[str, list[float]] = {name: [] for name in solvers}
    for _ in range(rounds):
        for name, solve in solvers.items():
            calls = max(1, round(_SECONDS_PER_SAMPLE / max(first[name], 1e-9)))
            start = time.perf_counter()
            for _ in range(calls):
                solve(cost)
            samples[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(values) for name, values in samples.items()}


def _show(measured: list[Measurement], versions: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for class_ in dict.fromkeys(m.class_ for m in measured):
        of = {(m.solver, m.n): m for m in measured if m.class_ == class_}
        sizes = sorted({n for _, n in of})
        table = Table("times Lapwing's time", *(f"n = {n}" for n in sizes), title=class_)
        table.add_row("lapwing", *(f"1 ({of['lapwing', n].seconds * 1e3:.3g} ms)" for n in sizes))
        for solver in dict.fromkeys(solver for solver, _ in of if solver != "lapwing"):
            table.add_row(solver, *(_cell(of.get((solver, n))) for n in sizes))
        console.print(table)
    click.echo("Above 1, Lapwing is faster. One thread, float64.")
    click.echo("Versions: " + ", ".join(f"{name} {text}" for name, text in versions.items()))


def _cell(measurement: Measurement | None) -> str:
    if measurement is None:
        return "-"
    return f"{measurement.ratio:.2f}" + ("" if measurement.optimal else " (not optimal)")
