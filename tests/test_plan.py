"""The planner is a pure function, and says why."""

import numpy as np
import pytest

import lapwing as lw
from lapwing import _core
from lapwing.inputs import make_problem
from lapwing.methods import METHODS
from lapwing.plan import GPU_FROM_ROWS, choose_device, make_plan
from support.checks import assert_optimal

MIDDLE = _core.DIRECT_MAX_ROWS + 1
LARGE = _core.JV_OR_CORE_MAX_ROWS + 1


def planned(shape, dtype=np.float64, order="C", unmatched_cost=None, **options):
    problem = make_problem(np.zeros(shape, dtype, order), unmatched_cost=unmatched_cost)
    return make_plan(problem.form, **({"processors": 2} | options))


@pytest.mark.parametrize(
    ("shape", "method", "fallback"),
    [
        ((10, 10), "jv", "core"),
        ((_core.DIRECT_MAX_ROWS, _core.DIRECT_MAX_ROWS), "jv", "core"),
        ((MIDDLE, MIDDLE), "jv", "core"),
        ((_core.JV_OR_CORE_MAX_ROWS, LARGE), "jv", "core"),
        ((LARGE, LARGE), "core", "jv"),
        ((5, LARGE), "jv", "core"),
        ((LARGE, 5), "jv", "core"),
        ((0, 5), "none", None),
        ((5, 0), "none", None),
    ],
)
def test_auto_goes_by_size(shape, method, fallback):
    plan = planned(shape)
    assert (plan.method, plan.fallback) == (method, fallback)
    if fallback:
        assert f"{method!r} or {fallback!r}" in str(plan)


