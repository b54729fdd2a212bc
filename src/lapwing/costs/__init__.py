"""Costs that are made whenever they are read, for problems whose matrix would not fit in memory.

Each function makes a *cost source*: `lapwing.solve`, `lapwing.plan` and `lapwing.certify` take it in place of a matrix.
"""

from __future__ import annotations

from lapwing.costs.expression import ExpressionCost, expression
from lapwing.costs.function import FunctionCost, cuda_source
from lapwing.costs.points import (
    PointCost,
    cosine,
    euclidean,
    haversine,
    inner_product,
    minkowski,
    squared_euclidean,
    weighted,
)
from lapwing.costs.rows import RowCost, rows

__all__ = [
    "ExpressionCost",
    "FunctionCost",
    "PointCost",
    "RowCost",
    "cosine",
    "cuda_source",
    "euclidean",
    "expression",
    "haversine",
    "inner_product",
    "minkowski",
    "rows",
    "squared_euclidean",
    "weighted",
]
