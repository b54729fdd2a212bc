"""`lapwing.solve` on a GPU: the CPU's contract, on arrays of every library, layout and dtype."""

from __future__ import annotations

import _thread
import functools
import gc
import threading
import time

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from support.checks import assert_hall_violator
from support.gpu_solves import KINDS, check, draw, on_gpu

pytestmark = pytest.mark.gpu

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
EDGES = (1, 2, 7, 31, 32, 33, 34, 63, 64, 65, 255, 256, 257, 383, 384, 385, 1023, 1024, 1025, 2047, 2048, 2049)


@pytest.mark.parametrize("shape", [(33, 33), (511, 511), (513, 2047), (1023, 1023), (1100, 1001), (2051, 2051)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_rows_whose_columns_tie_beyond_their_lists(shape: tuple[int, int], dtype: str) -> None:
    random = np.random.default_rng(shape)
    sums = random.random((shape[0], 1)) + random.random((1, shape[1])) + 0.02 * random.random(shape)
    cost = np.round(32 * sums).astype(dtype)
    if dtype != "int32":
        cost /= 32
        cost[random.random(shape) < 0.05] = np.inf
    result = check(cost)
    assert min(shape) < 100 or result.statistics["full_rows"] > 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("scale", [4, 100])
def test_trees_share_columns_where_a_mass_ties(dtype: str, scale: int) -> None:
    """If every column went to the lowest row that leads to it, one tree would have nearly all of them."""
    random = np.random.default_rng(1)
    cost = np.round(scale * (random.random((2048, 1)) + random.random((1, 2048)))).astype(dtype)
    statistics = check(cost).statistics
    assert statistics["searches"] < statistics["left"] / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maximize", [False, True])
def test_shapes_around_every_edge(kind: str, maximize: bool) -> None:
    random = np.random.default_rng([KINDS.index(kind), maximize])
    for n in EDGES:
        check(draw(random, n, n, kind).astype(np.float32), maximize)
    for _ in range(12):
        rows, cols = random.integers(1, 400, 2)
        check(draw(random, rows, cols, kind), maximize)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    random = np.random.default_rng(7)
    for shape in ((50, 50), (300, 300), (33, 70), (70, 33)):
        check((100 * random.random(shape)).astype(dtype), maximize=shape[0] == 50)


def test_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    cost = torch.rand(200, 200, device="cuda").to(torch.bfloat16)
    check(cost.float().cpu().numpy(), given=cost)


def test_layouts_are_read_as_they_are() -> None:
    random = np.random.default_rng(3)
    cost = random.random((120, 240)).astype(np.float32)
    tensor = on_gpu(cost)
    check(cost.T, given=tensor.T)
    check(cost[::2, ::3], given=tensor[::2, ::3])
    check(cost[:, 1:], given=tensor[:, 1:])
    square = tensor[:, :120]
    check(cost[:, :120], given=square)
    check(cost[:, :120].T, given=square.T)


def test_forbidden_pairs_and_the_hall_violator() -> None:
    random = np.random.default_rng(5)
    for shape in ((60, 60), (40, 90), (90, 40)):
        cost = random.random(shape)
        cost[random.random(shape) < 0.6] = np.inf
        check(cost)
    cost = random.random((100, 100))
    cost[:30, 29:] = np.inf
    for given in (cost, cost.T):
        with pytest.raises(lw.InfeasibleError) as caught:
            lw.solve(on_gpu(given))
        assert_hall_violator(caught.value, given)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_invalid_costs_are_named(bad: float) -> None:
    cost = np.random.default_rng(1).random((70, 50))
    cost[41, 13] = bad
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(on_gpu(cost))
    assert (caught.value.row, caught.value.col) == (41, 13)
    with pytest.raises(lw.RangeError):
        lw.solve(on_gpu(np.array([[2**61, 1], [1, 1]])))


def test_empty_matrices() -> None:
    for shape in ((0, 0), (0, 5), (5, 0)):
        result = lw.solve(on_gpu(np.zeros(shape, np.float32)))
        assert result.objective == 0 and tuple(result.row_to_col.shape) == shape[:1]


@pytest.mark.parametrize("cls", ["uniform", "int:0.1", "int:100", "geometric", "disjoint", "lowrank:2", "sanity"])
def test_instances_with_samples(cls: str) -> None:
    dtype = "int32" if cls.startswith("int") else "float32"
    result = check(instances.generate(cls, 2500, 4, dtype=dtype))
    assert result.plan.device.startswith("cuda:")


@pytest.mark.parametrize(
    ("shape", "most"), [((1500, 1500), 40), ((8192, 8192), 820), ((20000, 20000), 2000), ((8000, 8010), 800)]
)
def test_the_same_answer_every_time(shape: tuple[int, int], most: int) -> None:
    """Where many are optimal; searches look from more rows at once than there are warps."""
    cost = on_gpu(np.random.default_rng(2).integers(0, most, shape, np.int32))
    first = lw.solve(cost)
    assert first.certificate is not None and first.certificate.exact
    for _ in range(5):
        again = lw.solve(cost)
        assert (again.row_to_col == first.row_to_col).all()
        assert (again.u == first.u).all() and (again.v == first.v).all()


def test_warm_start() -> None:
    cost = on_gpu(np.random.default_rng(2).random((800, 800)))
    first = lw.solve(cost)
    again = lw.solve(cost, start=first)
    assert again.objective == first.objective
    assert again.statistics["scans"] <= first.statistics["scans"]
    assert lw.solve(cost, start=(first.u.cpu(), first.v.cpu().numpy())).objective == first.objective


def test_host_arrays_and_cupy_and_jax() -> None:
    cost = np.random.default_rng(9).random((150, 130))
    expected = lw.solve(cost).objective
    result = lw.solve(cost, device="cuda")
    assert isinstance(result.row_to_col, np.ndarray) and result.objective == pytest.approx(expected, rel=1e-13)
    assert cost[result.row_ind, result.col_ind].sum() == pytest.approx(expected)
    cupy = pytest.importorskip("cupy")
    result = lw.solve(cupy.asarray(cost))
    assert isinstance(result.u, cupy.ndarray) and result.objective == pytest.approx(expected, rel=1e-13)
    assert float(cupy.asarray(cost)[result.row_ind, result.col_ind].sum()) == pytest.approx(expected)
    jax = pytest.importorskip("jax")
    result = lw.solve(jax.numpy.asarray(cost.astype(np.float32)))
    assert isinstance(result.v, jax.Array) and result.objective == pytest.approx(expected, rel=1e-6)


def test_two_threads_and_two_streams() -> None:
    torch = pytest.importorskip("torch")
    costs = [np.random.default_rng(k).random((700, 700)) for k in range(4)]
    expected = [lw.solve(cost).objective for cost in costs]
    found: list[float] = [0.0] * 4

    def work(k: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            tensor = torch.from_numpy(costs[k]).cuda()
            for _ in range(5):
                found[k] = float(lw.solve(tensor).objective)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == pytest.approx(expected, rel=1e-13)


def test_memory_does_not_grow() -> None:
    torch = pytest.importorskip("torch")
    cost = torch.rand(500, 500, device="cuda")
    lw.solve(cost)
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(300):
        lw.solve(cost)
    assert torch.cuda.memory_allocated() <= before


def test_what_a_gpu_does_not_do_is_said() -> None:
    with pytest.raises(lw.ArgumentError, match="not supported on a GPU"):
        lw.solve(on_gpu(np.eye(4)), method="jv")
    with pytest.raises(lw.ArgumentError, match="device"):
        lw.solve(np.eye(3), device="gpu")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("maximize", [False, True])
def test_unmatched_costs(dtype: str, maximize: bool) -> None:
    random = np.random.default_rng(8)
    for shape in ((300, 300), (100, 700), (700, 100), (1025, 1023)):
        cost = (100 * random.random(shape)).astype(dtype)
        price = random.integers(0, 30, shape[0]) if dtype == "int32" else 30 * random.random(shape[0])
        price = 100 - price if maximize else price
        result = lw.solve(on_gpu(cost), maximize=maximize, unmatched_cost=price)
        expected = lw.solve(cost, maximize=maximize, unmatched_cost=price)
        assert result.objective == pytest.approx(expected.objective, rel=1e-12)
        proof = lw.certify(
            cost, *(x.cpu().numpy() for x in (result.row_to_col, result.u, result.v)), maximize=maximize,
            unmatched_cost=price,
        )  # fmt: skip
        assert proof.complete and proof.bound <= 1e-9 * max(1, abs(expected.objective))


@functools.cache
def slow_cost() -> np.ndarray:
    """Takes a GPU more than a tenth of a second."""
    x, y = np.random.default_rng(0).random((2, 2, 20000, 1), np.float32)
    return (x[0] - y[0].T) ** 2 + (x[1] - y[1].T) ** 2


@pytest.mark.parametrize("part", [0, 0.1, 0.3, 0.6, 0.9])
def test_time_limit(part: float) -> None:
    cost = on_gpu(slow_cost())
    lw.solve(cost)
    began = time.perf_counter()
    full = lw.solve(cost)
    seconds = time.perf_counter() - began
    most = part * seconds + max(0.2, seconds)  # the second where other processes slow the GPU down, as they did above
    for _ in range(3):
        began = time.perf_counter()
        result = lw.solve(cost, time_limit=part * seconds)
        taken = time.perf_counter() - began
        if taken < most:
            break
    assert taken < most
    assert result.lower_bound <= full.objective * (1 + 1e-9) and result.objective >= full.objective * (1 - 1e-9)
    assert result.certificate is not None and result.certificate.complete
    assert result.status == "time_limit" or taken < 1.2 * seconds
    assert lw.solve(cost).objective == full.objective


def test_progress() -> None:
    seen: list[lw.Progress] = []
    result = lw.solve(on_gpu(slow_cost()), progress=seen.append)
    assert len(seen) >= 2 and seen[-1].gap <= 1e-9 * result.objective
    assert all(report.bound <= result.objective * (1 + 1e-12) for report in seen)


def test_ctrl_c() -> None:
    cost = on_gpu(slow_cost())
    expected = lw.solve(cost).objective
    for delay in (0.02, 0.05, 0.1, 0.2):
        sent = []

        def interrupt(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            _thread.interrupt_main()

        timer = threading.Timer(delay, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                lw.solve(cost)
        assert time.perf_counter() - sent[0] < 0.2
    assert lw.solve(cost).objective == expected


def test_the_plan() -> None:
    torch = pytest.importorskip("torch")
    cost = torch.empty(3000, 2000, dtype=torch.float16, device="cuda")
    plan = lw.plan(cost)
    assert plan.device == "cuda:0" and plan.transposed and plan.dtype == "float16"
    for columns in (torch.cuda.mem_get_info()[1] // 40000, 2**29):
        huge = cost[:1, :1].expand(20000, columns)
        with pytest.raises(lw.ArgumentError, match="bytes of GPU 0's memory beside the matrix"):
            lw.plan(huge)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64"])
def test_host_matrices(dtype: str) -> None:
    random = np.random.default_rng(3)
    block = (100 * random.random((3001, 3003))).astype(dtype)
    for cost in (block, block.T, block[::-1, 5:], block[:1000], block[:, :700]):
        result = lw.solve(cost, device="cuda")
        assert result.certificate is not None and result.certificate.complete
        picked = cost[result.row_ind, result.col_ind].astype(np.float64)
        assert picked.sum() == pytest.approx(result.objective, rel=1e-12)
        proof = lw.certify(cost, result.row_to_col, result.u, result.v)
        assert proof.bound <= 1e-9 * max(1, abs(result.objective))


def test_ctrl_c_on_the_way_to_the_gpu() -> None:
    cost = np.zeros((30000, 30000), np.float32)
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            lw.solve(cost, device="cuda")
    assert lw.solve(np.eye(50), device="cuda").objective == 0


@pytest.mark.parametrize("n", [100, 400, 1500])
@pytest.mark.parametrize("large", [1e9, 1e12, 1e18])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_number_in_place_of_infinity(n: int, large: float, dtype: str) -> None:
    random = np.random.default_rng(n)
    cost = random.random((n, n)).astype(dtype)
    cost[random.random((n, n)) < 0.97] = large
    cost[np.arange(n), random.permutation(n)] = random.random(n)
    result = check(cost)
    assert result.certificate is not None
    assert result.certificate.bound <= n * 2.0**-52 * result.objective


def test_a_heavy_tail() -> None:
    cost = np.random.default_rng(8).random((2000, 2000)) ** 8
    result = check(cost)
    assert result.certificate is not None
    assert result.certificate.bound <= 2000 * 2.0**-52 * result.objective
