"""The package lapjv: `from lapwing.compat.lapjv import lapjv`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import partners
from lapwing.answer import float_sum
from lapwing.api import solve

__all__ = ["lapjv"]

Vector = NDArray[np.int32]


def lapjv(
    cost_matrix: Any, verbose: bool | int = 0, force_doubles: bool = False
) -> tuple[Vector, Vector, tuple[float, NDArray[Any], NDArray[Any]]]:
    """(column of each row, row of each column, (total, u, v)): indices int32, duals of the dtype of the costs.

    `verbose` and `force_doubles` have no meaning here: duals are computed in float64.

    Raises
    ------
    ValueError
        If the matrix is not square, or has no assignment.
    """
    shape = np.shape(cost_matrix)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f'"cost_matrix" must be a square 2D numpy array, got shape {shape}')
    matrix = np.asarray(cost_matrix)
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    found = partners(matrix, math.inf, True)
    if found is not None:
        rows, cols, total, u, v = found
        return rows, cols, (total, u.astype(matrix.dtype, copy=False), v.astype(matrix.dtype, copy=False))
    result = solve(matrix, certify=False)
    total = float_sum(matrix[result.row_ind, result.col_ind].tolist())
    duals = total, result.u.astype(matrix.dtype), result.v.astype(matrix.dtype)
    return result.row_to_col.astype(np.int32), result.col_to_row.astype(np.int32), duals
