"""Problems of several kinds, solved on a real GPU and checked against the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapwing as lw

KINDS = ("uniform", "ties", "equal", "rank one", "negative", "points")


def on_gpu(cost: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.ascontiguousarray(cost)).cuda()


def check(cost: np.ndarray, maximize: bool = False, given: Any = None, **options: Any) -> lw.Result:
    """Solve on the GPU; the answer is certified there, and compared with the CPU's."""
    result = lw.solve(on_gpu(cost) if given is None else given, maximize=maximize, **options)
    reference = lw.solve(cost, maximize=maximize)
    assert result.certificate is not None and result.certificate.complete
    assert result.objective == pytest.approx(reference.objective, rel=1e-12, abs=1e-12)
    row_to_col, col_to_row = result.row_to_col.cpu().numpy(), result.col_to_row.cpu().numpy()
    matched = np.flatnonzero(row_to_col >= 0)
    assert len(matched) == min(cost.shape)
    assert (col_to_row[row_to_col[matched]] == matched).all() and (col_to_row >= 0).sum() == len(matched)
    proof = lw.certify(cost, row_to_col, result.u.cpu().numpy(), result.v.cpu().numpy(), maximize=maximize)
    assert proof.bound == pytest.approx(0, abs=1e-9 * max(1, abs(reference.objective)))
    return result


def draw(random: np.random.Generator, rows: int, cols: int, kind: str) -> np.ndarray:
    if kind == "uniform":
        return random.random((rows, cols))
    if kind == "ties":
        return random.integers(0, random.integers(1, 12), (rows, cols)).astype(float)
    if kind == "equal":
        return np.full((rows, cols), 3.0)
    if kind == "rank one":
        return np.outer(random.random(rows), random.random(cols))
    if kind == "negative":
        return -1000 * random.random((rows, cols))
    x, y = random.random((rows, 2)), random.random((cols, 2))
    return ((x[:, None] - y[None]) ** 2).sum(-1)
