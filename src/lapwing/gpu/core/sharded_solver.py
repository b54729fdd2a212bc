"""The core method for a matrix in shards on several GPUs of one host (kernels/core/sharded_core.cu).

The first GPU solves. Passes over the whole matrix (column minima, listings, prices of samples) run on every GPU, over
its own rows: prices are copied there, and keys of minima or candidate lists come back. The first GPU reads rows of the
others only where a list that was made again does not suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import Neighbours
from lapwing.gpu.core.bounds import column_grid, row_grid
from lapwing.gpu.core.memory import list_arrays, workspace_bytes
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import REPORT_SIZE, CoreSolve
from lapwing.gpu.core.start import GROWTH, StartFinder, sample_bytes
from lapwing.gpu.core.stratified import SampleLists, hashed, stratified
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.sharded import ORDERS, Shard, Shards
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import fill_bytes, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.peers import copy_between, order
from lapwing.gpu.runtime.programs import SHARDED_CORE, SHARDED_START
from lapwing.gpu.runtime.tuning import CLUSTER_BLOCKS, COL_SALT, MOST_SHARDS, ROW_SALT
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = SHARDED_START.constants["THREADS"]
_NO_KEY = 0xFF  # bytes of a key that no row has lowered
_NO_MORE = 0xFF  # of an order that ends a service
_WORD = 8  # bytes
_SHARED_SAMPLE = 16384  # rows; a smaller sample is solved by the first GPU alone, since orders take longer than lists


def bytes_of_sample(rows: int, own: int, dtype: str, is_first: bool) -> int:
    """Memory for the largest sample of a square matrix, on a GPU that has `own` of its rows."""
    size = rows // GROWTH
    if size < _SHARED_SAMPLE:
        return sample_bytes(rows, rows, dtype) if is_first else 0
    of_rows = size * own // rows + 3 * math.isqrt(size)  # six standard deviations more than are expected
    return of_rows * size * ITEM_BYTES[dtype] + workspace_bytes(size, size, dtype)


class ShardPart(CoreSolve):
    """The state of a solve on one GPU, where its passes run over its own rows.

    Attributes
    ----------
    rows : range
    """

    may_have_dummies = False

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        array_template: GpuArray | None,
        rows: range,
        is_sample: bool = True,
    ) -> None:
        super().__init__(context, matrix, monitor, array_template, is_sample)
        self.rows: range = rows

    def _load_kernels(self) -> dict[str, Kernel]:
        return kernels(self.context, SHARDED_CORE, SHARDED_CORE.of_cost(self.matrix.dtype))

    @property
    def state(self) -> int:
        """The workspace that kernels carve up; it begins with the report."""
        return self._memory["state"]

    def launch_minima(self, are_whole_packs: bool) -> None:
        """Lower the keys to the column minima of the own rows; whether all rows of all shards are whole packs."""
        chunks, bands = self._minima_grid(len(self.rows), are_whole_packs)
        ends = self.rows.start, self.rows.stop
        self._launch("column_minima", chunks * bands, self.keys, 0, *ends, bands, 1)

    def join_reports(self, reports: int, count: int) -> None:
        """Note what others' listings found, as they reported."""
        self._launch("join_reports", 1, reports, count)

    def serve(self, *of_solve: int) -> None:
        """List own rows again when a solve orders that, until it ends."""
        threads = SHARDED_CORE.constants["THREADS"]
        self._kernels["serve"].launch_cooperative(self.context, CLUSTER_BLOCKS, threads, *self._arguments, *of_solve)

    def list_own_rows(self, prices: int) -> None:
        """List them under the prices at an address."""
        copy_between(self.context, self.v, prices, 8 * self.matrix.cols)
        self._prices_are_lowered = False
        CoreSolve.list_rows(self)


