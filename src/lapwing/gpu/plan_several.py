"""The plan of a solve on several GPUs of a host: which holds, or computes, what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lapwing.costs.points import PointCost
from lapwing.errors import ArgumentError
from lapwing.gpu.core.memory import list_arrays, workspace_bytes
from lapwing.gpu.core.sharded_solver import bytes_of_sample
from lapwing.gpu.costs.computed import ComputedCosts
from lapwing.gpu.costs.point_slabs import SlabLayout, slab_layout
from lapwing.gpu.costs.sharded import Shard, shares
from lapwing.gpu.plan import (
    LINE_BYTES,
    STREAMED_LINE_BYTES,
    Memory,
    bytes_of_solve,
    check_counts,
    fits,
    plan_of,
    require_room,
)
from lapwing.gpu.reference.sharded_ssp import shard_bytes
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.tuning import MOST_ROWS
from lapwing.methods import METHODS
from lapwing.plan import Plan
from lapwing.request import Request


def plan_sharded(
    parts: Sequence[Shard], memories: Sequence[Memory], transposed: bool, request: Request, made: str
) -> Plan:
    """Decide how to solve a matrix in shards on several GPUs, and say how it gets there; see `plan_matrix`."""
    priced, dtype = request.priced, parts[0].matrix.dtype
    rows, cols = parts[-1].rows.stop, parts[0].matrix.shape[1]
    shape = (cols, rows) if transposed else (rows, cols)
    check_counts(shape, priced)
    first = memories[0].info
    method = "core" if request.method == "auto" else request.method
    lists = sum(size for _, size in list_arrays(rows, dtype)) * (rows - len(parts[0].rows))
    if method == "ssp":
        does = "copies them transposed, and scans these columns"
        how = f"ssp: {METHODS[method].summary}, by all GPUs together, each with columns of the transposed matrix"
    else:
        does = "finds their minima, lists and violations"
        how = (
            f"solved on GPU {first.ordinal} ({first.name}): lists of the others' rows come to it, {lists} bytes; rows "
            "are listed again by the GPU that has them. One GPU that has room is about as fast for costs that "
            "distances define"
        )
    reasons = [how, *([request.why] if request.why else [])]
    largest = 0
    for k, (part, memory) in enumerate(zip(parts, memories, strict=True)):
        matrix, beside = _bytes_of_shard(parts, k, request, is_made=True)
        needed = beside + matrix * bool(made)
        largest = max(largest, needed)
        reasons.append(
            f"GPU {memory.info.ordinal} holds {'columns' if transposed else 'rows'} {part.rows.start} to "
            f"{part.rows.stop - 1}, {matrix} bytes{made and ', '}{made}, and {does}; {beside} "
            "bytes beside them"
        )
        plan = plan_of(shape, dtype, transposed, needed, reasons, memory.info, "sharded", method)
        with memory.context:
            require_room(plan, needed, memory, request, "" if made else " beside the shard", "use more GPUs, ")
    where = ",".join(f"cuda:{memory.info.ordinal}" for memory in memories)
    return replace(plan, memory_bytes=largest, device=where, reasons=tuple(reasons))


def has_room_for_shards(parts: Sequence[Shard], memories: Sequence[Memory], request: Request) -> bool:
    """Whether all GPUs together have room for a matrix that is made in their shards, and so much is allowed."""
    for k, memory in enumerate(memories):
        with memory.context:
            if not fits(sum(_bytes_of_shard(parts, k, request, is_made=True)), memory, request):
                return False
    return True


def _bytes_of_shard(parts: Sequence[Shard], k: int, request: Request, is_made: bool) -> tuple[int, int]:
    """Of the memory of a shard's GPU: the matrix, if it is made there, and what is beside it."""
    dtype = parts[0].matrix.dtype
    rows, cols = parts[-1].rows.stop, parts[0].matrix.shape[1]
    lines = (rows, rows + cols) if request.priced else (rows, cols)
    beside = _bytes_of_state(lines, dtype) if rows and cols else 0
    beside += bytes_of_sample(rows, len(parts[k].rows), dtype, is_first=k == 0) if lines == (rows, rows) else 0
    beside += shard_bytes(rows, len(parts[k].rows), dtype) if request.method == "ssp" else 0
    return len(parts[k].rows) * parts[k].matrix.strides[0] * ITEM_BYTES[dtype] * is_made, beside


def _bytes_of_state(lines: tuple[int, int], dtype: str) -> int:
    """Of a solve, without its samples."""
    return workspace_bytes(*lines, dtype) + LINE_BYTES * sum(lines)


def plan_slabs(
    source: PointCost, cost: ComputedCosts, memories: Sequence[Memory], request: Request
) -> tuple[Plan, SlabLayout]:
    """Decide how several GPUs solve costs of points that none holds, but all compute; see `plan_matrix`."""
    priced, dtype, info = request.priced, cost.dtype, memories[0].info
    check_counts(cost.shape, priced)
    transposed = not priced and cost.shape[0] > cost.shape[1]
    lines, positions = cost.shape[::-1] if transposed else cost.shape
    if lines >= MOST_ROWS:
        raise ArgumentError(
            f"costs of shape {cost.shape}: a GPU takes fewer than {MOST_ROWS} rows or columns: solve on the CPU with "
            "device='cpu'"
        )
    with_exits = (lines, lines + positions) if priced else (lines, positions)
    state = _bytes_of_state(with_exits, dtype)
    free = []
    for memory in memories:
        with memory.context:
            free.append(memory.free_bytes())
    limit = min(free) if request.memory_limit is None else min(*free, request.memory_limit)
    is_square = lines == positions and not priced
    room = limit - 2 * state - 2 * cost.nbytes
    layout = slab_layout((lines, positions), dtype, len(memories), room, is_square)
    sample = 0
    if layout.sample:
        size = layout.sample
        sample = size * size * ITEM_BYTES[dtype] + bytes_of_solve(size, size, dtype, False, computed=False)
    beside = 2 * cost.nbytes + 8 * with_exits[1] * len(memories) + STREAMED_LINE_BYTES * sum(with_exits)
    first = 2 * state + beside + sample + layout.bytes_of(source, first=True)
    other = state + beside + layout.bytes_of(source, first=False)
    what = "columns" if transposed else "rows"
    reasons = [
        f"solved on GPU {info.ordinal} ({info.name}), which searches; {first} bytes there",
        f"no memory holds the matrix, {lines * positions * ITEM_BYTES[dtype]} bytes: in every pass over it each GPU "
        f"computes the costs of its own {what}, {layout.rows} at once, of {source.dims} dimensions; {other} bytes "
        "on each other GPU",
        f"{what} that are listed again are computed by the other GPUs, each some of the costs, up to {layout.rows} at "
        f"once; of each, {layout.stream.depth} costs are kept",
        *([f"prices may come from a sample of {layout.sample} rows and columns"] if layout.sample else []),
        *(["rows and columns are exchanged"] if transposed else []),
    ]
    for memory, own in zip(memories, shares(lines, len(memories)), strict=True):
        reasons.append(f"GPU {memory.info.ordinal} computes {what} {own.start} to {own.stop - 1}")
        needed = other if own.start else first
        plan = plan_of(cost.shape, dtype, transposed, needed, reasons, memory.info, "sharded")
        with memory.context:
            require_room(plan, needed, memory, request, "", "use more GPUs, ")
    where = ",".join(f"cuda:{memory.info.ordinal}" for memory in memories)
    return replace(plan, memory_bytes=first, device=where, reasons=tuple(reasons)), layout
