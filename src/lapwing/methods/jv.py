"""Jonker and Volgenant's method on full rows: the direct path of small problems.

R. Jonker, A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987). Explained in cpp/include/lapwing/jv/jv.inc.hpp.
"""

from __future__ import annotations

from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

JV = Method(
    MethodTraits(
        name="jv",
        summary="Jonker-Volgenant on full rows",
        warm_start=False,
        parallel=False,
        checks_range=True,
        reads_sources=False,
        bytes_per_row=40,
        bytes_per_col=40,
    )
)
