"""Costs that the GPU computes whenever it reads them: of points, of a formula, of the user's CUDA function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from lapwing.costs.base import CostSource
from lapwing.costs.function import FunctionCost
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_computed
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.core.start import StartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, to_canonical
from lapwing.gpu.costs.computed import ComputedCosts as DeviceCosts
from lapwing.gpu.costs.computed import planned_computed, upload_computed
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.kinds.base import CostKind, Search, refuse_reference
from lapwing.gpu.plan import plan_computed
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import COMPUTED_CERTIFICATE, COMPUTED_CORE, COMPUTED_START, TEXT
from lapwing.plan import Plan
from lapwing.request import Request

_THREADS = COMPUTED_START.constants["THREADS"]
_BLOCKS_A_PROCESSOR = 64


class ComputedCosts(CostKind):
    """See the module; `computed` is what lies in the GPU's memory, without addresses before `loaded`.

    `reason`: why that is so, for the plan, if another kind would do.
    """

    given: CostSource
    is_readable_on_host = False
    can_turn = True

    def __init__(
        self, context: Context, source: CostSource, reason: str = "", planned: DeviceCosts | None = None
    ) -> None:
        self.context: Context = context
        self._reason = reason
        self.given: Any = source
        self.array_template: GpuArray | None = source.device_of
        self.computed: DeviceCosts = planned_computed(source) if planned is None else planned
        self.shape: tuple[int, int] = source.shape
        self.dtype: str = self.computed.dtype

    def plan(self, request: Request) -> Plan:
        refuse_reference(request, "reads a matrix on a GPU, not computed costs")
        return plan_computed(self.computed, self.memory, request, self._reason)

    def loaded(self) -> AbstractContextManager[object]:
        self.computed = upload_computed(self.context, self.given, self.array_template)
        choice = {"COST": self.dtype, TEXT: self.computed.cost_program.text}
        programs = (COMPUTED_CORE, COMPUTED_START, COMPUTED_CERTIFICATE)
        preload(self.context, [(program, program.variant(**choice)) for program in programs])
        return nullcontext()

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        return to_canonical(self.context, self.computed, maximize, unmatched)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        return Search(
            CoreSolve(self.context, view.matrix, monitor, self.array_template),
            StartFinder(self.context, monitor, self.array_template),
        )

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_computed(self.context, self.computed, candidate, maximize, self.array_template, wait, mail)

    def on_host(self, solved: tuple[CanonicalForm, CoreSolve] | None = None) -> Any:
        if solved is None or not isinstance(self.given, FunctionCost):
            return self.given
        view, solve = solved
        rows = np.stack([solve.read_row(i) for i in range(view.matrix.rows)])  # only a GPU computes them
        return rows.T if view.transposed else rows
