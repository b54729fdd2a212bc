"""Sparse costs, in the GPU's memory or the host's: only the pairs that may be matched are ever there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lapwing import inputs
from lapwing.costs.sparse import SparseCost
from lapwing.costs.sparse_arrays import as_sparse_cost
from lapwing.cpu.exact import solve_proven
from lapwing.errors import ArgumentError, InfeasibleError, InternalError, LapwingError
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_sparse
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.core.sparse_solver import SparseSolve, SparseStartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, sparse_to_canonical
from lapwing.gpu.costs.sparse import (
    GivenEntries,
    LinesMaker,
    SparseLines,
    entries_of,
    solved_by_columns,
    upload_entries,
)
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.kinds.base import CostKind, Search, refuse_reference
from lapwing.gpu.plan import plan_sparse
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import SPARSE_CERTIFICATE, SPARSE_CORE
from lapwing.plan import Plan, make_plan
from lapwing.request import Request

_NONE = np.zeros(0, np.int64)


class SparseCosts(CostKind):
    """See the module.

    Parameters
    ----------
    context : Context
    given : as the user gave them
    source : SparseCost or GivenEntries
        The host's arrays, or a GPU's.
    request : Request
    """

    can_overlap = True
    can_turn = True

    def __init__(self, context: Context, given: Any, source: SparseCost | GivenEntries, request: Request) -> None:
        self.context: Context = context
        self.given: Any = given
        self.source: SparseCost | GivenEntries = source
        self.entries: GivenEntries = entries_of(source) if isinstance(source, SparseCost) else source
        self.shape: tuple[int, int] = source.shape
        self.request: Request = request
        self.dtype: str = source.dtype.name if isinstance(source, SparseCost) else source.data.dtype
        self.array_template: GpuArray | None = None if isinstance(source, SparseCost) else source.data
        self.by_columns: bool = solved_by_columns(self.shape, self.entries.by_columns, request.fixes_rows)

    def plan(self, request: Request) -> Plan:
        refuse_reference(request, "reads a matrix on a GPU, not sparse costs")
        on_host = isinstance(self.source, SparseCost)
        return plan_sparse(self.entries, self.by_columns, self.dtype, self.memory, request, on_host)

    @contextmanager
    def loaded(self) -> Iterator[None]:
        self.lines = self._lines()
        self.dtype = self.lines.dtype
        programs = (SPARSE_CORE, SPARSE_CERTIFICATE)
        preload(self.context, [(program, program.of_cost(self.dtype)) for program in programs])
        try:
            yield
        finally:
            del self.lines

    def _lines(self) -> SparseLines:
        maker = LinesMaker(self.context, self.array_template)
        source = self.source
        if isinstance(source, GivenEntries):
            lines = maker.make(source, self.by_columns, is_own=False)
            if lines is not None:
                return lines
            source = as_sparse_cost(self.given)  # which adds up duplicates, or says what is damaged
        lines = maker.make(upload_entries(self.context, source), self.by_columns, is_own=True)
        if lines is None:
            raise ArgumentError("the sparse matrix was changed while it was copied: solve it again")
        return lines

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        return sparse_to_canonical(self.lines, maximize, unmatched)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        return Search(
            SparseSolve(self.context, view.matrix, monitor, self.lines, self.array_template),
            SparseStartFinder(self.context, monitor, self.array_template),
        )

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_sparse(self.context, self.lines, candidate, maximize, self.array_template, mail)

    def no_assignment(self, view: CanonicalForm, solve: CoreSolve, request: Request) -> LapwingError:
        """The CPU's, which names the fewest rows and columns."""
        if request.partial:  # which asks for no proof
            return InfeasibleError(_NONE, _NONE)
        problem = inputs.make_problem(self.given, request.maximize, request.unmatched_cost)
        try:
            solve_proven(problem, make_plan(problem.form, processors=inputs.processors()), certify=False)
        except InfeasibleError as error:
            return error
        raise InternalError("the method called the problem infeasible, and the CPU solved it")
