"""Small sparse problems through every kernel for them, for compute-sanitizer: ``small_sparse_problems.py LARGEST``."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

import lapwing as lw


def main(largest: int) -> None:
    """Solve and certify problems of at most so many rows; answers are compared with the CPU's."""
    warnings.filterwarnings("ignore", message="Sparse")
    rng = np.random.default_rng(20)
    for shape in ((largest, largest), (largest // 2, largest), (largest, largest // 2)):
        for share, dtype in ((4 / largest, np.float32), (0.5, np.float64), (0.5, np.int32)):
            cells = rng.random(shape) < share
            np.fill_diagonal(cells, True)
            row, col = np.nonzero(cells)
            costs = (rng.random(len(row)) if dtype != np.int32 else rng.integers(0, 9, len(row))).astype(dtype)
            matrix = sp.csr_array((costs, (row, col)), shape)
            for given in (as_tensor(matrix), as_tensor(matrix.tocoo()), matrix):
                same(matrix, given)
                same(matrix, given, unmatched_cost=1 if dtype == np.int32 else 0.2)
    blocks = sp.csr_array(sp.block_diag([rng.random((size, size)) for size in range(1, max(2, largest // 4))]))
    for options in ({}, {"unmatched_cost": 0.3}):  # many components, whose free rows are matched by local searches
        same(blocks, as_tensor(blocks), **options)
    twice = torch.sparse_coo_tensor([[0, 0, 1], [0, 0, 1]], [1.0, 2.0, 3.0], (2, 2), device="cuda")
    assert lw.solve(twice, device="cuda").objective == 6
    late = lw.solve(as_tensor(matrix), device="cuda", time_limit=0)
    assert late.status in ("optimal", "time_limit")
    print("all answers agree")


def as_tensor(matrix: Any) -> Any:
    """On the GPU; in no order if it is COO."""
    if matrix.format == "coo":
        order = np.random.default_rng(1).permutation(matrix.nnz)
        places = torch.from_numpy(np.stack(matrix.coords)[:, order].astype(np.int64)).cuda()
        return torch.sparse_coo_tensor(places, torch.from_numpy(matrix.data[order]).cuda(), matrix.shape)
    parts = (torch.from_numpy(part).cuda() for part in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(*parts, size=matrix.shape)


def same(matrix: Any, given: Any, **options: Any) -> None:
    """Whether the CPU finds the same objective."""
    result = lw.solve(given, device="cuda", **options)
    assert result.certificate is not None and result.certificate.complete
    np.testing.assert_allclose(result.objective, lw.solve(matrix, **options).objective, rtol=1e-12)


if __name__ == "__main__":
    main(int(sys.argv[1]))
