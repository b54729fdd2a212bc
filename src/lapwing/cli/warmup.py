"""``lapwing warmup``: compile for GPUs ahead of the first solve."""

from __future__ import annotations

import time

import click

from lapwing.gpu.runtime.cache import cache_folder
from lapwing.gpu.runtime.device import device_count, device_info
from lapwing.gpu.runtime.programs import ARCHITECTURES, FLOATS, INTEGERS
from lapwing.gpu.runtime.warmup import warm_up


@click.command(
    help="Compile the GPU kernels into the cache, so that no solve has to wait for it. Needs no GPU with --arch."
)
@click.option(
    "--arch",
    "architectures",
    type=click.Choice([str(arch) for arch in ARCHITECTURES]),
    multiple=True,
    help="Ten times a compute capability; may be given again. Default: those of the GPUs that are present.",
)
@click.option(
    "--dtype",
    "dtypes",
    type=click.Choice(FLOATS + INTEGERS),
    multiple=True,
    help="A type of costs; may be given again. Default: all.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Programs to compile at once. Default: a processor each."
)
def warmup(architectures: tuple[str, ...], dtypes: tuple[str, ...], jobs: int | None) -> None:
    targets = sorted({int(arch) for arch in architectures} or present())
    began = time.perf_counter()
    count = warm_up(targets, dtypes or None, jobs)
    names = ", ".join(f"sm_{arch}" for arch in targets)
    click.echo(f"{count} programs for {names} are in {cache_folder()} after {time.perf_counter() - began:.1f} s")


def present() -> set[int]:
    """Choose the programs to compile for this machine's GPUs.

    Raises
    ------
    GpuError
        If there are none, or one is too old.
    """
    return {device_info(ordinal).architecture for ordinal in range(max(device_count(), 1))}
