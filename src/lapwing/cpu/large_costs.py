"""Costs far above all others: a solve without them, or with as few of them as are needed.

cpp/include/lapwing/reductions/large_costs.hpp defines which costs are large. First they are forbidden. If this leaves
no assignment, rows may stay free at a price above every sum of small costs, and the free rows and columns are then
matched with each other at their costs. If all large costs are one number M, the result is optimal. Each dual then
exceeds its small part by a multiple of the price, which is replaced by the same multiple of M; stored as a sum of two
parts, it keeps all digits. Otherwise the certificate bounds the distance from the optimum, and the exact solve
continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core

_SAMPLED_ROWS = 16

# Solves costs with unmatched costs, as a compiled method sees them: the compiled answer.
Solver = Callable[[Any, NDArray[Any] | None], dict[str, Any]]


def find_large(cost: Any, maximize: bool, prices: NDArray[Any] | None) -> tuple[float, float] | None:
    """The limit above which costs, as minimised, are large, and the least of them; None if none of some rows is."""
    return _core.find_large_costs(cost, maximize, prices, _SAMPLED_ROWS)


def solve_without_large(
    large: tuple[float, float],
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
    large : (above, least)
        The result of `find_large`.
    cost : float array or `_core.CostSource`
    prices : (rows,) float64 or None
        Unmatched costs, as minimised.
    solver : Solver
    as_matrix : bool
        Whether the solver reads nothing but a matrix.
    remaining : function
        Seconds to the time limit. A solve that it ends leaves no row free that has a column at all.
    """
    above, least = large
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
