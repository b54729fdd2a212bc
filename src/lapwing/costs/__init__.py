"""Costs that are computed whenever they are read, for points whose matrix would not fit in memory.

Each function makes a *cost source*: `lapwing.solve`, `lapwing.plan` and `lapwing.certify` take it in place of a matrix.
"""

from __future__ import annotations

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

__all__ = [
    "PointCost",
    "cosine",
    "euclidean",
    "haversine",
    "inner_product",
    "minkowski",
    "squared_euclidean",
    "weighted",
]
