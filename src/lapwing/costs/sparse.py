"""Sparse costs: pairs that are missing are forbidden, and are never written out.

SciPy's classes, `sparse` (rows as they lie in memory) and `edges` (pairs in any order) become one `SparseCost`: the
arrays of a matrix by rows or by columns. The core checks its own copies, so changes of the arrays cannot affect it.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing._core import ABSENT
from lapwing.costs.base import DENSE_LIMIT_BYTES, MAX_LINES, CostArray, CostSource, Tier, identity_step
from lapwing.costs.dense import FilledCost, row_blocks
from lapwing.costs.dtypes import EXACT_FLOAT64, as_numbers, check_kind, with_core_dtype
from lapwing.errors import ArgumentError, DtypeError, RangeError
from lapwing.tensors import is_tensor


@dataclass(frozen=True, eq=False)
class SparseCost(CostSource):
    """Costs of the pairs that may be matched, as arrays of a matrix by rows (CSR), or by columns (CSC).

    Attributes
    ----------
    indptr : (lines + 1,) int64
    indices : (entries,) int32
        The columns of each row's entries, or the rows of each column's; no pair twice.
    data : (entries,) float32, float64, int32 or int64
    full_shape : (m, n)
    by_columns : bool
        Whether lines are columns.
    """

    tier: ClassVar[Tier] = "sparse"
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: CostArray
    full_shape: tuple[int, int]
    by_columns: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.full_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def held_bytes(self) -> int:
        """The core's copy: a cost and a column for each entry, integers as float64 where these are exact."""
        return len(self.data) * (8 if self.dtype == np.float32 else 16)

    @property
    def entry_lines(self) -> NDArray[np.int64]:
        """The line of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def exchanged(self) -> SparseCost:
        """The costs with rows and columns exchanged."""
        return SparseCost(self.indptr, self.indices, self.data, self.full_shape[::-1], not self.by_columns)

    def compiled(self, transposed: bool) -> Any:
        """The arrays for the core, of the problem or its transpose."""
        lines, across = self.full_shape[::-1] if self.by_columns else self.full_shape
        return _core.SparseCosts(self.indptr, self.indices, self.data, lines, across, transposed != self.by_columns)

    def read(self, rows: slice) -> CostArray:
        """Some rows as a matrix of floats, infinity where pairs are missing: of a few rows, for messages."""
        first, last, _ = rows.indices(self.full_shape[0])
        matrix = np.full((max(0, last - first), self.full_shape[1]), math.inf, as_floating(self.dtype))
        lines = self.entry_lines
        row, col = (self.indices, lines) if self.by_columns else (lines, self.indices)
        wanted = np.flatnonzero((row >= first) & (row < last))
        matrix[row[wanted] - first, col[wanted]] = self.data[wanted]
        return matrix

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
        lines = self.entry_lines
        row, col = (self.indices, lines) if self.by_columns else (lines, self.indices)
        matched = np.flatnonzero(row_to_col[row] == col)
        return np.asarray(self.data[matched[np.argsort(row[matched], kind="stable")]])

    def with_floats(self) -> SparseCost:
        """The same with float64 costs, if these are exact."""
        data = exact_floats(self.data, np.dtype(np.float64))
        return SparseCost(self.indptr, self.indices, data, self.full_shape, self.by_columns)

    def reaches_only(self, lines: NDArray[np.int64], reach: NDArray[np.int64], of_cols: bool) -> bool:
        """Whether all pairs of these rows (columns if `of_cols`) lie in `reach`: a check of what the core claims."""
        entry_lines: NDArray[Any] = self.entry_lines
        across: NDArray[Any] = self.indices
        if of_cols != self.by_columns:
            entry_lines, across = across, entry_lines
        finite = self.data < np.inf if self.dtype.kind == "f" else np.ones(len(self.data), bool)
        finite &= self.data > -np.inf if self.dtype.kind == "f" else finite
        theirs = np.isin(entry_lines, lines) & finite
        return bool(np.isin(across[theirs], reach).all())

    def identity(self) -> Iterator[bytes]:
        """The arrays, or pieces of large ones at even distances."""
        for array in (self.indptr, self.indices, self.data):
            yield np.ascontiguousarray(array[:: identity_step(array.nbytes)]).tobytes()


def sparse(indptr: Any, indices: Any, data: Any, shape: tuple[int, int], by_columns: bool = False) -> SparseCost:
    """Costs of some pairs, by rows (CSR): row i may take the columns ``indices[indptr[i]:indptr[i + 1]]``.

    Parameters
    ----------
    indptr : (m + 1,) integers, rising from 0
    indices : (entries,) integers, columns in any order
    data : (entries,) real numbers
        Costs; zeros are costs. Of a pair that is given twice the sum counts, as in SciPy.
    shape : (m, n)
    by_columns : bool
        Whether the arrays are by columns (CSC): `indptr` is (n + 1,), and `indices` are rows.

    Returns
    -------
    SparseCost
        int64 `indptr`, int32 `indices` and `data` of the core's dtypes are used in place.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    rows, cols = check_shape(shape)
    lines, across = (cols, rows) if by_columns else (rows, cols)
    along, name = ("columns", "row") if by_columns else ("rows", "column")
    ends = _as_integers(indptr, "indptr").astype(np.int64, copy=False)
    if len(ends) != lines + 1:
        raise ArgumentError(f"the sparse matrix has a damaged indptr: {len(ends)} entries for {lines} {along}")
    return _from_lines(ends, as_indices(indices, across, name), _as_costs(data), (rows, cols), by_columns)


