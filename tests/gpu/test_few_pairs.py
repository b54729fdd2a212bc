"""Costs on a GPU with few pairs: fetched, solved on the host, and answered in the library of the costs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw
from lapwing.gpu import plan as gpu_plan
from lapwing.gpu.runtime.copies import read
from support.emulated_solves import draw
from support.gpu_memory import Gpu, OnGpu
from support.sparse import CupyMatrix, pretend_cupy


@pytest.fixture
def host_pairs(kernels_for_few_pairs, monkeypatch):
    monkeypatch.setattr(gpu_plan, "HOST_PAIRS", 1000)
    monkeypatch.setattr(gpu_plan, "HOST_ENTRIES", 500)


@pytest.mark.usefixtures("host_pairs")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 5.0}, {"certify": False}])
@pytest.mark.parametrize("shape", [(12, 12), (9, 20), (20, 9)])
def test_solved_on_the_host(emulated_gpu, shape, options, dtype):
    cost = draw(shape, dtype, kind="ties")
    gpu = Gpu(emulated_gpu)
    result = lw.solve(OnGpu(gpu, cost), **options)
    want = lw.solve(cost, **options)
    assert result.plan.device == "cpu" and "fetched from GPU 0" in str(result.plan)
    assert result.objective == want.objective and (result.certificate is None) == (not options.get("certify", True))
    for name in ("row_to_col", "col_to_row", "u", "v"):
        view = getattr(result, name)._view
        assert np.array_equal(read(emulated_gpu, view.ptr, view.shape[0], str(view.dtype)), getattr(want, name))


@pytest.mark.usefixtures("host_pairs")
def test_a_named_device_a_method_or_a_start_keeps_it_on_the_gpu(emulated_gpu):
    cost = draw((12, 12), "float32")
    given, duals = OnGpu(Gpu(emulated_gpu), cost), lw.solve(cost)
    for asked in ({"device": "cuda"}, {"method": "core"}, {"start": duals}):
        result = lw.solve(given, **asked)
        assert result.plan.device == "cuda:0"
        assert result.objective == pytest.approx(duals.objective, rel=1e-6) and result.certificate.complete
    assert lw.plan(given).device == "cpu"
    assert lw.plan(OnGpu(Gpu(emulated_gpu), draw((40, 40), "float32"))).device == "cuda:0"


@pytest.mark.usefixtures("host_pairs")
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 5.0}, {"certify": False}])
def test_few_entries(emulated_gpu, monkeypatch, form, options):
    pretend_cupy(monkeypatch)
    matrix = sp.coo_array(draw((60, 60), "float32")).asformat(form)
    few = sp.coo_array(np.triu(np.tril(matrix.toarray(), 3), -3)).asformat(form)
    gpu = Gpu(emulated_gpu)
    result, want = lw.solve(CupyMatrix(gpu, few), **options), lw.solve(few, **options)
    assert result.plan.device == "cpu" and result.plan.tier == "sparse"
    assert "fetched from GPU 0" in str(result.plan) and "500 entries" in str(result.plan)
    assert result.objective == want.objective and (result.certificate is None) == (not options.get("certify", True))
    for name in ("row_to_col", "col_to_row", "u", "v"):
        view = getattr(result, name)._view
        assert np.array_equal(read(emulated_gpu, view.ptr, view.shape[0], str(view.dtype)), getattr(want, name))
    assert lw.solve(CupyMatrix(gpu, matrix), **options).plan.device == "cuda:0"
    for asked in ({"device": "cuda"}, {"method": "core"}):
        assert lw.solve(CupyMatrix(gpu, few), **asked).plan.device == "cuda:0"


@pytest.mark.usefixtures("host_pairs")
def test_errors_are_those_of_the_host(emulated_gpu):
    gpu, cost = Gpu(emulated_gpu), np.full((5, 5), np.inf, np.float32)
    with pytest.raises(lw.InfeasibleError, match=r"this 1 row \(0\)"):
        lw.solve(OnGpu(gpu, cost))
    assert lw.solve(OnGpu(gpu, cost), infeasible="partial").status == "partial"
    cost[2, 3] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[2, 3\] is nan"):
        lw.solve(OnGpu(gpu, cost))


@pytest.mark.gpu
@pytest.mark.usefixtures("host_pairs")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_tensors_are_answered_with_tensors_on_the_gpu(dtype):
    torch = pytest.importorskip("torch")
    cost = torch.randint(0, 100, (20, 30), device="cuda").to(getattr(torch, dtype))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        late = cost + 1
        result = lw.solve(late)
    want = lw.solve(late.cpu())
    assert result.plan.device == "cpu"
    assert all(a.is_cuda for a in (result.row_to_col, result.col_to_row, result.u, result.v))
    assert result.objective == want.objective and result.certificate.complete
