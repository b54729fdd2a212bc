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
    count = max(m, n)
    bytes_of = {"order_x": 4 * m, "order_y": 4 * n}
    for k, term in enumerate(source.terms):
        point = term.x.shape[1] * term.x.itemsize
        bytes_of |= {f"sorted{k}": count * point, f"boxes{k}": 2 * boxes_of(count) * point}
    return bytes_of


def arrays(source: PointCost) -> dict[str, NDArray[Any]]:
    """Which point is where (order_x, order_y: int32) and, of the longer side, groups by term: sorted, boxes.

    `sorted`: coordinates in that order; `boxes`: for each coordinate the least of every group, then all largest.
    """
    m, n = source.shape
    compiled = source.compiled(transposed=False)
    orders = {side: compiled.in_order(rows=side == "x", group=BOX_POINTS) for side in "xy"}
    side = positions_of(source)
    starts = np.arange(0, max(m, n), BOX_POINTS)
    made: dict[str, NDArray[Any]] = {f"order_{name}": order for name, order in orders.items()}
    for k, term in enumerate(source.terms):
        points = getattr(term, side)[orders[side]]
        corners = [edge.reduceat(points, starts) for edge in (np.minimum, np.maximum)]
        made |= {f"sorted{k}": points.T, f"boxes{k}": np.concatenate(corners).T}
    return made


def positions_of(source: PointCost) -> str:
    """The side that the core method has as columns, unless rows may stay free."""
    return "y" if source.shape[0] <= source.shape[1] else "x"


def boxes_of(count: int) -> int:
    """How many groups so many points make."""
    return -(-count // BOX_POINTS)
