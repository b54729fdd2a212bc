"""The package munkres: `from lapwing.compat.munkres import Munkres, DISALLOWED, make_cost_matrix`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.compat import partners
from lapwing.costs.dtypes import as_array
from lapwing.errors import RangeError

__all__ = ["DISALLOWED", "Munkres", "UnsolvableMatrix", "make_cost_matrix", "print_matrix"]


class _Disallowed:
    def __repr__(self) -> str:
        return "D"


DISALLOWED: Final = _Disallowed()  # in the place of a cost: the pair is forbidden


class UnsolvableMatrix(Exception):  # noqa: N818  # as munkres has it
    """The disallowed pairs leave no assignment."""


class Munkres:
    """Has `compute`, and no state."""

    def compute(self, cost_matrix: Sequence[Sequence[Any]]) -> list[tuple[int, int]]:
        """The pairs (row, column) of the least total cost, in the order of rows; the matrix may be rectangular.

        Rows that are shorter than others are filled up with zeros.

        Raises
        ------
        UnsolvableMatrix
        RangeError
            If no type of 64 bits holds all costs exactly, as integers, or fractions as floats.
        """
        if not cost_matrix or not cost_matrix[0]:
            return []
        height, width = len(cost_matrix), len(cost_matrix[0])
        matrix = self.pad_matrix(cost_matrix) if len({len(row) for row in cost_matrix}) > 1 else cost_matrix
        mask = np.array([[_is_disallowed(c) for c in row] for row in matrix])
        costs = _numbers([[0 if _is_disallowed(c) else c for c in row] for row in matrix])
        found = partners.solve(np.ma.MaskedArray(costs, mask) if mask.any() else costs)
        if found is None:
            raise UnsolvableMatrix("This matrix cannot be solved!")
        return [(i, j) for i, j in enumerate(found[0].tolist()) if i < height and 0 <= j < width]

    def pad_matrix(self, matrix: Sequence[Sequence[Any]], pad_value: Any = 0) -> list[list[Any]]:
        """A square copy of a matrix whose rows may differ in length."""
        size = max([len(matrix), *map(len, matrix)])
        padded = [[*row, *[pad_value] * (size - len(row))] for row in matrix]
        return padded + [[pad_value] * size for _ in range(size - len(matrix))]


def _numbers(rows: list[list[Any]]) -> NDArray[Any]:
    costs = as_array(rows, "cost_matrix")
    if costs.dtype != object:
        return costs
    if all(isinstance(cost, (int, np.integer)) for row in rows for cost in row):
        raise RangeError("cost_matrix has integers beyond 64 bits: subtract a constant from all, or divide them")
    return costs.astype(np.float64)  # Fraction, Decimal


def _is_disallowed(cost: Any) -> bool:
    # munkres' own constant, in matrices that were made for it
    return type(cost).__name__ in ("_Disallowed", "DISALLOWED_OBJ")


def make_cost_matrix(
    profit_matrix: Sequence[Sequence[Any]], inversion_function: Callable[[Any], Any] | None = None
) -> list[list[Any]]:
    """Costs of profits: by the function, or the largest profit minus each. Disallowed pairs stay so."""
    if inversion_function is None:
        most = max(max(cost for cost in row if not _is_disallowed(cost)) for row in profit_matrix)

        def inversion_function(profit: Any) -> Any:
            return most - profit

    return [[cost if _is_disallowed(cost) else inversion_function(cost) for cost in row] for row in profit_matrix]


def print_matrix(matrix: Sequence[Sequence[Any]], msg: str | None = None) -> None:
    """Print a matrix, one row a line."""
    if msg is not None:
        print(msg)
    width = max((len(str(cost)) for row in matrix for cost in row), default=0)
    for row in matrix:
        print("[" + ", ".join(str(cost).rjust(width) for cost in row) + "]")
