"""JAX's batches on a real GPU: inside its transformations, on XLA's stream, without a copy to the host."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw

jax = pytest.importorskip("jax")
lapwing_jax = pytest.importorskip("lapwing.jax")

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # JAX warns of itself


@pytest.fixture
def device():
    try:
        return jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("JAX has no GPU here")


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_as_on_a_cpu(device, monkeypatch, dtype, wide):
    scale = 1_000_000 if dtype is np.int32 else 100  # one optimum: no ties
    costs = (scale * np.random.default_rng(0).random((3, 4, 20, 24))).astype(dtype)
    prices = np.full(20, 0.3 * scale, dtype)

    def answer(costs):
        return lapwing_jax.solve_batch(costs, maximize=True, unmatched_cost=prices)

    with jax.enable_x64(wide):
        expected = jax.vmap(answer)(jax.device_put(costs, jax.devices("cpu")[0]))
        monkeypatch.setattr(lapwing_jax, "solve_on_cpu", None)
        found = jax.jit(jax.vmap(answer))(jax.device_put(costs, device))
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype and one.devices() == {device}
            assert np.allclose(one, other, rtol=1e-6, atol=0)


def test_prices_of_columns(device):
    rng = np.random.default_rng(2)
    costs, prices = rng.random((3, 20, 24), np.float32), (rng.random(20), rng.random((3, 24)) / 9)
    answer = jax.jit(lambda c: lapwing_jax.solve_batch(c, unmatched_cost=prices))(jax.device_put(costs, device))
    on_cpu = lapwing_jax.solve_batch(jax.device_put(costs, jax.devices("cpu")[0]), unmatched_cost=prices)
    for one, other in zip(answer, on_cpu, strict=True):
        assert one.devices() == {device} and np.allclose(one, other, rtol=1e-6, atol=0)


def test_gradients(device):
    costs = jax.device_put(np.random.default_rng(1).random((5, 30, 20), np.float32), device)

    @jax.jit
    def total(costs):
        return lw.matched_costs(costs, lapwing_jax.solve_batch(2 * costs).row_to_col).sum()

    gradient = np.asarray(jax.grad(total)(costs))
    assert gradient.sum() == 5 * 20 and set(np.unique(gradient)) == {0.0, 1.0}
    assert float(total(costs)) == pytest.approx(lw.solve_batch(np.asarray(costs)).objective.sum(), rel=1e-6)
