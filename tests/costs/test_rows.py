"""Costs from a callback: the dense problem's answer, and what a callback can do wrong."""

from __future__ import annotations

import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.costs.rows import as_bytes
from support.checks import assert_hall_violator, assert_optimal, scipy_objective
from support.strategies import matrices


class Supplier:
    """Rows of a matrix, and which were asked for."""

    def __init__(self, cost):
        self.cost, self.asked = cost, []

    def __call__(self, begin, end):
        self.asked.append((begin, end))
        return self.cost[begin:end]


def supplied(cost, cache=0, **options):
    return lw.costs.rows(Supplier(cost), cost.shape, cost.dtype, cache, **options)


@settings(max_examples=300)
@given(
    cost=matrices(
        dtypes=[np.float32, np.float64, np.int32, np.int64], layouts=("C", "F", "strided", "big-endian", "misaligned")
    ),
    maximize=st.booleans(),
    priced=st.booleans(),
    method=st.sampled_from(["auto", "core", "jv", "ssp", "auction"]),
    threads=st.sampled_from([None, 2]),
)
def test_as_the_dense_problem(cost, maximize, priced, method, threads):
    dtype = cost.dtype.newbyteorder("=")
    source = lw.costs.rows(lambda begin, end: cost.astype(dtype)[begin:end], cost.shape, dtype)
    price = np.median(cost).astype(dtype).item() if priced else None
    if cost.shape[0] > cost.shape[1] and not priced:
        with pytest.raises(lw.ArgumentError, match="more rows than columns; supply the rows of the transposed"):
            lw.solve(source, maximize=maximize, method=method)
        return
    result = lw.solve(source, maximize=maximize, unmatched_cost=price, method=method, threads=threads)
    assert_optimal(result, cost.astype(dtype), maximize=maximize, unmatched_cost=price)
    assert result.plan.tier == "rows"


@given(cost=matrices(dtypes=[np.float32, np.float64], forbid=True), method=st.sampled_from(["core", "jv"]))
def test_forbidden_pairs(cost, method):
    if cost.shape[0] > cost.shape[1]:
        cost = cost.T
    try:
        result = lw.solve(supplied(cost), method=method)
    except lw.InfeasibleError as error:
        assert_hall_violator(error, cost)
        assert scipy_objective(cost) is None
    else:
        assert_optimal(result, cost)


@pytest.mark.parametrize("cls", ["uniform", "geometric", "disjoint", "lowrank:1", "int:1", "sanity"])
@pytest.mark.parametrize("cache", [0, "1GB"])
@pytest.mark.parametrize("shape", [(1300, 1300), (1100, 1300)])
def test_larger_problems(cls, cache, shape):
    cost = lw.instances.generate(cls, 1300, 1)[: shape[0]].astype(np.int32 if cls == "int:1" else np.float32)
    source = supplied(cost, cache)
    result = lw.solve(source, method="core")
    dense = lw.solve(cost, method="core")
    assert result.objective == pytest.approx(dense.objective, rel=1e-12)
    assert result.certificate.exact == dense.certificate.exact
    counted = result.statistics
    asked = source.callback.asked
    assert counted["requests"] == len(asked)
    assert counted["cache_misses"] == sum(end - begin for begin, end in asked)
    assert 0 <= counted["cache_hit_rate"] <= 1 and counted["request_seconds"] > 0
    if cache:  # every row is asked for once
        assert counted["cache_misses"] == shape[0] and counted["cache_hit_rate"] >= 0.5
        again = lw.solve(source, method="core")
        assert again.statistics["cache_misses"] == 0 and again.statistics["cache_hit_rate"] == 1
        assert again.objective == result.objective


def test_passes_ask_for_blocks():
    cost = np.random.default_rng(0).random((2000, 2000), dtype=np.float32)
    source = supplied(cost)
    result = lw.solve(source, method="core")
    asked = np.array(source.callback.asked)
    single = (asked[:, 1] - asked[:, 0] == 1).sum()
    assert result.statistics["cache_misses"] < 2.5 * 2000  # uniform: one pass to list, one to certify
    assert len(asked) - single < 300 and single < 1000


@pytest.mark.parametrize("cls", ["uniform", "geometric"])
def test_results_do_not_depend_on_the_cache_or_threads(cls):
    cost = lw.instances.generate(cls, 1200, 3).astype(np.float32)
    answers = [
        lw.solve(supplied(cost, cache), method="core", threads=threads)
        for cache in (0, 2_000_000, "1GB")
        for threads in (1, 2)
    ]
    for answer in answers[1:]:
        assert np.array_equal(answer.row_to_col, answers[0].row_to_col)
        assert answer.certificate == answers[0].certificate


# --- what a callback can do wrong -----------------------------------------------------------------


