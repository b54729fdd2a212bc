"""Cost sources: where the costs of a problem come from."""

from __future__ import annotations

from lapwing.costs.dense import CORE_DTYPES, CostArray, DenseCost, converted, is_readable, row_blocks
from lapwing.costs.sparse import as_floating, densify, exact_floats, is_sparse

__all__ = [
    "CORE_DTYPES",
    "CostArray",
    "DenseCost",
    "as_floating",
    "converted",
    "densify",
    "exact_floats",
    "is_readable",
    "is_sparse",
    "row_blocks",
]
