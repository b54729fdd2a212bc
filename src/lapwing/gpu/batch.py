"""Batches on a GPU: from arrays there to arrays there, in the order of the stream, without the host in the loop.

`solve_batch` checks shapes and types, allocates the answer in the user's library, launches one kernel (two, where
matrices must be rearranged first) and returns. It never waits, so it can be captured in a CUDA graph. What is wrong
with a problem's numbers is found by the kernel, and shows in that problem's `status`; ``check=True`` waits and raises.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from lapwing import inputs
from lapwing.gpu.arrays import ITEM_BYTES, TORCH, GpuArray, empty_array, view_array
from lapwing.gpu.batch_errors import raise_for_first
from lapwing.gpu.batch_inputs import BatchRequest, check_stack, make_request
from lapwing.gpu.batch_plan import CROSSOVERS, STORED, WARP, BatchPlan, Crossovers, plan_batch
from lapwing.gpu.device import Context, shared_context
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import BATCH_CERTIFY, BATCH_MEMORY, BATCH_STAGE, INTEGERS
from lapwing.gpu.workspace import Workspace

# Rearranged copies of matrices take at most so much memory at a time.
_STAGED_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class BatchCertificate:
    """A proof for each problem, by one more pass over the costs (kernels/batch_certify.cu).

    Attributes
    ----------
    violation, gap : (B,) float64 or int64
        Upper bounds on how far the duals are from feasible, and on primal minus dual objective (when maximising: dual
        minus primal); both 0 prove the answer. For floats, rounding in the last bits of the duals may leave a little.
    fault : (B,) int32
        0; 1 no answer, 2 a column out of range, 3 a column taken twice, 4 a forbidden pair, 5 a row and a column left
        free that should be matched.
    """

    violation: Any
    gap: Any
    fault: Any

    @property
    def exact(self) -> Any:
        """(B,) bool: the answer is optimal without any rounding."""
        return (self.fault == 0) & (self.violation == 0) & (self.gap == 0)


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
    certificate : BatchCertificate or None
    """

    row_to_col: Any
    objective: Any
    status: Any
    u: Any
    v: Any
    certificate: BatchCertificate | None = None

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
    certify: bool = False,
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
    certify : bool
        Whether to prove every answer; implies `duals`.
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
    with shared_context(stack.ordinal, stack.stream) as context:
        answer = solve_stack(
            context,
            stack,
            maximize=maximize,
            unmatched_cost=unmatched_cost,
            row_counts=row_counts,
            col_counts=col_counts,
            duals=duals,
            certify=certify,
            check=check,
        )
        return answer.handed_over(context)


def solve_stack(
    context: Context,
    stack: GpuArray,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    certify: bool = False,
    check: bool = False,
    crossovers: Crossovers = CROSSOVERS,
) -> BatchArrays:
    """The same with views in and out, on the context's stream."""
    check_stack(stack)
    maximize = inputs.check_flag(maximize, "maximize")
    certify = inputs.check_flag(certify, "certify")
    duals = inputs.check_flag(duals, "duals") or certify
    check = inputs.check_flag(check, "check")
    request = make_request(context, stack, maximize, unmatched_cost, row_counts, col_counts)
    form = request.form
    plan = plan_batch(form, context.info.shared_bytes, crossovers)
    answer = BatchArrays(context, stack, form.dual_dtype, duals, certify)
    if form.problems:
        _launch(context, request, plan, answer)
        if certify:
            certify_answer(context, request, answer)
    if check:
        raise_for_first(context, request, answer.pointers[_STATUS])
    return answer


_STATUS = 2  # among the arrays
_SOLVED = 5  # arrays without the certificate's three


