"""Costs of points in many dimensions: computed once, as a matrix that is held.

A plan says whether that pays (`Plan.holds_matrix`). The method then reads the matrix, which has the costs' own bits;
the certificate computes them once more. In the orientation that the method sees, the matrix's rows are contiguous.
"""

from __future__ import annotations

import time
from dataclasses import replace

from lapwing.costs.dense import DenseCost
from lapwing.cpu.solve import Control
from lapwing.plan import Plan
from lapwing.problem import Problem


def with_matrix(problem: Problem, plan: Plan, control: Control) -> tuple[Problem, Plan, Control]:
    """The problem of the matrix, and the time that is left.

    Where none is left, the problem as it is, and a plan that needs no matrix.
    """
    began = time.perf_counter()
    lines, across = problem.shape[::-1] if plan.transposed else problem.shape
    source = problem.cost.compiled(plan.transposed)
    values = source.read(0, lines, plan.threads, max(0.0, control.time_limit), control.hook)
    left = control._replace(time_limit=control.time_limit - (time.perf_counter() - began))
    if values is None:
        return problem, replace(plan, method="core", fallback=None, options=None), left
    matrix = values.reshape(lines, across)
    return replace(problem, cost=DenseCost(matrix.T if plan.transposed else matrix)), plan, left