def edges(i: Any, j: Any, cost: Any, shape: tuple[int, int]) -> SparseCost:
    """Costs of some pairs, one by one: row ``i[k]`` may take column ``j[k]`` at ``cost[k]``.

    Parameters
    ----------
    i, j : (entries,) integers, in any order
    cost : (entries,) real numbers
        Of a pair that is given twice the sum counts, as in SciPy.
    shape : (m, n)

    Returns
    -------
    SparseCost

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    rows, cols = check_shape(shape)
    row, col, data = np.array(as_indices(i, rows, "row")), np.array(as_indices(j, cols, "column")), _as_costs(cost)
    check_within(row, rows, "row")
    check_within(col, cols, "column")
    check_lengths(row, col, data)
    return _by_rows(row, col, data, (rows, cols))


def is_sparse(value: object) -> bool:
    """Whether `value` is sparse costs, or a sparse array of SciPy, PyTorch, JAX or CuPy; imports none of them."""
    if isinstance(value, SparseCost) or is_scipy_sparse(value) or is_sparse_tensor(value) or is_cupy_sparse(value):
        return True
    jax = sys.modules.get("jax.experimental.sparse")
    return jax is not None and isinstance(value, (jax.BCOO, jax.BCSR))


def is_scipy_sparse(value: object) -> bool:
    """Whether `value` is one of SciPy's sparse classes."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(value))


def is_sparse_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch by pairs, rows or columns."""
    if not is_tensor(value):
        return False
    torch = sys.modules["torch"]
    return value.layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


def is_cupy_sparse(value: object) -> bool:
    """Whether `value` is one of CuPy's sparse classes."""
    cupy = sys.modules.get("cupyx.scipy.sparse")
    return cupy is not None and bool(cupy.issparse(value))


def from_masked(matrix: np.ma.MaskedArray[Any, Any]) -> SparseCost:
    """The pairs of a masked matrix that are not masked.

    Raises
    ------
    DtypeError, RangeError
    """
    allowed = ~np.ma.getmaskarray(matrix)
    ends = np.zeros(len(allowed) + 1, np.int64)
    np.cumsum(np.count_nonzero(allowed, axis=1), out=ends[1:])
    return SparseCost(
        ends, np.nonzero(allowed)[1].astype(np.int32), _as_costs(np.asarray(matrix.data)[allowed]), allowed.shape
    )


def without_masked(cost: np.ma.MaskedArray[Any, Any], forbidden: float) -> CostArray:
    """A masked pair is forbidden. Without any mask this is the data itself."""
    data = np.asarray(cost.data)
    if data.ndim == 0:
        return data  # refused as no matrix
    check_kind(data.dtype)
    mask = np.ma.getmaskarray(cost)
    if not mask.any():
        return data
    floats = np.empty_like(data, dtype=as_floating(data.dtype), subok=False)
    for rows in row_blocks(data):  # what is masked need not be exact
        floats[rows] = exact_floats(np.where(mask[rows], data.dtype.type(0), data[rows]), floats.dtype)
        floats[rows][mask[rows]] = forbidden
    return floats


