"""JAX: assignments inside `jit`, `vmap` and `grad`, solved where the costs are by one call for each batch.

On a CPU a callback of JAX solves with `lapwing.solve_batch`. On an NVIDIA GPU a callback launches the kernels of a
batch on XLA's stream, from its buffers into its buffers, so that nothing is copied to the host and nothing waits
(`jax.experimental.buffer_callback`; without it the CPU solves). `vmap` makes one larger batch, not a loop. An
assignment is piecewise constant in the costs, so no gradient passes through it; `lapwing.matched_costs` passes one on
to the matched pairs.

JAX has 64-bit numbers only with `jax_enable_x64`. A GPU's answers are therefore declared as pairs of 32-bit words, and
become numbers of JAX's own width afterwards.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lapwing.api import solve_batch as solve_on_cpu
from lapwing.costs.dtypes import core_dtype
from lapwing.errors import ArgumentError, DtypeError, MissingPackageError, RangeError
from lapwing.matched import matched_pairs
from lapwing.prices import of_rows_and_columns

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingPackageError("lapwing.jax needs JAX: pip install jax") from error

try:
    from jax.experimental.buffer_callback import buffer_callback
except ImportError:  # an old JAX
    buffer_callback = None

__all__ = ["BatchAnswer", "linear_sum_assignment", "solve_batch"]

_TOO_LARGE = 3  # status of sums out of range


class BatchAnswer(NamedTuple):
    """The answers to a batch, arrays of JAX; a problem without an answer has -1, and NaN or 0.

    Attributes
    ----------
    row_to_col : (B, m) integers
        -1 where a row is free.
    objective : (B,) of JAX's default float type, or integer type for integer costs
    status : (B,) int32
        0 solved; else as `lapwing.BatchResult` has it. On a GPU 5 if rounding may hide a better assignment, and 3 for
        sums out of range; anywhere 3 for an objective that JAX's integer type cannot hold.
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
    """`lapwing.solve_batch` of an array of JAX, traced or not, with ``check=False``.

    Parameters
    ----------
    costs : (B, m, n) array
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m), or a tuple of two
        Row i may stay free at this price. A tuple of two has the prices of rows and those of columns, which are a
        scalar, (n,) or (B, n); on a GPU the host solves such a batch, and waits.

    Raises
    ------
    ArgumentError
        If it is no batch.
    DtypeError
        If costs are integers and prices are not.
    """
    costs = jax.lax.stop_gradient(jnp.asarray(costs))
    core_dtype(np.dtype(costs.dtype))  # refuses others
    if costs.ndim != 3:
        raise ArgumentError(f"costs must be (B, m, n), got shape {costs.shape}")
    prices = zip(of_rows_and_columns(unmatched_cost), (costs.shape[:2], costs.shape[::2]), strict=True)
    arguments = [costs, *(_prices(given, shape, costs.dtype) for given, shape in prices if given is not None)]
    index = jnp.zeros(0, int).dtype
    number = jnp.zeros(0, float).dtype if jnp.issubdtype(costs.dtype, jnp.floating) else index
    solver = _Solver(maximize, index, number)
    if buffer_callback is None or 0 in costs.shape:
        return BatchAnswer(*solver.on_cpu(*arguments))
    return BatchAnswer(*_solve_where_it_lies(solver, *arguments))


