"""From what the user gave to a checked `Problem`: every argument error is raised here.

Nothing is copied that the core can read in place (`costs.is_readable`): C- and Fortran-ordered float32, float64,
int32 and int64, read-only or not, with any stride along the other axis. Everything else is converted exactly, or
refused. NaN is not looked for here: the methods find it while they read, and `invalid_cost` words the error.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT, MOST_DUAL_PARTS
from lapwing.costs.base import MAX_LINES, CostArray, CostSource
from lapwing.costs.dense import DenseCost, is_readable, row_blocks
from lapwing.costs.dtypes import as_array, as_numbers, in_native_order, with_core_dtype
from lapwing.costs.mapped import check_mapped
from lapwing.costs.rows import as_bytes
from lapwing.costs.sparse import (
    SparseCost,
    densify,
    exact_floats,
    fill_in,
    from_masked,
    is_sparse,
    without_masked,
)
from lapwing.errors import ArgumentError, DtypeError, InvalidCostError, LapwingError, RangeError
from lapwing.prices import (
    is_pair,
    of_rows_and_columns,
    priced,
    prices_in_kind,
    stacked_prices,
    with_prices,
    without_zeros,
)
from lapwing.problem import Problem, Stack
from lapwing.tensors import is_tensor, read_dlpack, read_tensor

_LARGEST_INTEGER = 1 << 61  # of a dual to start from
_LEAST_MOST_THREADS = 16  # that a caller may ask for; or two a processor
_INT64_MAX = np.iinfo(np.int64).max
_REACH = 64  # largest dual to start from, over the largest cost


def make_problem(
    cost: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    limit: int | None = None,
    write_out: bool = False,
) -> Problem:
    """Check and view a problem.

    Parameters
    ----------
    cost : (m, n) real matrix of any kind, or a source of `lapwing.costs`: see `lapwing.solve`
    maximize : bool
    unmatched_cost : None, scalar, (m,) array-like, or a pair of these for rows and columns
    limit : int or None
        Bytes of costs that are held in memory where they need not be; a memory map above it is streamed.
    write_out : bool
        Whether sparse costs become a matrix, for a method that reads none else.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    prices = of_cols = None
    if isinstance(cost, np.memmap):
        from lapwing.costs.streamed import streamed_if_large

        cost = streamed_if_large(cost, limit)
    if type(cost) is not np.ndarray and (is_sparse(cost) or _has_masked_integers(cost)):
        if not write_out:
            return _sparse_problem(cost, maximize, unmatched_cost)
        written_out = filled_problem(cost, maximize, unmatched_cost)
        if written_out is not None:
            return written_out
        cost = as_plain_array(cost, maximize)
    if type(cost) is not np.ndarray and isinstance(cost, CostSource):
        cost = (cost if limit is None else cost.limited(limit)).in_sense(maximize)
        if unmatched_cost is not None:
            for_rows, for_cols = of_rows_and_columns(unmatched_cost)
            prices = prices_in_kind(for_rows, cost.shape[0], maximize, cost.is_integer)
            if for_cols is not None:
                of_cols = without_zeros(prices_in_kind(for_cols, cost.shape[1], maximize, cost.is_integer, "column"))
        problem = Problem(cost, maximize, prices, of_cols)
        if problem.is_tall and not cost.reads_columns:
            raise ArgumentError(
                f"costs that come by rows have shape {cost.shape}, more rows than columns; supply the rows of the "
                "transposed problem, or pass unmatched_cost="
            )
        return problem
    matrix = as_matrix(cost, maximize)
    matrix, prices, of_cols = priced(matrix, matrix.shape, maximize, unmatched_cost)
    return Problem(DenseCost(matrix), maximize, prices, of_cols)


def _has_masked_integers(cost: Any) -> bool:
    """Whether they are pairs: a matrix of integers has no infinity."""
    if not isinstance(cost, np.ma.MaskedArray):
        return False
    check_mapped(cost.data)
    return cost.dtype.kind in "biu" and cost.ndim == 2 and bool(np.ma.is_masked(cost))


