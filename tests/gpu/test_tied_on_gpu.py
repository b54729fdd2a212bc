"""Costs that tie on a real GPU: alternating trees finish what the core method began, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.reference import trees
from support.tied import differences, sums

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Hand over after the first search that reads a row again."""
    monkeypatch.setattr(trees, "MOST_READS", 0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("make", [sums, differences])
@pytest.mark.parametrize("size", [600, 1501])
def test_trees_finish(size, make, maximize, dtype):
    values = make(1, size)
    result = lw.solve(torch.from_numpy(values).to(dtype).cuda(), maximize=maximize)
    assert result.status == "optimal" and result.certificate.exact
    assert result.objective == lw.solve(values, maximize=maximize).objective
    assert make is differences or result.statistics["tight_steps"] > 0


def test_more_rows_than_a_warp_loads_bits_of_at_once():
    values = sums(3, 4500)
    result = lw.solve(torch.from_numpy(values).float().cuda())
    assert result.statistics["tight_steps"] > 0
    assert result.certificate.exact and result.objective == lw.solve(values).objective


def test_trees_grow():
    values = np.abs(
        np.random.default_rng(4).integers(0, 1000, (1500, 1)) - np.random.default_rng(5).integers(0, 1000, 1500)
    )
    result = lw.solve(torch.from_numpy(values).cuda())
    assert result.statistics["tree_steps"] > 0
    assert result.certificate.exact and result.objective == lw.solve(values).objective


@pytest.mark.parametrize("make", [sums, differences])
def test_the_answer_is_the_same_in_every_run(make):
    cost = torch.from_numpy(make(2, 2000)).float().cuda()
    answers = [lw.solve(cost, certify=False).row_to_col for _ in range(5)]
    assert all(torch.equal(answer, answers[0]) for answer in answers)
