"""Arrays in mapped files: to read behind the end of a file that was truncated ends the process with SIGBUS."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from lapwing.costs.base import CostArray
from lapwing.errors import ArgumentError


def check_mapped(array: CostArray | None) -> None:
    """Refuse an array in a file that was truncated since it was mapped: to read it would end the process with SIGBUS.

    So does a file that is truncated while it is read in place; what is streamed is safe from that, too.

    Raises
    ------
    ArgumentError
    """
    base: Any = array
    skipped = 0
    while isinstance(base, (np.ndarray, memoryview)):
        if isinstance(base, np.memmap):
            skipped = base.offset - base.offset % mmap.ALLOCATIONGRANULARITY  # of the file, before the map
        base = base.obj if isinstance(base, memoryview) else base.base
    if not isinstance(base, mmap.mmap):
        return
    try:
        size = base.size()
    except (OSError, ValueError):  # of no file
        return
    if skipped + len(base) > size:
        raise ArgumentError(
            f"the file behind the mapped matrix has {size} bytes, but {skipped + len(base)} were mapped: it was "
            "truncated since; restore it and map it again"
        )
