"""The names in `Result.statistics`, and their page."""

import re
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from support.checks import ALL_METHODS

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "statistics.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not in the sdist")
def test_every_statistic_is_documented():
    cost = np.random.default_rng(0).integers(0, 200, (150, 160))
    points = np.random.default_rng(1).random((2, 2000, 2))
    results = [lw.solve(cost, method=method) for method in ALL_METHODS]
    results += [
        lw.solve(cost, method=lw.Munkres(switch=True)),
        lw.solve(np.minimum(cost, 3)),
        lw.solve(np.repeat(cost[:10], 15, axis=0)),
        lw.solve(lw.costs.euclidean(*points), method="core"),
        lw.solve(lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape, cost.dtype)),
        lw.solve(lw.costs.edges([0, 0, 1], [0, 1, 0], [1.0, 2.0, 3.0], (2, 2))),
        lw.solve([[1.0, np.inf], [2.0, np.inf]], infeasible="partial"),
    ]
    documented = set(re.findall(r"`([a-zKP\d_]+)`", PAGE.read_text(encoding="utf-8")))
    documented |= {f"step_{k}_seconds" for k in range(2, 6)}
    named = {name for result in results for name in result.statistics}
    named = {re.sub(r"(?<=matched_by_)\d+$", "P", re.sub(r"(?<=_phase_)\d+$", "K", name)) for name in named}
    assert named <= documented, named - documented
