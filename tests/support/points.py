"""Points for tests of computed costs."""

from __future__ import annotations

import numpy as np

import lapwing as lw


def points(shape, dims=2, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.random((count, dims)).astype(dtype) for count in shape)


def plane(shape, seed=0):
    return lw.costs.squared_euclidean(*points(shape, seed=seed))
