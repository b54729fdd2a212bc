"""Capped costs on a real GPU, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


def distances(rows, cols, seed):
    random = np.random.default_rng(seed)
    return np.sqrt(((random.random((rows, 1, 2)) - random.random((1, cols, 2))) ** 2).sum(-1))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64]
)
@pytest.mark.parametrize("shape", [(700, 700), (600, 900)])
@pytest.mark.parametrize("maximize", [False, True])
def test_clipped_distances(below, dtype, shape, maximize):
    values = np.minimum(distances(*shape, 3), 0.04)
    values = np.round(1000 * values) if not dtype.is_floating_point else values
    cost = torch.from_numpy(-values if maximize else values).to(dtype).cuda()
    result = lw.solve(cost, maximize=maximize)
    assert below and result.status == "optimal" and result.certificate.complete
    host = cost.double().cpu().numpy() if dtype.is_floating_point else cost.cpu().numpy()
    expected = lw.solve(host, maximize=maximize)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    row_to_col = result.row_to_col.cpu().numpy()
    assert row_to_col.min() >= 0 and len(set(row_to_col)) == shape[0]


@pytest.mark.parametrize("shape", [(600, 600), (600, 900), (900, 600)])
@pytest.mark.parametrize("price", [0.02, 0.04, 0.1])
def test_rows_that_may_stay_free(shape, price):
    cost = np.minimum(distances(*shape, 4), 0.04).astype(np.float32)
    result = lw.solve(torch.from_numpy(cost).cuda(), unmatched_cost=price)
    expected = lw.solve(cost, unmatched_cost=price)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12) and result.certificate.complete
    assert (result.row_to_col >= 0).sum() == (expected.row_to_col >= 0).sum()


def test_the_answer_is_the_same_in_every_run(below):
    cost = torch.from_numpy(np.minimum(distances(900, 900, 5), 0.05)).float().cuda()
    answers = [lw.solve(cost, certify=False).row_to_col for _ in range(5)]
    assert len(below) == 5 and all(torch.equal(answer, answers[0]) for answer in answers)
