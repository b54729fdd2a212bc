"""Rows that may stay free at one price, where they outnumber columns: columns are matched in their place.

With m rows, n columns and price p, a matching of k pairs costs their costs and (m - k) p; where columns may stay free
at p instead, their costs and (n - k) p. So the same matchings are optimal, and of m > n rows none has to find out that
it stays free. From duals x <= p of columns and y <= 0 of rows there: u = y + p and v = x - p. Of a matrix the compiled
methods do this themselves (cpp/include/lapwing/reductions/turned.hpp).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._core import ABSENT
from lapwing.answer import Answer, inverse
from lapwing.costs.points import PointCost
from lapwing.costs.sparse import SparseCost
from lapwing.cpu.rewritten import Rewritten
from lapwing.prices import is_one_price
from lapwing.problem import Problem, must_be_matched


def turned(problem: Problem) -> Rewritten | None:
    """The problem whose columns are rows; None unless there is one price, and costs are of points or sparse."""
    cost, (rows, cols), prices = problem.cost, problem.shape, problem.unmatched_cost
    assert prices is not None and rows > cols > 0
    if not isinstance(cost, SparseCost | PointCost) or problem.unmatched_cols is not None:
        return None
    if must_be_matched(prices[:1]).any() or not is_one_price(prices):
        return None
    if isinstance(cost, SparseCost) and problem.is_integer:  # are sums of the given problem in range?
        ends = prices[0], cost.data.min(initial=0), cost.data.max(initial=0)
        if max(abs(int(end)) for end in ends) >= ABSENT // (2 * (rows + 1)):
            return None
    other, free = Problem(cost.exchanged(), problem.maximize, prices[:cols]), rows - cols
    shift = (-1.0 if problem.maximize else 1.0) * float(prices[0]) * free
    return Rewritten(other, lambda answer: _turned_back(problem, answer), free=free, shift=shift)


def _turned_back(problem: Problem, answer: Answer) -> Answer:
    """The answer to the problem as given."""
    assert problem.unmatched_cost is not None
    rows, price = problem.shape[0], problem.unmatched_cost[0]
    row_to_col, shift = inverse(answer.row_to_col, rows), answer.shift + abs(float(price))
    changed = replace(answer, row_to_col=row_to_col, col_to_row=None, shift=shift)
    if answer.parts is not None:
        x, y = answer.parts
        of_rows, of_cols = (np.vstack([side, np.full(side.shape[1], by)]) for side, by in ((y, price), (x, -price)))
        return replace(changed, u=of_rows.sum(axis=0), v=of_cols.sum(axis=0), parts=(of_rows, of_cols))
    least = np.maximum if problem.maximize else np.minimum
    if not (np.isfinite(answer.u).all() and np.isfinite(answer.v).all()):  # no bound yet
        nowhere = np.inf if problem.maximize else -np.inf
        return replace(changed, u=np.full(rows, nowhere), v=np.zeros_like(answer.u))
    u, v = answer.v + price, least(answer.u - price, 0)
    if answer.status == "optimal":
        matched = row_to_col >= 0
        u[matched] = problem.cost.picked(row_to_col).astype(u.dtype) - v[row_to_col[matched]]
    return replace(changed, u=least(u, price), v=v)
