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
