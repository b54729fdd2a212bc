"""Sparse costs on a GPU: arrays of PyTorch, CuPy and JAX where they are, or the host's copied there, line by line.

A solve reads lines (kernels/costs/sparse.cuh), the rows or the columns, whichever are to be matched. The GPU checks the
arrays while it copies their indices (kernels/costs/sparse_lines.cu), and sorts the entries by lines where they come as
pairs or by the other side; costs by the right lines are read in place. The host reads damaged arrays and those
with duplicate pairs: it sums duplicates, and raises every error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost, is_cupy_sparse, is_sparse_tensor
from lapwing.costs.sparse_arrays import is_sparse_on_gpu
from lapwing.errors import DtypeError
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array, view_array
from lapwing.gpu.runtime.copies import copy_bytes, fill_bytes, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import SPARSE_LINES
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = SPARSE_LINES.constants["THREADS"]
_BLOCKS_A_PROCESSOR = 8
_LINE_BYTES = 24  # of a row or a column: where its entries end, and where they go while they are sorted
_BLOCK = ("ends", "across", "data")  # struct Costs::Data of kernels/costs/sparse.cuh
_REPORT_WORDS = 4
_DAMAGED, _DISORDERED, _TWICE, _LONGEST = range(_REPORT_WORDS)  # enum ReportWord of kernels/costs/sparse_lines.cu


@dataclass(frozen=True, eq=False)
class GivenEntries:
    """Sparse arrays as a library holds them.

    Attributes
    ----------
    shape : (m, n)
    data : (entries,), contiguous
    across : (entries,) int32 or int64
        The columns, or the rows if `by_columns`.
    ends : (lines + 1,) int32 or int64, or None
        Where the entries of every line end, after a 0.
    along : (entries,) int32 or int64, or None
        The line of each entry, where there are no `ends`.
    by_columns : bool
    pads : bool
        Whether entries just beyond the matrix are none.
    """

    shape: tuple[int, int]
    data: Any
    across: Any
    ends: Any = None
    along: Any = None
    by_columns: bool = False
    pads: bool = False


@dataclass(eq=False)
class SparseLines:
    """Lines in the GPU's memory.

    Attributes
    ----------
    block : int
        Address of struct Costs::Data of kernels/costs/sparse.cuh.
    shape : (m, n)
    dtype : str
    by_columns : bool
        Whether lines are columns.
    longest : int
        Entries of the longest line.
    """

    block: int
    shape: tuple[int, int]
    dtype: str
    by_columns: bool
    longest: int
    owners: tuple[object, ...]

    @property
    def lines(self) -> int:
        return self.shape[1] if self.by_columns else self.shape[0]


def entries_on_gpu(value: Any) -> GivenEntries | None:
    """The arrays of a sparse matrix in a GPU's memory; None if they are on the host, or only the host can read them."""
    if isinstance(value, SparseCost) or not is_sparse_on_gpu(value) or len(value.shape) != 2:
        return None
    if is_sparse_tensor(value):
        return _of_tensor(value)
    return _of_cupy(value) if is_cupy_sparse(value) else _of_jax(value)


def _of_tensor(tensor: Any) -> GivenEntries | None:
    torch = sys.modules["torch"]
    if tensor.dense_dim():
        return None
    tensor = tensor.detach()
    shape = (int(tensor.shape[0]), int(tensor.shape[1]))
    if tensor.layout == torch.sparse_coo:
        places = tensor._indices()
        return GivenEntries(shape, tensor._values(), places[1], along=places[0])
    if tensor.layout == torch.sparse_csc:
        return GivenEntries(shape, tensor.values(), tensor.row_indices(), tensor.ccol_indices(), by_columns=True)
    return GivenEntries(shape, tensor.values(), tensor.col_indices(), tensor.crow_indices())


def _of_cupy(matrix: Any) -> GivenEntries | None:
    if matrix.format in ("csr", "csc"):
        return GivenEntries(matrix.shape, matrix.data, matrix.indices, matrix.indptr, by_columns=matrix.format == "csc")
    return GivenEntries(matrix.shape, matrix.data, matrix.col, along=matrix.row) if matrix.format == "coo" else None


def _of_jax(array: Any) -> GivenEntries | None:
    if array.n_batch or array.n_dense:
        return None
    shape = (int(array.shape[0]), int(array.shape[1]))
    if hasattr(array, "indptr"):
        return GivenEntries(shape, array.data, array.indices, array.indptr)
    return GivenEntries(shape, array.data, array.indices[:, 1], along=array.indices[:, 0], pads=True)


