"""The certificate's pass by several GPUs: each measures the violations of some lines, with copies of the duals.

The first GPU has the answer, and gets the violations. Copies between GPUs may wait for both, so none is launched before
every GPU has its work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lapwing.errors import InvalidCostError
from lapwing.gpu.certificate.passes import CostPass, MatrixPass, TiledPass, Vectors
from lapwing.gpu.costs.computed import ComputedCosts
from lapwing.gpu.costs.sharded import Shard, Shards, shares
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.peers import copy_between, order
from lapwing.gpu.runtime.programs import CERTIFICATE
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = CERTIFICATE.constants["THREADS"]
_INVALID_COST = 1  # a word of the summary: ~(line << 32 | position)
_SUMMARY_WORDS = 4  # that a pass writes
_HALF = 0xFFFFFFFF
_PICK_BLOCKS = 4  # a processor


class LinesElsewhere:
    """Some lines of a pass, on another GPU than the first: its memory, and what comes and goes.

    Parameters
    ----------
    context : Context
    own : range
        The lines.
    whole : CostPass
        Of the first GPU; not kept, as it keeps this.
    template : GpuArray or None
        Of the library in whose memory it is.
    """

    def __init__(self, context: Context, own: range, whole: CostPass, template: GpuArray | None) -> None:
        self.context: Context = context
        self.own: range = own
        self._lines, self._positions, self._by_columns = whole.lines, whole.positions, whole.by_columns
        sizes = {
            "lines": (whole.lines, "int64"),
            "across": (whole.positions, "int64"),
            "violations": (whole.lines, "int64"),
            "summary": (_SUMMARY_WORDS, "int64"),
        }
        with context:
            self.memory: Workspace = Workspace(context, sizes, template)

    def begin(self, at: Vectors) -> Vectors:
        """Copy the duals; where they and the findings are here."""
        memory = self.memory
        memory.clear()
        lines, across = (at.v, at.u) if self._by_columns else (at.u, at.v)
        copy_between(self.context, memory["lines"], lines, 8 * self._lines)
        copy_between(self.context, memory["across"], across, 8 * self._positions)
        u, v = (memory["across"], memory["lines"]) if self._by_columns else (memory["lines"], memory["across"])
        return Vectors(0, u, v, memory["violations"], memory["summary"], 0)

    def send(self, at: Vectors) -> None:
        """Copy the own violations to their places."""
        own, size = 8 * self.own.start, 8 * len(self.own)
        copy_between(self.context, at.violations + own, self.memory["violations"] + own, size)

    def invalid(self) -> tuple[int, int] | None:
        """Line, as the pass counts, and position of the first cost that was found invalid; after all work."""
        with self.context:
            key = int(read(self.context, self.memory["summary"] + 8 * _INVALID_COST, 1, "int64")[0])
        return (~key >> 32 & _HALF, ~key & _HALF) if key else None


class ShardPass(MatrixPass):
    """One shard, on another GPU than the first."""

    def __init__(self, shard: Shard, whole: ShardedPass) -> None:
        self.shard: Shard = shard
        self.by_columns: bool = whole.by_columns
        CostPass.__init__(self, shard.context, (whole.rows, whole.cols), whole.maximize, shard.matrix)
        self.rows = 0  # whose columns are entered: the first GPU does this
        self.dtype: str = whole.dtype
        self.line_stride: int = whole.line_stride
        self.position_stride: int = 1
        self.kernels: dict[str, Kernel] = kernels(shard.context, CERTIFICATE, CERTIFICATE.of_cost(whole.dtype))
        self.elsewhere: LinesElsewhere = LinesElsewhere(shard.context, shard.rows, whole, shard.matrix)

    def launch_lines(self, at: Vectors) -> None:
        rows = self.shard.rows
        self._launch_part(self.elsewhere.begin(at), self.shard.pointer, rows.start, len(rows))


class ShardedPass(MatrixPass):
    """All shards. The first GPU picks the costs of matched pairs from all memories.

    Parameters
    ----------
    shards : Shards
    by_columns : bool
        Whether the rows of the shards are the columns of the costs as given.
    """

    def __init__(self, shards: Shards, by_columns: bool, maximize: bool, array_template: GpuArray | None) -> None:
        self.shards: Shards = shards
        self.by_columns: bool = by_columns
        context, (rows, cols) = shards.parts[0].context, shards.shape[::-1] if by_columns else shards.shape
        CostPass.__init__(self, context, (rows, cols), maximize, array_template)
        self.dtype: str = shards.dtype
        self.line_stride: int = shards.pitch
        self.position_stride: int = 1
        self.kernels: dict[str, Kernel] = kernels(context, CERTIFICATE, CERTIFICATE.of_cost(shards.dtype))
        sizes = {"costs": (self.rows * ITEM_BYTES[self.dtype], "uint8")}
        self.picked: Workspace = Workspace(context, sizes, array_template)
        self.others: list[ShardPass] = [ShardPass(shard, self) for shard in shards.parts[1:]]

    def launch_lines(self, at: Vectors) -> None:
        self.picked.clear()
        for other in self.others:
            order(self.context, other.context)
            with other.context:
                other.launch_lines(at)
        first = self.shards.parts[0]
        self._launch_part(at, first.pointer, 0, len(first.rows))
        blocks = min(-(-self.rows // _THREADS), _PICK_BLOCKS * self.context.info.processors)
        for shard in self.shards.parts:
            self.kernels["certify_pick"].launch(
                self.context, blocks, _THREADS,
                shard.from_first, self.line_stride, shard.rows.start, len(shard.rows), int(self.by_columns), self.rows,
                self.cols, at.row_to_col, self.picked["costs"],
            )  # fmt: skip
        _send_back(self.context, [other.elsewhere for other in self.others], at)

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self.picked["costs"], self.rows, self.cols, 1, 0, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        self._launch_place(self.shards.address(line, from_first=True), line, at, place)

    def require_valid(self) -> None:
        for other in self.others:
            _require_valid(self, other.elsewhere, other.shard.rows.start)

    def cost_at(self, row: int, col: int) -> float:
        line, position = (col, row) if self.by_columns else (row, col)
        context = self.shards.part_of(line).context
        at = self.shards.address(line) + position * ITEM_BYTES[self.dtype]
        with context:
            return float(read(context, at, 1, self.dtype)[0])


class SharedPointsPass(TiledPass):
    """Costs of points, which every GPU has: each computes those of some rows.

    Parameters
    ----------
    costs : the points on every GPU, with its context
    """

    def __init__(
        self,
        costs: Sequence[tuple[Context, ComputedCosts]],
        maximize: bool,
        array_template: GpuArray | None,
        wait: Callable[[float], None],
    ) -> None:
        context, cost = costs[0]
        super().__init__(context, cost, maximize, array_template, wait)
        own = shares(self.rows, len(costs))
        self.own: range = own[0]
        self.others: list[tuple[TiledPass, LinesElsewhere]] = [
            (TiledPass(there, its, maximize, array_template, wait), LinesElsewhere(there, rows, self, array_template))
            for (there, its), rows in zip(costs[1:], own[1:], strict=False)
        ]

    def launch_lines(self, at: Vectors) -> None:
        begun = []
        for _, elsewhere in self.others:
            order(self.context, elsewhere.context)
            with elsewhere.context:
                begun.append(elsewhere.begin(at))
        for part in self.cost.cost_program.parts_by_tiles(len(self.own), self.cols):
            if part.start:
                self.wait(part.start / len(self.own))
            self.launch_part(at, part)
            for (of_points, elsewhere), there in zip(self.others, begun, strict=True):
                first, count = elsewhere.own.start, len(elsewhere.own)
                end = count if part.stop == len(self.own) else min(part.stop, count)  # shares differ by a row
                if part.start < end:
                    with elsewhere.context:
                        of_points.launch_part(there, range(first + part.start, first + end))
        _send_back(self.context, [elsewhere for _, elsewhere in self.others], at)

    def require_valid(self) -> None:
        for _, elsewhere in self.others:
            _require_valid(self, elsewhere, 0)


def _send_back(context: Context, others: Sequence[LinesElsewhere], at: Vectors) -> None:
    for other in others:
        with other.context:
            other.send(at)
        order(other.context, context)


def _require_valid(whole: CostPass, elsewhere: LinesElsewhere, first: int) -> None:
    """Raise the error for an invalid cost there, where lines count from `first`."""
    found = elsewhere.invalid()
    if found is not None:
        line, position = found[0] + first, found[1]
        row, col = (position, line) if whole.by_columns else (line, position)
        raise InvalidCostError(row, col, whole.cost_at(row, col), whole.maximize)
