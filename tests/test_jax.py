"""Assignments inside JAX's transformations, against SciPy and the certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lapwing as lw

jax = pytest.importorskip("jax")
lapwing_jax = pytest.importorskip("lapwing.jax")

pytestmark = pytest.mark.filterwarnings("ignore")  # JAX warns of itself


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (1, 1), (0, 3)])
@pytest.mark.parametrize("maximize", [False, True])
def test_as_scipy(shape, maximize):
    cost = np.random.default_rng(0).random(shape).astype(np.float32)
    expected = linear_sum_assignment(cost, maximize)
    for solve in (lapwing_jax.linear_sum_assignment, jax.jit(lapwing_jax.linear_sum_assignment, static_argnums=1)):
        found = solve(jax.numpy.asarray(cost), maximize)
        assert all(isinstance(part, jax.Array) for part in found)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]


def test_vmap_is_one_batch(monkeypatch):
    costs = np.random.default_rng(1).random((5, 2, 4, 6)).astype(np.float32)
    calls = []
    solve = lw.solve_batch

    def counted(*arguments, **options):
        calls.append(arguments[0].shape)
        return solve(*arguments, **options)

    monkeypatch.setattr(lapwing_jax, "solve_on_cpu", counted)
    found = jax.vmap(lambda c: lapwing_jax.solve_batch(c, unmatched_cost=0.3))(jax.numpy.asarray(costs))
    assert found.row_to_col.shape == (5, 2, 4) and calls == [(10, 4, 6)]
    for b in np.ndindex(5, 2):
        alone = lw.solve(costs[b], unmatched_cost=np.float32(0.3))
        assert alone.certificate.bound < 1e-12 and np.array_equal(found.row_to_col[b], alone.row_to_col)
        assert float(found.objective[b]) == pytest.approx(alone.objective, rel=1e-6)


def test_gradients_go_to_the_matched_pairs():
    costs = jax.numpy.asarray(np.random.default_rng(2).random((3, 4, 5)), jax.numpy.float32)

    @jax.jit
    def total(costs):
        return lw.matched_costs(costs, lapwing_jax.solve_batch(costs).row_to_col).sum()

    gradient = np.asarray(jax.grad(total)(costs))
    assert gradient.sum() == 12 and set(np.unique(gradient)) == {0.0, 1.0}
    for b in range(3):
        assert gradient[b][linear_sum_assignment(costs[b])].all()


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_prices_of_columns(dtype):
    rng = np.random.default_rng(5)
    costs, rows, cols = ((9 * rng.random(shape)).astype(dtype) for shape in ((5, 2, 4, 6), 4, (2, 6)))

    @jax.jit
    def total(costs):
        found = jax.vmap(lambda c: lapwing_jax.solve_batch(c, maximize=True, unmatched_cost=(rows, cols)))(costs)
        return lw.matched_costs(costs, found.row_to_col).sum().astype(float), found

    found = total(costs)[1]
    assert found.row_to_col.shape == (5, 2, 4) and not np.asarray(found.status).any()
    for b in np.ndindex(5, 2):
        alone = lw.solve(costs[b], maximize=True, unmatched_cost=(rows, cols[b[1]]))
        assert alone.certificate.bound < 1e-12
        assert float(found.objective[b]) == pytest.approx(alone.objective, rel=1e-6)
    if dtype is np.float32:
        gradient = np.asarray(jax.grad(lambda c: total(c)[0])(jax.numpy.asarray(costs)))
        assert gradient.sum() == (found.row_to_col >= 0).sum() and set(np.unique(gradient)) == {0.0, 1.0}
    with pytest.raises(lw.ArgumentError, match="None in it"):
        lapwing_jax.solve_batch(costs[0], unmatched_cost=(rows, None))


def test_integers_infeasible_ones_and_refusals():
    integers = jax.numpy.asarray([[[4, 1], [2, 0]]])
    assert lapwing_jax.solve_batch(integers).objective.tolist() == [3]
    forbidden = jax.numpy.full((1, 2, 2), jax.numpy.inf)
    answer = lapwing_jax.solve_batch(forbidden)
    assert answer.status.tolist() == [1] and answer.row_to_col.tolist() == [[-1, -1]]
    with pytest.raises(lw.ArgumentError, match="2-D"):
        lapwing_jax.linear_sum_assignment(jax.numpy.zeros(3))
    with pytest.raises(lw.ArgumentError, match=r"\(B, m, n\)"):
        lapwing_jax.solve_batch(jax.numpy.zeros((3, 3)))


@pytest.mark.parametrize("wide", [False, True])
def test_words_of_a_gpus_answer_become_numbers(wide):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(2000) * 10.0 ** rng.integers(-60, 60, 2000)
    ties = [1 + 2**-24, 1 + 3 * 2**-24, 1 + 2**-24 + 2**-50, 2 - 2**-30, 2.0**-126, 3.4028235e38, 3.4028236e38]
    values = np.concatenate([values, ties, [0, -0.0, np.inf, -np.inf, np.nan]])
    with jax.enable_x64(wide), np.errstate(all="ignore"):
        expected = values if wide else np.where(np.abs(values) < 2.0**-126, 0, values).astype(np.float32)
        words = jax.numpy.asarray(values.view(np.uint32).reshape(-1, 2))
        found = lapwing_jax.float_of_words(words, jax.numpy.zeros(0, float).dtype)
        assert np.array_equal(found, expected, equal_nan=True)
        kept = values.astype(jax.numpy.zeros(0, float).dtype)
        kept = kept[(np.abs(kept) >= 2.0**-126) | (kept == 0)]
        words = np.asarray(lapwing_jax.words_of(jax.numpy.asarray(kept)))
        assert np.array_equal(words.view(np.float64)[:, 0], kept.astype(np.float64))
        integers = np.array([-1, 0, 7, -(2**31), 2**31 - 1])
        words = jax.numpy.asarray(integers.view(np.uint32).reshape(-1, 2))
        assert np.array_equal(lapwing_jax.words_of(jax.numpy.asarray(integers)), words)
        assert np.array_equal(lapwing_jax.integer_of_words(words, jax.numpy.zeros(0, int).dtype), integers)


@pytest.mark.parametrize("priced", [(), (4,), (4, 6)], ids=["unpriced", "rows", "rows and columns"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_buffers_of_xla(monkeypatch, dtype, priced):
    """The path of a GPU, with XLA's buffers on the host, and the CPU in the place of the kernels."""
    from lapwing.gpu.batch import buffers

    def solve_into(program, answer, costs, prices, maximize):
        costs = np.asarray(costs)
        sums = np.int64 if costs.dtype.kind == "i" else np.float64
        lines = [np.asarray(each).view(sums).reshape(-1, each.shape[-2]) for each in prices]
        asked = {"unmatched_cost": tuple(lines) if len(lines) == 2 else lines[0]} if lines else {}
        found = lw.solve_batch(costs.reshape(-1, *costs.shape[-2:]), maximize=maximize, **asked)
        for buffer, values in zip(answer, (found.row_to_col, found.objective, found.status), strict=True):
            target = np.asarray(buffer)
            target[...] = values.view(target.dtype).reshape(target.shape)

    def cuda(*arguments, cuda, default):
        return cuda(*arguments)

    monkeypatch.setattr(buffers, "solve_into", solve_into)
    costs = (100 * np.random.default_rng(4).random((3, 2, 4, 6))).astype(dtype)
    given = tuple(np.array([3, 50, 7, 90, 0, 20], dtype)[:size] for size in priced)
    options = {"unmatched_cost": given if len(given) == 2 else given[0]} if given else {}

    def answer(costs):
        found = lapwing_jax.solve_batch(costs, **options)
        return lw.matched_costs(costs, found.row_to_col).sum().astype(float), found

    given = jax.numpy.asarray(costs)
    expected = jax.vmap(answer)(given)
    monkeypatch.setattr(jax.lax, "platform_dependent", cuda)
    found = jax.jit(jax.vmap(answer))(given)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype and np.allclose(one, other, rtol=1e-6, atol=0)
    if dtype == np.float32:
        gradient = np.asarray(jax.grad(lambda c: answer(c)[0])(given[0]))
        assert gradient.sum() == (found[1].row_to_col[0] >= 0).sum()


