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

FAN = 32  # boxes of an outer box: kFan of kernels/costs/boxes.cuh
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
            numbers = {"sorted": count, "boxes": 2 * boxes_of(count), "outer": 2 * outer_boxes_of(count)}
            bytes_of |= {f"{name}_{side}{k}": number * point for name, number in numbers.items()}
    return bytes_of


def arrays(source: PointCost) -> dict[str, NDArray[Any]]:
    """Which point is where (order_x, order_y: int32) and, of both sides by term: sorted, boxes, outer.

    `sorted`: coordinates in that order; `boxes`: for each coordinate the least of every box, then all largest; `outer`:
    the same of outer boxes, of FAN boxes each.
    """
    compiled = source.compiled(transposed=False)
    made: dict[str, NDArray[Any]] = {}
    for side, count in zip("xy", source.shape, strict=True):
        order = compiled.in_order(rows=side == "x", group=BOX_POINTS)
        made[f"order_{side}"] = order
        for k, term in enumerate(source.terms):
            points = getattr(term, side)[order]
            corners, outer = [], []
            for edge in (np.minimum, np.maximum):
                corners.append(edge.reduceat(points, np.arange(0, count, BOX_POINTS)))
                outer.append(edge.reduceat(corners[-1], np.arange(0, len(corners[-1]), FAN)))
            made |= {
                f"sorted_{side}{k}": points.T,
                f"boxes_{side}{k}": np.concatenate(corners).T,
                f"outer_{side}{k}": np.concatenate(outer).T,
            }
    return made


def boxes_of(count: int) -> int:
    """How many boxes so many points make."""
    return -(-count // BOX_POINTS)


def outer_boxes_of(count: int) -> int:
    """How many outer boxes they make."""
    return -(-boxes_of(count) // FAN)
