"""Problems that no assignment solves: as many pairs as possible, at the least cost among these, and the proof.

Rows that must be matched and have too few columns between them are a shortage: rows R, all of whose allowed pairs lie
in fewer columns C. In every assignment at least |R| - |C| of them stay free, and no more do if each column of C is
matched to a row of R, and all other rows that must be matched are matched, to other columns. So assignments with the
fewest free rows are those of two problems of their own: R with C, where every column must be matched, and all other
rows and columns, as before. A problem may also have a shortage of columns that must be matched; then there are three
parts. The optima of the parts add up to that of the problem, and so do their proofs; that the shortages are some, a
pass over the pairs between R and all columns but C shows.

Without prices, this is the largest matching: all rows but R, and C, touch all allowed pairs, and are as many as the
pairs of the assignment (König's cover). Reference: Dulmage and Mendelsohn, "Coverings of bipartite graphs", 1958.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.answer import objective, sum_towards
from lapwing.certificate import Certificate, Shortage, prove
from lapwing.costs.base import CostSource
from lapwing.costs.dense import row_blocks
from lapwing.costs.part import Indices, part
from lapwing.costs.sparse import SparseCost
from lapwing.errors import InternalError
from lapwing.problem import Problem, must_be_matched


@dataclass(frozen=True)
class Part:
    """Rows and columns of a problem, and the problem that they are."""

    problem: Problem
    rows: Indices
    cols: Indices

    def renumbered(self, row_to_col: NDArray[np.int64]) -> NDArray[np.int64]:
        """Its rows' columns as they are numbered here; -1 for columns of other parts."""
        chosen = row_to_col[self.rows]
        place = np.searchsorted(self.cols, chosen)
        inside = np.isin(chosen, self.cols)
        return np.where(inside, place, -1)


def find_shortages(problem: Problem) -> tuple[Shortage, ...]:
    """The shortage of rows, if there is one, and that of columns among what it leaves.

    Raises
    ------
    InvalidCostError
    """
    if problem.is_tall:
        return _shortage(problem, problem.cost, np.ones(problem.shape[1], bool), of_cols=True)
    prices, of_cols = problem.unmatched_cost, problem.unmatched_cols
    wanted = np.ones(problem.shape[0], bool) if prices is None else must_be_matched(prices)
    found = _shortage(problem, problem.cost, wanted, of_cols=False)
    if of_cols is None or not must_be_matched(of_cols).any():
        return found
    rest = parts_of(problem, found)[-1]
    assert rest.problem.unmatched_cols is not None
    wanted = must_be_matched(rest.problem.unmatched_cols)
    others = _shortage(problem, rest.problem.cost, wanted, of_cols=True)
    return *found, *(Shortage(rest.rows[each.rows], rest.cols[each.cols], each.of_cols) for each in others)


def _shortage(problem: Problem, cost: CostSource, wanted: NDArray[np.bool_], of_cols: bool) -> tuple[Shortage, ...]:
    if 0 in cost.shape:
        lines, across = np.flatnonzero(wanted), np.zeros(0, np.int64)
    else:
        lines, across = _core.find_shortage(cost.compiled(of_cols), problem.maximize, wanted, False)
    if not len(lines):
        return ()
    return (Shortage(across, lines, True) if of_cols else Shortage(lines, across, False),)


def parts_of(problem: Problem, shortages: Sequence[Shortage]) -> list[Part]:
    """The parts of a problem: one for each shortage, and what is left."""
    rows, cols = (np.arange(size) for size in problem.shape)
    parts = []
    for each in shortages:
        parts.append(Part(Problem(part(problem.cost, each.rows, each.cols), problem.maximize), each.rows, each.cols))
        rows, cols = np.setdiff1d(rows, each.rows), np.setdiff1d(cols, each.cols)
    prices, of_cols = problem.unmatched_cost, problem.unmatched_cols
    rest = Problem(
        part(problem.cost, rows, cols),
        problem.maximize,
        None if prices is None else prices[rows],
        None if of_cols is None else of_cols[cols],
    )
    return [*parts, Part(rest, rows, cols)]


def prove_in_parts(
    problem: Problem, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], threads: int
) -> Certificate:
    """`prove`, for an assignment that leaves as few lines free as there must be.

    Raises
    ------
    InvalidCostError
    """
    whole, shortages = prove(problem, row_to_col, u, v, threads), find_shortages(problem)
    if not shortages or whole.fault is not None:
        return whole
    parts = parts_of(problem, shortages)
    proofs = [
        prove(each.problem, each.renumbered(row_to_col), u[..., each.rows], v[..., each.cols], threads)
        for each in parts
    ]
    certificate = joined(problem, shortages, parts, proofs, row_to_col)
    return certificate if u.ndim == 1 else replace(certificate, duals=(u, v))


def joined(
    problem: Problem,
    shortages: tuple[Shortage, ...],
    parts: list[Part],
    proofs: list[Certificate],
    row_to_col: NDArray[np.int64],
) -> Certificate:
    """One proof of those of all parts.

    Raises
    ------
    InternalError
        If a shortage is none.
    """
    for each in shortages:
        if not _is_shortage(problem, each):
            raise InternalError("rows were called too many for their columns without a proof")
    worst = max(range(len(parts)), key=lambda k: proofs[k].violation)
    at, of = proofs[worst].violation_at, parts[worst]
    if at is not None:
        at = (int(of.rows[at[0]]) if at[0] >= 0 else -1, int(of.cols[at[1]]) if at[1] >= 0 else -1)
    fault = next((f"in a part of its own, {one.fault}" for one in proofs if one.fault is not None), None)
    return Certificate(
        primal=objective(problem, row_to_col),
        dual=sum_towards([one.dual for one in proofs]),
        gap=sum_towards([one.gap for one in proofs], math.inf),
        violation=proofs[worst].violation,
        violation_at=at,
        complete=all(one.complete for one in proofs),
        exact=all(one.exact for one in proofs),
        bound=sum_towards([one.bound for one in proofs], math.inf),
        optimum_bound=sum_towards([one.optimum_bound for one in proofs], math.inf if problem.maximize else -math.inf),
        fault=fault,
        shortages=shortages,
    )


def _is_shortage(problem: Problem, claimed: Shortage) -> bool:
    """Whether these lines must be matched, have no allowed pairs but with the others, and are more."""
    lines, across = (claimed.cols, claimed.rows) if claimed.of_cols else (claimed.rows, claimed.cols)
    prices = problem.unmatched_cols if claimed.of_cols else problem.unmatched_cost
    if len(lines) <= len(across) or (prices is not None and not must_be_matched(prices[lines]).all()):
        return False
    if isinstance(problem.cost, SparseCost):
        return problem.cost.reaches_only(lines, across, claimed.of_cols)
    forbidden = -np.inf if problem.maximize else np.inf
    of_rows, of_cols = (np.zeros(size, bool) for size in problem.shape)
    of_rows[claimed.rows] = of_cols[claimed.cols] = True
    for block in row_blocks(problem.cost):
        allowed = problem.cost.read(block) != forbidden
        allowed &= ~of_rows[block, None] & of_cols if claimed.of_cols else of_rows[block, None] & ~of_cols
        if allowed.any():
            return False
    return True
