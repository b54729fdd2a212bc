"""Costs of many magnitudes on the emulated GPU: what its duals cannot prove is solved without rounding."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from lapwing.cpu import exact
from lapwing.gpu import backend
from lapwing.gpu.core import large_costs
from lapwing.gpu.core.glance import Glance
from lapwing.gpu.core.large_costs import find_large_in_rows, find_large_on_gpu
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.kinds.resident import ResidentMatrix
from lapwing.gpu.runtime.arrays import view_if_on_gpu
from lapwing.gpu.runtime.copies import Mail
from support.gpu_memory import Gpu, OnGpu

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def with_large(n, large, dtype="float32"):
    rng = np.random.default_rng(n)
    cost = rng.random((n, n)).astype(dtype)
    cost[rng.random((n, n)) < 0.9] = large
    cost[np.arange(n), rng.permutation(n)] = rng.random(n)
    return cost


def best(cost, maximize=False):
    return math.fsum(cost[linear_sum_assignment(cost, maximize)].astype(float))


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("large", [1e9, 1e18, 1e30])
def test_a_large_number_in_place_of_infinity(large, certify):
    cost = with_large(70, large)
    result = lw.solve(cost, device="cuda", certify=certify)
    assert result.status == "optimal" and result.plan.device == "cuda:0"
    assert result.objective == pytest.approx(best(cost), rel=1e-15)
    negative = lw.solve(-cost, device="cuda", maximize=True, certify=certify)
    assert negative.objective == -result.objective
    if certify:
        assert result.certificate.bound <= 70 * 2.0**-52 * result.objective


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("shape", "price"), [((40, 40), None), ((30, 45), None), ((45, 30), None), ((40, 30), 2.0)])
@pytest.mark.parametrize("maximize", [False, True])
def test_large_costs_are_left_out_on_the_gpu(monkeypatch, dtype, shape, price, maximize):
    def refused(*_):
        raise AssertionError("solved on the host")

    monkeypatch.setattr(exact, "proven_on_cpu", refused)
    monkeypatch.setattr(exact, "solved_on_cpu", refused)
    monkeypatch.setattr(backend, "SMALL", 0)
    cost = with_large(45, 6e4 if dtype == "float16" else 1e15, dtype)[: shape[0], : shape[1]]
    if dtype == "float16":  # so that there is room for a gap
        cost[cost < 1] *= np.float16(0.01)
    sign = -1 if maximize else 1
    prices = None if price is None else sign * price
    for certify in (True, False):
        result = lw.solve(sign * cost, device="cuda", maximize=maximize, unmatched_cost=prices, certify=certify)
        there = lw.solve(sign * cost, maximize=maximize, unmatched_cost=prices)
        assert result.objective == pytest.approx(there.objective, rel=1e-15)
        answer = (result.row_to_col, result.u, result.v)
        again = lw.certify(sign * cost, *answer, maximize=maximize, unmatched_cost=prices)
        assert again.bound <= max(shape) * 2.0**-52 * abs(result.objective)


@pytest.mark.parametrize("small", [0, 10**6])
@pytest.mark.parametrize("place", ["host", "gpu"])
@pytest.mark.parametrize("certify", [True, False])
def test_large_costs_that_are_needed(monkeypatch, emulated_gpu, small, place, certify):
    monkeypatch.setattr(backend, "SMALL", small)
    cost = with_large(40, 1e17)
    cost[7], cost[:, 11], cost[12] = 1e17, 3e17, 1e17
    given = OnGpu(Gpu(emulated_gpu), cost) if place == "gpu" else cost
    result = lw.solve(given, device="cuda", certify=certify)
    assert result.status == "optimal" and result.objective == pytest.approx(lw.solve(cost).objective, rel=1e-15)


def test_a_small_matrix_of_the_host_stays_there(monkeypatch):
    def refused(*_):
        raise AssertionError("solved on the GPU")

    monkeypatch.setattr(CoreSolve, "launch", refused)
    cost = with_large(70, 1e18)
    result = lw.solve(cost, device="cuda", maximize=False, unmatched_cost=5.0)
    assert result.objective == lw.solve(cost, unmatched_cost=5.0).objective
    with pytest.raises(lw.InfeasibleError):
        lw.solve(np.where(np.arange(70) == 3, np.inf, cost), device="cuda")


@pytest.mark.usefixtures("meanwhile")
@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("small", [0, 10**6])
def test_large_costs_on_the_gpu_are_seen_before_the_launch(monkeypatch, emulated_gpu, small, late):
    monkeypatch.setattr(backend, "SMALL", small)
    launched, asked, launch = [], [], CoreSolve.launch

    def is_over(glance):
        asked.append(glance)
        return bool(glance._words[0]) and (not late or asked.count(glance) > 20)

    def noted(solve, *arguments):
        launch(solve, *arguments)
        launched.append(solve)  # unless the look before ended it

    monkeypatch.setattr(Glance, "is_over", property(is_over))
    monkeypatch.setattr(CoreSolve, "launch", noted)
    cost = with_large(60, 1e18)
    result = lw.solve(OnGpu(Gpu(emulated_gpu), cost), progress=lambda _: None)
    assert len(launched) == (not small) and result.objective == pytest.approx(best(cost), rel=1e-15)
    assert result.certificate.bound <= 60 * 2.0**-52 * result.objective
    again = lw.solve(OnGpu(Gpu(emulated_gpu), np.where(cost == np.float32(1e18), np.inf, cost)))
    assert again.objective == result.objective


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("cols", [None, 1, 20])
def test_a_look_for_large_costs(monkeypatch, emulated_gpu, dtype, maximize, cols):
    if cols is not None:
        monkeypatch.setattr(large_costs, "_PIECE_COLS", cols)

    def limits(cost, prices=None):
        cost, pairs = -cost if maximize else cost, cost.shape[0]
        there = OnGpu(Gpu(emulated_gpu), cost)
        view = view_if_on_gpu(there)
        with Monitor(emulated_gpu) as monitor:
            matrix = ResidentMatrix(emulated_gpu, view).canonical(maximize, None, monitor).matrix
            on_gpu = find_large_on_gpu(matrix, monitor.stream, prices)
        whole = find_large_in_rows(cost, maximize, prices, pairs)
        assert on_gpu == whole if cols is None else (on_gpu == math.inf) == (whole == math.inf)
        assert on_gpu == math.inf or shows_gap(emulated_gpu, cost, prices)
        return on_gpu

    cost = (1 + np.random.default_rng(1).random((33, 47))).astype(dtype)
    assert limits(cost) == math.inf
    cost[3:, 5:] = 6e4
    cost[:3, :] = cost[0, 0]
    assert 2 < limits(cost) < 6e4
    cost[2, 7] = 1e-4  # far below all others, but most rows have none so small
    assert 2 < limits(cost) < 6e4
    cost[4, :] = 6e4  # which can do without it at a price
    assert limits(cost) == math.inf
    assert 2 < limits(cost, np.full(33, 1.5)) < 6e4
    assert limits(np.zeros((20, 20), dtype)) == math.inf


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize(
    ("shape", "price"), [((45, 45), None), ((45, 50), None), ((50, 45), None), ((45, 30), 0.5), ((45, 45), 3e307)]
)
def test_sums_beyond_the_range_of_float64(shape, price, certify):
    cost = np.full(shape, 3e307)
    cost[:45, :45] = with_large(45, 3e307, "float64")[:, : shape[1]]
    for sign in (1, -1):
        options = {"maximize": sign < 0, "unmatched_cost": None if price is None else sign * price}
        result = lw.solve(sign * cost, device="cuda", certify=certify, **options)
        there = lw.solve(sign * cost, **options)
        assert result.status == "optimal" and result.plan.device == "cuda:0"
        assert result.objective == there.objective
    with pytest.raises(lw.RangeError):  # the optimum itself
        lw.solve(np.full((10, 10), 1e308), device="cuda", certify=certify)


def test_answers_stay_on_the_gpu(emulated_gpu):
    cost = with_large(60, 1e18)
    gpu = Gpu(emulated_gpu)
    result = lw.solve(OnGpu(gpu, cost))
    assert result.objective == pytest.approx(best(cost), rel=1e-15)
    assert result.certificate.bound <= 60 * 2.0**-52 * result.objective
    assert not isinstance(result.u, np.ndarray) and not isinstance(result.row_to_col, np.ndarray)


@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
def test_rectangles_and_unmatched_costs(shape):
    rng = np.random.default_rng(1)
    cost = np.where(rng.random(shape) < 0.9, 1e18, rng.random(shape)).astype(np.float32)
    assert lw.solve(cost, device="cuda").objective == lw.solve(cost).objective
    free = lw.solve(cost, device="cuda", unmatched_cost=1e3)
    assert free.objective == lw.solve(cost, unmatched_cost=1e3).objective


def test_a_heavy_tail():
    cost = np.random.default_rng(2).random((80, 80)) ** 40
    result = lw.solve(cost.astype(np.float32), device="cuda")
    assert result.certificate.bound <= 80 * 2.0**-52 * result.objective


@pytest.mark.slow
def test_points_that_are_computed():
    rng = np.random.default_rng(3)
    x, y = (np.concatenate([rng.random((30, 2)), 1e12 + rng.random((30, 2)) * 1e6]) for _ in range(2))
    source = lw.costs.squared_euclidean(x, y)
    result = lw.solve(source, device="cuda")
    assert result.objective == pytest.approx(best(source.read(slice(None))), rel=1e-15)
    assert result.certificate.bound <= 60 * 2.0**-52 * result.objective


@pytest.mark.slow
def test_a_function_that_only_a_gpu_computes():
    source = lw.costs.cuda_source(
        "__device__ double cost(const Arrays& in, long long i, long long j) "
        "{ return (i * 7 + j * 3) % 10 == 0 ? 1.0 / (1 + i + j) : 1e18; }",
        shape=(50, 50),
        dtype=np.float64,
    )
    i, j = np.indices((50, 50))
    cost = np.where((i * 7 + j * 3) % 10 == 0, 1.0 / (1 + i + j), 1e18)
    result = lw.solve(source, device="cuda")
    assert result.objective == pytest.approx(best(cost), rel=1e-15)


def glance_at(context, cost, look):
    """What `look` says of a glance, which is over."""
    there = OnGpu(Gpu(context), cost)
    view = view_if_on_gpu(there)
    with Monitor(context) as monitor:
        matrix = ResidentMatrix(context, view).canonical(False, None, monitor).matrix
        glance = Glance(CoreSolve(context, matrix, monitor), monitor.glance)
        monitor.wait_for(glance)
        assert glance.is_over
        return look(glance)


def shows_gap(context, cost, prices=None):
    return glance_at(context, cost, lambda glance: glance.shows_gap(prices))


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (2, 300), (3, 257), (33, 47), (40, 700)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_glance_sees_the_exponents_of_pieces_all_over_the_matrix(emulated_gpu, shape, dtype):
    rows, cols = shape
    rng = np.random.default_rng(sum(shape))
    low, high = (-10, 10) if dtype == "float16" else (-100, 100)
    cost = (rng.choice([-1, 1], shape) * 2.0 ** rng.uniform(low, high, shape)).astype(dtype)
    count, width = min(rows, 16), min(cols, 256)
    upper, room = count // 2, cols - width
    shift = room // max(1, count - upper - 1)
    firsts = [t * shift if t < upper else room - (t - upper) * shift for t in range(count)]
    pieces = [cost[t * (rows // count), first : first + width] for t, first in enumerate(firsts)]
    assert min(firsts) >= 0
    seen = glance_at(emulated_gpu, cost, lambda glance: glance._words[1:65].copy())
    exponents = np.flatnonzero(np.unpackbits(seen.view(np.uint8), bitorder="little"))
    expected = np.unique((np.abs(np.concatenate(pieces).astype(np.float64)).view(np.uint64) >> 52).astype(int))
    assert [e for e in exponents if e > 0] == [e for e in expected if e > 0]


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (np.kron(np.ones((8, 8)), np.eye(40)), True),
        (np.kron(np.eye(8), np.ones((40, 40))), True),  # blocks, and large costs elsewhere
        (np.kron(np.eye(8)[::-1], np.ones((40, 40))), True),
        (np.eye(600), True),
        (np.ones((320, 320)), False),
    ],
)
def test_what_a_glance_shows(emulated_gpu, cost, expected):
    cost = np.where(cost > 0, 0.5 + np.random.default_rng(1).random(cost.shape), 1e15)
    assert shows_gap(emulated_gpu, cost) == expected


@pytest.mark.parametrize("pairs", [1, 7, 100, 3000])
def test_a_gap_is_as_wide_as_sums_of_so_many_pairs_need(monkeypatch, pairs):
    least = int(math.log2(4 * pairs)) - 1
    for exponents in ((0, 1000), (1, 1 + least, 2000, 2047), (1000, 1000 + least), (1000, 1001 + least), (5, 9, 2047)):
        bits = np.zeros(2048, np.uint8)
        bits[list(exponents)] = 1
        words = np.concatenate([[np.uint32(1)], np.packbits(bits, bitorder="little").view(np.uint32)])
        matrix = SimpleNamespace(rows=pairs, real_cols=pairs, dual_dtype="float64")
        mail = Mail(0, np.zeros(512, np.uint8))
        glance = Glance(SimpleNamespace(matrix=matrix, begin_glance=lambda _: None), mail)
        mail.memory[: 4 * len(words)] = words.astype(np.uint32).view(np.uint8)
        finite = sorted({e for e in exponents if 0 < e < 2047})
        wanted = any(b - a > least for a, b in itertools.pairwise(finite))
        assert glance.is_over and glance.shows_gap(None) == wanted


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("maximize", [False, True])
def test_prices_that_fell_together_are_shifted_back(monkeypatch, maximize, certify):
    """Of u^8 they fall by 10^4 times what an optimum costs, and by 10^6 times what they differ."""

    def refused(*_):
        raise AssertionError("solved on the host")

    monkeypatch.setattr(exact, "proven_on_cpu", refused)
    cost = (np.random.default_rng(1).random((300, 300)) ** 8).astype(np.float32)
    result = lw.solve(-cost if maximize else cost, device="cuda", maximize=maximize, certify=certify)
    expected = lw.solve(cost)
    assert abs(result.objective) == pytest.approx(expected.objective, rel=1e-15)
    assert "exact_solves" not in result.statistics
    if certify:
        assert result.certificate.bound < 1e-14 * expected.objective
