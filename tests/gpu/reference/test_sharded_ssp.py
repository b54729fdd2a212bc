"""Method "ssp" on several GPUs: emulated ones, which search together while the host waits."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu.kinds import choose
from lapwing.gpu.reference import ReferenceSolve, sharded_ssp, ssp
from support import emulated_toolkit
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted, draw
from support.gpu_memory import Gpu, OnGpu


@pytest.fixture(autouse=True)
def searched_together(monkeypatch):
    """Kernels of all GPUs at once, in small blocks; no matrix is so small that one GPU solves it."""
    monkeypatch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
    monkeypatch.setattr(ReferenceSolve, "threads", 64)
    monkeypatch.setattr(ssp.SspSolve, "search_threads", 32)
    monkeypatch.setattr(choose, "LEAST_SHARDED_BYTES", 1)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
def test_small_problems(gpus, kind, maximize, count):
    cost = draw((45, 45), "float32", kind=kind)
    result = lw.solve(cost, device=gpus(count), method="ssp", maximize=maximize)
    assert result.plan.method == "ssp" and result.plan.device == ",".join(gpus(count))
    assert_optimal(result, cost, maximize=maximize)


@pytest.mark.parametrize("cls", ["uniform", "geometric", "lowrank:1", "int:1"])
def test_it_reads_the_rows_of_one_gpu(gpus, cls):
    """Sums by GPU may differ in their last bits, and with them what is read after them."""
    cost = np.asarray(instances.generate(cls, 60, 1, dtype="int32" if cls == "int:1" else "float32"))
    one = lw.solve(cost.T.copy(), device="cuda", method="ssp")
    result = lw.solve(cost, device=gpus(3), method="ssp")
    assert_optimal(result, cost)
    assert result.statistics["rows_scanned"] == pytest.approx(one.statistics["rows_scanned"], rel=0.05)


def test_shards_of_any_size(gpus, monkeypatch):
    """More GPUs than a warp has letters at once, rows that are no whole packs, and GPUs with hardly a row."""
    monkeypatch.setattr(emulated_toolkit.DRIVER, "count", 8)
    cost = draw((11, 11), "float32", 3)
    assert_optimal(lw.solve(cost, device=gpus(8), method="ssp"), cost)
    assert_optimal(lw.solve(cost[:2, :2], device=gpus(2), method="ssp"), cost[:2, :2])


def test_plain_shortest_paths(gpus):
    cost = draw((40, 40), "int32")
    result = lw.solve(cost, device=gpus(2), method=lw.Ssp(pricing=False))
    assert_optimal(result, cost)
    assert result.statistics["phases"] == 1


def test_columns_that_shared_memory_has_no_room_for(gpus, monkeypatch):
    monkeypatch.setattr(ssp, "_STATIC_BYTES", 1 << 20)
    cost = draw((45, 45), "float32", kind="points")
    assert_optimal(lw.solve(cost, device=gpus(3), method="ssp"), cost)


def test_forbidden_pairs(gpus):
    cost = draw((30, 30), "float32")
    cost[np.random.default_rng(1).random(cost.shape) < 0.5] = np.inf
    assert_optimal(lw.solve(cost, device=gpus(2), method="ssp"), cost)
    cost[3:, :4] = np.inf
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device=gpus(2), method="ssp")
    assert_hall_violator(caught.value, cost)
    partial = lw.solve(cost, device=gpus(2), method="ssp", infeasible="partial")
    assert partial.objective == lw.solve(cost, infeasible="partial").objective
    cost[11, 13] = np.nan
    with pytest.raises(lw.InvalidCostError) as named:
        lw.solve(cost, device=gpus(2), method="ssp")
    assert (named.value.row, named.value.col) == (11, 13)
    cost[:] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(cost, device=gpus(2), method="ssp")


def test_no_time_at_all(gpus, monkeypatch):
    solve = lw.solve

    def solved(cost, device=None, **options):
        return solve(cost, device=gpus(2) if device else None, **options)

    monkeypatch.setattr("support.emulated_solves.lw.solve", solved)
    assert check_interrupted(draw((30, 30), "float32"), method="ssp", time_limit=0).status == "time_limit"


def test_what_the_callable_raises_stops_the_solve(gpus):
    cost = draw((40, 40), "float32", kind="points")

    def refuse(progress):
        raise LookupError

    with pytest.raises(LookupError):
        lw.solve(cost, device=gpus(2), method="ssp", progress=refuse)
    assert_optimal(lw.solve(cost, device=gpus(2), method="ssp"), cost)


def test_whoever_waits_for_a_gpu_that_has_failed_can_be_stopped(gpus, monkeypatch):
    """The kernel of the second GPU never sends a letter."""
    launched = sharded_ssp.launch_cluster

    def fail(context, *arguments):
        if context.info.ordinal == 0:
            launched(context, *arguments)

    monkeypatch.setattr(sharded_ssp, "launch_cluster", fail)
    cost = draw((20, 20), "float32")
    result = lw.solve(cost, device=gpus(2), method="ssp", time_limit=0.5)
    assert result.status == "time_limit" and result.certificate.complete


def test_what_it_does_not_solve(gpus, emulated_gpu):
    cost = draw((20, 30), "float32")
    square = cost[:, :20]
    for given, options in ((cost, {}), (cost, {"unmatched_cost": 1.0}), (square, {"start": lw.solve(square)})):
        with pytest.raises(lw.ArgumentError, match="square matrices, without unmatched_cost or start"):
            lw.solve(given, device=gpus(2), method="ssp", **options)
    with pytest.raises(lw.ArgumentError, match="give each GPU one shard"):
        lw.solve(square, device=["cuda:0", "cuda:0"], method="ssp")
    shards = [OnGpu(Gpu(emulated_gpu), np.zeros((10, 20), np.float16)) for _ in range(2)]
    with pytest.raises(lw.DtypeError, match="float16"):
        lw.solve(lw.costs.sharded(shards), method="ssp")


def test_points_whose_matrix_the_gpus_hold(gpus, monkeypatch):
    monkeypatch.setattr(choose, "has_room", lambda *_: False)  # on one GPU
    x, y = np.random.default_rng(1).random((2, 30, 9), np.float32)
    source = lw.costs.squared_euclidean(x, y)
    result = lw.solve(source, device=gpus(2), method="ssp")
    assert result.plan.method == "ssp" and result.plan.tier == "sharded"
    assert_optimal(result, np.asarray(source))
