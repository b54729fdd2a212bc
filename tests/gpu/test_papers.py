"""The methods of papers on a GPU: the contract of all methods, on problems of many kinds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from test_solve import KINDS, check, draw, on_gpu

import lapwing as lw
from lapwing import instances
from lapwing.gpu.papers import PAPERS

pytestmark = [pytest.mark.gpu, pytest.mark.parametrize("method", PAPERS)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64"])
def test_kinds(method: str, kind: str, dtype: str) -> None:
    random = np.random.default_rng(3)
    for rows, cols in ((1, 1), (33, 65), (257, 257), (600, 600), (300, 111)):
        cost = draw(random, rows, cols, kind)
        cost = (1000 * cost if dtype.startswith("int") else cost).astype(dtype)
        check(cost, maximize=rows == 257, method=method)


def test_the_same_every_time(method: str) -> None:
    cost = on_gpu(instances.generate("int:10", 1500, 1, dtype="int32"))
    first, again = (lw.solve(cost, method=method) for _ in range(2))
    assert (first.row_to_col == again.row_to_col).all() and (first.u == again.u).all() and (first.v == again.v).all()
    assert first.objective == lw.solve(cost).objective


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


def test_a_time_limit(method: str) -> None:
    cost = on_gpu(instances.generate("disjoint", 6000, 1, dtype="float32"))
    lw.solve(cost[:50, :50].contiguous(), method=method)  # compiled
    began = time.perf_counter()
    result = lw.solve(cost, method=method, time_limit=0.05)
    assert time.perf_counter() - began < 1.0
    assert result.status == "optimal" or result.lower_bound <= result.objective
