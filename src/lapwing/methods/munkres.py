"""The classical Hungarian method on a slack matrix; `lapwing.Munkres` has its options.

P. A. C. Lopes, S. S. Yadav, A. Ilic, S. K. Patra, "Fast Block Distributed CUDA Implementation of the Hungarian
Algorithm", Journal of Parallel and Distributed Computing 130 (2019). Explained in cpp/src/munkres.cpp.
"""

from __future__ import annotations

from lapwing.methods.base import Method
from lapwing.plan import MethodTraits

MUNKRES = Method(
    MethodTraits(
        name="munkres",
        summary="the classical Hungarian method on a slack matrix (Lopes and others)",
        warm_start=False,
        parallel=True,
        checks_range=False,
        reads_sources=False,
        bytes_per_row=100,
        bytes_per_col=70,
        bytes_per_pair=8,
    )
)