def test_objectives_beyond_jax_integers():
    most, unsigned = jax.numpy.full((2, 3, 3), 2**31 - 1, "int32"), jax.numpy.full((1, 2, 2), 2**32 - 1, "uint32")
    for solve in (lapwing_jax.solve_batch, jax.jit(lapwing_jax.solve_batch)):
        found = solve(most)
        assert found.status.tolist() == [3, 3] and found.objective.tolist() == [0, 0]
        assert solve(unsigned).status.tolist() == [3]
        assert solve(most // 3).objective.tolist() == [2147483646] * 2 and not solve(most // 3).status.any()


def test_words_that_fit():
    numbers = np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**40], np.int64)
    words = jax.numpy.asarray(numbers.view(np.uint32).reshape(-1, 2))
    assert lapwing_jax.words_fit(words, np.int32).tolist() == [True] * 5 + [False] * 3


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (0, 3, 3)])
def test_batches_without_costs(shape):
    found = lapwing_jax.solve_batch(jax.numpy.zeros(shape))
    assert found.row_to_col.shape == shape[:2] and found.objective.tolist() == [0.0] * shape[0]


@pytest.mark.parametrize("dtype", ["complex64", "int4", "float8_e4m3fn"])
def test_what_has_no_real_numbers(dtype):
    with pytest.raises(lw.DtypeError, match=dtype):
        lapwing_jax.solve_batch(jax.numpy.ones((1, 2, 2), dtype))
    with pytest.raises(lw.ArgumentError, match="NaN"):
        lapwing_jax.solve_batch(jax.numpy.ones((1, 2, 2)), unmatched_cost=float("nan"))
