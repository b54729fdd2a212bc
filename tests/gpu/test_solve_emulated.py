"""`lapwing.solve` with `device="cuda"` on the emulated GPU: Python and kernels together, on small problems."""

from __future__ import annotations

import _thread
import itertools
import math
import signal
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu import backend
from lapwing.gpu import plan as gpu_plan
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import EXPLORING, RECTANGULAR, CoreSolve
from lapwing.gpu.reference import trees
from lapwing.gpu.runtime.arrays import ANY, GpuArray
from lapwing.gpu.runtime.device import Context
from lapwing.prices import prices_in_kind
from lapwing.request import Request
from support import emulated_toolkit
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted, draw

pytestmark = pytest.mark.usefixtures("emulated_gpu")
DTYPES = ("float32", "int32")  # others go the same ways; every one is compiled anew, for seconds


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (12, 12), (9, 20), (20, 9), (33, 34)])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
def test_small_problems(shape, dtype, maximize, kind):
    cost = draw(shape, dtype, kind=kind)
    given = np.asfortranarray(cost) if maximize else cost
    result = lw.solve(given, device="cuda", maximize=maximize)
    assert result.plan.device == "cuda:0" and result.certificate.complete
    assert_optimal(result, cost, maximize=maximize)


def test_samples(monkeypatch):
    """With thresholds so low that small problems take all steps of large ones."""
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)  # rows with columns beyond their lists
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    cost = draw((150, 150), "float32", 3, "points")
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["levels"] >= 1


@pytest.mark.parametrize("cols, prices", [(310, None), (300, 20.0)])
def test_a_search_matches_many_rows_where_columns_outnumber_them(monkeypatch, cols, prices):
    monkeypatch.setattr(CoreSolve, "may_have_dummies", False)
    cost = draw((300, cols), "float32", 3, "points")
    most_rounds = lw.solve(cost, device="cuda", unmatched_cost=prices)
    monkeypatch.setattr(core_start, "RECTANGULAR", replace(RECTANGULAR, rounds=16))
    result = lw.solve(cost, device="cuda", unmatched_cost=prices)
    for found in (most_rounds, result):
        assert_optimal(found, cost, unmatched_cost=prices)
    assert most_rounds.statistics["rounds"] > 16 == result.statistics["rounds"]
    assert most_rounds.statistics["left"] < result.statistics["left"] / 2
    singly = 4  # Tuning::singly
    assert result.statistics["left"] > 2 * singly
    assert result.statistics["searches"] - singly < (result.statistics["left"] - singly) / 2


def test_an_instance_without_structure_needs_no_sample():
    result = lw.solve(instances.generate("uniform", 60, 1, dtype="float32"), device="cuda")
    assert result.statistics["levels"] == 0


def test_finer_epsilons_for_costs_far_below_the_list_gap():
    """Of u^8 the least cost of a row is 10^-12 of the 32nd: epsilons from the list gap leave half of the rows."""
    cost = np.random.default_rng(1).random((400, 400)) ** 8
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["left"] < 400 / 8 and result.statistics["searches"] < 15


@pytest.mark.parametrize("shape, price", [((120, 120), None), ((80, 90), None), ((80, 80), 1.0)])
@pytest.mark.parametrize("maximize", [False, True])
def test_rows_whose_columns_tie_beyond_their_lists(shape, price, maximize):
    """Sums, rounded: a list cannot tell all that ties, so all columns of a row are looked at."""
    random = np.random.default_rng(7)
    sums = random.random((shape[0], 1)) + random.random((1, shape[1])) + 0.02 * random.random(shape)
    cost = (np.round(16 * sums) / 16).astype(np.float32)
    cost, prices = (-cost, None if price is None else -price) if maximize else (cost, price)
    result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=prices)
    assert result.statistics["full_rows"] > 0
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=prices)


@pytest.mark.parametrize("shape", [(20, 20), (12, 30), (30, 12)])
@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(shape, maximize):
    cost = draw(shape, "float32")
    cost[np.random.default_rng(1).random(shape) < 0.5] = -np.inf if maximize else np.inf
    assert_optimal(lw.solve(cost, device="cuda", maximize=maximize), cost, maximize=maximize)
    lines, theirs = (np.s_[:8], np.s_[:8, :3]) if shape[0] <= shape[1] else (np.s_[:, :8], np.s_[:3, :8])
    cost[lines] = -np.inf if maximize else np.inf
    cost[theirs] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda", maximize=maximize)
    assert_hall_violator(caught.value, cost, maximize=maximize)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