def filled_problem(cost: Any, maximize: bool, unmatched_cost: Any) -> Problem | None:
    """The problem of integers with pairs left out, sparse or masked, as a matrix of integers; None of anything else.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    if not (is_sparse(cost) or _has_masked_integers(cost)):
        return None
    problem = _sparse_problem(cost, maximize, unmatched_cost)
    assert isinstance(problem.cost, SparseCost)
    matrix = fill_in(problem.cost, maximize, problem.unmatched_cost, problem.unmatched_cols)
    return None if matrix is None else replace(problem, cost=matrix)


def _sparse_problem(cost: Any, maximize: bool, unmatched_cost: Any) -> Problem:
    pairs = from_masked(cost) if isinstance(cost, np.ma.MaskedArray) else _pairs_of(cost)
    data, prices, of_cols = priced(pairs.data, pairs.shape, maximize, unmatched_cost)
    return Problem(pairs if data is pairs.data else pairs.with_floats(), maximize, prices, of_cols)


def _pairs_of(cost: Any) -> SparseCost:
    """Sparse costs of any kind; refuses arrays whose file is gone."""
    from lapwing.costs.sparse_arrays import as_sparse_cost

    for part in ("data", "indices", "indptr", "row", "col"):
        check_mapped(getattr(cost, part, None))
    return as_sparse_cost(cost)


def as_matrix(cost: Any, maximize: bool) -> CostArray:
    """`cost` as a matrix that the core reads, copied only if it must be."""
    array = as_plain_array(cost, maximize)
    if array.ndim != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got {array.ndim}-D of shape {array.shape}")
    if max(array.shape) > MAX_LINES:
        raise ArgumentError(f"cost has shape {array.shape}; at most {MAX_LINES} rows and columns are supported")
    if is_readable(array):
        return array
    array = with_core_dtype(array)
    return array if is_readable(array) else in_native_order(array)


def as_matrix_of(cost: Any, maximize: bool, unmatched_cost: Any, dtypes: Collection[str]) -> CostArray:
    """`cost` as a matrix of one of these dtypes with unit stride along one axis, copied only if it must be.

    Integers become float64 if prices are not whole.
    """
    array = as_plain_array(cost, maximize)
    if array.ndim == 2 and array.dtype.kind == "b":
        array = array.view(np.uint8)
    unit = array.itemsize in array.strides or array.size <= 1
    readable = array.dtype.name in dtypes and array.dtype.isnative and array.flags.aligned and unit
    matrix = array if array.ndim == 2 and readable else as_matrix(array, maximize)
    if unmatched_cost is not None and matrix.dtype.kind in "iu":
        matrix, _, _ = priced(matrix, matrix.shape, maximize, unmatched_cost)
    return matrix


def shape_of(cost: Any) -> tuple[int, ...]:
    """The shape of costs of any kind."""
    try:
        shape: tuple[int, ...] = cost.shape if hasattr(cost, "shape") else np.shape(cost)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"cost is not a matrix: {error}") from error
    return shape


def make_stack(
    costs: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
) -> Stack:
    """Check and view problems in one array.

    Parameters
    ----------
    costs : (B, m, n) real array
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m) array-like, or a pair of these, of columns (n,) or (B, n)
    row_counts, col_counts : None or (B,) integers

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    array = as_plain_array(costs, maximize)
    if array.ndim != 3:
        raise ArgumentError(f"costs must be (B, m, n) or a list of matrices, got an array of shape {array.shape}")
    array = with_core_dtype(array)
    if not (array.flags.aligned and array.dtype.isnative and all(s % array.itemsize == 0 for s in array.strides)):
        array = in_native_order(array)
    rows = None if row_counts is None else check_counts(row_counts, len(array), array.shape[1], "row_counts")
    cols = None if col_counts is None else check_counts(col_counts, len(array), array.shape[2], "col_counts")
    if unmatched_cost is None:
        return Stack(array, maximize, None, rows, cols)
    for_rows, for_cols = of_rows_and_columns(unmatched_cost)
    given = [stacked_prices(for_rows, (array.shape[0], array.shape[1]), maximize, "row")]
    if for_cols is not None:
        given.append(stacked_prices(for_cols, (array.shape[0], array.shape[2]), maximize, "column"))
    array, (of_rows, *of_cols) = with_prices(array, *given)
    return Stack(array, maximize, of_rows, rows, cols, without_zeros(of_cols[0]) if of_cols else None)


