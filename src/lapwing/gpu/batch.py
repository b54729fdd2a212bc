"""Batches on a GPU: from arrays there to arrays there, in the order of the stream, without the host in the loop.

`solve_batch` checks shapes and types, allocates the answer in the user's library, launches one kernel (two, where
matrices must be rearranged first) and returns. It never waits, so it can be captured in a CUDA graph. What is wrong
with a problem's numbers is found by the kernel, and shows in that problem's `status`; ``check=True`` waits and raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lapwing import inputs
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray, empty_array, view_array
from lapwing.gpu.batch_errors import raise_for_first
from lapwing.gpu.batch_inputs import BatchRequest, check_stack, make_request
from lapwing.gpu.batch_plan import CROSSOVERS, WARP, BatchPlan, Crossovers, plan_batch
from lapwing.gpu.device import Context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import BATCH_STAGE
from lapwing.gpu.workspace import Workspace

# Rearranged copies of matrices take at most so much memory at a time.
_STAGED_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class BatchOnGpu:
    """The answers to a batch, arrays of the user's library on the costs' GPU.

    Attributes
    ----------
    row_to_col : (B, m) int64
        The column of each row; -1 where a row is free, lies beyond its problem's rows, or its problem has no answer.
    objective : (B,) float64, or int64 for integer costs
        NaN, or 0 for integers, without an answer.
    status : (B,) int32
        0 solved, 1 infeasible, 2 a cost or price is NaN or infinite with the wrong sign, 3 costs too large for exact
        sums, 4 counts beyond the array.
    u, v : (B, m) and (B, n), float64 or int64, or None
        The duals, 0 beyond a problem's rows and columns.
    """

    row_to_col: Any
    objective: Any
    status: Any
    u: Any
    v: Any

    def __len__(self) -> int:
        return int(self.objective.shape[0])


def solve_batch(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
) -> BatchOnGpu:
    """Solve many problems whose costs are on a GPU.

    Parameters
    ----------
    costs : (B, m, n) array of any strides, dtypes of floats and integers up to 64 bits
        Of PyTorch, CuPy, JAX, or anything with DLPack or `__cuda_array_interface__`.
    maximize : bool
    unmatched_cost : None, scalar, (m,) or (B, m)
        Row i may stay free at this price. On the host or the same GPU.
    row_counts, col_counts : None or (B,) integers, on the host or the same GPU
        Problem b is ``costs[b, :row_counts[b], :col_counts[b]]``.
    duals : bool
        Whether to return u and v.
    check : bool
        Whether to wait, and to raise for the first problem without an answer.

    Raises
    ------
    ArgumentError, DtypeError
    InfeasibleError, InvalidCostError, RangeError
        With `check`; a note on the error says which problem.
    GpuError
        If there is no compiler, or it fails.
    """
    stack = view_array(costs)
    with Context(stack.ordinal, stack.stream) as context:
        options = {"maximize": maximize, "unmatched_cost": unmatched_cost, "duals": duals}
        counts = {"row_counts": row_counts, "col_counts": col_counts}
        return solve_stack(context, stack, **options, **counts, check=check).handed_over(context)


def solve_stack(
    context: Context,
    stack: GpuArray,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
    crossovers: Crossovers = CROSSOVERS,
) -> BatchArrays:
    """The same with views in and out, on the context's stream."""
    check_stack(stack)
    maximize = inputs.check_flag(maximize, "maximize")
    duals = inputs.check_flag(duals, "duals")
    check = inputs.check_flag(check, "check")
    request = make_request(context, stack, maximize, unmatched_cost, row_counts, col_counts)
    plan = plan_batch(request.form, context.info.shared_bytes, crossovers)
    answer = BatchArrays(context, request, duals)
    if stack.shape[0]:
        _launch(context, request, plan, answer)
    if check:
        raise_for_first(context, request, answer.status)
    return answer


