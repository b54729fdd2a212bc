"""``lapwing generate CLASS N``."""

from __future__ import annotations

import click

from lapwing import instances
from lapwing.files import write_cost
from lapwing.files.write_cost import cost_suffix_of


@click.command(
    help=f"""Make the instance CLASS with N rows and write its costs to a file.

The same class, size and seed give the same bits everywhere. CLASS is one of {", ".join(instances.CLASSES)};
R scales the integers of int:R to [0, R N], K is the rank of lowrank:K."""
)
@click.argument("class_", metavar="CLASS")
@click.argument("n", metavar="N", type=click.IntRange(min=0))
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--cols", type=click.IntRange(min=0), metavar="N", help="Columns; as many as rows if not given.")
@click.option(
    "--dtype",
    type=click.Choice(["float64", "float32", "int32", "int64"]),
    default="float64",
    show_default=True,
    help="Number type; the integer types are for int:R.",
)
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="A .npy, .npz, .csv or .mtx file.")
def generate(class_: str, n: int, seed: int, cols: int | None, dtype: str, output: str) -> None:
    cost_suffix_of(output)
    cost = instances.generate(class_, n, seed, cols=cols, dtype=dtype)
    write_cost(output, cost)
    click.echo(f"{output}: {cost.shape[0]} x {cost.shape[1]} {cost.dtype}, class {class_}, seed {seed}")
