"""``lapwing papers``: the tables of the papers that Lapwing stands on, run again on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from lapwing.cli.info import gpus, processor, version
from lapwing.papers import TABLES, Limits, draw, run_table, show
from lapwing.papers.images import draw_images, run_images

IMAGES = "algorithm-1015-figure-11"


@click.command(
    help="""Run the tables and figures of the papers again, and print each beside what was published.

Without --table all of them. Times are of one thread unless --threads or --device is given; every answer is compared
with a certified one. Published figures stand only where their source could be read. Pictures need matplotlib, and
the images scikit-learn (the extra `demo`)."""
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
    threads: int,
    device: str,
    output: Path | None,
    as_json: bool,
) -> None:
    every = [*TABLES, IMAGES]
    unknown = [name for name in names if name not in every]
    if unknown:
        raise click.BadParameter(f"there is no table {unknown[0]!r}; --list names them", param_hint="--table")
    if list_only:
        click.echo("\n".join([f"{name}: {table.title}" for name, table in TABLES.items()] + [f"{IMAGES}: ten images"]))
        return
    limits = Limits(small, largest, limit, threads, device)
    for name in names or every:
        record, picture = _images(small) if name == IMAGES else _table(name, limits)
        if record is None:
            continue
        click.echo(json.dumps(record) if as_json else _text(record))
        if output is not None:
            _keep(output / name, record, picture)


def _machine(device: str = "cpu") -> str:
    return ", ".join([*(gpus() if device != "cpu" else []), processor(), f"{os.cpu_count()} cores"])


def _table(name: str, limits: Limits) -> tuple[dict[str, Any] | None, Any]:
    record = {"machine": _machine(limits.device), "lapwing": version()} | run_table(TABLES[name], limits)
    return (record, lambda path: draw(record, path)) if record["rows"] else (None, None)


def _images(small: bool) -> tuple[dict[str, Any] | None, Any]:
    try:
        found, images = run_images(small)
    except ImportError as error:
        click.echo(f"{IMAGES}: left out: {error}; install lapwing[demo]", err=True)
        return None, None
    record = {"machine": _machine(), "lapwing": version()} | found
    return record, lambda path: draw_images(record, images, path)


def _text(record: dict[str, Any]) -> str:
    if "distances" not in record:
        return show(record) + "\n"
    text = f"{record['title']}: {record['pixels']} pixels each, all pairs in {record['seconds']:.3g} s"
    return f"{text} on {record['machine']}\n"


def _keep(path: Path, record: dict[str, Any], picture: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    try:
        picture(path.with_suffix(".png"))
    except ImportError:
        click.echo(f"{path.name}: no picture without matplotlib; install lapwing[bench]", err=True)
