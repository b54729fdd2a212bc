"""The group of commands."""

from __future__ import annotations

import click

from lapwing.cli.failures import EXIT_CODES_HELP, LapwingGroup
from lapwing.cli.generate import generate
from lapwing.cli.info import info, version
from lapwing.cli.match_images import match_images
from lapwing.cli.papers import papers
from lapwing.cli.plan import plan
from lapwing.cli.resume import resume
from lapwing.cli.solve import solve
from lapwing.cli.warmup import warmup


@click.group(
    cls=LapwingGroup,
    help=f"Solve the linear assignment problem exactly, with a proof attached to every answer.\n\n{EXIT_CODES_HELP}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version(), "-V", "--version", prog_name="lapwing")
def main() -> None:
    """Parse the command line; each command has its own file."""


for _command in (solve, resume, plan, match_images, generate, papers, info, warmup):
    main.add_command(_command)