@pytest.mark.parametrize("size", [MIDDLE, LARGE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("kind", ["dummy rows", "few values", "sums", "dear rows"])
def test_rows_that_are_indifferent_go_to_jv(size, dtype, kind):
    """With half of 2048 rows dummies, core took 6 seconds, and a thousand times longer than jv."""
    random = np.random.default_rng(size)
    cost = random.integers(0, 10**6, (size, size))
    if kind == "few values":
        cost %= 4
    elif kind == "sums":
        cost = np.rint(4 * (random.random((size, 1)) + random.random((1, size))))
    else:
        cost[-size // 8 :] = 0 if kind == "dummy rows" else 10**7
    cost = np.ascontiguousarray(cost.astype(dtype))
    result = lw.solve(cost)
    assert result.plan.fallback and "list_seconds" not in result.statistics
    assert_optimal(result, cost)


@pytest.mark.parametrize("name", ["uniform", "lowrank:1"])  # easy and hard searches: jv finishes, core takes over
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_either_of_two_methods_is_exact(name, dtype):
    cost = lw.instances.generate(name, MIDDLE, 1)
    cost = cost.astype(dtype) if np.issubdtype(dtype, np.floating) else (cost * 10**6).astype(dtype)
    result = lw.solve(cost)
    assert ("list_seconds" in result.statistics) == (name == "lowrank:1")
    assert result.objective == pytest.approx(lw.solve(cost, method="ssp").objective, rel=1e-12)


def test_a_warm_start_needs_a_method_that_can_use_it():
    assert planned((10, 10), warm_start=True).method == "core"
    with pytest.raises(lw.ArgumentError, match="'ssp' cannot use start="):
        planned((10, 10), warm_start=True, method="ssp")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_by_name(method):
    plan = planned((10, 10), method=method)
    assert plan.method == method
    assert any(reason.startswith(method) for reason in plan.reasons)


def test_threads():
    assert planned((1100, 1100), processors=8).threads == 1
    assert planned((3000, 3000), processors=8).threads == 8
    assert planned((2000, 2000), processors=8).threads == 4
    assert planned((300, 300), threads=3, method="core").threads == 3
    assert planned((3000, 3000), threads=3, method="jv").threads == 1


@pytest.mark.parametrize(
    ("ours", "of_all", "threads"),
    [(None, None, 8), ("3", None, 3), (None, "2", 2), ("3", "2", 3), ("99", None, 8), (None, "5,2", 5), (None, "x", 8)],
)
def test_the_environment_caps_the_threads(monkeypatch, ours, of_all, threads):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    for name, value in (("LAPWING_THREADS", ours), ("OMP_NUM_THREADS", of_all)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    cost = np.zeros((3000, 3000), np.float32)
    assert lw.plan(cost).threads == threads
    assert lw.plan(cost, threads=7).threads == 7


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_wrong_number_of_threads_in_the_environment(monkeypatch, value):
    monkeypatch.setenv("LAPWING_THREADS", value)
    with pytest.raises(lw.ArgumentError, match="LAPWING_THREADS.*must be at least 1.*unset"):
        lw.plan(np.zeros((30, 30)))


def test_transposition():
    assert planned((9, 4)).transposed
    assert not planned((4, 9)).transposed
    assert not planned((9, 4), unmatched_cost=1.0).transposed
    assert planned((9, 9), order="F").transposed
    assert not planned((9, 9), order="C").transposed
    assert not planned((4, 9), order="F").transposed
    assert "tall" in str(planned((9, 4))) and "columns are contiguous" in str(planned((9, 9), order="F"))


def test_it_reads_for_people():
    text = str(lw.plan(np.zeros((5000, 4000), np.float32)))
    assert text.startswith("5000 x 4000 float32: method 'core'")
    assert "beside the matrix" in text and "transposed" in text and "thread" in text
    assert "at most" in str(lw.plan(np.zeros((5, 5))))


def test_plan_is_what_solve_does():
    cost = np.random.default_rng(0).random((LARGE, LARGE))
    options = {"method": "ssp", "threads": 1, "maximize": True}
    assert lw.solve(cost, **options).plan == lw.plan(cost, **options)


def test_memory_is_small_beside_a_large_matrix():
    assert planned((16_000, 16_000), np.float32).memory_bytes < 0.05 * 16_000**2 * 4


@pytest.mark.parametrize(
    ("shape", "method", "gpus", "device", "why"),
    [
        ((GPU_FROM_ROWS, GPU_FROM_ROWS), "auto", 1, "cuda", "pays"),
        ((10 * GPU_FROM_ROWS, GPU_FROM_ROWS), "core", 2, "cuda", "pays"),
        ((GPU_FROM_ROWS - 1, 10**6), "auto", 1, "cpu", "fewer than"),
        ((10**5, 10**5), "jv", 1, "cpu", "no method 'jv'"),
        ((10**5, 10**5), "auto", 0, "cpu", "no GPU"),
        ((), "auto", 1, "cpu", "fewer than"),
    ],
)
def test_auto_chooses_a_device(shape, method, gpus, device, why):
    chosen, reason = choose_device(shape, method, gpus)
    assert chosen == device and why in reason


def test_a_memory_limit_bounds_what_is_held_of_a_source():
    rng = np.random.default_rng(0)
    x, y = rng.random((900, 2)), rng.random((900, 2))
    matrix = 900 * 900 * 8
    metric, formula = lw.costs.euclidean(x, y), lw.costs.expression("abs(x0-y0)", x, y)
    callback = lw.costs.rows(lambda begin, end: np.abs(x[begin:end, :1] - y[:, 0]), (900, 900))
    for source in (metric, formula, callback):
        assert lw.plan(source).method == "jv"
        plan = lw.plan(source, memory_limit=matrix - 1)
        assert plan.method == "core" and "above the memory limit" in str(plan)
        assert lw.plan(source, memory_limit=matrix).method == "jv"
        with pytest.raises(lw.ArgumentError, match=r"'jv' reads a matrix, which takes 6\.2 MiB.* limit of 976\.6 KiB"):
            lw.plan(source, method="jv", memory_limit="1MB")
        small = lw.plan(source, memory_limit=0, method="core").memory_bytes
        large = lw.plan(source, method="core").memory_bytes
        assert small < 2e6 and (source is metric or large - small == matrix)
        result = lw.solve(source, memory_limit="1MB")
        assert result.objective == pytest.approx(lw.solve(source).objective, rel=1e-12)
        assert source is metric or result.statistics["cache_misses"] > 900  # rows were read again
    assert lw.solve(callback).statistics["cache_misses"] == 0  # the source's own cache is as it was
