"""Many problems in one compiled call, threads over problems (cpp/include/lapwing/batch.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.answer import Answer
from lapwing.cpu.solve import answer_empty
from lapwing.errors import InfeasibleError, InternalError, InvalidCostError, RangeError
from lapwing.problem import Problem, Stack, must_be_matched

# Raises the error of the problem of that number. None: a problem without an answer shows in the status alone.
Refuse = Callable[[int], object] | None

# As on a GPU (kernels/batch/batch.cuh), where 4 are counts beyond the array, which are an error here. PARTIAL is no
# kernel's: the host sets it.
INFEASIBLE, PARTIAL = 1, 6
_STATUS = {"infeasible": INFEASIBLE, "invalid": 2, "range": 3}
_STATUS_OF_ERROR = ((InfeasibleError, INFEASIBLE), (InvalidCostError, 2), (RangeError, 3))


@dataclass(frozen=True)
class BatchAnswer:
    """For each problem what `Answer` holds for one, in the user's sense; u and v only if asked for.

    A problem without an answer has -1, 0, and NaN where the objective is a float.
    """

    row_to_col: NDArray[np.int64] | list[NDArray[np.int64]]
    objective: NDArray[Any]
    u: NDArray[Any] | list[NDArray[Any]] | None
    v: NDArray[Any] | list[NDArray[Any]] | None
    status: NDArray[np.int32]
    row_counts: NDArray[np.int64] | None = None  # what counts of each row of row_to_col and u ...
    col_counts: NDArray[np.int64] | None = None  # ... and v
    # Problems whose answers rounding may have spoiled, with sums out of range, or columns that must be matched.
    doubtful: frozenset[int] = frozenset()

    def __getitem__(self, b: int) -> Answer:
        """The answer to problem b, if there are duals."""
        if self.u is None or self.v is None:
            raise ValueError("the duals were not asked for")
        rows = None if self.row_counts is None else self.row_counts[b]
        cols = None if self.col_counts is None else self.col_counts[b]
        return Answer("optimal", self.row_to_col[b][:rows], self.u[b][:rows], self.v[b][:cols], {})

    def replace(self, b: int, answer: Answer, objective: Any) -> None:
        """Put another answer in the place of problem b's."""
        self.status[b] = 0
        self.objective[b] = objective
        self.row_to_col[b][: len(answer.row_to_col)] = answer.row_to_col
        if self.u is not None and self.v is not None:
            self.u[b][: len(answer.u)], self.v[b][: len(answer.v)] = answer.u, answer.v

    def fail(self, b: int, error: Exception) -> None:
        """Problem b has no answer."""
        self.status[b] = next(status for kind, status in _STATUS_OF_ERROR if isinstance(error, kind))
        self.row_to_col[b][:], self.objective[b] = -1, _no_objective(np.asarray(self.objective).dtype)
        if self.u is not None and self.v is not None:
            self.u[b][:], self.v[b][:] = 0, 0


def solve_stack(stack: Stack, threads: int, duals: bool, refuse: Refuse) -> BatchAnswer:
    """Solve problems in one array."""
    if stack.is_ragged:
        return _solve_ragged(stack, threads, duals, refuse)
    if stack.costs.size == 0:
        return _empty_stack(stack, refuse)
    prices = stack.unmatched_cost
    of_cols = stack.unmatched_cols
    of_rows, of_cols = (None if each is None else each.ravel() for each in (prices, of_cols))
    raw = _call(stack.costs, stack.maximize, of_rows, of_cols, threads, duals, refuse)
    count, rows = stack.costs.shape[:2]
    dtype, status = stack.dual_dtype, raw["status"]
    row_to_col = raw["row_to_col"].view(np.int64).reshape(count, rows)
    objective = raw["objective"].view(dtype)
    u, v = (raw[name].view(dtype).reshape(count, -1) if duals else None for name in ("u", "v"))
    if status.any():
        row_to_col[status != 0], objective[status != 0] = -1, _no_objective(dtype)
        for part in (u, v):
            if part is not None:
                part[status != 0] = 0
    doubtful = {*raw["doubtful"], *(b for b in range(count) if of_cols is not None and stack[b].has_required_columns)}
    return BatchAnswer(row_to_col, objective, u, v, status, doubtful=frozenset(doubtful))


def _solve_ragged(stack: Stack, threads: int, duals: bool, refuse: Refuse) -> BatchAnswer:
    """Solve problems of their own shapes; beyond them row_to_col is -1, and u and v are 0."""
    listed = solve_list([stack[b] for b in range(len(stack))], threads, duals, refuse)
    count, rows, cols = stack.costs.shape

    def padded(parts: Any, width: int, fill: int, dtype: Any) -> NDArray[Any]:
        whole = np.full((count, width), fill, dtype)
        for line, part in zip(whole, parts, strict=True):
            line[: len(part)] = part
        return whole

    dtype = stack.dual_dtype
    return BatchAnswer(
        row_to_col=padded(listed.row_to_col, rows, -1, np.int64),
        objective=listed.objective.astype(dtype),
        u=padded(listed.u, rows, 0, dtype) if duals else None,
        v=padded(listed.v, cols, 0, dtype) if duals else None,
        status=listed.status,
        row_counts=stack.row_counts,
        col_counts=stack.col_counts,
        doubtful=listed.doubtful,
    )


def _empty_stack(stack: Stack, refuse: Refuse) -> BatchAnswer:
    """No problem, or problems without rows or columns, whose rows all stay free."""
    count, rows, cols = stack.costs.shape
    u, v = np.zeros((count, rows), stack.dual_dtype), np.zeros((count, cols), stack.dual_dtype)
    objective, status = np.zeros(count, stack.dual_dtype), np.zeros(count, np.int32)
    if stack.unmatched_cost is not None:
        for b in range(count):
            u[b], v[b], objective[b], status[b] = _solve_empty(stack[b], b, refuse)
    row_to_col = np.full((count, rows), -1, np.int64)
    return BatchAnswer(row_to_col, objective, u, v, status)