def test_invalid_costs_are_named(bad, order):
    cost = draw((20, 30), "float32").copy(order=order)
    cost[11, 13] = bad
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(cost, device="cuda")
    assert (caught.value.row, caught.value.col) == (11, 13)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_matrices(shape):
    result = lw.solve(np.zeros(shape, np.float32), device="cuda")
    assert result.objective == 0 and result.row_to_col.tolist() == [-1] * shape[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(30, 30), (20, 30)])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e12, 1e300])
def test_any_start_will_do(dtype, shape, scale):
    cost = draw(shape, dtype)
    random = np.random.default_rng(4)
    start = (random.normal(size=shape[0]) * scale, random.normal(size=shape[1]) * scale)
    assert_optimal(lw.solve(cost, device="cuda", start=start), cost)
    first = lw.solve(cost, device="cuda")
    again = lw.solve(cost, device="cuda", start=first)
    assert_optimal(again, cost)
    work, before = (result.statistics["rounds"] + result.statistics["steps"] for result in (again, first))
    assert work <= before


def test_a_start_of_a_wrong_shape_is_refused():
    cost = draw((10, 20), "float32")
    with pytest.raises(lw.ArgumentError, match=r"v must have shape \(20,\)"):
        lw.solve(cost, device="cuda", start=(np.zeros(10), np.zeros(10)))
    with pytest.raises(lw.ArgumentError, match=r"u\[3\] is not finite"):
        lw.solve(cost, device="cuda", start=(np.where(np.arange(10) == 3, np.inf, 0), np.zeros(20)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (12, 12), (9, 40), (40, 9)])
@pytest.mark.parametrize("prices", ["one", "a row each", "some absent", "all dear"])
def test_unmatched_costs(shape, dtype, maximize, prices):
    random = np.random.default_rng(6)
    cost = draw(shape, dtype)
    given = {"one": 100, "all dear": 10**6}.get(prices, random.integers(-50, 900, shape[0]).astype(float))
    if dtype == "float32":
        given = given + 0.1  # no float32 number
    if prices == "some absent":
        given[random.random(shape[0]) < 0.3] = np.inf
        given[9:] = 500
    given = -given if maximize else given
    matrix = np.asfortranarray(cost) if prices == "a row each" else cost
    start = (np.ones(shape[0]), np.ones(shape[1])) if prices == "one" else None
    result = lw.solve(matrix, device="cuda", maximize=maximize, unmatched_cost=given, start=start)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=given)


@pytest.mark.parametrize("price", [1e300, -1e300, 1e39, -1e39, 3.5e38, 1e-300])
def test_prices_beyond_float32(price):
    cost = draw((9, 12), "float32")
    result = lw.solve(cost, device="cuda", unmatched_cost=price)
    assert result.objective == lw.solve(cost, unmatched_cost=price).objective


def test_integers_with_fractional_prices():
    cost = draw((5, 4), "int32")
    assert lw.plan(cost, device="cuda", unmatched_cost=0.5).dtype == "float64"
    with pytest.raises(lw.DtypeError, match=r"0\.5 is not whole, but costs are integers"):
        prices_in_kind([1, 2, 0.5], 3, False, True)  # costs on a GPU are not converted


def test_bad_prices_are_refused():
    cost = draw((3, 4), "int32")
    with pytest.raises(lw.RangeError, match=r"unmatched_cost\[1\]"):
        lw.solve(cost, device="cuda", unmatched_cost=[1, 2**61, 1])
    with pytest.raises(lw.ArgumentError, match=r"unmatched_cost\[2\] is -inf"):
        lw.solve(cost, device="cuda", unmatched_cost=[1, 1, -np.inf])
    forbidden = draw((3, 4), "float32")
    forbidden[1:] = np.inf
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(forbidden, device="cuda", unmatched_cost=[np.inf, 1, np.inf])
    assert caught.value.rows.tolist() == [2] and caught.value.cols.tolist() == []


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_unmatched_costs_of_empty_matrices(shape):
    result = lw.solve(np.zeros(shape, np.float32), device="cuda", unmatched_cost=2.0)
    assert result.objective == 2.0 * shape[0] and result.certificate.exact


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(30, 30), (20, 50), (50, 20)])
@pytest.mark.parametrize("priced", [False, True])
def test_no_time_at_all(shape, dtype, maximize, priced):
    cost = draw(shape, dtype, kind="points")
    price = (-200 if maximize else 200) if priced else None
    assert check_interrupted(cost, maximize, price, time_limit=0).status == "time_limit"


