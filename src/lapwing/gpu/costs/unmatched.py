"""Rows that may stay free at a price, on the GPU: each has a column of its own beside the matrix, its unmatched column.

Nothing of the matrix is copied for that: the kernels see the unmatched columns through the prices alone (struct Matrix
of kernels/core/state.cuh), as 8 bytes a row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.errors import RangeError
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import copy_bytes, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.programs import FLOATS, INTEGERS
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.prices import shown_numbers

_LARGEST_LISTED = float(np.finfo(np.float32).max)
_AT_FIRST = 4096  # equal prices that the host writes; the GPU copies them to the others


class UnmatchedColumns:
    """Prices in GPU memory.

    Parameters
    ----------
    context : Context, entered
    prices : (m,) float64, or int64 for integer costs
        As minimised; infinite (`ABSENT`) where a row must not stay free. Of a view of one number, only that is copied
        to the GPU.
    dtype : str
        Of the costs.
    cols_in_turn : int, optional
        If columns are to be solved as rows, which may stay free at the one price in the rows' place: how many.

    Attributes
    ----------
    pointer : int
    turned : bool
        Whether columns are solved as rows, since the same matchings are optimal (lapwing/cpu/turned.py). Of m > n rows
        m - n have to find out that they stay free, one outbidding the other; of columns none has to.
    bound_shift : float
        What the dual objective of the real columns and the exits' `v` falls short by: lists hold prices in float32
        where costs are no finer, and `v` of the exits begins with the rest (struct Matrix of kernels/core/state.cuh).

    Raises
    ------
    RangeError
        If a price is too large for exact sums.
    """

    def __init__(
        self,
        context: Context,
        prices: NDArray[Any],
        dtype: str,
        array_template: GpuArray | None,
        cols_in_turn: int | None = None,
    ) -> None:
        self.turned: bool = cols_in_turn is not None
        rows, item = len(prices), prices.itemsize
        numbers = shown_numbers(prices)
        _check_range(numbers, rows, dtype)
        self._memory = Workspace(context, {"prices": (rows, prices.dtype.name)}, array_template)
        self.pointer: int = self._memory["prices"]
        if len(numbers) < rows:
            numbers = prices[:_AT_FIRST]
        there = len(numbers)
        write(context, self.pointer, np.ascontiguousarray(numbers))
        while there < rows:  # twice as many by every copy
            more = min(there, rows - there)
            copy_bytes(context, self.pointer + item * there, self.pointer, item * more)
            there += more
        self.bound_shift: float = 0.0
        if dtype in FLOATS and ITEM_BYTES[dtype] < 8:
            finite = prices[:cols_in_turn][np.isfinite(prices[:cols_in_turn])]
            listed = np.clip(finite, -_LARGEST_LISTED, _LARGEST_LISTED).astype(np.float32).astype(np.float64)
            self.bound_shift = math.fsum((finite - listed).tolist())


def fixes_rows(unmatched: UnmatchedColumns | None) -> bool:
    """Whether rows and columns cannot be exchanged, since rows may stay free."""
    return unmatched is not None and not unmatched.turned


def _check_range(prices: NDArray[Any], rows: int, dtype: str) -> None:
    """`prices`: one for all rows, or one for each."""
    if dtype in INTEGERS:
        limit: float = (ABSENT // (2 * (rows + 1))) - 1
        finite = np.where(np.abs(prices) == ABSENT, 0, prices)
    else:
        limit = float(np.finfo(np.float64).max) / (2.0 * rows + 4)
        finite = np.where(np.isfinite(prices), prices, 0)
    row = int(np.abs(finite).argmax())
    if abs(finite[row]) > limit:
        raise RangeError(
            f"unmatched_cost[{row}] has magnitude {abs(finite[row])}: for this shape, sums stay exact only up to "
            f"{limit}; subtract a constant from all costs and prices, or divide them"
        )
