"""Costs of a matrix below a cap: what is left to solve of capped costs (gpu/core/capped.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.core.capped import CappedSolve, lines_below
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.sparse_solver import SparseStartFinder
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.costs.sparse import GivenEntries, SparseLines
from lapwing.gpu.kinds.base import CostKind, Search
from lapwing.gpu.kinds.sparse import SparseCosts
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import SPARSE_CORE
from lapwing.plan import Plan
from lapwing.request import Request


class CappedCosts(SparseCosts):
    """See the module; the certificate is that of the whole matrix.

    Parameters
    ----------
    whole : CostKind
    lines : SparseLines
    cap : as minimised
    request : Request
        Rows may stay free at the cap at most.
    """

    can_turn = False

    def __init__(self, whole: CostKind, lines: SparseLines, cap: int | float, request: Request) -> None:
        _, ends, across, data = lines.owners
        super().__init__(whole.context, whole.given, GivenEntries(lines.shape, data, across, ends), request)
        self.array_template: GpuArray | None = whole.array_template
        self.lines: SparseLines = lines
        self._cap = cap

    @contextmanager
    def loaded(self) -> Iterator[None]:
        preload(self.context, [(SPARSE_CORE, SPARSE_CORE.of_cost(self.dtype))])
        yield

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        return Search(
            CappedSolve(self.context, view.matrix, monitor, self.lines, self._cap, self.array_template),
            SparseStartFinder(self.context, monitor, self.array_template),
        )


def below_cap(
    whole: CostKind, matrix: GpuArray, cap: int | float, prices: NDArray[Any] | None, request: Request
) -> tuple[CappedCosts, Request] | None:
    """The costs of a matrix below a cap and how to solve them; None if that does not solve the whole.

    Parameters
    ----------
    whole : CostKind
    matrix : GpuArray
        Where it lies.
    cap : as minimised
    prices : (m,) float64 or int64, optional
        Unmatched costs, as minimised.
    request : Request
        Of the whole.
    """
    rows, cols = matrix.shape
    at_most = np.full(rows, cap, np.int64 if whole.is_integer else np.float64)
    if prices is not None:
        at_most = np.minimum(prices, at_most)
    if rows > cols and bool((at_most == cap).any()):
        return None
    lines = lines_below(whole.context, matrix, cap, request.maximize, whole.array_template)
    if lines is None:
        return None
    asked = replace(request, unmatched_cost=-at_most if request.maximize else at_most)
    return CappedCosts(whole, lines, cap, asked), asked