@pytest.mark.parametrize("poison", [0, 1])
@pytest.mark.parametrize("shape", [(30, 30), (20, 50)])
def test_no_time_in_memory_that_was_used_before(shape, poison, monkeypatch):
    """Columns that nobody has matched yet must not look as if a row had them."""
    monkeypatch.setattr(emulated_toolkit, "POISON", poison)
    result = check_interrupted(draw(shape, "float32", kind="points"), time_limit=0)
    assert result.status == "time_limit" and result.certificate.complete


@pytest.mark.parametrize(
    ("shape", "orders"),
    [((40, 60), n) for n in (1, 9, 17)] + [((140, 200), n) for n in (1, 5)] + [((140, 140), n) for n in (1, 5, 9)],
)
def test_stopped_after_some_orders(monkeypatch, shape, orders):
    monkeypatch.setattr(core_start, "LEAST_ROWS", 100)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, structure_threshold=-1.0))

    class Impatient(Monitor):
        def __enter__(self):
            super().__enter__()
            self.stop(orders)
            self.stopped = False  # not before the kernel says so
            return self

        def __exit__(self, *error):
            self.stopped = True
            super().__exit__(*error)

    monkeypatch.setattr(backend, "Monitor", Impatient)
    result = check_interrupted(draw(shape, "float32", kind="points"), time_limit=1e9)
    assert orders > 5 or result.status == "time_limit"


@pytest.mark.parametrize("maximize", [False, True])
def test_progress(meanwhile, maximize):
    cost = draw((90, 90), "float32", kind="points")
    seen = []
    result = lw.solve(cost, device="cuda", maximize=maximize, progress=seen.append)
    assert_optimal(result, cost, maximize=maximize)
    sign = -1 if maximize else 1
    assert len(seen) > 1 and seen[-1].stage == "search"
    for before, after in itertools.pairwise(seen):
        assert before.seconds < after.seconds and sign * before.bound <= sign * after.bound
    for report in seen:
        assert 0 <= report.matched <= report.rows == 90
        assert sign * report.bound <= sign * result.objective + 1e-12 * abs(result.objective)
    assert seen[-1].gap <= 1e-9 * result.objective


def test_a_limit_in_the_middle(meanwhile):
    cost = draw((90, 90), "float32", kind="points")
    for limit in (0.02, 0.1):
        check_interrupted(cost, repeatable=False, time_limit=limit)


@pytest.mark.parametrize("error", [KeyboardInterrupt, LookupError])
def test_what_the_callable_raises_stops_the_solve(meanwhile, error):
    cost = draw((90, 90), "float32", kind="points")

    def refuse(progress):
        raise error

    with pytest.raises(error):
        lw.solve(cost, device="cuda", progress=refuse)
    assert emulated_toolkit.BACKGROUND.is_done()
    assert_optimal(lw.solve(cost, device="cuda"), cost)


