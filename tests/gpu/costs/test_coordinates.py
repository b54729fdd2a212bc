"""Points that are on a GPU: they stay there, and are checked there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lapwing as lw
from lapwing.arrays import to_host
from lapwing.costs import coordinates
from lapwing.costs.coordinates import Coordinates, GpuCoordinates
from lapwing.errors import ArgumentError
from lapwing.gpu.costs import spatial_order
from support.gpu_memory import Gpu, OnGpu

METRICS = (
    lw.costs.squared_euclidean,
    lw.costs.euclidean,
    lw.costs.inner_product,
    lw.costs.manhattan,
    lambda x, y: lw.costs.minkowski(x, y, 3),
)


@pytest.fixture
def many(monkeypatch):
    """Few points count as many, and their matrix is held."""
    monkeypatch.setattr(coordinates, "_MANY", 0)


def points(shape, dims, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    return tuple((random.random((count, dims)) - 0.3).astype(dtype) for count in shape)


def on_gpu(context, *arrays):
    gpu = Gpu(context)
    return tuple(OnGpu(gpu, array) for array in arrays)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dims"), [((1, 1), 4), ((31, 33), 33), ((300, 257), 5), ((40, 600), 65)])
def test_a_copy_has_the_numbers_and_their_range(emulated_gpu, many, dtype, shape, dims):
    x, y = points(shape, dims, dtype)
    taken = lw.costs.squared_euclidean(*on_gpu(emulated_gpu, x, y)).terms[0]
    expected = lw.costs.squared_euclidean(x, y).terms[0]
    for of_gpu, of_host in ((taken.x, expected.x), (taken.y, expected.y)):
        assert isinstance(of_gpu, GpuCoordinates)
        assert (of_gpu.shape, of_gpu.dtype, of_gpu.nbytes) == (of_host.shape, of_host.dtype, of_host.nbytes)
        assert of_gpu.range() == of_host.range()
        assert np.array_equal(of_gpu.host, of_host.host)
    assert taken.largest == expected.largest


def test_strides(emulated_gpu, many):
    x, y = points((70, 90), 12)
    views = x[::-2, ::3], np.asfortranarray(y)[5:, ::-3]
    taken = lw.costs.euclidean(*on_gpu(emulated_gpu, *views)).terms[0]
    assert np.array_equal(taken.x.host, views[0])
    assert np.array_equal(taken.y.host, views[1])


@pytest.mark.parametrize(("metric", "dims"), list(zip(METRICS, (4, 5, 8, 9, 17), strict=True)))
def test_a_solve_leaves_them_there(emulated_gpu, many, monkeypatch, metric, dims):
    monkeypatch.setattr(spatial_order, "_LEAST", 0)  # and points could lie in boxes
    x, y = points((60, 75), dims)
    there = on_gpu(emulated_gpu, x, y)
    expected = metric(x, y)
    with monkeypatch.context() as patch:
        patch.setattr(GpuCoordinates, "host", property(lambda self: pytest.fail("points came to the host")))
        source = metric(*there)
        assert "holds it" in str(lw.plan(source))
        found = lw.solve(source)
    cost, row_to_col = expected.read(slice(None)), to_host(found.row_to_col)
    certificate = lw.certify(cost, row_to_col, to_host(found.u), to_host(found.v))
    assert certificate.complete
    assert certificate.exact
    assert found.objective == lw.solve(expected, device="cpu").objective


def test_later_changes_do_not_matter(emulated_gpu, many):
    x, y = points((50, 50), 6)
    gpu = Gpu(emulated_gpu)
    there = OnGpu(gpu, x), OnGpu(gpu, y)
    source = lw.costs.squared_euclidean(*there)
    lw.gpu.runtime.copies.write(emulated_gpu, there[0].memory.pointer, np.zeros_like(x))
    assert lw.solve(source).objective == lw.solve(lw.costs.squared_euclidean(x, y)).objective


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_the_first_number_that_is_not_finite(emulated_gpu, many, wrong):
    x, y = points((300, 40), 37)
    y[21, 30] = y[21, 36] = y[22, 0] = wrong
    with pytest.raises(ArgumentError, match=rf"Y\[21, 30\] is {wrong}; coordinates must be finite"):
        lw.costs.squared_euclidean(*on_gpu(emulated_gpu, x, y))


def test_other_points_come_to_the_host(emulated_gpu, many):
    x, y = points((20, 20), 5)
    few = points((20, 20), 3)
    integers = (9 * x).astype(np.int32)
    for given in (
        (x, on_gpu(emulated_gpu, y)[0]),
        on_gpu(emulated_gpu, *few),
        on_gpu(emulated_gpu, integers, integers),
    ):
        term = lw.costs.squared_euclidean(*given).terms[0]
        assert not isinstance(term.x, GpuCoordinates)
    mixed = lw.costs.squared_euclidean(*on_gpu(emulated_gpu, x, y.astype(np.float64)))
    assert mixed.dtype == np.float64
    assert type(mixed.terms[0].x) is Coordinates


def test_few_points_come_to_the_host(emulated_gpu):
    term = lw.costs.squared_euclidean(*on_gpu(emulated_gpu, *points((20, 20), 5))).terms[0]
    assert type(term.x) is Coordinates


def test_pickled_points_are_on_the_host(emulated_gpu, many):
    x, y = points((20, 30), 5)
    source = pickle.loads(pickle.dumps(lw.costs.squared_euclidean(*on_gpu(emulated_gpu, x, y))))
    assert type(source.terms[0].x) is Coordinates
    assert np.array_equal(source.terms[0].y.host, y)


def test_sums_of_them(emulated_gpu, many):
    x, y = points((30, 30), 6)
    a, b = on_gpu(emulated_gpu, x, y)
    source = lw.costs.weighted(lw.costs.squared_euclidean(a, b), 0.5, lw.costs.cosine(a, b), 2.0)
    expected = lw.costs.weighted(lw.costs.squared_euclidean(x, y), 0.5, lw.costs.cosine(x, y), 2.0)
    found = lw.solve(source)
    assert found.objective == lw.solve(expected).objective
