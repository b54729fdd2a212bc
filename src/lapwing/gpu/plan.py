"""The plan of a solve on a GPU: what is copied, how much memory it takes, and whether there is so much."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from lapwing.costs.base import Tier
from lapwing.errors import ArgumentError
from lapwing.gpu.core.memory import list_arrays, workspace_bytes
from lapwing.gpu.core.start import sample_bytes
from lapwing.gpu.costs.canonical import is_copied, is_transposed
from lapwing.gpu.costs.computed import ComputedCosts
from lapwing.gpu.costs.host_rows import Lines, StreamLayout, largest_layout, layout_of_ranks, least_layout, sample_rows
from lapwing.gpu.costs.points_matrix import bytes_of, planned_points_matrix
from lapwing.gpu.costs.sparse import GivenEntries, copied_bytes, is_sorted_anew
from lapwing.gpu.reference import REFERENCE_METHODS, trees
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, Library
from lapwing.gpu.runtime.device import Context, DeviceInfo
from lapwing.gpu.runtime.tuning import MOST_ROWS
from lapwing.inputs import processors
from lapwing.methods import METHODS
from lapwing.plan import Plan, make_plan
from lapwing.problem import Form
from lapwing.request import Request

_MOST_COLS = 1 << 30  # exits included they are counted in 32 bits
LINE_BYTES = 6 * 8  # of duals and partners, a cost or a key, a price, and what a proof takes
STREAMED_LINE_BYTES = 4 * 8  # more, of a matrix that stays on the host
_SMALL_SHARE = 64  # of a GPU's memory: what takes less than one part of so many is not worth 20 us of asking

#: Pairs of a matrix on a GPU that is solved in less time on the host, the copies there and back included.
HOST_PAIRS = 40_000
#: Entries of sparse costs on a GPU that are solved on the host, too: a guess from the times of larger ones.
HOST_ENTRIES = 10_000

_Sizes = tuple[int, ...]


class Memory:
    """The memory of a GPU, and how much is free: asked for only where a solve takes a good part of it.

    Parameters
    ----------
    context : Context, entered when it is asked
    library : Library, optional
        Whose unused memory a solve can have, too.
    """

    def __init__(self, context: Context, library: Library | None = None) -> None:
        self.info: DeviceInfo = context.info
        self.context: Context = context
        self._library = library

    def free_bytes(self) -> int:
        kept = 0 if self._library is None else self._library.kept_bytes(self.info.ordinal)
        return self.context.free_bytes() + kept


def plan_matrix(cost: GpuArray, memory: Memory, request: Request, on_host: bool = False) -> Plan:
    """Decide how to solve a matrix on a GPU.

    Parameters
    ----------
    cost : GpuArray, (m, n)
        On the GPU, or as it will lie there; the pointer does not matter.
    memory : Memory
    request : Request
    on_host : bool
        Whether the matrix is to be copied from the host, and the answer back.

    Raises
    ------
    ArgumentError
        If it takes more memory than is free, or allowed; or the method cannot use a start.
    """
    if not on_host and _is_for_host(math.prod(cost.shape), HOST_PAIRS, request):
        return _plan_on_host(cost.shape, cost.dtype, request.priced, cost.strides[1] == 1, "dense", memory.info.ordinal)
    method = "core" if request.method == "auto" else request.method
    if request.start is not None and not METHODS[method].warm_start:
        raise ArgumentError(f"method {method!r} cannot use start=; use method='core', or leave start out")
    plan, needed = _plan_with_room(cost, memory, request, on_host, request.why, method)
    require_room(plan, needed, memory, request, "" if on_host else " beside the matrix", "pass a narrower dtype, ")
    return plan


def _plan_with_room(
    cost: GpuArray, memory: Memory, request: Request, on_host: bool, why: str, method: str
) -> tuple[Plan, int]:
    """The plan, and the bytes that it takes; where rows may stay free, without an exchange that takes too many."""
    form = (cost.shape, cost.strides, cost.dtype, request.priced)
    plan, needed = _plan_of_form(*form, request.fixes_rows, on_host, memory.info, why, method)
    if request.priced and plan.transposed and not fits(needed, memory, request):
        return _plan_of_form(*form, True, on_host, memory.info, why, method)
    return plan, needed


def _is_for_host(pairs: int, most: int, request: Request) -> bool:
    """Whether so few pairs are fetched and solved on the host, which nothing that is asked for prevents."""
    is_open = request.leaves_device and request.method == "auto" and request.start is None and request.writer is None
    return is_open and 0 < pairs <= most


@lru_cache(maxsize=256)
def _plan_on_host(shape: _Sizes, dtype: str, priced: bool, contiguous: bool, tier: Tier, ordinal: int) -> Plan:
    rows, cols = shape
    core_dtype = np.dtype("float32" if dtype in ("float16", "bfloat16") else dtype)
    plan = make_plan(Form((rows, cols), core_dtype, priced, contiguous, tier, 0, 0), processors=processors())
    most = f"{HOST_ENTRIES} entries" if tier == "sparse" else f"{HOST_PAIRS} pairs"
    why = f"fetched from GPU {ordinal} and solved on the host, as there are at most {most}"
    return replace(plan, dtype=dtype, reasons=(why, *plan.reasons))


def plan_held(cost: ComputedCosts, dims: int, memory: Memory, request: Request) -> Plan:
    """Decide how to solve costs of points of so many dimensions, whose matrix is held; see `plan_matrix`."""
    info = memory.info
    rows, cols = cost.shape
    check_counts(cost.shape, request.priced)
    matrix, needed = _bytes_of_held(cost, request)
    transposed = _is_exchanged(rows, cols, request)
    reasons = [
        f"solved on GPU {info.ordinal} ({info.name})",
        *([request.why] if request.why else []),
        f"the GPU computes the matrix of the costs, {matrix} bytes, and holds it: a cost of {dims} dimensions is read "
        "sooner than it is computed again",
        *(["rows and columns are exchanged"] if transposed else []),
    ]
    plan = plan_of(cost.shape, cost.dtype, transposed, needed, reasons, info, "computed")
    require_room(plan, needed, memory, request, "", "")
    return plan


def has_room(cost: ComputedCosts, memory: Memory, request: Request) -> bool:
    """Whether there is room, and so much is allowed, to hold the matrix of the costs of points."""
    _, needed = _bytes_of_held(cost, request)
    return fits(needed, memory, request)


def _bytes_of_held(cost: ComputedCosts, request: Request) -> tuple[int, int]:
    """Of the matrix, and in all; the points are there twice for a while."""
    rows, cols = cost.shape[::-1] if _is_exchanged(*cost.shape, request) else cost.shape
    matrix = bytes_of(planned_points_matrix(cost.shape, cost.dtype, request.fixes_rows))
    beside = bytes_of_solve(rows, cols, cost.dtype, request.priced, computed=False, by_trees=True)
    return matrix, matrix + beside + 2 * cost.nbytes


def plan_computed(cost: ComputedCosts, memory: Memory, request: Request, reason: str = "") -> Plan:
    """Decide how to solve costs that the GPU computes whenever they are read, and say for what reason.

    See `plan_matrix`.
    """
    info, priced = memory.info, request.priced
    rows, cols = cost.shape
    check_counts(cost.shape, priced)
    if min(rows, cols) >= MOST_ROWS:
        raise ArgumentError(
            f"costs of shape {cost.shape}: a GPU takes fewer than {MOST_ROWS} rows or columns: solve on the CPU with "
            "device='cpu'"
        )
    transposed = _is_exchanged(rows, cols, request)
    reasons = [
        f"solved on GPU {info.ordinal} ({info.name})",
        *([request.why] if request.why else []),
        f"the costs are computed there whenever they are read, from {cost.nbytes} bytes: no matrix is held",
        *([reason] if reason else []),
        *(["rows and columns are exchanged"] if transposed else []),
    ]
    if transposed:
        rows, cols = cols, rows
    needed = bytes_of_solve(rows, cols, cost.dtype, priced, computed=True) + cost.nbytes
    plan = plan_of(cost.shape, cost.dtype, transposed, needed, reasons, info, "computed")
    require_room(plan, needed, memory, request, "", "")
    return plan


def _is_exchanged(rows: int, cols: int, request: Request) -> bool:
    """Whether computed costs are solved with rows and columns exchanged."""
    return rows > cols and not request.fixes_rows


def plan_sparse(
    given: GivenEntries, by_columns: bool, dtype: str, memory: Memory, request: Request, on_host: bool
) -> Plan:
    """Decide how to solve sparse costs, `by_columns` if columns are matched; see `plan_matrix`."""
    info, priced = memory.info, request.priced
    rows, cols = given.shape
    entries = int(given.data.shape[0])
    if not on_host and _is_for_host(entries, HOST_ENTRIES, request):
        return _plan_on_host(given.shape, dtype, priced, True, "sparse", info.ordinal)
    check_counts(given.shape, priced)
    if (cols if by_columns else rows) >= MOST_ROWS:
        raise ArgumentError(
            f"costs of shape {given.shape}: a GPU takes fewer than {MOST_ROWS} rows or columns: solve on the CPU with "
            "device='cpu'"
        )
    copied = copied_bytes(given, entries, dtype, request.fixes_rows, on_host)
    where = f"{entries} entries are copied to the GPU" if on_host else f"{entries} entries are read where they are"
    reasons = [
        f"solved on GPU {info.ordinal} ({info.name})",
        *([request.why] if request.why else []),
        f"sparse costs are solved as they are, and no matrix is written out: {where}",
        *(["they are sorted there by the rows that are matched"] if is_sorted_anew(given, request.fixes_rows) else []),
        *(["rows and columns are exchanged"] if by_columns else []),
    ]
    if by_columns:
        rows, cols = cols, rows
    lines = (rows, rows + cols) if priced else (rows, cols)
    needed = copied + (workspace_bytes(*lines, dtype) + LINE_BYTES * sum(lines) if rows and cols else 0)
    plan = plan_of(given.shape, dtype, by_columns, needed, reasons, info, "sparse")
    require_room(plan, needed, memory, request, "" if on_host else " beside the costs", "")
    return plan


def plan_streamed(lines: Lines, transposed: bool, memory: Memory, request: Request) -> tuple[Plan, StreamLayout]:
    """Decide how to solve a matrix that stays on the host, because it must or because there is no room for it.

    Parameters
    ----------
    lines : Lines
        Rows as they are solved.
    transposed : bool
        Whether they are the columns.

    Raises
    ------
    ArgumentError
        If even that takes more memory than is free, or allowed.
    """
    dtype, info, priced, limit = lines.dtype.name, memory.info, request.priced, request.memory_limit
    rows, cols = lines.shape[::-1] if transposed else lines.shape
    check_counts((rows, cols), priced)
    beside = bytes_of_solve(rows, cols, dtype, priced, computed=True) + STREAMED_LINE_BYTES * (rows + cols)
    if rows == cols and not priced:
        size = sample_rows(rows)
        beside += size * size * ITEM_BYTES[dtype] + bytes_of_solve(size, size, dtype, False, computed=False)
    free = memory.free_bytes()
    budget = free if limit is None else min(limit, free)
    layout = largest_layout(lines.shape, dtype, budget - beside)
    if layout is None:
        least = beside + least_layout(lines.shape, dtype).nbytes
        allowed = f"memory_limit={limit} is allowed" if limit is not None and limit <= budget else f"{budget} are free"
        raise ArgumentError(
            f"solving {rows} x {cols} costs of dtype {dtype} takes at least {least} bytes of GPU {info.ordinal}'s "
            f"memory, even if they stay on the host, and {allowed}: raise it, free some, or solve on the CPU with "
            "device='cpu'"
        )
    reasons = [
        f"solved on GPU {info.ordinal} ({info.name})",
        *([request.why] if request.why else []),
        f"the matrix stays on the host, and its {rows * cols * ITEM_BYTES[dtype]} bytes are copied to the GPU whenever "
        f"they are read, {layout.room} lines at once; of every line, {layout.depth} costs are kept there",
        *(["rows and columns are exchanged"] if transposed else []),
    ]
    plan = plan_of((rows, cols), dtype, transposed, beside + layout.nbytes, reasons, info, "streamed")
    return plan, layout


def plan_of_ranks(
    shape: tuple[int, int], own: range, dtype: str, memory: Memory, request: Request
) -> tuple[Plan, StreamLayout]:
    """Decide how the GPU of rank 0, which has its own rows, solves a matrix whose other rows are on other ranks' GPUs.

    Raises
    ------
    ArgumentError
        If there is no room for that.
    """
    rows, cols = shape
    info, priced = memory.info, request.priced
    check_counts(shape, priced)
    beside = 2 * bytes_of_solve(rows, cols, dtype, priced, computed=True) + STREAMED_LINE_BYTES * (rows + cols)
    if rows == cols and not priced:
        size = sample_rows(rows)
        beside += size * size * ITEM_BYTES[dtype] + bytes_of_solve(size, size, dtype, False, computed=False)
    free = memory.free_bytes()
    layout = layout_of_ranks(shape, dtype, (free - beside) // 2)
    if layout is None:
        raise ArgumentError(
            f"solving {rows} x {cols} costs of dtype {dtype} takes more than {beside} bytes of GPU {info.ordinal}'s "
            f"memory beside the rows, and {free} are free: free some, or put fewer rows there"
        )
    lists = sum(size for _, size in list_arrays(rows, dtype)) * (rows - len(own))
    reasons = [
        f"rank 0 solves on GPU {info.ordinal} ({info.name}), which reads its own rows alone: keys of column minima, "
        f"{lists} bytes of lists and the violations of the others' rows are sent to it by messages over the host; of a "
        f"row that is listed again {layout.depth} costs, or all {cols}",
    ]
    return plan_of(shape, dtype, False, beside + layout.nbytes, reasons, info, "sharded"), layout


def is_too_large(cost: GpuArray, memory: Memory, request: Request) -> bool:
    """Whether there is no room, or none is allowed, for a matrix that is to be copied from the host."""
    _, needed = _plan_with_room(cost, memory, request, True, "", "core")
    return not fits(needed, memory, request)


def fits(needed: int, memory: Memory, request: Request) -> bool:
    """Whether so much is allowed and, where that is worth asking, free."""
    limit = request.memory_limit
    if limit is not None and needed > limit:
        return False
    return not _is_much(needed, memory.info) or needed <= memory.free_bytes()


def _is_much(needed: int, info: DeviceInfo) -> bool:
    """Whether so much memory is worth asking what is free."""
    return needed * _SMALL_SHARE > info.total_bytes


def require_room(plan: Plan, needed: int, memory: Memory, request: Request, beside: str, remedy: str) -> None:
    """Refuse what does not fit, and say what would help.

    Raises
    ------
    ArgumentError
    """
    info, limit = memory.info, request.memory_limit
    rows, cols = plan.shape
    costs = f"{rows} x {cols} costs of dtype {plan.dtype}"
    what = f"solving {costs} takes {needed} bytes of GPU {info.ordinal}'s memory{beside}"
    elsewhere = f"{remedy}or solve on the CPU with device='cpu'"
    if limit is not None and needed > limit:
        raise ArgumentError(f"{what}, above memory_limit={limit}: raise it, {elsewhere}")
    if _is_much(needed, info) and needed > (free := memory.free_bytes()):
        raise ArgumentError(f"{what}, and {free} are free: free some, {elsewhere}")


@lru_cache(maxsize=256)
def _plan_of_form(
    shape: _Sizes,
    strides: _Sizes,
    dtype: str,
    priced: bool,
    fixed: bool,
    on_host: bool,
    info: DeviceInfo,
    why: str,
    method: str,
) -> tuple[Plan, int]:
    """The plan, made once for the many problems of one form, and how many bytes it takes."""
    rows, cols = shape
    check_counts(shape, priced)
    transposed, copied = is_transposed(shape, strides, fixed), is_copied(shape, strides, fixed)
    reasons = [f"solved on GPU {info.ordinal} ({info.name})", *([why] if why else [])]
    matrix_bytes = (rows * cols and _span(shape, strides)) * ITEM_BYTES[dtype]
    if transposed:
        rows, cols = cols, rows
    beside = bytes_of_solve(rows, cols, dtype, priced, computed=False, by_trees=method == "core")
    reference = REFERENCE_METHODS.get(method)
    if reference is not None and rows and cols:
        lines = (rows, rows + cols) if priced else (min(shape), max(shape))
        extra = reference.memory_bytes(*lines, cols if priced else lines[1], dtype)
        reasons.append(f"{method}: {METHODS[method].summary}, which takes {extra} bytes beside the matrix")
        beside += extra
    if transposed:
        reasons.append("the matrix is solved as its transposed view")
    if on_host:
        reasons.append(f"the matrix is copied to the GPU: {matrix_bytes} bytes")
    if copied:
        beside += rows * cols * ITEM_BYTES[dtype]
        reasons.append("the matrix is copied there, since what is read as its rows is not contiguous")
    plan = plan_of(shape, dtype, transposed, beside, reasons, info, "dense", method)
    return plan, beside + matrix_bytes * on_host


def check_counts(shape: _Sizes, priced: bool) -> None:
    """Refuse more rows or columns than kernels count.

    Raises
    ------
    ArgumentError
    """
    rows, cols = shape
    if max(rows, cols) >= _MOST_COLS:
        raise ArgumentError(
            f"cost has shape {shape}; a GPU takes fewer than {_MOST_COLS} rows and columns: solve on the CPU with "
            "device='cpu'"
        )
    if priced and rows >= MOST_ROWS:
        raise ArgumentError(
            f"unmatched_cost takes fewer than {MOST_ROWS} rows on a GPU, got {rows}: solve on the CPU with device='cpu'"
        )


def bytes_of_solve(rows: int, cols: int, dtype: str, priced: bool, computed: bool, by_trees: bool = False) -> int:
    """Memory beside the costs; `by_trees`: with that of trees, which may finish when samples are gone."""
    if not (rows and cols):
        return 0
    lines = (rows, rows + cols) if priced else (min(rows, cols), max(rows, cols))
    of_trees = trees.memory_bytes(*lines, dtype) if by_trees and not priced else 0
    real = (rows, cols) if priced else lines
    in_turn = max(sample_bytes(*real, dtype, computed, priced), of_trees)
    return workspace_bytes(*lines, dtype) + in_turn + LINE_BYTES * sum(lines)


def plan_of(
    shape: _Sizes,
    dtype: str,
    transposed: bool,
    memory: int,
    reasons: list[str],
    info: DeviceInfo,
    tier: Tier,
    method: str = "core",
) -> Plan:
    """The plan of a method on a GPU, for these reasons."""
    rows, cols = shape
    return Plan(
        method=method if rows and cols else "none",
        fallback=None,
        threads=1,
        transposed=transposed,
        memory_bytes=memory,
        shape=(rows, cols),
        dtype=dtype,
        reasons=tuple(reasons),
        device=f"cuda:{info.ordinal}",
        tier=tier,
    )


def _span(shape: _Sizes, strides: _Sizes) -> int:
    """Elements from the first to the last, gaps between lines included."""
    return 1 + sum((n - 1) * abs(stride) for n, stride in zip(shape, strides, strict=True))
