"""The default method: shortest augmenting paths on candidate lists that prove themselves.

Reads the matrix about once to list each row's cheapest columns, works on the lists alone, and reads a row again only
when its list can no longer prove a minimum. The algorithm is explained in cpp/include/lapwing/core/.
"""

from __future__ import annotations

from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

CORE = Method(
    MethodTraits(
        name="core",
        summary="shortest augmenting paths on candidate lists",
        warm_start=True,
        parallel=True,
        checks_range=True,
        reads_sources=True,
        bytes_per_row=1900,
        bytes_per_col=64,
    )
)
