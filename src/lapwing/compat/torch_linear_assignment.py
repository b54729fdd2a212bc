"""The package torch-linear-assignment, on the CPU and on GPUs: change the name of the module that you import."""

from __future__ import annotations

from typing import Any

from lapwing.api import solve_batch
from lapwing.matched import matched_pairs

__all__ = ["assignment_to_indices", "batch_linear_assignment"]


def batch_linear_assignment(cost: Any) -> Any:
    """(B, W) int64 tensor on the device of the costs: the task of each worker, -1 for none; costs are minimised.

    Parameters
    ----------
    cost : (B, W, T) tensor

    Raises
    ------
    ValueError
        If it has not three dimensions; on the CPU also if a problem has no assignment.
    """
    if cost.ndim != 3:
        raise ValueError("Need 3-dimensional tensor with shape (B, W, T).")
    return solve_batch(cost.detach()).row_to_col


def assignment_to_indices(assignment: Any) -> tuple[Any, Any]:
    """(row_ind, col_ind) of (B, K), from what `batch_linear_assignment` returns.

    Raises
    ------
    ValueError
        If problems have different numbers of pairs.
    """
    counts = (assignment >= 0).sum(1)
    if len(assignment) == 0:
        return assignment.new_zeros((0, 0)), assignment.new_zeros((0, 0))
    if bool((counts != counts[0]).any()):
        raise ValueError("Inconsistent matching sizes.")
    return matched_pairs(assignment, int(counts[0]))
