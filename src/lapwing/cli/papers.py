"""``lapwing papers``: the tables of the papers that Lapwing stands on, run again on this machine."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lapwing.cli.info import gpus, processor, version
from lapwing.papers import TABLES, Limits, Measurements, draw, run_table, show
from lapwing.papers.curves import CURVES, describe_curves, draw_curves, run_curves
from lapwing.papers.images import IMAGES, draw_images, run_images
from lapwing.papers.pairs import PAIRS, TITLE, describe_pairs, draw_pairs, run_pairs


@click.command(
    help="""Run the tables and figures of the papers again, and print each beside what was published.

Without --table all of them. Times are of one thread unless --threads or --device is given, or the paper says so; every
answer is compared with a certified one. Two commands run all: `lapwing papers --small` on a CPU, `lapwing papers
--device cuda --largest 10000 --limit 6 --budget 300` on a GPU. Pictures need matplotlib, and the images scikit-learn
(the extra `demo`)."""
)
@click.option("--table", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated. See --list.")
@click.option("--list", "list_only", is_flag=True, help="Name the tables, and run nothing.")
@click.option("--small", is_flag=True, help="Small instances only: two minutes on two cores.")
@click.option("--largest", type=click.IntRange(min=1), metavar="N", help="No instance with more rows.")
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="A method that takes longer is not asked for larger instances of the class.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=math.inf,
    metavar="SECONDS",
    help="Solve nothing else after so long; no table takes all of it.",
)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, metavar="N")
@click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="Where to solve: cpu, cuda, cuda:N.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Keep each as JSON and PNG here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line instead of tables.")
def papers(
    names: tuple[str, ...],
    list_only: bool,
    small: bool,
    largest: int | None,
    limit: float,
    budget: float,
    threads: int,
    device: str,
    output: Path | None,
    as_json: bool,
) -> None:
    titles = {name: table.title for name, table in TABLES.items()} | CURVES
    titles |= {PAIRS: TITLE, IMAGES: "Figure 11: ten images"}
    unknown = [name for name in names if name not in titles]
    if unknown:
        raise click.BadParameter(f"there is no table {unknown[0]!r}; --list names them", param_hint="--table")
    if list_only:
        click.echo("\n".join(f"{name}: {title}" for name, title in titles.items()))
        return
    measured = Measurements(Limits(small, largest, limit, budget, threads, device))
    about = {
        "machine": _machine(device),
        "lapwing": version(),
        "commit": _commit(),
        "command": shlex.join(["lapwing", *sys.argv[1:]]),
    }
    chosen = names or tuple(titles)
    for k, name in enumerate(chosen):
        measured.share(len(chosen) - k)
        found = _run(name, measured)
        if found is None:
            continue
        record, text, picture = found
        record = about | record
        click.echo(json.dumps(record) if as_json else text(record) + "\n")
        if output is not None:
            _keep(output / name, record, picture)


def _machine(device: str = "cpu") -> str:
    return ", ".join([*(gpus() if device != "cpu" else []), processor(), f"{os.cpu_count()} cores"])


def _commit() -> str | None:
    """Of the work tree that this package is in, if it is in one."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


Found = tuple[dict[str, Any], Callable[[dict[str, Any]], str], Callable[[dict[str, Any], Path], None]]


def _run(name: str, measured: Measurements) -> Found | None:
    """A record, and what says and draws it; None where there is nothing to run."""
    on_cpu = measured.limits.device == "cpu"
    if name in TABLES:
        if TABLES[name].device == "cpu" and not on_cpu:
            return None
        record = run_table(TABLES[name], measured)
        return (record, show, draw) if record["rows"] else None
    if not on_cpu:
        return None
    if name in CURVES:
        record = run_curves(name, measured.limits.small, measured.limits.largest)
        return (record, describe_curves, draw_curves) if record["curves"] else None
    try:
        if name == PAIRS:
            return run_pairs(measured.limits.small), describe_pairs, draw_pairs
        record, images = run_images(measured.limits.small)
    except ImportError as error:
        click.echo(f"{name}: left out: {error}; install lapwing[demo]", err=True)
        return None
    return record, _describe_images, lambda record, path: draw_images(record, images, path)


def _describe_images(record: dict[str, Any]) -> str:
    times = f"all pairs in {record['seconds']:.3g} s"
    return f"{record['title']}: {record['pixels']} pixels each, {times} on {record['machine']}"


def _keep(path: Path, record: dict[str, Any], picture: Callable[[dict[str, Any], Path], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    try:
        picture(record, path.with_suffix(".png"))
    except ImportError:
        click.echo(f"{path.name}: no picture without matplotlib; install lapwing[bench]", err=True)
