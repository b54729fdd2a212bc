"""``infeasible="partial"`` and ``invalid="forbid"`` on a GPU: the CPU's answers, in the library of the costs."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.check import STATUS, settle
from lapwing.gpu.batch.inputs import BatchOptions, make_request
from lapwing.gpu.batch.launch import BatchArrays, outputs_of
from lapwing.gpu.runtime.copies import fill_bytes, write
from support.gpu_memory import Gpu


def gated(seed, shape, maximize=False):
    rng = np.random.default_rng(seed)
    forbidden = -np.inf if maximize else np.inf
    return np.where(rng.random(shape) < 0.06, rng.integers(0, 50, shape), forbidden).astype(np.float32)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(20, 20), (14, 30), (30, 14)])
def test_as_many_pairs_as_possible(shape, maximize):
    cost = gated(sum(shape), shape, maximize)
    options = {"maximize": maximize, "infeasible": "partial"}
    result, other = lw.solve(cost, device="cuda", **options), lw.solve(cost, **options)
    assert result.status == other.status == "partial" and result.certificate.exact
    assert result.objective == other.objective and len(result.pairs) == len(other.pairs)
    assert lw.solve(cost, device="cuda", certify=False, **options).objective == other.objective
    assert lw.solve(np.zeros((3, 0)), device="cuda", unmatched_cost=np.inf, infeasible="partial").status == "partial"


def test_the_host_settles_what_a_batch_cannot_solve(emulated_gpu):
    gpu, costs = Gpu(emulated_gpu), np.stack([gated(seed, (9, 9)) for seed in range(3)])
    options = BatchOptions(duals=True, certify=True, infeasible="partial")
    options.check_flags()
    stack = gpu.put(costs)
    request = make_request(emulated_gpu, stack, options)
    answer = BatchArrays(emulated_gpu, stack, outputs_of(request.form)[True, True])
    for array in answer.arrays:
        fill_bytes(emulated_gpu, array.pointer, 0, array.nbytes)
    write(emulated_gpu, answer.pointers[STATUS], np.array([1, 0, 1], np.int32))
    settle(emulated_gpu, request, answer, options)
    row_to_col, objective, status, *_ = (gpu.get(array) for array in answer.arrays)
    assert status.tolist() == [6, 0, 6]
    for b in (0, 2):
        want = lw.solve(costs[b], infeasible="partial")
        assert objective[b] == want.objective and (row_to_col[b] >= 0).sum() == len(want.pairs)


def on_gpu(array):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array).cuda()


@pytest.mark.gpu
def test_tensors_stay_on_the_gpu():
    cost = gated(1, (200, 220))
    cost[[7, 70]] = np.inf
    result = lw.solve(on_gpu(cost), infeasible="partial")
    other = lw.solve(cost, infeasible="partial")
    assert result.row_to_col.is_cuda and result.u.is_cuda and result.status == "partial"
    assert result.objective == other.objective and result.certificate.exact
    costs = np.stack([gated(seed, (30, 30)) for seed in range(5)])
    costs[:, 3] = np.inf
    batch = lw.solve_batch(on_gpu(costs), infeasible="partial")
    assert batch.status.tolist() == [6] * 5 and batch.row_to_col.is_cuda


@pytest.mark.gpu
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_alone(dtype, maximize):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    cost = rng.random((50, 60)).astype(np.float32)
    cost[rng.random(cost.shape) < 0.3] = np.nan
    given = on_gpu(cost).to(getattr(torch, dtype))
    host = given.float().cpu().numpy()
    filled = np.where(np.isnan(host), -np.inf if maximize else np.inf, host)
    result = lw.solve(given, maximize=maximize, invalid="forbid")
    assert result.objective == pytest.approx(lw.solve(filled, maximize=maximize).objective, rel=1e-12)
    assert result.invalid_pairs.is_cuda and result.invalid_pairs.tolist() == np.argwhere(np.isnan(host)).tolist()
    assert result.is_unique() in (True, False) and result.pair_costs.isfinite().all()
    stack = given.expand(3, 50, 60)
    batch = lw.solve_batch(stack, maximize=maximize, invalid="forbid")
    assert batch.status.tolist() == [0, 0, 0] and len(batch.invalid_pairs) == 3 * np.isnan(host).sum()