def entries_of(cost: SparseCost) -> GivenEntries:
    """The host's arrays."""
    return GivenEntries(cost.shape, cost.data, cost.indices, cost.indptr, by_columns=cost.by_columns)


def viewed(given: GivenEntries) -> GivenEntries | None:
    """The arrays as `GpuArray`; None if kernels do not read them as they are."""
    try:
        data, across, ends, along = (
            None if array is None else view_array(array)
            for array in (given.data, given.across, given.ends, given.along)
        )
    except DtypeError:
        return None
    assert data is not None
    indices = [array for array in (across, ends, along) if array is not None]
    if data.strides[:1] not in ((), (1,)) and data.shape[0] > 1:
        return None
    if any(array.dtype not in ("int32", "int64") or array.ordinal != data.ordinal for array in indices):
        return None
    return GivenEntries(given.shape, data, across, ends, along, given.by_columns, given.pads)


def solved_by_columns(shape: tuple[int, int], by_columns: bool, fixed: bool) -> bool:
    """Whether the columns are matched, of costs whose lines are columns if `by_columns`; not if rows are `fixed`."""
    rows, cols = shape
    return not fixed and (rows > cols or (rows == cols and by_columns))


def is_sorted_anew(given: GivenEntries, fixed: bool) -> bool:
    """Whether entries go to other lines than those in which they come."""
    return given.ends is None or solved_by_columns(given.shape, given.by_columns, fixed) != given.by_columns


def copied_bytes(given: GivenEntries, entries: int, dtype: str, fixed: bool, on_host: bool) -> int:
    """Memory of the GPU for the lines, beside arrays that are there, and for what makes them."""
    rows, cols = given.shape
    each = 4 + (ITEM_BYTES[dtype] if on_host else 0)
    if is_sorted_anew(given, fixed):
        each += 4 + ITEM_BYTES[dtype] + (4 if given.ends is None else 0)
    return each * entries + _LINE_BYTES * (rows + cols)


def upload_entries(context: Context, cost: SparseCost) -> GivenEntries:
    """Copies of the host's arrays."""

    def copied(array: NDArray[Any]) -> GpuArray:
        there = empty_array(context, array.shape, array.dtype.name)
        write(context, there.pointer, np.ascontiguousarray(array))
        return there

    data, across, ends = copied(cost.data), copied(cost.indices), copied(cost.indptr)
    return GivenEntries(cost.shape, data, across, ends, by_columns=cost.by_columns)


@dataclass(eq=False)
class _Entries:
    """Entries in the GPU's memory, by lines that end at `ends`, or each with its line in `along`; addresses, or 0."""

    ends: int
    lines: int
    along: int
    count: int
    across: int
    data: int
    owners: tuple[object, ...]

    @property
    def arguments(self) -> tuple[int, int, int, int]:
        """The first of kernels that walk over them."""
        return self.ends, self.lines, self.along, self.count


def block_of_lines(context: Context, addresses: Mapping[str, int], array_template: GpuArray | None) -> GpuArray:
    """Struct Costs::Data of kernels/costs/sparse.cuh: the addresses of `ends`, `across` and `data`."""
    block = empty_array(context, (len(_BLOCK),), "int64", array_template)
    write(context, block.pointer, np.array([addresses[name] for name in _BLOCK], np.int64))
    return block


