"""Costs computed on a real GPU, at sizes that an emulated one does not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.costs import spatial_order
from support.metrics import METRICS_AND_SUM

pytestmark = pytest.mark.gpu

METRICS = METRICS_AND_SUM | {
    "cosine": lambda x, y: lw.costs.cosine(x + 1, y + 1),
    "haversine": lambda x, y: lw.costs.haversine(x[:, :2], y[:, :2]),
}


def points(shape: tuple[int, int], dims: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(dims)
    return random.random((shape[0], dims)).astype(dtype), random.random((shape[1], dims)).astype(dtype)


@pytest.mark.parametrize("shape", [(3000, 3000), (700, 2500), (2500, 700)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_matrix_of_the_same_costs_has_the_same_answer(metric: str, dtype: str, shape: tuple[int, int]) -> None:
    source = METRICS[metric](*points(shape, 3, dtype))
    found = lw.solve(source, device="cuda")
    assert found.certificate is not None and found.certificate.complete
    dense = source.read(slice(None))
    if metric == "minkowski":  # whose powers are a few units in the last place from the C library's
        assert found.objective == pytest.approx(lw.solve(dense).objective, rel=1e-5 if dtype == "float32" else 1e-12)
        return
    expected = lw.solve(dense, device="cuda")
    assert found.objective == expected.objective
    if found.statistics["refreshes"] == 0:
        for name in ("row_to_col", "u", "v"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("shape", [(3000, 3000), (1000, 1700)])
@pytest.mark.parametrize("dims, steps", [(2, 6), (5, 2)])
def test_points_on_a_grid(shape: tuple[int, int], dims: int, steps: int) -> None:
    """Where many are the same, or equally far away, lists cannot tell all: all columns of a row are looked at."""
    x, y = (np.round(steps * side) / steps for side in points(shape, dims, "float32"))
    source = lw.costs.squared_euclidean(x, y)
    found = lw.solve(source, device="cuda")
    assert found.certificate is not None and found.certificate.complete
    assert found.objective == pytest.approx(lw.solve(source.read(slice(None))).objective, rel=1e-12)
    assert shape[0] != shape[1] or found.statistics["full_rows"] > 0


@pytest.mark.parametrize("shape", [(3000, 3000), (1500, 5000), (5000, 1500)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("metric", METRICS)
def test_points_in_order(monkeypatch: pytest.MonkeyPatch, metric: str, dtype: str, shape: tuple[int, int]) -> None:
    source = METRICS[metric](*points(shape, 3, dtype))
    plain = lw.solve(source, device="cuda")
    monkeypatch.setattr(spatial_order, "_LEAST", 1000)
    found = lw.solve(source, device="cuda")
    assert found.certificate is not None and found.certificate.complete
    assert found.objective == plain.objective
    if shape[0] != shape[1]:
        assert np.array_equal(found.row_to_col, plain.row_to_col)
        monkeypatch.setattr(CoreSolve, "may_have_dummies", False)  # no samples: groups change nothing
        found = lw.solve(source, device="cuda")
        monkeypatch.setattr(spatial_order, "_LEAST", 1 << 14)
        plain = lw.solve(source, device="cuda")
        assert found.statistics["refreshes"] == plain.statistics["refreshes"]
        for name in ("row_to_col", "u", "v"):
            assert np.array_equal(getattr(found, name), getattr(plain, name)), name


@pytest.mark.parametrize("dims", [1, 2, 5, 8, 9, 64])
def test_dimensions(dims: int) -> None:
    source = lw.costs.squared_euclidean(*points((2000, 2000), dims, "float32"))
    assert lw.solve(source, device="cuda").objective == lw.solve(source).objective


@pytest.mark.parametrize("ordered_from", [1000, 1 << 14])
@pytest.mark.parametrize("kind", ["equal", "duplicates", "line", "sorted"])
def test_awkward_points(monkeypatch: pytest.MonkeyPatch, kind: str, ordered_from: int) -> None:
    monkeypatch.setattr(spatial_order, "_LEAST", ordered_from)
    x, y = points((3000, 3000), 2, "float32")
    if kind == "equal":
        x, y = 0 * x, 0 * y
    elif kind == "duplicates":
        x, y = np.round(8 * x), np.round(8 * y)
    elif kind == "line":
        x[:, 1] = y[:, 1] = 0
    else:
        x, y = x[np.lexsort(x.T)], y[np.lexsort(y.T)]
    source = lw.costs.squared_euclidean(x, y)
    found = lw.solve(source, device="cuda")
    assert found.objective == pytest.approx(lw.solve(source).objective, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("cls", ["geometric", "disjoint", "uniform"])
def test_tens_of_thousands(cls: str) -> None:
    found = lw.solve(instances.computed(cls, 30_000, 1, dtype=np.float32), device="cuda")
    assert found.certificate is not None and found.certificate.exact
    assert found.plan.memory_bytes < 40e6


def test_functions_with_forbidden_pairs_and_integers() -> None:
    random = np.random.default_rng(1)
    text = "__device__ auto cost(const Arrays& in, long long i, long long j) { return in.table[i * in.cols + j]; }"
    for dtype in ("float32", "float64", "int32", "int64"):
        cost = random.integers(0, 10**6, (900, 1500)).astype(dtype)
        if cost.dtype.kind == "f":
            cost[random.random(cost.shape) < 0.7] = np.inf
        source = lw.costs.cuda_source(text, shape=cost.shape, arrays={"table": cost, "cols": 1500}, dtype=dtype)
        found, expected = lw.solve(source), lw.solve(cost, device="cuda")
        assert np.array_equal(found.row_to_col, expected.row_to_col) and np.array_equal(found.v, expected.v)


def test_points_of_torch_are_answered_in_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    x, y = points((2000, 2000), 2, "float32")
    source = lw.costs.squared_euclidean(torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda().flip(0))
    found = lw.solve(source)
    assert found.row_to_col.is_cuda and found.u.is_cuda
    expected = lw.solve(lw.costs.squared_euclidean(x, y[::-1]), device="cpu")
    assert found.objective == expected.objective
    assert np.array_equal(lw.solve(source, maximize=True, device="cuda").row_to_col.cpu().numpy().shape, (2000,))


def test_a_time_limit() -> None:
    source = instances.computed("geometric", 50_000, 1, dtype=np.float32)
    found = lw.solve(source, device="cuda", time_limit=0.05)
    assert found.status == "time_limit" and (np.sort(found.row_to_col) == np.arange(50_000)).all()
    assert found.lower_bound <= found.objective
