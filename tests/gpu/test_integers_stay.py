"""Integers with pairs left out stay integers on a GPU, too."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw


@pytest.mark.parametrize("maximize", [False, True])
def test_masked_arrays(emulated_gpu, maximize):
    rng = np.random.default_rng(5)
    for share in (0.3, 0.7):
        cost = np.ma.MaskedArray(rng.integers(0, 50, (12, 14)), rng.random((12, 14)) < share)
        for options in ({"infeasible": "partial"}, {"unmatched_cost": 9}):
            asked = {"maximize": maximize, **options}
            result, want = lw.solve(cost, device="cuda", **asked), lw.solve(cost, **asked)
            assert isinstance(result.objective, int) and result.certificate.exact
            assert (result.objective, result.status) == (want.objective, want.status)
