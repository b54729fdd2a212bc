"""The Hungarian methods of Date and Nagi: classical, on lists of tight pairs, and with alternating trees.

K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57
(2016). Explained in cpp/src/hungarian_bfs.cpp, cpp/src/hungarian_tree.cpp and cpp/include/lapwing/hungarian/.
"""

from __future__ import annotations

from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

HUNGARIAN_BFS = Method(
    MethodTraits(
        name="hungarian-bfs",
        summary="the classical Hungarian method on lists of tight pairs (Date and Nagi)",
        warm_start=False,
        parallel=True,
        checks_range=False,
        reads_sources=False,
        bytes_per_row=80,
        bytes_per_col=60,
    )
)

HUNGARIAN_TREE = Method(
    MethodTraits(
        name="hungarian-tree",
        summary="the Hungarian method with alternating trees (Date and Nagi)",
        warm_start=False,
        parallel=True,
        checks_range=False,
        reads_sources=False,
        bytes_per_row=50,
        bytes_per_col=70,
    )
)