class DiskError(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", [1, 2, 5, 30])
def test_exceptions_pass_through_with_the_rows(threads, call):
    cost = lw.instances.generate("geometric", 1200, 1)
    calls = 0

    def failing(begin, end):
        nonlocal calls
        calls += 1
        if calls == call:
            raise DiskError(f"sector {begin}")
        return cost[begin:end]

    source = lw.costs.rows(failing, cost.shape, cache=0)
    with pytest.raises(DiskError, match="sector") as caught:
        lw.solve(source, method="core", threads=threads)
    assert any("while Lapwing asked its callback for row" in note for note in caught.value.__notes__)
    calls = 1000  # the source is none the worse
    assert lw.solve(source, method="core").objective == pytest.approx(lw.solve(cost).objective, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_in_the_certificate(threads):
    cost = np.random.default_rng(0).random((400, 400))
    result = lw.solve(cost)

    def failing(begin, end):
        if begin <= 300 < end:
            raise DiskError
        return cost[begin:end]

    with pytest.raises(DiskError):
        lw.certify(lw.costs.rows(failing, cost.shape, cache=0), result.row_to_col, result.u, result.v, threads=threads)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (
            lambda c, b, e: c[b : e - 1],
            lw.ArgumentError,
            r"returned shape \(\d+, 1200\) for row.*; it must return shape \(\d+, 1200\)",
        ),
        (
            lambda c, b, e: c[b:e].ravel(),
            lw.ArgumentError,
            r"returned shape \(\d+,\).* must return shape \(\d+, 1200\)",
        ),
        (lambda c, b, e: c[b:e, :-1], lw.ArgumentError, r"returned shape \(\d+, 1199\)"),
        (
            lambda c, b, e: c[b:e].astype(np.float64),
            lw.DtypeError,
            "returned dtype float64 for row 0; it must return float32",
        ),
        (lambda c, b, e: c[b:e].tolist(), lw.DtypeError, "returned dtype float64"),
        (lambda c, b, e: None, lw.ArgumentError, r"returned shape \(\)"),
        (lambda c: c, TypeError, "positional argument"),
    ],
)
def test_wrong_blocks(answer, error, words):
    cost = np.random.default_rng(0).random((1200, 1200), dtype=np.float32)
    source = lw.costs.rows(lambda *asked: answer(cost, *asked), cost.shape, np.float32)
    with pytest.raises(error, match=words):
        lw.solve(source, method="core", certify=False)


