"""Points in the order of a k-d tree, as samples of them are taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw


def in_order(points, rows=True):
    return lw.costs.squared_euclidean(points, points).compiled(transposed=False).in_order(rows)


@given(
    count=st.integers(1, 3000), dims=st.integers(1, 8), values=st.sampled_from([1, 9, 10**6]), seed=st.integers(0, 99)
)
def test_it_is_an_order(count, dims, values, seed):
    points = np.random.default_rng(seed).integers(0, values, (count, dims)).astype(np.float32)
    order = in_order(points)
    assert order.dtype == np.int32 and np.array_equal(np.sort(order), np.arange(count))
    assert np.array_equal(order, in_order(points, rows=False))


@pytest.mark.parametrize("size", [4, 16, 64, 128, 512])
def test_neighbours_are_near(size):
    points = np.random.default_rng(3).random((5000, 2)).astype(np.float32)
    whole = points[in_order(points)][: 5000 // size * size].reshape(-1, size, 2)
    spread = (whole.max(axis=1) - whole.min(axis=1)).max(axis=1)
    assert np.median(spread) < 2.5 * (size / 5000) ** 0.5


@pytest.mark.parametrize("kind", ["rising", "falling", "pipes", "saws", "steps"])
def test_on_a_line_the_order_is_that_of_the_line(kind):
    x = np.arange(4000)
    line = {"rising": x, "falling": -x, "pipes": np.minimum(x, x[::-1]), "saws": x % 100, "steps": x // 500}[kind]
    leaves = line[in_order(line[:, None].astype(np.float32))].reshape(-1, 4)
    assert (leaves.max(axis=1)[:-1] <= leaves.min(axis=1)[1:]).all()


def test_weights_count():
    near, far = np.random.default_rng(4).random((2, 500, 1)).astype(np.float32)
    source = lw.costs.weighted(lw.costs.squared_euclidean(near, near), 1e-9, lw.costs.squared_euclidean(far, far), 1.0)
    assert (np.diff(far[source.compiled(transposed=False).in_order(True)][::8, 0]) >= 0).all()


def test_of_many_dimensions_none_is_known():
    assert in_order(np.zeros((20, 9))).size == 0
