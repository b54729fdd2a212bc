"""Nearly square matrices on a real GPU, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu import backend
from lapwing.gpu.core import padded

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(600, 606), (2020, 2000), (5000, 5090)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("least_waiting", [1, 64])
def test_points(monkeypatch, dtype, shape, maximize, least_waiting):
    monkeypatch.setattr(backend, "PADDED_LEFT", 10**6)
    monkeypatch.setattr(padded, "_LEAST_WAITING", least_waiting)
    random = np.random.default_rng(3)
    values = np.sqrt(((random.random((shape[0], 1, 2)) - random.random((1, shape[1], 2))) ** 2).sum(-1))
    cost = torch.from_numpy(values if dtype.is_floating_point else np.round(1000 * values)).to(dtype).cuda()
    result = lw.solve(cost, maximize=maximize)
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    assert result.status == "optimal" and result.certificate.complete
    assert result.objective == pytest.approx(lw.solve(host, maximize=maximize).objective, rel=1e-12)
    assert (len(result.row_to_col), len(result.col_to_row)) == shape == (len(result.u), len(result.v))
