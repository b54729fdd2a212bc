"""Problems that are small enough for the emulated GPU, and a check of solves that end early there."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from support.checks import assert_optimal


def draw(shape, dtype, seed=0, kind="uniform"):
    random = np.random.default_rng(seed)
    if kind == "points":
        x, y = random.random((shape[0], 2)), random.random((shape[1], 2))
        cost = ((x[:, None] - y[None]) ** 2).sum(-1)
    else:
        cost = random.random(shape) if kind == "uniform" else random.integers(0, 4, shape) / 8
    return (1000 * cost).astype(dtype)


def check_interrupted(cost, maximize=False, price=None, repeatable=True, **options):
    options = {"device": "cuda"} | options | {"maximize": maximize, "unmatched_cost": price}
    result = lw.solve(cost, **options)
    if result.status == "optimal":
        assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
        return result
    certificate = lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize, unmatched_cost=price)
    optimum = lw.solve(cost, maximize=maximize, unmatched_cost=price).objective
    sign = -1 if maximize else 1
    assert result.status == "time_limit" and certificate.fault is None and certificate.complete
    assert sign * result.objective >= sign * optimum - 1e-9 * abs(optimum)
    assert sign * result.lower_bound <= sign * optimum + 1e-9 * abs(optimum)
    assert result.lower_bound == result.certificate.optimum_bound
    if not repeatable:
        return result
    quick = lw.solve(cost, certify=False, **options)
    assert quick.objective == result.objective and quick.lower_bound == pytest.approx(result.lower_bound, rel=1e-9)
    return result
