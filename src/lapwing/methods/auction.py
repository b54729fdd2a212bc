"""Bertsekas' forward auction with epsilon scaling, made exact by shortest paths at the end.

D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988). Explained in cpp/src/auction.cpp.
"""

from __future__ import annotations

from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

AUCTION = Method(
    MethodTraits(
        name="auction",
        summary="forward auction with epsilon scaling, exact by shortest paths at the end",
        warm_start=False,
        parallel=False,
        checks_range=True,
        reads_sources=True,
        bytes_per_row=880,
        bytes_per_col=40,
    )
)
