"""The problem to solve: a cost source, a sense, and the prices of free rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.costs.base import CostArray, CostSource, Tier
from lapwing.costs.dense import DenseCost


def must_be_matched(prices: NDArray[Any]) -> NDArray[np.bool_]:
    """Whose price is infinite."""
    absent: NDArray[np.bool_] = np.isinf(prices) if prices.dtype.kind == "f" else np.abs(prices) == ABSENT
    return absent


class Form(NamedTuple):
    """All of a problem but its numbers: what a plan depends on.

    Attributes
    ----------
    shape : (m, n)
    dtype : one of the core's dtypes
    priced : bool
        Whether rows may stay free at a price.
    rows_are_contiguous : bool
    tier : Tier
        Where the costs are.
    held_bytes : int
        What the source of the costs keeps in memory.
    matrix_limit : int
        Bytes that the costs may take as a matrix, if they are in none.
    cols_priced : bool
        Whether free columns have prices, too.
    dims : int
        How many coordinates of each point a cost is computed from; 0 if it is not computed from points.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    priced: bool
    rows_are_contiguous: bool
    tier: Tier
    held_bytes: int
    matrix_limit: int
    cols_priced: bool = False
    dims: int = 0

    @property
    def is_empty(self) -> bool:
        return 0 in self.shape

    @property
    def is_tall(self) -> bool:
        return not self.priced and self.shape[0] > self.shape[1]

    @property
    def solved_transposed(self) -> bool:
        """Whether the methods see the transposed view: when tall, or when square with contiguous columns."""
        rows, cols = self.shape
        return not self.priced and (rows > cols or (rows == cols and not self.rows_are_contiguous))


@dataclass(frozen=True)
class Problem:
    """One linear assignment problem, as the user gave it.

    Attributes
    ----------
    cost : CostSource, (m, n)
    maximize : bool
    unmatched_cost : (m,) float64 or int64 array, or None
        What row i contributes when it stays free, in the user's sense (a value when maximising). None: the smaller side
        is matched completely.
    unmatched_cols : (n,) array of the same dtype, or None
        Beside `unmatched_cost` the same of columns. None: free columns cost nothing.
    """

    cost: CostSource
    maximize: bool = False
    unmatched_cost: NDArray[Any] | None = None
    unmatched_cols: NDArray[Any] | None = None

    def __enter__(self) -> Problem:
        return self  # as a problem on a GPU, which holds the device meanwhile

    def __exit__(self, *_error: object) -> None:
        pass

    @property
    def form(self) -> Form:
        cost = self.cost
        priced = self.unmatched_cost is not None
        contiguous = cost.rows_are_contiguous
        held, limit, of_cols = cost.held_bytes, cost.matrix_limit, self.unmatched_cols is not None
        return Form(cost.shape, cost.dtype, priced, contiguous, cost.tier, held, limit, of_cols, cost.dims)

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape

    @property
    def is_empty(self) -> bool:
        return 0 in self.cost.shape

    @property
    def is_integer(self) -> bool:
        return self.cost.is_integer

    @property
    def dual_dtype(self) -> np.dtype[Any]:
        """Of sums and duals: int64 for integers, float64 for floats."""
        return self.cost.dual_dtype

    @property
    def rows_to_match(self) -> int:
        """How many rows, or columns of a tall problem, want a partner."""
        return self.shape[0] if self.unmatched_cost is not None else min(self.shape)

    @property
    def has_required_columns(self) -> bool:
        """Whether a column must be matched, beside rows that have prices."""
        return self.unmatched_cols is not None and bool(must_be_matched(self.unmatched_cols).any())

    @property
    def is_tall(self) -> bool:
        """More rows than columns, so that every column needs a row, and not the other way round."""
        return self.unmatched_cost is None and self.shape[0] > self.shape[1]


@dataclass(frozen=True)
class Stack:
    """Problems in one array; of one shape, or each in a corner of its matrix.

    Attributes
    ----------
    costs : (B, m, n) array of one of the core's dtypes, aligned, in native byte order
    maximize : bool
    unmatched_cost : (B, m) float64 or int64 array, or None
    unmatched_cols : (B, n) array of the same dtype, or None
    row_counts, col_counts : (B,) int64, or None
        Problem b is ``costs[b, :row_counts[b], :col_counts[b]]``.
    """

    costs: CostArray
    maximize: bool = False
    unmatched_cost: NDArray[Any] | None = None
    row_counts: NDArray[np.int64] | None = None
    col_counts: NDArray[np.int64] | None = None
    unmatched_cols: NDArray[Any] | None = None

    def __len__(self) -> int:
        return int(self.costs.shape[0])

    def __getitem__(self, b: int) -> Problem:
        rows = None if self.row_counts is None else self.row_counts[b]
        cols = None if self.col_counts is None else self.col_counts[b]
        prices = None if self.unmatched_cost is None else self.unmatched_cost[b, :rows]
        of_cols = None if self.unmatched_cols is None else self.unmatched_cols[b, :cols]
        return Problem(DenseCost(self.costs[b, :rows, :cols]), self.maximize, prices, of_cols)

    @property
    def is_ragged(self) -> bool:
        """Whether problems have rows and columns of their own."""
        return self.row_counts is not None or self.col_counts is not None

    @property
    def dual_dtype(self) -> np.dtype[Any]:
        return DenseCost(self.costs).dual_dtype
