"""Rows of several processes, whose memories on GPUs rank 0 opens; here they are one process's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lapwing as lw
from lapwing.inputs import make_problem
from lapwing.request import Request
from support import emulated_toolkit
from support.emulated_solves import draw
from support.gpu_memory import Gpu, OnGpu

pytest.importorskip("torch")

from lapwing.distributed.peer_memory import PeerMemory, exported, planned_on_gpus, solve_on_gpus
from lapwing.distributed.points import GatheredPoints, RowsOfPoints


@pytest.fixture
def ranks(gpus, emulated_gpu):
    """The rows of three ranks, and what they say of their memory."""
    cost = draw((60, 70), "float32", 12)
    arrays = [OnGpu(Gpu(emulated_gpu), part) for part in np.split(cost, [20, 45])]
    told = [json.loads(json.dumps(exported(array))) for array in arrays]
    for ordinal, each in enumerate(told):
        each["gpu"] = bytes([ordinal] * 16).hex()
    return cost, arrays, told


def test_memories_of_other_processes(ranks):
    cost, arrays, told = ranks
    peers = PeerMemory.of(arrays[0], told, ["here"] * 3)
    looks = []
    with peers.opened() as matrix:
        problem = make_problem(matrix)
        answer, certificate, plan = solve_on_gpus(matrix, problem, Request(memory_limit=0), lambda: looks.append(1))
        assert planned_on_gpus(matrix, problem, Request()).device == plan.device == "cuda:0,cuda:1,cuda:2"
    assert emulated_toolkit.COUNTS["opened"] == 0
    one = lw.solve(cost, device="cuda")
    assert certificate.exact and (answer.row_to_col == one.row_to_col).all() and (answer.u == one.u).all()
    assert looks


def test_memories_that_cannot_be_opened(ranks, monkeypatch):
    _, arrays, told = ranks
    assert PeerMemory.of(arrays[0], told, ["here", "here", "there"]) is None
    assert PeerMemory.of(arrays[0], [*told[:2], None], ["here"] * 3) is None
    assert PeerMemory.of(arrays[0], [*told[:2], told[2] | {"gpu": "another"}], ["here"] * 3) is None
    monkeypatch.setattr(emulated_toolkit.DRIVER, "exports", False)
    assert exported(arrays[0]) is None


def test_a_rank_that_is_gone_ends_the_solve(ranks):
    _, arrays, told = ranks

    def look_after():
        raise lw.GroupError("rank 1 is gone")

    with PeerMemory.of(arrays[0], told, ["here"] * 3).opened() as matrix, pytest.raises(lw.GroupError):
        solve_on_gpus(matrix, make_problem(matrix), Request(), look_after)
    assert emulated_toolkit.COUNTS["opened"] == 0


@pytest.mark.parametrize("maximize", [False, True])
def test_points_of_all_ranks(emulated_gpu, maximize):
    """Rank 0 is sent them, and solves as if they had been its own."""
    random = np.random.default_rng(3)
    x, y = random.random((50, 2), np.float32), random.random((60, 2), np.float32)
    gpu, request = Gpu(emulated_gpu), Request(maximize=maximize)
    sources = [lw.costs.euclidean(OnGpu(gpu, part), OnGpu(gpu, y)) for part in np.split(x, [20, 20, 45])]
    rows = [RowsOfPoints(make_problem(source, maximize), source) for source in sources]
    said, arrays = zip(*(each.points() for each in rows), strict=True)
    told = [{"host": "here", "points": json.loads(json.dumps(each))} for each in said]
    points = GatheredPoints.of(rows[0], told, arrays)
    with points.opened() as costs:
        problem = make_problem(lw.costs.euclidean(x, y), maximize)
        answer, certificate, plan = solve_on_gpus(costs, problem, request, lambda: None)
        assert planned_on_gpus(costs, problem, request).device == plan.device == "cuda:0"
    one = lw.solve(lw.costs.euclidean(x, y), maximize=maximize, device="cuda")
    assert certificate.exact and (answer.row_to_col == one.row_to_col).all() and (answer.v == one.v).all()
    told[1]["points"]["terms"][0][-1] += 1  # other columns
    assert GatheredPoints.of(rows[0], told, arrays) is None


@pytest.fixture
def on_three_gpus(gpus, emulated_gpu, monkeypatch):
    """Points of many dimensions, a third of them on each GPU, and what the ranks say; the costs have room nowhere."""
    for name in ("has_room", "ShardedPoints.has_room"):
        monkeypatch.setattr(f"lapwing.gpu.kinds.choose.{name}", lambda *_: False)
    random, gpu = np.random.default_rng(3), Gpu(emulated_gpu)
    x, y = random.random((50, 9), np.float32), random.random((60, 9), np.float32)
    sources = [lw.costs.euclidean(OnGpu(gpu, part), OnGpu(gpu, y)) for part in np.split(x, [20, 45])]
    rows = [RowsOfPoints(make_problem(source), source) for source in sources]
    said, arrays = zip(*(each.points() for each in rows), strict=True)
    told = [{"host": "here", "points": json.loads(json.dumps(each))} for each in said]
    for ordinal, each in enumerate(told):
        each["points"]["gpu"] = bytes([ordinal] * 16).hex()
    return lw.costs.euclidean(x, y), lambda: GatheredPoints.of(rows[0], told, arrays), told


@pytest.mark.usefixtures("meanwhile")
def test_points_of_many_dimensions_are_computed_by_the_gpus_of_a_host(on_three_gpus):
    source, gathered, told = on_three_gpus
    points = gathered()
    with points.opened() as costs:
        asked = costs, make_problem(source), Request()
        assert planned_on_gpus(*asked, points.devices).device == "cuda:0,cuda:1,cuda:2"
        answer, certificate, plan = solve_on_gpus(*asked, lambda: None, points.devices)
    assert "in every pass over it each GPU computes" in str(plan) and "all GPUs that ranks" in points.why
    assert certificate.exact and certificate.primal == lw.solve(source).objective
    assert isinstance(answer.row_to_col, np.ndarray)
    assert emulated_toolkit.COUNTS["trimmed"] == 2  # of other processes' GPUs
    told[2]["host"] = "there"
    assert gathered().devices == ["cuda:0", "cuda:1"]


def test_points_where_gpus_cannot_read_each_other(on_three_gpus, monkeypatch):
    _, gathered, told = on_three_gpus
    monkeypatch.setenv("LAPWING_PEER_MEMORY", "0")
    assert gathered().devices == []
    monkeypatch.delenv("LAPWING_PEER_MEMORY")
    told[0]["points"]["gpu"] = "unseen"
    assert gathered().devices == []
    told[0]["points"]["gpu"] = bytes(16).hex()
    assert len(gathered().devices) == 3
    monkeypatch.setattr(emulated_toolkit.DRIVER, "strangers", {(1, 2)})  # though rank 0's GPU reads both
    assert gathered().devices == []


@pytest.mark.parametrize("where", ["plan", "loaded"])
@pytest.mark.parametrize("error", [lw.ArgumentError("no room"), lw.GpuError("the GPU is another process's")])
def test_points_where_other_gpus_are_of_no_use(on_three_gpus, monkeypatch, where, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(f"lapwing.gpu.kinds.slab_points.SlabPoints.{where}", fail)
    source, gathered, _ = on_three_gpus
    points = gathered()
    with points.opened() as costs:
        asked = costs, make_problem(source), Request()
        assert planned_on_gpus(*asked, points.devices).device == (
            "cuda:0" if where == "plan" else "cuda:0,cuda:1,cuda:2"
        )
        _, certificate, plan = solve_on_gpus(*asked, lambda: None, points.devices)
    assert plan.device == "cuda:0"
    assert certificate.exact and certificate.primal == lw.solve(source).objective


def test_points_where_gpus_have_little_room(on_three_gpus, monkeypatch):
    monkeypatch.setattr("lapwing.gpu.costs.point_slabs._LARGEST_SLAB", 1)
    source, gathered, _ = on_three_gpus
    points = gathered()
    with points.opened() as costs:
        asked = costs, make_problem(source), Request()
        assert planned_on_gpus(*asked, points.devices).device == "cuda:0"
        plan = solve_on_gpus(*asked, lambda: None, points.devices)[2]
    assert plan.device == "cuda:0" and plan.tier == "computed"
