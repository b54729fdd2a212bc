"""The packages lap and lapx: `import lapwing.compat.lap as lap`.

`cost_limit` is the price of a pair that is left out: a row that stays free and a column that stays free cost it
together. Totals are the costs of the matched pairs. Of a problem without a complete assignment, `lapjv`, `lapjvx`
and `lapmod` return as many pairs of finite cost as there can be, filled up with forbidden ones, and an infinite total;
`lapjvc` returns the first alone; the others raise ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.compat import partners
from lapwing.costs import sparse
from lapwing.inputs import processors

LARGE = 1000000
FP_1, FP_2, FP_DYNAMIC = 1, 2, 3


def lapjv(cost: Any, extend_cost: bool = False, cost_limit: float = math.inf, return_cost: bool = True) -> Any:
    """(total, x, y), or (x, y): the column of each row and the row of each column, int32, -1 where free.

    Parameters
    ----------
    cost : (m, n) array
        inf forbids a pair.
    extend_cost : bool
        Whether a matrix may be rectangular.
    cost_limit : float
        No pair above it is matched.

    Raises
    ------
    ValueError
        If `cost` is no matrix, or rectangular without `extend_cost` or a limit.
    """
    _check_matrix(cost, extend_cost, cost_limit)
    x, y, total = _solve(cost, cost_limit)
    return (total, x, y) if return_cost else (x, y)


def _solve(cost: Any, cost_limit: float) -> partners.Partners:
    return partners.solve(cost, cost_limit) or _filled(*partners.solve_partially(cost))


def _solve_completely(cost: Any, cost_limit: float = math.inf) -> partners.Partners:
    found = partners.solve(cost, cost_limit)
    if found is None:
        raise ValueError("Cost matrix is infeasible")
    return found


def _filled(x: partners.Vector, y: partners.Vector, _total: float) -> partners.Partners:
    """Free rows and columns of an infeasible problem are paired in their order."""
    rows, cols = np.flatnonzero(x < 0), np.flatnonzero(y < 0)
    count = min(len(rows), len(cols))
    x[rows[:count]], y[cols[:count]] = cols[:count], rows[:count]
    return x, y, math.inf


def lapmod(
    n: int, cc: Any, ii: Any, kk: Any, fast: bool = True, return_cost: bool = True, fp_version: int = FP_DYNAMIC
) -> Any:
    """(total, x, y), or (x, y), of a sparse (n, n) matrix by rows (CSR).

    Parameters
    ----------
    n : int
    cc, ii, kk : (nnz,), (n + 1,) and (nnz,) arrays
        Costs, where each row begins, and columns.
    fast, fp_version
        Have no meaning here.

    Raises
    ------
    ValueError
        If there are no costs, or some are not finite: leave forbidden pairs out.
    """
    if len(cc) == 0 or not np.isfinite(cc).all():
        raise ValueError("lapmod takes finite costs: leave forbidden pairs out")
    x, y, total = _solve(sparse(ii, kk, cc, (n, n)), math.inf)
    return (total, x, y) if return_cost else (x, y)


def lapjvx(cost: Any, extend_cost: bool = False, cost_limit: float = math.inf, return_cost: bool = True) -> Any:
    """(total, rows, cols), or (rows, cols): the pairs in the order of rows, int64 and int32."""
    _check_matrix(cost, extend_cost, cost_limit)
    x, _, total = _solve(cost, cost_limit)
    return (total, *partners.pairs(x)) if return_cost else partners.pairs(x)


def lapjvxa(cost: Any, extend_cost: bool = False, cost_limit: float = math.inf, return_cost: bool = True) -> Any:
    """(total, pairs), or pairs: (k, 2) int32."""
    total, rows, cols = lapjvx(cost, extend_cost, cost_limit)
    pairs = np.stack((rows, cols), 1).astype(np.int32)
    return (total, pairs) if return_cost else pairs


def lapjvc(cost: Any, return_cost: bool = True) -> Any:
    """(total, rows, cols), or (rows, cols), int32. NaN and inf forbid; the answer has as many pairs as there can be."""
    _check_matrix(cost, True)
    x, _, total = partners.solve_partially(cost)
    rows, cols = partners.pairs(x)
    return (total, rows.astype(np.int32), cols) if return_cost else (rows.astype(np.int32), cols)


def lapjvs(
    cost: Any,
    extend_cost: bool | None = None,
    return_cost: bool = True,
    jvx_like: bool = True,
    prefer_float32: bool = True,
) -> Any:
    """(total, rows, cols) if `jvx_like`, else (total, x, y), int64; without the total on demand.

    `prefer_float32` has no meaning here: costs are solved in the precision that they have.
    """
    _check_matrix(cost, extend_cost is not False)
    x, y, total = _solve_completely(cost)
    first, second = partners.pairs(x) if jvx_like else (x, y)
    answer = first.astype(np.int64), second.astype(np.int64)
    return (total, *answer) if return_cost else answer


def lapjvsa(cost: Any, extend_cost: bool | None = None, return_cost: bool = True, prefer_float32: bool = True) -> Any:
    """(total, pairs), or pairs: (k, 2) int64."""
    total, rows, cols = lapjvs(cost, extend_cost)
    pairs = np.stack((rows, cols), 1)
    return (total, pairs) if return_cost else pairs


def lapjvr(
    cost: Any,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    *,
    precision: str = "native",
    output: str = "indices",
) -> Any:
    """(total, rows, cols), or with ``output="pairs"`` (total, pairs), int64; without the total on demand.

    `precision` has no meaning here: costs are solved in the precision that they have.
    """
    if output not in ("indices", "pairs"):
        raise ValueError(f"output must be 'indices' or 'pairs', got {output!r}")
    if precision not in ("native", "float32", "float64"):
        raise ValueError(f"precision must be 'native', 'float32' or 'float64', got {precision!r}")
    _check_matrix(cost, extend_cost, cost_limit)
    x, _, total = _solve_completely(cost, cost_limit)
    rows, cols = partners.pairs(x)
    indices = rows, cols.astype(np.int64)
    if output == "pairs":
        pairs = np.stack(indices, 1)
        return (total, pairs) if return_cost else pairs
    return (total, *indices) if return_cost else indices


lapjvh = lapjvr


def lapjvx_batch(
    costs: Any,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    n_threads: int | None = 0,
) -> Any:
    """(totals, rows, cols), or (rows, cols): lists with the answer of `lapjvx` to each of (B, m, n) costs."""
    return _each(lambda c: lapjvx(c, extend_cost, cost_limit), _check_stack(costs), return_cost, n_threads)


def lapjvxa_batch(
    costs: Any,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    n_threads: int | None = 0,
) -> Any:
    """(totals, pairs), or pairs: as `lapjvxa`."""
    return _each(lambda c: lapjvxa(c, extend_cost, cost_limit), _check_stack(costs), return_cost, n_threads, 2)


def lapjvs_batch(
    costs: Any,
    extend_cost: bool = False,
    return_cost: bool = True,
    n_threads: int | None = 0,
    prefer_float32: bool = True,
) -> Any:
    """(totals, rows, cols), or (rows, cols): as `lapjvs`."""
    return _each(lambda c: lapjvs(c, extend_cost), _check_stack(costs), return_cost, n_threads)


def lapjvsa_batch(
    costs: Any,
    extend_cost: bool = False,
    return_cost: bool = True,
    n_threads: int | None = 0,
    prefer_float32: bool = True,
) -> Any:
    """(totals, pairs), or pairs: as `lapjvsa`."""
    return _each(lambda c: lapjvsa(c, extend_cost), _check_stack(costs), return_cost, n_threads, 2)


def lapjvr_batch(
    costs: Any,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    n_threads: int | None = 0,
    *,
    precision: str = "native",
    output: str = "indices",
) -> Any:
    """(totals, rows, cols), or with ``output="pairs"`` (totals, pairs): as `lapjvr`."""

    def solve(cost: Any) -> Any:
        return lapjvr(cost, extend_cost, cost_limit, precision=precision, output=output)

    return _each(solve, _check_stack(costs), return_cost, n_threads, 3 if output == "indices" else 2)


lapjvh_batch = lapjvr_batch


def lapmod_batch(
    problems: Iterable[Any],
    fast: bool = True,
    return_cost: bool = True,
    fp_version: int = FP_DYNAMIC,
    n_threads: int | None = 0,
) -> Any:
    """(totals, x, y), or (x, y): as `lapmod` of each (n, cc, ii, kk)."""
    return _each(lambda problem: lapmod(*problem), list(problems), return_cost, n_threads)


def _each(solve: Callable[[Any], Any], problems: Any, return_cost: bool, threads: int | None, width: int = 3) -> Any:
    """The answers of all problems, part by part: an array of the totals first, then lists."""
    workers = max(1, min(threads or processors(), len(problems)))
    if workers == 1:
        answers = list(map(solve, problems))
    else:
        with ThreadPoolExecutor(workers) as pool:
            answers = list(pool.map(solve, problems))
    totals, *parts = [[answer[k] for answer in answers] for k in range(width)]
    if return_cost:
        return np.array(totals, np.float64), *parts
    return parts[0] if width == 2 else tuple(parts)


def _check_matrix(cost: Any, extend_cost: bool, cost_limit: float = math.inf) -> None:
    shape = np.shape(cost)
    if len(shape) != 2:
        raise ValueError("2-dimensional array expected: cost must be a 2D array")
    if shape[0] != shape[1] and not (extend_cost or cost_limit < math.inf):
        raise ValueError("Square cost array expected. If cost is intentionally non-square, pass extend_cost=True.")


def _check_stack(costs: Any) -> NDArray[Any]:
    stack = np.asarray(costs)
    if stack.ndim != 3:
        raise ValueError("3-dimensional array expected [B, N, M]")
    return stack
