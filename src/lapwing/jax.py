"""JAX: assignments inside `jit`, `vmap` and `grad`, solved on the CPU by one call for each batch.

A callback of JAX gets the costs on the host and solves them with `lapwing.solve_batch`; `vmap` makes one larger batch
of them, not a loop. An assignment is piecewise constant in the costs, so no gradient passes through it;
`lapwing.matched_costs` passes one on to the matched pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lapwing.api import solve_batch as solve_on_cpu
from lapwing.errors import ArgumentError, MissingPackageError
from lapwing.matched import matched_pairs

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingPackageError("lapwing.jax needs JAX: pip install jax") from error

__all__ = ["BatchAnswer", "linear_sum_assignment", "solve_batch"]


class BatchAnswer(NamedTuple):
    """The answers to a batch, arrays of JAX; a problem without an answer has -1, and NaN or 0.

    Attributes
    ----------
    row_to_col : (B, m) integers
        -1 where a row is free.
    objective : (B,) of JAX's default float type, or integer type for integer costs
    status : (B,) int32
        0 solved; else as `lapwing.BatchResult` has it.
    """

    row_to_col: Any
    objective: Any
    status: Any


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """`scipy.optimize.linear_sum_assignment` of an array of JAX, traced or not.

    Parameters
    ----------
    cost_matrix : (m, n) array
    maximize : bool

    Returns
    -------
    row_ind, col_ind : (min(m, n),) integers
        The matched rows in increasing order and their columns; at the end -1 where the problem has no answer.

    Raises
    ------
    ArgumentError
        If it is no matrix.
    """
    costs = jnp.asarray(cost_matrix)
    if costs.ndim != 2:
        raise ArgumentError(f"cost_matrix must be a matrix (2-D), got shape {costs.shape}")
    rows, cols = costs.shape
    if 0 in costs.shape:
        return jnp.zeros(0, int), jnp.zeros(0, int)
    row_to_col = solve_batch(costs[None], maximize=maximize).row_to_col
    row_ind, col_ind = matched_pairs(row_to_col, cols)
    return row_ind[0, : min(rows, cols)], col_ind[0, : min(rows, cols)]


def solve_batch(costs: Any, *, maximize: bool = False, unmatched_cost: Any = None) -> BatchAnswer:
    """`lapwing.solve_batch` of an array of JAX, traced or not.

    Parameters
    ----------
    costs : (B, m, n) array
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m)
        Row i may stay free at this price.

    Raises
    ------
    ArgumentError
        If it is no batch.
    """
    costs = jax.lax.stop_gradient(jnp.asarray(costs))
    if costs.ndim != 3:
        raise ArgumentError(f"costs must be (B, m, n), got shape {costs.shape}")
    count, rows, _ = costs.shape
    arguments = [costs]
    if unmatched_cost is not None:
        prices = jax.lax.stop_gradient(jnp.asarray(unmatched_cost))
        arguments.append(jnp.broadcast_to(prices, (count, rows)))
    index = jnp.zeros(0, int).dtype
    number = jnp.zeros(0, float).dtype if jnp.issubdtype(costs.dtype, jnp.floating) else index

    def solve(costs: Any, prices: Any = None) -> tuple[Any, ...]:
        stack = np.asarray(costs)
        lead = stack.shape[:-2]
        if prices is not None:
            prices = np.asarray(prices).reshape(-1, stack.shape[-2])
        stack = stack.reshape(-1, *stack.shape[-2:])
        found = solve_on_cpu(stack, maximize=maximize, unmatched_cost=prices, check=False)
        return (
            found.row_to_col.reshape(*lead, stack.shape[1]).astype(index),
            found.objective.reshape(lead).astype(number),
            found.status.reshape(lead),
        )

    shapes = (
        jax.ShapeDtypeStruct((count, rows), index),
        jax.ShapeDtypeStruct((count,), number),
        jax.ShapeDtypeStruct((count,), jnp.int32),
    )
    return BatchAnswer(*jax.pure_callback(solve, shapes, *arguments, vmap_method="broadcast_all"))
