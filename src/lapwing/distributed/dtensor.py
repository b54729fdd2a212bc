"""What `lapwing.solve` does with a DTensor: its local rows are solved over the group of its mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex

from lapwing.distributed.result import RankResult
from lapwing.distributed.solve import plan, solve
from lapwing.errors import ArgumentError
from lapwing.plan import Plan
from lapwing.progress import Progress


def solve_dtensor(
    cost: Any,
    device: str | Sequence[str] | None,
    invalid: Literal["raise", "forbid"],
    maximize: bool,
    unmatched_cost: Any,
    infeasible: Literal["raise", "partial"],
    start: Any,
    method: Any,
    threads: SupportsIndex | None,
    time_limit: float | None,
    progress: bool | Callable[[Progress], object],
    certify: bool,
    memory_limit: int | str | None,
    checkpoint: Any,
) -> RankResult:
    """`lapwing.solve` of a DTensor (m, n) whose rows are shared out, placement Shard(0), over a mesh of one dimension.

    Raises
    ------
    ArgumentError
    """
    rows, group = _parts(cost, device)
    return solve(
        rows,
        group=group,
        maximize=maximize,
        unmatched_cost=unmatched_cost,
        infeasible=infeasible,
        invalid=invalid,
        start=start,
        method=method,
        threads=threads,
        time_limit=time_limit,
        progress=progress,
        certify=certify,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
    )


def plan_dtensor(
    cost: Any,
    device: str | Sequence[str] | None,
    maximize: bool,
    unmatched_cost: Any,
    start: Any,
    method: Any,
    threads: SupportsIndex | None,
    memory_limit: int | str | None,
) -> Plan:
    """`lapwing.plan` of the same.

    Raises
    ------
    ArgumentError
    """
    rows, group = _parts(cost, device)
    asked = {"maximize": maximize, "unmatched_cost": unmatched_cost, "start": start, "method": method}
    return plan(rows, group=group, **asked, threads=threads, memory_limit=memory_limit)


def _parts(cost: Any, device: str | Sequence[str] | None) -> tuple[Any, Any]:
    """The local rows, and the group of the mesh."""
    if device is not None:
        raise ArgumentError("a DTensor is solved where its rows are: leave device= out")
    mesh, placements = cost.device_mesh, cost.placements
    if cost.ndim != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got a DTensor of shape {tuple(cost.shape)}")
    if mesh.ndim != 1 or type(placements[0]).__name__ != "Shard" or placements[0].dim != 0:
        raise ArgumentError(
            f"a DTensor must have its rows shared out over a mesh of one dimension, placement Shard(0), got "
            f"{tuple(placements)}: call redistribute(placements=[Shard(0)]) first"
        )
    return cost.to_local(), mesh.get_group()
