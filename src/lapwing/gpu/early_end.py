"""When a solve by the core method ends early, and what is solved in its place.

Costs that are capped are sparse ones (gpu/core/capped.py), and some matrices take less when they are made square
(gpu/core/padded.py). Both show when a solve has begun: by a look at some costs, by the rows that the auction leaves, or
by the rows that searches read again. Each is tried once. An answer counts if it is proven for the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from lapwing.certificate import Number
from lapwing.gpu.core.capped import CAPPED_LEFT
from lapwing.gpu.core.padded import (
    PADDED_LEFT,
    SQUARED_COMPUTED_READS,
    SQUARED_READS,
    is_nearly_square,
    is_worth_squaring,
    may_be_squared,
)
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
        is_free = request.memory_limit is None
        self._costs, self._request = costs, request
        self._shape = costs.shape if request.priced else (min(costs.shape), max(costs.shape))
        self.may_be_capped: bool = is_free and self._shape == costs.shape  # no row may lack a column
        self._may_be_squared = is_free and costs.has_padding
        is_matrix = self._may_be_squared and costs.is_quick_to_read
        self._may_be_padded = is_matrix and not request.priced and is_nearly_square(costs.shape)
        self._solve: CoreSolve | None = None
        self._prices: NDArray[Any] | None = None
        self._cap: Number | None = None
        self._limits_reads = False

    def watch(self, solve: CoreSolve, prices: NDArray[Any] | None) -> None:
        """Let a solve end where less seems to do; `prices`: unmatched costs, as minimised."""
        self._solve, self._prices, self._cap = solve, prices, None
        self.see_cap(self._costs.cap(self._request.maximize))
        if self._cap is None and self._may_be_padded:
            solve.most_left = self._shape[0] // PADDED_LEFT
        self._limits_reads = self._may_be_squared and may_be_squared(self._costs.shape, prices)
        if self._limits_reads:
            solve.most_reads = SQUARED_READS if self._costs.is_quick_to_read else SQUARED_COMPUTED_READS

    def see_cap(self, cap: Number | None) -> None:
        """Take in that costs are capped, or that none is seen."""
        if cap is not None and self.may_be_capped and self._solve is not None:
            self._cap, self._solve.most_left = cap, self._costs.shape[0] // CAPPED_LEFT

    def part(self, report: Report) -> Part | None:
        """What to solve in place of the solve that is watched; None if it did not end early."""
        costs, request, prices, cap = self._costs, self._request, self._prices, self._cap
        solve, self._solve = self._solve, None  # so that its memory is not kept
        if solve is None or report.status != UNFINISHED or (solve.most_left is None and not self._limits_reads):
            return None
        if cap is not None:
            self.may_be_capped = False
            return lambda: costs.below_cap(cap, prices, request)
        self._may_be_padded = self._may_be_squared = False
        exits = solve.count_unmatched() + 1 if request.priced else 0
        if not is_worth_squaring(*self._shape, exits):
            return lambda: None

        def squared() -> tuple[CostKind, Request] | None:
            kind = costs.padded(exits, prices)
            return None if kind is None else (kind, request)

        return squared
