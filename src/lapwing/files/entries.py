"""The entries (row, column, cost) of a sparse file, with the line that each one came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost, edges
from lapwing.files.base import FileFormatError, ReadOptions, check_sparse_size


@dataclass(frozen=True)
class Entries:
    """Indices count from 0 here and from 1 in the file; they are unchecked until `check`."""

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    values: NDArray[Any]
    lines: NDArray[np.int64]

    @staticmethod
    def from_triples(triples: NDArray[Any], lines: NDArray[np.int64]) -> Entries:
        """From an array of shape (k, 3) with lines ``i j cost``, i and j from 1, and the k line numbers."""
        return Entries(_indices(triples[:, 0]), _indices(triples[:, 1]), triples[:, 2], lines)

    def check(self, path: Path, shape: tuple[int, int]) -> None:
        """Raise unless every index lies in `shape` and no pair occurs twice."""
        for name, index, size in (("row", self.rows, shape[0]), ("column", self.cols, shape[1])):
            outside = (index < 0) | (index >= size)
            if outside.any():
                at = int(outside.argmax())
                raise FileFormatError(path, f"the {name} must be an integer from 1 to {size}", int(self.lines[at]))
        flat = self.rows * shape[1] + self.cols
        order = np.argsort(flat, kind="stable")
        twice = flat[order[1:]] == flat[order[:-1]]
        if twice.any():
            at = int(order[1:][twice].min())
            raise FileFormatError(
                path,
                f"the pair ({self.rows[at] + 1}, {self.cols[at] + 1}) is given for the second time; give it one cost",
                int(self.lines[at]),
            )

    def costs(self, path: Path, shape: tuple[int, int], options: ReadOptions) -> SparseCost | NDArray[Any]:
        """The costs of these (checked) entries; every other pair is forbidden. A matrix, if there is none.

        Raises
        ------
        FileFormatError
            More rows or columns than are supported, or than the memory allowed holds a number for.
        """
        check_sparse_size(path, shape, options.memory_limit)
        if 0 < len(self.values) == shape[0] * shape[1]:
            matrix = np.empty(shape, self.values.dtype)
            matrix[self.rows, self.cols] = self.values
            return matrix
        return edges(self.rows, self.cols, self.values, shape)


def _indices(column: NDArray[Any]) -> NDArray[np.int64]:
    """Indices from 0; -1 for what is no integer of a sane size."""
    if column.dtype.kind == "f":
        column = np.where((column == np.floor(column)) & (np.abs(column) < 2.0**53), column, 0.0)
    return column.astype(np.int64, copy=False) - 1