@pytest.fixture
def heard():
    """Ctrl-C is heard, even where a shell started the tests in its background, where it is not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_ctrl_c(meanwhile):
    cost = draw((90, 90), "float32", kind="points")
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            lw.solve(cost, device="cuda")
    assert emulated_toolkit.BACKGROUND.is_done()


# --- where to solve ---------------------------------------------------------------------------------------------------


def test_the_plan():
    made = lw.plan(np.zeros((300, 200), np.float16, order="F"), device="cuda")
    assert (made.method, made.device, made.transposed, made.dtype) == ("core", "cuda:0", True, "float16")
    assert made.memory_bytes < 300_000
    assert "solved on GPU 0 (Emulated GPU)" in made.reasons
    assert "transposed" in str(made) and "copied to the GPU: 120000 bytes" in str(made)
    assert lw.plan(np.zeros((0, 5)), device="cuda").method == "none"
    priced = lw.plan(np.zeros((300, 200), np.float16), device="cuda", unmatched_cost=np.arange(300))
    assert not priced.transposed and priced.memory_bytes > made.memory_bytes


def test_more_memory_than_there_is():
    cost = np.empty((20000, 20000), np.float32)  # no page of it is touched
    for call in (lw.plan, lw.solve):
        with pytest.raises(lw.ArgumentError, match=r"takes 1[6-9]\d{8} bytes .* memory, and 536870912 are free"):
            call(cost, device="cuda", method="hungarian-bfs")


def test_no_memory_left(monkeypatch):
    """Small problems do not ask beforehand what is free."""

    def refuse(*_, **__):
        raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(emulated_toolkit.Pool, "allocate", refuse)
    with pytest.raises(lw.GpuError, match=r"GPU 0 gives no \d+ bytes \(CUDA_ERROR_OUT_OF_MEMORY\): free some"):
        lw.solve(draw((40, 40), "float32"), device="cuda")


def test_more_rows_than_are_counted():
    for shape in ((1, 1 << 30), (1 << 30, 1)):
        with pytest.raises(lw.ArgumentError, match="fewer than 1073741824 rows and columns"):
            plan_on_gpu(shape)
    with pytest.raises(lw.ArgumentError, match="fewer than 16777216 rows on a GPU, got 16777216"):
        plan_on_gpu((1 << 24, 2), priced=True)


def plan_on_gpu(shape, priced=False):
    cost = GpuArray(None, 0, shape, (shape[1], 1), "int8", 0, 1, ANY)
    return gpu_plan.plan_matrix(cost, gpu_plan.Memory(Context()), Request(unmatched_cost=0 if priced else None))


def test_auto(monkeypatch):
    monkeypatch.setattr(sys.modules["lapwing.plan"], "GPU_FROM_ROWS", 30)
    for n, device in ((29, "cpu"), (30, "cuda:0")):
        result = lw.solve(draw((n, n), "float32"), device="auto")
        assert result.plan.device == device == lw.plan(draw((n, n), "float32"), device="auto").device
        assert any("30 rows" in reason for reason in result.plan.reasons)
    assert lw.solve(draw((40, 40), "float32"), device="auto", method="jv").plan.device == "cpu"
    assert lw.solve(draw((40, 40), "float32")).plan.device == "cpu"  # nobody named a GPU


def test_devices_that_do_not_exist():
    for device, message in (
        ("gpu", "'cuda:N' or 'auto', got 'gpu'"),
        ("cuda:x", "got 'cuda:x'"),
        ("cuda:7", "no GPU 7"),
    ):
        with pytest.raises((lw.ArgumentError, lw.GpuError), match=message):
            lw.solve(np.eye(3), device=device)
    with pytest.raises(lw.DtypeError, match="got 0"):
        lw.plan(np.eye(3), device=0)


@pytest.mark.parametrize(("size", "most", "searches"), [(1200, 120, 2), (1500, 150, 3)])
def test_trees_share_free_columns_where_costs_tie(size, most, searches):
    """If a free column went to the lowest row that leads to it, it would take 4 and 6 searches."""
    cost = np.random.default_rng(size).integers(0, most, (size, size)).astype(np.int32)
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["searches"] <= searches


@pytest.mark.parametrize("dtype", DTYPES)
def test_trees_share_columns_where_a_mass_ties(dtype, monkeypatch):
    """If every column went to the lowest row that leads to it, 57 rows would take 33 searches."""
    monkeypatch.setattr(trees, "MOST_READS", math.inf)  # the core's own trees finish
    random = np.random.default_rng(0)
    cost = np.round(4 * (random.random((300, 1)) + random.random((1, 300)))).astype(dtype)
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["full_rows"] > 1000
    assert result.statistics["searches"] < result.statistics["left"] / 2


@pytest.mark.parametrize(
    ("shape", "most"), [pytest.param((5000, 5000), 500, marks=pytest.mark.slow), ((2000, 2010), 200)]
)
def test_the_same_answer_though_a_step_is_long(shape, most):
    """A search ended after a part of a step, which was another in every run; int:0.1 of 8192 rows had 25 answers."""
    cost = np.random.default_rng(2).integers(0, most, shape).astype(np.float32)
    first, *others = (lw.solve(cost, device="cuda") for _ in range(3))
    for again in others:  # scans may differ: a step may relax distances that are about to fall, or not
        assert (first.row_to_col == again.row_to_col).all()
        assert (first.u == again.u).all() and (first.v == again.v).all()
        assert first.statistics["searches"] == again.statistics["searches"]


def test_the_same_answer_with_many_whole_rows():
    """Which of them find room in a block varies (kernels/core/search/backward.cuh)."""
    random = np.random.default_rng(0)
    apart = random.random((250, 1, 2)) - random.random((1, 256, 2))
    cost = np.round(80 * np.sqrt((apart**2).sum(-1))).astype(np.int32)
    first, *others = (lw.solve(cost, device="cuda") for _ in range(4))
    assert first.certificate.complete and first.statistics["full_rows"] > 100
    assert all((first.row_to_col == again.row_to_col).all() for again in others)


# --- the way to the GPU -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint64", "float64", ">f4", "int16"])
def test_host_dtypes(dtype):
    """As they are where kernels read them, else converted; every other dtype would be built anew for seconds."""
    kept = {"bool": "uint8", "uint64": "int64", ">f4": "float32"}.get(dtype, dtype)
    assert lw.plan(np.ones((5, 4), dtype), device="cuda").dtype == kept
