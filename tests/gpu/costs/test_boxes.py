"""Points in the order of their boxes (emulated): what boxes leave out is not needed, and the answers are optimal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.host_sample import optimal_prices
from lapwing.gpu.core.solver import EXPLORING, STRATIFIED
from lapwing.gpu.costs import computed, spatial_order
from lapwing.gpu.runtime.copies import write
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import COMPUTED_START
from lapwing.gpu.runtime.workspace import Workspace
from support.checks import assert_optimal
from support.points import plane, points

pytestmark = pytest.mark.usefixtures("emulated_gpu", "no_matrix_is_held")


@pytest.mark.slow
def test_groups_leave_nothing_out(monkeypatch):
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 10**6)  # samples depend on the order
    monkeypatch.setattr(core_start, "STRATIFIED", core_start.STRUCTURED)
    source = plane((300, 300), seed=5)
    plain = lw.solve(source, device="cuda")
    monkeypatch.setattr(spatial_order, "_LEAST", 300)
    found = lw.solve(source, device="cuda")
    for what in ("row_to_col", "u", "v"):
        assert np.array_equal(getattr(found, what), getattr(plain, what)), what
    for what in ("phases", "rounds", "bids", "left", "searches"):
        assert found.statistics[what] == plain.statistics[what], what
    # Rows that bring no column nearer are not listed again.
    assert 0 < found.statistics["refreshes"] <= plain.statistics["refreshes"]
    assert_optimal(found, source.read(slice(None)))


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        pytest.param((330, 330), {}, marks=pytest.mark.slow),
        ((129, 128), {}),
        ((150, 260), {}),
        pytest.param((200, 130), {"maximize": True}, marks=pytest.mark.slow),
        ((150, 260), {"unmatched_cost": 0.01}),
        ((260, 150), {"unmatched_cost": 0.01}),
    ],
)
def test_points_in_order(monkeypatch, shape, options):
    monkeypatch.setattr(spatial_order, "_LEAST", 120)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 30)
    source = plane(shape, seed=5)
    assert_optimal(lw.solve(source, device="cuda", **options), source.read(slice(None)), **options)


@pytest.mark.parametrize("maximize", [False, True])
def test_the_host_solves_a_first_sample_whose_searches_are_long(monkeypatch, maximize):
    solved = []

    def noted(costs, *options):
        solved.append(costs)
        return optimal_prices(costs, *options)

    monkeypatch.setattr(spatial_order, "_LEAST", 120)
    monkeypatch.setattr(core_start, "optimal_prices", noted)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    monkeypatch.setattr(core_start, "STRATIFIED", replace(STRATIFIED, first=0.0, rounds=1))  # leaves rows to searches
    for name, value in {"LEAST_ROWS": 100, "_FIRST_SAMPLE": 30, "_FIRST_STEPS": 0}.items():
        monkeypatch.setattr(core_start, name, value)
    source = plane((130, 130), seed=5)
    found = lw.solve(source, device="cuda", maximize=maximize)
    assert_optimal(found, source.read(slice(None)), maximize=maximize)
    assert found.statistics["levels"] == 1
    (sample,) = solved
    assert sample.shape == (32, 32) and np.isin(sample, source.read(slice(None))).all()


@pytest.mark.parametrize("dims", [2, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tilted_prices_have_room(monkeypatch, emulated_gpu, dtype, dims):
    """Of 256 positions on there are such prices; nothing is written behind them (gpu/conftest.py)."""
    monkeypatch.setattr(spatial_order, "_LEAST", 1)
    for count in (256, 284, 300):  # memory comes in pieces of 256 bytes, and 284 positions leave none of one
        x, y = points((count, count), dims, dtype)
        cost = computed.upload_computed(emulated_gpu, lw.costs.squared_euclidean(x, y + x.dtype.type(9)), None)
        program = kernels(emulated_gpu, COMPUTED_START, COMPUTED_START.variant(COST=dtype, TEXT=cost.cost_program.text))
        prices = ((y + 9) ** 2).sum(axis=1).astype(np.float64)  # steep
        sizes = {"prices": (count, "float64"), "in_boxes": (spatial_order.prices_in_boxes(count), "float64")}
        with Workspace(emulated_gpu, {"in_boxes": sizes["in_boxes"]}) as memory, Workspace(emulated_gpu, sizes) as more:
            write(emulated_gpu, more["prices"], prices)
            at = cost.block, count, 1, more["prices"], memory["in_boxes"]
            program["price_boxes"].launch(emulated_gpu, 2, COMPUTED_START.constants["THREADS"], *at)
            emulated_gpu.synchronize()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clouds_that_lie_apart(monkeypatch, dtype):
    """Their prices in boxes are tilted, which leaves out boxes, and no column that is near."""
    monkeypatch.setattr(spatial_order, "_LEAST", 256)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 30)
    random = np.random.default_rng(8)
    x, y = random.normal(size=(2, 300, 2)).astype(dtype)
    source = lw.costs.squared_euclidean(x, y * np.array([3, 1], dtype) + x.dtype.type(8))
    assert "TiltedPoints" in computed.planned_computed(source).cost_program.text
    assert "TiltedPoints" not in computed.planned_computed(lw.costs.squared_euclidean(x, y)).cost_program.text
    assert_optimal(lw.solve(source, device="cuda"), source.read(slice(None)))


@pytest.mark.parametrize("kind", ["equal", pytest.param("duplicates", marks=pytest.mark.slow), "line"])
def test_awkward_points_in_order(monkeypatch, kind):
    monkeypatch.setattr(spatial_order, "_LEAST", 1)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 30)
    x, y = points((200, 200))
    if kind == "equal":
        x, y = 0 * x, 0 * y
    elif kind == "duplicates":
        x, y = np.round(4 * x), np.round(4 * y)
    else:
        x[:, 1] = y[:, 1] = 0
    source = lw.costs.squared_euclidean(x, y)
    assert_optimal(lw.solve(source, device="cuda"), source.read(slice(None)))


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.tuples(st.integers(1, 160), st.integers(1, 160)),
    clusters=st.integers(0, 4),
    spread=st.sampled_from([1e-3, 0.05]),
    digits=st.sampled_from([1, 8]),
    price=st.sampled_from([None, 0.01, 1.0]),
    maximize=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_points_in_order(monkeypatch, shape, clusters, spread, digits, price, maximize, seed):
    """Clusters of unequal numbers on the two sides, so that searches read whole rows."""
    monkeypatch.setattr(spatial_order, "_LEAST", 1)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 30)
    random = np.random.default_rng(seed)
    centres = random.random((max(clusters, 1), 2))
    sides = []
    for count in shape:
        side = centres[random.integers(len(centres), size=count)] + spread * random.standard_normal((count, 2))
        sides.append(np.round(side if clusters else random.random((count, 2)), digits).astype(np.float32))
    source, options = lw.costs.squared_euclidean(*sides), {"maximize": maximize, "unmatched_cost": price}
    assert_optimal(lw.solve(source, device="cuda", **options), source.read(slice(None)), **options)


def test_rows_that_bring_no_column_nearer_are_left_as_they_are(monkeypatch):
    """Of heavy tails a search reaches nearly all rows, and few of them lead to a column on a shorter path."""
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 30)
    random = np.random.default_rng(4)
    x, y = (random.normal(size=(100, 2)) ** power for power in (3, 1))
    source = lw.costs.squared_euclidean(x.astype(np.float32), y.astype(np.float32))
    reads = []
    for least in (10**6, 1):
        monkeypatch.setattr(spatial_order, "_LEAST", least)
        found = lw.solve(source, device="cuda")
        assert_optimal(found, source.read(slice(None)))
        reads.append(found.statistics["refreshes"] + found.statistics["full_rows"])
    assert 0 < reads[1] < 0.75 * reads[0]  # some do bring one nearer
