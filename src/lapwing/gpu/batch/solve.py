"""A batch on a GPU: from arrays to arrays, in the order of the stream, without the host in the loop.

Shapes and types are checked, the answer is allocated in the user's library, and one kernel is launched, after another
where matrices must be rearranged, and before another where rows have prices. Nothing waits, so the call can be captured
in a CUDA graph; only few large problems (gpu/batch/single.py) are waited for, outside of a capture. The kernel finds
invalid numbers of a problem and writes that problem's `status`; ``check=True`` waits, solves on the CPU what the kernel
leaves open, and raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lapwing.certificate import BatchCertificate
from lapwing.errors import ArgumentError
from lapwing.gpu.batch.check import settle
from lapwing.gpu.batch.inputs import BatchOptions, check_stack, make_request
from lapwing.gpu.batch.launch import SOLVED, BatchArrays, prepared
from lapwing.gpu.batch.on_host import solve_on_host
from lapwing.gpu.batch.plan import CROSSOVERS, Crossovers, TooLargeError
from lapwing.gpu.batch.single import solve_singly
from lapwing.gpu.runtime.arrays import GpuArray, view_array
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.prices import is_pair
from lapwing.result import StackBatch


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class BatchOnGpu(StackBatch):
    """The answers of a GPU to a batch, arrays of the user's library, where the costs are.

    As a `StackResult` has it, ``batch[b]`` is the `Assignment` of problem b, a batch may be iterated, and there are
    `col_to_row`, `row_ind` and `col_ind`; only the number of an `Assignment`'s pairs makes the host wait.

    Attributes
    ----------
    row_to_col : (B, m) int64
        The column of each row; -1 where a row is free, lies beyond its problem's rows, or its problem has no answer.
    objective : (B,) float64, or int64 for integer costs
        NaN, or 0 for integers, without an answer.
    status : (B,) int32
        0 solved, 1 infeasible, 2 a cost or price is NaN or infinite with the wrong sign, 3 costs too large for exact
        sums, 4 counts beyond the array, 5 answered, but the duals are so large beside the objective that their
        rounding may hide a better assignment: `certify` clears this where it proves the answer, `check` solves again;
        6 as many pairs as possible, by ``infeasible="partial"``.
    u, v : (B, m) and (B, n), float64 or int64, or None
        The duals, 0 beyond a problem's rows and columns.
    certificate : BatchCertificate or None
    """

    row_to_col: Any
    objective: Any
    status: Any
    u: Any
    v: Any
    certificate: BatchCertificate | None
    _cols: int
    invalid: Any = None

    def __repr__(self) -> str:
        return f"<lapwing.BatchOnGpu: {len(self)} problems>"


def solve_arrays(costs: Any, options: BatchOptions, device: str = "cuda") -> BatchOnGpu:
    """`gpu.batch.solve_batch`, with its options and errors; on the GPU of the costs."""
    stack = view_array(costs)
    if device not in ("cuda", f"cuda:{stack.ordinal}"):
        raise ArgumentError(f"device={device!r}, but costs are on GPU {stack.ordinal}: move them, or leave device out")
    with shared_context(stack.ordinal, stack.stream) as context:
        return _handed_over(context, solve_any(context, stack, options), stack.shape[2])


def solve_any(context: Context, stack: GpuArray, options: BatchOptions) -> BatchArrays:
    """The same with views in and out, on the context's stream, of any size and with prices of columns.

    Few large problems are solved one after the other, unless a graph is captured: then the host must not wait.
    """
    if is_pair(options.unmatched_cost):
        return solve_on_host(context, stack, options)
    if len(stack.shape) == 3 and CROSSOVERS.are_sooner_singly(*stack.shape) and not context.is_capturing():
        return solve_singly(context, stack, options)
    try:
        return solve_stack(context, stack, options)
    except TooLargeError:
        return solve_singly(context, stack, options)


def _handed_over(context: Context, answer: BatchArrays, cols: int) -> BatchOnGpu:
    """Arrays of the user's library."""
    given = answer.arrays
    if isinstance(given[0], GpuArray):
        given = [None if x is None else x.library.handed_over(context, x) for x in given]
    return batch_of(given, cols)


def batch_of(arrays: list[Any], cols: int) -> BatchOnGpu:
    """A batch of the arrays of an answer, in their order."""
    certificate = BatchCertificate(*arrays[SOLVED:]) if len(arrays) > SOLVED else None
    row_to_col, objective, status, u, v = arrays[:SOLVED]
    return BatchOnGpu(row_to_col, objective, status, u, v, certificate, cols)


def solve_stack(
    context: Context, stack: GpuArray, options: BatchOptions, crossovers: Crossovers = CROSSOVERS
) -> BatchArrays:
    """The same for problems that a block solves.

    Raises
    ------
    TooLargeError
        For larger ones.
    """
    check_stack(stack)
    options.check_flags()
    request = make_request(context, stack, options)
    how = prepared(context, request.form, crossovers)
    answer = how.arrays(context, stack, options.duals or request.prices is not None, options.certify)
    how.launch(context, request, answer)
    if request.prices is not None:
        how.match_ties(context, request, answer)
        if not options.duals:
            answer.drop_duals()
    if options.certify:
        how.certify(context, request, answer)
    if options.check or options.is_partial:
        settle(context, request, answer, options)
    return answer
