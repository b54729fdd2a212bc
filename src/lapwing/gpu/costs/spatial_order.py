"""Points in the order of a k-d tree, in which neighbours are near each other (cpp: lapwing/costs/spatial_order.hpp).

The order has two uses. Samples are stratified: one of each run of successive points stands for all
(kernels/costs/sample.cuh). And points are in bounding boxes, most of which a search for near points leaves out
(kernels/core/lists/boxes.cuh).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.points import PointCost
from lapwing.gpu.runtime.tuning import BOX_POINTS, FAN
from lapwing.inputs import processors

_LEAST = 1 << 14  # points: of fewer, all are soon looked at
_LOOKED_AT = 4096  # points of one side
_APART = 0.25  # of their standard deviation


def is_ordered(source: PointCost) -> bool:
    """Whether its points are put in order."""
    return max(source.shape) >= _LEAST and all(term.weight >= 0 for term in source.terms)


def lie_apart(source: PointCost) -> bool:
    """Whether rows will be matched far away: the two sets have other means, or spread over other widths.

    Prices in boxes are then worth tilting (kernels/costs/boxes.cuh). A look at some of the points tells.
    """
    if not is_ordered(source):
        return False
    for term in source.terms:
        x, y = (points.host[:: max(len(points) // _LOOKED_AT, 1)].astype(np.float64) for points in (term.x, term.y))
        widths = x.std(axis=0), y.std(axis=0)
        apart = np.abs(x.mean(axis=0) - y.mean(axis=0)) > _APART * np.maximum(*widths)
        wider = np.maximum(*widths) > (1 + _APART) * np.minimum(*widths)
        if (apart | wider).any():
            return True
    return False


def sizes(source: PointCost) -> dict[str, int]:
    """Bytes of the arrays of `arrays`."""
    m, n = source.shape
    bytes_of = {"order_x": 4 * m, "order_y": 4 * n}
    for k, term in enumerate(source.terms):
        point = term.x.dims * term.x.dtype.itemsize
        for side, count in ("x", m), ("y", n):
            numbers = {"sorted": count, "boxes": 2 * boxes_of(count), "outer": 2 * outer_boxes_of(count)}
            bytes_of |= {f"{name}_{side}{k}": number * point for name, number in numbers.items()}
    return bytes_of


def arrays(source: PointCost) -> dict[str, NDArray[Any]]:
    """Which point is where (order_x, order_y: int32) and, of both sides by term: sorted, boxes, outer.

    `sorted`: coordinates in that order; `boxes`: for each coordinate the least of every box, then all largest; `outer`:
    the same of outer boxes, of FAN boxes each.
    """
    compiled, threads = source.compiled(transposed=False), processors()
    in_groups = _core.in_groups_float32 if source.dtype == np.float32 else _core.in_groups_float64
    made: dict[str, NDArray[Any]] = {}
    for side, count in zip("xy", source.shape, strict=True):
        order = compiled.in_order(rows=side == "x", group=BOX_POINTS, threads=threads)
        starts = np.arange(0, boxes_of(count), FAN)
        made[f"order_{side}"] = order
        for k, term in enumerate(source.terms):
            points = getattr(term, side).host
            dims = points.shape[1]
            coordinates, boxes = in_groups(points, order, BOX_POINTS, threads)
            low, high = boxes.reshape(dims, 2, -1).transpose(1, 0, 2)
            outer = [np.minimum.reduceat(low, starts, axis=1), np.maximum.reduceat(high, starts, axis=1)]
            made |= {
                f"sorted_{side}{k}": coordinates.reshape(dims, -1),
                f"boxes_{side}{k}": boxes.reshape(dims, -1),
                f"outer_{side}{k}": np.concatenate(outer, axis=1),
            }
    return made


def prices_in_boxes(count: int) -> int:
    """How many numbers of the duals' type have room for the prices of so many positions (kernels/costs/boxes.cuh)."""
    return 2 * count + 2


def boxes_of(count: int) -> int:
    """How many boxes so many points make."""
    return -(-count // BOX_POINTS)


def outer_boxes_of(count: int) -> int:
    """How many outer boxes they make."""
    return -(-boxes_of(count) // FAN)
