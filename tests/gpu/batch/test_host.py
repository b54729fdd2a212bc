"""Batches from the host to a GPU and back, and what every batch offers beside `row_to_col`."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.solve import BatchOnGpu


def small(shape=(4, 6, 9), seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.fixture
def batch(gpu):
    return lw.solve_batch(small(), device="cuda", certify=True)


def test_the_answer_comes_back(batch):
    expected = lw.solve_batch(small())
    assert isinstance(batch, BatchOnGpu) and type(batch.row_to_col) is np.ndarray
    assert np.array_equal(batch.row_to_col, expected.row_to_col) and not batch.status.any()
    assert batch.objective == pytest.approx(expected.objective) and batch.certificate.exact.all()
    for b, cost in enumerate(small()):
        assert lw.certify(cost, batch.row_to_col[b], batch.u[b], batch.v[b]).exact


def test_indexed_and_iterated(batch):
    expected = lw.solve_batch(small())
    assert len(batch) == len(list(batch)) == 4
    for name in ("col_to_row", "row_ind", "col_ind"):
        assert np.array_equal(getattr(batch, name), getattr(expected, name))
    for problem, other in zip(batch, expected, strict=True):
        assert np.array_equal(problem.pairs, other.pairs) and np.array_equal(problem.free_cols, other.free_cols)
        assert problem.u.shape == (6,) and problem.status == 0
    assert np.array_equal(batch[-1].row_to_col, batch.row_to_col[3])
    with pytest.raises(IndexError):
        batch[4]
    assert "4 problems" in repr(batch) and "objective" in batch._repr_html_()


def test_options_of_the_batch(gpu):
    costs = np.random.default_rng(1).integers(0, 50, (3, 6, 5))
    options = {"maximize": True, "unmatched_cost": [3, 9, 40], "row_counts": [3, 3, 0], "col_counts": [5, 2, 4]}
    options["unmatched_cost"] = np.array([3, 9, 40, 1, 1, 1])
    batch = lw.solve_batch(costs, device="cuda:0", duals=True, **options)
    expected = lw.solve_batch(costs, **options)
    assert batch.objective.dtype == np.int64 and np.array_equal(batch.objective, expected.objective)
    for b, (m, n) in enumerate([(3, 5), (3, 2), (0, 4)]):
        prices = options["unmatched_cost"][:m]
        parts = batch.row_to_col[b, :m], batch.u[b, :m], batch.v[b, :n]
        assert lw.certify(costs[b, :m, :n], *parts, maximize=True, unmatched_cost=prices).exact


def test_problems_without_an_answer(gpu):
    costs = small()
    costs[2, 1, 3] = np.nan
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve_batch(costs, device="cuda")
    assert caught.value.__notes__ == ["in problem 2 of the batch"]
    assert lw.solve_batch(costs, device="cuda", check=False).status.tolist() == [0, 0, 2, 0]


def test_tensors_come_back_as_tensors(gpu):
    torch = pytest.importorskip("torch")
    batch = lw.solve_batch(torch.from_numpy(small()).requires_grad_(), device="cuda")
    assert batch.row_to_col.dtype == torch.int64 and batch.row_to_col.device.type == "cpu"
    assert torch.equal(batch.row_ind, torch.arange(6).expand(4, 6))


@pytest.mark.parametrize(
    ("costs", "options", "words"),
    [
        ([np.ones((2, 2))], {"device": "cuda"}, "a list is solved on the CPU"),
        (np.ones((1, 2, 2)), {"device": "gpu"}, "device must be"),
    ],
)
def test_refusals(gpu, costs, options, words):
    with pytest.raises(lw.ArgumentError, match=words):
        lw.solve_batch(costs, **options)


def test_devices_without_a_gpu():
    costs = small()
    for device in (None, "cpu", "auto"):
        assert lw.solve_batch(costs, device=device).row_to_col.shape == (4, 6)
    with pytest.raises(lw.DtypeError, match="device must be a string"):
        lw.solve_batch(costs, device=0)