class BatchArrays:
    """Room for an answer.

    Attributes
    ----------
    arrays : list
        What `BatchOnGpu` and `BatchCertificate` have, in order: PyTorch's tensors, or views not handed over yet.
    pointers : list of int
        Their addresses, 0 for None.
    """

    def __init__(self, context: Context, costs: GpuArray, dual_dtype: str, duals: bool, certify: bool) -> None:
        count, rows, cols = costs.shape
        wanted = [((count, rows), "int64"), ((count,), dual_dtype), ((count,), "int32")]
        if duals:
            wanted += [((count, rows), dual_dtype), ((count, cols), dual_dtype)]
        if certify:
            wanted += [((count,), dual_dtype), ((count,), dual_dtype), ((count,), "int32")]
        if costs.library is TORCH:
            torch, empty = sys.modules["torch"], costs.owner.new_empty
            self.arrays: list[Any] = [empty(shape, dtype=getattr(torch, dtype)) for shape, dtype in wanted]
            self.pointers = [tensor.data_ptr() for tensor in self.arrays]
        else:
            self.arrays = [empty_array(context, shape, dtype, costs) for shape, dtype in wanted]
            self.pointers = [view.pointer for view in self.arrays]
        if not duals:
            self.arrays += [None, None]
            self.pointers += [0, 0]

    def handed_over(self, context: Context) -> BatchOnGpu:
        """Arrays of the user's library."""
        given = [x.library.handed_over(context, x) if isinstance(x, GpuArray) else x for x in self.arrays]
        row_to_col, objective, status, u, v = given[:_SOLVED]
        certificate = BatchCertificate(*given[_SOLVED:]) if len(given) > _SOLVED else None
        return BatchOnGpu(row_to_col, objective, status, u, v, certificate)


def certify_answer(context: Context, request: BatchRequest, answer: BatchArrays) -> None:
    """Fill in the certificate."""
    kernel = kernels(context, BATCH_CERTIFY, BATCH_CERTIFY.variant(COST=request.costs.dtype))["certify_batch"]
    count = request.costs.shape[0]
    arguments = _arguments(request, answer, 0, count)
    kernel.launch(context, count, BATCH_CERTIFY.constants["THREADS"], *arguments, *answer.pointers[_SOLVED:])


def _launch(context: Context, request: BatchRequest, plan: BatchPlan, answer: BatchArrays) -> None:
    kernel = kernels(context, plan.program, plan.variant)[plan.kernel]
    count, rows, cols = request.costs.shape
    if plan.program is not BATCH_MEMORY or plan.stage is None:
        arguments = _arguments(request, answer, 0, count)
        if plan.program is BATCH_MEMORY:
            arguments.append(0)
        kernel.launch(context, plan.grid, plan.threads, *arguments, shared=plan.shared_bytes)
        return
    stage = kernels(context, BATCH_STAGE, plan.stage)["stage"]
    stored = STORED[request.costs.dtype]
    size = max(rows * cols, 1)
    at_once = min(count, max(1, _STAGED_BYTES // (size * ITEM_BYTES[stored])))
    tiles = max(1, -(-rows // WARP) * -(-cols // WARP))
    with Workspace(context, {"matrices": (at_once * size, stored)}, request.costs) as memory:
        for first in range(0, count, at_once):
            some = min(at_once, count - first)
            arguments = _arguments(request, answer, first, some)
            threads = BATCH_STAGE.constants["THREADS"]
            stage.launch(context, some * tiles, threads, *arguments, memory["matrices"], tiles)
            kernel.launch(context, some, plan.threads, *arguments, memory["matrices"], shared=plan.shared_bytes)


def _arguments(request: BatchRequest, answer: BatchArrays, first: int, count: int) -> list[int | float]:
    """BATCH_PARAMETERS of kernels/batch.cuh, for `count` problems from number `first` on."""
    costs, prices = request.costs, request.prices
    _, rows, cols = costs.shape
    number = int if costs.dtype in INTEGERS else float
    priced: tuple[int | float, ...] = (0, number(0), 0, 0, 0)
    if prices is not None:
        per_problem = prices.strides[0]
        priced = (1, number(prices.scalar), _from(prices.array, first * per_problem), *prices.strides)
    row_counts, col_counts = request.row_counts, request.col_counts
    row_to_col, objective, status, u, v = answer.pointers[:_SOLVED]
    return [
        costs.pointer + first * costs.strides[0] * ITEM_BYTES[costs.dtype],
        *costs.strides,
        count,
        rows,
        cols,
        int(request.maximize),
        *priced,
        0 if row_counts is None else _from(row_counts, first),
        0 if col_counts is None else _from(col_counts, first),
        0 if row_counts is None else ITEM_BYTES[row_counts.dtype],
        0 if col_counts is None else ITEM_BYTES[col_counts.dtype],
        row_to_col + first * rows * 8,
        objective + first * 8,
        u and u + first * rows * 8,
        v and v + first * cols * 8,
        status + first * 4,
    ]


def _from(array: GpuArray | None, item: int) -> int:
    """The address of an item of a contiguous array; 0 for None."""
    return 0 if array is None else array.pointer + item * ITEM_BYTES[array.dtype]
