"""SciPy's sparse matrices and arrays: entries that are missing are forbidden pairs.

The solver is dense, so the matrix is written out with +inf (-inf when maximising) in the gaps, below a bound on memory.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from lapwing.costs.base import DENSE_LIMIT_BYTES, CostArray
from lapwing.costs.dense import row_blocks
from lapwing.costs.dtypes import EXACT_FLOAT64
from lapwing.errors import ArgumentError, RangeError

_WITH_DUPLICATES = ("coo", "csr", "csc", "bsr")


def is_sparse(value: object) -> bool:
    """Whether `value` is one of SciPy's sparse classes; does not import SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def densify(matrix: Any, forbidden: float) -> CostArray:
    """Write a sparse matrix out, `forbidden` where it has no entry. Explicit zeros are costs; duplicates are summed.

    Of a `dia_matrix` zeros are taken for missing: it stores whole diagonals, and fills them up with zeros.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array, (m, n), real
    forbidden : float
        +inf or -inf.

    Returns
    -------
    (m, n) array, float64 for integers (which must be exact there), else the matrix's dtype.

    Raises
    ------
    ArgumentError
        If the matrix is not 2-D, its indices lead out of it, or its dense form exceeds `DENSE_LIMIT_BYTES`.
    RangeError
        If an integer entry is not a float64 number, or duplicates add up to none.
    """
    if len(matrix.shape) != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got a sparse array of shape {matrix.shape}")
    dtype = as_floating(matrix.dtype)
    needed = math.prod(matrix.shape) * dtype.itemsize
    if needed > DENSE_LIMIT_BYTES:
        raise ArgumentError(
            f"the sparse matrix of shape {matrix.shape} needs {needed / 2**30:.1f} GiB when written out, above the "
            f"limit of {DENSE_LIMIT_BYTES >> 30} GiB; pass a dense np.memmap with {forbidden} at the missing entries"
        )
    _check_indices(matrix)
    if matrix.dtype.kind in "iu" and matrix.format in _WITH_DUPLICATES:
        exact_floats(matrix.data, dtype)
        matrix = matrix.astype(np.int64)  # SciPy sums duplicates in the matrix's dtype, where they may wrap around
    has_sums = matrix.format in _WITH_DUPLICATES and bool(np.isfinite(matrix.data).all())
    with np.errstate(over="ignore", invalid="ignore"):
        by_row = matrix.tocsr()
    _check_indices(by_row)
    dense = np.empty(matrix.shape, dtype=dtype)
    for rows in row_blocks(dense):
        block = by_row[rows].tocoo(copy=True)
        with np.errstate(over="ignore", invalid="ignore"):
            block.sum_duplicates()
        if has_sums and not np.isfinite(block.data).all():
            raise RangeError("duplicate entries of the sparse matrix add up to a cost beyond float64; divide all costs")
        dense[rows] = forbidden
        dense[rows][block.row, block.col] = exact_floats(block.data, dtype)
    return dense


def _check_indices(matrix: Any) -> None:
    """Refuse indices that lead out of the matrix: anybody may have written them, and SciPy trusts them."""
    rows, cols = matrix.shape
    if matrix.format == "coo":
        if not len(matrix.row) == len(matrix.col) == len(matrix.data):
            raise ArgumentError("the sparse matrix has damaged indices: not one row and column an entry; build it anew")
        _check_within(matrix.row, rows, "row")
        _check_within(matrix.col, cols, "column")
    elif matrix.format in ("csr", "csc", "bsr"):
        height, width = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        lines, across = (cols, rows) if matrix.format == "csc" else (rows // height, cols // width)
        ends, indices = matrix.indptr, matrix.indices
        entries = min(len(indices), len(matrix.data))
        if len(ends) != lines + 1 or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > entries:
            raise ArgumentError(
                f"the sparse matrix has a damaged indptr: it must rise from 0 to the number of entries, {entries}; "
                "build the matrix anew"
            )
        _check_within(indices[: ends[-1]], across, "row" if matrix.format == "csc" else "column")


def _check_within(indices: CostArray, size: int, what: str) -> None:
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
