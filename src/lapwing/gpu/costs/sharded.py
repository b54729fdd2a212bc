"""A matrix in shards: blocks of rows, each in the memory of a GPU of one host (kernels/costs/sharded.cuh)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.tuning import MOST_SHARDS

_PACK = 16  # bytes that a thread loads at once
_END = np.iinfo(np.int64).max
#: The word of struct Costs::Data where addresses of orders begin.
ORDERS: Final = 3 + 2 * MOST_SHARDS


@dataclass(eq=False)
class Shard:
    """Rows `rows` of the matrix, in the memory of the context's GPU.

    Attributes
    ----------
    context : Context
    rows : range
    matrix : GpuArray, (len(rows), n)
        The elements of a row side by side; without memory before the costs are loaded.
    seen : int
        Its address on the first GPU; 0 if that is the same.
    """

    context: Context
    rows: range
    matrix: GpuArray
    seen: int = 0

    @property
    def pointer(self) -> int:
        return self.matrix.pointer

    @property
    def from_first(self) -> int:
        """Where the first GPU finds it."""
        return self.seen or self.matrix.pointer


class Shards:
    """All shards, in the order of their rows. The first GPU solves, and reads the others' memory.

    Attributes
    ----------
    parts : list of Shard
    shape : (m, n)
        Of the whole, as it is solved.
    dtype : str
    pitch : int
        Elements from row to row.
    tables : list of GpuArray
        struct Costs::Data for each GPU, after `write_tables`.
    """

    def __init__(self, parts: Sequence[Shard]) -> None:
        self.parts: list[Shard] = list(parts)
        first = self.parts[0].matrix
        self.shape: tuple[int, int] = (self.parts[-1].rows.stop, first.shape[1])
        self.dtype: str = first.dtype
        self.pitch: int = max(
            (part.matrix.strides[0] for part in self.parts if len(part.rows) > 1), default=self.shape[1]
        )
        self.tables: list[GpuArray] = []

    @property
    def contexts(self) -> list[Context]:
        return [part.context for part in self.parts]

    @property
    def row_bytes(self) -> int:
        return self.pitch * ITEM_BYTES[self.dtype]

    @property
    def is_aligned(self) -> bool:
        """Whether every row begins at a multiple of 16 bytes."""
        return self.row_bytes % _PACK == 0 and all(part.pointer % _PACK == 0 for part in self.parts)

    @property
    def are_whole_packs(self) -> bool:
        """Whether every row consists of whole packs (kernels/costs/packs.cuh)."""
        return self.is_aligned and self.shape[1] * ITEM_BYTES[self.dtype] % _PACK == 0

    def part_of(self, row: int) -> Shard:
        """The shard that has a row."""
        return next(part for part in self.parts if row in part.rows)

    def address(self, row: int, from_first: bool = False) -> int:
        """Where a row begins, on its own GPU or as the first finds it."""
        part = self.part_of(row)
        return (part.from_first if from_first else part.pointer) + (row - part.rows.start) * self.row_bytes

    def write_tables(self) -> None:
        """Tell every GPU where the rows are."""
        for part in self.parts:
            with part.context:
                table = empty_array(part.context, (ORDERS + MOST_SHARDS + 1,), "int64", part.matrix)
                write(part.context, table.pointer, shard_table(self.parts, part, self.row_bytes, self.is_aligned))
                self.tables.append(table)


def shard_table(parts: Sequence[Shard], own: Shard, row_bytes: int, is_aligned: bool) -> NDArray[np.int64]:
    """Struct Costs::Data of kernels/costs/sharded.cuh, for the GPU of one of the shards."""
    ends, origins = np.full((2, MOST_SHARDS), _END, np.int64)
    for k, part in enumerate(parts):
        begin = part.pointer if part is own else part.from_first  # no other than the first reads others' rows
        ends[k], origins[k] = part.rows.stop, begin - part.rows.start * row_bytes
    head = [own.rows.start, own.rows.stop, int(is_aligned)]
    no_orders = np.zeros(MOST_SHARDS + 1, np.int64)
    return np.concatenate([np.array(head, np.int64), ends, origins, no_orders])


def shares(rows: int, count: int) -> list[range]:
    """Blocks of rows of nearly the same size, none of them empty."""
    ends = [rows * k // count for k in range(count + 1)]
    return [range(begin, end) for begin, end in pairwise(ends) if begin < end]
