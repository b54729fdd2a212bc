"""Matched costs and SciPy's order, on the host; PyTorch's gradients where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from lapwing import matched_costs, matched_pairs


@pytest.mark.parametrize("shape", [(4, 5, 5), (4, 5, 9), (4, 9, 5)])
def test_matched_pairs_as_scipy_has_them(shape):
    costs = np.random.default_rng(0).random(shape)
    row_ind, col_ind = matched_pairs(lw.solve_batch(costs).row_to_col, shape[2])
    assert row_ind.shape == col_ind.shape == (4, min(shape[1:]))
    for b, cost in enumerate(costs):
        rows, cols = linear_sum_assignment(cost)
        assert np.array_equal(row_ind[b], rows) and np.array_equal(col_ind[b], cols)


def test_fewer_pairs_end_with_minus_one():
    row_ind, col_ind = matched_pairs(np.array([[-1, 3, -1, 0], [2, -1, -1, -1], [-1, -1, -1, -1]]), 4)
    assert row_ind.tolist() == [[1, 3, -1, -1], [0, -1, -1, -1], [-1] * 4]
    assert col_ind.tolist() == [[3, 0, -1, -1], [2, -1, -1, -1], [-1] * 4]


def test_matched_costs():
    costs = np.random.default_rng(1).random((3, 6, 4))
    costs[1, 2] = np.nan
    row_to_col = lw.solve_batch(costs[::2]).row_to_col
    answer = matched_costs(costs[::2], row_to_col)
    assert answer.shape == (2, 6) and (answer[row_to_col < 0] == 0).all()
    assert answer.sum(1) == pytest.approx(lw.solve_batch(costs[::2]).objective)
    assert matched_costs(costs[1], np.array([0, 1, -1, 2, -1, -1]))[2] == 0
    assert matched_costs(np.zeros((2, 3, 0)), np.full((2, 3), -1)).tolist() == [[0.0] * 3] * 2


def test_gradients():
    torch = pytest.importorskip("torch")
    costs = torch.rand((3, 6, 4), dtype=torch.float64, requires_grad=True)
    row_to_col = torch.from_numpy(lw.solve_batch(costs.detach().numpy()).row_to_col)
    assert torch.autograd.gradcheck(lambda c: matched_costs(c, row_to_col), costs)
    rows, cols = matched_pairs(row_to_col, 4)
    assert (rows >= 0).all() and (cols >= 0).all()
