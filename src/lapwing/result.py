"""What `lapwing.solve` and `lapwing.solve_batch` return."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import Answer, inverse
from lapwing.certificate import BatchCertificate, Certificate, Number
from lapwing.errors import DtypeError
from lapwing.plan import Plan

IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """An assignment with its proof.

    Attributes
    ----------
    row_to_col : (m,) int64
        The column of each row, -1 where the row is free.
    objective : int or float
        The sum of the matched costs and of the unmatched costs of free rows: exact for integers, correctly rounded for
        floats.
    u, v : (m,) and (n,), float64 or int64
        The duals. c - u - v >= 0 on all pairs that are not forbidden (<= 0 when maximising), with equality on matched
        ones; sum(u) + sum(v) equals the objective up to the certificate's gap. If a time limit ended the solve before
        every row of computed costs was read, u is -inf (when maximising: inf): nothing is known yet.
    certificate : Certificate or None
        None if none was asked for, or u is infinite.
    statistics : dict
        Counters and stage times in seconds, by name.
    status : str
        "optimal" or "time_limit".
    plan : Plan
    lower_bound : int or float
        The optimum is not below it (when maximising: not above it).
    """

    row_to_col: IndexArray
    objective: Number
    u: NDArray[Any]
    v: NDArray[Any]
    certificate: Certificate | None
    statistics: dict[str, float]
    status: str
    plan: Plan
    lower_bound: Number
    _col_to_row: Any = None  # if the method knows it

    def __repr__(self) -> str:
        rows, cols = len(self.u), len(self.v)
        return f"<lapwing.Result: {self.status}, objective {self.objective!r}, {rows} x {cols}, {self.plan.method}>"

    @cached_property
    def col_to_row(self) -> IndexArray:
        """(n,) int64, the row of each column, -1 where the column is free."""
        known: IndexArray | None = self._col_to_row
        return inverse(self.row_to_col, len(self.v)) if known is None else known

    @property
    def row_ind(self) -> IndexArray:
        """The matched rows in increasing order, as `scipy.optimize.linear_sum_assignment` returns them."""
        rows: IndexArray = matched_pairs(self.row_to_col)[0]
        return rows

    @property
    def col_ind(self) -> IndexArray:
        """The columns of `row_ind`."""
        cols: IndexArray = matched_pairs(self.row_to_col)[1]
        return cols


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """The assignments of many problems.

    For a (B, m, n) array every attribute is an array; for a list of problems `row_to_col`, `u` and `v` are lists of
    arrays.

    Attributes
    ----------
    row_to_col : (B, m) int64, or list of (m_b,) int64
        -1 where a row is free, or beyond a problem's rows.
    objective : (B,) float64 or int64
        Of a list in which some problems have float costs float64: an integer above 2^53 is rounded then, and exact in
        its certificate.
    u, v : (B, m) and (B, n), or lists, or None
        The duals, if they were asked for; 0 beyond a problem's rows and columns.
    status : (B,) int32
        As on a GPU: 0 solved, 1 infeasible, 2 a cost that is NaN or infinite with the wrong sign, 3 costs too large for
        exact sums. All 0 unless problems without an answer were let pass.
    certificates : list of Certificate, or None
        None among them for a problem without an answer.
    """

    row_to_col: IndexArray | list[IndexArray]
    objective: NDArray[Any]
    u: NDArray[Any] | list[NDArray[Any]] | None
    v: NDArray[Any] | list[NDArray[Any]] | None
    status: NDArray[np.int32]
    certificates: list[Certificate | None] | None

    @property
    def certificate(self) -> BatchCertificate | None:
        """The numbers of `certificates`, in the arrays that a batch on a GPU has; fault 1 without an answer."""
        if self.certificates is None:
            return None
        proofs = self.certificates
        dtype = self.objective.dtype
        return BatchCertificate(
            np.array([_no_number(dtype) if c is None else c.violation for c in proofs], dtype),
            np.array([_no_number(dtype) if c is None else c.gap for c in proofs], dtype),
            np.array([c is None for c in proofs], np.int32),
        )

    def __len__(self) -> int:
        return len(self.objective)

    def __repr__(self) -> str:
        return f"<lapwing.BatchResult: {len(self)} problems>"


def _no_number(dtype: Any) -> float:
    return math.nan if np.dtype(dtype).kind == "f" else 0


def make_result(plan: Plan, answer: Answer, certificate: Certificate | None) -> Result:
    """Gather a result: objective and bound are the certificate's, if there is one."""
    return Result(
        answer.row_to_col,
        answer.objective if certificate is None else certificate.primal,  # type: ignore[arg-type]
        answer.u,
        answer.v,
        certificate,
        answer.statistics,
        answer.status,
        plan,
        answer.bound if certificate is None else certificate.optimum_bound,  # type: ignore[arg-type]
        answer.col_to_row,
    )


def duals_of(start: Any) -> tuple[Any, Any]:
    """The duals that `start=` gives: those of an earlier result, or a pair (u, v)."""
    if isinstance(start, Result):
        return start.u, start.v
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise DtypeError(f"start must be a Result or a pair (u, v), got {type(start).__name__}")
    return start[0], start[1]


def matched_pairs(row_to_col: Any) -> tuple[Any, Any]:
    """The matched rows in increasing order, and their columns, in the library of `row_to_col`."""
    if not isinstance(row_to_col, np.ndarray):
        rows = (row_to_col >= 0).nonzero()
        rows = rows[0] if isinstance(rows, tuple) else rows[:, 0]
        return rows, row_to_col[rows]
    rows = np.flatnonzero(row_to_col >= 0).astype(np.int64, copy=False)
    return rows, row_to_col[rows]
