"""What `solve` and `plan` share: the file, and how its problem is to be read and solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from lapwing.files import DENSE_LIMIT, FORMATS, FileProblem, read
from lapwing.methods import METHODS

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _number(text: str) -> int | float:
    """An integer stays one, so that integer problems stay exact; anything else is a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)


_OPTIONS = (
    click.argument("file", type=click.Path()),
    click.option("--maximize", is_flag=True, help="Maximise the sum instead of minimising it."),
    click.option(
        "--unmatched-cost",
        type=_number,
        metavar="NUMBER",
        help="Let any row stay free at this price (when maximising: for this value).",
    ),
    click.option(
        "--method",
        type=click.Choice(["auto", *METHODS]),
        default="auto",
        show_default=True,
        help="How to solve; every method gives a certified optimum.",
    ),
    click.option(
        "--threads", type=click.IntRange(min=1), metavar="N", help="Threads; chosen by the plan if not given."
    ),
    click.option("--format", type=click.Choice(FORMATS), help="The file's format, if it is not to be found out."),
    click.option(
        "--memory-limit",
        type=click.FloatRange(min=0),
        default=DENSE_LIMIT / 2**30,
        show_default=True,
        metavar="GIB",
        help="Most memory for a sparse file's matrix in dense form, or for unpacking a compressed .npz file.",
    ),
)


def problem_options(command: _Command) -> _Command:
    """Add the file and the options above to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_problem(file: str, maximize: bool, format: str | None, memory_limit: float) -> FileProblem:
    """Read the file that `problem_options` asked for."""
    return read(file, format=format, maximize=maximize, memory_limit=int(memory_limit * 2**30))
