"""Prices from column minima, where a sample of rows may spare the rest (kernels/core_minima.cuh)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lapwing.gpu.core import solver as core
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import OPTIMAL, UNFINISHED, WARM_UP, CoreSolve
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.runtime.copies import read

STEP = 16  # of so many rows one is in the sample
SIZE = 400


def prices_of(gpu, monkeypatch, cost: np.ndarray, sampled: bool, maximize: bool = False) -> np.ndarray:
    """Where a solve starts; and lists under these prices are good for one."""
    monkeypatch.setattr(core, "_SAMPLED_BYTES", 0 if sampled else math.inf)
    given, size = gpu.put(cost), len(cost)
    with Monitor(gpu.context) as monitor:
        matrix = CanonicalMatrix(given.pointer, size, size, cost.strides[0] // cost.itemsize, cost.dtype.name, maximize)
        solve = CoreSolve(gpu.context, matrix, monitor)
        assert solve.start_at_column_minima()
        prices = read(gpu.context, solve.v, size, matrix.dual_dtype)
        solve.list_rows()
        solve.launch(WARM_UP)
        assert solve.report().status in (OPTIMAL, UNFINISHED)
        u, v = (read(gpu.context, at, size, matrix.dual_dtype) for at in (solve.u, solve.v))
    minimised = (-1 if maximize else 1) * cost.astype(u.dtype)
    assert (minimised - u[:, None] - v).min() >= (-1e-9 if u.dtype.kind == "f" else 0)
    return prices


def draw(kind: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    most = 100 if dtype == "int8" else 30_000
    if kind == "any":
        return np.rint(most * rng.random((SIZE, SIZE))).astype(dtype)
    if kind == "small integers":
        return (rng.integers(0, 20, (SIZE, SIZE)) - 7).astype(dtype)
    rows, cols = (rng.integers(0, most // 4, SIZE) for _ in range(2))
    return (rows[:, None] + cols + most // 8 * (1 - np.eye(SIZE))).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint16"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
def test_minima_of_all_rows(gpu, monkeypatch, dtype, maximize, sampled) -> None:
    cost = draw("any", dtype)
    if dtype == "int8":  # whose columns had the same minimum else
        cost[:, : SIZE // 2] += 20
    prices = prices_of(gpu, monkeypatch, cost, sampled, maximize)
    assert (prices == ((-1 if maximize else 1) * cost.astype(prices.dtype)).min(axis=0)).all()


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64"])
@pytest.mark.parametrize("maximize", [False, True])
def test_small_integers_need_no_prices(gpu, monkeypatch, dtype, maximize) -> None:
    assert not prices_of(gpu, monkeypatch, draw("small integers", dtype), True, maximize).any()


@pytest.mark.parametrize(("dtype", "factor"), [("int32", 1), ("float32", 1), ("float32", 1 / 3), ("float64", 1 / 3)])
def test_of_sums_a_sample_tells_all(gpu, monkeypatch, dtype, factor) -> None:
    cost = (draw("sums", "float64") * factor).astype(dtype)
    sample = cost[::STEP].astype(np.float64)
    assert (prices_of(gpu, monkeypatch, cost, True) == sample.min(axis=0)).all()


def test_what_is_not_finite(gpu, monkeypatch) -> None:
    cost = draw("any", "float32")
    cost[:, 5] = np.inf
    cost[: SIZE - 20, 7] = np.inf
    expected = cost.min(axis=0)
    expected[5] = 0
    monkeypatch.setattr(core, "_SAMPLED_BYTES", 0)
    given = gpu.put(cost)
    with Monitor(gpu.context) as monitor:
        solve = CoreSolve(gpu.context, CanonicalMatrix(given.pointer, SIZE, SIZE, SIZE, "float32", False), monitor)
        assert solve.start_at_column_minima()
        assert (read(gpu.context, solve.v, SIZE, "float64") == expected).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32"])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(
    ("size", "pitch", "offset"), [(403, 403, 1), (401, 416, 0), (400, 416, 3), (37, 37, 5), (3, 3, 1)]
)
def test_rows_that_are_no_whole_packs(gpu, monkeypatch, dtype, sampled, size, pitch, offset) -> None:
    monkeypatch.setattr(core, "_SAMPLED_BYTES", 0 if sampled else math.inf)
    cost = np.random.default_rng(4).integers(-100, 100, (size, size)).astype(dtype)
    memory = np.full(offset + size * pitch + 16, -128, dtype)  # less than any cost
    np.lib.stride_tricks.as_strided(memory[offset:], (size, size), (pitch * memory.itemsize, memory.itemsize))[:] = cost
    given = gpu.put(memory)
    with Monitor(gpu.context) as monitor:
        at = given.pointer + offset * memory.itemsize
        solve = CoreSolve(gpu.context, CanonicalMatrix(at, size, size, pitch, dtype, False), monitor)
        assert solve.start_at_column_minima()
        prices = read(gpu.context, solve.v, size, solve.matrix.dual_dtype)
        solve.list_rows()
        solve.launch(WARM_UP)
        assert solve.report().status in (OPTIMAL, UNFINISHED)
        u, v = (read(gpu.context, of, size, solve.matrix.dual_dtype) for of in (solve.u, solve.v))
    least = cost.min(axis=0)
    lowest = cost[::STEP].min(axis=0)
    assert (prices == least).all() or (sampled and ((prices == lowest).all() or not prices.any()))
    assert (cost - u[:, None] - v).min() >= 0
