"""The package lapsolver: `from lapwing.compat.lapsolver import solve_dense`.

motmetrics takes the function as a solver, too: `motmetrics.lap.set_default_solver(solve_dense)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.compat import partners

__all__ = ["solve_dense"]


def solve_dense(costs: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows, columns) of as many pairs as there can be, at the least cost. NaN and inf forbid a pair."""
    rows, cols = partners.pairs(partners.solve_partially(costs)[0])
    return rows, cols.astype(np.int64)
