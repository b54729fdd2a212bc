"""Distances of vectors, from which many costs are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

Matrix = Any  # an array of real numbers
Maker = Callable[[Generator, int], Matrix]


def squared_distances(x: Matrix, y: Matrix) -> Matrix:
    """Return [len(x), len(y)] squared Euclidean distances."""
    return np.maximum((x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T, 0)


def plane(rng: Generator, n: int, d: int = 2) -> Matrix:
    """Return squared distances of random points of the unit cube."""
    return squared_distances(rng.random((n, d)), rng.random((n, d)))


def distances(x: Matrix, y: Matrix) -> Matrix:
    """Return [len(x), len(y)] Euclidean distances."""
    return np.sqrt(squared_distances(x, y))


def differences(x: Matrix, y: Matrix) -> Matrix:
    """Return |x[i] - y[j]|."""
    return np.abs(x[:, None] - y[None])
