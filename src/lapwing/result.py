"""What `lapwing.solve` and `lapwing.solve_batch` return."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import Answer, float_sum
from lapwing.arrays import is_gpu_array, to_host
from lapwing.assignment import Assignment, IndexArray, Matching, html_table, shown
from lapwing.certificate import BatchCertificate, Certificate, Number
from lapwing.errors import ArgumentError, DtypeError
from lapwing.inputs import make_problem
from lapwing.matched import col_to_row, matched_pairs
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.tensors import like

if TYPE_CHECKING:
    from lapwing.invalid import InvalidPairs


class Costs(Protocol):
    """The costs of a result, for what is asked about them later."""

    def of_pairs(self, row_ind: Any, col_ind: Any) -> Any:
        """Their costs, one for each pair, in the library of the indices."""
        ...

    def problem(self) -> Problem:
        """The problem, on the host."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Result(Matching):
    """An assignment with its proof.

    It unpacks like SciPy's pair: ``row_ind, col_ind = lapwing.solve(cost)``. A result refers to its costs, which
    `pair_costs`, `matched_cost` and `is_unique` read; to those in a GPU's memory only as long as the caller does. A
    pickled result has its pairs' costs alone.

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
        Counters and stage times in seconds, by name: see "Statistics" in docs/methods.md.
    status : str
        "optimal", "time_limit", or "partial" where ``infeasible="partial"`` matched as many pairs as possible; then the
        duals are those of each part of the problem (`Certificate.shortages`).
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
    _costs: Costs | None
    _invalid: InvalidPairs | None = None

    def __repr__(self) -> str:
        rows, cols = len(self.u), len(self.v)
        return f"<lapwing.Result: {self.status}, objective {self.objective!r}, {rows} x {cols}, {self.plan.method}>"

    def _repr_html_(self) -> str:
        pairs, costs = self.pairs, self.pair_costs
        lines = [(*pairs[k], costs[k]) for k in shown(len(pairs))]
        proof = f"{self.status}, objective {self.objective}" if self.certificate is None else str(self.certificate)
        return html_table(("row", "column", "cost"), lines, len(pairs), proof)

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)  # with the costs, which a pickle leaves out
        return made

    def __getstate__(self) -> dict[str, Any]:
        kept = {} if self._costs is None else {"pair_costs": self.pair_costs, "invalid_pairs": self.invalid_pairs}
        return self.__dict__ | kept | {"_costs": None, "_invalid": None}

    @property
    def _col_count(self) -> int:
        return len(self.v)

    @cached_property
    def pair_costs(self) -> NDArray[Any]:
        """(k,) the cost of each pair of `pairs`, of the dtype of the costs.

        Raises
        ------
        ArgumentError
            If the costs were in a GPU's memory, and are not any more.
        """
        if self._costs is None:
            raise ArgumentError("this result has no costs; solve again")
        costs: NDArray[Any] = self._costs.of_pairs(self.row_ind, self.col_ind)
        return costs

    @cached_property
    def invalid_pairs(self) -> IndexArray:
        """(k, 2) int64, the pairs that were forbidden since their cost is NaN, by ``invalid="forbid"``.

        They are looked for in the costs when this is first read.
        """
        found: IndexArray = np.zeros((0, 2), np.int64) if self._invalid is None else self._invalid.listed()
        return found

    @property
    def matched_cost(self) -> Number:
        """The sum of the matched costs alone, without what free rows cost: as exact as `objective`."""
        values = self.pair_costs.tolist()
        return sum(values) if all(isinstance(value, int) for value in values) else float_sum(values)

    def is_unique(self) -> bool:
        """Whether no other assignment is as good, or better by what rounding hides. Reads all costs once.

        Raises
        ------
        ArgumentError
            If the solve stopped at a time limit, or the costs are gone.
        """
        from lapwing.unique import is_unique

        if self._costs is None:
            raise ArgumentError("this result was pickled without its costs, which is_unique() reads; solve again")
        if self.status == "time_limit":
            raise ArgumentError("the solve stopped at its time limit: whether the optimum is unique is not known")
        row_to_col, u, v = (np.asarray(to_host(x)) for x in (self.row_to_col, self.u, self.v))
        return is_unique(self._costs.problem(), row_to_col, u, v, self.status == "partial")


class ProvenResult(Result):
    """A `Result` with its certificate."""

    certificate: Certificate


class Batch:
    """Many assignments, of any library: what follows from `row_to_col`.

    ``batch[b]`` is the `Assignment` of problem b, and a batch may be iterated.
    """

    row_to_col: Any
    objective: Any
    status: Any
    u: Any
    v: Any
    _cols: Any  # the columns of every problem, or a sequence with those of each

    invalid: Any  # what lists pairs whose cost is NaN: of all problems, or a list with that of each; or None

    def _proof(self, _b: int) -> Certificate | None:
        return None

    @property
    def invalid_pairs(self) -> Any:
        """The pairs that were forbidden since their cost is NaN: (k, 3) int64 for an array, for a list (k, 2) of each.

        They are looked for in the costs when this is read.
        """
        if isinstance(self.invalid, list):
            return [pairs.listed() for pairs in self.invalid]
        return np.zeros((0, 3), np.int64) if self.invalid is None else self.invalid.listed()

    def __len__(self) -> int:
        return int(self.objective.shape[0])

    def __iter__(self) -> Iterator[Assignment]:
        return (self[b] for b in range(len(self)))

    def __getitem__(self, b: SupportsIndex) -> Assignment:
        """Problem b; from the end, if negative."""
        count = len(self)
        try:
            b = b.__index__()
        except AttributeError:
            raise TypeError(f"a batch is read problem by problem: give a whole number, got {b!r}") from None
        if not -count <= b < count:
            raise IndexError(f"problem {b} of a batch of {count}")
        b %= count
        u, v = (None if duals is None else duals[b] for duals in (self.u, self.v))
        cols = self._cols if isinstance(self._cols, int) else int(self._cols[b])
        return Assignment(self.row_to_col[b], self.objective[b], self.status[b], u, v, self._proof(b), cols)

    def _repr_html_(self) -> str:
        lines = [(b, self[b].objective, len(self[b].row_ind), len(self[b].row_to_col)) for b in shown(len(self))]
        return html_table(("problem", "objective", "matched", "rows"), lines, len(self), f"{len(self)} problems")


class StackBatch(Batch):
    """The batch of a (B, m, n) array: an array of its library for each attribute."""

    _cols: int

    @property
    def col_to_row(self) -> IndexArray:
        """(B, n) int64, -1 where a column is free."""
        partner: IndexArray = col_to_row(self.row_to_col, self._cols)
        return partner

    @property
    def row_ind(self) -> IndexArray:
        """(B, min(m, n)) int64, the matched rows of each problem in increasing order; -1 where there are fewer."""
        rows: IndexArray = matched_pairs(self.row_to_col, self._cols)[0]
        return rows

    @property
    def col_ind(self) -> IndexArray:
        """The columns of `row_ind`."""
        cols: IndexArray = matched_pairs(self.row_to_col, self._cols)[1]
        return cols


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(Batch):
    """The assignments of many problems.

    ``batch[b]`` is the `Assignment` of problem b, and a batch may be iterated. For a (B, m, n) array every attribute is
    an array (`StackResult`), of tensors a tensor; for a list of problems `row_to_col`, `u` and `v`, and what follows
    from them, are lists of arrays (`ListResult`).

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
        exact sums, 6 as many pairs as possible by ``infeasible="partial"``. No others, unless problems without an
        answer were let pass.
    certificates : list of Certificate, or None
        None among them for a problem without an answer.
    """

    row_to_col: Any
    objective: NDArray[Any]
    u: Any
    v: Any
    status: NDArray[np.int32]
    certificates: list[Certificate | None] | None
    _cols: int | Sequence[int]
    invalid: Any = None

    @property
    def certificate(self) -> BatchCertificate | None:
        """The numbers of `certificates`, in the arrays that a batch on a GPU has; fault 1 without an answer."""
        if self.certificates is None:
            return None
        proofs = self.certificates
        dtype = np.asarray(self.objective).dtype
        violation = np.array([_no_number(dtype) if c is None else c.violation for c in proofs], dtype)
        gap = np.array([_no_number(dtype) if c is None else c.gap for c in proofs], dtype)
        fault = np.array([c is None for c in proofs], np.int32)
        return BatchCertificate(*(like(part, self.objective) for part in (violation, gap, fault)))

    def _proof(self, b: int) -> Certificate | None:
        return None if self.certificates is None else self.certificates[b]

    def __repr__(self) -> str:
        return f"<lapwing.BatchResult: {len(self)} problems>"


class StackResult(StackBatch, BatchResult):
    """A `BatchResult` of a (B, m, n) array: arrays throughout."""

    row_to_col: IndexArray
    u: NDArray[Any] | None
    v: NDArray[Any] | None
    _cols: int


class ListResult(BatchResult):
    """A `BatchResult` of a list of problems: a list of arrays for each attribute but `objective` and `status`."""

    row_to_col: list[IndexArray]
    u: list[NDArray[Any]] | None
    v: list[NDArray[Any]] | None
    _cols: Sequence[int]

    @property
    def col_to_row(self) -> list[IndexArray]:
        """For each problem (n_b,) int64, -1 where a column is free."""
        return [problem.col_to_row for problem in self]

    @property
    def row_ind(self) -> list[IndexArray]:
        """The matched rows of each problem in increasing order."""
        return [problem.row_ind for problem in self]

    @property
    def col_ind(self) -> list[IndexArray]:
        """The columns of `row_ind`."""
        return [problem.col_ind for problem in self]


def _no_number(dtype: Any) -> float:
    return math.nan if np.dtype(dtype).kind == "f" else 0


class HostCosts:
    """Costs on the host, or that are computed there; see `Costs`."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def of_pairs(self, row_ind: Any, col_ind: Any) -> Any:
        problem = self.problem()
        row_to_col = np.full(problem.shape[0], -1, np.int64)
        row_to_col[np.asarray(row_ind)] = np.asarray(col_ind)
        return like(problem.cost.picked(row_to_col), row_ind)

    def problem(self) -> Problem:
        return self._problem


