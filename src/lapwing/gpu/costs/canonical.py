"""Costs as the core method's kernels read them: wide or square, the elements of a matrix's row side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lapwing.gpu.costs.computed import ComputedCosts, CostProgram
from lapwing.gpu.costs.host_rows import StoredRows, Streamed
from lapwing.gpu.costs.sharded import Shards
from lapwing.gpu.costs.sparse import SparseLines
from lapwing.gpu.costs.unmatched import UnmatchedColumns, fixes_rows
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import CORE_START, INTEGERS, Program

_THREADS = CORE_START.constants["THREADS"]


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class CanonicalMatrix:
    """The costs as the kernels see them: at most as many rows as columns; of a matrix, a row's elements side by side.

    With `prices` (an address; 0 for none) the last `rows` columns are exits: row i may stay free at prices[i]. Computed
    costs have a recipe; `pointer` is then their block, and `row_stride` the run of a sample, 1 for the whole.
    """

    pointer: int
    rows: int
    cols: int
    row_stride: int
    dtype: str
    maximize: bool
    prices: int = 0
    cost_program: CostProgram | None = None

    def kernels(self, context: Context, of_matrix: Program, computed: Program) -> dict[str, Kernel]:
        """Of one of two programs, loaded."""
        if self.cost_program is None:
            return kernels(context, of_matrix, of_matrix.of_cost(self.dtype))
        return kernels(context, computed, computed.variant(COST=self.dtype, TEXT=self.cost_program.text))

    @property
    def in_order(self) -> bool:
        """Whether costs are computed from points in order, so that samples are stratified."""
        return self.cost_program is not None and self.cost_program.in_order

    @property
    def real_cols(self) -> int:
        """Columns that are not exits."""
        return self.cols - (self.rows if self.prices else 0)

    @property
    def dual_dtype(self) -> str:
        return "int64" if self.dtype in INTEGERS else "float64"


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class CanonicalForm:
    """The oriented matrix, whether it is the transpose of what was given, and what keeps its memory alive."""

    matrix: CanonicalMatrix
    transposed: bool
    owner: GpuArray | ComputedCosts | StoredRows | SparseLines | Shards

    @property
    def turned(self) -> bool:
        """Whether columns are solved as rows, at the one price of rows that stay free (gpu/costs/unmatched.py)."""
        return self.transposed and self.matrix.prices != 0

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix as it was given."""
        return self.given(self.matrix.rows, self.matrix.real_cols)

    def given(self, line: int, position: int) -> tuple[int, int]:
        """Row and column of the matrix as it was given, of a place in the matrix as it is solved."""
        return (position, line) if self.transposed else (line, position)


def to_canonical(
    context: Context, cost: GpuArray | ComputedCosts, maximize: bool, unmatched: UnmatchedColumns | None = None
) -> CanonicalForm:
    """View costs of shape (m, n), neither of them 0; a matrix is copied if what must be contiguous is not.

    With exits there are more columns than rows in any case, so the matrix stays as it is, unless it is turned.
    """
    if isinstance(cost, ComputedCosts):
        return _computed_to_canonical(cost, maximize, unmatched)
    rows, cols = cost.shape
    row_stride, col_stride = cost.strides
    fixed = fixes_rows(unmatched)
    transposed = is_transposed(cost.shape, cost.strides, fixed)
    if transposed:
        rows, cols, row_stride, col_stride = cols, rows, col_stride, row_stride
    pointer, owner = cost.pointer, cost
    if is_copied(cost.shape, cost.strides, fixed):
        owner = gathered(context, cost, (rows, cols), (row_stride, col_stride))
        pointer, row_stride = owner.pointer, cols
    all_cols, prices = (cols, 0) if unmatched is None else (cols + rows, unmatched.pointer)
    return CanonicalForm(
        CanonicalMatrix(pointer, rows, all_cols, row_stride, cost.dtype, maximize, prices), transposed, owner
    )


def host_rows_to_canonical(
    cost: Streamed, rows: StoredRows, maximize: bool, unmatched: UnmatchedColumns | None
) -> CanonicalForm:
    """The same for a matrix on the host, whose lines are rows already."""
    lines, positions = cost.lines.shape
    all_cols, prices = (positions, 0) if unmatched is None else (positions + lines, unmatched.pointer)
    return CanonicalForm(
        CanonicalMatrix(rows.block, lines, all_cols, 0, cost.dtype, maximize, prices), cost.transposed, rows
    )


def shards_to_canonical(
    shards: Shards, transposed: bool, maximize: bool, unmatched: UnmatchedColumns | None
) -> CanonicalForm:
    """The same for a matrix in shards, as the first GPU sees it; its rows are those that are solved."""
    rows, cols = shards.shape
    all_cols, prices = (cols, 0) if unmatched is None else (cols + rows, unmatched.pointer)
    matrix = CanonicalMatrix(shards.tables[0].pointer, rows, all_cols, shards.pitch, shards.dtype, maximize, prices)
    return CanonicalForm(matrix, transposed, shards)


def sparse_to_canonical(lines: SparseLines, maximize: bool, unmatched: UnmatchedColumns | None) -> CanonicalForm:
    """The same for sparse costs, whose lines are rows already."""
    rows, positions = lines.shape[::-1] if lines.by_columns else lines.shape
    all_cols, prices = (positions, 0) if unmatched is None else (positions + rows, unmatched.pointer)
    return CanonicalForm(
        CanonicalMatrix(lines.block, rows, all_cols, 0, lines.dtype, maximize, prices), lines.by_columns, lines
    )


def _computed_to_canonical(cost: ComputedCosts, maximize: bool, unmatched: UnmatchedColumns | None) -> CanonicalForm:
    rows, cols = cost.shape
    transposed = rows > cols and not fixes_rows(unmatched)
    block, cost_program = cost.block, cost.cost_program
    if transposed:
        rows, cols = cols, rows
        block, cost_program = cost_program.exchanged, replace(cost_program, exchanged=block)
    all_cols, prices = (cols, 0) if unmatched is None else (cols + rows, unmatched.pointer)
    return CanonicalForm(
        CanonicalMatrix(block, rows, all_cols, 1, cost.dtype, maximize, prices, cost_program), transposed, cost
    )


def is_transposed(shape: tuple[int, ...], strides: tuple[int, ...], fixed: bool) -> bool:
    """Whether the matrix is solved as its transposed view: when tall, or square with contiguous columns.

    `fixed`: its rows may stay free, and are solved as they are.
    """
    rows, cols = shape
    return not fixed and (rows > cols or (rows == cols and strides[0] == 1 != strides[1]))


def is_copied(shape: tuple[int, ...], strides: tuple[int, ...], fixed: bool) -> bool:
    """Whether the elements of a row, as it is solved, are not side by side."""
    along = 0 if is_transposed(shape, strides, fixed) else 1
    return strides[along] != 1 and shape[along] > 1


def gathered(context: Context, cost: GpuArray, shape: tuple[int, int], strides: tuple[int, int]) -> GpuArray:
    """A copy of this shape whose rows' elements lie side by side, of costs that lie so far apart."""
    rows, cols = shape
    copy = empty_array(context, shape, cost.dtype, cost)
    gather = kernels(context, CORE_START, CORE_START.of_cost(cost.dtype))["gather"]
    blocks = min(rows, 64 * context.info.processors)
    gather.launch(context, blocks, _THREADS, cost.pointer, *strides, rows, cols, 1, 0, 0, copy.pointer)
    return copy
