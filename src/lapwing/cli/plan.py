"""``lapwing plan FILE``."""

from __future__ import annotations

import dataclasses
import json

import click

import lapwing
from lapwing.cli.options import Request, problem_options


@click.command(help="Print how FILE would be solved, and why, without solving it.")
@problem_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def plan(request: Request, as_json: bool) -> None:
    made = lapwing.plan(request.read().cost, **request.options)
    click.echo(json.dumps(dataclasses.asdict(made)) if as_json else str(made))