def check_counts(given: Any, size: int, most: int, name: str) -> NDArray[np.int64]:
    """The rows or columns of each of `size` problems, from 0 to `most`."""
    counts = as_numbers(given, name)
    if counts.shape != (size,):
        raise ArgumentError(f"{name} must be of shape ({size},), one for each problem, got {counts.shape}")
    if counts.dtype.kind not in "iu" and counts.size:
        raise DtypeError(f"{name} must be integers, got dtype {counts.dtype}")
    outside = (counts < 0) | (counts > most)
    if outside.any():
        b = int(outside.argmax())
        raise ArgumentError(f"{name}[{b}] is {counts[b]}, but costs has {most} along that axis")
    return counts.astype(np.int64)


def make_problems(costs: Sequence[Any], maximize: bool = False, unmatched_cost: Any = None) -> list[Problem]:
    """A list of problems of any shapes.

    `unmatched_cost` is a scalar, a pair of scalars, or a list with one entry for each problem.
    """
    prices = unmatched_cost
    if is_pair(prices) or not isinstance(prices, (list, tuple)):
        prices = [unmatched_cost] * len(costs)
    if len(prices) != len(costs):
        raise ArgumentError(
            f"unmatched_cost must be a scalar or a list of {len(costs)}, one for each problem, got {len(prices)}"
        )
    problems = []
    for b, (cost, price) in enumerate(zip(costs, prices, strict=True)):
        try:
            problems.append(make_problem(cost, maximize, price, write_out=not is_sparse(cost)))
        except LapwingError as error:
            error.add_note(f"in problem {b} of the batch")
            raise
    return problems


def invalid_cost(problem: Problem, row: int, col: int) -> InvalidCostError:
    """The error for the NaN or infinity at (row, col) of the user's matrix; col -1 stands for unmatched_cost[row]."""
    return InvalidCostError(row, col, float(problem.cost.read(slice(row, row + 1))[0, col]), problem.maximize)


# --- arrays of any kind ---------------------------------------------------------------------------


def as_plain_array(cost: Any, maximize: bool = False) -> CostArray:
    """Anything as an array of its own dtype, with infinities for missing entries."""
    if type(cost) is np.ndarray:
        if cost.base is not None:
            check_mapped(cost)
        return cost
    forbidden = -math.inf if maximize else math.inf
    if is_sparse(cost):
        return densify(_pairs_of(cost), forbidden)
    if isinstance(cost, np.ma.MaskedArray):
        check_mapped(cost.data)
        return without_masked(cost, forbidden)
    if isinstance(cost, np.ndarray):
        check_mapped(cost)
        return np.asarray(cost)
    if is_tensor(cost) and not cost.is_cuda:
        return read_tensor(cost, "cost")
    if hasattr(cost, "__dlpack__") and hasattr(cost, "__dlpack_device__"):
        return read_dlpack(cost)
    if hasattr(cost, "__cuda_array_interface__"):
        raise ArgumentError("cost lives in GPU memory; copy it to the host first, for instance with cupy.asnumpy(cost)")
    try:
        return as_array(cost, "cost")
    except RangeError:
        raise
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"cost is not a matrix: {error}") from error


# --- other options --------------------------------------------------------------------------------


def check_flag(value: Any, name: str) -> bool:
    """A bool, or NumPy's."""
    if not isinstance(value, (bool, np.bool_)):
        raise DtypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    if not isinstance(value, str):
        raise DtypeError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    if value not in choices:
        raise ArgumentError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def check_threads(threads: SupportsIndex | None) -> int | None:
    """A positive number of threads, or None; not many more than processors, as they would only wait for each other."""
    if threads is None:
        return None
    try:
        count = threads.__index__()
    except (AttributeError, TypeError):
        raise DtypeError(f"threads must be a whole number, got {threads!r}") from None
    if count < 1:
        raise ArgumentError(f"threads must be at least 1, got {count}; leave it out to use all processors")
    return min(count, max(_LEAST_MOST_THREADS, 2 * processors()))


