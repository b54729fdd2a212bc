"""The backend of the CPU, which the flow calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lapwing import inputs
from lapwing.answer import Answer, Duals, exact_sum, objective
from lapwing.certificate import Certificate
from lapwing.costs.dense import FilledCost
from lapwing.cpu.batch import INFEASIBLE, PARTIAL, BatchAnswer, solve_list, solve_stack
from lapwing.cpu.exact import prove_in_batch, solve_in_range, solve_proven
from lapwing.cpu.solve import FREE, Control
from lapwing.errors import InfeasibleError, LapwingError
from lapwing.methods import SPARSE
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem, Stack
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
        return solve_requested(problem, plan, request)


def solve_requested(
    problem: Problem, plan: Plan, request: Request, also: Callable[[], None] | None = None
) -> tuple[Answer, Certificate | None]:
    """Solve with all that is asked for; `also` is called every 50 ms or so while a method runs."""
    start = None if request.start is None else inputs.check_start(*request.start, problem)
    if request.progress is False and also is None:
        return _solve(problem, plan, request, start, Control(request.time_limit))
    with Reporter(request.progress, problem.rows_to_match, problem.maximize, plan.method == "core") as reporter:
        hook = reporter.hook

        def both(*seen: Any) -> None:
            if hook is not None:
                hook(*seen)
            if also is not None:
                also()

        return _solve(problem, plan, request, start, Control(request.time_limit, both))


def _solve(
    problem: Problem, plan: Plan, request: Request, start: Any, control: Control
) -> tuple[Answer, Certificate | None]:
    writer, counted = request.writer, problem.cost.counters()
    if writer is not None:
        control = control._replace(keep=writer.keep, keep_every=writer.interval)
    answer, certificate = solve_as_asked(
        problem, plan, start, control, certify=request.certify, partial=request.partial
    )
    if writer is not None:
        writer.keep(answer)
    if counted:
        answer.statistics.update(_counted_since(counted, problem.cost.counters()))
    if certificate is None:
        sum_up(problem, answer)
    return answer, certificate


def solve_as_asked(
    problem: Problem, plan: Plan, start: Duals | None = None, control: Control = FREE, *, certify: bool, partial: bool
) -> tuple[Answer, Certificate | None]:
    """`solve_in_range`; if `partial`, of a problem without an assignment as many pairs as possible."""
    began = time.perf_counter()

    try:
        return solve_in_range(problem, plan, start, control, certify=certify)
    except InfeasibleError:
        if not partial:
            raise
    from lapwing.cpu.partial import solve_partial

    left = control._replace(time_limit=max(0.0, control.time_limit - (time.perf_counter() - began)), keep=None)
    return solve_partial(problem, plan, left, certify=certify)


def sum_up(problem: Problem, answer: Answer) -> None:
    """Objective and bound of an answer without a certificate."""
    answer.objective = objective(problem, answer.row_to_col)
    # of an optimum duals tell no more, and are rounded
    answer.bound = answer.objective if answer.status == "optimal" else exact_sum([answer.u, answer.v])


def solve_batch(
    problems: Stack | list[Problem], threads: int, *, duals: bool, certify: bool, check: bool, partial: bool
) -> tuple[BatchAnswer, list[Certificate | None] | None]:
    """Solve many problems, threads over problems, and those again whose answers rounding may have spoiled.

    Parameters
    ----------
    problems : Stack or list of Problem
    duals, certify : bool
        Whether the duals, and proofs of all answers, are wanted.
    check : bool
        Whether to raise for the first problem without an answer; a note on the error gives its index.
    partial : bool
        Whether problems that no assignment solves get as many pairs as possible.

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

    def plan_of(b: int) -> Plan:
        return make_plan(problems[b].form, threads=threads, processors=inputs.processors())

    at_once = check and not partial  # else what has no answer shows in the status, and is refused after all
    solver: Any = solve_stack if isinstance(problems, Stack) else solve_list
    if isinstance(problems, list) and any(problem.form.tier == "sparse" for problem in problems):
        from lapwing.cpu.sparse_batch import solve_mixed_list

        solver = solve_mixed_list
    answer: BatchAnswer = solver(problems, threads, duals, refuse if at_once else None)
    for b in _without_pairs(problems, answer):
        if at_once:
            refuse(b)
        answer.fail(b, InfeasibleError(answer.row_to_col[b][:0], answer.row_to_col[b][:0]))
    certificates: list[Certificate | None] | None = [None] * len(problems) if certify else None
    unsolved = np.flatnonzero(answer.status).tolist() if partial else []
    for b in range(len(problems)) if certify else sorted({*answer.doubtful, *unsolved}):
        proof = None
        if b in answer.doubtful or (certify and answer.status[b] == 0):
            proof = prove_in_batch(answer, b, problems[b], plan_of(b), certify, at_once)
        if partial and answer.status[b] == INFEASIBLE:
            from lapwing.cpu.partial import solve_partial

            found, proof = solve_partial(problems[b], plan_of(b), certify=certify)
            answer.replace(b, found, objective(problems[b], found.row_to_col))
            answer.status[b] = PARTIAL
        elif check and answer.status[b]:
            refuse(b)
        if certificates is not None:
            certificates[b] = proof
    return answer, certificates


def _without_pairs(problems: Stack | list[Problem], answer: BatchAnswer) -> list[int]:
    """The solved problems whose answer has pairs that are not given."""
    if isinstance(problems, Stack):
        return []
    return [
        b
        for b, problem in enumerate(problems)
        if isinstance(problem.cost, FilledCost) and len(problem.cost.fills(answer.row_to_col[b]))
    ]


def _counted_since(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """The counts of a source in one solve, and the cache's hit rate."""
    since = {name: value - before[name] for name, value in now.items()}
    since["cache_hit_rate"] = since["cache_hits"] / max(1, since["cache_hits"] + since["cache_misses"])
    return since
