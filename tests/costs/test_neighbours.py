"""Points in the order of a k-d tree, as samples of them are taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing import _core


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


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_change_nothing(threads):
    points = np.random.default_rng(6).random((50_000, 3)).astype(np.float32)
    source = lw.costs.squared_euclidean(points, points).compiled(transposed=False)
    assert np.array_equal(source.in_order(True, 128), source.in_order(True, 128, threads))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (128, 2), (10_000, 3), (10_001, 1)])
def test_groups(dtype, shape):
    rng = np.random.default_rng(7)
    points, order = rng.normal(size=shape).astype(dtype), rng.permutation(shape[0]).astype(np.int32)
    in_groups = _core.in_groups_float32 if dtype == np.float32 else _core.in_groups_float64
    coordinates, boxes = in_groups(points, order, 128, 2)
    assert np.array_equal(coordinates.reshape(shape[::-1]), points[order].T)
    starts = np.arange(0, shape[0], 128)
    corners = [edge.reduceat(points[order], starts).T for edge in (np.minimum, np.maximum)]
    assert np.array_equal(boxes.reshape(shape[1], 2, -1), np.stack(corners, axis=1))


def test_groups_of_no_order_are_refused():
    points = np.zeros((5, 2), np.float32)
    with pytest.raises(IndexError, match="no such point"):
        _core.in_groups_float32(points, np.array([0, 1, 2, 3, 5], np.int32), 4, 1)
