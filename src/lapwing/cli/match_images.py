"""``lapwing match-images A B``."""

from __future__ import annotations

import click
import numpy as np

import lapwing
from lapwing import images
from lapwing.atomic import check_output
from lapwing.cli.failures import EXIT_CODES_HELP, ExitCode
from lapwing.cli.options import progress_option, time_limit_option
from lapwing.cli.watch import watched


@click.command(
    "match-images",
    help=f"""Draw picture B with the pixels of picture A, each moved once, at the least total cost.

The cost of a pair of pixels is the squared distance of their colours and places. B is cut to the proportions of A, and
both are reduced to one size. The answer is exact, and its certificate is printed.

{EXIT_CODES_HELP}""",
)
@click.argument("first", metavar="A", type=click.Path(dir_okay=False))
@click.argument("second", metavar="B", type=click.Path(dir_okay=False))
@click.option("--output", "-o", type=click.Path(dir_okay=False), default="matched.png", show_default=True)
@click.option(
    "--size",
    type=click.IntRange(min=1),
    default=128,
    show_default=True,
    metavar="PIXELS",
    help="Of A's longer side, if that is longer.",
)
@click.option("--colour", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Weight of colours.")
@click.option(
    "--position",
    type=click.FloatRange(min=0),
    default=images.POSITION_WEIGHT,
    show_default=True,
    help="Weight of places: a picture is 1 wide, a colour's channel 1 high.",
)
@click.option("--device", default="cpu", show_default=True, help="Where to solve: cpu, cuda, cuda:N or auto.")
@time_limit_option
@progress_option
def match_images(
    first: str,
    second: str,
    output: str,
    size: int,
    colour: float,
    position: float,
    device: str,
    time_limit: float | None,
    progress: bool,
) -> None:
    images.check_name(output)
    check_output(output, first, second)
    source, target = images.read_pair(first, second, size)
    height, width = source.shape[:2]
    cost = images.pixel_costs(source, target, colour, position)
    with watched(progress) as watch:
        result = lapwing.solve(cost, device=device, time_limit=time_limit, progress=watch)
    images.write(images.rearranged(source, np.asarray(result.row_to_col)), output)
    lines = {
        "pictures": f"{first} and {second}, {width} x {height} = {width * height} pixels",
        "certificate": f"{result.certificate}",
        "time": f"solve {result.statistics['solve_seconds']:.3f} s, "
        f"certify {result.statistics['certify_seconds']:.3f} s, {result.plan.where}",
        "written to": output,
    }
    click.echo("\n".join(f"{name + ':':<13}{text}" for name, text in lines.items()))
    click.get_current_context().exit(ExitCode.OPTIMAL if result.status == "optimal" else ExitCode.TIME_LIMIT)
