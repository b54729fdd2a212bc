"""``lapwing resume CHECKPOINT``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lapwing.checkpoint import Checkpoint, read_checkpoint
from lapwing.cli.failures import EXIT_CODES_HELP
from lapwing.cli.options import Request, answer_options, checkpoint_interval_option
from lapwing.cli.solve import answer
from lapwing.errors import ArgumentError


@click.command(
    help=f"""Go on with a solve that was stopped, from the checkpoint that it wrote.

The files and options are those of `lapwing solve --checkpoint CHECKPOINT`, --output and --duals among them unless
others are given; files that have changed since are refused.
Checkpoints are written on, to the same file.

{EXIT_CODES_HELP}"""
)
@click.argument("checkpoint", type=click.Path(dir_okay=False))
@answer_options
@checkpoint_interval_option
def resume(checkpoint: str, checkpoint_interval: float, output: str | None, duals: bool, **wanted: Any) -> None:
    request = Request.of_note(read_checkpoint(checkpoint).about["note"])
    if request is None:
        raise ArgumentError(
            f"{checkpoint} was not written by `lapwing solve`, and does not say where its costs are; go on with it in "
            "Python, by lapwing.solve(cost, checkpoint=...)"
        )
    request = replace(request, output=output or request.output, duals=duals or request.duals)
    answer(request, Checkpoint(checkpoint, checkpoint_interval, request.note), **wanted)
