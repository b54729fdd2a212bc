"""Sparse instances, the same everywhere for the same class, n and seed (NumPy's PCG64).

- random:k: k columns a row at random, costs uniform in [0, 1); a hidden permutation of costs in [0.5, 1.5) makes it
  feasible.
- int:k: the same with integers from 1 to 15,000.
- knn:k: two sets of n points of the unit square; the k nearest columns of each row, squared distances; rows may stay
  free at the squared radius that holds k points on average.
- band:b: |i - j| <= b, each pair kept with probability 0.5, the diagonal always; the cost is the logarithm of the row's
  largest magnitude less that of the entry, which is log-normal: what a maximum product transversal minimises (MC64,
  job 5).
- gated:0: n tracks and n detections in clusters of 1 to 30, squared distances below the gate of 9.21, the price of
  staying free: many components.
- power:k: columns drawn by a Zipf law of exponent 1.2, so that most rows want the same few; rows may stay free at 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

CLASSES = ("random:20", "random:5", "int:20", "knn:16", "band:10", "gated:0", "power:10")
GATE = 9.21

Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # rows, columns, costs


@dataclass(frozen=True)
class SparseInstance:
    """A sparse matrix of n rows and columns by rows (CSR), and the price of a free row.

    Attributes
    ----------
    indptr, indices, data : (n + 1,) int32, (entries,) int32, (entries,) float64 or int64
        SciPy's layout: indices rise in each row. Costs are above zero.
    price : float
        NaN where every row must have a column.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: NDArray[Any]
    price: float

    def save(self, path: Path) -> None:
        """Write the arrays to an .npz file."""
        np.savez(path, indptr=self.indptr, indices=self.indices, data=self.data, price=self.price)


def random_pairs(rng: Generator, n: int, k: int) -> Pairs:
    """Return pairs at random, among them a permutation."""
    cols = rng.integers(0, n, n * k)
    costs = rng.random(n * k) + 1e-9
    rows = np.r_[np.repeat(np.arange(n), k), np.arange(n)]
    cols = np.r_[cols, rng.permutation(n)]
    return rows, cols, np.r_[costs, 0.5 + rng.random(n)]


def nearest_pairs(rng: Generator, n: int, k: int) -> Pairs:
    """Return the k nearest columns of every row."""
    from scipy.spatial import cKDTree

    x, y = rng.random((n, 2)), rng.random((n, 2))
    rows, cols = np.repeat(np.arange(n), k), cKDTree(y).query(x, k)[1].ravel()
    return rows, cols, ((x[rows] - y[cols]) ** 2).sum(1) + 1e-18


def band_pairs(rng: Generator, n: int, width: int) -> Pairs:
    """Return pairs near the diagonal."""
    offsets = np.arange(-width, width + 1)
    rows = np.repeat(np.arange(n), len(offsets))
    cols = rows + np.tile(offsets, n)
    keep = (cols >= 0) & (cols < n) & ((rng.random(len(rows)) < 0.5) | (rows == cols))
    rows, cols = rows[keep], cols[keep]
    logarithm = rng.standard_normal(len(rows)) * 3.0
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, rows, logarithm)
    return rows, cols, largest[rows] - logarithm + 1e-12


def gated_pairs(rng: Generator, n: int) -> Pairs:
    """Return the pairs of tracks and detections that pass the gate."""
    ends = [0]
    while ends[-1] < n:
        ends.append(min(ends[-1] + int(rng.integers(1, 31)), n))
    x = rng.standard_normal((n, 2)) * 2.0
    y = x + rng.standard_normal((n, 2))
    begins, sizes = np.array(ends[:-1]), np.diff(ends)
    width = np.repeat(sizes, sizes)  # of each row's cluster
    rows = np.repeat(np.arange(n), width)
    before = np.cumsum(width) - width
    cols = np.arange(len(rows)) - before[rows] + np.repeat(begins, sizes)[rows]
    costs = ((x[rows] - y[cols]) ** 2).sum(1) + 1e-9
    keep = costs < GATE
    return rows[keep], cols[keep], costs[keep]


def power_pairs(rng: Generator, n: int, k: int) -> Pairs:
    """Return pairs of few columns that most rows want."""
    weight = 1.0 / np.arange(1, n + 1) ** 1.2
    share = np.cumsum(weight) / weight.sum()
    cols = rng.permutation(n)[np.searchsorted(share, rng.random(n * k))]
    return np.repeat(np.arange(n), k), cols, rng.random(n * k) + 1e-9


def make(cls: str, n: int, seed: int) -> SparseInstance:
    """Return the instance of a class, which is named as above."""
    head, _, number = cls.partition(":")
    k = int(number)
    rng = np.random.default_rng([seed, n, k])
    price = np.nan
    if head in ("random", "int"):
        pairs = random_pairs(rng, n, k)
    elif head == "knn":
        pairs, price = nearest_pairs(rng, n, k), k / (np.pi * n)
    elif head == "band":
        pairs = band_pairs(rng, n, k)
    elif head == "gated":
        pairs, price = gated_pairs(rng, n), GATE
    elif head == "power":
        pairs, price = power_pairs(rng, n, k), 1.0
    else:
        raise ValueError(f"no class {cls!r}")
    rows, cols, costs = pairs
    return by_rows(rows, cols, np.floor(costs * 10_000).astype(np.int64) + 1 if head == "int" else costs, n, price)


def by_rows(rows: NDArray[Any], cols: NDArray[Any], costs: NDArray[Any], n: int, price: float) -> SparseInstance:
    """Return the pairs by rows; of equal ones the cheapest."""
    order = np.lexsort((costs, cols, rows))
    rows, cols, costs = rows[order], cols[order], costs[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(rows[first], minlength=n), out=indptr[1:])
    return SparseInstance(indptr, cols[first].astype(np.int32), costs[first], price)
