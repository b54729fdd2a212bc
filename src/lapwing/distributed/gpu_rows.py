"""The rows of one rank on its GPU, in a solve that rank 0 makes on its own GPU: passes over them, by the kernels.

A rank has the workspace of the whole problem, of which it uses the lists of its rows, as each GPU of one process has
(gpu/core/sharded_solver.py): lists are made at the places where rank 0 has them, and have the same bits. Rank 0's own
rows are passed over by the same code. What the ranks send:

| order | carries | answer of a rank with m_k rows |
|---|---|---|
| `gpu begin` | the rows of all, unmatched costs | |
| `gpu minima` | | keys of column minima: 8 n bytes |
| `gpu list` | v: 8 n bytes | lists and tau: 264 bytes a row for float32 |
| `gpu rows` | their numbers | whole rows |
| `gpu caches` | their numbers, v | for each row its nearest columns and their costs: 8 bytes a column for float32 |
| `gpu sample` | rows and columns of a sample | its costs |
| `gpu bounds` | the sample's columns and their v | keys of the minima of c - u, with the u that this v gives rows |
| `gpu prove` | row_to_col and u of its rows, v | for each row its worst violation and its matched cost |
| `gpu end` | | |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.distributed.messages import Message
from lapwing.gpu.certificate.passes import CostPass, MatrixPass, Vectors
from lapwing.gpu.core.bounds import column_grid, row_grid
from lapwing.gpu.core.memory import list_arrays
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.sharded_solver import ShardPart
from lapwing.gpu.core.solver import REPORT_SIZE
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.host_rows import RECORD_HEAD, RECORD_WORD, even
from lapwing.gpu.costs.sharded import Shard, Shards
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import OwnStream, fill_bytes, read, write
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.gpu.runtime.launch import kernels, preload
from lapwing.gpu.runtime.programs import CERTIFICATE, HOST_CORE, INTEGERS, SHARDED_CORE, SHARDED_START
from lapwing.gpu.runtime.workspace import Workspace

#: What every rank runs.
PASSES: Final = (SHARDED_CORE, SHARDED_START, HOST_CORE, CERTIFICATE)

_START_THREADS: Final = SHARDED_START.constants["THREADS"]
_THREADS: Final = CERTIFICATE.constants["THREADS"]
_PICK_BLOCKS, _CACHE_BLOCKS = 4, 4  # a processor, of certify_pick and of cache_own_rows
_NO_KEY: Final = 0xFF  # bytes of a key that no row has lowered
_INVALID_COST: Final = 1  # a word of the summary: ~(line << 32 | position)
_SUMMARY_WORDS: Final = 4
_HALF: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class Whole:
    """The problem of all ranks.

    Attributes
    ----------
    rows, cols : int
    first : int
        The number of this rank's first row.
    maximize : bool
    prices : array or None
        Of unmatched rows, as minimised.
    """

    rows: int
    cols: int
    first: int
    maximize: bool
    prices: NDArray[Any] | None


class RowsHere:
    """See the module.

    Parameters
    ----------
    context : Context, entered, as whenever a method is called
    view : GpuArray, (m_k, n)
    whole : Whole
    monitor : Monitor, entered
    """

    def __init__(self, context: Context, view: GpuArray, whole: Whole, monitor: Monitor) -> None:
        self.context: Context = context
        self.view: GpuArray = view
        self.whole: Whole = whole
        self.rows: range = range(whole.first, whole.first + view.shape[0])
        dual = "int64" if view.dtype in INTEGERS else "float64"
        all_cols, pointer = whole.cols, 0
        if whole.prices is not None:
            self._prices = Workspace(context, {"prices": (whole.rows, dual)}, view)
            all_cols, pointer = whole.cols + whole.rows, self._prices["prices"]
            write(context, pointer, np.ascontiguousarray(whole.prices))
        self._shards = Shards([Shard(context, self.rows, view)])
        self._shards.write_tables()
        table = self._shards.tables[0]
        matrix = CanonicalMatrix(
            table.pointer, whole.rows, all_cols, self._shards.pitch, view.dtype, whole.maximize, pointer
        )
        self.part: ShardPart = ShardPart(context, matrix, monitor, table, self.rows)

    @property
    def row_bytes(self) -> int:
        """Of the costs of a row."""
        return self.whole.cols * ITEM_BYTES[self.view.dtype]

    # --- passes of the search, whose results are in the memory of `part` ---

    def find_minima(self) -> None:
        """Set the keys to the column minima of these rows."""
        self.part.prepare()
        self.part.launch_minima(self._shards.are_whole_packs)

    def list_rows(self, prices: int) -> None:
        """List these rows under the prices at an address."""
        self.part.prepare()
        self.part.list_own_rows(prices)

    def find_bounds(self, cols: NDArray[np.int32], v: NDArray[Any]) -> None:
        """Set the keys to the column minima of c - u, of u that these prices of some columns give."""
        context, part, dual = self.context, self.part, self.part.matrix.dual_dtype
        self.part.prepare()
        sizes = {"cols": (len(cols), "int32"), "v": (len(cols), dual), "u": (self.whole.rows, dual)}
        with Workspace(context, sizes, self.view) as memory:
            write(context, memory["cols"], cols)
            write(context, memory["v"], v)
            grid = row_grid(len(self.rows), context.info.processors)
            shape = (self.rows.start, self.rows.stop, 1, len(cols), 1, 0, memory["cols"])
            self._start("row_bounds", grid, int(part.matrix.maximize), *shape, memory["v"], memory["u"])
            self._column_bounds(memory["u"])
            context.synchronize()

    def _column_bounds(self, u: int) -> None:
        part, size = self.part, self.whole.cols
        chunks, bands = column_grid(len(self.rows), size, self.context.info.processors)
        fill_bytes(self.context, part.keys, _NO_KEY, 8 * (size + chunks))
        shape = (self.rows.start, self.rows.stop, size, 1, bands, 0, 0, u, part.keys, part.v)
        self._start("column_bounds", chunks * bands, int(part.matrix.maximize), *shape)

    def sample(self, rows: NDArray[np.int32], cols: NDArray[np.int32]) -> NDArray[np.uint8]:
        """The costs of some of these rows, by their numbers in the whole, and some columns."""
        if not len(rows):
            return np.zeros((0, len(cols)), np.uint8)
        size = len(rows) * len(cols) * ITEM_BYTES[self.view.dtype]
        sizes = {"rows": (len(rows), "int32"), "cols": (len(cols), "int32"), "costs": (size, "uint8")}
        with Workspace(self.context, sizes, self.view) as memory:
            write(self.context, memory["rows"], rows)
            write(self.context, memory["cols"], cols)
            shape = (1, len(rows), len(cols), 1, memory["rows"], memory["cols"], memory["costs"])
            self._start("gather", len(rows), *shape)
            return read(self.context, memory["costs"], size, "uint8")

    def _start(self, name: str, grid: int, *arguments: int) -> None:
        matrix = self.part.matrix
        program = kernels(self.context, SHARDED_START, SHARDED_START.of_cost(matrix.dtype))
        program[name].launch(self.context, grid, _START_THREADS, matrix.pointer, matrix.row_stride, *arguments)

    def whole_rows(self, rows: NDArray[np.int32], stream: OwnStream) -> NDArray[np.uint8]:
        """The bytes of some rows, by their numbers in the whole, in no order with the context's stream."""
        found = np.empty((len(rows), self.row_bytes), np.uint8)
        for k, i in enumerate(rows.tolist()):
            stream.begin_fetch(found[k], self.address(i))
        stream.synchronize()
        return found

    def row_caches(self, rows: NDArray[np.int32], v: NDArray[Any], depth: int) -> NDArray[np.uint8]:
        """Records of the row caches of some rows under these prices (kernels/costs/host_rows.cuh)."""
        context, part, item, count = self.context, self.part, ITEM_BYTES[self.view.dtype], len(rows)
        sizes = {
            "block": (16, "int64"), "v": (len(v), "int64"), "whose": (count, "int32"), "bound": (count, "int64"),
            "count": (count, "int32"), "col": (count * depth, "int32"), "cost": (count * depth * item, "uint8"),
        }  # fmt: skip
        with Workspace(context, sizes, self.view) as memory:
            arrays = (memory[name] for name in ("col", "cost", "count", "bound"))
            stride = part.matrix.row_stride
            own = (self.view.pointer - self.rows.start * stride * item, stride)
            words = (0, 0, 0, 0, 0, depth, *arrays, 0, 0, *own, self.rows.start, self.rows.stop)
            write(context, memory["block"], np.array(words, np.int64))
            write(context, memory["v"], v)
            write(context, memory["whose"], rows)
            matrix = part.matrix
            of_matrix = (memory["block"], 0, matrix.rows, matrix.cols, int(matrix.maximize), matrix.prices)
            arguments = (*of_matrix, part.u, memory["v"], part.state, memory["whose"], count)
            program = kernels(context, HOST_CORE, HOST_CORE.of_cost(self.view.dtype))
            blocks = min(count, _CACHE_BLOCKS * context.info.processors)
            program["cache_own_rows"].launch(context, blocks, HOST_CORE.constants["THREADS"], *arguments)
            bound = read(context, memory["bound"], count, "int64")
            col = read(context, memory["col"], count * depth, "int32")
            counts = read(context, memory["count"], count, "int32").astype(np.int64)
            costs = read(context, memory["cost"], count * depth * item, "uint8")
        behind = RECORD_HEAD + 4 * even(depth)
        records = np.zeros((count, behind + -(-depth * item // RECORD_WORD) * RECORD_WORD), np.uint8)
        records[:, :8] = bound.view(np.uint8).reshape(count, 8)
        records[:, 8:RECORD_HEAD] = counts.view(np.uint8).reshape(count, 8)
        records[:, RECORD_HEAD : RECORD_HEAD + 4 * depth] = col.view(np.uint8).reshape(count, -1)
        records[:, behind : behind + depth * item] = costs.reshape(count, -1)
        return records

    def address(self, row: int) -> int:
        """Where a row of the whole begins."""
        return self._shards.address(row)

    # --- orders of rank 0 to another rank ---

    def follow(self, order: Message, stream: OwnStream) -> Message:
        """Do as ordered; see the module."""
        given, kind = order.arrays, order.kind.removeprefix("gpu ")
        if kind == "rows":
            return Message("done", {}, [self.whole_rows(given[0], stream)])
        if kind == "caches":
            return Message("done", {}, [self.row_caches(given[0], given[1], int(given[2][0]))])
        if kind == "sample":
            return Message("done", {}, [self.sample(given[0], given[1])])
        if kind == "prove":
            return Message("done", {}, OwnPass(self).found(*given))
        if kind == "list":
            with Workspace(self.context, {"v": (len(given[0]), "int64")}, self.view) as memory:
                write(self.context, memory["v"], given[0])
                self.list_rows(memory["v"])
                report = read(self.context, self.part.state, REPORT_SIZE, "uint8")
            return Message("done", {}, [*self.lists(), report])
        if kind == "minima":
            self.find_minima()
        elif kind == "bounds":
            self.find_bounds(given[0], given[1])
        return Message("done", {}, [read(self.context, self.part.keys, self.whole.cols, "int64")])

    def lists(self) -> list[NDArray[np.uint8]]:
        """The bytes of the arrays of lists, of these rows."""
        return [read(self.context, self.part.state + at, size, "uint8") for at, size in self.places()]

    def places(self) -> list[tuple[int, int]]:
        """Where the lists of these rows are in the state, and their bytes."""
        matrix = self.part.matrix
        arrays = list_arrays(matrix.rows, matrix.dtype)
        return [(at + self.rows.start * each, len(self.rows) * each) for at, each in arrays]


class Follower:
    """A rank other than 0 in such a solve: what it has on its GPU from `gpu begin` to `gpu end`."""

    def __init__(self, view: GpuArray) -> None:
        self.view: GpuArray = view
        self._here: RowsHere | None = None
        self._monitor: Monitor | None = None

    def follow(self, order: Message) -> Message:
        """Do as ordered; see the module."""
        if order.kind == "gpu end":
            self.close()
            return Message("done")
        context = shared_context(self.view.ordinal, self.view.stream)
        if order.kind == "gpu begin":
            self.close()
            told = order.fields
            prices = order.arrays[0] if order.arrays else None
            whole = Whole(told["rows"], self.view.shape[1], told["first"], told["maximize"], prices)
            with context:
                preload(context, [(program, program.of_cost(self.view.dtype)) for program in PASSES])
                self._monitor = Monitor(context).__enter__()
                self._here = RowsHere(context, self.view, whole, self._monitor)
            return Message("done")
        assert self._here is not None and self._monitor is not None
        with context:
            return self._here.follow(order, self._monitor.stream)

    def close(self) -> None:
        """Give the memory back."""
        monitor, self._monitor, self._here = self._monitor, None, None
        if monitor is not None:
            with shared_context(self.view.ordinal, self.view.stream):
                monitor.__exit__(None, None, None)


class OwnPass(MatrixPass):
    """The certificate's pass over these rows, whose answer and duals come from elsewhere."""

    def __init__(self, here: RowsHere) -> None:
        view = here.view
        self.by_columns: bool = False
        CostPass.__init__(self, here.context, (view.shape[0], view.shape[1]), here.whole.maximize, view)
        self.rows = 0  # whose columns are entered: rank 0 does this
        self.dtype: str = view.dtype
        self._here = here
        self.line_stride: int = here.part.matrix.row_stride
        self.position_stride: int = 1
        self.kernels = kernels(here.context, CERTIFICATE, CERTIFICATE.of_cost(view.dtype))

    def found(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any]) -> list[NDArray[Any]]:
        """For each row the worst violation, and the bytes of the matched cost; and the key of an invalid cost."""
        context, lines = self.context, self.lines
        sizes = {
            "row_to_col": (lines, "int64"), "u": (lines, "int64"), "v": (self.positions, "int64"),
            "violations": (lines, "int64"), "summary": (_SUMMARY_WORDS, "int64"),
            "picked": (lines * ITEM_BYTES[self.dtype], "uint8"),
        }  # fmt: skip
        with Workspace(context, sizes, self.array_template) as memory:
            memory.clear()
            for name, values in (("row_to_col", row_to_col), ("u", u), ("v", v)):
                write(context, memory[name], values)
            found = (memory[name] for name in ("row_to_col", "u", "v", "violations", "summary"))
            at = Vectors._make((*found, 0))
            self._launch_part(at, self._here.view.pointer, 0, lines)
            self.launch_pick(at.row_to_col, memory["picked"])
            violations = read(context, memory["violations"], lines, "int64")
            picked = read(context, memory["picked"], lines * ITEM_BYTES[self.dtype], "uint8")
            return [violations, picked, read(context, memory["summary"] + 8 * _INVALID_COST, 1, "int64")]

    def launch_pick(self, row_to_col: int, picked: int) -> None:
        """Copy the matched costs of these rows."""
        lines = self.lines
        blocks = min(-(-lines // _THREADS), _PICK_BLOCKS * self.context.info.processors)
        self.kernels["certify_pick"].launch(
            self.context, blocks, _THREADS,
            self._here.view.pointer, self.line_stride, 0, lines, 0, lines, self.positions, row_to_col, picked,
        )  # fmt: skip


def place_of(key: int) -> tuple[int, int]:
    """Row, from a rank's first, and column of an invalid cost."""
    return ~key >> 32 & _HALF, ~key & _HALF
