"""All programs compiled into the cache at once, for machines that are set up before they are used."""

from __future__ import annotations

import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from lapwing.gpu.runtime.cache import cached_program
from lapwing.gpu.runtime.programs import Build, builds


def warm_up(architectures: Collection[int], dtypes: Collection[str] | None = None, jobs: int | None = None) -> int:
    """Compile what is not in the cache yet, of all that reads matrices; computed costs are compiled as they come.

    Parameters
    ----------
    architectures : of `programs.ARCHITECTURES`
    dtypes : of costs; None for all
    jobs : int, optional
        Programs compiled at once, a thread each: the compiler runs outside Python. Default: a processor each.

    Returns
    -------
    int
        How many programs are in the cache now.

    Raises
    ------
    GpuError
        If cuda-core is missing or a program does not compile.
    """
    wanted = builds_of_matrices(architectures, dtypes)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        list(pool.map(lambda build: cached_program(*build), wanted))
    return len(wanted)


def builds_of_matrices(architectures: Collection[int], dtypes: Collection[str] | None) -> list[Build]:
    """All that reads matrices, and sparse ones."""
    return [
        build
        for build in builds(architectures)
        if not build[0].any_text and (dtypes is None or dict(build[1]).get("COST") in (None, *dtypes))
    ]
