"""Points in the order of a k-d tree, in which neighbours are near each other (cpp: lapwing/costs/spatial_order.hpp).

The order has two uses. Samples are stratified: one of each run of successive points stands for all
(kernels/costs/sample.cuh). And points are in bounding boxes, most of which a search for near points leaves out
(kernels/core/lists/boxes.cuh).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.points import PointCost
from lapwing.gpu.runtime.tuning import BOX_POINTS

_LEAST = 1 << 14  # points: of fewer, all are soon looked at


def is_ordered(source: PointCost) -> bool:
    """Whether its points are put in order."""
    return max(source.shape) >= _LEAST and all(term.weight >= 0 for term in source.terms)


def sizes(source: PointCost) -> dict[str, int]:
    """Bytes of the arrays of `arrays`."""
    m, n = source.shape
    bytes_of = {"order_x": 4 * m, "order_y": 4 * n}
    for k, term in enumerate(source.terms):
        point = term.x.shape[1] * term.x.itemsize
        for side, count in ("x", m), ("y", n):
            bytes_of |= {f"sorted_{side}{k}": count * point, f"boxes_{side}{k}": 2 * boxes_of(count) * point}
    return bytes_of


def arrays(source: PointCost) -> dict[str, NDArray[Any]]:
    """Which point is where (order_x, order_y: int32) and, of both sides by term, groups: sorted, boxes.

    `sorted`: coordinates in that order; `boxes`: for each coordinate the least of every group, then all largest.
    """
    compiled = source.compiled(transposed=False)
    made: dict[str, NDArray[Any]] = {}
    for side, count in zip("xy", source.shape, strict=True):
        order = compiled.in_order(rows=side == "x", group=BOX_POINTS)
        starts = np.arange(0, count, BOX_POINTS)
        made[f"order_{side}"] = order
        for k, term in enumerate(source.terms):
            points = getattr(term, side)[order]
            corners = [edge.reduceat(points, starts) for edge in (np.minimum, np.maximum)]
            made |= {f"sorted_{side}{k}": points.T, f"boxes_{side}{k}": np.concatenate(corners).T}
    return made


def boxes_of(count: int) -> int:
    """How many groups so many points make."""
    return -(-count // BOX_POINTS)