class MatrixCosts(HostCosts):
    """The same of a matrix; the problem is made when somebody asks."""

    def __init__(self, cost: NDArray[Any], maximize: bool, unmatched_cost: float | None) -> None:
        self._given = cost, maximize, unmatched_cost

    def problem(self) -> Problem:
        return make_problem(*self._given)


class GivenCosts:
    """Costs that were solved on a GPU, as the caller gave them; see `Costs`. A GPU's memory is not kept from others."""

    def __init__(self, cost: Any, maximize: bool, unmatched_cost: Any, forbid_invalid: bool) -> None:
        is_weak = is_gpu_array(cost) and hasattr(type(cost), "__weakref__")
        self._refer = weakref.ref(cost) if is_weak else lambda: cost
        self._options, self._forbid_invalid = (maximize, unmatched_cost), forbid_invalid

    def _given(self) -> Any:
        cost = self._refer()
        if cost is None:
            raise ArgumentError(
                "the costs are not in the GPU's memory any more: ask while you hold them, or solve again"
            )
        return cost

    def of_pairs(self, row_ind: Any, col_ind: Any) -> Any:
        cost = self._given()
        if is_gpu_array(cost):
            return cost[row_ind, col_ind]
        return HostCosts(self.problem()).of_pairs(row_ind, col_ind)

    def problem(self) -> Problem:
        cost = to_host(self._given())
        if self._forbid_invalid:
            from lapwing.invalid import without_invalid

            cost = without_invalid(cost, self._options[0])
        return make_problem(cost, *self._options)


def make_result(
    plan: Plan,
    answer: Answer,
    certificate: Certificate | None,
    costs: Costs | None,
    given: Any,
    invalid: InvalidPairs | None = None,
) -> Result:
    """Gather a result: objective and bound are the certificate's, if there is one; tensors if `given` is one."""
    of_kind = Result if certificate is None else ProvenResult
    result = of_kind(
        like(answer.row_to_col, given),
        answer.objective if certificate is None else certificate.primal,  # type: ignore[arg-type]
        like(answer.u, given),
        like(answer.v, given),
        certificate,
        answer.statistics,
        answer.status,
        plan,
        answer.bound if certificate is None else certificate.optimum_bound,  # type: ignore[arg-type]
        costs,
        invalid,
    )
    if answer.col_to_row is not None:
        result.__dict__["col_to_row"] = like(answer.col_to_row, given)
    return result


def duals_of(start: Any) -> tuple[Any, Any]:
    """The duals that `start=` gives: those of an earlier result, or a pair (u, v)."""
    if isinstance(start, Result):
        return start.u, start.v
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise DtypeError(f"start must be a Result or a pair (u, v), got {type(start).__name__}")
    return start[0], start[1]
