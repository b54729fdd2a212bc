"""Costs computed on the GPU (emulated): the definition's bits, and the answers that a matrix of the same costs has."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import instances
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.solver import EXPLORING
from lapwing.gpu.costs import computed, points_matrix
from lapwing.gpu.costs.canonical import to_canonical
from lapwing.gpu.plan import bytes_of_solve
from lapwing.gpu.runtime import arrays
from lapwing.gpu.runtime.arrays import ITEM_BYTES, AnyArray, GpuArray, empty_array
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.programs import COMPUTED_START, CORE_START
from support.checks import assert_hall_violator, assert_optimal
from support.gpu_memory import Gpu
from support.metrics import METRICS
from support.points import plane, points

pytestmark = pytest.mark.usefixtures("emulated_gpu", "no_matrix_is_held")

TABLE = "__device__ auto cost(const Arrays& in, long long i, long long j) { return in.table[i * in.cols + j]; }"


def metric(name, x, y):
    if name == "haversine":
        x, y = (np.clip(p[:, [0, 0]], -1.5, 1.5) for p in (x, y))
    if name == "cosine":  # not of the origin
        x, y = x + x.dtype.type(np.pi), y + x.dtype.type(np.pi)
    return METRICS[name](x, y)


def every_metric(x, y, **weights):
    """All metrics in one source, so that they are compiled once; 0 is the weight of those without one."""
    return lw.costs.weighted(*(part for name in METRICS for part in (metric(name, x, y), weights.get(name, 0))))


def table(cost, **options):
    """A matrix behind a function."""
    return lw.costs.cuda_source(
        TABLE, shape=cost.shape, arrays={"table": cost, "cols": cost.shape[1]}, dtype=cost.dtype, **options
    )


def assert_as_a_matrix(source, cost, **options):
    """The same answer, to the last bit unless rows were listed again, since everything depends on costs alone.

    A small matrix in which some costs are far above others (of 1 x 9: four times the next) is solved on the host.
    """
    found, expected = (lw.solve(costs, device="cuda", **options) for costs in (source, cost))
    assert found.objective == expected.objective
    if found.statistics["refreshes"] == 0 and "rounds" in expected.statistics:
        for name in ("row_to_col", "u", "v"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert_optimal(found, cost, **options)
    return found


# --- numbers ---


def written_out(context, source):
    """All costs, as the kernels compute them."""
    view = to_canonical(context, computed.upload_computed(context, source, None), maximize=False)
    matrix = view.matrix
    out = empty_array(context, source.shape, matrix.dtype)
    gather = matrix.kernels(context, CORE_START, COMPUTED_START)["gather"]
    gather.launch(context, 2, 256, matrix.pointer, 1, 0, *source.shape, out.pointer)
    return read(context, out.pointer, math.prod(source.shape), matrix.dtype).reshape(source.shape)


@pytest.mark.parametrize("held", [0, 99])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_have_the_same_bits_as_on_a_cpu(emulated_gpu, monkeypatch, dtype, held):
    monkeypatch.setattr(computed, "MOST_HELD", held)
    x, y = points((9, 11), 1, dtype)
    for name in METRICS:
        source = every_metric(x - 0.5, y, **{name: 0.75})
        assert np.array_equal(written_out(emulated_gpu, source), source.read(slice(None))), name


def test_float16_and_bfloat16_points_are_computed_with_in_float32():
    x, y = points((20, 30), dtype=np.float16)
    assert_as_a_matrix(lw.costs.squared_euclidean(x, y), lw.costs.squared_euclidean(x, y).read(slice(None)))


# --- answers ---


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (33, 33), (20, 140), (140, 20)])
def test_shapes(shape, maximize):
    source = plane(shape)
    found = assert_as_a_matrix(source, source.read(slice(None)), maximize=maximize)
    assert found.plan.tier == "computed" and found.plan.device == "cuda:0"


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_nothing(shape):
    found = lw.solve(plane(shape), device="cuda")
    assert found.objective == 0 and found.row_to_col.tolist() == [-1] * shape[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formulas_have_the_bits_of_the_cpu(dtype):
    pytest.importorskip("numexpr")
    x, y = points((40, 50), dtype=dtype)
    text = "where(x0 > y0 + c, inf, (x0-y0)**2 + w*abs(x1-y1)) / sqrt(2)"
    source = lw.costs.expression(text, x, y, w=0.3, c=0.6)
    assert_as_a_matrix(source, source.read(slice(0, 40)), maximize=False)
    assert lw.plan(source, device="cuda").device == "cuda:0"


@pytest.mark.parametrize("maximize", [False, True])
# In registers, or read when they are needed.
@pytest.mark.parametrize("held", [99, pytest.param(0, marks=pytest.mark.slow)])
def test_gated_points_have_the_bits_of_the_cpu(emulated_gpu, monkeypatch, held, maximize):
    monkeypatch.setattr(computed, "MOST_HELD", held)
    x, y = points((20, 140), 4, np.float32)
    for source in (
        lw.costs.squared_euclidean(x, y, max_distance=0.3),
        lw.costs.weighted(lw.costs.euclidean(x, y, max_distance=0.25), -0.7, lw.costs.cosine(x + 1, y + 1), 1.5),
    ):
        gated = source.in_sense(maximize)
        costs = gated.read(slice(None))
        assert np.isinf(costs).any() and np.array_equal(written_out(emulated_gpu, gated), costs)
        price = -0.2 if maximize else 0.2
        assert_as_a_matrix(source, costs, maximize=maximize, unmatched_cost=price)
        found = lw.solve(source, device="cuda", maximize=maximize, infeasible="partial")
        assert found.objective == pytest.approx(lw.solve(costs, maximize=maximize, infeasible="partial").objective)


@pytest.mark.slow
def test_samples(monkeypatch):
    """With thresholds so low that small problems take all steps of large ones, and parts of passes in turn."""
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    monkeypatch.setattr(computed, "_WORK_AT_ONCE", 1)
    monkeypatch.setattr(computed, "_BUSY_LINES", 64)
    source = plane((136, 136))
    found = assert_as_a_matrix(source, source.read(slice(None)))
    assert found.statistics["levels"] >= 1


def test_points_on_a_line_start_from_two_orders(monkeypatch):
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    x, y = points((150, 150), 1)
    source = lw.costs.squared_euclidean(np.hstack([x, 0 * x]), np.hstack([y, 0 * y]))
    assert assert_as_a_matrix(source, source.read(slice(None))).statistics["levels"] == 0


@pytest.mark.parametrize("name", METRICS)
def test_every_metric(name):
    x, y = points((40, 45), 3, np.float64)
    source = every_metric(x, y, **{name: 0.75})
    found = lw.solve(source, device="cuda")
    assert found.certificate.complete and found.objective == lw.solve(source).objective
    assert_optimal(found, source.read(slice(None)))


@settings(
    max_examples=15 * int(os.environ.get("LAPWING_TEST_EFFORT", "1")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.integers(1, 8),
    st.sampled_from(["random", "duplicates", "equal", "line", "huge"]),
    st.booleans(),
    st.integers(0, 9),
)
def test_any_points(shape, dims, kind, maximize, seed):
    x, y = points(shape, dims, np.float64, seed)
    if kind == "duplicates":
        x, y = np.round(2 * x), np.round(2 * y)
    elif kind == "equal":
        x, y = 0 * x + 1, 0 * y + 2
    elif kind == "line":
        x, y = x[:, :1] * np.ones(dims), y[:, :1] * np.ones(dims)
    elif kind == "huge":
        x, y = x + 1e9, y + 1e9
    source = every_metric(x, y, squared_euclidean=0.75, manhattan=0.5, inner_product=-0.25)
    found, cpu = lw.solve(source, device="cuda", maximize=maximize), lw.solve(source, maximize=maximize)
    assert found.objective == pytest.approx(cpu.objective, rel=1e-12, abs=1e-12)
    assert_optimal(found, source.read(slice(None)), maximize=maximize)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["random", "sorted", "misleading"])
def test_surveys(kind, maximize):
    x, y = points((7, 4500), 2, np.float32)
    if kind == "sorted":
        y = y[np.lexsort(y.T)]
    elif kind == "misleading":  # what a survey sees is near, but too little to make lists of
        y = y + 2  # not so far that all others are left out of a matrix as large costs
        y[:20] = x.mean(0) + y[:20] / 1000
    source = lw.costs.squared_euclidean(x, y)
    assert_as_a_matrix(source, source.read(slice(None)), maximize=maximize)


@pytest.mark.parametrize("shape", [(20, 20), (140, 12), (12, 140)])
def test_rows_that_may_stay_free(shape):
    source = plane(shape)
    prices = np.random.default_rng(1).random(shape[0]) * 0.2
    prices[::3] = np.inf if shape[0] <= shape[1] else 0.1
    assert_as_a_matrix(source, source.read(slice(None)), unmatched_cost=prices)


def test_a_start():
    source = plane((60, 60))
    first = lw.solve(source, device="cuda")
    again = lw.solve(source, device="cuda", start=first)
    assert again.objective == first.objective and again.statistics["bids"] <= first.statistics["bids"]


def test_a_time_limit_gives_a_matching_and_a_bound():
    source = plane((60, 60))
    found = lw.solve(source, device="cuda", time_limit=0)
    assert found.status == "time_limit" and sorted(found.row_to_col) == list(range(60))
    assert found.lower_bound <= lw.solve(source).objective <= found.objective


# --- functions ---


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(30, 30), (20, 140), (140, 20)])
@pytest.mark.parametrize("kind", ["uniform", "ties", "equal"])
def test_functions(dtype, maximize, shape, kind):
    random = np.random.default_rng(2)
    cost = random.random(shape) if kind == "uniform" else random.integers(0, 4 if kind == "ties" else 1, shape)
    cost = (1000 * cost - 300).astype(dtype)
    assert_as_a_matrix(table(cost), cost, maximize=maximize)


@pytest.mark.parametrize("shape", [(20, 20), (12, 140), (140, 12)])
@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(shape, maximize):
    cost = np.random.default_rng(0).random(shape).astype(np.float32)
    cost[np.random.default_rng(1).random(shape) < 0.5] = -np.inf if maximize else np.inf
    assert_as_a_matrix(table(cost), cost, maximize=maximize)
    lines, theirs = (np.s_[:8], np.s_[:8, :3]) if shape[0] <= shape[1] else (np.s_[:, :8], np.s_[:3, :8])
    cost[lines] = -np.inf if maximize else np.inf
    cost[theirs] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(table(cost), device="cuda", maximize=maximize)
    assert_hall_violator(caught.value, cost, maximize=maximize)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("shape", [(20, 150), (150, 20)])
def test_invalid_costs_are_named(bad, shape):
    cost = np.random.default_rng(0).random(shape).astype(np.float32)
    cost[11, 13] = bad
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(table(cost))
    assert (caught.value.row, caught.value.col) == (11, 13)


def test_costs_that_are_too_large_are_named():
    """By the kernels too, which do not rely on what the source has checked."""
    x, y = points((20, 140), 1, np.float64)
    source = every_metric(x, y, manhattan=0.75)
    object.__setattr__(source, "terms", tuple(replace(term, weight=1e308 * term.weight) for term in source.terms))
    with pytest.raises(lw.RangeError, match=r"cost\[\d+, \d+\] is \d.*e\+307"):
        lw.solve(source, device="cuda")


def test_uniform_costs_by_hash(emulated_gpu):
    """They depend on nothing but a seed, row and column."""
    source = instances.computed("uniform", 50, 7, cols=60)
    assert np.array_equal(written_out(emulated_gpu, source), instances.generate("uniform", 50, 7, cols=60))


# --- data that are on the GPU ---


class Library(AnyArray):
    """Arrays are views, and go over as they are."""

    def is_on_gpu(self, array):
        return isinstance(array, GpuArray)

    def view(self, array):
        return replace(array, library=self)

    def handed_over(self, context, array):
        return array


@pytest.fixture
def on_gpu(emulated_gpu, monkeypatch):
    """Puts arrays on the emulated GPU, which are then told from NumPy's."""
    library, known = Library(), arrays._library
    monkeypatch.setattr(arrays, "_library", lambda array: library if isinstance(array, GpuArray) else known(array))
    return Gpu(emulated_gpu)


