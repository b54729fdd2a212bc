"""Costs that stay on the host: a matrix larger than the GPU's memory, or rows that a callback supplies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_host_rows
from lapwing.gpu.core.host_solver import HostSolve, HostStartFinder
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import Report
from lapwing.gpu.costs.canonical import CanonicalForm, host_rows_to_canonical
from lapwing.gpu.costs.host_rows import HostRows, Lines, Streamed
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.kinds.base import CostKind, Search, refuse_reference
from lapwing.gpu.plan import plan_streamed
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import CERTIFICATE, HOST_CORE
from lapwing.plan import Plan
from lapwing.request import Request


class StreamedCosts(CostKind):
    """See the module; `lines` are rows as they are solved, the columns of the given costs if `transposed`."""

    def __init__(self, context: Context, given: Any, lines: Lines, transposed: bool) -> None:
        self.lines: Lines = lines
        self.transposed: bool = transposed
        self.context: Context = context
        self.given: Any = given
        rows, cols = lines.shape
        self.shape, self.dtype = (cols, rows) if transposed else (rows, cols), lines.dtype.name

    def plan(self, request: Request) -> Plan:
        refuse_reference(request, "reads a whole matrix on a GPU")
        plan, self._layout = plan_streamed(self.lines, self.transposed, self.memory, request)
        return plan

    def loaded(self) -> AbstractContextManager[object]:
        preload(self.context, [(program, program.variant(COST=self.dtype)) for program in (HOST_CORE, CERTIFICATE)])
        return nullcontext()

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        self._costs = Streamed(self.shape, self.dtype, self.lines, self.transposed, self._layout)
        self._rows = HostRows(self.context, self._costs, monitor.stream)
        return host_rows_to_canonical(self._costs, self._rows, maximize, unmatched)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        solve = HostSolve(self.context, view.matrix, monitor, self._rows, self.lines)
        return HostSearch(solve, HostStartFinder(self.context, monitor))

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_host_rows(self.context, self._costs, self._rows, candidate, maximize, wait, mail)


class HostSearch(Search):
    """A search that also counts the rows that came."""

    def statistics(self, report: Report) -> dict[str, float]:
        assert isinstance(self.solve, HostSolve)
        return super().statistics(report) | self.solve.rows.counts()