class BatchArrays:
    """Room for an answer: what `BatchOnGpu` has, as views."""

    def __init__(self, context: Context, request: BatchRequest, duals: bool) -> None:
        count, rows, cols = request.costs.shape
        like, dual_dtype = request.costs, request.form.dual_dtype
        self.row_to_col = empty_array(context, (count, rows), "int64", like)
        self.objective = empty_array(context, (count,), dual_dtype, like)
        self.status = empty_array(context, (count,), "int32", like)
        self.u = empty_array(context, (count, rows), dual_dtype, like) if duals else None
        self.v = empty_array(context, (count, cols), dual_dtype, like) if duals else None

    def handed_over(self, context: Context) -> BatchOnGpu:
        def give(array: GpuArray | None) -> Any:
            return None if array is None else array.library.handed_over(context, array)

        return BatchOnGpu(give(self.row_to_col), give(self.objective), give(self.status), give(self.u), give(self.v))


def _launch(context: Context, request: BatchRequest, plan: BatchPlan, answer: BatchArrays) -> None:
    kernel = kernels(context, plan.program, plan.program.variant(COST=plan.cost_dtype))[plan.kernel]
    if plan.program.name != "batch_memory":
        arguments = _arguments(request, answer, 0, request.costs.shape[0])
        return kernel.launch(context, plan.grid, plan.threads, *arguments, shared=plan.shared_bytes)
    if not plan.staged:
        arguments = _arguments(request, answer, 0, request.costs.shape[0])
        return kernel.launch(context, plan.grid, plan.threads, *arguments, 0, shared=plan.shared_bytes)
    stage = kernels(context, BATCH_STAGE, BATCH_STAGE.variant(COST=request.costs.dtype))["stage"]
    count, rows, cols = request.costs.shape
    size = max(rows * cols, 1)
    at_once = min(count, max(1, _STAGED_BYTES // (size * ITEM_BYTES[plan.cost_dtype])))
    tiles = max(1, -(-rows // WARP) * -(-cols // WARP))
    with Workspace(context, {"matrices": (at_once * size, plan.cost_dtype)}, request.costs) as memory:
        for first in range(0, count, at_once):
            some = min(at_once, count - first)
            arguments = _arguments(request, answer, first, some)
            threads = BATCH_STAGE.constants["THREADS"]
            stage.launch(context, some * tiles, threads, *arguments, memory["matrices"], tiles)
            kernel.launch(context, some, plan.threads, *arguments, memory["matrices"], shared=plan.shared_bytes)
    return None


def _arguments(request: BatchRequest, answer: BatchArrays, first: int, count: int) -> list[int | float]:
    """BATCH_PARAMETERS of kernels/batch.cuh, for `count` problems from number `first` on."""
    costs, prices = request.costs, request.prices
    rows, cols = costs.shape[1:]
    price_strides = (0, 0) if prices is None else prices.strides
    zero = 0.0 if request.form.dual_dtype == "float64" else 0
    return [
        costs.pointer + first * costs.strides[0] * ITEM_BYTES[costs.dtype],
        *costs.strides,
        count,
        rows,
        cols,
        int(request.maximize),
        int(prices is not None),
        zero if prices is None else type(zero)(prices.scalar),
        0 if prices is None else _from(prices.array, first * price_strides[0]),
        *price_strides,
        _from(request.row_counts, first),
        _from(request.col_counts, first),
        _item_bytes(request.row_counts),
        _item_bytes(request.col_counts),
        _from(answer.row_to_col, first * rows),
        _from(answer.objective, first),
        _from(answer.u, first * rows),
        _from(answer.v, first * cols),
        _from(answer.status, first),
    ]


def _from(array: GpuArray | None, item: int) -> int:
    """The address of an item of a contiguous array; 0 for None."""
    return 0 if array is None else array.pointer + item * ITEM_BYTES[array.dtype]


def _item_bytes(array: GpuArray | None) -> int:
    return 0 if array is None else ITEM_BYTES[array.dtype]
