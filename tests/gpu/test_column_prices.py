"""Prices of columns beside those of rows, of costs on a GPU: solved by the host, answered there."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import solve_arrays
from support.gpu_memory import Gpu, OnGpu

PRICES = np.array([3.0, 2, 4, 1]), np.array([1.0, 0, 2, 5, 1])


def costs(count=3):
    return np.random.default_rng(1).integers(0, 9, (count, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_matrix_on_the_host(emulated_gpu, maximize):
    cost = costs()[0]
    result = lw.solve(cost, device="cuda", unmatched_cost=PRICES, maximize=maximize)
    want = lw.solve(cost, unmatched_cost=PRICES, maximize=maximize)
    assert result.objective == want.objective and result.certificate.exact
    assert result.plan.device == "cpu" and "prices of columns" in str(result.plan)


def test_points_and_functions(emulated_gpu):
    x, y = np.random.default_rng(2).random((2, 5, 3))
    source = lw.costs.euclidean(x, y)
    result = lw.solve(source, device="cuda", unmatched_cost=(0.5, 0.1))
    assert result.objective == lw.solve(source, unmatched_cost=(0.5, 0.1)).objective
    only = lw.costs.cuda_source("float cost(long long i, long long j) { return float(i + j); }", shape=(3, 3))
    with pytest.raises(lw.ArgumentError, match="prices of columns are solved on the CPU"):
        lw.solve(only, unmatched_cost=(1, 1))


def test_batches_of_the_host(emulated_gpu):
    batch = lw.solve_batch(costs(), device="cuda", unmatched_cost=PRICES)
    assert batch.objective.tolist() == [lw.solve(cost, unmatched_cost=PRICES).objective for cost in costs()]


@pytest.mark.parametrize("certify", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_batches_of_a_gpu(emulated_gpu, monkeypatch, dtype, certify):
    """Handed over by the library of the costs, which the emulator has none of."""
    gpu, stack = Gpu(emulated_gpu), costs().astype(dtype)
    monkeypatch.setattr("lapwing.gpu.batch.solve._handed_over", lambda _, answer, __: answer)
    rows, cols = np.array([4, 2, 0]), np.array([5, 3, 5])
    options = BatchOptions(False, PRICES, OnGpu(gpu, rows), OnGpu(gpu, cols), certify=certify)
    answer = solve_arrays(OnGpu(gpu, stack), options)
    row_to_col, objective, status, *proofs = (None if x is None else gpu.get(x) for x in answer.arrays)
    assert not status.any() and row_to_col.shape == (3, 4)
    for b in range(3):
        m, n = rows[b], cols[b]
        want = lw.solve(stack[b, :m, :n], unmatched_cost=(PRICES[0][:m], PRICES[1][:n]))
        assert objective[b] == want.objective and (row_to_col[b] >= 0).sum() == len(want.pairs)
    assert (proofs == [None, None]) if not certify else not any(part.any() for part in proofs[2:])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_tensors_stay_on_the_gpu(dtype):
    torch = pytest.importorskip("torch")
    cost = torch.from_numpy(costs()).cuda().to(getattr(torch, dtype))
    on_gpu = tuple(torch.from_numpy(each).cuda() for each in PRICES)
    for prices in (PRICES, on_gpu):
        first = cost[0]
        result = lw.solve(first, unmatched_cost=prices)
        want = lw.solve(costs()[0], unmatched_cost=PRICES)
        parts = (result.row_to_col, result.col_to_row, result.u, result.v)
        assert all(part.is_cuda for part in parts)
        assert result.objective == want.objective and result.certificate.exact and result.plan.device == "cpu"
        assert result.is_unique() == want.is_unique()
        batch = lw.solve_batch(cost, unmatched_cost=prices, certify=True)
        assert batch.row_to_col.is_cuda and not batch.status.any() and not batch.certificate.gap.any()
        assert batch.objective[0] == want.objective