def processors() -> int:
    """How many a solve may use by itself: those of this process, up to LAPWING_THREADS, or else OMP_NUM_THREADS."""
    if (ours := os.environ.get("LAPWING_THREADS")) and not (ours.isdecimal() and int(ours) > 0):
        raise ArgumentError(f"LAPWING_THREADS, in the environment, must be at least 1, got {ours!r}; or unset it")
    cap = ours or os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # of a list, the outermost loops'
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, int(cap)) if cap.isdecimal() and int(cap) > 0 else count


def check_memory_limit(given: int | str | None) -> int | None:
    """Bytes, if there is a limit."""
    return None if given is None else as_bytes(given, "memory_limit")


def check_time_limit(seconds: float | str | None) -> float:
    """Seconds, infinite if there is no limit."""
    if seconds is None:
        return math.inf
    try:
        if isinstance(seconds, str | bytes):  # which float() would read
            raise TypeError
        limit = float(seconds)
    except (TypeError, ValueError):
        raise DtypeError(f"time_limit must be a number of seconds, got {seconds!r}") from None
    except OverflowError:
        raise ArgumentError("time_limit is beyond float64: leave it out for no limit") from None
    if not limit >= 0:
        raise ArgumentError(f"time_limit must be at least 0 seconds, got {seconds}")
    return limit


def check_progress(progress: Any) -> bool | Callable[..., object]:
    """A bool or a function."""
    if isinstance(progress, (bool, np.bool_)):
        return bool(progress)
    if callable(progress):
        checked: Callable[..., object] = progress
        return checked
    raise DtypeError(f"progress must be True, False or a callable that takes a lapwing.Progress, got {progress!r}")


