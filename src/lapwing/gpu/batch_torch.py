"""Batches as an operator of PyTorch, `torch.ops.lapwing.solve_batch`, for `torch.compile` and `torch.export`.

A compiler sees one operator with known output shapes, where tracing through `solve_batch` would break the graph. The
operator is registered when it is first asked for, with a tensor at hand; importing Lapwing imports no PyTorch.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from lapwing.gpu.batch import BatchOnGpu, solve_batch

_SCHEMA = (
    "(Tensor costs, bool maximize=False, Tensor? unmatched_cost=None, Tensor? row_counts=None, "
    "Tensor? col_counts=None, bool duals=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)


@cache
def operator() -> Any:
    """The operator, registered: returns row_to_col, objective, status, u and v, the last two empty without `duals`."""
    torch = sys.modules["torch"]

    def solve(
        costs: Any,
        maximize: bool = False,
        unmatched_cost: Any = None,
        row_counts: Any = None,
        col_counts: Any = None,
        duals: bool = False,
    ) -> tuple[Any, ...]:
        answer = solve_batch(
            costs.detach(),
            maximize=maximize,
            unmatched_cost=unmatched_cost,
            row_counts=row_counts,
            col_counts=col_counts,
            duals=duals,
        )
        nothing = (answer.objective.new_empty((0,)), answer.objective.new_empty((0,)))
        return answer.row_to_col, answer.objective, answer.status, *((answer.u, answer.v) if duals else nothing)

    def fake(
        costs: Any,
        maximize: bool = False,
        unmatched_cost: Any = None,
        row_counts: Any = None,
        col_counts: Any = None,
        duals: bool = False,
    ) -> tuple[Any, ...]:
        count, rows, cols = costs.shape
        dtype = torch.float64 if costs.dtype.is_floating_point else torch.int64
        u, v = ((count, rows), (count, cols)) if duals else ((0,), (0,))
        return (
            costs.new_empty((count, rows), dtype=torch.int64),
            costs.new_empty((count,), dtype=dtype),
            costs.new_empty((count,), dtype=torch.int32),
            costs.new_empty(u, dtype=dtype),
            costs.new_empty(v, dtype=dtype),
        )

    made = torch.library.custom_op("lapwing::solve_batch", solve, mutates_args=(), device_types="cuda", schema=_SCHEMA)
    made.register_fake(fake)
    made.register_autograd(lambda context, *_: (None,) * 6)  # assignments are piecewise constant in the costs
    return made


def solve_with_operator(
    costs: Any, *, maximize: bool, unmatched_cost: Any, row_counts: Any, col_counts: Any, duals: bool
) -> BatchOnGpu:
    """`solve_batch` through the operator, while a compiler traces; prices and counts as tensors on the GPU."""
    prices = unmatched_cost
    if prices is not None and not isinstance(prices, sys.modules["torch"].Tensor):
        prices = costs.new_full((), prices, dtype=sys.modules["torch"].float64)
    row_to_col, objective, status, u, v = operator()(costs, maximize, prices, row_counts, col_counts, duals)
    return BatchOnGpu(row_to_col, objective, status, u if duals else None, v if duals else None)