@pytest.mark.parametrize("method", ["core", "jv"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("row", [0, 17 * 64 + 5, 1199])
def test_invalid_costs_are_named(method, value, row):
    cost = lw.instances.generate("uniform", 1200, 1)
    cost[row, 77] = value
    with pytest.raises(lw.InvalidCostError, match=rf"cost\[{row}, 77\] is {value}") as caught:
        lw.solve(supplied(cost), method=method)
    assert (caught.value.row, caught.value.col) == (row, 77)


def test_costs_too_large_for_sums_are_named():
    cost = np.random.default_rng(0).random((1100, 1100))
    cost[1000, 3] = 1e306  # which no assignment needs
    assert lw.solve(supplied(cost), method="core").objective == lw.solve(cost).objective
    cost[1000] = 1e308
    cost[1001] = 1e308
    with pytest.raises(lw.RangeError, match=r"cost\[1000, 0\] is 1e\+308"):
        lw.solve(supplied(cost), method="core")
    whole = np.ones((1100, 1100), np.int64)
    whole[3, 1000] = -(2**60)
    with pytest.raises(lw.RangeError, match=r"cost\[3, 1000\] is -1152921504606846976"):
        lw.solve(supplied(whole), method="core")


def test_a_callback_that_changes_its_mind_is_not_believed():
    rng = np.random.default_rng(0)
    with pytest.raises((lw.InternalError, lw.ArgumentError), match="callback"):
        lw.solve(lw.costs.rows(lambda b, e: rng.random((e - b, 1200)), (1200, 1200), cache=0), method="core")


def test_a_callback_that_asks_for_its_own_costs():
    def asking(begin, end):
        return source.read(slice(begin, end))

    source = lw.costs.rows(asking, (1100, 1100))
    with pytest.raises(lw.ArgumentError, match="asked for these costs itself"):
        lw.solve(source, method="core")


def test_a_callback_that_solves_other_problems():
    cost = np.random.default_rng(0).random((1100, 1100))

    def solving(begin, end):
        assert lw.solve(cost[:20, :20]).certificate.bound < 1e-12
        return cost[begin:end]

    assert_optimal(lw.solve(lw.costs.rows(solving, cost.shape), method="core", threads=2), cost)


def test_two_threads_share_a_source():
    cost = lw.instances.generate("geometric", 1100, 1)
    inside = 0

    def counting(begin, end):
        nonlocal inside
        inside += 1
        time.sleep(1e-4)  # lets go of the GIL
        assert inside == 1
        inside -= 1
        return cost[begin:end]

    source = lw.costs.rows(counting, cost.shape, cache=0)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(lw.solve(source, method="core", progress=lambda p: None)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0].objective == results[1].objective == pytest.approx(lw.solve(cost).objective, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_slow_callback_and_a_time_limit(threads):
    cost = lw.instances.generate("geometric", 1100, 1)

    def slow(begin, end):
        time.sleep(0.002)
        return cost[begin:end]

    source = lw.costs.rows(slow, cost.shape, cache=0)
    seen = []
    result = lw.solve(source, method="core", threads=threads, time_limit=0.2, progress=seen.append)
    assert result.status == "time_limit" and seen
    assert result.lower_bound <= lw.solve(cost).objective <= result.objective


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_of_progress_stops_a_solve(threads):
    cost = np.random.default_rng(0).random((1100, 1100))

    def slow(begin, end):
        time.sleep(0.02)
        return cost[begin:end]

    def stop(progress):
        raise DiskError("enough")

    began = time.perf_counter()
    with pytest.raises(DiskError, match="enough"):
        lw.solve(lw.costs.rows(slow, cost.shape, cache=0), method="core", threads=threads, progress=stop)
    assert time.perf_counter() - began < 0.5


# --- the source itself ----------------------------------------------------------------------------


def test_read_and_picked():
    cost = np.random.default_rng(0).random((300, 500))
    source = supplied(cost, 100_000)
    assert np.array_equal(source.read(slice(None)), cost)
    assert np.array_equal(source.read(slice(7, 200, 13)), cost[7:200:13])
    assert source.read(slice(9, 9)).shape == (0, 500)
    row_to_col = np.where(np.arange(300) % 3 == 0, -1, np.arange(300))
    assert np.array_equal(source.picked(row_to_col), cost[row_to_col >= 0, row_to_col[row_to_col >= 0]])


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_match(shape):
    source = lw.costs.rows(lambda begin, end: pytest.fail("nothing to ask for"), shape)
    assert lw.solve(source).objective == 0
    assert lw.solve(source, unmatched_cost=1.5).objective == 1.5 * shape[0]


def test_plan():
    def nothing(begin, end):
        raise AssertionError("a plan asks for nothing")

    plan = lw.plan(lw.costs.rows(nothing, (30_000, 40_000), np.float32, "2GB"))
    assert (plan.method, plan.tier, plan.threads) == ("core", "rows", 1)
    assert plan.memory_bytes > 2e9
    assert "from a callback" in str(plan) and "1.9 GiB of them are kept" in str(plan)
    assert lw.plan(lw.costs.rows(nothing, (300, 300))).method == "jv"
    assert lw.plan(lw.costs.rows(nothing, (3000, 3000)), threads=2).threads == 2


def double(begin, end):
    return np.full((end - begin, 8), 2.0)


def test_sources_can_be_pickled_and_do_not_outlive_their_use():
    assert lw.solve(pickle.loads(pickle.dumps(lw.costs.rows(double, (5, 8))))).objective == 10
    supplier = Supplier(np.ones((1100, 1100)))
    gone = weakref.ref(supplier)
    source = lw.costs.rows(supplier, (1100, 1100))
    lw.solve(source, method="core")
    assert "1100 x 1100 float64 from" in repr(source)
    supplier.source = source  # a cycle through the compiled source
    del source, supplier
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * 10**9),
        ("512MiB", 512 << 20),
        ("1.5kB", 1500),
        ("2 TiB", 2 << 40),
        (12, 12),
        (np.int64(7), 7),
        (10**30, 1 << 62),
        ("9" * 400 + "GB", 1 << 62),
    ],
)
def test_sizes(text, size):
    assert as_bytes(text, "cache") == size


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((3, (5, 5)), lw.DtypeError, r"callback must be callable as callback\(begin, end\), got 3"),
        ((double, 5), lw.DtypeError, "shape must be a pair of whole numbers, got 5"),
        ((double, (5, 2.5)), lw.DtypeError, "shape must be a pair"),
        ((double, (5, -1)), lw.ArgumentError, r"shape is \(5, -1\)"),
        ((double, (5, 2**31)), lw.ArgumentError, "between 0 and 2147483647"),
        ((double, (5, 8), np.int16), lw.DtypeError, "float32, float64, int32 or int64, got int16"),
        ((double, (5, 8), "xx"), lw.DtypeError, "float32, float64, int32 or int64, got 'xx'"),
        ((double, (5, 8), np.float64, "8 gigs"), lw.ArgumentError, "cache must be a size like '8GB'.*'8 gigs'"),
        ((double, (5, 8), np.float64, -1), lw.ArgumentError, "cache must not be negative"),
        ((double, (5, 8), np.float64, 1.5), lw.DtypeError, "whole number of bytes"),
    ],
)
def test_refusals(arguments, error, words):
    with pytest.raises(error, match=words):
        lw.costs.rows(*arguments)


def test_refusals_of_integers():
    source = lw.costs.rows(lambda b, e: np.ones((e - b, 9), np.int32), (5, 9), np.int32)
    with pytest.raises(lw.DtypeError, match="unmatched_cost 0.5 is not whole"):
        lw.solve(source, unmatched_cost=0.5)
    with pytest.raises(lw.DtypeError, match="u and v must be integers"):
        lw.certify(source, np.arange(5), np.ones(5), np.zeros(9))
    assert lw.solve(source, unmatched_cost=np.inf).objective == 5
