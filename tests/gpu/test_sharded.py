"""One problem on several GPUs of a host: emulated ones, whose memories are one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import sharded_solver
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.sharded_solver import ShardedSolve, ShardPart, bytes_of_sample, hashed
from lapwing.gpu.core.solver import EXPLORING
from lapwing.gpu.kinds import choose
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START
from lapwing.gpu.runtime.tuning import MOST_SHARDS
from support import emulated_toolkit
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted, draw
from support.gpu_memory import Gpu, OnGpu

_NAMES = ("u", "v", "row_to_col")


@pytest.fixture
def sharded(gpus, emulated_gpu):
    """Makes costs whose rows are shared out at some places."""
    gpu = Gpu(emulated_gpu)

    def make(cost, *ends):
        return lw.costs.sharded([OnGpu(gpu, part) for part in np.split(cost, ends)])

    return make


def assert_same(result, other):
    for name in _NAMES:
        assert np.array_equal(getattr(result, name), getattr(other, name)), name
    assert result.objective == other.objective


@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (40, 44), (61, 61), (44, 31)])
def test_the_answer_is_that_of_one_gpu(gpus, kind, maximize, shape):
    cost = draw(shape, "float32", 3, kind)
    result = lw.solve(cost, device=gpus(3), maximize=maximize)
    assert_optimal(result, cost, maximize=maximize)
    assert_same(result, lw.solve(cost, device="cuda", maximize=maximize))
    assert result.plan.device == "cuda:0,cuda:1,cuda:2" and result.plan.tier == "sharded"
    assert "lists of the others' rows come to it" in str(result.plan)


def test_one_gpu_named_twice(gpus):
    cost = draw((64, 64), "float32", 3, "points")
    assert_same(lw.solve(cost, device=["cuda:0", "cuda:0"]), lw.solve(cost, device="cuda"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_layout_of_the_host(gpus, order):
    cost = np.asarray(draw((300, 310), "float32", 4), order=order)
    assert_optimal(lw.solve(cost[:, ::-1], device=gpus(2)), cost[:, ::-1])
    assert_optimal(lw.solve(cost[:, :300], device=gpus(2)), cost[:, :300])


@pytest.fixture
def structured(monkeypatch):
    """Thresholds so low that small problems take all steps of large ones: samples, and lists made again and again."""
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))


@pytest.mark.parametrize("stratified", [False, True])
def test_samples(gpus, structured, monkeypatch, stratified):
    if not stratified:
        monkeypatch.setattr(core_start.StartFinder, "_find_orders", lambda *_: [])
    cost = draw((150, 150), "float32", 3, "points")
    result = lw.solve(cost, device=gpus(3))
    assert_optimal(result, cost)
    assert result.statistics["levels"] >= 1
    assert_same(result, lw.solve(cost, device="cuda"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("maximize", [False, True])
def test_samples_in_shards(gpus, structured, orders, monkeypatch, dtype, maximize):
    cost = draw((600, 600), dtype, 3, "points")
    alone = lw.solve(cost, device=gpus(3), maximize=maximize)
    launches = len(orders)
    monkeypatch.setattr(sharded_solver, "_SHARED_SAMPLE", 100)
    result = lw.solve(cost, device=gpus(3), maximize=maximize)
    assert_optimal(result, cost, maximize=maximize)
    assert_same(result, alone)
    assert result.statistics["levels"] == alone.statistics["levels"] >= 2
    assert len(orders) == 2 * launches + 1  # the larger sample is solved by all GPUs, too


def test_a_sample_without_rows_of_the_first_shard(gpus, sharded, structured, monkeypatch):
    monkeypatch.setattr(sharded_solver, "_SHARED_SAMPLE", 30)
    cost = draw((300, 300), "float32", 3, "points")
    one = lw.solve(cost, device="cuda")
    for ends in ([1], [1, 2, 150], [299]):
        result = lw.solve(sharded(cost, *ends))
        assert result.certificate.exact and result.objective == one.objective


def test_memory_of_a_sample():
    whole, share = (bytes_of_sample(100_000, own, "float32", is_first=True) for own in (100_000, 50_000))
    assert 2.5e9 < whole < 2.7e9 and 0.5 < share / whole < 0.54
    assert bytes_of_sample(100_000, 50_000, "float32", is_first=False) == share
    assert bytes_of_sample(50_000, 25_000, "float32", is_first=True) > 6e8
    assert bytes_of_sample(50_000, 25_000, "float32", is_first=False) == 0


@pytest.fixture
def orders(monkeypatch):
    """How many orders each shard has had, after every launch."""
    counts, report = [], ShardedSolve._read_report

    def noted(self):
        found = report(self)
        counts.append(read(self.context, self._joined["answers"] + 8 * MOST_SHARDS, MOST_SHARDS, "int64").tolist())
        return found

    monkeypatch.setattr(ShardedSolve, "_read_report", noted)
    return counts


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 10**6}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_gpus_list_their_rows_again(gpus, structured, orders, dtype, options):
    cost = draw((170, 170), dtype, 3, "points")
    result = lw.solve(cost, device=gpus(3), **options)
    assert_optimal(result, cost, **options)
    assert orders[-1][0] == 0 and min(orders[-1][1:3]) > 0 and orders[-1][3:] == [0] * (MOST_SHARDS - 3)
    one = lw.solve(cost, device="cuda", **options)  # whose duals may be found again, nearer to zero
    assert np.array_equal(result.row_to_col, one.row_to_col) and result.objective == one.objective
    for name in ("phases", "rounds", "bids", "refreshes", "searches"):
        assert result.statistics[name] == one.statistics[name], name


def test_a_gpu_with_two_shards_gets_no_orders(structured, orders, gpus):
    cost = draw((170, 170), "float32", 3, "points")
    assert_optimal(lw.solve(cost, device=["cuda:0", "cuda:1", "cuda:1", "cuda:2"]), cost)
    assert orders[-1][:3] == [0, 0, 0] and orders[-1][3] > 0


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_stop_while_gpus_list_their_rows(gpus, structured, seconds):
    cost = draw((170, 170), "float32", 3, "points")
    check_interrupted(cost, repeatable=False, device=gpus(3), time_limit=seconds)


def test_a_gpu_that_does_not_answer(structured, gpus, monkeypatch):
    cost = draw((170, 170), "float32", 3, "points")
    monkeypatch.setattr(ShardPart, "serve", lambda *_: None)
    result = lw.solve(cost, device=gpus(2), time_limit=1.0)
    assert result.status == "time_limit" and result.certificate.complete
    assert result.lower_bound <= lw.solve(cost).objective <= result.objective


def test_hashed_samples_are_those_of_the_kernels(emulated_gpu):
    gpu = Gpu(emulated_gpu)
    for size, run, salt in ((100, 4, 0), (1000, 16, 1)):
        given = np.arange(size, dtype=np.int32)
        out = gpu.put(np.zeros(size // run, np.int32))
        gather = kernels(emulated_gpu, CORE_START, CORE_START.of_cost("int32"))["gather"]
        shape = (1, 0, size // run, 1) if salt == 0 else (0, 1, 1, size // run)
        gather.launch(emulated_gpu, 1, 256, gpu.put(given).pointer, *shape, run, 0, 0, out.pointer)
        assert (read(emulated_gpu, out.pointer, size // run, "int32") == hashed(size, run, salt)).all()


def test_shards_in_place(sharded):
    cost = draw((90, 90), "float32", 5)
    costs = sharded(cost, 1, 40)
    assert costs.shape == (90, 90) and (costs.read(slice(80, 0, -3)) == cost[80:0:-3]).all()
    assert (np.asarray(costs) == cost).all()
    result = lw.solve(costs, method="core")  # whose arrays are on the emulated GPU
    one = lw.solve(cost, device="cuda")
    assert result.certificate.exact and result.objective == one.objective
    assert lw.certify(costs, one.row_to_col, one.u, one.v).exact


@pytest.mark.parametrize("shape", [(50, 50), (45, 62), (62, 45)])
@pytest.mark.parametrize("maximize", [False, True])
def test_points(gpus, monkeypatch, shape, maximize):
    monkeypatch.setattr(choose, "has_room", lambda *_: False)  # on one GPU
    x, y = (np.random.default_rng(k).random((n, 9), np.float32) for k, n in enumerate(shape))
    source = lw.costs.squared_euclidean(x, y)
    result = lw.solve(source, device=gpus(3), maximize=maximize)
    assert result.plan.tier == "sharded" and "computed there from points" in str(result.plan)
    assert_optimal(result, np.asarray(source), maximize=maximize)


def test_points_that_one_gpu_holds(gpus):
    source = lw.costs.euclidean(np.zeros((4, 5)), np.ones((6, 5)))
    assert "one GPU is faster where it has room" in str(lw.plan(source, device=gpus(2)))


def test_few_rows_are_read_by_one_gpu(gpus, monkeypatch):
    monkeypatch.setattr(choose, "LEAST_SHARDED_BYTES", 1 << 20)
    result = lw.solve(draw((30, 30), "float32"), device=gpus(2))
    assert result.plan.device == "cuda:0" and "one GPU is faster" in str(result.plan)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_dtypes(gpus, dtype):
    cost = draw((50, 50), dtype, 7)
    assert_same(lw.solve(cost, device=gpus(2)), lw.solve(cost, device="cuda"))


def test_rows_that_may_stay_free(gpus):
    cost = draw((60, 40), "float32", 8)
    result = lw.solve(cost, device=gpus(3), unmatched_cost=30.0)
    assert_optimal(result, cost, unmatched_cost=30.0)
    assert_same(result, lw.solve(cost, device="cuda", unmatched_cost=30.0))


def test_forbidden_pairs_and_a_start(gpus):
    cost = draw((70, 70), "float32", 9)
    cost[cost > 500] = np.inf
    result = lw.solve(cost, device=gpus(2))
    assert_optimal(result, cost)
    again = lw.solve(cost, device=gpus(2), start=result)
    assert again.objective == result.objective and again.certificate.exact


def test_without_a_certificate(gpus):
    cost = draw((50, 50), "float32", 7)
    assert lw.solve(cost, device=gpus(2), certify=False).objective == lw.solve(cost).objective


@pytest.mark.usefixtures("meanwhile")
def test_a_time_limit(gpus):
    check_interrupted(draw((60, 60), "float32", 7, "points"), device=gpus(2), time_limit=0.0)


def test_an_invalid_cost_is_named_by_its_row_in_the_whole(gpus):
    cost = draw((40, 40), "float32", 10)
    cost[33, 7] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[33, 7\]"):
        lw.solve(cost, device=gpus(3))


def test_pairs_without_a_cost_are_forbidden(gpus, sharded, emulated_gpu, monkeypatch):
    cost = draw((40, 40), "float32", 10)
    cost[[3, 33], [30, 7]] = np.nan
    filled = np.where(np.isnan(cost), np.float32(np.inf), cost)
    gpu, blocks = Gpu(emulated_gpu), iter(np.split(filled, [20]))
    monkeypatch.setattr("lapwing.invalid._in_its_library", lambda *_: OnGpu(gpu, next(blocks)))
    result = lw.solve(sharded(cost, 20), invalid="forbid")
    assert result.objective == lw.solve(filled).objective and result.certificate.exact
    assert result.invalid_pairs.tolist() == [[3, 30], [33, 7]]


def test_an_invalid_cost_that_the_certificate_finds(gpus, sharded):
    cost = draw((40, 40), "float32", 10)
    result = lw.solve(cost)
    cost[33, 7] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[33, 7\]"):
        lw.certify(sharded(cost, 20), result.row_to_col, result.u, result.v)


def test_rows_with_too_few_columns(gpus):
    cost = draw((40, 40), "float32", 11)
    cost[10:31, 20:] = np.inf
    with pytest.raises(lw.InfeasibleError) as raised:
        lw.solve(cost, device=gpus(2))
    assert_hall_violator(raised.value, cost)
    assert (
        lw.solve(cost, device=gpus(2), infeasible="partial").objective == lw.solve(cost, infeasible="partial").objective
    )


def test_a_checkpoint_goes_on_with_other_gpus(gpus, tmp_path):
    cost, file, seen = draw((60, 60), "float32", 7, "points"), tmp_path / "solve.npz", []
    first = lw.solve(cost, device=gpus(3), checkpoint=file, progress=seen.append)
    assert file.exists() and seen
    for device in (gpus(2), "cuda", "cpu"):
        again = lw.solve(cost, device=device, checkpoint=file)
        assert again.certificate.exact and again.objective == first.objective


def test_gpus_without_access_to_each_other(gpus, monkeypatch):
    monkeypatch.setattr(emulated_toolkit.DRIVER, "peers", False)
    with pytest.raises(lw.GpuError, match="cannot read the memory of GPU 1"):
        lw.solve(draw((30, 30), "float32"), device=gpus(2))


def test_what_cannot_be_shared_out(gpus, sharded):
    cost = draw((30, 20), "float32")
    with pytest.raises(lw.ArgumentError, match="more rows than columns"):
        lw.solve(sharded(cost, 10))
    with pytest.raises(lw.ArgumentError, match="names GPUs"):
        lw.solve(cost, device=["cpu", "cuda:0"])
    with pytest.raises(lw.ArgumentError, match="names GPUs"):
        lw.solve(cost, device=[])
    with pytest.raises(lw.ArgumentError, match="shares out a matrix on the host.*got RowCost"):
        lw.solve(lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape, "float32"), device=gpus(2))
    with pytest.raises(lw.ArgumentError, match="solves on one GPU"):
        lw.solve(cost, device=gpus(2), method="auction")
    with pytest.raises(lw.GpuError, match="there is no GPU 3"):
        lw.solve(cost, device=["cuda:0", "cuda:3"])


def test_what_is_no_shard(sharded, emulated_gpu):
    on_gpu = [
        OnGpu(Gpu(emulated_gpu), draw(shape, dtype)) for shape, dtype in (((4, 9), "float32"), ((4, 8), "float32"))
    ]
    integers = OnGpu(Gpu(emulated_gpu), draw((4, 9), "int32"))
    none = OnGpu(Gpu(emulated_gpu), draw((4, 9), "float32"))
    for parts, said in (
        (on_gpu, "shard 1 has 8 columns and shard 0 has 9"),
        ([on_gpu[0], integers], "shard 1 is of dtype int32"),
        ([np.zeros((4, 9))], "shard 0 is not on a GPU"),
        ([none] * 9, "1 to 8 shards, got 9"),
        ([], "1 to 8 shards, got 0"),
    ):
        with pytest.raises(lw.ArgumentError, match=said):
            lw.costs.sharded(parts)


def test_costs_of_pairs(sharded):
    cost = draw((40, 50), "float32", 12)
    source = sharded(cost, 15, 28)
    row_to_col = np.array([(7 * i) % 50 if i % 5 else -1 for i in range(40)])
    assert np.array_equal(source.picked(row_to_col), cost[row_to_col >= 0, row_to_col[row_to_col >= 0]])
    assert np.array_equal(source.read(slice(10, 32)), cost[10:32])