def join_minima(solve: CoreSolve, others: Sequence[ShardPart], size: int, keys: int, v: int) -> None:
    """Set `v` to the minima of so many columns, whose keys are at `keys` on the solve's GPU and in `others`."""
    with Workspace(solve.context, {"keys": (max(len(others), 1) * size, "int64")}) as memory:
        for k, part in enumerate(others):
            order(solve.context, part.context)  # whose memory that is
            with part.context:
                copy_between(part.context, memory["keys"] + 8 * k * size, part.keys, 8 * size)
            order(part.context, solve.context)
        join = kernels(solve.context, SHARDED_START, SHARDED_START.of_cost(solve.matrix.dtype))["join_minima"]
        blocks = -(-size // _THREADS)
        join.launch(solve.context, blocks, _THREADS, keys, memory["keys"], len(others), size, size, v)


@dataclass(eq=False)
class _Owner:
    """A part whose GPU lists rows again on orders (kernels/core/lists/owners.cuh).

    Attributes
    ----------
    part : ShardPart
    memory : Workspace
        Of the orders to it.
    answer : int
        Where its answers come, on the first GPU.
    """

    part: ShardPart
    memory: Workspace
    answer: int

    @property
    def order(self) -> int:
        return self.memory["order"]


class ShardedSolve(ShardPart):
    """One solve, on the GPU of shard 0; see `CoreSolve`.

    Attributes
    ----------
    others : list of ShardPart
        Of the other shards, in their order.
    """

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        shards: Shards,
        array_template: GpuArray | None,
        is_sample: bool = False,
    ) -> None:
        super().__init__(context, matrix, monitor, array_template, shards.parts[0].rows, is_sample)
        self.shards: Shards = shards
        self._prices: list[Workspace] = []  # of unmatched rows, on the others' GPUs
        self.others: list[ShardPart] = []
        for shard, table in list(zip(shards.parts, shards.tables, strict=True))[1:]:
            with shard.context:
                prices = self._prices_on(shard.context, table)
                here = replace(matrix, pointer=table.pointer, prices=prices)
                self.others.append(ShardPart(shard.context, here, monitor, table, shard.rows))
        sizes = {"reports": (max(len(self.others), 1) * REPORT_SIZE, "uint8"), "answers": (2 * MOST_SHARDS, "int64")}
        self._joined = Workspace(context, sizes, array_template)
        self._orders = shards.tables[0].pointer + ORDERS * _WORD
        fill_bytes(context, self._orders, 0, (MOST_SHARDS + 1) * _WORD)  # another solve's are none of this one

    def _prices_on(self, context: Context, table: GpuArray) -> int:
        rows, prices = self.matrix.rows, self.matrix.prices
        if not prices:
            return 0
        self._prices.append(Workspace(context, {"prices": (rows, self.matrix.dual_dtype)}, table))
        order(self.context, context)
        copy_between(context, self._prices[-1]["prices"], prices, 8 * rows)
        return self._prices[-1]["prices"]

    def _launch_solve(self, *arguments: int | float) -> None:
        # The first prices of a square matrix suffice, or the solve soon ends: few rows are listed again.
        if self.listings == 1 and self.matrix.rows == self.matrix.cols and not self._sample:
            return super()._launch_solve(*arguments)
        fill_bytes(self.context, self._joined["answers"], 0, 2 * MOST_SHARDS * _WORD)
        for owner in self._owners:
            with owner.part.context:
                fill_bytes(owner.part.context, owner.order, 0, _WORD)
            order(owner.part.context, self.context)
        for owner in self._owners:
            order(self.context, owner.part.context)
        super()._launch_solve(*arguments)
        for owner in self._owners:
            self._serve(owner)

    @cached_property
    def _owners(self) -> list[_Owner]:
        """Those that list rows again on orders, whose addresses go into the first GPU's table.

        A grid that serves has its GPU to itself, so a GPU with several shards has none. The kernel runs once, since the
        driver loads it when it is first launched, and that might wait for a search.
        """
        gpus = [part.context.info.ordinal for part in self.parts]
        table, owners = np.zeros(MOST_SHARDS + 1, np.int64), []
        for k, part in enumerate(self.parts):
            if part is self or gpus.count(gpus[k]) > 1:
                continue
            with part.context:
                memory = Workspace(part.context, {"order": (1, "int64")}, self.shards.tables[k])
                fill_bytes(part.context, memory["order"], _NO_MORE, _WORD)
            owners.append(_Owner(part, memory, self._joined["answers"] + k * _WORD))
            self._serve(owners[-1])
            table[k], table[-1] = memory["order"], self._joined["answers"]
        write(self.context, self._orders, table)
        return owners

    def _serve(self, owner: _Owner) -> None:
        with owner.part.context:
            owner.part.serve(self.state, self.v, owner.order, owner.answer)

    @property
    def parts(self) -> list[ShardPart]:
        """All parts, in the order of shards."""
        return [self, *self.others]

    def prepare(self, zero_prices: bool = False) -> None:
        """See `CoreSolve`."""
        super().prepare(zero_prices)
        for part in self.others:
            with part.context:
                CoreSolve.prepare(part, zero_prices)

    def start_at_column_minima(self, copier: Copier | None = None) -> bool:
        """See `CoreSolve`."""
        self.prepare()
        for part in self.parts:
            with part.context:
                part.launch_minima(self.shards.are_whole_packs)
        join_minima(self, self.others, self.matrix.cols, self.keys, self.v)
        return True

    def list_rows(self) -> None:
        """See `CoreSolve`. Every GPU lists before any copy back, for which both GPUs may have to be idle."""
        for part in self.others:
            order(self.context, part.context)
            with part.context:
                part.list_own_rows(self.v)
        super().list_rows()
        reports = self._joined["reports"]
        for k, part in enumerate(self.others):
            with part.context:
                for at, row_bytes in list_arrays(self.matrix.rows, self.matrix.dtype):
                    begin = at + part.rows.start * row_bytes
                    copy_between(part.context, self.state + begin, part.state + begin, len(part.rows) * row_bytes)
                copy_between(part.context, reports + k * REPORT_SIZE, part.state, REPORT_SIZE)
            order(part.context, self.context)
        self.join_reports(reports, len(self.others))

    def read_row(self, i: int) -> NDArray[Any]:
        """The costs of row i, as they are given."""
        context = self.shards.part_of(i).context
        with context:
            return read(context, self.shards.address(i), self.matrix.real_cols, self.matrix.dtype)