class LinesMaker:
    """Makes lines of arrays in the GPU's memory.

    Parameters
    ----------
    context : Context, entered
    array_template : GpuArray, optional
        Of the library whose allocator is to be used.
    """

    def __init__(self, context: Context, array_template: GpuArray | None) -> None:
        self.context: Context = context
        self.array_template: GpuArray | None = array_template
        self._kernels = kernels(context, SPARSE_LINES)
        self._report = Workspace(context, {"words": (_REPORT_WORDS, "int64")}, array_template)

    def make(self, given: GivenEntries, by_columns: bool, is_own: bool) -> SparseLines | None:
        """The lines, columns if `by_columns`; None if the arrays are damaged or have a pair twice.

        Of own copies, whose indices may be changed, it is known that they have none twice.
        """
        self._report.clear()
        entries = self._checked(given, is_own)
        if entries is None:
            return None
        sorts = given.ends is None or by_columns != given.by_columns
        if not is_own:
            self._launch("find_disorder", *entries.arguments, entries.across, self._words)
        if not sorts:
            self._launch("find_longest", entries.ends, entries.lines, self._words)
        words = self._read_report()
        if words[_DAMAGED] or (words[_DISORDERED] and self._has_duplicates(entries)):
            return None
        if sorts:
            entries = self._sorted(entries, given, by_columns)
            self._launch("find_longest", entries.ends, entries.lines, self._words)
            words = self._read_report()
        addresses = {name: getattr(entries, name) for name in _BLOCK}
        block = block_of_lines(self.context, addresses, self.array_template)
        owners = (block, *entries.owners)
        return SparseLines(block.pointer, given.shape, given.data.dtype, by_columns, int(words[_LONGEST]), owners)

    @property
    def _words(self) -> int:
        return self._report["words"]

    def _read_report(self) -> NDArray[np.int64]:
        return read(self.context, self._words, _REPORT_WORDS, "int64")

    def _launch(self, name: str, *arguments: int, blocks: int | None = None) -> None:
        grid = self.context.info.processors * _BLOCKS_A_PROCESSOR if blocks is None else blocks
        self._kernels[name].launch(self.context, grid, _THREADS, *arguments)

    def _empty(self, count: int, dtype: str) -> GpuArray:
        return empty_array(self.context, (max(1, count),), dtype, self.array_template)

    def _checked(self, given: GivenEntries, is_own: bool) -> _Entries | None:
        """The entries with a private copy of the indices; None if the report finds them damaged."""
        rows, cols = given.shape
        lines, positions = (cols, rows) if given.by_columns else (rows, cols)
        count = int(given.data.shape[0])
        if len(given.across.shape) != 1 or given.across.shape[0] != count:
            return None
        ends = along = None
        if given.ends is None:
            if given.along.shape != given.across.shape:
                return None
            along = self._indices(given.along, count, 0, 0, lines, given.pads, is_own)
        else:
            if given.ends.shape != (lines + 1,):
                return None
            ends = given.ends if is_own else self._empty(lines + 1, "int64")
            self._launch("copy_ends", *_integers(given.ends), lines, count, ends.pointer, self._words)
        at_ends = 0 if ends is None else ends.pointer
        across = self._indices(given.across, count, at_ends, lines, positions, given.pads, is_own)
        at_along = 0 if along is None else along.pointer
        owners = (ends, along, across, given.data)
        return _Entries(at_ends, lines, at_along, count, across.pointer, given.data.pointer, owners)

    def _indices(
        self, given: GpuArray, count: int, ends: int, lines: int, size: int, pads: bool, is_own: bool
    ) -> GpuArray:
        to = given if is_own else self._empty(count, "int32")
        self._launch("copy_indices", *_integers(given), count, ends, lines, size, int(pads), to.pointer, self._words)
        return to

    def _has_duplicates(self, entries: _Entries) -> bool:
        size = 1 << (2 * max(1, entries.count) - 1).bit_length()
        table = self._empty(size, "int64")
        fill_bytes(self.context, table.pointer, 0xFF, 8 * size)
        self._launch("find_duplicates", *entries.arguments, entries.across, table.pointer, size - 1, self._words)
        return bool(self._read_report()[_TWICE])

    def _sorted(self, entries: _Entries, given: GivenEntries, by_columns: bool) -> _Entries:
        """The entries by lines, columns if `by_columns`."""
        dtype, lines, count = given.data.dtype, given.shape[1 if by_columns else 0], entries.count
        if entries.ends:
            count = int(read(self.context, entries.ends + 8 * entries.lines, 1, "int64")[0])
            of, position = entries.across, 0
        else:
            of, position = (entries.across, entries.along) if by_columns else (entries.along, entries.across)
        ends, across, data = self._empty(lines + 1, "int64"), self._empty(count, "int32"), self._empty(count, dtype)
        with Workspace(self.context, {"counts": (lines, "uint32"), "next": (lines, "int64")}) as memory:
            memory.clear()
            self._launch("count_entries", of, position, count, memory["counts"])
            self._launch("add_up_counts", memory["counts"], lines, ends.pointer, blocks=1)
            copy_bytes(self.context, memory["next"], ends.pointer, 8 * lines)
            self._launch(
                "sort_entries", entries.ends, entries.lines, position, count, of,
                entries.data, ITEM_BYTES[dtype], memory["next"], across.pointer, data.pointer,
            )  # fmt: skip
        return _Entries(ends.pointer, lines, 0, count, across.pointer, data.pointer, (ends, across, data))


def _integers(array: GpuArray) -> tuple[int, int, int]:
    """Struct Integers of kernels/costs/sparse_lines.cu."""
    return array.pointer, array.strides[0], int(array.dtype == "int64")
