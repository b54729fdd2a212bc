"""The matrix of the costs of points of many dimensions: the definition's bits, and a certificate that looks past it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.gpu.costs import computed, points_matrix
from lapwing.gpu.costs.computed import upload_by_tiles
from lapwing.gpu.kinds import choose, held
from lapwing.gpu.runtime.copies import read_array, write
from support.checks import assert_optimal
from support.metrics import METRICS

GATED = ("squared_euclidean", "euclidean", "cosine")
#: Dimensions around the ends of what is in shared memory at once, and shapes around those of tiles.
DIMS = (6, 8, 15, 16, 17, 33)
SHAPES = ((1, 1), (1, 9), (63, 65), (130, 140), (129, 4), (65, 200))


def points(shape, dims=17, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.random((count, dims)).astype(dtype) for count in shape)


def metric(name, x, y):
    if name == "haversine":
        x, y = x[:, :2], y[:, :2]
    return METRICS[name](x, y)


def every_metric(x, y, **weights):
    """All metrics in one source, so that the emulator compiles them once."""
    return lw.costs.weighted(*(part for name in METRICS for part in (metric(name, x, y), weights.get(name, 0))))


def written(context, source, priced=False):
    """The matrix of a source, with what lies behind the ends of rows."""
    cost = upload_by_tiles(context, source, None)
    matrix = points_matrix.write_points_matrix(context, cost, priced, None, context.synchronize)
    assert max(matrix.strides) * source.dtype.itemsize % 16 == 0
    return read_array(matrix)


def assert_as_a_matrix(source, **options):
    """The answer that the matrix of the same costs has, to the last bit; the plan says that it was held."""
    cost = source.in_sense(options.get("maximize", False)).read(slice(None))
    found, expected = (lw.solve(costs, device="cuda", **options) for costs in (source, cost))
    assert found.plan.tier == "computed" and "holds it" in str(found.plan)
    for name in ("row_to_col", "u", "v", "objective"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert_optimal(found, cost, **options)
    return found


# --- numbers ---


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_costs_have_the_bits_of_a_cpu(emulated_gpu, dtype):
    for name, dims, shape in zip(METRICS, (*DIMS, 7, 40), (*SHAPES, (70, 33), (3, 300)), strict=True):
        x, y = points(shape, dims, dtype)
        source = every_metric(x + 0.5, y + 0.25, **{name: 0.75})
        costs = source.read(slice(None))
        assert np.array_equal(written(emulated_gpu, source), costs), name
        assert np.array_equal(written(emulated_gpu, source, priced=True), costs), name


@pytest.mark.parametrize("dims", DIMS)
def test_one_term_has_the_bits_of_a_cpu(emulated_gpu, dims):
    for shape in SHAPES:
        source = lw.costs.squared_euclidean(*points(shape, dims))
        assert np.array_equal(written(emulated_gpu, source), source.read(slice(None)))


def test_a_pass_in_parts(emulated_gpu, monkeypatch):
    monkeypatch.setattr(computed, "_WORK_AT_ONCE", 1)
    monkeypatch.setattr(computed, "_BUSY_LINES_OF_TILES", 50)
    source = lw.costs.squared_euclidean(*points((170, 90)))
    assert np.array_equal(written(emulated_gpu, source), source.read(slice(None)))
    assert_as_a_matrix(source)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", METRICS)
def test_costs_have_the_bits_of_a_cpu_on_a_gpu(real_gpu, name, dtype):
    for shape, dims in (((1000, 777), 33), ((257, 1300), 8), ((2049, 129), 301)):
        x, y = points(shape, dims, dtype)
        source = metric(name, x, y)
        for made in (source, lw.costs.weighted(source, 0.3, lw.costs.manhattan(x, y), -1.5)):
            found, costs = written(real_gpu, made), made.read(slice(None))
            if name == "minkowski":  # its powers are the library's
                assert np.allclose(found, costs, rtol=1e-5 if dtype == "float32" else 1e-12)
            else:
                assert np.array_equal(found, costs)
        if name in GATED:
            costs = source.read(slice(None))
            limit = float(np.median(np.sqrt(costs) if name == "squared_euclidean" else costs))
            gated = METRICS[name](x, y, max_distance=limit) if name != "minkowski" else source
            assert np.array_equal(written(real_gpu, gated), gated.read(slice(None)))


# --- answers ---


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (33, 33), (20, 140), (140, 20)])
def test_shapes(shape, maximize):
    assert_as_a_matrix(lw.costs.squared_euclidean(*points(shape)), maximize=maximize)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("shape", [(20, 20), (140, 12), (12, 140)])
def test_rows_that_may_stay_free(shape):
    prices = 1 + np.random.default_rng(1).random(shape[0])
    prices[::3] = np.inf if shape[0] <= shape[1] else 2.0
    assert_as_a_matrix(lw.costs.squared_euclidean(*points(shape)), unmatched_cost=prices)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("maximize", [False, True])
def test_gated_points(maximize):
    x, y = points((40, 60))
    source = lw.costs.weighted(lw.costs.euclidean(x, y, max_distance=1.4), -0.7, lw.costs.cosine(x, y), 1.5)
    assert np.isinf(source.read(slice(None))).any()
    assert_as_a_matrix(source, maximize=maximize, unmatched_cost=0.5 if maximize else -0.5)
    found = lw.solve(source, device="cuda", maximize=maximize, infeasible="partial")
    assert found.objective == pytest.approx(lw.solve(source, maximize=maximize, infeasible="partial").objective)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_dtypes(dtype):
    assert_as_a_matrix(lw.costs.squared_euclidean(*points((40, 45), dtype=dtype)))


@pytest.mark.usefixtures("emulated_gpu")
def test_an_infeasible_gate():
    x, y = points((40, 40))
    x[3] += 100
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(lw.costs.squared_euclidean(x, y, max_distance=50), device="cuda")
    assert caught.value.rows.tolist() == [3]


@pytest.mark.usefixtures("emulated_gpu")
def test_a_start_and_a_time_limit():
    source = lw.costs.squared_euclidean(*points((60, 60)))
    first = lw.solve(source, device="cuda")
    assert lw.solve(source, device="cuda", start=first).objective == first.objective
    stopped = lw.solve(source, device="cuda", time_limit=0)
    assert stopped.status == "time_limit" and stopped.lower_bound <= first.objective <= stopped.objective


@pytest.mark.slow
@settings(
    max_examples=10 * int(os.environ.get("LAPWING_TEST_EFFORT", "1")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.tuples(st.integers(1, 80), st.integers(1, 80)),
    st.integers(1, 40),
    st.sampled_from(["random", "duplicates", "equal", "line", "huge"]),
    st.booleans(),
    st.integers(0, 9),
)
def test_any_points(emulated_gpu, shape, dims, kind, maximize, seed):
    x, y = points(shape, dims, np.float64, seed)
    if kind == "duplicates":
        x, y = np.round(2 * x), np.round(2 * y)
    elif kind == "equal":
        x, y = 0 * x + 1, 0 * y + 2
    elif kind == "line":
        x, y = x[:, :1] * np.ones(dims), y[:, :1] * np.ones(dims)
    elif kind == "huge":
        x, y = x + 1e9, y + 1e9
    squared, plain, product = (METRICS[name](x, y) for name in ("squared_euclidean", "manhattan", "inner_product"))
    source = lw.costs.weighted(squared, 0.75, plain, 0.5, product, -0.25)
    found, cpu = lw.solve(source, device="cuda", maximize=maximize), lw.solve(source, maximize=maximize)
    assert found.objective == pytest.approx(cpu.objective, rel=1e-12, abs=1e-12)
    assert_optimal(found, source.read(slice(None)), maximize=maximize)


# --- the certificate ---


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(90, 90), (50, 140), (140, 50)])
def test_the_certificate_does_not_believe_the_matrix(monkeypatch, shape, maximize):
    """The cost of a pair of the optimum is written wrong: the answer misses it, and the violation is there."""
    source = lw.costs.squared_euclidean(*points(shape))
    right = lw.solve(source, device="cuda", maximize=maximize)
    i = int(np.flatnonzero(right.row_to_col >= 0)[7])
    j = int(right.row_to_col[i])

    def write_wrongly(context, *arguments):
        matrix = points_matrix.write_points_matrix(context, *arguments)
        at = matrix.pointer + 4 * (i * matrix.strides[0] + j * matrix.strides[1])
        write(context, at, np.array([0 if maximize else 100], np.float32))
        return matrix

    proofs = []
    monkeypatch.setattr(held, "write_points_matrix", write_wrongly)
    monkeypatch.setattr(held, "proof_by_tiles", recording(proofs, held.proof_by_tiles))
    with pytest.raises(lw.InternalError, match="refuses"):
        lw.solve(source, device="cuda", maximize=maximize)
    assert proofs[0].violation > 0 and proofs[0].violation_at == (i, j)


def recording(proofs, make):
    """Proofs whose certificates are kept."""

    def made(*arguments):
        proof = make(*arguments)
        finish = proof.finish

        def kept():
            proofs.append(finish())
            return proofs[-1]

        proof.finish = kept
        return proof

    return made


# --- the plan ---


@pytest.mark.usefixtures("emulated_gpu")
def test_the_plan():
    x, y = points((3000, 2000))
    source = lw.costs.squared_euclidean(x, y)
    planned = lw.plan(source, device="cuda")
    assert planned.tier == "computed" and planned.transposed and "of 17 dimensions is read sooner" in str(planned)
    assert planned.memory_bytes > 3000 * 2000 * 4
    again = lw.plan(source, device="cuda", memory_limit="20MB")
    assert "no room" in str(again) and "no matrix is held" in str(again) and again.memory_bytes < 20e6
    few = lw.plan(lw.costs.squared_euclidean(x[:, :2], y[:, :2]), device="cuda")
    assert "no matrix is held" in str(few) and "no room" not in str(few)
    with pytest.raises(lw.ArgumentError, match="reads a matrix"):
        lw.solve(source, device="cuda", method="hungarian-tree")


def test_few_points_are_held(emulated_gpu, monkeypatch):
    monkeypatch.setattr(points_matrix, "LEAST_COMPUTED", 100)
    for count in (60, 120):
        x, y = points((count, 60))
        source = lw.costs.squared_euclidean(x[:, :2], y[:, :2])
        found = lw.solve(source, device="cuda", unmatched_cost=0.5)
        assert ("holds it" in str(found.plan)) == (count < 100)
        assert found.objective == pytest.approx(lw.solve(source, unmatched_cost=0.5).objective, rel=1e-12)


@pytest.mark.usefixtures("emulated_gpu")
def test_without_room_costs_are_computed_again(monkeypatch):
    source = lw.costs.squared_euclidean(*points((40, 50)))
    held_answer = lw.solve(source, device="cuda")
    monkeypatch.setattr(choose, "has_room", lambda *_: False)
    found = lw.solve(source, device="cuda")
    assert "no matrix is held" in str(found.plan) and found.objective == held_answer.objective
