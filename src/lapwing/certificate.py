"""The proof of an answer: computed by code that shares nothing with the methods.

By linear programming duality no assignment costs less than sum(u) + sum(v) if c - u - v >= 0 on all pairs. The
compiled pass (cpp/include/lapwing/certificate/certificate.hpp) measures over *all* pairs by how much that fails, sums
without rounding, and turns both into a rigorous bound on how far the assignment is from the optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing._core import ABSENT
from lapwing.errors import InternalError
from lapwing.inputs import invalid_cost, with_float_costs
from lapwing.problem import Problem
from lapwing.progress import Hook

Number = int | float


@dataclass(frozen=True, eq=False)
class Shortage:
    """Rows that must be matched, and have pairs only with fewer columns: some stay free in every assignment.

    Attributes
    ----------
    rows, cols : int64 arrays, increasing
        All pairs of `rows` that are not forbidden lie in `cols`, and there are ``len(rows) - len(cols)`` rows too many.
    of_cols : bool
        Whether rows and columns change roles.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    of_cols: bool = False

    @property
    def count(self) -> int:
        """How many rows (columns if `of_cols`) stay free at least."""
        return abs(len(self.rows) - len(self.cols))


@dataclass(frozen=True)
class Certificate:
    """How far an assignment is from the optimum, and why.

    Attributes
    ----------
    primal : int or float
        The objective of the assignment: exact for integers, correctly rounded for floats.
    dual : int or float
        sum(u) + sum(v), likewise.
    gap : int or float
        primal - dual (dual - primal when maximising), rounded once. Means nothing for an incomplete assignment.
    violation : int or float
        The worst violation of a dual constraint over all pairs, rounded up; 0 if the duals are feasible.
    violation_at : (int, int) or None
        The pair where it occurs; -1 for the column or row of a constraint on u or v alone.
    complete : bool
        Whether every row (every column of a tall problem) has its partner, or its unmatched cost; every column, too,
        where columns have unmatched costs.
    exact : bool
        Proven optimal without any rounding in the argument: gap == 0 and violation == 0.
    bound : int or float
        The objective is at most this far from the optimum; rigorous, rounded up; inf if nothing is proven.
    optimum_bound : int or float
        What the duals prove of the optimum: not below it (not above it when maximising), rounding included.
    fault : str or None
        What is wrong with the assignment, if it is none.
    duals : ((k, m), (k, n)) float64, or None
        Numbers whose sums, taken without rounding, are the duals of the proof, where u and v lack the digits.
    shortages : tuple of Shortage
        Where not every row that must be matched can be (``infeasible="partial"``): why no assignment leaves fewer free.
        The duals then prove the optimum of each shortage, and of the other rows and columns, as problems of their own.
    """

    primal: Number
    dual: Number
    gap: Number
    violation: Number
    violation_at: tuple[int, int] | None
    complete: bool
    exact: bool
    bound: Number
    optimum_bound: Number
    fault: str | None
    duals: tuple[NDArray[Any], NDArray[Any]] | None = field(default=None, repr=False, compare=False)
    shortages: tuple[Shortage, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        proven = self._proven
        if not self.shortages or self.fault is not None:
            return proven
        rows, cols = (sum(one.count for one in self.shortages if one.of_cols == kind) for kind in (False, True))
        short = [f"{count} {noun}" for count, noun in ((rows, "rows"), (cols, "columns")) if count]
        return f"as many pairs as possible, for {' and '.join(short)} must stay free; {proven}"

    @property
    def _proven(self) -> str:
        if self.fault is not None:
            return f"invalid: {self.fault}"
        if not self.complete:
            return f"incomplete: not every row has a column; the optimum is proven only up to {self.optimum_bound:.17g}"
        if self.exact:
            return f"optimal, proven exactly: objective {self.primal:.17g}, gap 0, no dual violation over all pairs"
        at = "" if self.violation_at is None else f" at {self.violation_at}"
        return (
            f"objective {self.primal:.17g}, at most {self.bound:.3g} from the optimum: gap {self.gap:.3g}, "
            f"worst dual violation {self.violation:.3g}{at} over all pairs"
        )


@dataclass(frozen=True, eq=False)
class BatchCertificate:
    """A proof for each problem of a batch, in arrays; on a GPU those of `kernels/batch_certify.cu`.

    On a GPU it decides the status: 0 if it proves the objective up to an ulp for each pair, else 5.

    Attributes
    ----------
    violation, gap : (B,) float64 or int64
        Upper bounds on how far the duals are from feasible, and on primal minus dual objective (when maximising: dual
        minus primal); both 0 prove the answer. For floats, rounding in the last bits of the duals may leave a little.
    fault : (B,) int32
        0; 1 no answer, 2 a column out of range, 3 a column taken twice, 4 a forbidden pair, 5 a row and a column left
        free that should be matched.
    """

    violation: Any
    gap: Any
    fault: Any

    @property
    def exact(self) -> Any:
        """(B,) bool: the answer is optimal without any rounding."""
        return (self.fault == 0) & (self.violation == 0) & (self.gap == 0)


def prove(
    problem: Problem,
    row_to_col: NDArray[np.int64],
    u: NDArray[Any],
    v: NDArray[Any],
    threads: int,
    hook: Hook | None = None,
) -> Certificate:
    """Certify an assignment against the whole matrix, or all that a source computes.

    Parameters
    ----------
    problem : Problem, (m, n)
    row_to_col : (m,) int64, -1 where a row is free; any values
    u, v : (m,) and (n,) float64 or int64, finite, in the user's sense; or (k, m) and (k, n) float64, whose sums over k,
        taken without rounding, are the duals
    hook : Hook or None
        Shown how much of the pass is done, as stage "certify".

    Raises
    ------
    InvalidCostError
        If a cost is NaN or infinite with the wrong sign.
    """
    if problem.is_integer and u.ndim == 2:
        problem = with_float_costs(problem)
    if problem.is_integer and "f" in (u.dtype.kind, v.dtype.kind):
        problem = with_float_costs(problem)
    u, v = u.astype(problem.dual_dtype, copy=False), v.astype(problem.dual_dtype, copy=False)
    duals = (u, v) if u.ndim == 2 else None
    prices, of_cols = problem.unmatched_cost, problem.unmatched_cols
    if problem.maximize:
        u, v = -u, -v
        prices, of_cols = (None if each is None else -each for each in (prices, of_cols))
    fault = None
    if problem.is_tall:
        row_to_col, fault = _col_to_row(row_to_col, problem.shape[1])
        u, v = v, u
    parts = len(u) if u.ndim == 2 else 1
    cost = problem.cost.compiled(problem.is_tall)
    found, u, v = problem.cost.row_proofs(row_to_col, u, v), u.ravel(), v.ravel()
    if found is None:
        raw = _core.certify(cost, problem.maximize, prices, of_cols, row_to_col, u, v, parts, threads, hook)
    else:
        rows, cols = problem.shape
        raw = _core.certify_from_rows(rows, cols, problem.maximize, prices, of_cols, row_to_col, u, v, parts, found)
    if raw["fault"] == "invalid_cost":
        at = raw["fault_row"], raw["fault_col"]
        raise invalid_cost(problem, *(at[::-1] if problem.is_tall else at))
    certificate = assemble(
        raw, fault, problem.shape, tall=problem.is_tall, maximize=problem.maximize, integer=problem.is_integer
    )
    return certificate if duals is None else replace(certificate, duals=duals)


def require_matching(certificate: Certificate) -> None:
    """Refuse what is no assignment, optimal or not.

    Raises
    ------
    InternalError
    """
    if certificate.fault is not None:
        raise InternalError(f"the method returned an invalid assignment: {certificate.fault}")


def assemble(
    raw: dict[str, Any], fault: str | None, shape: tuple[int, int], *, tall: bool, maximize: bool, integer: bool
) -> Certificate:
    """The findings of a pass over the matrix, in the user's orientation and sense.

    Parameters
    ----------
    raw : dict
        What `_core.certify` returns: everything as minimised, rows and columns of a tall problem exchanged.
    fault : str or None
        What was wrong with the assignment before the pass; it goes before `raw`'s.
    shape : (m, n)
        Of the problem as the user sees it.
    """

    def oriented(row: int, col: int) -> tuple[int, int]:
        return (col, row) if tall else (row, col)

    if fault is None and raw["fault"] != "none":
        fault = _worded(raw["fault"], *oriented(raw["fault_row"], raw["fault_col"]))

    def signed(value: Number) -> Number:  # exact, whatever the processor does with subnormal numbers
        return -value if maximize else value

    def in_range(value: Number) -> Number:  # of an integer that `ABSENT` stands for, no more is known
        return math.inf if value == ABSENT else value

    violated, violation = raw["violation"] > 0, in_range(raw["violation"])
    return Certificate(
        primal=signed(raw["primal"]),
        dual=signed(raw["dual"]),
        gap=raw["gap"],
        violation=violation,
        violation_at=oriented(raw["violation_row"], raw["violation_col"]) if violated else None,
        complete=raw["complete"],
        exact=raw["exact"] and fault is None,
        bound=math.inf if fault is not None else in_range(raw["bound"]),
        optimum_bound=signed(lower_bound(raw["dual"], raw["dual_below"], violation, raw["exact"], shape)),
        fault=fault,
    )


def lower_bound(dual: Number, below: Number, violation: Number, exact: bool, shape: tuple[int, int]) -> Number:
    """The bound that the duals prove of the optimum as minimised: every constraint may be off by the worst violation.

    `below`: the sum of the duals, which is `dual`, rounded down.
    """
    if violation == math.inf:
        return -math.inf
    if math.isinf(dual):
        dual = below
    if violation > 0:
        dual -= violation * (2 * max(shape) + min(shape))
    if isinstance(dual, int):
        return dual
    if exact:
        return below
    return math.nextafter(math.nextafter(dual, -math.inf), -math.inf)


def _worded(fault: str, row: int, col: int) -> str:
    if fault == "column_range":
        return f"row {row} is assigned to a column that does not exist"
    if fault == "column_twice":
        return f"column {col} is assigned twice, the second time to row {row}"
    if fault == "forbidden_pair":
        return f"row {row} is assigned to column {col}, which is forbidden"
    return f"the dual of {f'row {row}' if col < 0 else f'column {col}'} is not finite"


def _col_to_row(row_to_col: NDArray[np.int64], cols: int) -> tuple[NDArray[np.int64], str | None]:
    """A tall problem's assignment seen from the columns, and what is wrong with it."""
    col_to_row = np.full(cols, -1, np.int64)
    fault = None
    for row in np.flatnonzero(row_to_col != -1):
        col = int(row_to_col[row])
        if not 0 <= col < cols:
            fault = fault or _worded("column_range", int(row), col)
        elif col_to_row[col] >= 0:
            fault = fault or _worded("column_twice", int(row), col)
        else:
            col_to_row[col] = row
    return col_to_row, fault
