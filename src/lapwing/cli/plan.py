"""``lapwing plan FILE``."""

from __future__ import annotations

import dataclasses
import json

import click

import lapwing
from lapwing.cli.options import problem_options, read_problem


@click.command(help="Print how FILE would be solved, and why, without solving it.")
@problem_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def plan(
    file: str,
    maximize: bool,
    unmatched_cost: int | float | None,
    method: str,
    threads: int | None,
    format: str | None,
    memory_limit: float,
    as_json: bool,
) -> None:
    problem = read_problem(file, maximize, format, memory_limit)
    made = lapwing.plan(problem.cost, maximize=maximize, unmatched_cost=unmatched_cost, method=method, threads=threads)
    click.echo(json.dumps(dataclasses.asdict(made)) if as_json else str(made))
