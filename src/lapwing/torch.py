"""PyTorch: the optimal cost as a differentiable function, on the CPU and on GPUs, also in compiled code.

By Danskin's theorem the gradient of a minimum over assignments is that of the cheapest one: 1 at its pairs and 0
elsewhere. Where several are optimal, it is a subgradient. PyTorch derives it: the value is the sum of the costs of the
matched pairs.
"""

from __future__ import annotations

import math
from typing import Any

from lapwing.api import solve_batch
from lapwing.errors import ArgumentError, DtypeError, MissingPackageError
from lapwing.matched import matched_costs
from lapwing.prices import of_rows_and_columns
from lapwing.tensors import is_tensor, loaded_torch

try:
    import torch
except ImportError as error:
    raise MissingPackageError("lapwing.torch needs PyTorch: pip install torch") from error

loaded_torch()  # before a compiler traces that

__all__ = ["assignment_cost"]


def assignment_cost(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    check: bool | None = None,
) -> Any:
    """The cost of the optimal assignment, with its gradient: 1 at matched pairs, and at the prices of what is free.

    Parameters
    ----------
    costs : (m, n) or (B, m, n) tensor
        On the CPU or a GPU, of a dtype that `lapwing.solve_batch` takes.
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m), or a tuple of two
        Row i may stay free at this price; a tensor gets a gradient, too. A tuple of two has the prices of rows and
        those of columns, which are a scalar, (n,) or (B, n).
    row_counts, col_counts : None or (B,) integers
        For (B, m, n): problem b is ``costs[b, :row_counts[b], :col_counts[b]]``.
    check : bool, optional
        As for `lapwing.solve_batch`: whether to raise for a problem without an answer, by default on the CPU alone. If
        not, its cost is NaN (0 in int64), without a gradient.

    Returns
    -------
    Scalar or (B,) tensor
        Of the costs' dtype if they are floats; int64 of integers, and float64 if their prices are floats.

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
        With `check`.
    ArgumentError, DtypeError
    """
    if not is_tensor(costs):
        raise DtypeError(f"costs must be a tensor of PyTorch, got {type(costs).__name__}: pass torch.as_tensor(costs)")
    if costs.ndim not in (2, 3):
        raise ArgumentError(f"costs must be (m, n) or (B, m, n), got shape {tuple(costs.shape)}")
    if costs.layout != torch.strided:
        raise DtypeError(f"costs have layout {costs.layout}: pass costs.to_dense()")
    stack = costs if costs.ndim == 3 else costs.unsqueeze(0)
    of_rows, of_cols = of_rows_and_columns(unmatched_cost)
    prices = _detached(of_rows) if of_cols is None else (_detached(of_rows), _detached(of_cols))
    counts = {"row_counts": row_counts, "col_counts": col_counts}
    answer: Any = solve_batch(stack, maximize=maximize, unmatched_cost=prices, **counts, check=check)
    dtype = _dtype_of_sums(costs, [each for each in (of_rows, of_cols) if each is not None])
    total = matched_costs(stack, answer.row_to_col).sum(-1, dtype=dtype)
    if of_rows is not None:
        total = total + _of_free_lines(answer.row_to_col, of_rows, row_counts, total)
    if of_cols is not None:
        total = total + _of_free_lines(answer.col_to_row, of_cols, col_counts, total)
    if dtype.is_floating_point:
        has_answer = (answer.status == 0) | (answer.status == 5)  # 5: optimal but for rounding
        total = torch.where(has_answer, total, math.nan)
    return total if costs.ndim == 3 else total[0]


def _detached(given: Any) -> Any:
    return given.detach() if is_tensor(given) else given


def _dtype_of_sums(costs: Any, prices: list[Any]) -> Any:
    if costs.dtype.is_floating_point:
        return costs.dtype
    has_floats = any(torch.as_tensor(each).is_floating_point() for each in prices)
    return torch.float64 if has_floats else torch.int64


def _of_free_lines(partners: Any, given: Any, counts: Any, total: Any) -> Any:
    """(B,) what the free rows of each problem cost, or its free columns, in the dtype of `total`."""
    free = partners < 0
    if counts is not None:
        lines = torch.arange(partners.shape[1], device=total.device)
        free = free & (lines < torch.as_tensor(counts, device=total.device).unsqueeze(-1))
    prices = torch.as_tensor(given, dtype=total.dtype, device=total.device)
    return torch.where(free, prices, torch.zeros_like(prices)).sum(-1, dtype=total.dtype)
