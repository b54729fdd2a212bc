"""The launch of a batch. The parts that depend on the batch's form alone are prepared once and kept.

A `Prepared` holds the plan, the kernels and the shapes of the answer; a call adds its pointers. Preparation takes
longer than a thousand tiny problems.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lapwing.gpu.batch.inputs import BatchRequest, Prices
from lapwing.gpu.batch.plan import WARP, BatchForm, BatchPlan, Crossovers, plan_batch
from lapwing.gpu.runtime.arrays import ITEM_BYTES, Empty, GpuArray, empty_arrays, row_major
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import BATCH_CERTIFY, BATCH_MEMORY, BATCH_STAGE, BATCH_TIES, INTEGERS, STORED
from lapwing.gpu.runtime.workspace import Workspace

# Rearranged copies of matrices take at most so much memory at a time.
_STAGED_BYTES = 1 << 30

DUALS, SOLVED = 3, 5  # outputs without duals, and without the certificate's three


class BatchArrays:
    """Room for an answer.

    Attributes
    ----------
    arrays : list
        What `BatchOnGpu` and `BatchCertificate` have, in order: PyTorch's tensors, or views not handed over yet.
    pointers : list of int
        Their addresses, 0 for None.
    """

    def __init__(self, context: Context, costs: GpuArray, outputs: tuple[Empty, ...]) -> None:
        self.arrays: list[Any]
        self.pointers: list[int]
        self.arrays, self.pointers = empty_arrays(context, outputs, costs)
        if len(outputs) < SOLVED:
            self.drop_duals()

    def drop_duals(self) -> None:
        """Have none, as nobody asked for them."""
        self.arrays[DUALS:SOLVED] = [None, None]
        self.pointers[DUALS:SOLVED] = [0, 0]


def outputs_of(form: BatchForm) -> dict[tuple[bool, bool], tuple[Empty, ...]]:
    """The arrays of an answer, by (duals wanted, proofs wanted)."""
    count, rows, cols = form.problems, form.rows, form.cols
    one, dual = ((count,), (1,)), form.dual_dtype
    solved = (((count, rows), row_major((count, rows)), "int64"), (*one, dual), (*one, "int32"))
    duals = tuple((shape, row_major(shape), dual) for shape in ((count, rows), (count, cols)))
    proof = ((*one, dual), (*one, dual), (*one, "int32"))
    return {(False, False): solved, (True, False): solved + duals, (True, True): solved + duals + proof}


class Prepared:
    """How batches of one form are solved on one GPU.

    Raises
    ------
    ArgumentError
        As `plan_batch`.
    GpuError
        If a kernel does not compile or load.
    """

    def __init__(self, context: Context, form: BatchForm, crossovers: Crossovers) -> None:
        self.form = form
        plan = plan_batch(form, context.info.shared_bytes, crossovers)
        self.plan: BatchPlan = plan
        self._kernel = kernels(context, plan.program, plan.variant)[plan.kernel]
        self._extra = (0,) if plan.program is BATCH_MEMORY else ()  # no staged matrices
        self._problem_bytes = form.strides[0] * ITEM_BYTES[form.dtype]
        self._number = int if form.dtype in INTEGERS else float
        # The part of BATCH_PARAMETERS (kernels/batch/batch.cuh) that follows the number of problems, where rows have no
        # prices and all problems one size.
        self._unpriced = (0, self._number(0), 0, 0, 0)
        self._of_form = (form.rows, form.cols, int(form.maximize))
        self._plain = (*self._of_form, *self._unpriced, 0, 0, 0, 0)
        self._outputs = outputs_of(form)

    def arrays(self, context: Context, costs: GpuArray, duals: bool, certify: bool) -> BatchArrays:
        """Room for the answer; with `certify` there are duals."""
        return BatchArrays(context, costs, self._outputs[duals, certify])

    def launch(self, context: Context, request: BatchRequest, answer: BatchArrays) -> None:
        """Solve all problems."""
        plan = self.plan
        if plan.stage is not None:
            self._launch_staged(context, request, answer)
        elif plan.grid:
            arguments = self._arguments(request, answer, 0, self.form.problems)
            self._kernel.launch(context, plan.grid, plan.threads, *arguments, *self._extra, shared=plan.shared_bytes)

    def match_ties(self, context: Context, request: BatchRequest, answer: BatchArrays) -> None:
        """Match more rows that have prices, where it costs nothing; u and v must be there."""
        form = self.form
        if form.problems:
            kernel = kernels(context, BATCH_TIES, BATCH_TIES.of_cost(form.dtype))["match_ties"]
            arguments, shared = self._arguments(request, answer, 0, form.problems), 12 * (form.cols + form.rows)
            kernel.launch(context, form.problems, BATCH_TIES.constants["THREADS"], *arguments, shared=shared)

    def certify(self, context: Context, request: BatchRequest, answer: BatchArrays) -> None:
        """Fill in the certificate."""
        count = self.form.problems
        if count:
            kernel = kernels(context, BATCH_CERTIFY, BATCH_CERTIFY.of_cost(self.form.dtype))["certify_batch"]
            arguments = self._arguments(request, answer, 0, count)
            kernel.launch(context, count, BATCH_CERTIFY.constants["THREADS"], *arguments, *answer.pointers[SOLVED:])

    def _launch_staged(self, context: Context, request: BatchRequest, answer: BatchArrays) -> None:
        form, plan = self.form, self.plan
        assert plan.stage is not None
        stage = kernels(context, BATCH_STAGE, plan.stage)["stage"]
        threads = BATCH_STAGE.constants["THREADS"]
        stored = STORED[form.dtype]
        size = max(form.rows * form.cols, 1)
        at_once = min(form.problems, max(1, _STAGED_BYTES // (size * ITEM_BYTES[stored])))
        tiles = max(1, -(-form.rows // WARP) * -(-form.cols // WARP))
        with Workspace(context, {"matrices": (at_once * size, stored)}, request.costs) as memory:
            staged = memory["matrices"]
            for first in range(0, form.problems, max(at_once, 1)):
                some = min(at_once, form.problems - first)
                arguments = self._arguments(request, answer, first, some)
                stage.launch(context, some * tiles, threads, *arguments, staged, tiles)
                self._kernel.launch(context, some, plan.threads, *arguments, staged, shared=plan.shared_bytes)

    def _arguments(self, request: BatchRequest, answer: BatchArrays, first: int, count: int) -> tuple[int | float, ...]:
        """BATCH_PARAMETERS of kernels/batch/batch.cuh, for `count` problems from number `first` on."""
        form, prices = self.form, request.prices
        sizes: tuple[int | float, ...] = self._plain
        if prices is not None or form.ragged:
            sizes = (*self._of_form, *self._prices(prices, first), *self._counts(request, first))
        row_to_col, objective, status, u, v = answer.pointers[:SOLVED]
        return (
            request.costs.pointer + first * self._problem_bytes,
            *form.strides,
            count,
            *sizes,
            row_to_col + first * form.rows * 8,
            objective + first * 8,
            u and u + first * form.rows * 8,
            v and v + first * form.cols * 8,
            status + first * 4,
        )

    def _prices(self, prices: Prices | None, first: int) -> tuple[int | float, ...]:
        if prices is None:
            return self._unpriced
        at = _from(prices.array, first * prices.strides[0])
        return (1, self._number(prices.scalar), at, *prices.strides)

    def _counts(self, request: BatchRequest, first: int) -> tuple[int, ...]:
        rows, cols = request.row_counts, request.col_counts
        return (_from(rows, first), _from(cols, first), _item_bytes(rows), _item_bytes(cols))


def _item_bytes(array: GpuArray | None) -> int:
    return 0 if array is None else ITEM_BYTES[array.dtype]


def _from(array: GpuArray | None, item: int) -> int:
    """The address of an item of a contiguous array; 0 for None."""
    return 0 if array is None else array.pointer + item * ITEM_BYTES[array.dtype]


@lru_cache(maxsize=1024)
def prepared(context: Context, form: BatchForm, crossovers: Crossovers) -> Prepared:
    """Made once for each context (a GPU and a stream; kernels are of the GPU), form and table."""
    return Prepared(context, form, crossovers)