class ShardedStartFinder(StartFinder):
    """See `StartFinder`; samples have lists of rows and columns, in their order: so rows of a shard are neighbours."""

    def __init__(self, solve: ShardedSolve, monitor: Monitor, array_template: GpuArray | None = None) -> None:
        super().__init__(solve.context, monitor, array_template)
        self._solve = solve
        self._of_parts: Sequence[SampleLists] = ()

    def _kernel(self, matrix: CanonicalMatrix, name: str) -> Kernel:
        return self._kernels_on(self.context)[name]

    def _kernels_on(self, context: Context) -> dict[str, Kernel]:
        return kernels(context, SHARDED_START, SHARDED_START.of_cost(self._solve.matrix.dtype))

    # --- samples ---

    def _choose_samples(self, runs: list[int], sides: list[Neighbours]) -> None:
        if sides:
            rows, cols = (side.order() for side in sides)
            self._members = stratified(rows, cols, runs)
        else:
            size = self._solve.matrix.rows
            self._members = {run: (hashed(size, run, ROW_SALT), hashed(size, run, COL_SALT)) for run in runs}
        lists = []
        for part in self._solve.parts:
            with part.context:
                lists.append(SampleLists(part.context, self._members, self.array_template))
        self._of_parts = lists
        if sides:
            self._stratified = lists[0]

    def _lists(self, run: int) -> tuple[int, int]:
        return self._of_parts[0].lists(run) if self._of_parts else super()._lists(run)

    def _lists_of(self, k: int, run: int) -> tuple[int, int]:
        return self._of_parts[k].lists(run) if self._of_parts else (0, 0)

    def _range(self, k: int, run: int) -> tuple[int, int]:
        """Which rows of a sample are part k's."""
        rows = self._solve.parts[k].rows
        if run == 1:
            return rows.start, rows.stop
        begin, end = np.searchsorted(self._members[run][0], (rows.start, rows.stop))
        return int(begin), int(end)

    def _sample(self, matrix: CanonicalMatrix, run: int) -> CoreSolve:
        """See `StartFinder`. A large sample of a matrix stays in shards, each with those of its rows that are there."""
        size = matrix.rows // run
        if not self._of_parts or size < _SHARED_SAMPLE or not range(*self._range(0, run)):
            return super()._sample(matrix, run)
        shards = []
        for k, part in enumerate(self._solve.parts):
            own = range(*self._range(k, run))
            if own:
                with part.context:
                    costs = empty_array(part.context, (len(own), size), matrix.dtype, self.array_template)
                    self._gather_rows(k, run, own, costs.pointer)
                shards.append(Shard(part.context, own, costs))
        of_sample = Shards(shards)
        of_sample.write_tables()
        view = CanonicalMatrix(of_sample.tables[0].pointer, size, size, size, matrix.dtype, matrix.maximize)
        sample = ShardedSolve(shards[0].context, view, self.monitor, of_sample, self.array_template, is_sample=True)
        sample.prepare()
        return sample

    def _gather(self, matrix: CanonicalMatrix, run: int) -> GpuArray:
        """The costs of a sample, which every GPU writes for its own rows, over the link."""
        if not self._of_parts:
            return super()._gather(matrix, run)
        size = matrix.rows // run
        costs = empty_array(self.context, (size, size), matrix.dtype, self.array_template)
        for k, part in enumerate(self._solve.parts):
            own = range(*self._range(k, run))
            order(self.context, part.context)
            if own:
                self._gather_rows(k, run, own, costs.pointer + own.start * size * ITEM_BYTES[matrix.dtype])
        for part in self._solve.others:
            order(part.context, self.context)
        return costs

    def _gather_rows(self, k: int, run: int, own: range, out: int) -> None:
        """Write the costs of these rows of a sample, all of part k."""
        part, (rows, cols) = self._solve.parts[k], self._lists_of(k, run)
        with part.context:
            size = part.matrix.rows // run
            shape = (part.matrix.row_stride, 1, len(own), size, run, rows + 4 * own.start, cols)
            gather = self._kernels_on(part.context)["gather"]
            gather.launch(part.context, len(own), _THREADS, part.matrix.pointer, *shape, out)

    # --- bounds: every GPU's of its own rows ---

    def _carry_over(self, matrix: CanonicalMatrix, sample: CoreSolve, run: int, above: CoreSolve, finer: int) -> None:
        size, cols, dual = above.matrix.rows, sample.matrix.rows, matrix.dual_dtype
        memories = []  # kept until the kernels that read it are launched
        for part in self._solve.parts:
            order(self.context, part.context)
            with part.context:
                memory = Workspace(part.context, {"u": (size, dual), "v": (cols, dual)}, self.array_template)
                copy_between(part.context, memory["v"], sample.v, 8 * cols)
            memories.append(memory)

        def row_bounds(k: int, part: ShardPart) -> int:
            lists = self._lists_of(k, finer)[0], self._lists_of(k, run)[1]
            begin, end = self._range(k, finer)
            grid = row_grid(end - begin, part.context.info.processors)
            shape = (begin, end, finer, cols, run)
            self._launch_on(part, "row_bounds", grid, *shape, *lists, memories[k]["v"], memories[k]["u"])
            return memories[k]["u"]

        self._bounds(finer, above, row_bounds)

    def _column_bounds(self, matrix: CanonicalMatrix, run: int, u: int, target: CoreSolve) -> None:
        assert u == 0
        for part in self._solve.others:
            order(self.context, part.context)
        self._bounds(run, target, lambda *_: 0)

    def _bounds(self, run: int, target: CoreSolve, row_bounds: Callable[[int, ShardPart], int]) -> None:
        """Set the target's prices to the least cost - u of its columns, over all rows of the sample, or the whole.

        All GPUs at the same time: nothing that one launches here waits for another.
        """
        size = target.matrix.rows
        for k, part in enumerate(self._solve.parts):
            with part.context:
                begin, end = self._range(k, run)
                chunks, bands = column_grid(end - begin, size, part.context.info.processors)
                fill_bytes(part.context, part.keys, _NO_KEY, 8 * (size + chunks))
                if begin == end:
                    continue
                u = row_bounds(k, part)
                shape = (begin, end, size, run, bands, *self._lists_of(k, run))
                self._launch_on(part, "column_bounds", chunks * bands, *shape, u, part.keys, part.v)
        join_minima(self._solve, self._solve.others, size, self._solve.keys, target.v)

    def _launch_on(self, part: ShardPart, name: str, grid: int, *arguments: int) -> None:
        matrix = part.matrix
        of_matrix = (matrix.pointer, matrix.row_stride, int(matrix.maximize))
        self._kernels_on(part.context)[name].launch(part.context, grid, _THREADS, *of_matrix, *arguments)
