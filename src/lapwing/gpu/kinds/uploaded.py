"""A matrix in the host's memory that is copied to the GPU; the solve begins with the rows that come first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from lapwing import inputs
from lapwing.gpu.core.glance import cap_in_rows
from lapwing.gpu.core.large_costs import find_large_in_rows
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.costs.upload import planned_matrix, upload
from lapwing.gpu.kinds.resident import ResidentMatrix
from lapwing.gpu.plan import plan_matrix
from lapwing.gpu.runtime.device import Context
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.request import Request


class UploadedMatrix(ResidentMatrix):
    """See the module; `host` is the matrix with unit stride along one axis, in a dtype that kernels read."""

    has_glance = False  # the host looks

    def __init__(self, context: Context, given: Any, host: NDArray[Any]) -> None:
        super().__init__(context, planned_matrix(context, host))
        self.host: NDArray[Any] = host
        self.given, self.array_template = given, None

    def identified(self, request: Request) -> Problem:
        return inputs.make_problem(self.given, request.maximize, request.unmatched_cost)

    def plan(self, request: Request) -> Plan:
        return plan_matrix(self.matrix, self.memory, request, on_host=True)

    def on_host(self, _solved: tuple[CanonicalForm, CoreSolve] | None = None) -> Any:
        return self.given

    def large_from(self, maximize: bool, prices: NDArray[Any] | None, _on_gpu: object = None) -> float:
        if self.is_integer:
            return math.inf
        return find_large_in_rows(self.host, maximize, prices, min(self.shape) if prices is None else self.shape[0])

    def cap(self, maximize: bool) -> int | float | None:
        return cap_in_rows(self.host, maximize)

    @contextmanager
    def loaded(self) -> Iterator[None]:
        self.matrix, copier = upload(self.context, self.host)
        with copier:
            self.copier = copier
            yield

    def wait_for_all(self) -> None:
        assert self.copier is not None
        self.copier.finish()
