"""Costs far above all others: a solve without them, or with as few of them as are needed.

cpp/include/lapwing/reductions/large_costs.hpp defines which costs are large. Where most costs are one number M, the
others are solved as sparse ones (cpp/include/lapwing/reductions/capped.hpp). Otherwise the problem is solved as it is.
That is all where prices of the size of M keep enough digits. Of a larger M, duals are given more digits at the proof
(exact.py).

Where that does not serve (unmatched costs, rectangles), large costs are forbidden. If this leaves no assignment, rows
may stay free at a price above every sum of small costs, and the free rows and columns are then matched with each other
at their costs. If all large costs are one number M, the result is optimal. Each dual then exceeds its small part by a
multiple of the price, which is replaced by the same multiple of M; stored as a sum of two parts, it keeps all digits.
Otherwise the certificate bounds the distance from the optimum, and the exact solve continues.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing import _core

_SAMPLED_ROWS = 16


class Solver(Protocol):
    """Solves costs with unmatched costs, as a compiled method sees them: the compiled answer."""

    def __call__(self, cost: Any, prices: NDArray[Any] | None) -> dict[str, Any]: ...


def find_large(cost: Any, maximize: bool, prices: NDArray[Any] | None) -> tuple[float, float, bool] | None:
    """Large costs of some rows, as minimised: the limit above which they are, the least, and whether to leave them in.

    They stay where prices of their size keep enough digits of the other costs. None if no cost is large.
    """
    return _core.find_large_costs(cost, maximize, prices, _SAMPLED_ROWS)


def solve_with_large(
    large: tuple[float, float, bool],
    cost: NDArray[Any],
    maximize: bool,
    solver: Solver,
    capped: Callable[[], dict[str, Any] | None],
) -> dict[str, Any] | None:
    """A compiled answer to a problem without unmatched costs, solved as it is; None if prices may lack digits.

    Parameters
    ----------
    large : (above, least, leave_digits)
        The result of `find_large`.
    cost, solver
        As for `solve_without_large`.
    capped : function
        Solves costs of which most are one large number; None for others.
    """
    if (raw := capped()) is not None:
        return raw
    above, _, leave_digits = large
    raw = solver(cost, None)
    if raw["status"] != "optimal":
        return None if raw["status"] == "range" else raw
    chosen = _matched(cost, raw["row_to_col"], maximize)
    if not _are_small(raw, chosen):
        return None
    if leave_digits or not (chosen > above).any():
        return raw
    return raw | {"provisional": True} if cost.shape[0] == cost.shape[1] else None


def _matched(cost: NDArray[Any], row_to_col: NDArray[Any], maximize: bool) -> NDArray[Any]:
    """The costs of pairs, as minimised."""
    chosen = cost[np.arange(len(cost)), row_to_col.view(np.int64)]
    return -chosen if maximize else chosen


def _are_small(raw: dict[str, Any], costs: NDArray[Any]) -> bool:
    """Whether prices are small beside matched costs."""
    with np.errstate(over="ignore"):
        objective = abs(float(costs.sum(dtype=np.float64)))
    return are_small(max(float(np.abs(raw["v"]).max()), raw["shift"]), objective)


def are_small(largest_price: float, objective: float) -> bool:
    """Whether prices of this magnitude lose no digits that matter: u is a matched cost minus one of them."""
    return objective < math.inf and largest_price <= _core.TRUSTED_RATIO * objective


def solve_without_large(
    above: float,
    least: float,
    cost: Any,
    rows: int,
    maximize: bool,
    prices: NDArray[Any] | None,
    solver: Solver,
    as_matrix: bool,
    remaining: Callable[[], float],
) -> dict[str, Any] | None:
    """A compiled answer, with duals that are sums of two parts if large costs are needed; None if they hide too much.

    Parameters
    ----------
    above, least : float
        What `find_large` returns first.
    cost : float array or `_core.CostSource`
    prices : (rows,) float64 or None
        Unmatched costs, as minimised.
    solver : Solver
    as_matrix : bool
        Whether the solver reads nothing but a matrix.
    remaining : function
        Seconds to the time limit. A solve that it ends leaves no row free that has a column at all.
    """
    source = _core.small_costs(cost, maximize, above)
    small = source.read(0, rows).reshape(rows, -1) if as_matrix else source
    small_prices = None if prices is None else np.where(prices > above, np.inf, prices)
    raw = solver(small, small_prices)
    if raw["status"] == "optimal":
        return raw
    everyone = np.ones(rows, bool)
    if raw["status"] == "time_limit":
        matched = _completed(raw["row_to_col"], len(raw["v"]), everyone, cost, maximize, prices, 0.0)
        return raw if matched is None else raw | {"row_to_col": matched}
    ways_out = np.full(rows, above) if small_prices is None else np.minimum(small_prices, above)
    raw = solver(small, ways_out)
    if raw["status"] in ("infeasible", "range"):
        return None
    leaves = ways_out == above
    matched = _completed(raw["row_to_col"], len(raw["v"]), leaves, cost, maximize, prices, remaining())
    if matched is None:
        return None
    raw["row_to_col"], raw["provisional"] = matched, True
    for name in ("u", "v"):
        steps = np.rint(raw[name] / above)
        raw[name] = np.stack([steps * least, raw[name] - steps * above])
    return raw


def _completed(
    row_to_col: NDArray[np.int64],
    cols: int,
    leaves: NDArray[np.bool_],
    cost: Any,
    maximize: bool,
    prices: NDArray[Any] | None,
    time_limit: float,
) -> NDArray[np.int64] | None:
    """The assignment with free rows that `leaves` marks matched to free columns; None if that cannot be.

    At the least cost, or greedily from the time limit on.
    """
    rows = np.flatnonzero((row_to_col < 0) & leaves)
    is_free = np.ones(cols, bool)
    is_free[row_to_col[row_to_col >= 0]] = False
    free = np.flatnonzero(is_free)
    must_match = len(rows) if prices is None else np.isinf(prices[rows]).sum()
    if len(free) < must_match:
        return None
    if not len(free) or not len(rows):
        return row_to_col
    if isinstance(cost, np.ndarray):
        costs = cost[np.ix_(rows, free)]
    else:
        costs = np.concatenate([cost.read(int(i), int(i) + 1)[None, free] for i in rows])
    of_rows = None if prices is None else np.ascontiguousarray(prices[rows])
    raw = _core.solve("jv", {}, np.ascontiguousarray(costs), maximize, of_rows, None, None, 1, time_limit, None)
    if raw["status"] in ("infeasible", "range"):
        return None
    answer = row_to_col.copy()
    chosen = raw["row_to_col"].view(np.int64)
    answer[rows] = np.where(chosen >= 0, free[chosen], -1)
    return answer
