"""The other solvers that ``lapwing bench`` finds installed, behind one signature: cost -> (row_ind, col_ind)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

Assignment = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Peer:
    """A solver.

    Attributes
    ----------
    name : str
    version : str
    solve : callable
        Takes a square float64 matrix; gives row and column indices.
    """

    name: str
    version: str
    solve: Callable[[NDArray[Any]], Assignment]


def installed_peers() -> list[Peer]:
    """Every peer that can be imported, each of its functions apart."""
    return [peer for find in (_scipy, _lap, _lapjv, _pot) for peer in find()]


def _scipy() -> list[Peer]:
    module = _module("scipy.optimize")
    if module is None:
        return []
    return [Peer("scipy", metadata.version("scipy"), module.linear_sum_assignment)]


def _lap() -> list[Peer]:
    """Of lap or of its fork lapx: both install a module of the same name, so that only one of them can be there."""
    module = _module("lap")
    if module is None:
        return []
    package = "lapx" if _version("lapx") else "lap"

    def first(cost: NDArray[Any]) -> Assignment:
        return _from_row_to_col(module.lapjv(cost, extend_cost=True)[1])

    def other(name: str) -> Callable[[NDArray[Any]], Assignment]:
        solve = getattr(module, name)
        return lambda cost: solve(cost)[1:3]

    found: dict[str, Callable[[NDArray[Any]], Assignment]] = {"lapjv": first}
    found |= {name: other(name) for name in ("lapjvx", "lapjvs", "lapjvc", "lapjvr", "lapjvh") if hasattr(module, name)}
    return [Peer(f"{package}.{name}", _version(package), solve) for name, solve in found.items()]


def _lapjv() -> list[Peer]:
    module = _module("lapjv")
    if module is None:
        return []

    def solve(cost: NDArray[Any]) -> Assignment:
        return _from_row_to_col(module.lapjv(cost, force_doubles=True)[0])

    return [Peer("lapjv", _version("lapjv"), solve)]


def _pot() -> list[Peer]:
    module = _module("ot")
    if module is None:
        return []

    def solve(cost: NDArray[Any]) -> Assignment:
        uniform = np.full(len(cost), 1.0 / len(cost))
        plan: NDArray[Any] = module.emd(uniform, uniform, cost, numItermax=1 << 30)
        return _from_row_to_col(plan.argmax(axis=1))

    return [Peer("ot.emd", _version("POT"), solve)]


def _from_row_to_col(row_to_col: NDArray[Any]) -> Assignment:
    return np.arange(len(row_to_col)), row_to_col


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
