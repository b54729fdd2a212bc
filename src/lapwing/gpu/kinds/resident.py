"""A matrix in the GPU's memory, read in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_matrix
from lapwing.gpu.core.large_costs import find_large_on_gpu, without_large
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.core.start import StartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, CanonicalMatrix, to_canonical
from lapwing.gpu.costs.on_device import DeviceCost
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.kinds.base import CostKind, Search
from lapwing.gpu.kinds.capped import below_cap
from lapwing.gpu.plan import plan_matrix
from lapwing.gpu.reference import REFERENCE_METHODS, trees
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail, OwnStream, read_array
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import CERTIFICATE, CORE
from lapwing.plan import Plan
from lapwing.prices import prices_in_kind
from lapwing.problem import Problem
from lapwing.request import Request


class ResidentMatrix(CostKind):
    """See the module; `matrix` is where it lies."""

    can_overlap = True
    has_glance = True
    is_quick_to_read = True
    can_turn = True

    def __init__(self, context: Context, matrix: GpuArray) -> None:
        self.matrix: GpuArray = matrix
        self.context: Context = context
        self.given: Any = matrix
        self.array_template: GpuArray | None = matrix
        self.shape: tuple[int, int] = (matrix.shape[0], matrix.shape[1])
        self.dtype: str = matrix.dtype
        self.copier: Copier | None = None  # which brings the matrix

    def identified(self, request: Request) -> Problem:
        """The same as on a CPU."""
        matrix = self.matrix
        if matrix.strides[1] != 1 and matrix.shape[1] > 1:
            raise ArgumentError(
                "checkpoint= takes a matrix on a GPU if its rows are contiguous, as some of them tell it from others: "
                f"copy it in C order, or leave checkpoint= out (got strides {matrix.strides})"
            )
        source, prices = DeviceCost(matrix), request.unmatched_cost
        if prices is not None:
            prices = prices_in_kind(prices, source.shape[0], request.maximize, source.is_integer)
        return Problem(source, request.maximize, prices)

    def plan(self, request: Request) -> Plan:
        return plan_matrix(self.matrix, self.memory, request)

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        return to_canonical(self.context, self.matrix, maximize, unmatched)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        reference = REFERENCE_METHODS.get(plan.method)
        if reference is not None:
            return Search(reference(self.context, view.matrix, monitor, self.array_template, request.options))
        if request.certify:  # compiled side by side at their first use
            preload(self.context, [(program, program.of_cost(self.dtype)) for program in (CORE, CERTIFICATE)])
        solve = CoreSolve(self.context, view.matrix, monitor, self.array_template)
        finish = None
        if trees.can_finish(view.matrix):
            solve.most_reads = trees.MOST_READS
            limit, more = request.memory_limit, trees.tight_bytes(view.matrix.rows)
            by_tight_pairs = limit is None or plan.memory_bytes + more <= limit
            finish = partial(trees.finish, array_template=self.array_template, by_tight_pairs=by_tight_pairs)
        return Search(solve, StartFinder(self.context, monitor, self.array_template, self.copier, finish))

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_matrix(self.context, self.matrix, candidate, maximize, mail)

    def on_host(self, _solved: tuple[CanonicalForm, CoreSolve] | None = None) -> Any:
        return read_array(self.matrix)

    def large_from(
        self, _maximize: bool, prices: NDArray[Any] | None, on_gpu: tuple[CanonicalMatrix, OwnStream] | None = None
    ) -> float | None:
        if self.is_integer:
            return math.inf
        return None if on_gpu is None else find_large_on_gpu(*on_gpu, prices)

    def without_large(self, above: float, maximize: bool) -> CostKind:
        return ResidentMatrix(self.context, without_large(self.context, self.matrix, above, maximize))

    def below_cap(
        self, cap: int | float, prices: NDArray[Any] | None, request: Request
    ) -> tuple[CostKind, Request] | None:
        self.wait_for_all()
        return below_cap(self, self.matrix, cap, prices, request)
