"""Permutation and scalings of a matrix for sparse direct solvers: the maximum product transversal and its duals.

Problem. Choose one entry in every row and column so that the product of their magnitudes is largest, and scale rows
and columns so that these entries have magnitude 1 and all others at most 1 (Olschowka and Neumaier, Linear Algebra and
its Applications 240, 1996; MC64 with job 5: Duff and Koster, SIAM Journal on Matrix Analysis 22, 2001).
Method. The assignment with costs -log|a| has duals u and v with u[i] + v[j] <= -log|a[i, j]|, and equality on the
entries chosen: so exp(u) and exp(v) are the scalings. Of a structurally singular matrix first as many entries as
possible are chosen; duals come from their rows and columns alone, and the others are scaled to 1 by their largest
entry (after Duff and Pralet, SIAM Journal on Matrix Analysis 27, 2005).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.api import solve
from lapwing.costs.scipy_matrices import entries_of
from lapwing.costs.sparse import added, edges, is_scipy_sparse, is_sparse
from lapwing.costs.sparse_arrays import as_sparse_cost
from lapwing.errors import ArgumentError, DtypeError, InfeasibleError, RangeError

Logarithms = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Equilibration:
    """A maximum product transversal of a matrix A, and the scalings that go with it.

    Attributes
    ----------
    row_to_col : (m,) int64
        The column of the entry chosen in each row, -1 where there is none.
    structural_rank : int
        How many entries are chosen: all of the shorter side, unless the matrix is structurally singular.
    log_row_scale, log_col_scale : (m,) and (n,) float64
        Natural logarithms of the scalings.
    """

    row_to_col: NDArray[np.int64]
    structural_rank: int
    log_row_scale: Logarithms
    log_col_scale: Logarithms

    @property
    def permutation(self) -> NDArray[np.int64]:
        """(n,) all columns, ordered such that ``A[:, permutation]`` has the chosen entries on its diagonal.

        Rows without an entry, and what lies beyond the rows, get the columns that are left, in order.

        Raises
        ------
        ArgumentError
            If the matrix has more rows than columns.
        """
        rows, cols = len(self.log_row_scale), len(self.log_col_scale)
        if rows > cols:
            raise ArgumentError(
                f"a matrix of shape {(rows, cols)} has no such order of its columns: it has more rows; transpose it"
            )
        order = np.full(cols, -1, np.int64)
        order[:rows] = self.row_to_col
        order[order < 0] = np.setdiff1d(np.arange(cols), order)
        return order

    @property
    def row_scale(self) -> NDArray[np.float64]:
        """(m,) r, such that ``abs(r[:, None] * A * c)`` is 1 on the chosen entries and at most 1 on all, to rounding.

        Raises
        ------
        RangeError
            If a scale is out of the range of float64; the logarithms are not.
        """
        return _exponentials(self.log_row_scale, "row")

    @property
    def col_scale(self) -> NDArray[np.float64]:
        """(n,) c; see `row_scale`."""
        return _exponentials(self.log_col_scale, "column")


def equilibrate(matrix: Any) -> Equilibration:
    """The maximum product transversal of a matrix, and the scalings that make it 1 and all other entries at most 1.

    What MC64 gives with job 5, for sparse LU and preconditioners: large entries on the diagonal spare pivoting.

    Parameters
    ----------
    matrix : (m, n) dense array or SciPy sparse array of any class, real or complex, or real sparse array as for `solve`
        Entries that are 0 or masked count as missing. If it is not square, the shorter side is matched completely.

    Returns
    -------
    Equilibration

    Warns
    -----
    RuntimeWarning
        If the matrix is structurally singular: it has no complete transversal, and as many entries as possible are
        chosen.

    Raises
    ------
    ArgumentError, DtypeError
        If it is no matrix of numbers, or an entry is not finite.
    """
    rows, cols, logarithms, shape = _entries(matrix)
    try:
        answer = solve(edges(rows, cols, -logarithms, shape), certify=False)
        row_to_col = answer.row_to_col
        u, v = answer.u, answer.v
    except InfeasibleError:
        row_to_col = _maximum_transversal(rows, cols, logarithms, shape)
        u, v = _scalings_of(rows, cols, logarithms, row_to_col, shape)
    rank = int((row_to_col >= 0).sum())
    if rank < min(shape):
        warnings.warn(
            f"the matrix of shape {shape} is structurally singular: at most {rank} entries lie in different rows and "
            "columns",
            RuntimeWarning,
            stacklevel=2,
        )
    if shape[0] == shape[1] == rank and rank:
        middle = (v.max() + v.min() - u.max() - u.min()) / 4  # the choice that keeps scales in range
        u, v = u + middle, v - middle
    return Equilibration(row_to_col, rank, u, v)


def _entries(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], Logarithms, tuple[int, int]]:
    """Rows, columns and log|a| of the entries that are not 0, and the shape."""
    if is_scipy_sparse(matrix):
        rows, cols, values = entries_of(matrix)
        if values.dtype.kind in "biu":  # whose sums may be out of range
            values = values.astype(np.float64)
        rows, cols, values = added(rows, cols, values)
        shape = matrix.shape
    elif is_sparse(matrix):
        cost = as_sparse_cost(matrix)
        lines, across = cost.entry_lines, cost.indices
        rows, cols = (across, lines) if cost.by_columns else (lines, across)
        values, shape = cost.data, cost.shape
    else:
        dense = np.ma.filled(matrix, 0) if isinstance(matrix, np.ma.MaskedArray) else np.asarray(matrix)
        if dense.ndim != 2:
            raise ArgumentError(f"the matrix must be 2-D, got shape {dense.shape}")
        if dense.dtype.kind not in "biufc":
            raise DtypeError(f"the matrix must hold numbers, got dtype {dense.dtype}")
        rows, cols = np.nonzero(dense)
        values, shape = dense[rows, cols], dense.shape
    if values.dtype.kind not in "biufc":
        raise DtypeError(f"the matrix must hold numbers, got dtype {values.dtype}")
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(bad.argmax())
        raise ArgumentError(f"the entry ({rows[at]}, {cols[at]}) is {values[at]}: all entries must be finite")
    kept = values != 0
    return rows[kept], cols[kept], _logarithms(values[kept]), (int(shape[0]), int(shape[1]))


def _logarithms(values: NDArray[Any]) -> Logarithms:
    """log|a|, also where the magnitude of a complex number is out of range."""
    if values.dtype.kind == "c":
        real, imaginary = np.abs(values.real), np.abs(values.imag)
        larger, smaller = np.maximum(real, imaginary), np.minimum(real, imaginary)
        return np.asarray(np.log(larger) + 0.5 * np.log1p((smaller / larger) ** 2), np.float64)
    if values.dtype.kind in "biu":
        return np.log(np.abs(values.astype(np.float64)))
    return np.asarray(np.log(np.abs(values.astype(np.promote_types(values.dtype, np.float64)))), np.float64)


def _maximum_transversal(
    rows: NDArray[Any], cols: NDArray[Any], logarithms: Logarithms, shape: tuple[int, int]
) -> NDArray[np.int64]:
    """As many entries as possible in different rows and columns, of the largest product among these."""
    if not len(logarithms):
        return np.full(shape[0], -1, np.int64)
    costs = logarithms.max() - logarithms
    beyond = (2 * min(shape) + 1) * (1.0 + float(costs.max()))  # no rearrangement is worth a pair less
    answer = solve(edges(rows, cols, costs, shape), unmatched_cost=beyond, certify=False)
    return answer.row_to_col


def _scalings_of(
    rows: NDArray[Any],
    cols: NDArray[Any],
    logarithms: Logarithms,
    row_to_col: NDArray[np.int64],
    shape: tuple[int, int],
) -> tuple[Logarithms, Logarithms]:
    """Logarithms of scalings for an incomplete transversal."""
    u, v = np.zeros(shape[0]), np.zeros(shape[1])
    matched_rows = np.flatnonzero(row_to_col >= 0)
    matched_cols = np.sort(row_to_col[matched_rows])
    if not len(matched_rows):
        return u, v
    row_place, col_place = np.full(shape[0], -1), np.full(shape[1], -1)
    row_place[matched_rows] = np.arange(len(matched_rows))
    col_place[matched_cols] = np.arange(len(matched_cols))
    inside = (row_place[rows] >= 0) & (col_place[cols] >= 0)
    size = (len(matched_rows), len(matched_cols))
    answer = solve(edges(row_place[rows[inside]], col_place[cols[inside]], -logarithms[inside], size), certify=False)
    row_to_col[matched_rows] = matched_cols[answer.row_to_col]
    u[matched_rows], v[matched_cols] = answer.u, answer.v
    largest = np.full(shape[0], -math.inf)  # of rows without an entry, in columns that have a scale
    theirs = (row_place[rows] < 0) & (col_place[cols] >= 0)
    np.maximum.at(largest, rows[theirs], logarithms[theirs] + v[cols[theirs]])
    u = np.where(np.isfinite(largest), -largest, u)
    largest = np.full(shape[1], -math.inf)
    theirs = col_place[cols] < 0
    np.maximum.at(largest, cols[theirs], logarithms[theirs] + u[rows[theirs]])
    return u, np.where(np.isfinite(largest), -largest, v)


def _exponentials(logarithms: Logarithms, what: str) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        scales: NDArray[np.float64] = np.exp(logarithms)
    out = ~np.isfinite(scales) | (scales < np.finfo(np.float64).tiny)
    if out.any():
        at = int(out.argmax())
        raise RangeError(
            f"the scale of {what} {at} is exp({logarithms[at]:.6g}), out of the range of float64; use "
            f"log_{'row' if what == 'row' else 'col'}_scale"
        )
    return scales
