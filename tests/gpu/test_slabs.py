"""Points whose matrix several GPUs cannot hold: emulated ones, whose memories are one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import plan_several
from lapwing.gpu.core import host_solver, slab_solver
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.solver import EXPLORING
from lapwing.gpu.costs import point_slabs
from lapwing.gpu.kinds import choose
from lapwing.gpu.kinds.sharded_points import ShardedPoints
from lapwing.gpu.runtime.launch import Kernel
from support.checks import assert_hall_violator, assert_optimal

pytestmark = pytest.mark.usefixtures("meanwhile")


@pytest.fixture
def slabs(gpus, monkeypatch):
    """GPUs without room for a matrix but for so many rows of it; their names."""

    def layout(rows, shape, dtype, count, *_):
        return point_slabs.SlabLayout(*shape, dtype, count, rows, 0)

    def apply(count, rows):
        monkeypatch.setattr(choose, "has_room", lambda *_: False)
        monkeypatch.setattr(ShardedPoints, "has_room", lambda *_: False)
        monkeypatch.setattr(plan_several, "slab_layout", partial(layout, rows))
        return gpus(count)

    return apply


def points(shape, dtype="float32", dims=9, seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=(n, dims)).astype(dtype) for n in shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 70), (45, 62), (62, 45)])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_answer_is_an_optimum(slabs, dtype, shape, maximize):
    source = lw.costs.squared_euclidean(*points(shape, dtype))
    result = lw.solve(source, device=slabs(3, 11), maximize=maximize)
    assert result.plan.tier == "sharded" and result.plan.device == "cuda:0,cuda:1,cuda:2"
    assert "no memory holds the matrix" in str(result.plan)
    assert_optimal(result, np.asarray(source), maximize=maximize)
    assert result.objective == lw.solve(source).objective or maximize


def test_as_the_gpus_that_hold_the_matrix_have_it(slabs, monkeypatch):
    """Where no list is renewed: with the same bits."""
    source = lw.costs.squared_euclidean(*points((60, 60)))
    result = lw.solve(source, device=slabs(3, 7))
    monkeypatch.setattr(ShardedPoints, "has_room", lambda *_: True)
    held = lw.solve(source, device=["cuda:0", "cuda:1"])
    assert "computed there from points" in str(held.plan)
    assert result.statistics["refreshes"] == 0 and (result.row_to_col == held.row_to_col).all()
    assert (result.v == held.v).all() and result.objective == held.objective


@pytest.fixture
def small_caches(monkeypatch):
    """Row caches of few columns, in more parts than one for each GPU."""
    monkeypatch.setattr(point_slabs, "_PART_ROOM", 8)
    monkeypatch.setattr(point_slabs, "_LEAST_PART", 40)


def flat(n, dtype="float32", seed=0):
    """Points near a plane, of which lists do not suffice."""
    x, y = points((n, n), dtype, 5, seed)
    x[:, 2:] *= 1e-3
    y[:, 2:] *= 1e-3
    return x, y


@pytest.mark.parametrize(
    ("dtype", "maximize", "count"),
    [
        ("float32", False, 2),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [("float32", True, 3), ("float64", False, 3)]),
    ],
)
def test_row_caches(slabs, small_caches, dtype, maximize, count):
    source = lw.costs.squared_euclidean(*flat(140, dtype))
    result = lw.solve(source, device=slabs(count, 32), maximize=maximize)
    assert_optimal(result, np.asarray(source), maximize=maximize)
    assert result.statistics["caches_read"] > 0 and result.statistics["refreshes"] > 0


def test_row_caches_of_ties(slabs, small_caches):
    x, y = (np.round(p) for p in points((110, 110), dims=4))
    x[:20] = y[:20] = 0
    source = lw.costs.manhattan(x, y)
    result = lw.solve(source, device=slabs(3, 32))
    assert_optimal(result, np.asarray(source))
    assert result.statistics["caches_read"] > 0


@pytest.mark.parametrize("maximize", [False, True])
def test_samples(slabs, monkeypatch, maximize):
    monkeypatch.setattr(host_solver, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(host_solver, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    names = slabs(3, 13)
    layout = plan_several.slab_layout
    monkeypatch.setattr(plan_several, "slab_layout", lambda *given: replace(layout(*given), sample=24))
    source = lw.costs.squared_euclidean(*flat(90))
    result = lw.solve(source, device=names, maximize=maximize)
    assert_optimal(result, np.asarray(source), maximize=maximize)
    assert result.statistics["levels"] >= 1 and result.statistics["listings"] == 2
    assert "a sample of 24 rows" in str(result.plan)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
def test_rows_that_may_stay_free(slabs, shape, maximize):
    source = lw.costs.weighted(lw.costs.euclidean(*points(shape)), 2.0, lw.costs.manhattan(*points(shape, dims=3)), 0.5)
    for price in (9.0, np.linspace(5, 15, shape[0])):
        result = lw.solve(source, device=slabs(3, 9), unmatched_cost=price, maximize=maximize)
        assert_optimal(result, np.asarray(source), unmatched_cost=price, maximize=maximize)


def test_forbidden_pairs(slabs, small_caches):
    x, y = flat(120)
    source = lw.costs.euclidean(x, y, max_distance=3.0)
    result = lw.solve(source, device=slabs(3, 32))
    assert_optimal(result, np.asarray(source))
    with pytest.raises(lw.InfeasibleError) as raised:
        lw.solve(lw.costs.euclidean(x, y, max_distance=0.5), device=slabs(3, 32))
    assert_hall_violator(raised.value, np.asarray(lw.costs.euclidean(x, y, max_distance=0.5)))


def test_a_start_and_no_certificate(slabs):
    source = lw.costs.squared_euclidean(*points((60, 60)))
    names = slabs(3, 11)
    result = lw.solve(source, device=names)
    again = lw.solve(source, device=names, start=result)
    assert again.objective == result.objective and again.certificate.exact
    assert lw.solve(source, device=names, certify=False).objective == result.objective


def test_a_time_limit(slabs):
    source, names = lw.costs.squared_euclidean(*flat(90)), slabs(3, 11)
    result = lw.solve(source, device=names, time_limit=0.0)
    optimum = lw.solve(source).objective
    assert result.status == "time_limit" and result.lower_bound <= optimum <= result.objective


def test_gpus_with_few_rows_or_columns(slabs):
    for shape in ((1, 1), (3, 300), (300, 3), (129, 129)):
        source = lw.costs.squared_euclidean(*points(shape))
        assert_optimal(lw.solve(source, device=slabs(3, 40)), np.asarray(source))


def test_who_computes_what(slabs):
    source, names = lw.costs.squared_euclidean(*points((90, 70))), slabs(3, 40)
    plan = str(lw.plan(source, device=names))
    assert "columns that are listed again are computed by the other GPUs" in plan
    assert "GPU 1 computes columns 23 to 45" in plan and "rows and columns are exchanged" in plan
    with pytest.raises(lw.ArgumentError, match="above memory_limit=1000"):
        lw.plan(source, device=names, memory_limit=1000)


def test_one_gpu_named_twice_computes_nothing_while_it_searches(slabs):
    names = slabs(2, 40)[:1]
    source = lw.costs.squared_euclidean(*points((40, 40)))
    assert "holds rows 20 to 39" in str(lw.plan(source, device=names * 2))


def test_few_dimensions_are_computed_by_one_gpu(slabs):
    source = lw.costs.squared_euclidean(*points((40, 40), dims=2))
    assert lw.plan(source, device=slabs(3, 40)).device == "cuda:0"


def test_the_layout_of_many_points():
    n, room = 800_000, 120 << 30
    layout = point_slabs.slab_layout((n, n), "float32", 8, room, has_sample=True)
    assert layout.slab_bytes <= 8 << 30 and layout.rows > 2000 and layout.sample == 65536
    assert layout.shares[-1].stop == n and [len(share) % 128 for share in layout.shares[:-1]] == [0] * 6
    assert layout.depth == 48 * sum(map(layout.parts, layout.shares)) == 48 * 14
    x = np.zeros((8, 64), np.float32)
    source = lw.costs.squared_euclidean(x, x)
    assert layout.bytes_of(source, first=True) + 4 * layout.sample**2 < room
    least = point_slabs.slab_layout((n, n), "float32", 2, 0, has_sample=True)
    assert least.rows == 1 and least.sample == 0 and layout.are_tiles and not least.are_tiles


def test_column_minima_of_some_rows(slabs, monkeypatch):
    monkeypatch.setattr(slab_solver, "_MINIMA_ROWS", 3)
    monkeypatch.setattr(slab_solver, "_MINIMA_STEP", 7)
    source = lw.costs.squared_euclidean(*points((90, 90)))
    assert_optimal(lw.solve(source, device=slabs(3, 16)), np.asarray(source))


def test_a_listing_makes_caches_of_all_rows(slabs, monkeypatch):
    """Which spare most requests."""
    source, names = lw.costs.squared_euclidean(*points((240, 240), dims=20)), slabs(3, 100)
    result = lw.solve(source, device=names)
    monkeypatch.setattr(slab_solver.RequestedRows, "caches", None)
    without = lw.solve(source, device=names)
    assert result.objective == without.objective and result.certificate.exact
    assert result.statistics["caches_read"] < without.statistics["caches_read"] / 2


@pytest.mark.slow
def test_nothing_is_first_used_while_the_search_runs(slabs, small_caches, monkeypatch):
    """The driver may load a kernel when it is first launched, which may wait for all that run."""
    used, serving, late = set(), [], []
    launch, bring, serve = Kernel.launch, slab_solver.RequestedRows._bring, slab_solver.RequestedRows.serve

    def launched(self, context, *arguments, **options):
        kernel = context.info.ordinal, id(self)
        if serving and kernel not in used:
            late.append(kernel)
        used.add(kernel)
        launch(self, context, *arguments, **options)

    def served(self):
        serving.append(True)
        try:
            serve(self)
        finally:
            serving.pop()

    ways = []

    def brought(self, ids, for_caches):
        ways.append((bool(serving), for_caches))
        return bring(self, ids, for_caches)

    monkeypatch.setattr(Kernel, "launch", launched)
    monkeypatch.setattr(slab_solver.RequestedRows, "serve", served)
    monkeypatch.setattr(slab_solver.RequestedRows, "_bring", brought)
    source = lw.costs.squared_euclidean(*flat(140))
    result = lw.solve(source, device=slabs(3, 32))
    assert_optimal(result, np.asarray(source))
    assert ways[:2] == [(False, False), (False, True)] and (True, True) in ways and not late
    assert result.statistics["caches_read"] + result.statistics["rows_read"] > 0
