"""Batches on a GPU, as users call them."""

from __future__ import annotations

from typing import Any

from lapwing.certificate import BatchCertificate
from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import BatchOnGpu, solve_arrays

__all__ = ["BatchCertificate", "BatchOnGpu", "solve_batch"]


def solve_batch(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    certify: bool = False,
    check: bool = False,
    device: str = "cuda",
    infeasible: str = "raise",
) -> BatchOnGpu:
    """Solve many problems whose costs are on a GPU.

    Parameters
    ----------
    costs : (B, m, n) array of any strides, dtypes of floats and integers up to 64 bits
        Of PyTorch, CuPy, JAX, or anything with DLPack or `__cuda_array_interface__`.
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m), or a tuple of two
        Row i may stay free at this price. On the host or the same GPU. A tuple of two has the prices of rows and those
        of columns, (n,) or (B, n): the host solves it, and waits.
    row_counts, col_counts : None or (B,) integers, on the host or the same GPU
        Problem b is ``costs[b, :row_counts[b], :col_counts[b]]``.
    duals : bool
        Whether to return u and v.
    certify : bool
        Whether to prove every answer; implies `duals`.
    check : bool
        Whether to wait, to solve on the CPU what rounding leaves open (status 3 of floats, and 5), and to raise for
        the first problem without an answer.
    device : str
        "cuda", or the GPU of the costs by its number.
    infeasible : "raise" or "partial"
        "partial" waits, and matches as many pairs as possible, on the host, of a problem that no assignment solves.

    Raises
    ------
    ArgumentError, DtypeError
    InfeasibleError, InvalidCostError, RangeError
        With `check`; a note on the error gives the problem's index.
    GpuError
        If there is no compiler, or it fails.
    """
    options = BatchOptions(maximize, unmatched_cost, row_counts, col_counts, duals, certify, check, infeasible)
    return solve_arrays(costs, options, device)
