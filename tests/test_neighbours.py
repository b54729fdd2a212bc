"""Points in the order of a k-d tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing._core import neighbours


@given(
    count=st.integers(1, 3000), dims=st.integers(1, 4), values=st.sampled_from([1, 9, 10**6]), seed=st.integers(0, 99)
)
def test_it_is_an_order(count, dims, values, seed):
    points = np.random.default_rng(seed).integers(0, values, (count, dims)).astype(np.float32)
    order = neighbours(points)
    assert order.dtype == np.int32 and np.array_equal(np.sort(order), np.arange(count))
    assert np.array_equal(order, neighbours(points))


@pytest.mark.parametrize("size", [4, 16, 64, 128, 512])
def test_neighbours_are_near(size):
    points = np.random.default_rng(3).random((5000, 2)).astype(np.float32)
    whole = points[neighbours(points)][: 5000 // size * size].reshape(-1, size, 2)
    spread = (whole.max(axis=1) - whole.min(axis=1)).max(axis=1)
    assert np.median(spread) < 2.5 * (size / 5000) ** 0.5
