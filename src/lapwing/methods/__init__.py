"""The methods, one file each, all behind one contract (`base.Method`), and the table of them."""

from __future__ import annotations

from lapwing.methods.auction import AUCTION
from lapwing.methods.base import Answer, Hook, Keep, Method, Start, answer_empty
from lapwing.methods.batch import BatchAnswer, solve_list, solve_stack
from lapwing.methods.core import CORE
from lapwing.methods.hungarian import HUNGARIAN_BFS, HUNGARIAN_TREE
from lapwing.methods.jv import JV
from lapwing.methods.munkres import MUNKRES
from lapwing.methods.ssp import SSP
from lapwing.plan import Plan
from lapwing.problem import Problem

METHODS: dict[str, Method] = {
    method.traits.name: method for method in (CORE, JV, SSP, AUCTION, HUNGARIAN_BFS, HUNGARIAN_TREE, MUNKRES)
}


def run(
    problem: Problem,
    plan: Plan,
    start: Start | None,
    time_limit: float,
    hook: Hook | None,
    keep: Keep | None = None,
    keep_every: float = 0.0,
) -> Answer:
    """Solve any problem with the method that the plan chose."""
    if problem.is_empty:
        return answer_empty(problem)
    return METHODS[plan.method].solve(problem, plan, start, time_limit, hook, keep, keep_every)


__all__ = ["METHODS", "Answer", "BatchAnswer", "Hook", "Keep", "Method", "Start", "run", "solve_list", "solve_stack"]
