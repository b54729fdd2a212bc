"""The plan of a solve on a GPU: what is copied, how much memory it takes, and whether there is so much."""

from __future__ import annotations

from lapwing.errors import ArgumentError
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.core import workspace_bytes
from lapwing.gpu.core_start import sample_bytes
from lapwing.gpu.device import DeviceInfo
from lapwing.gpu.orient import is_copied, is_transposed
from lapwing.plan import Plan

_MOST_ROWS = 1 << 24  # kRowBits of kernels/core_auction.cuh
_MOST_COLS = 1 << 30  # exits included they are counted in 32 bits
_NUMBER_BYTES = 8  # of a dual, a partner, a price


def _span(cost: GpuArray) -> int:
    """Elements from the first to the last, gaps between lines included."""
    return 1 + sum((n - 1) * abs(stride) for n, stride in zip(cost.shape, cost.strides, strict=True))


def plan_on_gpu(cost: GpuArray, priced: bool, on_host: bool, info: DeviceInfo, free_bytes: int, why: str = "") -> Plan:
    """Decide how to solve a matrix on a GPU.

    Parameters
    ----------
    cost : GpuArray, (m, n)
        On the GPU, or as it will lie there; the pointer does not matter.
    priced : bool
        Whether rows may stay free at a price.
    on_host : bool
        Whether the matrix is to be copied from the host, and the answer back.
    info : DeviceInfo
    free_bytes : int
        Memory that is free now.
    why : str
        Why a GPU was chosen, if it was not named.

    Raises
    ------
    ArgumentError
        If it takes more memory than is free.
    """
    rows, cols = cost.shape
    matrix_bytes = (rows * cols and _span(cost)) * ITEM_BYTES[cost.dtype]
    if max(rows, cols) >= _MOST_COLS:
        raise ArgumentError(
            f"cost has shape {cost.shape}; a GPU takes fewer than {_MOST_COLS} rows and columns: solve on the CPU with "
            "device='cpu'"
        )
    if priced and rows >= _MOST_ROWS:
        raise ArgumentError(
            f"unmatched_cost takes fewer than {_MOST_ROWS} rows on a GPU, got {rows}: solve on the CPU with "
            "device='cpu'"
        )
    transposed, copied = is_transposed(cost, priced), is_copied(cost, priced)
    reasons = [f"solved on GPU {info.ordinal} ({info.name})", *([why] if why else [])]
    beside = 0
    if rows and cols:
        lines = (rows, rows + cols) if priced else (min(rows, cols), max(rows, cols))
        beside = workspace_bytes(*lines, cost.dtype) + sample_bytes(*lines, cost.dtype) + 5 * _NUMBER_BYTES * sum(lines)
    if transposed:
        reasons.append("the matrix is solved as its transposed view")
    if on_host:
        reasons.append(f"the matrix is copied to the GPU: {matrix_bytes} bytes")
    if copied:
        beside += rows * cols * ITEM_BYTES[cost.dtype]
        reasons.append("the matrix is copied there, since what is read as its rows is not contiguous")
    needed = beside + matrix_bytes * on_host
    if needed > free_bytes:
        raise ArgumentError(
            f"solving {rows} x {cols} costs of dtype {cost.dtype} takes {needed} bytes of GPU {info.ordinal}'s memory"
            f"{'' if on_host else ' beside the matrix'}, and {free_bytes} are free: free some, pass a narrower dtype, "
            "or solve on the CPU with device='cpu'"
        )
    return Plan(
        method="core" if rows and cols else "none",
        fallback=None,
        threads=1,
        transposed=transposed,
        memory_bytes=beside,
        shape=(rows, cols),
        dtype=cost.dtype,
        reasons=tuple(reasons),
        device=f"cuda:{info.ordinal}",
    )
