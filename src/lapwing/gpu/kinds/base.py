"""The contract of a kind of costs on a GPU: all that a solve asks of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from lapwing import inputs
from lapwing.costs.dense import FilledCost
from lapwing.cpu.solve import minimal_violator
from lapwing.errors import ArgumentError, LapwingError, infeasible
from lapwing.gpu.certificate.proof import Candidate, Proof
from lapwing.gpu.core.errors import hall_violator
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve, Report
from lapwing.gpu.core.start import StartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, CanonicalMatrix
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.plan import Memory
from lapwing.gpu.reference import ReferenceMethod
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail, OwnStream
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.programs import INTEGERS
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.request import Request

_MINIMAL_UP_TO = 1 << 28  # pairs of which the host looks for the smallest sets without an assignment


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class Search:
    """A solve that is ready to run, and what finds where it starts: nothing for a reference method."""

    solve: CoreSolve
    start: StartFinder | None = None

    def statistics(self, report: Report) -> dict[str, float]:
        """The counts of the solve."""
        if self.start is None:
            assert isinstance(self.solve, ReferenceMethod)
            return self.solve.statistics(report)
        names = ("phases", "rounds", "bids", "searches", "steps", "scans", "refreshes", "full_rows", "left", "local")
        counted = {
            "levels": self.start.levels,
            "listings": self.solve.listings,
            "tree_steps": self.solve.tree_steps,
            "tight_steps": self.solve.tight_steps,
        }
        counted |= {name: getattr(report, name) for name in names}
        return {name: float(count) for name, count in counted.items()}


class CostKind(ABC):
    """One problem's costs; a context manager that holds their GPU.

    A kind supplies, in the order in which a solve asks:

    - `plan`: the memory of a solve, and whether it is free; the methods that the kind does not support;
    - `loaded`: what is copied and compiled before anything runs;
    - `canonical`: the matrix as the core's kernels see it, with the way to read a row (`CanonicalMatrix`, struct
      `Costs` of kernels/costs/costs.cuh);
    - `search`: the `CoreSolve` that lists rows, reads one and returns the costs of matched pairs, and the `StartFinder`
      that takes samples; a kind whose rows are read in another way overrides their methods, as `HostSolve` and
      `HostStartFinder` do;
    - `proof`: the certificate's pass over all pairs (`CostPass`);
    - `on_host`: the costs for the exact solve on the CPU, which takes over where rounding leaves a doubt.

    `lapwing.gpu.kinds.choose` names the kinds; a new one is added there, and to the table of ARCHITECTURE.md.

    Attributes
    ----------
    context : Context
    given : as the user gave them
    shape : (m, n)
    dtype : str
    array_template : GpuArray or None
        Of the library in which the answer is given; None for NumPy.
    can_overlap : bool
        Whether all that follows the search can be launched while it runs.
    has_glance : bool
        Whether a kernel may look at a few costs before the search (gpu/core/glance.py).
    is_readable_on_host : bool
        Whether `on_host` needs no solve.
    is_quick_to_read : bool
        Whether another solve takes less than a copy to the host: the GPU has the matrix.
    filled : FilledCost or None
        The matrix, where `given` leaves out pairs of integers.
    can_turn : bool
        Whether columns can be solved as rows though rows may stay free (gpu/costs/unmatched.py).
    """

    context: Context
    given: Any
    shape: tuple[int, int]
    dtype: str
    array_template: GpuArray | None = None
    can_overlap = False
    has_glance = False
    is_readable_on_host = True
    is_quick_to_read = False
    filled: FilledCost | None = None
    can_turn = False

    def __enter__(self) -> Self:
        self.context.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.context.__exit__(kind, error, trace)

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def memory(self) -> Memory:
        """The GPU's memory, and how much of it is free."""
        return Memory(self.context, None if self.array_template is None else self.array_template.library)

    def identified(self, request: Request) -> Problem:
        """The problem that a checkpoint is of, as a CPU sees it."""
        return inputs.make_problem(self.given, request.maximize, request.unmatched_cost)

    @abstractmethod
    def plan(self, request: Request) -> Plan:
        """How it is solved."""

    def loaded(self) -> AbstractContextManager[object]:
        """Have on the GPU what a solve reads, for a ``with`` block."""
        return nullcontext()

    def wait_for_all(self) -> None:  # noqa: B027
        """Wait for what is on its way; called where a solve cannot begin with what has come."""

    @abstractmethod
    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        """The costs as the kernels see them."""

    @abstractmethod
    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        """The solver of these costs."""

    @abstractmethod
    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        """The certificate of an answer, not yet begun; passes in parts call `wait` in between, with the share done."""

    def on_host(self, _solved: tuple[CanonicalForm, CoreSolve] | None = None) -> Any:
        """Costs that `lapwing.inputs.make_problem` takes; of some kinds after a solve only, which can read rows."""
        return self.given

    def no_assignment(self, view: CanonicalForm, solve: CoreSolve, request: Request) -> LapwingError:
        """The error for a problem without an assignment, from a solve that found it infeasible.

        Its Hall violator contains no other, unless there are too many pairs for the host to look for that.
        """
        violators, reach = hall_violator(view, solve)
        if math.prod(view.shape) > _MINIMAL_UP_TO:
            return infeasible(view.transposed, violators, reach)
        problem = inputs.make_problem(self.on_host((view, solve)), request.maximize, request.unmatched_cost)
        return minimal_violator(problem, view.transposed, violators, reach)

    def large_from(
        self, _maximize: bool, _prices: NDArray[Any] | None, _on_gpu: tuple[CanonicalMatrix, OwnStream] | None = None
    ) -> float | None:
        """The limit above which costs, as minimised, are far above all others, by a look at some of them.

        Infinite if they show none; None if only the GPU holds them, and `_on_gpu` does not say where.
        """
        return math.inf

    def without_large(self, above: float, maximize: bool) -> CostKind:
        """The same costs, those above the limit forbidden; of a kind that has `large_from`."""
        raise NotImplementedError

    def cap(self, _maximize: bool) -> int | float | None:
        """The greatest cost, as minimised, if most of those that the host sees equal it; None if not."""
        return None

    def below_cap(
        self, _cap: int | float, _prices: NDArray[Any] | None, _request: Request
    ) -> tuple[CostKind, Request] | None:
        """The costs below a cap and how to solve them (gpu/kinds/capped.py); None if that does not solve the whole."""
        return None


def refuse_reference(request: Request, what: str) -> None:
    """Refuse the methods of papers, which read a matrix.

    Raises
    ------
    ArgumentError
    """
    if request.method not in ("auto", "core"):
        raise ArgumentError(f"method {request.method!r} {what}: use method='core'")
