"""Small plain matrices with default options: answer and proof by one compiled call (cpp/bindings/proven.cpp).

The flow of `lapwing.api.solve` comes to the same answer; around 40 rows it takes three times as long as the call, and
60 microseconds longer at 400, where costs with caps are solved in as many.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from lapwing import _core
from lapwing.certificate import Certificate, lower_bound
from lapwing.plan import Plan, make_plan
from lapwing.problem import Form
from lapwing.result import MatrixCosts, ProvenResult, Result


def solve_small(cost: Any, maximize: bool, unmatched_cost: Any, certify: bool, threads: Any = None) -> Result | None:
    """The result, or None if anything wants a closer look: other types, too many pairs, no answer, a doubt."""
    if threads is not None and (type(threads) is not int or threads != 1):
        return None
    if type(cost) is not np.ndarray or type(maximize) is not bool or type(certify) is not bool:
        return None
    if unmatched_cost is not None and type(unmatched_cost) not in (float, int):
        return None
    try:
        raw = _core.solve_proven(cost, maximize, unmatched_cost, certify)
    except TypeError:  # a price beyond a double
        return None
    if raw is None:
        return None
    row_to_col, row_ind, col_ind, u, v, exact, primal, dual, below, gap, violation, row, col, bound, *rest = raw
    solving, proving, statistics = rest
    plan = _plan(cost.shape, cost.dtype, unmatched_cost is not None, cost.flags.c_contiguous, threads)
    optimum_bound = lower_bound(dual, below, violation, exact, cost.shape) if certify else primal
    if maximize:
        primal, dual, optimum_bound = -primal, -dual, -optimum_bound
    statistics["solve_seconds"] = solving
    proof = None
    if certify:
        statistics["certify_seconds"] = proving
        proof = _make(
            Certificate,
            {
                "primal": primal,
                "dual": dual,
                "gap": gap,
                "violation": violation,
                "violation_at": (row, col) if violation > 0 else None,
                "complete": True,
                "exact": exact,
                "bound": bound,
                "optimum_bound": optimum_bound,
                "fault": None,
            },
        )
    return _make(
        ProvenResult if certify else Result,
        {
            "row_to_col": row_to_col,
            "objective": primal,
            "u": u,
            "v": v,
            "certificate": proof,
            "statistics": statistics,
            "status": "optimal",
            "plan": plan,
            "lower_bound": optimum_bound,
            "_costs": MatrixCosts(cost, maximize, unmatched_cost),
            "row_ind": row_ind,  # what would be computed when it is read
            "col_ind": col_ind,
        },
    )


_T = TypeVar("_T")


def _make(kind: type[_T], fields: dict[str, Any]) -> _T:
    """Make an instance of a frozen dataclass without its constructor, which assigns field by field.

    Two such calls would take a third of the time of a small problem.
    """
    made = _new(kind)
    _set(made, "__dict__", fields)
    return made


_new, _set = object.__new__, object.__setattr__


@lru_cache(maxsize=256)
def _plan(
    shape: tuple[int, int], dtype: np.dtype[Any], priced: bool, rows_are_contiguous: bool, threads: int | None
) -> Plan:
    form = Form(shape, dtype, priced, rows_are_contiguous, "dense", 0, 0)
    return make_plan(form, threads=threads, processors=2)  # more than it keeps busy
