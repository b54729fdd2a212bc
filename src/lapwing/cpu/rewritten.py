"""A problem in another form that methods solve, or solve sooner, and the way back from its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from lapwing.answer import Answer, Duals
from lapwing.cpu.solve import Control
from lapwing.errors import InfeasibleError
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem


@dataclass(frozen=True)
class Rewritten:
    """A problem in another form.

    Attributes
    ----------
    problem : Problem
    given_back : function
        From an answer of it to one of the given problem.
    start : function or None
        From duals of the given problem to its duals, if that is possible.
    refuse : function or None
        Raises the error of the given problem that corresponds to an infeasibility error of the new one.
    free : int
        Rows of the given problem beyond those of the new one, which stay free.
    shift : float
        The sum of the prices of these rows, as minimised.
    """

    problem: Problem
    given_back: Callable[[Answer], Answer]
    start: Callable[[Duals], Duals] | None = None
    refuse: Callable[[InfeasibleError], NoReturn] | None = None
    free: int = 0
    shift: float = 0.0

    def plan(self, given: Plan, warm: bool) -> Plan:
        """The given plan's method, where it can be used."""
        usable = self.problem.cost.tier == given.tier and given.fallback is None and given.method != "none"
        method, options = (given.method, given.options) if usable else ("auto", None)
        return make_plan(self.problem.form, method, options, given.threads, warm and usable, given.threads)

    def control(self, given: Control) -> Control:
        """The given control, which sees and keeps answers of the given problem."""
        hook, keep = given.hook, given.keep

        def seen(stage: Any, phase: Any, matched: int, bound: float, reached: float, *more: Any) -> None:
            assert hook is not None
            hook(stage, phase, matched + self.free, bound + self.shift, reached + self.shift, *more)

        def kept(answer: Answer) -> None:
            assert keep is not None
            keep(self.given_back(answer))

        changes_hook = hook is not None and self.free > 0
        return given._replace(hook=seen if changes_hook else hook, keep=None if keep is None else kept)
