"""Matrices of SciPy's sparse classes.

SciPy trusts their indices, which anybody may have written: to convert a damaged matrix may end the process. So indices
are checked first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost, as_indices, check_lengths, check_shape, check_within, edges, sparse
from lapwing.errors import ArgumentError


def from_scipy(matrix: Any) -> SparseCost:
    """A SciPy matrix of any class. Explicit zeros are costs; duplicates are summed.

    Of a `dia_matrix` zeros are taken for missing: it stores whole diagonals, and fills them up with zeros.

    Raises
    ------
    ArgumentError
        If the matrix is not 2-D, or its indices lead out of it.
    """
    shape = _shape_of(matrix)
    if matrix.format in ("csr", "csc"):
        ends, indices = _lines_of(matrix, shape)
        return sparse(ends, indices, matrix.data, shape, by_columns=matrix.format == "csc")
    pairs = _as_pairs(matrix)
    return edges(pairs.row, pairs.col, pairs.data, shape)


def entries_of(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows, columns and values, of any dtype, of the entries of a matrix, those that are given twice not added.

    Raises
    ------
    ArgumentError
        If the matrix is not 2-D, or its indices lead out of it.
    """
    shape = _shape_of(matrix)
    if matrix.format not in ("csr", "csc"):
        pairs = _as_pairs(matrix)
        check_within(pairs.row, shape[0], "row")
        check_within(pairs.col, shape[1], "column")
        check_lengths(pairs.row, pairs.col, pairs.data)
        return pairs.row, pairs.col, pairs.data
    ends, indices = _lines_of(matrix, shape)
    ends, indices = ends.copy(), indices.copy()  # which no other thread can change
    places = SparseCost(ends, indices, np.zeros(len(indices), np.float32), shape, matrix.format == "csc")
    places.compiled(transposed=False).has_duplicates()  # which checks them
    lines = places.entry_lines
    across = indices[: len(lines)]
    row, col = (across, lines) if places.by_columns else (lines, across)
    return row, col, matrix.data[: len(lines)]


def _shape_of(matrix: Any) -> tuple[int, int]:
    if len(matrix.shape) != 2:
        raise ArgumentError(f"the matrix must be 2-D, got a sparse array of shape {matrix.shape}")
    return check_shape(matrix.shape)


def _lines_of(matrix: Any, shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """`indptr` and `indices` of a matrix by rows or columns, for the core, which checks them."""
    by_columns = matrix.format == "csc"
    lines, across = shape[::-1] if by_columns else shape
    ends = np.asarray(matrix.indptr).astype(np.int64, copy=False)
    if len(ends) != lines + 1 or len(matrix.indices) != len(matrix.data):
        raise _damaged(matrix)
    return ends, as_indices(matrix.indices, across, "row" if by_columns else "column")


def _as_pairs(matrix: Any) -> Any:
    """A matrix by pairs, none of which are added yet: SciPy adds them in the matrix's dtype, where sums may wrap."""
    if matrix.format == "bsr":
        _check_indices(matrix)
    return matrix if matrix.format == "coo" else matrix.tocoo(copy=True)


def _check_indices(matrix: Any) -> None:
    """Refuse block indices that lead out of the matrix."""
    rows, cols = matrix.shape
    height, width = matrix.blocksize
    ends, indices = matrix.indptr, matrix.indices
    entries = min(len(indices), len(matrix.data))
    if len(ends) != rows // height + 1 or ends[0] != 0 or (ends[1:] < ends[:-1]).any() or ends[-1] > entries:
        raise _damaged(matrix)
    check_within(indices[: ends[-1]], cols // width, "column")


def _damaged(matrix: Any) -> ArgumentError:
    entries = min(len(matrix.indices), len(matrix.data))
    return ArgumentError(
        f"the sparse matrix has a damaged indptr: it must rise from 0 to the number of entries, {entries}; "
        "build the matrix anew"
    )
