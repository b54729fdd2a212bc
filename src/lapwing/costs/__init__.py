"""Costs that no matrix holds: made whenever they are read, or of some pairs only.

Each function makes a *cost source*: `lapwing.solve`, `lapwing.plan` and `lapwing.certify` take it in place of a matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapwing.costs.base import CostSource
from lapwing.costs.expression import ExpressionCost, expression
from lapwing.costs.function import FunctionCost, cuda_source
from lapwing.costs.points import (
    PointCost,
    chebyshev,
    cosine,
    euclidean,
    haversine,
    inner_product,
    manhattan,
    minkowski,
    squared_euclidean,
    weighted,
)
from lapwing.costs.rows import RowCost, rows
from lapwing.costs.sparse import SparseCost, edges, sparse

if TYPE_CHECKING:
    from lapwing.costs.shards import ShardedMatrix, sharded

__all__ = [
    "CostSource",
    "ExpressionCost",
    "FunctionCost",
    "PointCost",
    "RowCost",
    "ShardedMatrix",
    "SparseCost",
    "chebyshev",
    "cosine",
    "cuda_source",
    "edges",
    "euclidean",
    "expression",
    "haversine",
    "inner_product",
    "manhattan",
    "minkowski",
    "rows",
    "sharded",
    "sparse",
    "squared_euclidean",
    "weighted",
]


def __getattr__(name: str) -> Any:
    """Load what few need when it is asked for."""
    if name in ("ShardedMatrix", "sharded"):
        from lapwing.costs import shards

        return getattr(shards, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
