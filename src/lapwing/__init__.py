"""Lapwing: the linear assignment problem, solved exactly, with a proof attached to every answer."""

from __future__ import annotations

from lapwing import costs, files, images, instances
from lapwing.api import certify, linear_sum_assignment, plan, solve, solve_batch
from lapwing.certificate import Certificate
from lapwing.checkpoint import Checkpoint
from lapwing.errors import (
    ArgumentError,
    DtypeError,
    GpuError,
    InfeasibleError,
    InternalError,
    InvalidCostError,
    LapwingError,
    MissingPackageError,
    RangeError,
)
from lapwing.options import Auction, Munkres, Ssp
from lapwing.plan import Plan
from lapwing.progress import Progress
from lapwing.result import BatchResult, Result

__all__ = [
    "ArgumentError",
    "Auction",
    "BatchResult",
    "Certificate",
    "Checkpoint",
    "DtypeError",
    "GpuError",
    "InfeasibleError",
    "InternalError",
    "InvalidCostError",
    "LapwingError",
    "MissingPackageError",
    "Munkres",
    "Plan",
    "Progress",
    "RangeError",
    "Result",
    "Ssp",
    "certify",
    "costs",
    "files",
    "images",
    "instances",
    "linear_sum_assignment",
    "plan",
    "solve",
    "solve_batch",
]