def check_parts(u: Any, v: Any, shape: tuple[int, int], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """A pair of finite dual vectors, or of matrices (k, m) and (k, n), whose sums over k are the duals."""
    if np.ndim(u) != 2 or np.ndim(v) != 2:
        return check_duals(u, v, shape, name)
    if len(u) != len(v) or not 1 <= len(u) <= MOST_DUAL_PARTS:
        raise ArgumentError(
            f"{name}: u and v must have equally many parts, at most {MOST_DUAL_PARTS}, got {len(u)} and {len(v)}"
        )
    pairs = [check_duals(part_of_u, part_of_v, shape, name) for part_of_u, part_of_v in zip(u, v, strict=True)]
    parts_of_u, parts_of_v = zip(*pairs, strict=True)
    return np.array(parts_of_u, np.float64), np.array(parts_of_v, np.float64)


def check_duals(u: Any, v: Any, shape: tuple[int, int], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """A pair of finite dual vectors, each as float64 or int64."""
    checked = []
    for given, letter, size in ((u, "u", shape[0]), (v, "v", shape[1])):
        values = as_numbers(given, f"{name}: {letter}")
        if values.dtype.kind not in "biuf":
            raise DtypeError(f"{name}: {letter} must be real numbers, got dtype {values.dtype}")
        if values.shape != (size,):
            raise ArgumentError(f"{name}: {letter} must have shape ({size},) for this cost matrix, got {values.shape}")
        if not np.isfinite(values).all():
            raise ArgumentError(
                f"{name}: {letter}[{int((~np.isfinite(values)).argmax())}] is not finite; use 0 instead"
            )
        if values.dtype.kind == "u" and values.size and values.max() > _INT64_MAX:
            if name != "start":  # where any values will do
                raise RangeError(
                    f"{name}: {letter}[{int(values.argmax())}] is {values.max()}, above the largest int64; pass int64 "
                    "or float64"
                )
            values = np.minimum(values, _INT64_MAX)
        checked.append(values.astype(np.float64 if values.dtype.kind == "f" else np.int64))
    return checked[0], checked[1]


def check_start(u: Any, v: Any, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
    """Duals to start from, in the problem's dual dtype; see `start_duals`."""
    cost, prices = problem.cost, problem.unmatched_cost
    free = [each for each in (prices, problem.unmatched_cols) if each is not None]

    def largest(sampled: bool) -> int | float:
        if sampled:
            return largest_magnitude(cost.read(slice(None, None, max(1, cost.shape[0] // 16))))
        return max(
            [0, *map(largest_magnitude, free), *(largest_magnitude(cost.read(rows)) for rows in row_blocks(cost))]
        )

    shiftable = prices is None and cost.shape[0] == cost.shape[1]
    given = check_duals(u, v, problem.shape, "start")
    first, second = (start_duals(values, problem.is_integer, largest, shiftable) for values in given)
    return first, second


def start_duals(
    values: NDArray[Any], integer: bool, largest: Callable[[bool], int | float], shiftable: bool
) -> NDArray[Any]:
    """Duals of one side to start from: any finite values, rounded where the costs are integers.

    Optimal duals lie within twice the largest cost of each other, unless pairs are forbidden. So values beyond `_REACH`
    times the largest cost are clipped: they are useless, and would cost precision.

    Parameters
    ----------
    values : (k,) float64 or int64, finite
    integer : bool
        Whether costs are integers, and so the duals.
    largest : function
        The largest magnitude among some costs (True) or all (False).
    shiftable : bool
        Whether a common shift is allowed (square problems): it is taken off before anything is cut off.
    """
    if integer:
        values = np.rint(np.clip(values, -_LARGEST_INTEGER, _LARGEST_INTEGER))
    duals = values.astype(np.int64 if integer else np.float64)
    farthest = largest_magnitude(duals)
    if farthest == 0 or farthest <= _REACH * largest(True):
        return duals
    limit = _REACH * largest(False)
    if farthest <= limit:
        return duals
    if integer:
        limit = min(limit, _LARGEST_INTEGER)
    if shiftable:
        with np.errstate(over="ignore"):
            duals = duals - duals[len(duals) // 2]
    clipped: NDArray[Any] = np.clip(duals, -limit, limit)
    return clipped


def largest_magnitude(values: NDArray[Any]) -> int | float:
    """The largest magnitude among the finite values; what stands for infinity among integers does not count."""
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values[(values < ABSENT) & (values > -ABSENT)]
    largest: int | float = max(-finite.min().item(), finite.max().item()) if finite.size else 0
    return largest


def check_row_to_col(row_to_col: Any, rows: int) -> NDArray[np.int64]:
    """An assignment as int64; whether it is a matching is for the certificate to say."""
    values = as_numbers(row_to_col, "row_to_col")
    if values.dtype.kind not in "iu" and values.size:
        raise DtypeError(f"row_to_col must be integers, got dtype {values.dtype}")
    if values.shape != (rows,):
        raise ArgumentError(f"row_to_col must have shape ({rows},) for this cost matrix, got {values.shape}")
    if values.dtype.kind == "u":
        values = np.minimum(values, _INT64_MAX)  # no column either way
    return np.ascontiguousarray(values, dtype=np.int64)


def with_float_costs(problem: Problem) -> Problem:
    """The same problem in float64, where its integers are exact."""
    cost: CostSource
    if isinstance(problem.cost, SparseCost):
        cost = problem.cost.with_floats()
    elif problem.cost.tier == "dense":
        cost = DenseCost(exact_floats(problem.cost.read(slice(None)), np.dtype(np.float64)))
    else:
        raise DtypeError(f"u and v must be integers for {problem.cost.dtype} costs of a source; round them")

    def in_floats(prices: NDArray[Any] | None) -> NDArray[Any] | None:
        if prices is None:
            return None
        absent = np.abs(prices) == ABSENT
        floats = exact_floats(np.where(absent, 0, prices), np.dtype(np.float64))
        return np.where(absent, np.copysign(math.inf, prices), floats)

    return Problem(cost, problem.maximize, in_floats(problem.unmatched_cost), in_floats(problem.unmatched_cols))
