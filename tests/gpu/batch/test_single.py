"""Batches of problems too large for a block: the same answer, by the method of single problems."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch import solve as batch
from lapwing.gpu.batch.api import solve_batch
from lapwing.gpu.batch.plan import Crossovers, TooLargeError
from lapwing.gpu.runtime.device import Context
from support.gpu_memory import Gpu, OnGpu


@pytest.fixture
def single(emulated_gpu, monkeypatch):
    """A GPU on which every problem is too large for a block; of a call, its answer on the host."""
    gpu = Gpu(emulated_gpu)

    def refuse(*_, **__):
        raise TooLargeError("as if")

    monkeypatch.setattr(batch, "solve_stack", refuse)
    monkeypatch.setattr(batch, "_handed_over", lambda _, answer, cols: answer)

    def solve(costs, **options):
        answer = solve_batch(OnGpu(gpu, costs), **options)
        return [None if part is None else gpu.get(part) for part in answer.arrays]

    return solve


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("shape", [(3, 12, 12), (3, 14, 9), (2, 9, 14)])
def test_the_same_answer(single, shape, priced):
    costs = np.random.default_rng(0).random(shape, np.float32)
    prices = 0.25 if priced else None
    row_to_col, objective, status, u, v, violation, gap, fault = single(costs, unmatched_cost=prices, certify=True)
    assert not status.any() and not fault.any() and (violation == 0).all() and (gap == 0).all()
    for b, cost in enumerate(costs):
        assert objective[b] == pytest.approx(lw.solve(cost, unmatched_cost=prices).objective, rel=1e-12)
        assert lw.certify(cost, row_to_col[b], u[b], v[b], unmatched_cost=prices).exact


def test_one_problem_harms_no_other(single):
    costs = np.random.default_rng(1).random((5, 10, 10)).astype(np.float32)
    costs[1, 2, 3] = np.nan
    costs[3, 4] = np.inf
    row_to_col, objective, status, u, v, *_ = single(
        costs, row_counts=[10, 10, 7, 10, 10], col_counts=[10, 10, 9, 10, 10]
    )
    assert status.tolist() == [0, 2, 0, 1, 0] and u is None and v is None
    assert np.isnan(objective[[1, 3]]).all() and (row_to_col[[1, 3]] == -1).all()
    assert objective[2] == pytest.approx(lw.solve(costs[2, :7, :9]).objective) and (row_to_col[2, 7:] == -1).all()
    with pytest.raises(lw.InvalidCostError, match="nan") as caught:
        single(costs, check=True)
    assert caught.value.__notes__ == ["in problem 1 of the batch"]


@pytest.mark.slow
def test_integers(single):
    costs = np.random.default_rng(2).integers(-50, 50, (2, 11, 11))
    row_to_col, objective, status, *_ = single(costs, maximize=True)
    assert objective.tolist() == [lw.solve(cost, maximize=True).objective for cost in costs]
    assert objective.dtype == np.int64 and not status.any()
    assert (np.sort(row_to_col) == np.arange(11)).all()


def test_few_large_problems_have_the_whole_gpu(emulated_gpu, monkeypatch):
    """Unless a graph is captured, when the host must not wait."""
    gpu = Gpu(emulated_gpu)
    monkeypatch.setattr(batch, "CROSSOVERS", Crossovers(whole_gpu=40))
    monkeypatch.setattr(batch, "_handed_over", lambda _, answer, cols: answer)
    singly, seen = batch.solve_singly, []

    def watched(context, stack, options):
        seen.append(stack.shape)
        return singly(context, stack, options)

    monkeypatch.setattr(batch, "solve_singly", watched)
    rng = np.random.default_rng(3)
    stacks = [
        rng.random(shape, np.float32) for shape in ((1, 40, 40), (2, 57, 57), (2, 56, 56), (1, 3, 9), (0, 50, 50))
    ]
    captured = False
    monkeypatch.setattr(Context, "is_capturing", lambda _: captured)
    for stack in stacks:
        answer = solve_batch(OnGpu(gpu, stack), duals=True, certify=True)
        parts = [gpu.get(part) for part in answer.arrays]
        assert parts[1] == pytest.approx([lw.solve(cost).objective for cost in stack], rel=1e-6)
    assert seen == [(1, 40, 40), (2, 57, 57)]
    captured = True
    solve_batch(OnGpu(gpu, stacks[0]))
    assert len(seen) == 2
