"""The certificate's pass over all pairs, launched: over a matrix, one on the host, or computed costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lapwing.errors import InvalidCostError
from lapwing.gpu.costs.computed import ComputedCosts, row_group_blocks
from lapwing.gpu.costs.host_rows import HostRows, Lines, Streamed
from lapwing.gpu.costs.sparse import SparseLines
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import (
    CERTIFICATE,
    COMPUTED_CERTIFICATE,
    POINTS_CERTIFICATE,
    SPARSE_CERTIFICATE,
    Program,
)
from lapwing.gpu.runtime.tuning import BOX_POINTS, number
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = CERTIFICATE.constants["THREADS"]
_LOAD_BYTES, _STRIDED_WIDTH, *_LINES = (
    number("certificate/tuning.cuh", name) for name in ("load_bytes", "strided_width", "in_flight", "most_lines")
)
_SQUARE, _OWN_LINE_BYTES, _OWN_POSITIONS = (
    number("certificate/tuning.cuh", name) for name in ("square", "own_line_bytes", "own_positions")
)
_BLOCKS_A_PROCESSOR = 12  # to aim at: four waves
_SPARSE_BLOCKS_A_PROCESSOR = 8  # which share the entries evenly
_INVALID_COST = 1  # a word of the summary: ~(line << 32 | position)
_HALF = 0xFFFFFFFF


class Vectors(NamedTuple):
    """Addresses of what is certified, and of what is found (kernels/certificate/certificate.cu)."""

    row_to_col: int
    u: int
    v: int
    violations: int
    summary: int
    owners: int


class CostPass(ABC):
    """How the kernels read the costs: by lines, rows or columns.

    Attributes
    ----------
    by_columns : bool
        Whether a line is a column.
    lines, positions : int
    array_template : GpuArray or None
        In whose library scratch memory is made.
    kernels : dict
        The program's, by name.
    """

    by_columns: bool = False
    kernels: dict[str, Kernel]
    rows: int
    cols: int
    lines: int
    positions: int

    def __init__(
        self, context: Context, shape: tuple[int, int], maximize: bool, array_template: GpuArray | None
    ) -> None:
        self.context: Context = context
        self.maximize: bool = maximize
        self.array_template: GpuArray | None = array_template
        self.rows, self.cols = shape
        self.lines, self.positions = shape[::-1] if self.by_columns else shape

    @abstractmethod
    def launch_lines(self, at: Vectors) -> None:
        """Measure the violations of all pairs."""

    @property
    @abstractmethod
    def of_vectors(self) -> tuple[int, ...]:
        """Arguments of certify_vectors up to `maximize`."""

    @abstractmethod
    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        """Find where in a line its worst violation stands."""

    @abstractmethod
    def cost_at(self, row: int, col: int) -> float:
        """One cost, for a message."""

    def require_valid(self) -> None:  # noqa: B027
        """Raise InvalidCostError for a cost that is reported elsewhere than in the summary, when all is done."""

    def duals(self, at: Vectors) -> tuple[int, int]:
        """Of lines and of positions."""
        return (at.v, at.u) if self.by_columns else (at.u, at.v)


class MatrixPass(CostPass):
    """A matrix: lines are columns where the costs of a column are closer together in memory."""

    def __init__(self, context: Context, cost: GpuArray, maximize: bool, tall: bool) -> None:
        row_stride, col_stride = map(abs, cost.strides)
        self.by_columns: bool = row_stride < col_stride or (row_stride == col_stride and tall)
        super().__init__(context, (cost.shape[0], cost.shape[1]), maximize, cost)
        self.cost: GpuArray = cost
        self.dtype: str = cost.dtype
        self.line_stride: int
        self.position_stride: int
        self.line_stride, self.position_stride = cost.strides[::-1] if self.by_columns else cost.strides
        self.kernels: dict[str, Kernel] = kernels(context, CERTIFICATE, CERTIFICATE.of_cost(cost.dtype))

    def launch_lines(self, at: Vectors) -> None:
        self._launch_part(at, self.cost.pointer, 0, self.lines)

    def _launch_part(self, at: Vectors, pointer: int, first: int, lines: int) -> None:
        """For some lines, from line `first` on, which lies at `pointer`."""
        itemsize = ITEM_BYTES[self.dtype]
        of_lines, across_lines = self.duals(at)
        # 16 bytes at once, if every line allows it
        packed = self.position_stride == 1 and (pointer | self.line_stride * itemsize) % _LOAD_BYTES == 0
        width = _LOAD_BYTES // itemsize if packed else _STRIDED_WIDTH
        across = min(1 << (-(-self.positions // width) - 1).bit_length(), _THREADS)
        tiles_across = -(-self.positions // (across * width))
        sides = _THREADS // across
        least, most = _LINES
        wanted = lines * tiles_across / (sides * _BLOCKS_A_PROCESSOR * self.context.info.processors)
        each = min(max(least, math.ceil(wanted / least) * least), most)
        grid = tiles_across * -(-lines // (sides * each))
        self.kernels["certify_packed" if packed else "certify_strided"].launch(
            self.context, grid, _THREADS,
            pointer, lines, self.positions, self.line_stride, self.position_stride, int(self.maximize),
            of_lines + 8 * first, across_lines, at.violations + 8 * first, at.summary, across, each,
            at.row_to_col, self.rows, self.cols, at.owners,
        )  # fmt: skip

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self.cost.pointer, self.rows, self.cols, *self.cost.strides, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        self._launch_place(self.cost.pointer + line * self.line_stride * ITEM_BYTES[self.dtype], line, at, place)

    def _launch_place(self, pointer: int, line: int, at: Vectors, place: int) -> None:
        of_lines, across = self.duals(at)
        self.kernels["certify_place"].launch(
            self.context, 1, _THREADS,
            pointer, self.positions,
            self.position_stride, int(self.maximize), of_lines + 8 * line, across, at.violations + 8 * line, place,
        )  # fmt: skip

    def cost_at(self, row: int, col: int) -> float:
        item = ITEM_BYTES[self.cost.dtype]
        at = self.cost.pointer + item * (row * self.cost.strides[0] + col * self.cost.strides[1])
        return float(read(self.context, at, 1, self.cost.dtype)[0])


class HostPass(MatrixPass):
    """A matrix on the host, part after part; `wait` is called between them."""

    def __init__(
        self, context: Context, cost: Streamed, rows: HostRows, maximize: bool, wait: Callable[[float], None]
    ) -> None:
        self.by_columns: bool = cost.transposed
        CostPass.__init__(self, context, cost.shape, maximize, None)
        self.source: Lines = cost.lines
        self.host_rows: HostRows = rows
        self.wait: Callable[[float], None] = wait
        self.dtype: str = cost.dtype
        self.line_stride: int = cost.layout.pitch
        self.position_stride: int = 1
        self.kernels: dict[str, Kernel] = kernels(context, CERTIFICATE, CERTIFICATE.of_cost(cost.dtype))
        self.picked: Workspace = Workspace(context, {"costs": (self.rows * ITEM_BYTES[cost.dtype], "uint8")})

    def launch_lines(self, at: Vectors) -> None:
        self.picked.clear()
        begun = [0]

        def visit(rows: int, _: int, first: int, count: int) -> None:
            begun[0] = first
            self._launch_part(at, rows, first, count)
            self.kernels["certify_pick"].launch(
                self.context, min(-(-self.rows // _THREADS), 4 * self.context.info.processors), _THREADS,
                rows, self.line_stride, first, count, int(self.by_columns), self.rows, self.cols, at.row_to_col,
                self.picked["costs"],
            )  # fmt: skip

        def wait(done: float) -> None:
            self.wait(done)
            invalid = int(read(self.context, at.summary + 8 * _INVALID_COST, 1, "int64")[0])
            if invalid:  # its line is counted from the part's first
                line, position = (~invalid >> 32 & _HALF) + begun[0], ~invalid & _HALF
                row, col = (position, line) if self.by_columns else (line, position)
                raise InvalidCostError(row, col, self.cost_at(row, col), self.maximize)

        self.host_rows.every(np.arange(self.lines, dtype=np.int32), visit, wait)

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self.picked["costs"], self.rows, self.cols, 1, 0, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        def visit(rows: int, _: int, __: int, ___: int) -> None:
            self._launch_place(rows, line, at, place)

        self.host_rows.every(np.array([line], np.int32), visit, self.wait)

    def cost_at(self, row: int, col: int) -> float:
        line, position = (col, row) if self.by_columns else (row, col)
        return float(self.source.read(np.array([line], np.int32))[0, position])


class ComputedPass(CostPass):
    """Computed costs, part after part; `wait` is called between them."""

    program: Program = COMPUTED_CERTIFICATE

    def __init__(
        self,
        context: Context,
        cost: ComputedCosts,
        maximize: bool,
        array_template: GpuArray | None,
        wait: Callable[[float], None],
    ) -> None:
        super().__init__(context, cost.shape, maximize, array_template)
        self.cost: ComputedCosts = cost
        self.wait: Callable[[float], None] = wait
        variant = self.program.variant(COST=cost.dtype, TEXT=cost.cost_program.text)
        self.kernels: dict[str, Kernel] = kernels(context, self.program, variant)

    def launch_lines(self, at: Vectors) -> None:
        for part in self.cost.cost_program.parts(self.rows, self.cols):
            if part.start:
                self.wait(part.start / self.rows)
            self.kernels["certify_lines"].launch(
                self.context, row_group_blocks(len(part), self.context.info.processors), _THREADS,
                self.cost.block, part.start, len(part), self.rows, self.cols, int(self.maximize),
                at.u, at.v, at.violations, at.summary, at.row_to_col, at.owners,
            )  # fmt: skip

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self.cost.block, self.rows, self.cols, 0, 0, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        self.kernels["certify_place"].launch(
            self.context, 1, _THREADS,
            self.cost.block, line, self.cols, int(self.maximize),
            at.u + 8 * line, at.v, at.violations + 8 * line, place,
        )  # fmt: skip

    def cost_at(self, row: int, col: int) -> float:
        with Workspace(self.context, {"cost": (1, self.cost.dtype)}, self.array_template) as memory:
            self.kernels["read_cost"].launch(self.context, 1, _THREADS, self.cost.block, row, col, memory["cost"])
            return float(read(self.context, memory["cost"], 1, self.cost.dtype)[0])


class BoxedPass(ComputedPass):
    """Costs of points that are in bounding boxes, minimised: pairs of boxes are proven at once, or pair by pair."""

    def __init__(
        self,
        context: Context,
        cost: ComputedCosts,
        array_template: GpuArray | None,
        wait: Callable[[float], None],
    ) -> None:
        super().__init__(context, cost, False, array_template, wait)
        margin = cost.dtype  # of numbers that the quick test compares
        sizes = {"broken": (1, "uint32"), "v_in_order": (self.cols, margin)}
        for side, count in ("u", self.rows), ("v", self.cols):
            sizes |= {f"seen_{side}": (-(-count // 32), "uint32"), f"highest_{side}": (-(-count // BOX_POINTS), margin)}
        self.memory: Workspace = Workspace(context, sizes, array_template)

    def launch_lines(self, at: Vectors) -> None:
        memory, block, exchanged = self.memory, self.cost.block, self.cost.cost_program.exchanged
        memory.clear()
        sides = ("u", exchanged, self.rows, at.u, 0), ("v", block, self.cols, at.v, memory["v_in_order"])
        for side, points, count, duals, in_order in sides:
            self.kernels["check_boxes"].launch(
                self.context, row_group_blocks(count, self.context.info.processors), _THREADS,
                points, count, duals, memory[f"seen_{side}"], memory["broken"], in_order, memory[f"highest_{side}"],
            )  # fmt: skip
        for part in self.cost.cost_program.parts(self.rows, self.cols):
            if part.start:
                self.wait(part.start / self.rows)
            self.kernels["certify_boxes"].launch(
                self.context, (part.stop - 1) // BOX_POINTS - part.start // BOX_POINTS + 1, _THREADS,
                block, exchanged, part.start, len(part), self.rows, self.cols,
                at.u, at.v, at.violations, at.summary, at.row_to_col, at.owners,
                memory["broken"], memory["highest_u"], memory["highest_v"], memory["v_in_order"],
            )  # fmt: skip


class TiledPass(ComputedPass):
    """Costs of points of many dimensions, computed by tiles, whether a matrix of them is held or not."""

    program = POINTS_CERTIFICATE

    def launch_lines(self, at: Vectors) -> None:
        for part in self.cost.cost_program.parts_by_tiles(self.rows, self.cols):
            if part.start:
                self.wait(part.start / self.rows)
            self.launch_part(at, part)

    def launch_part(self, at: Vectors, part: range) -> None:
        """For some lines."""
        lines_of_tile = _SQUARE * _OWN_LINE_BYTES // ITEM_BYTES[self.cost.dtype]
        across = -(-self.cols // (_SQUARE * _OWN_POSITIONS))
        self.kernels["certify_tiles"].launch(
            self.context, -(-len(part) // lines_of_tile) * across, _THREADS,
            self.cost.block, part.start, len(part), self.rows, self.cols, int(self.maximize),
            at.u, at.v, at.violations, at.summary, at.row_to_col, at.owners,
        )  # fmt: skip


class SparsePass(CostPass):
    """Sparse costs: lines are those in which the entries lie."""

    def __init__(self, context: Context, cost: SparseLines, maximize: bool, array_template: GpuArray | None) -> None:
        self.by_columns: bool = cost.by_columns
        super().__init__(context, cost.shape, maximize, array_template)
        self.cost: SparseLines = cost
        self.kernels: dict[str, Kernel] = kernels(context, SPARSE_CERTIFICATE, SPARSE_CERTIFICATE.of_cost(cost.dtype))

    def launch_lines(self, at: Vectors) -> None:
        self.kernels["certify_lines"].launch(
            self.context, self.context.info.processors * _SPARSE_BLOCKS_A_PROCESSOR, _THREADS,
            self.cost.block, self.lines, int(self.maximize), *self.duals(at), at.violations, at.summary,
            at.row_to_col, self.rows, self.cols, at.owners,
        )  # fmt: skip

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self.cost.block, self.rows, self.cols, int(self.by_columns), 0, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        of_lines, across = self.duals(at)
        self.kernels["certify_place"].launch(
            self.context, 1, _THREADS,
            self.cost.block, line, int(self.maximize), of_lines + 8 * line, across, at.violations + 8 * line, place,
        )  # fmt: skip

    def cost_at(self, row: int, col: int) -> float:
        with Workspace(self.context, {"cost": (1, self.cost.dtype)}, self.array_template) as memory:
            where = (row, col, int(self.by_columns), memory["cost"])
            self.kernels["read_cost"].launch(self.context, 1, _THREADS, self.cost.block, *where)
            return float(read(self.context, memory["cost"], 1, self.cost.dtype)[0])
