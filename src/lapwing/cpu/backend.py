"""What the flow calls to solve on the CPU."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.answer import Answer, inverse
from lapwing.certificate import Certificate, Number
from lapwing.cpu.batch import BatchAnswer, solve_list, solve_stack
from lapwing.cpu.exact import prove_in_batch, solve_proven
from lapwing.cpu.solve import Control
from lapwing.errors import LapwingError
from lapwing.methods import SPARSE
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem, Stack, must_be_matched
from lapwing.progress import Reporter
from lapwing.request import Request


class Cpu:
    """The backend of the CPU; see `lapwing.backend.Backend`."""

    def problem(self, cost: Any, request: Request) -> Problem:
        named = request.method not in ("auto", SPARSE.name)  # such a method reads a matrix
        return inputs.make_problem(cost, request.maximize, request.unmatched_cost, request.memory_limit, named)

    def identified(self, problem: Problem, _request: Request) -> Problem:
        return problem

    def plan(self, problem: Problem, request: Request) -> Plan:
        if request.start is not None:
            inputs.check_duals(*request.start, problem.shape, "start")
        warm = request.start is not None or request.writer is not None
        threads, processors = request.threads, inputs.processors()
        plan = make_plan(problem.form, request.method, request.options, threads, warm, processors)
        return replace(plan, reasons=(request.why, *plan.reasons)) if request.why else plan

    def solve(self, problem: Problem, plan: Plan, request: Request) -> tuple[Answer, Certificate | None]:
        start = None if request.start is None else inputs.check_start(*request.start, problem)
        if request.progress is False:
            return _solve(problem, plan, request, start, Control(request.time_limit))
        shown = Reporter(request.progress, problem.rows_to_match, problem.maximize, plan.method == "core")
        with shown as reporter:
            return _solve(problem, plan, request, start, Control(request.time_limit, reporter.hook))


def _solve(
    problem: Problem, plan: Plan, request: Request, start: Any, control: Control
) -> tuple[Answer, Certificate | None]:
    writer, counted = request.writer, problem.cost.counters()
    if writer is not None:
        control = control._replace(keep=writer.keep, keep_every=writer.interval)
    answer, certificate = solve_proven(problem, plan, start, control, certify=request.certify)
    if writer is not None:
        writer.keep(answer)
    if counted:
        answer.statistics.update(_counted_since(counted, problem.cost.counters()))
    if certificate is None:
        sum_up(problem, answer)
    return answer, certificate


def sum_up(problem: Problem, answer: Answer) -> None:
    """Objective and bound of an answer without a certificate."""
    answer.objective = exact_objective(problem, answer.row_to_col)
    answer.bound = _sum([answer.u, answer.v])


def solve_batch(
    problems: Stack | list[Problem], threads: int, *, duals: bool, certify: bool, check: bool
) -> tuple[BatchAnswer, list[Certificate | None] | None]:
    """Solve many problems, threads over problems, and those again whose answers rounding may have spoiled.

    Parameters
    ----------
    problems : Stack or list of Problem
    duals, certify : bool
        Whether the duals, and proofs of all answers, are wanted.
    check : bool
        Whether to raise for the first problem without an answer; a note on the error says which.

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
    """

    def refuse(b: int) -> None:
        try:
            solve_proven(problems[b], make_plan(problems[b].form), certify=False)
        except LapwingError as error:
            error.add_note(f"in problem {b} of the batch")
            raise

    solver: Any = solve_stack if isinstance(problems, Stack) else solve_list
    answer: BatchAnswer = solver(problems, threads, duals, refuse if check else None)
    certificates: list[Certificate | None] | None = [None] * len(problems) if certify else None
    for b in range(len(problems)) if certify else sorted(answer.doubtful):
        if answer.status[b] == 0 or b in answer.doubtful:
            plan = make_plan(problems[b].form, threads=threads, processors=inputs.processors())
            proof = prove_in_batch(answer, b, problems[b], plan, certify, check)
            if certificates is not None:
                certificates[b] = proof
    return answer, certificates


def _counted_since(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """What a source has counted in one solve, and the cache's hit rate."""
    since = {name: value - before[name] for name, value in now.items()}
    since["cache_hit_rate"] = since["cache_hits"] / max(1, since["cache_hits"] + since["cache_misses"])
    return since


def exact_objective(problem: Problem, row_to_col: NDArray[np.int64]) -> Number:
    """The sum of the matched costs and of the unmatched costs of free rows and columns."""
    parts = [problem.cost.picked(row_to_col)]
    free = []
    if problem.unmatched_cost is not None:
        free.append(problem.unmatched_cost[row_to_col < 0])
    if problem.unmatched_cols is not None:
        free.append(problem.unmatched_cols[inverse(row_to_col, problem.shape[1]) < 0])
    parts += [prices[~must_be_matched(prices)] for prices in free if prices.size]
    return _sum(parts)


def _sum(parts: list[NDArray[Any]]) -> Number:
    """The exact sum of integers (whose range was checked), or the correctly rounded sum of floats."""
    if all(part.dtype.kind == "i" for part in parts):
        return sum(int(part.sum(dtype=np.int64)) for part in parts)
    values = [value for part in parts for value in part.tolist()]
    try:
        return math.fsum(values)
    except OverflowError:  # of a sum on the way to one that is in range
        return float(sum(map(Fraction, values)))
