"""The methods of papers on a GPU: the contract of all methods, on problems of many kinds."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu.reference import REFERENCE_METHODS
from support.gpu_solves import KINDS, check, draw, on_gpu

pytestmark = pytest.mark.gpu
every_method = pytest.mark.parametrize("method", REFERENCE_METHODS)


@every_method
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64"])
def test_kinds(method: str, kind: str, dtype: str) -> None:
    random = np.random.default_rng(3)
    for rows, cols in ((1, 1), (33, 65), (257, 257), (600, 600), (300, 111)):
        cost = draw(random, rows, cols, kind)
        cost = (1000 * cost if dtype.startswith("int") else cost).astype(dtype)
        check(cost, maximize=rows == 257, method=method)


@every_method
def test_the_same_every_time(method: str) -> None:
    cost = on_gpu(instances.generate("int:10", 1500, 1, dtype="int32"))
    first, again = (lw.solve(cost, method=method) for _ in range(2))
    assert (first.row_to_col == again.row_to_col).all() and (first.u == again.u).all() and (first.v == again.v).all()
    assert first.objective == lw.solve(cost).objective


@every_method
def test_prices_and_forbidden_pairs(method: str) -> None:
    random = np.random.default_rng(4)
    cost = random.random((300, 400)).astype(np.float32)
    cost[random.random(cost.shape) < 0.9] = np.inf
    prices = random.random(300)
    result = lw.solve(on_gpu(cost), method=method, unmatched_cost=prices)
    assert result.objective == pytest.approx(lw.solve(cost, unmatched_cost=prices).objective, rel=1e-12)
    cost[:20, 10:] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(on_gpu(cost), method=method)


@every_method
def test_a_time_limit(method: str) -> None:
    cost = on_gpu(instances.generate("disjoint", 6000, 1, dtype="float32"))
    lw.solve(cost[:50, :50].contiguous(), method=method)  # compiled
    began = time.perf_counter()
    result = lw.solve(cost, method=method, time_limit=0.05)
    assert time.perf_counter() - began < 1.0
    assert result.status == "optimal" or result.lower_bound <= result.objective


@pytest.mark.parametrize("cls", ["uniform", "geometric", "disjoint", "lowrank:1", "int:1"])
@pytest.mark.parametrize("shape", [(1000, 1000), (600, 700), (200, 9000)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_ssp_reads_the_rows_of_the_cpu(cls: str, shape: tuple[int, int], dtype: str) -> None:
    cost = instances.generate(cls, shape[0], 1, cols=shape[1])
    cost = (1e6 * cost / cost.max()).astype(dtype)
    expected, result = (lw.solve(cost, method="ssp", device=device) for device in ("cpu", "cuda"))
    ours, theirs = result.statistics, expected.statistics
    assert ours["rows_scanned"] == theirs["rows_scanned"] + shape[0] and ours["phases"] == theirs["phases"]
    assert np.array_equal(result.row_to_col, expected.row_to_col) and np.array_equal(result.v, expected.v)


@pytest.mark.parametrize(("cls", "dtype"), [("uniform", "float32"), ("geometric", "float64"), ("int:1", "int32")])
def test_auctions_with_lists_make_the_same_bids(cls: str, dtype: str) -> None:
    cost = on_gpu(instances.generate(cls, 2000, 1, dtype=dtype))
    optimised, plain = (lw.solve(cost, method=lw.Auction(name)) for name in ("optimised", "plain"))
    assert (optimised.row_to_col == plain.row_to_col).all() and (optimised.v == plain.v).all()
    assert optimised.statistics["bids"] == plain.statistics["bids"] and optimised.statistics["auction_left"] == 0
    assert optimised.statistics["rows_scanned"] < plain.statistics["rows_scanned"] / 2


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_price_wars_end(dtype: str) -> None:
    cost = np.full((2000, 2000), 10**9, dtype)
    cost[:, :1000] = 0
    check(cost, method="auction")
