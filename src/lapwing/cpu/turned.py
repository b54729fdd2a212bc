"""Rows that may stay free at one price, where they outnumber columns: columns are matched in their place.

With m rows, n columns and price p, a matching of k pairs costs their costs and (m - k) p; where columns may stay free
at p instead, their costs and (n - k) p. So the same matchings are optimal, and of m > n rows none has to find out that
it stays free. From duals x <= p of columns and y <= 0 of rows there: u = y + p and v = x - p. Of a matrix the compiled
methods do this themselves (cpp/include/lapwing/reductions/turned.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lapwing._core import ABSENT
from lapwing.answer import Answer, inverse
from lapwing.costs.points import PointCost
from lapwing.costs.sparse import SparseCost
from lapwing.cpu.solve import Control
from lapwing.plan import Plan, make_plan
from lapwing.prices import is_one_price
from lapwing.problem import Problem, must_be_matched


@dataclass(frozen=True)
class Turned:
    """A problem whose columns are rows.

    Attributes
    ----------
    given : Problem
    problem : Problem
    """

    given: Problem
    problem: Problem

    @property
    def _price(self) -> Any:
        assert self.given.unmatched_cost is not None
        return self.given.unmatched_cost[0]

    def plan(self, given: Plan) -> Plan:
        """By the given plan's method, where it is one."""
        method, options = ("auto", None) if given.fallback else (given.method, given.options)
        return make_plan(self.problem.form, method, options, given.threads, False, given.threads)

    def control(self, given: Control) -> Control:
        """The given control, which sees the given problem."""
        rows, cols = self.given.shape
        free = rows - cols  # stay free in any answer
        shift = (-1.0 if self.given.maximize else 1.0) * float(self._price) * free
        hook, keep = given.hook, given.keep

        def seen(stage: Any, phase: Any, matched: int, bound: float, reached: float, *more: Any) -> None:
            assert hook is not None
            hook(stage, phase, matched + free, bound + shift, reached + shift, *more)

        def kept(answer: Answer) -> None:
            assert keep is not None
            keep(self.given_back(answer))

        return given._replace(hook=None if hook is None else seen, keep=None if keep is None else kept)

    def given_back(self, answer: Answer) -> Answer:
        """The answer to the given problem."""
        problem, price = self.given, self._price
        rows, _ = problem.shape
        row_to_col, shift = inverse(answer.row_to_col, rows), answer.shift + abs(float(price))
        changed = replace(answer, row_to_col=row_to_col, col_to_row=None, shift=shift)
        if answer.parts is not None:
            x, y = answer.parts
            parts = tuple(np.vstack([side, np.full(side.shape[1], by)]) for side, by in ((y, price), (x, -price)))
            u, v = (side.sum(axis=0) for side in parts)
            return replace(changed, u=u, v=v, parts=(parts[0], parts[1]))
        least = np.maximum if problem.maximize else np.minimum
        if not (np.isfinite(answer.u).all() and np.isfinite(answer.v).all()):  # no bound yet
            nowhere = np.inf if problem.maximize else -np.inf
            return replace(changed, u=np.full(rows, nowhere), v=np.zeros_like(answer.u))
        u, v = answer.v + price, least(answer.u - price, 0)
        if answer.status == "optimal":
            matched = row_to_col >= 0
            u[matched] = problem.cost.picked(row_to_col).astype(u.dtype) - v[row_to_col[matched]]
        return replace(changed, u=least(u, price), v=v)


def turned(problem: Problem) -> Turned | None:
    """The problem whose columns are rows, if that is one, and of costs of points or sparse ones."""
    cost, (rows, cols), prices = problem.cost, problem.shape, problem.unmatched_cost
    if not isinstance(cost, SparseCost | PointCost) or rows <= cols or cols == 0:
        return None
    if prices is None or problem.unmatched_cols is not None:
        return None
    if must_be_matched(prices[:1]).any() or not is_one_price(prices):
        return None
    if isinstance(cost, SparseCost) and problem.is_integer:  # are sums of the given problem in range?
        ends = prices[0], cost.data.min(initial=0), cost.data.max(initial=0)
        if max(abs(int(end)) for end in ends) >= ABSENT // (2 * (rows + 1)):
            return None
    return Turned(problem, Problem(cost.exchanged(), problem.maximize, prices[:cols].copy()))
