"""Lapwing: the linear assignment problem, solved exactly, with a proof attached to every answer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lapwing import costs
from lapwing.api import certify, linear_sum_assignment, plan, solve, solve_batch
from lapwing.assignment import Assignment
from lapwing.certificate import Certificate, Shortage
from lapwing.errors import (
    ArgumentError,
    DtypeError,
    GpuError,
    GroupError,
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
from lapwing.result import BatchResult, ListResult, ProvenResult, Result, StackResult

if TYPE_CHECKING:
    from lapwing import files, images, instances
    from lapwing.bipartite import min_weight_full_bipartite_matching
    from lapwing.checkpoint import Checkpoint
    from lapwing.matched import matched_costs, matched_pairs
    from lapwing.scaling import Equilibration, equilibrate
    from lapwing.torch_operator import register_torch_operator

    __version__: str

__all__ = [
    "ArgumentError",
    "Assignment",
    "Auction",
    "BatchResult",
    "Certificate",
    "Checkpoint",
    "DtypeError",
    "Equilibration",
    "GpuError",
    "GroupError",
    "InfeasibleError",
    "InternalError",
    "InvalidCostError",
    "LapwingError",
    "ListResult",
    "MissingPackageError",
    "Munkres",
    "Plan",
    "Progress",
    "ProvenResult",
    "RangeError",
    "Result",
    "Shortage",
    "Ssp",
    "StackResult",
    "__version__",
    "certify",
    "costs",
    "equilibrate",
    "files",
    "images",
    "instances",
    "linear_sum_assignment",
    "matched_costs",
    "matched_pairs",
    "min_weight_full_bipartite_matching",
    "plan",
    "register_torch_operator",
    "solve",
    "solve_batch",
]

# Loaded when first asked for: a solve needs none of them.
_MODULES = ("distributed", "files", "images", "instances", "jax", "torch")  # jax, torch and distributed import others
_MODULE_OF = {
    "Checkpoint": "lapwing.checkpoint",
    "Equilibration": "lapwing.scaling",
    "equilibrate": "lapwing.scaling",
    "matched_costs": "lapwing.matched",
    "matched_pairs": "lapwing.matched",
    "min_weight_full_bipartite_matching": "lapwing.bipartite",
    "register_torch_operator": "lapwing.torch_operator",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("lapwing")
    if name in _MODULES:
        return import_module(f"lapwing.{name}")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'lapwing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
