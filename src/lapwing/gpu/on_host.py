"""Costs on a GPU that the host solves: proof and status are the CPU's.

`OnHost` is the backend of what only a CPU can solve as asked, as prices of columns; the plan says so. The functions
answer for the backend of a GPU where a problem is small, or float64 cannot hold the digits of its duals.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from lapwing import inputs
from lapwing.answer import Answer
from lapwing.certificate import Certificate, prove
from lapwing.cpu import exact
from lapwing.cpu.backend import Cpu, sum_up
from lapwing.cpu.partial import solve_partial
from lapwing.cpu.small import solve_small
from lapwing.cpu.solve import Control, answer_empty
from lapwing.gpu.given_back import given_back
from lapwing.gpu.kinds.base import CostKind
from lapwing.gpu.kinds.choose import choose_kind
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem
from lapwing.request import Request

Proven = tuple[Answer, Certificate | None]


@dataclass(frozen=True)
class Copied:
    """A problem of which the costs are on a GPU, too; a context manager that holds the GPU."""

    costs: CostKind
    problem: Problem

    def __enter__(self) -> Self:
        self.costs.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.costs.__exit__(kind, error, trace)


class OnHost(Cpu):
    """The backend of the CPU for costs on a GPU; see `lapwing.backend.Backend`."""

    def __init__(self, device: str) -> None:
        self.device: str = device

    def problem(self, cost: Any, request: Request) -> Any:
        with choose_kind(cost, self.device, request) as costs:
            return Copied(costs, super().problem(costs.on_host(), request))

    def identified(self, problem: Any, request: Request) -> Problem:
        return super().identified(problem.problem, request)

    def plan(self, problem: Any, request: Request) -> Plan:
        return super().plan(problem.problem, request)

    def solve(self, problem: Any, plan: Plan, request: Request) -> tuple[Answer, Certificate | None]:
        answer, certificate = super().solve(problem.problem, plan, request)
        costs = problem.costs
        return given_back(answer, costs.context, costs.array_template, costs.shape[1]), certificate


def solved_on_host(costs: CostKind, request: Request, deadline: float) -> Proven:
    """The answer of the host: large costs are left out, and sums out of the range of float64 are wide integers.

    Parameters
    ----------
    costs : CostKind
    request : Request
    deadline : float
        By `time.perf_counter`.
    """
    host, prices, certify = costs.on_host(), request.unmatched_cost, request.certify
    small = solve_small(host, request.maximize, prices, certify)
    if small is not None:
        answer = Answer(small.status, small.row_to_col, small.u, small.v, small.statistics)
        answer.objective, answer.bound, certificate = small.objective, small.lower_bound, small.certificate
    else:
        problem = inputs.make_problem(host, request.maximize, prices)
        answer, certificate = exact.solved_on_cpu(problem, deadline - time.perf_counter(), certify)
        if certificate is None:
            sum_up(problem, answer)
    if request.writer is not None:
        request.writer.keep(answer)
    return answer, certificate


def partial_on_host(costs: CostKind, request: Request, deadline: float) -> Proven:
    """As many pairs as possible, by the host, for costs that leave no assignment and that it can read."""
    problem = inputs.make_problem(costs.on_host(), request.maximize, request.unmatched_cost)
    plan = make_plan(problem.form, processors=inputs.processors())
    left = Control(max(0.0, deadline - time.perf_counter()))
    answer, certificate = solve_partial(problem, plan, left, certify=request.certify)
    if certificate is None:
        sum_up(problem, answer)
    return answer, certificate


def empty_on_host(costs: CostKind, request: Request) -> Proven:
    """The answer for a problem without pairs."""
    dtype = np.int64 if costs.is_integer else np.float64
    problem = inputs.make_problem(np.zeros(costs.shape, dtype), request.maximize, request.unmatched_cost)
    answer = answer_empty(problem)
    certificate = prove(problem, answer.row_to_col, answer.u, answer.v, 1)
    return concluded(answer, certificate, request.certify)


def concluded(answer: Answer, certificate: Certificate, certify: bool) -> Proven:
    """A proven answer, and its certificate if it is asked for."""
    answer.objective, answer.bound = certificate.primal, certificate.optimum_bound
    return answer, certificate if certify else None
