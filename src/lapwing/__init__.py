"""Lapwing: the linear assignment problem, solved exactly, with a proof attached to every answer."""

from __future__ import annotations

from lapwing import costs, files, instances
from lapwing.api import certify, linear_sum_assignment, plan, solve, solve_batch
from lapwing.certificate import Certificate
from lapwing.errors import (
    ArgumentError,
    DtypeError,
    GpuError,
    InfeasibleError,
    InternalError,
    InvalidCostError,
    LapwingError,
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
    "DtypeError",
    "GpuError",
    "InfeasibleError",
    "InternalError",
    "InvalidCostError",
    "LapwingError",
    "Munkres",
    "Plan",
    "Progress",
    "RangeError",
    "Result",
    "Ssp",
    "certify",
    "costs",
    "files",
    "instances",
    "linear_sum_assignment",
    "plan",
    "solve",
    "solve_batch",
]
