"""Costs of points that no memory holds: one GPU's part in passes over them, and in rows that are requested.

A GPU computes a slab of its own rows into a buffer, where kernels for a matrix read it, and then the next one
(kernels/costs/points_matrix.cu). Of rows that the search requests, it computes some columns: for however few rows, all
GPUs then have the same work. Every GPU has all points, which are far less than their costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.points import PointCost
from lapwing.gpu.costs.computed import ComputedCosts, block_of_lines
from lapwing.gpu.costs.host_rows import RECORD_HEAD, Ids, StreamLayout, even, record_bytes
from lapwing.gpu.costs.points_matrix import write_lines
from lapwing.gpu.costs.sharded import Shard, shard_table
from lapwing.gpu.runtime.arrays import ANY, ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import begin_write, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START, SLAB_CORE
from lapwing.gpu.runtime.workspace import Sizes, Workspace, workspace_bytes

_ALIGNED = 128  # columns, of which a GPU's share of requested rows is a multiple: whole packs, whatever the dtype
_PARTS = 16  # of a row's columns, for its cache, if all others' GPUs make as many
_LEAST_PART = 1024  # columns of one
_PART_ROOM = 48  # places in a cache for each: a listing finds about 40 columns (kernels/core/lists/build.cuh)
_LARGEST_SLAB = 8 << 30  # bytes,
_SLAB_SHARE = 16  # and at most one part of so many of what is free; requested rows take two more on the first GPU
_TILE_ROWS = 128  # a slab of fewer takes as long
_SAMPLE_SHARE, _LEAST_SAMPLE, _MOST_SAMPLE = 4, 512, 65536  # rows of a sample: one of so many, between these
_SAMPLE_ROOM = 4  # at most one part of so many of what is free
_THREADS = 256
_GATHERING = CORE_START.constants["THREADS"]
_TABLE = 32  # words from a slab's table to the next


@dataclass(frozen=True)
class SlabLayout:
    """The memory of every GPU for slabs and requests, beside that of a solve.

    Attributes
    ----------
    lines, positions : int
        As solved.
    dtype : str
    gpus : int
    rows : int
        In a slab, and in a request.
    sample : int
        Rows and columns of the sample that tells prices; 0: there is none.
    """

    lines: int
    positions: int
    dtype: str
    gpus: int
    rows: int
    sample: int

    @property
    def shares(self) -> list[range]:
        """The columns that each GPU but the first computes of requested rows; fewer GPUs than there are, if few."""
        others = self.gpus - 1
        each = -(-self.positions // (others * _ALIGNED)) * _ALIGNED
        ends = [min(k * each, self.positions) for k in range(others + 1)]
        return [range(begin, end) for begin, end in pairwise(ends) if begin < end]

    @property
    def part(self) -> int:
        """Columns of a part of a cache."""
        wanted = max(1, min(_PARTS // len(self.shares), len(self.shares[0]) // _LEAST_PART))
        return -(-len(self.shares[0]) // (wanted * 4)) * 4

    def parts(self, share: range) -> int:
        """How many parts a GPU's columns have."""
        return -(-len(share) // self.part)

    @property
    def cache_parts(self) -> int:
        """Of a row cache of requested columns."""
        return sum(self.parts(share) for share in self.shares)

    @property
    def depth(self) -> int:
        """Columns of a row cache."""
        return self.cache_parts * _PART_ROOM

    @property
    def whole_parts(self) -> tuple[int, int]:
        """Of a row that one GPU computes as a whole: how many parts its cache has, not more, and columns of each."""
        each = -(-self.positions // (self.cache_parts * 4)) * 4
        return -(-self.positions // each), each

    @property
    def whole_depth(self) -> int:
        """Columns of its cache."""
        return self.whole_parts[0] * _PART_ROOM

    @property
    def has_caches(self) -> bool:
        """Whether rows are so long that row caches are shorter."""
        return self.depth <= self.positions and record_bytes(self.stream) <= self.stream.row_bytes

    @property
    def stream(self) -> StreamLayout:
        """Of the first GPU, to which requested rows come."""
        return StreamLayout(self.lines, self.positions, self.dtype, self.rows, min(self.depth, self.positions))

    @property
    def are_tiles(self) -> bool:
        """Whether there is room for slabs of whole tiles; otherwise one GPU may be faster."""
        return self.rows >= min(_TILE_ROWS, self.lines)

    @property
    def slab_bytes(self) -> int:
        return self.rows * self.stream.row_bytes

    def bytes_of(self, source: PointCost, first: bool) -> int:
        """Of one GPU's memory: without the points and the first GPU's sample."""
        own = workspace_bytes(_slab_sizes(self, -(-self.lines // self.gpus)))
        if first:
            return own + self.stream.nbytes + 8 * self.positions * self.gpus
        return own + workspace_bytes(_request_sizes(self, self.shares[0], source))


def slab_layout(shape: tuple[int, int], dtype: str, gpus: int, room: int, has_sample: bool) -> SlabLayout:
    """What suits so many bytes of every GPU, or the least that will do.

    Parameters
    ----------
    shape : (lines, positions)
    has_sample : bool
        Whether a sample may tell prices: of square problems.
    """
    lines, positions = shape
    least = SlabLayout(lines, positions, dtype, gpus, 1, 0)
    room -= least.stream.nbytes
    rows = max(1, min(lines, min(_LARGEST_SLAB, room // _SLAB_SHARE) // least.slab_bytes))
    size = 0
    if has_sample and room > 0:
        item = ITEM_BYTES[dtype]
        size = min(lines // _SAMPLE_SHARE, _MOST_SAMPLE, math.isqrt(room // (_SAMPLE_ROOM * item))) // 8 * 8
    return replace(least, rows=rows, sample=size if size >= _LEAST_SAMPLE else 0)


def _slab_sizes(layout: SlabLayout, own: int) -> Sizes:
    """What a GPU needs for slabs of so many own lines."""
    slabs = -(-own // layout.rows)
    return {
        "slab": (layout.slab_bytes, "uint8"), "tables": (_TABLE * slabs, "int64"),
        "ids": (own, "int32"), "bounds": (own * layout.whole_parts[0], "float64"),
    }  # fmt: skip


def _request_sizes(layout: SlabLayout, share: range, source: PointCost) -> Sizes:
    """What a GPU needs for requested rows of points."""
    item = ITEM_BYTES[layout.dtype]
    return {
        "lines": (source.dims * layout.rows * item, "uint8"), "block": (16 * len(source.terms), "int64"),
        "ids": (layout.rows, "int32"), "v": (len(share), "float64"),
        "bounds": (layout.rows * layout.parts(share), "float64"),
    }  # fmt: skip


class Caches(NamedTuple):
    """Where row caches are written: addresses of columns and costs, and how many lie from row to row."""

    cols: int
    col_pitch: int
    costs: int
    cost_pitch: int


class CacheMaker:
    """The kernel that makes row caches of computed rows (kernels/core/slab_core.cu)."""

    def __init__(self, context: Context, layout: SlabLayout) -> None:
        self._context, self._layout = context, layout
        self._kernel = kernels(context, SLAB_CORE, SLAB_CORE.of_cost(layout.dtype))["cache_parts"]

    def launch(
        self, rows: tuple[int, int], ids: int, count: int, share: range, parts: tuple[int, int, int], v: int,
        to: Caches, bounds: int, maximize: bool,
    ) -> None:  # fmt: skip
        """Of so many rows, whose numbers are at an address, `rows` says where and how far apart they lie.

        `share`: their columns; `parts`: how many they have, how many columns each, and how many are of other columns.
        """
        layout, (count_of_parts, each, first_part) = self._layout, parts
        problem = (0, 0, layout.lines, layout.positions, int(maximize), 0, 0, v, 0)
        of_rows = (*rows, ids, share.start, len(share), each, count_of_parts, first_part, _PART_ROOM)
        self._kernel.launch(self._context, count * count_of_parts, _THREADS, *problem, *of_rows, *to, bounds)


class PointSlabs:
    """The points on one GPU, and its buffer.

    Parameters
    ----------
    context : Context, entered
    cost : ComputedCosts
        Uploaded for tiles.
    transposed : bool
        Whether lines are columns.
    own : range
        The lines of this GPU.
    layout : SlabLayout

    Attributes
    ----------
    slabs : list of range
        Of the own lines.
    tables : list of int
        For each, the address of struct Costs::Data of kernels/costs/sharded.cuh.
    """

    def __init__(self, context: Context, cost: ComputedCosts, transposed: bool, own: range, layout: SlabLayout) -> None:
        self.context: Context = context
        self.cost: ComputedCosts = cost
        self.own: range = own
        self.layout: SlabLayout = layout
        self.pitch: int = layout.stream.pitch
        self.row_bytes: int = layout.stream.row_bytes
        self.slabs: list[range] = [
            range(first, min(first + layout.rows, own.stop)) for first in range(own.start, own.stop, layout.rows)
        ]
        self._transposed = transposed
        self.memory: Workspace = Workspace(context, _slab_sizes(layout, len(own)))
        write(context, self.memory["ids"], np.arange(own.start, own.stop, dtype=np.int32))
        self._caches = CacheMaker(context, layout)
        words = np.zeros((len(self.slabs), _TABLE), np.int64)
        for k, slab in enumerate(self.slabs):
            view = GpuArray(
                None, self.memory["slab"], (len(slab), layout.positions), (self.pitch, 1), layout.dtype,
                context.info.ordinal, context.stream_handle, ANY,
            )  # fmt: skip
            shard = Shard(context, slab, view)
            table = shard_table([shard], shard, self.row_bytes, is_aligned=True)
            words[k, : len(table)] = table
        write(context, self.memory["tables"], words.ravel())
        self.tables: list[int] = [self.memory["tables"] + 8 * _TABLE * k for k in range(len(self.slabs))]

    def compute(self, k: int, lines: range) -> None:
        """Compute some lines of a slab, in the order of the stream, to where they lie in it."""
        origin = self.memory["slab"] - self.slabs[k].start * self.row_bytes
        write_lines(self.context, self.cost, self._transposed, lines, self.pitch, origin)

    def cache(self, k: int, v: int, to: Caches, maximize: bool) -> None:
        """Write the row caches of a computed slab to where those of all rows are."""
        layout, slab = self.layout, self.slabs[k]
        parts, each = layout.whole_parts
        first, item = slab.start - self.own.start, ITEM_BYTES[layout.dtype]
        own = Caches(
            to.cols + 4 * slab.start * to.col_pitch, to.col_pitch,
            to.costs + item * slab.start * to.cost_pitch, to.cost_pitch,
        )  # fmt: skip
        self._caches.launch(
            (self.memory["slab"], self.pitch), self.memory["ids"] + 4 * first, len(slab), range(layout.positions),
            (parts, each, 0), v, own, self.memory["bounds"] + 8 * first * parts, maximize,
        )  # fmt: skip

    def bounds(self) -> NDArray[np.float64]:
        """Of each own row, the least cost - v that its cache leaves out; waits for all of it."""
        parts, _ = self.layout.whole_parts
        with self.context:
            found = read(self.context, self.memory["bounds"], len(self.own) * parts, "float64")
        least: NDArray[np.float64] = found.reshape(-1, parts).min(axis=1)
        return least


class RequestedColumns:
    """Some columns of whatever rows are requested, on a GPU that does not search.

    Its kernels read the prices, and write what they find, in the memory of the first GPU, over the link: the search is
    running there, and a copy might wait for it.

    Parameters
    ----------
    slabs : PointSlabs
        Whose buffer is used.
    share : range
        The columns.
    first_part : int
        Parts of caches that earlier GPUs make.
    """

    def __init__(self, slabs: PointSlabs, share: range, first_part: int) -> None:
        self.context: Context = slabs.context
        self.share: range = share
        self._slabs, self._layout, self._first_part = slabs, slabs.layout, first_part
        cost, layout, item = slabs.cost, slabs.layout, ITEM_BYTES[slabs.layout.dtype]
        _, source = cost.held
        self._side = "y" if slabs._transposed else "x"
        dims = [term.x.dims for term in source.terms]
        with self.context:
            self._memory = Workspace(self.context, _request_sizes(layout, share, source))
            begins = np.cumsum([0, *dims]) * layout.rows * item
            self._lines = {f"{self._side}{k}": self._memory["lines"] + int(begins[k]) for k in range(len(dims))}
            block = block_of_lines(cost, self._lines, layout.rows, slabs._transposed, share.start)
            write(self.context, self._memory["block"], block)
            self._gather_points, self._gather_prices = (
                kernels(self.context, CORE_START, CORE_START.of_cost(dtype))["gather"]
                for dtype in (layout.dtype, "float64")
            )
            self._caches = CacheMaker(self.context, layout)
        self._pitch = replace(layout, positions=len(share)).stream.pitch
        shape = (layout.rows, len(share))
        self._cost = replace(cost, shape=shape, block=self._memory["block"], held=())
        self._kept: Ids | None = None  # until the copy is done

    def begin_rows(self, ids: Ids, rows: int, pitch: int) -> None:
        """Compute them into rows that begin at an address, `pitch` elements apart."""
        with self.context:
            self._gather(ids)
            at = rows + self.share.start * ITEM_BYTES[self._layout.dtype]
            write_lines(self.context, self._cost, False, range(len(ids)), pitch, at)

    def begin_caches(self, ids: Ids, v: int, records: int, record_pitch: int, maximize: bool) -> None:
        """Compute them here, and write the nearest columns to records (CacheRecord) at an address."""
        layout, memory, share = self._layout, self._memory, self.share
        parts, slab = layout.parts(share), self._slabs.memory["slab"]
        with self.context:
            self._gather(ids)
            self._copy_prices(v + 8 * share.start)
            write_lines(self.context, self._cost, False, range(len(ids)), self._pitch, slab)
            rows, of_parts = (slab, self._pitch), (parts, layout.part, self._first_part)
            to = records_at(records, record_pitch, layout)
            self._caches.launch(
                rows, memory["ids"], len(ids), share, of_parts, memory["v"], to, memory["bounds"], maximize
            )

    def bounds(self, count: int) -> NDArray[np.float64]:
        """Of each of so many rows, the least cost - v that the caches leave out here; waits for all of it."""
        parts = self._layout.parts(self.share)
        with self.context:
            found: NDArray[np.float64] = read(self.context, self._memory["bounds"], count * parts, "float64")
        least: NDArray[np.float64] = found.reshape(count, parts).min(axis=1)
        return least

    def finish(self) -> None:
        """Wait for all of it."""
        with self.context:
            self.context.synchronize()

    def _gather(self, ids: Ids) -> None:
        """The points of these rows, side by side; of a short request, the last one again and again."""
        context, layout, cost = self.context, self._layout, self._slabs.cost
        self._kept = np.concatenate([ids, np.full(layout.rows - len(ids), ids[-1], np.int32)])
        begin_write(context, self._memory["ids"], self._kept)
        memory, source = cost.held
        for k, term in enumerate(source.terms):
            dims, name = term.x.dims, f"{self._side}{k}"
            shape = (layout.lines, 1, dims, layout.rows, 1, 0, self._memory["ids"])
            self._gather_points.launch(context, max(dims, 1), _GATHERING, memory[name], *shape, self._lines[name])

    def _copy_prices(self, v: int) -> None:
        """By a kernel, from the other GPU's memory."""
        rows, rest = divmod(len(self.share), _ALIGNED)
        for first, count, width in ((0, rows, _ALIGNED), (rows * _ALIGNED, min(rest, 1), rest)):
            if count:
                shape, to = (width, 1, count, width, 1, 0, 0), self._memory["v"] + 8 * first
                self._gather_prices.launch(self.context, count, _GATHERING, v + 8 * first, *shape, to)


def records_at(records: int, pitch: int, layout: SlabLayout) -> Caches:
    """Row caches in records that begin at an address, `pitch` bytes apart (CacheRecord)."""
    cols, item = records + RECORD_HEAD, ITEM_BYTES[layout.dtype]
    return Caches(cols, pitch // 4, cols + 4 * even(layout.depth), pitch // item)
