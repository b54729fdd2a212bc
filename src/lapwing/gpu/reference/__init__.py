"""The methods of the papers on a GPU, references for tables and tests: persistent kernels of kernels/reference.

Read `base` first (what all share: a `CoreSolve` with another search), then a method's file: `hungarian_bfs`,
`hungarian_tree` and `munkres` share `hungarian`; `auction` ends with the search of `ssp`. The algorithm of a method is
explained at the top of its kernel's file. `sharded_ssp` is `ssp` for a matrix on several GPUs.

To add a method: a class here, its program in gpu/runtime/programs.py, its kernels in kernels/reference.
"""

from __future__ import annotations

from collections.abc import Mapping

from lapwing.gpu.reference.auction import AuctionSolve
from lapwing.gpu.reference.base import ReferenceMethod, ReferenceSolve
from lapwing.gpu.reference.hungarian_bfs import HungarianBfsSolve
from lapwing.gpu.reference.hungarian_tree import HungarianTreeSolve
from lapwing.gpu.reference.munkres import MunkresSolve
from lapwing.gpu.reference.ssp import SspSolve

#: The methods on a GPU beside "core", by name.
REFERENCE_METHODS: Mapping[str, type[ReferenceSolve]] = {
    solve.method: solve for solve in (MunkresSolve, HungarianBfsSolve, HungarianTreeSolve, SspSolve, AuctionSolve)
}

__all__ = ["REFERENCE_METHODS", "ReferenceMethod", "ReferenceSolve"]
