"""Dummy rows on a real GPU, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import start as core_start

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Dummy rows as soon as rounds leave a row."""
    monkeypatch.setattr(core_start, "LEFT_WITHOUT_DUMMIES", 10**6)


def clusters(rows, cols):
    random = np.random.default_rng(3)
    centres = random.random((10, 2))
    x, y = (centres[random.choice(10, n, p=random.dirichlet(np.full(10, 2.0)))] for n in (rows, cols))
    return x + 0.02 * random.normal(size=x.shape), y + 0.02 * random.normal(size=y.shape)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(600, 606), (2020, 2000), (5000, 5090), (3000, 9000)])
@pytest.mark.parametrize("maximize", [False, True])
def test_points(dtype, shape, maximize):
    random = np.random.default_rng(3)
    values = np.sqrt(((random.random((shape[0], 1, 2)) - random.random((1, shape[1], 2))) ** 2).sum(-1))
    cost = torch.from_numpy(values if dtype.is_floating_point else np.round(1000 * values)).to(dtype).cuda()
    result = lw.solve(cost, maximize=maximize)
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    assert result.status == "optimal" and result.certificate.complete
    assert result.objective == pytest.approx(lw.solve(host, maximize=maximize).objective, rel=1e-12)
    assert (len(result.row_to_col), len(result.col_to_row)) == shape == (len(result.u), len(result.v))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(1000, 900), (1000, 1000), (1000, 1200), (5000, 5000)])
@pytest.mark.parametrize("price", [0.05, 0.125, 0.001, None])
def test_clusters(dtype, shape, price):
    """Rows that may stay free, at prices that the type may not hold."""
    x, y = clusters(*shape)
    values = ((x[:, None] - y[None]) ** 2).sum(-1)
    if not dtype.is_floating_point:
        values, price = np.round(1000 * values), None if price is None else round(1000 * price)
    cost = torch.from_numpy(values).to(dtype).cuda()
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    result, expected = (lw.solve(matrix, unmatched_cost=price) for matrix in (cost, host))
    assert result.status == "optimal" and result.certificate.complete
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2000, 2000), (1500, 2500), (2500, 1500), (20_000, 20_000), (18_000, 25_000)])
@pytest.mark.parametrize("price", [1.0, 0.01, 0.0001, None])
def test_computed(dtype, shape, price):
    x, y = (side.astype(dtype) for side in clusters(*shape))
    source = lw.costs.squared_euclidean(x, y)
    result = lw.solve(source, device="cuda", unmatched_cost=price)
    assert result.status == "optimal" and result.certificate.complete
    if max(shape) < 5000:
        assert result.objective == pytest.approx(lw.solve(source, unmatched_cost=price).objective, rel=1e-12)
