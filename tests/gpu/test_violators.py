"""The Hall violator of costs on a GPU contains no other, as on a CPU; an empty line is named alone."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from support.checks import assert_hall_violator, scipy_objective
from support.gpu_memory import Gpu, OnGpu


def named(cost, **options):
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda", **options)
    return caught.value


@pytest.mark.parametrize("place", ["host", "gpu"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_an_empty_line_is_named_alone(emulated_gpu, axis, maximize, place):
    for order in "CF" if place == "host" else "C":
        cost = np.random.default_rng(axis).random((12, 12)).astype(np.float32)
        cost[(slice(None), 7) if axis else 7] = -np.inf if maximize else np.inf
        cost = np.asarray(cost, order=order)
        error = named(OnGpu(Gpu(emulated_gpu), cost) if place == "gpu" else cost, maximize=maximize)
        lines, others = (error.cols, error.rows) if axis else (error.rows, error.cols)
        assert lines.tolist() == [7] and len(others) == 0


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("shape", [(9, 9), (7, 10), (10, 7)])
def test_no_smaller_set_within(shape):
    found = 0
    for seed in range(30):
        allowed = np.random.default_rng(seed).random(shape) < 0.3
        cost = np.where(allowed, 1, np.inf).astype(np.float32)
        if scipy_objective(cost) is not None:
            continue
        error = named(cost)
        assert_hall_violator(error, cost)
        many, few, pairs = error.rows, error.cols, allowed
        if len(error.cols) > len(error.rows):
            many, few, pairs = error.cols, error.rows, allowed.T
        assert len(many) == len(few) + 1
        for left_out in many:
            others = many[many != left_out]
            ones = np.where(pairs[np.ix_(others, few)], 1.0, np.inf)
            assert not len(others) or scipy_objective(ones) is not None
        found += 1
    assert found >= 5


@pytest.mark.slow
@pytest.mark.usefixtures("emulated_gpu")
def test_points_of_which_one_has_no_near_one():
    x = np.arange(20.0)[:, None]
    y = np.append(x[:19], [[100.0]], axis=0)
    error = named(lw.costs.euclidean(x, y, max_distance=3))
    assert error.cols.tolist() == [19] and len(error.rows) == 0


@pytest.mark.gpu
def test_of_tensors():
    torch = pytest.importorskip("torch")
    cost = np.random.default_rng(1).random((900, 900)).astype(np.float32)
    cost[:, 321] = np.inf
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(torch.from_numpy(cost).cuda())
    assert caught.value.cols.tolist() == [321] and len(caught.value.rows) == 0
