"""Columns that must be matched, beside rows that may stay free: an equivalent problem that the methods can solve.

Methods handle rows that may stay free or must be matched, and columns that may stay free at a finite price. If every
row may stay free, the transposed problem is of that form. Otherwise the problem is doubled. Each column j gets a row of
its own, which takes it at the price of staying free, each row i such a column, and where i and j may be matched, the
row of j may take the column of i at no cost. A complete assignment of this sparse problem costs what its pairs of the
given problem cost with all that they leave free (row j's and column i's own lines are free for each other just if i and
j are matched). Its duals u, a (of rows) and v, b (of columns) prove the given problem by u + b and v + a: a + b <= 0 on
all allowed pairs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapwing._core import MOST_DUAL_PARTS, match_ties
from lapwing.answer import Answer, inverse
from lapwing.costs.base import CostSource
from lapwing.costs.dense import DenseCost
from lapwing.costs.sparse import SparseCost, edges
from lapwing.cpu.rewritten import Rewritten
from lapwing.cpu.solve import as_minimised, run
from lapwing.errors import ArgumentError, InfeasibleError
from lapwing.plan import make_plan
from lapwing.problem import Problem, must_be_matched


def rewritten(problem: Problem) -> Rewritten:
    """The problem in a form without columns that must be matched.

    Raises
    ------
    ArgumentError
        If its costs are neither a matrix nor sparse.
    """
    assert problem.unmatched_cost is not None
    return _doubled(problem) if must_be_matched(problem.unmatched_cost).any() else _exchanged(problem)


def _exchanged(problem: Problem) -> Rewritten:
    """Rows and columns change roles."""

    def given_back(answer: Answer) -> Answer:
        parts = None if answer.parts is None else answer.parts[::-1]
        row_to_col = inverse(answer.row_to_col, problem.shape[0])
        return replace(answer, row_to_col=row_to_col, u=answer.v, v=answer.u, parts=parts, col_to_row=None)

    def refuse(error: InfeasibleError) -> NoReturn:
        raise InfeasibleError(error.cols, error.rows, by_cols=True) from None

    other = Problem(_transposed(problem.cost), problem.maximize, problem.unmatched_cols, problem.unmatched_cost)
    return Rewritten(other, given_back, lambda duals: duals[::-1], refuse)


def _transposed(cost: CostSource) -> CostSource:
    if isinstance(cost, DenseCost):
        return DenseCost(cost.array.T)
    if isinstance(cost, SparseCost):
        return cost.exchanged()
    raise ArgumentError(
        "columns that must be matched (an infinite price in unmatched_cost[1]) need a matrix or sparse costs: exchange "
        "rows and columns, or pass a large price"
    )


def _doubled(problem: Problem) -> Rewritten:
    """Each row and column gets a partner of its own, at its price."""
    prices, of_cols = problem.unmatched_cost, problem.unmatched_cols
    assert prices is not None and of_cols is not None
    (m, n), (row, col, cost) = problem.shape, _pairs(problem)
    own_rows, own_cols = np.flatnonzero(~must_be_matched(prices)), np.flatnonzero(~must_be_matched(of_cols))
    pairs = edges(
        np.concatenate([row, own_rows, own_cols + m, col + m]),
        np.concatenate([col, own_rows + n, own_cols, row + n]),
        np.concatenate([cost, prices[own_rows], of_cols[own_cols], np.zeros(len(cost), cost.dtype)]),
        (m + n, m + n),
    )

    def given_back(answer: Answer) -> Answer:
        row_to_col = np.where(answer.row_to_col[:m] < n, answer.row_to_col[:m], -1)
        u, v = answer.u, answer.v
        parts = None
        if not problem.is_integer:
            u, v = (np.atleast_2d(duals) for duals in answer.proving_duals)
            parts = _added(u[:, :m], v[:, n:]), _added(v[:, :n], u[:, m:])
            u, v = u.sum(axis=0), v.sum(axis=0)
        u, v = u[:m] + v[n:], v[:n] + u[m:]
        if answer.status == "optimal":
            row_to_col = _with_most_pairs(problem, row_to_col, v)
        return replace(answer, row_to_col=row_to_col, u=u, v=v, parts=parts, col_to_row=None)

    def refuse(error: InfeasibleError) -> NoReturn:
        _require_rows(Problem(problem.cost, problem.maximize, prices))
        try:
            _require_rows(Problem(_transposed(problem.cost), problem.maximize, of_cols))
        except InfeasibleError as of_columns:
            raise InfeasibleError(of_columns.cols, of_columns.rows, by_cols=True) from None
        raise error

    return Rewritten(Problem(pairs, problem.maximize), given_back, refuse=refuse)


def _with_most_pairs(problem: Problem, row_to_col: NDArray[np.int64], v: NDArray[Any]) -> NDArray[np.int64]:
    """Of all optimal assignments one with the most pairs: in the doubled problem all have as many."""
    sides = problem.unmatched_cost, v, problem.unmatched_cols
    prices, v_minimised, of_cols = (as_minimised(problem, side) for side in sides)
    assert prices is not None and v_minimised is not None
    cost = problem.cost.compiled(False)
    return match_ties(cost, problem.maximize, prices, row_to_col, v_minimised, of_cols).view(np.int64)


def _added(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of two sums of parts, as sums of parts, which are not more than a certificate reads."""
    parts = np.concatenate([x, y])
    if len(parts) <= MOST_DUAL_PARTS:
        return parts
    fewer = np.zeros((MOST_DUAL_PARTS, parts.shape[1]))
    for line in range(parts.shape[1]):
        rest, k = parts[:, line].tolist(), 0
        while (part := math.fsum(rest)) != 0:  # less than an ulp of it is left
            fewer[k, line] = part
            rest, k = [*rest, -part], k + 1
    return fewer


def _require_rows(problem: Problem) -> None:
    """Raise if rows that must be matched have too few columns.

    There is a matching of all of these and of all columns that must be matched just if there is one of either
    (Mendelsohn and Dulmage, 1958).
    """
    run(problem, make_plan(problem.form))


def _pairs(problem: Problem) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The allowed pairs: rows, columns, costs."""
    cost = problem.cost
    if isinstance(cost, SparseCost):
        row, col = cost.entry_lines, cost.indices.astype(np.int64)
        return (col, row, cost.data) if cost.by_columns else (row, col, cost.data)
    matrix = cost.read(slice(None)) if isinstance(cost, DenseCost) else _transposed(cost).read(slice(None))
    row, col = np.nonzero(matrix != (-np.inf if problem.maximize else np.inf))
    return row, col, matrix[row, col]