def _solve_empty(problem: Problem, b: int, refuse: Refuse) -> tuple[NDArray[Any], NDArray[Any], Any, int]:
    """u, v, objective and status of a problem without rows or columns."""
    try:
        answer = answer_empty(problem)
    except (InfeasibleError, RangeError) as error:
        if refuse is not None:
            refuse(b)
            raise
        status = _STATUS["infeasible" if isinstance(error, InfeasibleError) else "range"]
        u, v = (np.zeros(size, problem.dual_dtype) for size in problem.shape)
        return u, v, _no_objective(problem.dual_dtype), status
    return answer.u, answer.v, answer.u.sum() + answer.v.sum(), 0


def _no_objective(dtype: Any) -> Any:
    return np.nan if np.dtype(dtype).kind == "f" else 0


def solve_list(problems: Sequence[Problem], threads: int, duals: bool, refuse: Refuse) -> BatchAnswer:
    """Solve problems of any shapes and dtypes, one compiled call for each dtype, with prices and without.

    Objectives are float64 if any is.
    """
    objective: list[Any] = [0] * len(problems)
    row_to_col: list[Any] = [None] * len(problems)
    u: list[Any] = [None] * len(problems)
    v: list[Any] = [None] * len(problems)
    status = np.zeros(len(problems), np.int32)
    groups: dict[tuple[np.dtype[Any], bool, bool], list[int]] = {}
    for b, problem in enumerate(problems):
        if problem.is_empty:
            row_to_col[b] = np.full(problem.shape[0], -1, np.int64)
            u[b], v[b], objective[b], status[b] = _solve_empty(problem, b, refuse)
        else:
            form = problem.form
            groups.setdefault((problem.cost.dtype, form.priced, form.cols_priced), []).append(b)
    doubtful: set[int] = set()
    for members in groups.values():
        answers, in_doubt = _solve_group(problems, members, threads, duals, refuse)
        doubtful.update(members[b] for b in in_doubt)
        for b, solved in zip(members, answers, strict=True):
            row_to_col[b], u[b], v[b], objective[b], status[b] = solved
            if status[b]:
                row_to_col[b][:], u[b][:], v[b][:], objective[b] = -1, 0, 0, _no_objective(problems[b].dual_dtype)
    of_duals: tuple[Any, Any] = (u, v) if duals else (None, None)
    return BatchAnswer(
        row_to_col, np.asarray(objective), of_duals[0], of_duals[1], status, doubtful=frozenset(doubtful)
    )


def _solve_group(
    problems: Sequence[Problem], members: list[int], threads: int, duals: bool, refuse: Refuse
) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Solve some non-empty problems of one dtype and sense, all with prices, or none; also name those in doubt."""
    chosen = [problems[b] for b in members]
    dtype = chosen[0].dual_dtype
    prices = _joined([problem.unmatched_cost for problem in chosen])
    of_cols = _joined([problem.unmatched_cols for problem in chosen])
    arrays = [problem.cost.read(slice(None)) for problem in chosen]
    refuse_member = None if refuse is None else lambda b: refuse(members[b])
    raw = _call(arrays, chosen[0].maximize, prices, of_cols, threads, duals, refuse_member)
    row_ends = np.cumsum([problem.shape[0] for problem in chosen])[:-1]
    col_ends = np.cumsum([problem.shape[1] for problem in chosen])[:-1]
    nothing = [np.zeros(0, dtype)] * len(chosen)
    answers = zip(
        np.split(raw["row_to_col"].view(np.int64), row_ends),
        np.split(raw["u"].view(dtype), row_ends) if duals else nothing,
        np.split(raw["v"].view(dtype), col_ends) if duals else nothing,
        raw["objective"].view(dtype),
        raw["status"],
        strict=True,
    )
    required = [k for k, problem in enumerate(chosen) if problem.has_required_columns]
    return list(answers), raw["doubtful"] + required


def _joined(prices: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Prices of all problems, one after the other, or none."""
    given = [each for each in prices if each is not None]
    return np.concatenate(given) if given else None


def _call(
    costs: Any,
    maximize: bool,
    prices: NDArray[Any] | None,
    of_cols: NDArray[Any] | None,
    threads: int,
    duals: bool,
    refuse: Refuse,
) -> dict[str, Any]:
    if of_cols is not None:  # columns that must be matched are left to another solve: such problems are in doubt
        of_cols = np.where(must_be_matched(of_cols), of_cols.dtype.type(0), of_cols)
    if maximize:
        prices, of_cols = (None if each is None else -each for each in (prices, of_cols))
    raw = _core.solve_batch(costs, maximize, prices, of_cols, threads, duals)
    status = raw["status"] = np.zeros(len(raw["objective"]), np.int32)
    is_float = (costs if isinstance(costs, np.ndarray) else costs[0]).dtype.kind == "f"
    again = ("doubtful", "range") if is_float else ()  # float sums out of range may have an optimum in it
    raw["doubtful"] = [problem for problem, kind, _, _ in raw["faults"] if kind in again]
    for problem, kind, _, _ in raw["faults"]:
        if kind == "doubtful":
            continue
        if refuse is not None and kind not in again:
            refuse(problem)
            raise InternalError(f"problem {problem} of the batch was found {kind}, but solves on its own")
        status[problem] = _STATUS[kind]
    if maximize and duals:
        np.negative(raw["u"], out=raw["u"])
        np.negative(raw["v"], out=raw["v"])
    return raw
