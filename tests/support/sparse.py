"""Sparse costs as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.costs.sparse import SparseCost


def written_out(cost: Any) -> np.ndarray:
    """The matrix, with infinity where sparse costs have no pair."""
    assert isinstance(cost, SparseCost)
    return cost.read(slice(None))
