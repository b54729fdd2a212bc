"""Writing cost matrices, as the readers of this package read them back: the same numbers, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic import atomic_writer
from lapwing.errors import ArgumentError


def write_cost(path: str | os.PathLike[str], cost: NDArray[Any]) -> None:
    """Write a matrix of real numbers, atomically.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz`` (array ``cost``), ``.csv``, or ``.mtx`` (Matrix Market array).
    cost : ndarray of shape (m, n)

    Raises
    ------
    ArgumentError
        The ending is none of these.
    OSError
        The file cannot be written.
    """
    suffix = cost_suffix_of(path)
    with atomic_writer(path) as stream:
        if suffix == ".npy":
            np.save(stream, cost, allow_pickle=False)
        elif suffix == ".npz":
            np.savez(stream, cost=cost)
        elif suffix == ".csv":
            _write_lines(stream, cost, ",")
        else:
            field = "integer" if cost.dtype.kind in "iu" else "real"
            stream.write(f"%%MatrixMarket matrix array {field} general\n{cost.shape[0]} {cost.shape[1]}\n".encode())
            _write_lines(stream, cost.T, "\n")


def cost_suffix_of(path: str | os.PathLike[str]) -> str:
    """The ending that chooses the form; raises before any work is done if there is no such form."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".npy", ".npz", ".csv", ".mtx"):
        raise ArgumentError(
            f"cannot write costs to {os.fspath(path)!r}: use a name that ends in .npy, .npz, .csv or .mtx"
        )
    return suffix


def _write_lines(stream: BinaryIO, matrix: NDArray[Any], separator: str) -> None:
    """`repr` of a float is the shortest text that reads back to the same bits; of a float32, after widening."""
    for row in matrix:
        stream.write((separator.join(map(repr, row.tolist())) + "\n").encode())
