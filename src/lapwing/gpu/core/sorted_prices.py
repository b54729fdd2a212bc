"""Prices for costs that two orders explain: of rank one, points on a line, and all that is near these.

Where rows and columns can be sorted so that c[i,k] + c[j,l] <= c[i,l] + c[j,k] whenever i < j and k < l (a Monge
matrix: A. J. Hoffman, "On simple linear programming problems", 1963), the k-th row takes the k-th column, and
neighbours alone give prices: v rises from column k to column k + 1 by at least c[k+1,k+1] - c[k+1,k] and by at most
c[k,k+1] - c[k,k]. The middle is taken. Sampling fails here: a random sample has more rows than columns in some
stretches of the line and fewer in others, and what its prices are off by has to travel along the line.

The orders are those of the differences of two columns' costs in each row, and of two rows' in each column: sums of a
row's and a column's part do not matter. A small sample tells which two, and by how much the prices of its own order
fall short of its sorted assignment, in widths of a candidate list. Sampled costs come to the host, and as many
differences as there are rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime.tuning import LIST_SIZE

_GAP_ROWS = 32  # rows whose widths are looked at
_COARSE = 4
MOST_DUALITY_GAP = 0.5  # of prices from orders, in list widths a row, up to which they are the start


@dataclass(frozen=True)
class Axis:
    """Two rows and two columns of a sample, whose costs' differences sort columns and rows."""

    rows: tuple[int, int]
    cols: tuple[int, int]


def find_axis(sample: NDArray[np.float64]) -> Axis | None:
    """By what to sort a square matrix of at least 33 rows like this sample; None if prices from orders are no use.

    Most matrices have no such order, which a sixteenth of the sample shows: it falls short by more than SHORTFALL, and
    one that has an order by far less.
    """
    coarse = np.ascontiguousarray(sample[::_COARSE, ::_COARSE])
    if len(coarse) > LIST_SIZE and not (np.isfinite(coarse).all() and _survey(coarse)[1] <= MOST_DUALITY_GAP):
        return None
    if not np.isfinite(sample).all():
        return None
    axis, duality_gap = _survey(sample)
    return axis if duality_gap <= MOST_DUALITY_GAP else None


def _survey(sample: NDArray[np.float64]) -> tuple[Axis, float]:
    """The axis of a sample, and what prices of its order fall short by, in list widths a row."""
    apart = sample - sample.mean(axis=1, keepdims=True)
    apart -= apart.mean(axis=0)
    row, col = map(int, np.unravel_index(np.argmax(apart), apart.shape))
    axis = Axis((row, int(np.argmin(apart[:, col]))), (col, int(np.argmin(apart[row]))))
    first, second = axis.cols
    upper, lower = axis.rows
    row_order, col_order = orders(sample[:, first] - sample[:, second], sample[upper] - sample[lower])
    ordered = sample[row_order][:, col_order]
    matched = ordered.diagonal()
    rises = (ordered.diagonal(1) - matched[:-1] + matched[1:] - ordered.diagonal(-1)) / 2
    prices = prices_in_order(rises)
    priced = ordered - prices
    least = priced.min(axis=1)
    step = len(sample) // _GAP_ROWS or 1
    list_gaps = np.partition(priced[::step], LIST_SIZE, axis=1)[:, LIST_SIZE] - least[::step]
    list_gap = np.partition(list_gaps, len(list_gaps) // 2)[len(list_gaps) // 2]  # quicker than np.median
    duality_gap = matched.sum() - least.sum() - prices.sum()
    if duality_gap <= 0:
        return axis, 0.0
    return axis, float(duality_gap / (len(sample) * list_gap)) if list_gap > 0 else np.inf


def orders(row_keys: NDArray[np.float64], col_keys: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and columns, such that the k-th take each other; ties in the order of their indices."""
    return np.argsort(-row_keys, kind="stable"), np.argsort(col_keys, kind="stable")


def prices_in_order(rises: NDArray[Any]) -> NDArray[Any]:
    """Prices from what they rise by, from column to column."""
    return np.concatenate([np.zeros(1, rises.dtype), np.cumsum(rises)])