def _from_lines(
    ends: NDArray[np.int64], indices: NDArray[np.int32], data: CostArray, shape: tuple[int, int], by_columns: bool
) -> SparseCost:
    given = SparseCost(ends, indices, data, shape, by_columns)
    if not given.compiled(transposed=False).has_duplicates():
        entries = int(ends[-1])  # behind them may be room for more
        return SparseCost(ends, indices[:entries], data[:entries], shape, by_columns)
    ends, indices, data = ends.copy(), indices.copy(), data.copy()  # check copies that no other thread can change
    private = SparseCost(ends, indices, data, shape, by_columns)
    private.compiled(transposed=False).has_duplicates()
    lines = private.entry_lines
    across = indices[: len(lines)]
    row, col = (across, lines) if by_columns else (lines, across)
    return _by_rows(row, col, data[: len(lines)], shape)


def added(row: NDArray[Any], col: NDArray[Any], data: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Pairs in the order of their rows and columns, the numbers of equal ones added.

    Raises
    ------
    RangeError
        If a sum is out of range.
    """
    order = np.lexsort((col, row))
    row, col = row[order], col[order]
    data = data[order]
    first = np.ones(len(row), bool)
    first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    if not first.all():
        wide = data.astype(np.int64) if data.dtype.kind == "i" else data  # sums of small integers may be large
        begins = np.flatnonzero(first)
        with np.errstate(over="ignore", invalid="ignore"):
            data = np.add.reduceat(wide, begins)
        _check_sums(wide, data, begins)
        row, col = row[first], col[first]
    return row, col, data


def _by_rows(row: NDArray[Any], col: NDArray[Any], data: CostArray, shape: tuple[int, int]) -> SparseCost:
    row, col, data = added(row, col, data)
    ends = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=ends[1:])
    return SparseCost(ends, np.ascontiguousarray(col, np.int32), np.ascontiguousarray(data), shape)


def _check_sums(parts: CostArray, sums: CostArray, begins: NDArray[Any]) -> None:
    """Refuse sums that the numbers of the core do not hold, of parts that they do."""
    if parts.dtype.kind == "i":
        beyond = np.add.reduceat(np.abs(parts.astype(np.float64)), begins) >= 2.0**63
        kind = "int64"
    else:
        beyond = np.logical_and.reduceat(np.isfinite(parts), begins) & ~np.isfinite(sums)
        kind = str(parts.dtype)
    if beyond.any():
        raise RangeError(f"duplicate entries of the sparse matrix add up to a cost beyond {kind}; divide all costs")


def check_shape(shape: Any) -> tuple[int, int]:
    """The shape as two integers that the core takes; else an `ArgumentError`."""
    try:
        rows, cols = map(operator.index, shape)
    except (TypeError, ValueError):
        raise ArgumentError(f"shape must be two integers, (rows, columns), got {shape!r}") from None
    if rows < 0 or cols < 0:
        raise ArgumentError(f"shape is {(rows, cols)}: sizes are not negative")
    if max(rows, cols) > MAX_LINES:
        raise ArgumentError(f"cost has shape {(rows, cols)}; at most {MAX_LINES} rows and columns are supported")
    return rows, cols


def _as_integers(given: Any, name: str) -> NDArray[Any]:
    array = as_numbers(given, name)
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be 1-D, got shape {array.shape}")
    if array.dtype.kind not in "iu" and array.size:
        raise DtypeError(f"{name} must be integers, got dtype {array.dtype}")
    return array


def as_indices(given: Any, size: int, what: str) -> NDArray[np.int32]:
    """Indices as the core reads them; the core checks int32 ones itself."""
    array = _as_integers(given, "indices")
    if array.dtype == np.int32 and array.dtype.isnative:
        return np.ascontiguousarray(array)
    narrow = np.ascontiguousarray(array, np.int32)
    if (narrow != array).any():  # which leads out of any matrix
        check_within(array, size, what)
    check_within(narrow, size, what)
    return narrow


def _as_costs(given: Any) -> CostArray:
    array = as_numbers(given, "data")
    if array.ndim != 1:
        raise ArgumentError(f"data must be 1-D, got shape {array.shape}")
    array = with_core_dtype(array)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def densify(cost: SparseCost, forbidden: float) -> CostArray:
    """Write a sparse matrix out for a method that reads a matrix, `forbidden` where it has no entry.

    Parameters
    ----------
    cost : SparseCost, (m, n)
    forbidden : float
        +inf or -inf.

    Returns
    -------
    (m, n) array, float64 for integers (which must be exact there), else the matrix's dtype.

    Raises
    ------
    ArgumentError
        If its dense form exceeds `DENSE_LIMIT_BYTES`.
    RangeError
        If an integer entry is not a float64 number, or duplicates add up to none.
    """
    dtype = as_floating(cost.dtype)
    check_written_out(cost.shape, dtype)
    lines = cost.entry_lines
    row, col = (cost.indices, lines) if cost.by_columns else (lines, cost.indices)
    dense = np.empty(cost.shape, dtype=dtype)
    for rows in row_blocks(dense):
        dense[rows] = forbidden
    dense[row, col] = exact_floats(cost.data, dtype)
    return dense


def fill_in(pairs: SparseCost, maximize: bool, *prices: CostArray | None) -> FilledCost | None:
    """The matrix of pairs of integers, beside such prices; None of floats, and of integers too large for it.

    Raises
    ------
    ArgumentError
        If it exceeds `DENSE_LIMIT_BYTES`.
    """
    if pairs.data.dtype.kind != "i":
        return None
    parts = [pairs.data, *(each[np.abs(each) < ABSENT] for each in prices if each is not None)]
    largest = max([max(-int(part.min()), int(part.max())) for part in parts if part.size], default=0)
    terms = sum(pairs.shape)
    fill = 2 * terms * largest + 1
    if 2 * (terms + 1) * (fill + 1) >= ABSENT:
        return None
    check_written_out(pairs.shape, np.dtype(np.int64))
    fill = -fill if maximize else fill
    matrix = np.full(pairs.shape, fill, np.int64)
    lines, across = pairs.entry_lines, pairs.indices
    matrix[(across, lines) if pairs.by_columns else (lines, across)] = pairs.data
    return FilledCost(matrix, pairs=pairs, fill=fill)


def check_written_out(shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Refuse to write out a matrix above `DENSE_LIMIT_BYTES`."""
    needed = math.prod(shape) * dtype.itemsize
    if needed > DENSE_LIMIT_BYTES:
        raise ArgumentError(
            f"the sparse matrix of shape {shape} needs {needed / 2**30:.1f} GiB when written out, above the limit of "
            f"{DENSE_LIMIT_BYTES >> 30} GiB; leave method= out, and device=, and it is solved as it is"
        )


def check_lengths(row: NDArray[Any], col: NDArray[Any], data: NDArray[Any]) -> None:
    """Refuse pairs of which one array has more entries than another, with an `ArgumentError`."""
    if not len(row) == len(col) == len(data):
        raise ArgumentError(
            f"the sparse matrix has damaged indices: {len(row)} rows, {len(col)} columns and {len(data)} costs"
        )


def check_within(indices: CostArray, size: int, what: str) -> None:
    """Refuse indices below 0, or of `size` and more, with an `ArgumentError`."""
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        raise ArgumentError(
            f"the sparse matrix has an entry in {what} {indices[outside.argmax()]} of {size}; build the matrix anew"
        )


def as_floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that holds `dtype` and infinity: float64 for integers and bool, else `dtype` itself."""
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def exact_floats(values: CostArray, dtype: np.dtype[Any]) -> CostArray:
    """`values` as `dtype`; integers beyond 2^53 are refused, never rounded."""
    if values.dtype.kind in "iu" and values.size:
        for extreme in (int(values.min()), int(values.max())):
            if abs(extreme) > EXACT_FLOAT64:
                raise RangeError(
                    f"the integer cost {extreme} is not exact in float64 (beyond 2^53), which forbidden pairs and "
                    "fractional unmatched costs call for; divide or shift the costs into range"
                )
    return values.astype(dtype, copy=False)
