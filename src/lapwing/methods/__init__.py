"""The table of methods: what each is, where it runs, and what a plan needs to know of it.

A method on a CPU is compiled; the file under `cpp/src` that explains it, and cites its paper, is named beside its row.
The launches of the methods on a GPU are in `lapwing.gpu.reference`, under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lapwing._core import SSP_COLUMNS_PER_THREAD
from lapwing.costs.base import Tier


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes
    ----------
    name, summary : str
    devices : of "cpu" and "cuda"
        Where it runs.
    warm_start : bool
        Whether it can use `start=`.
    parallel : bool
        Whether it can use more than one thread.
    cols_per_thread : int
        A thread that shares rows needs so much of them, or 0: threads have rows of their own.
    checks_range : bool
        Whether it finds costs that are too large for exact sums as it first reads them.
    reads_sources : bool
        Whether it reads costs from any source; the others read a matrix, to which costs are written out first.
    bytes_per_row, bytes_per_col, bytes_per_pair : int
        Its memory on a CPU beside the matrix, for the problem as it is solved (rows <= cols).
    """

    name: str
    summary: str
    devices: tuple[str, ...]
    warm_start: bool
    parallel: bool
    checks_range: bool
    reads_sources: bool
    bytes_per_row: int
    bytes_per_col: int
    bytes_per_pair: int = 0
    cols_per_thread: int = 0


_BOTH = ("cpu", "cuda")

_TABLE = (
    Method(  # cpp/include/lapwing/core, src/lapwing/kernels/core
        "core", "shortest augmenting paths on candidate lists", _BOTH,
        warm_start=True, parallel=True, checks_range=True, reads_sources=True, bytes_per_row=1900, bytes_per_col=64,
    ),
    Method(  # Jonker and Volgenant: cpp/include/lapwing/jv
        "jv", "Jonker-Volgenant on full rows", ("cpu",),
        warm_start=False, parallel=False, checks_range=True, reads_sources=False, bytes_per_row=40, bytes_per_col=40,
    ),
    Method(  # Guthe and Thuerck: cpp/src/ssp
        "ssp", "shortest augmenting paths with epsilon-pricing on full rows (Algorithm 1015)", _BOTH,
        warm_start=False, parallel=True, checks_range=True, reads_sources=True, bytes_per_row=40, bytes_per_col=40,
        cols_per_thread=SSP_COLUMNS_PER_THREAD,
    ),
    Method(  # Bertsekas: cpp/src/auction
        "auction", "forward auction with epsilon scaling, exact by shortest paths at the end", _BOTH,
        warm_start=False, parallel=False, checks_range=True, reads_sources=True, bytes_per_row=880, bytes_per_col=40,
    ),
    Method(  # Date and Nagi: cpp/src/hungarian
        "hungarian-bfs", "the classical Hungarian method on lists of tight pairs (Date and Nagi)", _BOTH,
        warm_start=False, parallel=True, checks_range=False, reads_sources=False, bytes_per_row=80, bytes_per_col=60,
    ),
    Method(  # Date and Nagi: cpp/src/hungarian
        "hungarian-tree", "the Hungarian method with alternating trees (Date and Nagi)", _BOTH,
        warm_start=False, parallel=True, checks_range=False, reads_sources=False, bytes_per_row=50, bytes_per_col=70,
    ),
    Method(  # Lopes and others: cpp/src/hungarian
        "munkres", "the classical Hungarian method on a slack matrix (Lopes and others)", _BOTH,
        warm_start=False, parallel=True, checks_range=False, reads_sources=False, bytes_per_row=100, bytes_per_col=70,
        bytes_per_pair=8,
    ),
)  # fmt: skip

# The costs choose it: it solves sparse ones, and no others.
SPARSE = Method(  # cpp/include/lapwing/sparse
    "sparse", "auctions and shortest augmenting paths on the pairs that are there", ("cpu",),
    warm_start=True, parallel=True, checks_range=True, reads_sources=True, bytes_per_row=64, bytes_per_col=24,
)  # fmt: skip

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _TABLE})
_OF_PAIRS: Mapping[str, Method] = MappingProxyType({SPARSE.name: SPARSE})


def methods_for(tier: Tier) -> Mapping[str, Method]:
    """The methods for costs that are in such a place, on a CPU."""
    return _OF_PAIRS if tier == "sparse" else METHODS


def methods_on(device: str) -> list[str]:
    """The names of the methods that run on a kind of device, "cpu" or "cuda"."""
    return [name for name, method in METHODS.items() if device in method.devices]
