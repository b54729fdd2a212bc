"""Shortest augmenting paths with epsilon-pricing on full rows.

S. Guthe, D. Thuerck, "Algorithm 1015: A Fast Scalable Solver for the Dense Linear (Sum) Assignment Problem", ACM
Transactions on Mathematical Software 47 (2021). Explained in cpp/src/ssp.cpp.
"""

from __future__ import annotations

from lapwing._core import SSP_COLUMNS_PER_THREAD
from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

SSP = Method(
    MethodTraits(
        name="ssp",
        summary="shortest augmenting paths with epsilon-pricing on full rows (Algorithm 1015)",
        warm_start=False,
        parallel=True,
        checks_range=True,
        reads_sources=True,
        bytes_per_row=40,
        bytes_per_col=40,
        cols_per_thread=SSP_COLUMNS_PER_THREAD,
    )
)
