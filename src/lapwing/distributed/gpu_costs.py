"""Rows of tensors on GPUs that cannot read each other's memory: what rank 0 does to solve them on its GPU.

The search is `RankSolve`, the certificate `RankPass` (gpu_solver.py). Where the GPU has no answer (sums out of range, a
maximum matching, digits that float64 duals cannot hold) the host solves the same costs as `ShardedCost`, which asks the
owners for rows and lists.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from lapwing.answer import Answer
from lapwing.certificate import Certificate
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.gpu_rows import PASSES, RowsHere, Whole
from lapwing.distributed.gpu_solver import Owners, RankPass, RankRows, RankSolve, RankStartFinder
from lapwing.distributed.messages import Message
from lapwing.errors import ArgumentError
from lapwing.gpu.backend import Solve
from lapwing.gpu.certificate.proof import Candidate, Proof
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.costs.canonical import CanonicalForm, CanonicalMatrix
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.given_back import given_back
from lapwing.gpu.kinds.base import CostKind, Search
from lapwing.gpu.kinds.streamed import HostSearch
from lapwing.gpu.plan import Memory, plan_of_ranks
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail, read
from lapwing.gpu.runtime.device import shared_context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import CORE
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.progress import ProgressLine
from lapwing.request import Request

if TYPE_CHECKING:
    from lapwing.distributed.source import ShardedCost


class CostsOfRanks(CostKind):
    """See the module.

    Parameters
    ----------
    view : GpuArray
        The rows of rank 0, of which there are some.
    cost : ShardedCost
        All rows, in the sense of the core.
    coordinator : Coordinator
    """

    def __init__(self, view: GpuArray, cost: ShardedCost, coordinator: Coordinator) -> None:
        self.context = shared_context(view.ordinal, view.stream)
        self.given = self._cost = cost
        self.shape, self.dtype = cost.shape, view.dtype
        self._view, self._coordinator = view, coordinator
        self._owners: Owners | None = None

    def plan(self, request: Request) -> Plan:
        own = range(int(self._coordinator.begins[1]))
        memory = Memory(self.context, self._view.library)
        plan, self._layout = plan_of_ranks(self.shape, own, self.dtype, memory, request)
        return plan

    @contextmanager
    def loaded(self) -> Iterator[None]:
        programs = [(program, program.of_cost(self.dtype)) for program in (*PASSES, CORE)]
        preload(self.context, programs)
        try:
            yield
        finally:
            if self._owners is not None and self._coordinator.lost is None:
                self._owners.ask("end")
            self._owners = None

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        (rows, cols), view = self.shape, self._view
        dual = "int64" if self.is_integer else "float64"
        prices = None if unmatched is None else read(self.context, unmatched.pointer, rows, dual)
        here = RowsHere(self.context, view, Whole(rows, cols, 0, maximize, prices), monitor)
        self._owners = Owners(self._coordinator, here, monitor.stream)
        given = [] if prices is None else [prices]
        self._owners.ask_some(
            {
                rank: Message("gpu begin", {"rows": rows, "first": own.start, "maximize": maximize}, given)
                for rank, own in self._owners.others.items()
            }
        )
        self._rows = RankRows(self.context, self._layout, monitor, self._owners)
        all_cols, pointer = (cols, 0) if unmatched is None else (cols + rows, unmatched.pointer)
        matrix = CanonicalMatrix(self._rows.block, rows, all_cols, 0, self.dtype, maximize, pointer)
        return CanonicalForm(matrix, False, self._rows)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        solve = RankSolve(self.context, view.matrix, monitor, self._rows, self._cost)
        return HostSearch(solve, RankStartFinder(self.context, monitor))

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        assert self._owners is not None
        return Proof(RankPass(self._owners, self._cost), self.dtype, candidate, mail)


def planned_over_gpus(view: GpuArray, problem: Problem, request: Request, coordinator: Coordinator) -> Plan | None:
    """How `solve_over_gpus` would solve."""
    with _costs(view, problem, coordinator) as costs:
        return _plan(costs, _asked(problem, request), request)


def solve_over_gpus(
    view: GpuArray, problem: Problem, request: Request, coordinator: Coordinator
) -> tuple[Answer, Certificate | None, Plan] | None:
    """Solve on the GPU of rank 0, whose rows these are; the others' GPUs pass over theirs. None if it has no room."""
    deadline = time.perf_counter() + request.time_limit
    line = ProgressLine(sys.stderr) if request.progress is True else None
    asked = replace(_asked(problem, request), progress=line or request.progress)
    try:
        with _costs(view, problem, coordinator) as costs:
            plan = _plan(costs, asked, request)
            if plan is None:
                return None
            answer, certificate = Solve(costs, plan, asked, deadline).run()
            return given_back(answer, costs.context, None, problem.shape[1]), certificate, plan
    finally:
        if line is not None:
            line.close()


def _plan(costs: CostsOfRanks, asked: Request, request: Request) -> Plan | None:
    try:
        return costs.plan(asked)
    except ArgumentError as error:  # there is no room for it; the plan of another way says why
        request.why = str(error)
        return None


def _costs(view: GpuArray, problem: Problem, coordinator: Coordinator) -> CostsOfRanks:
    from lapwing.distributed.source import ShardedCost

    assert isinstance(problem.cost, ShardedCost)
    return CostsOfRanks(view, problem.cost, coordinator)


def _asked(problem: Problem, request: Request) -> Request:
    """The request for all rows; what rank 0 may keep of other ranks' rows on the host is no limit of a GPU."""
    return replace(request, unmatched_cost=problem.unmatched_cost, memory_limit=None)
