"""Small problems through every GPU kernel, for compute-sanitizer: ``python tests/gpu/small_problems.py LARGEST``.

Under it a kernel takes a hundred to a thousand times as long, so sizes are few. Answers are compared with the CPU's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

import lapwing as lw
from lapwing.gpu import early_end
from lapwing.gpu.core import padded
from lapwing.gpu.costs import spatial_order, upload
from lapwing.gpu.reference import REFERENCE_METHODS


def main(largest: int) -> None:
    """Solve and certify single problems and batches of at most so many rows."""
    random = np.random.default_rng(20)
    points = random.random((2, largest, 2))
    spatial_order._LEAST = 1  # points in order, though they are few
    upload._BUFFER_BYTES, upload._LEAST_PART = 512, 1024  # a host's matrix in parts, though it is small
    for cost in (
        random.random((largest, largest)).astype(np.float32),
        ((points[0][:, None] - points[1]) ** 2).sum(-1).astype(np.float32),
        random.integers(0, 9, (largest, largest)).astype(np.int32),
        np.outer(random.random(largest), random.random(largest)),
        random.random((largest // 2, largest)).astype(np.float32).T,
        np.minimum(random.random((6, 10 * largest)), 0.1).astype(np.float32),  # of which most are one
        np.eye(5, 10 * largest, dtype=np.int32),
        np.where(random.random((largest, largest)) < 0.5, np.inf, random.random((largest, largest))),
        np.round(4 * (random.random((largest, 1)) + random.random((1, largest)))),  # rows of which all is looked at
        np.where(random.random((largest, largest)) < 0.5, 1e15, random.random((largest, largest))),
    ):
        # The device is named, or the host would solve so few pairs.
        same(cost, lw.solve(torch.from_numpy(cost).cuda(), device="cuda"))
        same(cost, lw.solve(cost, device="cuda"))
        price = 1 if cost.dtype.kind == "i" else 0.05
        priced = lw.solve(torch.from_numpy(cost).cuda(), device="cuda", unmatched_cost=price)
        same(cost, priced, unmatched_cost=price)
    early_end.PADDED_LEFT, padded._LEAST_ROWS = 10**6, 8  # nearly square ones made square, though rounds leave few rows
    for shape in ((48, 49), (49, 48)):
        cost = random.random(shape).astype(np.float32)
        same(cost, lw.solve(torch.from_numpy(cost).cuda(), device="cuda"))
    early_end.CAPPED_LEFT = 10**6  # capped costs below their cap, though the auction leaves few rows
    for shape in ((largest, largest), (largest // 2, 2 * largest)):
        capped = np.minimum(random.random(shape), 0.1).astype(np.float32)
        for cost in (capped, np.round(30 * capped).astype(np.int32)):
            same(cost, lw.solve(torch.from_numpy(cost).cuda(), device="cuda"))
            same(-cost, lw.solve(torch.from_numpy(-cost).cuda(), device="cuda", maximize=True), maximize=True)
    for method in (*REFERENCE_METHODS, lw.Auction("plain"), lw.Munkres(stages=())):
        for cost in (
            random.random((largest, largest)).astype(np.float32),
            random.integers(0, 9, (largest // 2, largest)).astype(np.int32),
        ):
            same(cost, lw.solve(torch.from_numpy(cost).cuda(), method=method))  # on the GPU, as the method is named
    for source in (
        lw.costs.squared_euclidean(*points),
        lw.costs.squared_euclidean(points[0].astype(np.float32), points[1, : largest // 2].astype(np.float32)),
    ):
        same(source, lw.solve(source, device="cuda"))
    for size in sorted({min(size, largest) for size in (5, 30, 60, 120, 200)}):
        costs = random.random((3, size, size + 2)).astype(np.float32)
        answers = lw.solve_batch(torch.from_numpy(costs).cuda(), certify=True)
        torch.cuda.synchronize()
        expected = [lw.solve(cost).objective for cost in costs]
        np.testing.assert_allclose(answers.objective.cpu().numpy(), expected, rtol=1e-12)
        whole = random.integers(0, 6, (3, size, size + 2)).astype(np.int32)  # many at the price of staying free
        answers = lw.solve_batch(torch.from_numpy(whole).cuda(), unmatched_cost=2, certify=True)
        expected = [lw.solve(cost, unmatched_cost=2) for cost in whole]
        assert answers.objective.tolist() == [answer.objective for answer in expected]
        assert (answers.row_to_col >= 0).sum(1).tolist() == [len(answer.pairs) for answer in expected]
    print("all answers agree")


def same(cost: Any, result: lw.Result, **options: float) -> None:
    """Whether the CPU finds the same objective."""
    assert result.certificate is not None and result.certificate.complete
    np.testing.assert_allclose(result.objective, lw.solve(cost, **options).objective, rtol=1e-12)


if __name__ == "__main__":
    main(int(sys.argv[1]))