@pytest.mark.parametrize("dims", [2, 9])  # computed again, or from a matrix
def test_points_on_a_gpu_are_matched_there(on_gpu, monkeypatch, dims):
    monkeypatch.setattr(points_matrix, "LEAST_DIMS", 9)
    x, y = points((30, 40), dims)
    views = on_gpu.put(np.asfortranarray(x)), on_gpu.put(y[::-1])
    source, expected = lw.costs.squared_euclidean(*views), lw.solve(lw.costs.squared_euclidean(x, y[::-1]))
    found = lw.solve(source)
    assert found.plan.device == "cuda:0" and found.objective == expected.objective
    assert ("holds it" in str(found.plan)) == (dims == 9)
    answer = on_gpu.get(found.row_to_col)
    assert isinstance(found.u, GpuArray) and np.array_equal(answer, expected.row_to_col)
    assert np.array_equal(lw.solve(source, device="cpu").row_to_col, answer)
    assert isinstance(lw.solve(lw.costs.weighted(source, 1)).row_to_col, GpuArray)
    with pytest.raises(lw.ArgumentError, match="GPU 0"):
        lw.solve(source, device="cuda:1")


def test_arrays_of_a_function_are_read_in_place(on_gpu):
    cost = np.random.default_rng(3).random((30, 40)).astype(np.float32)
    source = table_on_gpu(on_gpu.put(cost))
    assert on_gpu.get(lw.solve(source).row_to_col).tolist() == lw.solve(cost).row_to_col.tolist()
    with pytest.raises(lw.ArgumentError, match="C-contiguous"):
        table_on_gpu(on_gpu.put(np.asfortranarray(cost)))


