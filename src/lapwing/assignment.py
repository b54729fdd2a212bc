"""The pairs of an assignment, however they are wanted: what every result offers beside `row_to_col`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import inverse
from lapwing.certificate import Certificate, Number
from lapwing.matched import library_of
from lapwing.tensors import like

IndexArray = NDArray[np.int64]

_SHOWN = 10  # lines of a table for people


class Matching:
    """The properties that follow from `row_to_col`, in its array library.

    It unpacks like SciPy's pair: ``row_ind, col_ind = result``.
    """

    row_to_col: IndexArray

    def __iter__(self) -> Iterator[IndexArray]:
        return iter((self.row_ind, self.col_ind))

    @property
    def _col_count(self) -> int:
        raise NotImplementedError

    @cached_property
    def col_to_row(self) -> IndexArray:
        """(n,) int64, the row of each column, -1 where the column is free."""
        answer: IndexArray = like(inverse(np.asarray(self.row_to_col), self._col_count), self.row_to_col)
        return answer

    @cached_property
    def row_ind(self) -> IndexArray:
        """The matched rows in increasing order, as `scipy.optimize.linear_sum_assignment` returns them."""
        return _where(self.row_to_col >= 0)

    @cached_property
    def col_ind(self) -> IndexArray:
        """The columns of `row_ind`."""
        cols: IndexArray = self.row_to_col[self.row_ind]
        return cols

    @property
    def pairs(self) -> IndexArray:
        """(k, 2) int64: each matched row with its column, in the order of rows."""
        row_ind = self.row_ind
        pairs: IndexArray = library_of(row_ind).stack((row_ind, self.row_to_col[row_ind]), -1)
        return pairs

    @property
    def free_rows(self) -> IndexArray:
        """The rows without a column, in increasing order."""
        return _where(self.row_to_col < 0)

    @property
    def free_cols(self) -> IndexArray:
        """The columns without a row, in increasing order."""
        return _where(self.col_to_row < 0)


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Matching):
    """One problem of a batch: ``batch[b]``.

    Attributes
    ----------
    row_to_col : (m,) int64
        The column of each row, -1 where the row is free.
    objective : NumPy's or a library's scalar
        NaN, or 0 for integers, without an answer.
    status : int
        0 solved; else the problem has no answer: see `BatchResult`.
    u, v : (m,) and (n,), or None
        The duals, if they were asked for.
    certificate : Certificate or None
        If it was asked for. Of a batch on a GPU, whose certificates are arrays, None.
    """

    row_to_col: IndexArray
    objective: Any
    status: Any
    u: Any
    v: Any
    certificate: Certificate | None
    _cols: int

    def __repr__(self) -> str:
        return f"<lapwing.Assignment: objective {_plain(self.objective)!r}, {len(self.row_to_col)} x {self._cols}>"

    @property
    def _col_count(self) -> int:
        return self._cols


def pairs_of(row_to_col: IndexArray) -> tuple[IndexArray, IndexArray]:
    """SciPy's pair: the matched rows in increasing order, and their columns."""
    rows = _where(row_to_col >= 0)
    return rows, row_to_col[rows]


def _where(mask: Any) -> IndexArray:
    """The indices where a vector of any library is true, int64."""
    found: Any = mask.nonzero()
    if isinstance(mask, np.ndarray):
        found = (found[0].astype(np.int64, copy=False),)  # intp has 32 bits on some machines
    indices: IndexArray = found[0] if isinstance(found, tuple) else found[:, 0]
    return indices


def _plain(value: Any) -> Number:
    number: Number = value.item() if hasattr(value, "item") else value
    return number


def html_table(heads: tuple[str, ...], lines: list[tuple[Any, ...]], total: int, caption: str) -> str:
    """A table for a notebook, of the first lines of `total`."""
    from html import escape

    cells = ["".join(f"<th>{escape(head)}</th>" for head in heads)]
    cells += ["".join(f"<td>{escape(str(_plain(cell)))}</td>" for cell in line) for line in lines]
    if total > len(lines):
        cells.append(f'<td colspan="{len(heads)}">and {total - len(lines)} more</td>')
    rows = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<table><caption>{escape(caption)}</caption>{rows}</table>"


def shown(total: int) -> range:
    """The lines that a table for people has."""
    return range(min(total, _SHOWN))
