"""The solve that the modules of this package share; small plain matrices take the compiled path alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing._core import partners as direct
from lapwing.answer import float_sum, inverse
from lapwing.costs import SparseCost
from lapwing.cpu.backend import solve_as_asked
from lapwing.errors import InfeasibleError
from lapwing.plan import make_plan

Vector = NDArray[np.int32]
Partners = tuple[
    Vector, Vector, float
]  # column of each row, row of each column, -1 if free, and the sum of their costs


def solve(cost: Any, unmatched_cost: float = math.inf) -> Partners | None:
    """The optimum, or None if the problem is infeasible. Rows may stay free at a price that is finite.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    return direct(cost, unmatched_cost) or _solve_any(cost, unmatched_cost)


def _solve_any(cost: Any, unmatched_cost: float, partial: bool = False) -> Partners | None:
    problem = inputs.make_problem(cost, False, unmatched_cost if unmatched_cost < math.inf else None)
    plan = make_plan(problem.form, processors=inputs.processors())
    try:
        answer, _ = solve_as_asked(problem, plan, certify=False, partial=partial)
    except InfeasibleError:
        return None
    row_to_col = answer.row_to_col
    total = float_sum(problem.cost.picked(row_to_col).tolist())
    return row_to_col.astype(np.int32), inverse(row_to_col, problem.shape[1]).astype(np.int32), total


def solve_partially(cost: Any) -> Partners:
    """As many pairs as there can be, at the least cost of so many; NaN and infinity forbid a pair."""
    found = direct(cost, math.inf)
    if found is None:
        if not isinstance(cost, SparseCost):
            cost = inputs.as_matrix(cost, False)
            if cost.dtype.kind == "f":
                cost = np.where(np.isfinite(cost), cost, math.inf)
        found = _solve_any(cost, math.inf, partial=True)
    assert found is not None
    return found


def pairs(row_to_col: Vector) -> tuple[NDArray[np.int64], Vector]:
    """The matched rows in increasing order, and their columns."""
    rows = np.flatnonzero(row_to_col >= 0)
    return rows, row_to_col[rows]
