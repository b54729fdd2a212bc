"""Batches as an operator of PyTorch, `torch.ops.lapwing.solve_batch`, for `torch.compile` and `torch.export`.

A compiler sees one operator with known output shapes, where tracing through `solve_batch` would break the graph; so
`solve_batch` calls it while one traces. The operator is registered when it is first asked for, with a tensor at hand;
importing Lapwing imports no PyTorch.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from lapwing.errors import ArgumentError, MissingPackageError
from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import solve_arrays

_SCHEMA = (
    "(Tensor costs, bool maximize=False, Tensor? unmatched_cost=None, Tensor? row_counts=None, "
    "Tensor? col_counts=None, bool duals=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)


def register_torch_operator() -> Any:
    """Register `torch.ops.lapwing.solve_batch`, which an exported graph needs before it is loaded, and return it.

    `solve_batch` registers it by itself when PyTorch's compiler traces the call. The operator returns row_to_col,
    objective, status, u and v; the last two are empty without `duals`.

    Raises
    ------
    MissingPackageError
        If PyTorch is not installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingPackageError("register_torch_operator needs PyTorch: pip install torch") from error
    return operator()


@cache
def operator() -> Any:
    """The operator, registered."""
    torch = sys.modules["torch"]

    def solve(
        costs: Any,
        maximize: bool = False,
        unmatched_cost: Any = None,
        row_counts: Any = None,
        col_counts: Any = None,
        duals: bool = False,
    ) -> tuple[Any, ...]:
        answer = solve_arrays(costs.detach(), BatchOptions(maximize, unmatched_cost, row_counts, col_counts, duals))
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


def is_tracing() -> bool:
    """Whether PyTorch's compiler is looking at this call; costs nothing where PyTorch is not loaded."""
    asked = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", None)  # not in old ones
    return asked is not None and bool(asked())


def solve_with_operator(
    costs: Any, maximize: bool, unmatched_cost: Any, row_counts: Any, col_counts: Any, duals: bool
) -> tuple[Any, ...]:
    """The answer of the operator: row_to_col, objective, status, u and v, or None for these.

    Raises
    ------
    ArgumentError
        If costs are integers and a price is not.
    """
    _register()
    torch = sys.modules["torch"]
    dtype = torch.float64 if costs.dtype.is_floating_point else torch.int64
    if isinstance(unmatched_cost, float) and dtype is torch.int64 and not unmatched_cost.is_integer():
        raise ArgumentError(f"unmatched_cost {unmatched_cost} is not whole, but costs are integers")
    prices, rows, cols = (
        x if x is None or isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=kind, device=costs.device)
        for x, kind in ((unmatched_cost, dtype), (row_counts, torch.int64), (col_counts, torch.int64))
    )
    *solved, u, v = torch.ops.lapwing.solve_batch(costs, maximize, prices, rows, cols, duals)
    return (*solved, u, v) if duals else (*solved, None, None)


def _register() -> bool:
    operator()
    return True


# The compiler calls it while it traces, and takes what it returns for a constant: what
# torch.compiler.assume_constant_result does, which would import PyTorch.
_register._dynamo_marked_constant = True  # type: ignore[attr-defined]
