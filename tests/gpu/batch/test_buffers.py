"""Batches in buffers of another program, on its stream."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.buffers import solve_into
from support.gpu_memory import OnGpu


@pytest.mark.parametrize("priced", [(), (6,), (6, 9)], ids=["unpriced", "rows", "rows and columns"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_into_buffers(gpu, dtype, priced):
    costs = (50 * np.random.default_rng(0).random((2, 3, 6, 9))).astype(dtype)
    sums = np.int64 if dtype == "int64" else np.float64
    prices = [np.full((2, 3, size), 34 - 5 * size, sums) for size in priced]
    answer = np.zeros((2, 3, 6), np.int64), np.zeros((2, 3), sums), np.full((2, 3), 9, np.int32)
    buffers = tuple(OnGpu(gpu, each) for each in answer)
    given = tuple(OnGpu(gpu, each.view(np.uint32).reshape(*each.shape, 2)) for each in prices)
    solve_into(SimpleNamespace(stream=gpu.context.stream_handle), buffers, OnGpu(gpu, costs), given, maximize=True)
    row_to_col, objective, status = (gpu.get(each.memory) for each in buffers)
    assert not status.any()
    for b in np.ndindex(2, 3):
        of_lines = [each[b] for each in prices] or [None]
        expected = lw.solve(costs[b], maximize=True, unmatched_cost=of_lines[0] if len(priced) < 2 else tuple(of_lines))
        assert objective[b] == pytest.approx(expected.objective, rel=1e-12)
        assert np.array_equal(row_to_col[b], expected.row_to_col)


def test_problems_without_an_answer(gpu):
    costs = np.zeros((2, 3, 3), np.float32)
    costs[1, 0] = np.inf
    buffers = tuple(OnGpu(gpu, np.ones(shape, kind)) for shape, kind in (((2, 3), "i8"), ((2,), "f8"), ((2,), "i4")))
    solve_into(SimpleNamespace(stream=gpu.context.stream_handle), buffers, OnGpu(gpu, costs), (), False)
    row_to_col, objective, status = (gpu.get(each.memory) for each in buffers)
    assert status.tolist() == [0, 1] and objective[0] == 0 and np.isnan(objective[1]) and (row_to_col[1] == -1).all()
