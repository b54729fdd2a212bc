"""Costs of points of many dimensions whose matrix several GPUs together cannot hold: each computes some rows anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lapwing.costs.points import PointCost
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_shared_points
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.slab_solver import RequestedRows, SlabSolve, SlabStartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, CanonicalMatrix
from lapwing.gpu.costs.computed import ComputedCosts, planned_by_tiles, upload_by_tiles
from lapwing.gpu.costs.point_slabs import PointSlabs, RequestedColumns
from lapwing.gpu.costs.sharded import shares
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.kinds.base import CostKind, Search, refuse_reference
from lapwing.gpu.kinds.streamed import HostSearch
from lapwing.gpu.plan import Memory
from lapwing.gpu.plan_several import plan_slabs
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.peers import connect, order
from lapwing.gpu.runtime.programs import (
    CORE,
    CORE_START,
    HOST_CORE,
    POINTS_CERTIFICATE,
    POINTS_MATRIX,
    SHARDED_CORE,
    SHARDED_START,
    SLAB_CORE,
    TEXT,
)
from lapwing.plan import Plan
from lapwing.request import Request


class SlabPoints(CostKind):
    """See the module; the certificate computes all costs again, each GPU those of some rows.

    Parameters
    ----------
    source : PointCost
    contexts : list of Context
        Of two GPUs at least, and not more than rows or columns.
    priced : bool
        Whether rows may stay free.
    """

    is_readable_on_host = False
    given: PointCost

    def __init__(self, source: PointCost, contexts: list[Context], priced: bool) -> None:
        self.given = source
        self.shape, self.dtype = source.shape, source.dtype.name
        self._planned = planned_by_tiles(source)
        self._transposed = not priced and source.shape[0] > source.shape[1]
        self._source = source.exchanged() if self._transposed else source
        self._contexts = contexts
        self.context: Context = contexts[0]
        self._points: list[tuple[Context, ComputedCosts]] = []

    def plan(self, request: Request) -> Plan:
        refuse_reference(request, "reads a matrix on a GPU, not computed costs")
        memories = [Memory(context) for context in self._contexts]
        plan, self._layout = plan_slabs(self.given, self._planned, memories, request)
        return plan

    @property
    def is_slow(self) -> bool:
        """Whether the GPUs have little room, as planned."""
        return not self._layout.are_tiles

    @contextmanager
    def loaded(self) -> Iterator[None]:
        choice = {"COST": self.dtype, TEXT: self._planned.cost_program.text}
        programs = [(program, program.variant(**choice)) for program in (POINTS_MATRIX, POINTS_CERTIFICATE)]
        programs += [(program, program.of_cost(self.dtype)) for program in (SHARDED_CORE, SHARDED_START, CORE_START)]
        programs += [(SLAB_CORE, SLAB_CORE.of_cost(self.dtype)), (CORE_START, CORE_START.of_cost("float64"))]
        for context in self._contexts:
            with context:
                preload(context, list(dict.fromkeys(programs)))
        preload(self.context, [(program, program.of_cost(self.dtype)) for program in (HOST_CORE, CORE)])
        connect(self._contexts)
        for context in self._contexts:
            with context:
                self._points.append((context, upload_by_tiles(context, self.given, None)))
        others = self._contexts[1:]
        for context in others:
            order(context, self.context)
        try:
            yield
        finally:
            for context in others:
                order(self.context, context)  # where memory may be written again
                context.synchronize()
            self._points.clear()

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        lines, positions = self._source.shape
        self._slabs = []
        for (context, cost), own in zip(self._points, shares(lines, len(self._points)), strict=True):
            with context:
                self._slabs.append(PointSlabs(context, cost, self._transposed, own, self._layout))
        columns, parts = [], 0
        for slabs, share in zip(self._slabs[1:], self._layout.shares, strict=False):
            columns.append(RequestedColumns(slabs, share, parts))
            parts += self._layout.parts(share)
        self._rows = RequestedRows(self.context, self._layout, monitor, columns, maximize)
        all_cols, prices = (positions, 0) if unmatched is None else (positions + lines, unmatched.pointer)
        matrix = CanonicalMatrix(self._rows.block, lines, all_cols, 0, self.dtype, maximize, prices)
        return CanonicalForm(matrix, self._transposed, self._rows)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        solve = SlabSolve(self.context, view.matrix, monitor, self._rows, self._slabs, self._source)
        return HostSearch(solve, SlabStartFinder(self.context, monitor, self._layout.sample))

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_shared_points(self._points, self.dtype, candidate, maximize, wait, mail)

    def on_host(self, _solved: Any = None) -> Any:
        return self.given