def table_on_gpu(view):
    return lw.costs.cuda_source(TABLE, shape=view.shape, arrays={"table": view, "cols": view.shape[1]})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"arrays": {"x y": 1}}, lw.ArgumentError, "x y"),
        ({"arrays": {"x": np.ones(3, np.float16)}}, lw.DtypeError, "float16"),
        ({"arrays": {"x": ["a"]}}, lw.DtypeError, "arrays"),
        ({"dtype": "int8"}, lw.DtypeError, "int8"),
        ({"shape": 3}, lw.ArgumentError, "shape"),
        ({"shape": (-1, 3)}, lw.ArgumentError, "shape"),
        ({"source": "int f;"}, lw.ArgumentError, "no function cost"),
        ({"source": 3}, lw.DtypeError, "int"),
    ],
)
def test_faults_of_a_function_are_named(options, error, words):
    with pytest.raises(error, match=words):
        lw.costs.cuda_source(**{"source": TABLE, "shape": (3, 3)} | options)


# --- the plan ---


def test_the_plan():
    planned = lw.plan(plane((3000, 2000)), device="cuda")
    assert planned.tier == "computed" and planned.transposed and "no matrix is held" in str(planned)
    assert planned.memory_bytes < 3000 * 2000 * ITEM_BYTES["float32"]
    with pytest.raises(lw.ArgumentError, match="memory_limit"):
        lw.plan(plane((3000, 2000)), device="cuda", memory_limit="100KB")
    with pytest.raises(lw.ArgumentError, match="memory_limit"):
        lw.solve(plane((3000, 2000)), device="cuda", memory_limit="100KB")


def test_a_million_points_take_less_than_four_gigabytes():
    assert bytes_of_solve(10**6, 10**6, "float32", priced=False, computed=True) < 4e9


def test_what_a_gpu_cannot_compute():
    supplied = lw.costs.rows(lambda first, last: np.ones((last - first, 5), np.float32), shape=(5, 5), dtype=np.float32)
    assert lw.plan(supplied, device="cuda").tier == "streamed"  # its rows are sent
    assert lw.plan(supplied, device="auto").device == "cpu"
    with pytest.raises(lw.ArgumentError, match="on a GPU only"):
        lw.solve(table(np.ones((5, 5), np.float32)), device="cpu")
