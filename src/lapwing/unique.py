"""Whether an optimum is the only one, from the pairs that another one could have.

Another assignment differs from the first by alternating cycles, in which each row takes the column of the next. So let
rows be the vertices of a graph with an arc from row i to row k if i may take the column of k, which costs the
difference; and let one more vertex stand for what is free: an arc to it where a row may take a free column, or stay
free, and from it to each row whose column may be left free, and to each free row. The optimum is unique exactly if no
cycle costs nothing.

The cost of a cycle is the sum of the slacks of its arcs under any duals. Those of the proof leave each arc of such a
cycle a slack within the proof's bound, so all arcs above it are left out, and few remain. A proof without rounding
leaves the arcs of slack 0, and any cycle of these will do. Else shortest paths in exact arithmetic over the arcs that
remain give potentials without rounding, which leave the arcs of slack 0. O(m n) for the pass over the costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import inverse
from lapwing.certificate import prove
from lapwing.costs.dense import row_blocks
from lapwing.costs.sparse import SparseCost
from lapwing.inputs import processors
from lapwing.problem import Problem, must_be_matched
from lapwing.shifted import shifted
from lapwing.shortage import find_shortages, parts_of

_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]  # rows, columns, and costs as minimised
_Arc = tuple[int, int, Fraction]  # from, to, and what it costs

_ULP = 2.0**-52


def is_unique(problem: Problem, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], partial: bool) -> bool:
    """Whether no other assignment is as good as this optimal one.

    Parameters
    ----------
    problem : Problem, (m, n)
    row_to_col : (m,) int64, -1 where a row is free
    u, v : (m,) and (n,) float64 or int64
        Its duals, in the user's sense.
    partial : bool
        Whether no assignment solves the problem, and this one has as many pairs as possible: that of each part is the
        only one, or not (`lapwing.shortage`).
    """
    if not partial:
        return _is_unique(problem, row_to_col, u, v)
    return all(
        _is_unique(each.problem, each.renumbered(row_to_col), u[each.rows], v[each.cols])
        for each in parts_of(problem, find_shortages(problem))
    )


def _is_unique(problem: Problem, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any]) -> bool:
    certificate = prove(problem, row_to_col, u, v, processors())
    if not certificate.bound < math.inf and (less := shifted(problem)) is not None:
        return _is_unique(less.problem, row_to_col, *less.duals(u, v))
    bound = 0.0 if certificate.exact else certificate.gap + (sum(problem.shape) + 1) * certificate.violation
    graph = _Graph(problem, row_to_col, -u if problem.maximize else u, -v if problem.maximize else v, float(bound))
    arcs = graph.arcs(certificate.exact)
    if not _has_cycle(len(u) + 1, arcs):
        return True
    return not (certificate.exact or _has_cycle(len(u) + 1, _tight(len(u) + 1, arcs)))


class _Graph:
    """The arcs of slack up to `bound`; everything as minimised."""

    def __init__(self, problem: Problem, row_to_col: NDArray[np.int64], u: Any, v: Any, bound: float) -> None:
        self._problem, self._row_to_col, self._u, self._v = problem, row_to_col, u, v
        self._col_to_row = inverse(row_to_col, len(v))
        self._bound = bound
        self._own = [Fraction(0)] * len(u)  # what each row costs now

    def arcs(self, exact: bool) -> list[_Arc]:
        """The arcs; if the duals are `exact`, those of slack 0, whose costs are not looked at."""
        m, free = len(self._u), len(self._u)  # the vertex that stands for what is free
        pairs = [self._near(*block, exact) for block in self._blocks()]
        prices = self._staying_free()
        for rows, cols, costs in pairs:
            for i, c in zip(*(x[self._row_to_col[rows] == cols] for x in (rows, costs)), strict=True):
                self._own[i] = Fraction(c.item())
        if prices is not None:
            for i in np.flatnonzero(self._row_to_col < 0):
                self._own[i] = Fraction(prices[i].item())
        arcs = []
        of_cols = self._columns_staying_free()
        for rows, cols, costs in pairs:
            heads = np.where(self._col_to_row[cols] < 0, free, self._col_to_row[cols])
            saved = np.where(heads == free, of_cols[cols], 0)
            arcs += [
                (i, k, Fraction(c) - Fraction(q) - self._own[i])
                for i, k, c, q in zip(rows.tolist(), heads.tolist(), costs.tolist(), saved.tolist(), strict=True)
                if i != k
            ]
        if prices is not None:
            stays = self._may_be_free(prices, self._u, exact) & (self._row_to_col >= 0)
            arcs += [(int(i), free, Fraction(prices[i].item()) - self._own[i]) for i in np.flatnonzero(stays)]
        arcs += [(free, int(i), Fraction(0)) for i in np.flatnonzero(self._row_to_col < 0)]
        if self._problem.unmatched_cost is not None or m < len(self._v):
            left = self._may_be_free(of_cols, self._v, exact) & (self._col_to_row >= 0)
            arcs += [(free, int(self._col_to_row[j]), Fraction(of_cols[j].item())) for j in np.flatnonzero(left)]
        return arcs

    def _staying_free(self) -> NDArray[Any] | None:
        """The price of leaving each row free; None if no row may stay free."""
        prices = self._problem.unmatched_cost
        if prices is not None:
            return -prices if self._problem.maximize else prices
        return np.zeros_like(self._u) if self._problem.is_tall else None

    def _columns_staying_free(self) -> NDArray[Any]:
        """The price of leaving each column free."""
        prices = self._problem.unmatched_cols
        if prices is None:
            return np.zeros_like(self._v)
        return -prices if self._problem.maximize else prices

    def _blocks(self) -> Iterator[_Pairs]:
        """All pairs that are not forbidden, some rows at a time."""
        cost, sign = self._problem.cost, -1 if self._problem.maximize else 1
        if isinstance(cost, SparseCost):
            lines, across = cost.entry_lines, cost.indices.astype(np.int64)
            rows, cols = (across, lines) if cost.by_columns else (lines, across)
            values = cost.data.astype(cost.dual_dtype)
            allowed = np.abs(values) < math.inf
            yield rows[allowed], cols[allowed], sign * values[allowed]
            return
        for block in row_blocks(cost):
            values = cost.read(block).astype(cost.dual_dtype)
            rows, cols = np.nonzero(np.abs(values) < math.inf)
            yield rows + block.start, cols, sign * values[rows, cols]

    def _near(self, rows: Any, cols: Any, costs: Any, exact: bool) -> _Pairs:
        near = self._is_small(costs, self._u[rows], self._v[cols], exact) | (self._row_to_col[rows] == cols)
        return rows[near], cols[near], costs[near]

    def _may_be_free(self, prices: Any, duals: Any, exact: bool) -> Any:
        return self._is_small(prices, duals, np.zeros_like(duals), exact) & ~must_be_matched(prices)

    def _is_small(self, c: Any, u: Any, v: Any, exact: bool) -> Any:
        """Whether c - u - v is 0, if the duals are exact; else whether it may be within the bound."""
        if c.dtype.kind == u.dtype.kind == "i":
            return c - u - v <= self._bound
        c = c.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = c - u
            if exact:  # difference + rest is c - u without rounding (Knuth's two-sum)
                back = difference - c
                rest = (c - (difference - back)) - (u + back)
                return difference - v == -rest
            room = 4 * _ULP * (np.abs(c) + np.abs(u) + np.abs(v))
            return difference - v <= self._bound + room


def _has_cycle(count: int, arcs: list[_Arc]) -> bool:
    """Whether vertices remain when those to which no arc leads are taken away, again and again."""
    heads_of: list[list[int]] = [[] for _ in range(count)]
    leading = [0] * count
    for tail, head, _ in arcs:
        heads_of[tail].append(head)
        leading[head] += 1
    ready = [vertex for vertex in range(count) if leading[vertex] == 0]
    for vertex in ready:  # which grows
        for head in heads_of[vertex]:
            leading[head] -= 1
            if leading[head] == 0:
                ready.append(head)
    return len(ready) < count


def _tight(count: int, arcs: list[_Arc]) -> list[_Arc]:
    """The arcs on shortest paths (Bellman and Ford): those of slack 0 under exact potentials.

    No cycle costs less than nothing, as the assignment is optimal; if rounding hid one, no more than `count` rounds
    are made, and the cycle is found all the same.
    """
    length = [Fraction(0)] * count
    for _ in range(count):
        shorter = False
        for tail, head, cost in arcs:
            if length[tail] + cost < length[head]:
                length[head] = length[tail] + cost
                shorter = True
        if not shorter:
            break
    return [arc for arc in arcs if length[arc[0]] + arc[2] <= length[arc[1]]]
