"""Integers that are far from zero, but near each other: the same problem less a constant.

Sums of such costs leave int64, as those of ``sys.maxsize - profit`` do, where costs less the least of them add up
without trouble. Every assignment has as many pairs (with prices, as many rows that are matched or pay to stay free),
so a constant off each changes all objectives alike. It goes into the duals of the rows, or of the columns of a tall
matrix. Where all pairs are allowed, these stay within int64: as free columns' duals are 0, each of the rows' is between
the least and the largest cost. Where pairs are forbidden, duals may be as far beyond as alternating paths are long; if
one leaves int64, the problem remains out of range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.answer import Answer
from lapwing.certificate import Certificate, prove
from lapwing.costs.dense import DenseCost
from lapwing.costs.sparse import SparseCost
from lapwing.problem import Problem, must_be_matched


@dataclass(frozen=True)
class Shifted:
    """A problem less a constant.

    Attributes
    ----------
    problem : Problem
    offset : int
        What is off every cost, and every price of rows that may stay free.
    """

    problem: Problem
    offset: int

    def given_back(self, answer: Answer, certificate: Certificate | None) -> tuple[Answer, Certificate | None]:
        """An answer of this problem as one of the problem as it was given.

        Raises
        ------
        OverflowError
            If a dual leaves int64.
        """
        u, v = answer.u, answer.v
        if self.problem.unmatched_cost is None and len(u) == len(v) > 0:  # square: duals may move from side to side
            extreme = v.min() if self.problem.maximize else v.max()
            u, v = u + extreme, v - extreme
        u, v = self._moved(u, v, self.offset)
        answer = replace(answer, u=u, v=v)
        return answer, None if certificate is None else self._certified(certificate, answer.row_to_col)

    def prove(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], threads: int) -> Certificate:
        """`lapwing.certificate.prove`, with duals of the problem as it was given; raises as `duals`."""
        proof = prove(self.problem, row_to_col, *self.duals(u, v), threads)
        return self._certified(proof, row_to_col)

    def duals(self, u: NDArray[Any], v: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Duals of this problem, from those of the problem as it was given.

        Raises
        ------
        OverflowError
            If one is too far from the costs.
        """
        return self._moved(u, v, -self.offset)

    def _certified(self, certificate: Certificate, row_to_col: NDArray[np.int64]) -> Certificate:
        prices = self.problem.unmatched_cost
        count = int(np.count_nonzero(row_to_col >= 0))
        if prices is not None:
            count += int(np.count_nonzero(~must_be_matched(prices)[row_to_col < 0]))
        lines = self.problem.shape[1] if self.problem.is_tall else self.problem.shape[0]
        return replace(
            certificate,
            primal=certificate.primal + self.offset * count,
            dual=certificate.dual + self.offset * lines,
            optimum_bound=certificate.optimum_bound + self.offset * lines,
        )

    def _moved(self, u: NDArray[Any], v: NDArray[Any], by: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return (u, _plus(v, by)) if self.problem.is_tall else (_plus(u, by), v)


def shifted(problem: Problem) -> Shifted | None:
    """The problem less a constant; None if its costs are no int64, or too far from each other."""
    cost, prices = problem.cost, problem.unmatched_cost
    if cost.dtype != np.int64 or not isinstance(cost, (DenseCost, SparseCost)) or 0 in problem.shape:
        return None
    values = cost.data if isinstance(cost, SparseCost) else cost.array
    free = np.zeros(0, np.int64) if prices is None else prices[~must_be_matched(prices)]
    ends = [int(end) for part in (values, free) if part.size for end in (part.min(), part.max())]
    if not ends or max(ends) - min(ends) >= ABSENT:
        return None
    offset = min(ends)
    moved = replace(cost, data=values - offset) if isinstance(cost, SparseCost) else DenseCost(values - offset)
    if prices is not None:
        prices = np.where(must_be_matched(prices), prices, prices - np.where(must_be_matched(prices), 0, offset))
    return Shifted(Problem(moved, problem.maximize, prices, problem.unmatched_cols), offset)


def prove_shifted(
    problem: Problem, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], threads: int
) -> Certificate:
    """`prove`; less a constant, if integers are out of range and that helps."""
    certificate = prove(problem, row_to_col, u, v, threads)
    if certificate.fault is not None or not problem.is_integer or certificate.bound < math.inf:
        return certificate
    less = shifted(problem)
    try:
        return certificate if less is None else less.prove(row_to_col, u, v, threads)
    except OverflowError:
        return certificate


def _plus(duals: NDArray[Any], by: int) -> NDArray[Any]:
    if duals.dtype.kind != "i":
        raise OverflowError("duals of such integers are integers")
    limits = np.iinfo(np.int64)
    if duals.size and not (limits.min <= int(duals.min()) + by and int(duals.max()) + by <= limits.max):
        raise OverflowError("a dual is out of int64")
    return (duals.view(np.uint64) + np.uint64(by % (1 << 64))).view(np.int64)
