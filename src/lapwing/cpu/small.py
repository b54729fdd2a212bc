"""Small plain matrices with default options: answer and proof by one compiled call (cpp/bindings/proven.cpp).

The flow of `lapwing.api.solve` comes to the same answer; around 40 rows it takes three times as long as the call.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from lapwing import _core
from lapwing.certificate import Certificate, lower_bound
from lapwing.plan import Plan, make_plan
from lapwing.problem import Form
from lapwing.result import MatrixCosts, ProvenResult, Result


def solve_small(cost: Any, maximize: bool, unmatched_cost: Any, certify: bool) -> Result | None:
    """The result, or None if anything wants a closer look: other types, too many pairs, no answer, a doubt."""
    if type(cost) is not np.ndarray or type(maximize) is not bool or type(certify) is not bool:
        return None
    if unmatched_cost is not None and type(unmatched_cost) not in (float, int):
        return None
    try:
        raw = _core.solve_proven(cost, maximize, unmatched_cost)
    except TypeError:  # a price beyond a double
        return None
    if raw is None:
        return None
    row_to_col, u, v, exact, primal, dual, below, gap, violation, row, col, bound, *counted = raw
    rows_read, solving, proving, capped = counted
    plan = _plan(cost.shape, cost.dtype, unmatched_cost is not None, cost.flags.c_contiguous)
    optimum_bound = lower_bound(dual, below, violation, exact, cost.shape)
    if maximize:
        primal, dual, optimum_bound = -primal, -dual, -optimum_bound
    statistics = {"capped": 1.0} if capped else {"rows_read": rows_read}
    statistics |= {"seconds": solving, "solve_seconds": solving}
    costs = MatrixCosts(cost, maximize, unmatched_cost)
    if not certify:
        return Result(row_to_col, primal, u, v, None, statistics, "optimal", plan, optimum_bound, costs)
    statistics["certify_seconds"] = proving
    at = (row, col) if violation > 0 else None
    proof = Certificate(primal, dual, gap, violation, at, True, exact, bound, optimum_bound, None)
    return ProvenResult(row_to_col, primal, u, v, proof, statistics, "optimal", plan, optimum_bound, costs)


@lru_cache(maxsize=256)
def _plan(shape: tuple[int, int], dtype: np.dtype[Any], priced: bool, rows_are_contiguous: bool) -> Plan:
    return make_plan(
        Form(shape, dtype, priced, rows_are_contiguous, "dense", 0, 0), processors=2
    )  # more than it keeps busy
