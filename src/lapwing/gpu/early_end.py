"""When a solve by the core method ends early, and what is solved in its place.

Costs that are capped are sparse ones (gpu/core/capped.py). That shows when a solve has begun, by a look at some costs
and by the rows that the auction leaves. It is tried once. An answer counts if it is proven for the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from lapwing.certificate import Number
from lapwing.gpu.core.capped import CAPPED_LEFT
from lapwing.gpu.core.solver import UNFINISHED, CoreSolve, Report
from lapwing.gpu.kinds.base import CostKind
from lapwing.request import Request

Part = Callable[[], tuple[CostKind, Request] | None]  # None: it would not do


class EarlyEnd:
    """What has not been tried of one problem.

    Attributes
    ----------
    may_be_capped : bool
        Whether a solve may end since costs are capped.
    """

    def __init__(self, costs: CostKind, request: Request) -> None:
        self._costs, self._request = costs, request
        no_row_lacks = request.priced or costs.shape[0] <= costs.shape[1]
        self.may_be_capped: bool = request.memory_limit is None and no_row_lacks
        self._solve: CoreSolve | None = None
        self._prices: NDArray[Any] | None = None
        self._cap: Number | None = None

    def watch(self, solve: CoreSolve, prices: NDArray[Any] | None) -> None:
        """Let a solve end where less seems to do; `prices`: unmatched costs, as minimised."""
        self._solve, self._prices, self._cap = solve, prices, None
        self.see_cap(self._costs.cap(self._request.maximize))

    def see_cap(self, cap: Number | None) -> None:
        """Take in that costs are capped, or that none is seen."""
        if cap is not None and self.may_be_capped and self._solve is not None:
            self._cap, self._solve.most_left = cap, self._costs.shape[0] // CAPPED_LEFT

    def part(self, report: Report) -> Part | None:
        """What to solve in place of the solve that is watched; None if it did not end early."""
        costs, request, prices, cap = self._costs, self._request, self._prices, self._cap
        self._solve = None  # so that its memory is not kept
        if cap is None or report.status != UNFINISHED:
            return None
        self.may_be_capped = False
        return lambda: costs.below_cap(cap, prices, request)
