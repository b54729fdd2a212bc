"""A compiled method on a problem: it gets a Problem and a Plan, and returns an assignment and duals.

The compiled methods see rows <= cols (or unmatched costs) and minimise. This file turns a problem into that form
without copying the matrix, and the answer back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing._core import ABSENT
from lapwing.answer import Answer, Duals, Keep, inverse
from lapwing.costs.base import CostSource
from lapwing.costs.dense import DenseCost, FilledCost
from lapwing.costs.sparse import SparseCost
from lapwing.cpu.large_costs import find_large, solve_with_large, solve_without_large
from lapwing.errors import InfeasibleError, InternalError, InvalidCostError, RangeError, infeasible
from lapwing.inputs import invalid_cost
from lapwing.methods import Method, methods_for
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem, must_be_matched
from lapwing.progress import Hook


class Control(NamedTuple):
    """The controls of a running method beside Ctrl-C: time limit, progress, checkpoints.

    Attributes
    ----------
    time_limit : float
        Seconds; infinite for none.
    hook : Hook or None
    keep : Keep or None
        Called, if the method can, every `keep_every` seconds.
    """

    time_limit: float = math.inf
    hook: Hook | None = None
    keep: Keep | None = None
    keep_every: float = 0.0


FREE = Control()  # to run to the end, unwatched


def run(problem: Problem, plan: Plan, start: Duals | None = None, control: Control = FREE) -> Answer:
    """Solve any problem with the method that the plan chose.

    Raises
    ------
    InvalidCostError, RangeError, InfeasibleError
    """
    if problem.is_empty:
        return answer_empty(problem)
    answer = _run(methods_for(problem.cost.tier)[plan.method], problem, plan, start, control)
    if isinstance(problem.cost, FilledCost) and len(filled := problem.cost.fills(answer.row_to_col)):
        if answer.status == "optimal":
            require_pairs(problem)
        answer.row_to_col[filled] = -1  # of an answer that is not complete
    return answer


def without_filling(problem: Problem) -> Problem:
    """The problem of the given pairs, where a matrix of integers has a number in place of others."""
    return replace(problem, cost=problem.cost.pairs) if isinstance(problem.cost, FilledCost) else problem


def require_pairs(problem: Problem) -> None:
    """Raise for a problem whose optimal answers have pairs that are not given: no assignment does without.

    Raises
    ------
    InfeasibleError
    """
    pairs = without_filling(problem)
    run(pairs, make_plan(pairs.form))
    raise InternalError("the method needs pairs that are not given, but there is an assignment without")


def _run(method: Method, problem: Problem, plan: Plan, start: Duals | None, control: Control) -> Answer:
    cost = _readable(method, problem.cost).compiled(plan.transposed)
    prices = as_minimised(problem, problem.unmatched_cost)
    of_cols = as_minimised(problem, problem.unmatched_cols)
    start_v = None if start is None else as_minimised(problem, start[0] if plan.transposed else start[1])
    options = plan.options.compiled() if plan.options else {}
    time_limit, hook, keep, keep_every = control
    kept = None if keep is None else _kept(problem, plan, keep)
    with_fallback = f"{plan.method} or {plan.fallback}" if plan.fallback else plan.method

    deadline = time.perf_counter() + time_limit

    def remaining() -> float:
        return max(0.0, deadline - time.perf_counter())

    def solver(cost: Any, prices: NDArray[Any] | None) -> dict[str, Any]:
        name = "core" if start_v is not None else with_fallback if isinstance(cost, np.ndarray) else plan.method
        limit = remaining()
        return _core.solve(
            name, options, cost, problem.maximize, prices, of_cols, start_v, plan.threads, limit, hook, kept, keep_every
        )

    def capped() -> dict[str, Any] | None:
        return None if kept else _core.solve_capped(cost, problem.maximize, remaining(), hook)

    try:
        raw = large = None
        if not problem.is_integer and of_cols is None and problem.cost.tier in ("dense", "computed"):
            large = find_large(cost, problem.maximize, prices)
        if large is not None and plan.fallback and prices is None and start is None and isinstance(cost, np.ndarray):
            raw = solve_with_large(large, cost, problem.maximize, solver, capped)
        if large is not None and raw is None:
            rows = problem.shape[1] if plan.transposed else problem.shape[0]
            above, least, _ = large
            as_matrix = not method.reads_sources
            raw = solve_without_large(above, least, cost, rows, problem.maximize, prices, solver, as_matrix, remaining)
        if raw is None:
            if of_cols is not None or not method.checks_range:
                _check_range(problem, plan, cost, prices)
            raw = solver(cost, prices)
    except _core.InvalidCost as error:
        raise invalid_cost_found(problem, plan, error) from None
    if raw["status"] == "range":
        _check_range(problem, plan, cost, prices)
        raise InternalError("the method found costs too large that are not; please report it with the matrix")
    if raw["status"] == "infeasible":
        raise infeasible_with_proof(problem, plan, cost, prices, raw)
    if of_cols is not None and not problem.is_integer:  # which the method subtracts from costs
        raw["shift"] = max(raw.get("shift", 0.0), largest(of_cols))
    return given_back(problem, plan, raw)


def _readable(method: Method, cost: CostSource) -> CostSource:
    if cost.tier == "dense" or method.reads_sources:
        return cost
    return DenseCost(cost.read(slice(None)))


def answer_empty(problem: Problem) -> Answer:
    """The answer for a matrix without rows or without columns: every row and column stays free."""
    rows, cols = problem.shape
    prices, of_cols = problem.unmatched_cost, problem.unmatched_cols
    u, v, nobody = np.zeros(rows, problem.dual_dtype), np.zeros(cols, problem.dual_dtype), np.zeros(0, np.int64)
    if prices is not None and rows:
        unpriced = np.flatnonzero(must_be_matched(prices))
        if unpriced.size:
            raise InfeasibleError(unpriced[:1], nobody)
        u = prices.copy()
    if of_cols is not None and cols:
        unpriced = np.flatnonzero(must_be_matched(of_cols))
        if unpriced.size:
            raise InfeasibleError(nobody, unpriced[:1], by_cols=True)
        v = of_cols.copy()
    if prices is not None:
        excess = _core.check_range(np.zeros(problem.shape, problem.dual_dtype), False, prices, of_cols, 1)
        if excess is not None:
            raise _too_large(problem, False, excess)
    return Answer("optimal", np.full(rows, -1, np.int64), u, v, {})


def as_minimised(problem: Problem, values: NDArray[Any] | None) -> NDArray[Any] | None:
    """Prices or duals in the sense in which all methods solve."""
    return -values if problem.maximize and values is not None else values


def _check_range(problem: Problem, plan: Plan, cost: Any, prices: NDArray[Any] | None) -> None:
    of_cols = as_minimised(problem, problem.unmatched_cols)
    excess = _core.check_range(cost, problem.maximize, prices, of_cols, plan.threads)
    if excess is not None:
        raise _too_large(problem, plan.transposed, excess)


def _too_large(problem: Problem, transposed: bool, excess: tuple[Any, Any, int, int]) -> RangeError:
    """The error for what `_core.check_range` returns."""
    limit, extreme, row, col = excess
    if row < 0:
        where = f"unmatched_cost[1][{col}]"
    elif col < 0:
        where = f"unmatched_cost[{row}]"
    else:
        where = f"cost[{col}, {row}]" if transposed else f"cost[{row}, {col}]"
    kind = "int64" if problem.is_integer else "float64"
    return RangeError(
        f"{where} is {extreme}: for this shape, sums stay exact in {kind} only up to {limit} in magnitude; subtract a "
        "constant from all costs, or divide them"
    )


def invalid_cost_found(problem: Problem, plan: Plan, error: _core.InvalidCost) -> InvalidCostError:
    """The error for a cost that a compiled method found."""
    row, col = error.args
    return invalid_cost(problem, *((col, row) if plan.transposed else (row, col)))


def infeasible_with_proof(
    problem: Problem, plan: Plan, cost: Any, prices: NDArray[Any] | None, raw: dict[str, Any]
) -> InfeasibleError:
    """The error for a compiled answer "infeasible", whose Hall violator is checked first."""
    violators, reach = np.sort(raw["hall_rows"].view(np.int64)), np.sort(raw["hall_cols"].view(np.int64))
    if isinstance(problem.cost, SparseCost):
        return _sparse_infeasible(problem, prices, violators, reach, plan.transposed != raw["violator_is_cols"])
    _check_violator(problem, cost, prices, violators, reach)
    has_prices = prices is not None and problem.cost.reads_columns  # the methods' may then contain a smaller one
    if has_prices or _has_smaller(problem, violators, reach):
        return minimal_violator(problem, plan.transposed, violators, reach)
    return infeasible(plan.transposed, violators, reach)


def _has_smaller(problem: Problem, violators: NDArray[np.int64], reach: NDArray[np.int64]) -> bool:
    """Whether the columns out of reach, which have fewer rows between them, are fewer: perhaps one has none."""
    rows, cols = problem.shape
    square = rows == cols and problem.unmatched_cost is None
    return square and problem.cost.reads_columns and len(violators) + len(reach) > rows


def minimal_violator(
    problem: Problem, transposed: bool, violators: NDArray[np.int64], reach: NDArray[np.int64]
) -> InfeasibleError:
    """The error for a Hall violator that contains no other: of these rows, or of the columns out of their reach.

    Rows and columns are those of the transposed problem if `transposed`.
    """
    wanted = np.zeros(problem.shape[1 if transposed else 0], bool)
    wanted[violators] = True
    if _has_smaller(problem, violators, reach):
        transposed, wanted = not transposed, np.ones(len(wanted), bool)
        wanted[reach] = False
    cost = problem.cost.compiled(transposed)
    return infeasible(transposed, *_core.find_shortage(cost, problem.maximize, wanted, True))


def _check_violator(
    problem: Problem,
    cost: Any,
    prices: NDArray[Any] | None,
    violators: NDArray[np.int64],
    reach: NDArray[np.int64],
) -> None:
    """Prove that these rows need more columns than the fewer ones they can reach: nothing else is called infeasible."""
    outside = np.ones(max(problem.shape) if problem.unmatched_cost is None else problem.shape[1], bool)
    outside[reach] = False
    forbidden, absent = -np.inf if problem.maximize else np.inf, ABSENT if problem.is_integer else np.inf
    proven = (
        len(violators) > len(reach)
        and all((_row(cost, int(row))[outside] == forbidden).all() for row in violators)
        and (prices is None or (prices[violators] == absent).all())
    )
    if not proven:
        raise InternalError("the method called the problem infeasible without a proof")


def _sparse_infeasible(
    problem: Problem,
    prices: NDArray[Any] | None,
    violators: NDArray[np.int64],
    reach: NDArray[np.int64],
    of_cols: bool,
) -> InfeasibleError:
    """The error for rows (columns if `of_cols`) that have no pairs but with the fewer ones in `reach`; proves it."""
    assert isinstance(problem.cost, SparseCost)
    absent = ABSENT if problem.is_integer else np.inf
    proven = (
        len(violators) > len(reach)
        and problem.cost.reaches_only(violators, reach, of_cols)
        and (prices is None or bool((prices[violators] == absent).all()))
    )
    if not proven:
        raise InternalError("the method called the problem infeasible without a proof")
    return InfeasibleError(reach, violators, by_cols=True) if of_cols else InfeasibleError(violators, reach)


def _row(cost: Any, row: int) -> NDArray[Any]:
    """A row of what the core reads."""
    values: NDArray[Any] = cost[row] if isinstance(cost, np.ndarray) else cost.read(row, row + 1)
    return values


def _kept(problem: Problem, plan: Plan, keep: Keep) -> Callable[..., None]:
    """A callback for the core: calls `keep` with an unfinished answer."""

    def kept(u: NDArray[Any], v: NDArray[Any], row_to_col: NDArray[np.int64]) -> None:
        raw = {"status": "running", "u": u, "v": v, "row_to_col": row_to_col, "statistics": {}}
        keep(given_back(problem, plan, raw))

    return kept


def given_back(problem: Problem, plan: Plan, raw: dict[str, Any]) -> Answer:
    """A compiled answer in the user's orientation and sense; duals of two dimensions are sums of parts."""
    dtype = problem.dual_dtype
    row_to_col, u, v = raw["row_to_col"].view(np.int64), raw["u"].view(dtype), raw["v"].view(dtype)
    if plan.transposed:
        row_to_col, u, v = inverse(row_to_col, problem.shape[0]), v, u
    if problem.maximize:
        np.negative(u, out=u)
        np.negative(v, out=v)
    status, statistics, shift = raw["status"], dict(raw["statistics"]), raw.get("shift", 0.0)
    provisional = bool(raw.get("provisional"))
    if u.ndim == 1:
        return Answer(status, row_to_col, u, v, statistics, provisional=provisional, shift=shift)
    parts = _of_one_length(u, v)
    return Answer(status, row_to_col, _rounded(u), _rounded(v), statistics, parts, provisional, shift)


def _of_one_length(u: NDArray[Any], v: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sums of as many parts on either side."""
    count = max(len(u), len(v))
    padded = [np.concatenate([x, np.zeros((count - len(x), x.shape[1]))]) for x in (u, v)]
    return padded[0], padded[1]


def _rounded(parts: NDArray[Any]) -> NDArray[Any]:
    """The sums of parts, from the last to the first, which are the largest."""
    total: NDArray[Any] = np.zeros(parts.shape[1])
    for part in parts[::-1]:
        total = total + part
    return total


def largest(values: NDArray[Any]) -> float:
    """The largest magnitude of numbers, without infinities."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
