"""Nearly square matrices on a real GPU, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import early_end
from lapwing.gpu.core import padded

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(600, 606), (2020, 2000), (5000, 5090)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("least_waiting", [1, 64])
def test_points(monkeypatch, dtype, shape, maximize, least_waiting):
    monkeypatch.setattr(early_end, "PADDED_LEFT", 10**6)
    monkeypatch.setattr(padded, "_LEAST_WAITING", least_waiting)
    random = np.random.default_rng(3)
    values = np.sqrt(((random.random((shape[0], 1, 2)) - random.random((1, shape[1], 2))) ** 2).sum(-1))
    cost = torch.from_numpy(values if dtype.is_floating_point else np.round(1000 * values)).to(dtype).cuda()
    result = lw.solve(cost, maximize=maximize)
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    assert result.status == "optimal" and result.certificate.complete
    assert result.objective == pytest.approx(lw.solve(host, maximize=maximize).objective, rel=1e-12)
    assert (len(result.row_to_col), len(result.col_to_row)) == shape == (len(result.u), len(result.v))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("cols", [900, 1000, 1200])
@pytest.mark.parametrize("price", [0.05, 0.125, None])
def test_clusters(monkeypatch, dtype, cols, price):
    """Searches that read many rows again, rows that may stay free, and prices that the type may not hold."""
    monkeypatch.setattr(early_end, "SQUARED_READS", 0.0)
    random = np.random.default_rng(3)
    centres = random.random((10, 2))
    x, y = (centres[random.choice(10, n, p=random.dirichlet(np.full(10, 20.0)))] for n in (1000, cols))
    x, y = x + 0.02 * random.normal(size=x.shape), y + 0.02 * random.normal(size=y.shape)
    values = ((x[:, None] - y[None]) ** 2).sum(-1)
    if not dtype.is_floating_point:
        values, price = np.round(1000 * values), None if price is None else round(1000 * price)
    cost = torch.from_numpy(values).to(dtype).cuda()
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    result, expected = (lw.solve(matrix, unmatched_cost=price) for matrix in (cost, host))
    assert result.status == "optimal" and result.certificate.complete
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
