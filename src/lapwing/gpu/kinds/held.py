"""Costs of points of many dimensions, whose matrix is held in the GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from lapwing.costs.points import PointCost
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_by_tiles
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.costs.canonical import CanonicalForm, to_canonical
from lapwing.gpu.costs.computed import planned_by_tiles, upload_by_tiles
from lapwing.gpu.costs.points_matrix import write_points_matrix
from lapwing.gpu.costs.unmatched import UnmatchedColumns, fixes_rows
from lapwing.gpu.kinds.base import refuse_reference
from lapwing.gpu.kinds.computed import ComputedCosts
from lapwing.gpu.plan import plan_held
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import CORE, CORE_START, POINTS_CERTIFICATE, POINTS_MATRIX, TEXT
from lapwing.plan import Plan
from lapwing.request import Request


class HeldCosts(ComputedCosts):
    """See the module; the method reads the matrix, the certificate computes all costs again."""

    given: PointCost

    def __init__(self, context: Context, source: PointCost) -> None:
        super().__init__(context, source, planned=planned_by_tiles(source, context.info.ordinal))

    def plan(self, request: Request) -> Plan:
        refuse_reference(request, "reads a matrix on a GPU, not computed costs")
        return plan_held(self.computed, self.given.dims, self.memory, request)

    def loaded(self) -> AbstractContextManager[object]:
        choice = {"COST": self.dtype, TEXT: self.computed.cost_program.text}
        of_points = [(program, program.variant(**choice)) for program in (POINTS_MATRIX, POINTS_CERTIFICATE)]
        of_matrix = [(program, program.of_cost(self.dtype)) for program in (CORE, CORE_START)]
        preload(self.context, [*of_points, *of_matrix])
        self.computed = upload_by_tiles(self.context, self.given, self.array_template)
        return nullcontext()

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        fixed, template = fixes_rows(unmatched), self.array_template
        matrix = write_points_matrix(self.context, self.computed, fixed, template, monitor.wait)
        return to_canonical(self.context, matrix, maximize, unmatched)

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_by_tiles(self.context, self.computed, candidate, maximize, self.array_template, wait, mail)