def _prices(given: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Prices of the rows or columns of each problem, for costs of a dtype."""
    prices = jax.lax.stop_gradient(jnp.asarray(given))
    if jnp.issubdtype(prices.dtype, jnp.floating) and not jnp.issubdtype(dtype, jnp.floating):
        raise DtypeError(f"unmatched_cost is {prices.dtype}, but costs are {dtype}: pass both as floats")
    if isinstance(given, (int, float, np.ndarray)) and np.isnan(given).any():  # of others no number is known here
        raise ArgumentError("unmatched_cost has a NaN: use a finite number, or +-inf if a row must be matched")
    return jnp.broadcast_to(prices, shape)


@partial(jax.jit, static_argnums=0)  # outside jit the platform would be JAX's default, wherever the arrays are
def _solve_where_it_lies(solver: _Solver, *arguments: Any) -> Any:
    return jax.lax.platform_dependent(*arguments, cuda=solver.on_gpu, default=solver.on_cpu)


class _Solver(NamedTuple):
    """A batch as an operation of JAX, for either device: of costs, prices of rows and prices of columns, as given.

    Parameters
    ----------
    maximize : bool
    index, number : dtype
        Of columns and objectives, as JAX is to have them.
    """

    maximize: bool
    index: Any
    number: Any

    def on_cpu(self, costs: Any, *prices: Any) -> tuple[Any, ...]:
        count, rows, _ = costs.shape

        def solve(costs: Any, *prices: Any) -> tuple[Any, ...]:
            lead, shape = costs.shape[:-2], costs.shape[-2:]
            size = math.prod(lead)
            given = _unmatched_cost([np.asarray(each).reshape(size, each.shape[-1]) for each in prices])
            stack = np.asarray(costs).reshape(size, *shape)
            try:
                found = solve_on_cpu(stack, maximize=self.maximize, unmatched_cost=given, check=False)
                row_to_col, objective, status = found.row_to_col, found.objective, found.status
            except RangeError:  # an integer beyond int64
                row_to_col, objective = np.full((size, shape[0]), -1), np.zeros(size, np.int64)
                status = np.full(size, _TOO_LARGE, np.int32)
            fits = (objective.astype(self.number) == objective) | (objective.dtype.kind == "f")
            return (
                row_to_col.reshape(*lead, shape[0]).astype(self.index),
                np.where(fits, objective, 0).astype(self.number).reshape(lead),
                np.where(fits, status, _TOO_LARGE).astype(np.int32).reshape(lead),
            )

        shapes = (
            jax.ShapeDtypeStruct((count, rows), self.index),
            jax.ShapeDtypeStruct((count,), self.number),
            jax.ShapeDtypeStruct((count,), jnp.int32),
        )
        answer: tuple[Any, ...] = jax.pure_callback(solve, shapes, costs, *prices, vmap_method="broadcast_all")
        return answer

    def on_gpu(self, costs: Any, *prices: Any) -> tuple[Any, ...]:
        count, rows, _ = costs.shape

        def solve(context: Any, answer: Any, costs: Any, *prices: Any) -> None:
            from lapwing.gpu.batch.buffers import solve_into

            solve_into(context, answer, costs, prices, self.maximize)

        words = (
            jax.ShapeDtypeStruct((count, rows, 2), jnp.uint32),
            jax.ShapeDtypeStruct((count, 2), jnp.uint32),
            jax.ShapeDtypeStruct((count,), jnp.int32),
        )
        arguments = [_widened(costs), *(words_of(each.astype(self.number)) for each in prices)]
        row_to_col, objective, status = buffer_callback(solve, words, vmap_method="broadcast_all")(*arguments)
        is_float = jnp.issubdtype(self.number, jnp.floating)
        if is_float:
            return integer_of_words(row_to_col, self.index), float_of_words(objective, self.number), status
        decoded, fits = integer_of_words(objective, self.number), words_fit(objective, self.number)
        return (
            integer_of_words(row_to_col, self.index),
            jnp.where(fits, decoded, 0),
            jnp.where(fits, status, _TOO_LARGE),
        )


def _unmatched_cost(prices: list[Any]) -> Any:
    """What `lapwing.solve_batch` takes: prices of rows, or of rows and columns, if any."""
    return tuple(prices) if len(prices) == 2 else (prices or [None])[0]


def _widened(values: Any) -> Any:
    """With at least 32 bits, which every kernel takes."""
    if values.dtype.itemsize >= 4:
        return values
    return values.astype(jnp.float32 if jnp.issubdtype(values.dtype, jnp.floating) else jnp.int32)


def words_of(values: Any) -> Any:
    """(..., 2) uint32, the words of int64 or float64, out of integers or floats of 32 or 64 bits."""
    if values.dtype.itemsize == 8:
        return jax.lax.bitcast_convert_type(values, jnp.uint32)
    bits = jax.lax.bitcast_convert_type(values, jnp.uint32)
    if jnp.issubdtype(values.dtype, jnp.integer):
        return jnp.stack([bits, jnp.where(values < 0, jnp.uint32(0xFFFFFFFF), 0)], -1)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    wide = jnp.where(exponent == 0xFF, 0x7FF, exponent + 896) << 20
    high = (bits & jnp.uint32(0x80000000)) | wide | (fraction >> 3)
    is_zero = exponent == 0
    return jnp.stack([jnp.where(is_zero, 0, fraction << 29), jnp.where(is_zero, 0, high)], -1)


def integer_of_words(words: Any, dtype: Any) -> Any:
    """(...,) integers out of (..., 2) uint32, the words of an int64: modulo 2^32, if `dtype` has no more."""
    if np.dtype(dtype).itemsize == 8:
        return jax.lax.bitcast_convert_type(words, dtype)
    return jax.lax.bitcast_convert_type(words[..., 0], dtype)


def words_fit(words: Any, dtype: Any) -> Any:
    """(...,) whether an int64 of two words is one of `dtype`."""
    low, high = (jax.lax.bitcast_convert_type(words[..., k], jnp.int32) for k in range(2))
    return (np.dtype(dtype).itemsize == 8) | (high == low >> 31)


def float_of_words(words: Any, dtype: Any) -> Any:
    """(...,) floats out of (..., 2) uint32, the words of a float64: rounded to float32, if `dtype` has no more.

    Values below float32's normal numbers become 0 there.
    """
    if np.dtype(dtype).itemsize == 8:
        return jax.lax.bitcast_convert_type(words, dtype)
    low, high = words[..., 0], words[..., 1]
    exponent = (high >> 20) & 0x7FF
    # The 52 bits of the fraction to 23, to the nearest, ties to even; a carry goes on into the exponent, as it should.
    kept = ((high & 0xFFFFF) << 3) | (low >> 29)
    rest, half = low & 0x1FFFFFFF, 1 << 28
    up = (rest > half) | ((rest == half) & (kept & 1 == 1))
    magnitude = ((exponent - 896) << 23) + kept + up.astype(jnp.uint32)  # 896: the biases' difference
    infinity, is_nan = jnp.uint32(0x7F800000), (exponent == 0x7FF) & (((high & 0xFFFFF) | low) != 0)
    magnitude = jnp.where(exponent <= 896, 0, jnp.where(exponent >= 1151, infinity, jnp.minimum(magnitude, infinity)))
    magnitude = jnp.where(is_nan, 0x7FC00000, magnitude).astype(jnp.uint32)
    return jax.lax.bitcast_convert_type((high & jnp.uint32(0x80000000)) | magnitude, dtype)
