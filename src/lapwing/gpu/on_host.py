"""Costs on a GPU that only a CPU can solve as asked: copied to the host, solved there, and answered on the GPU.

So are prices of columns. The plan says so; proof and status are the CPU's.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from lapwing.answer import Answer, inverse
from lapwing.certificate import Certificate
from lapwing.cpu.backend import Cpu
from lapwing.gpu.kinds.base import CostKind
from lapwing.gpu.kinds.choose import choose_kind
from lapwing.gpu.runtime.arrays import empty_array
from lapwing.gpu.runtime.copies import write
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.request import Request


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
        if costs.array_template is None:
            return answer, certificate
        answer.col_to_row = inverse(answer.row_to_col, costs.shape[1])
        for name in ("row_to_col", "col_to_row", "u", "v"):
            values = np.ascontiguousarray(getattr(answer, name))
            view = empty_array(costs.context, values.shape, values.dtype.name, costs.array_template)
            write(costs.context, view.pointer, values)
            setattr(answer, name, view.library.handed_over(costs.context, view))
        return answer, certificate
