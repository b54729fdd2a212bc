"""The core method for points of many dimensions whose matrix all GPUs together cannot hold (gpu/costs/point_slabs.py).

The first GPU solves as for a matrix that stays on the host (core/host_solver.py). In passes over the whole matrix
(column minima, listings, prices of a sample) every GPU computes slab after slab of its own rows, and the kernels for a
matrix in shards read them: so lists are made at the places, and have the bits, that they have in `ShardedSolve`.

A listing also makes row caches of all rows. Rows that these decide no more are requested by the running kernel, many at
once. All other GPUs compute them, each some of the columns, and write row caches, or whole rows, to the first GPU's
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.part import of_points
from lapwing.costs.points import PointCost
from lapwing.gpu.core.bounds import column_grid, row_grid
from lapwing.gpu.core.host_solver import HostSolve, OwnersStartFinder, sampled_lines
from lapwing.gpu.core.memory import list_arrays
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.sharded_solver import ShardPart, join_minima
from lapwing.gpu.core.solver import REPORT_SIZE, CoreSolve, Schedule
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.computed import upload_by_tiles
from lapwing.gpu.costs.host_rows import Ids, SourceLines, StoredRows
from lapwing.gpu.costs.point_slabs import Caches, PointSlabs, RequestedColumns, SlabLayout
from lapwing.gpu.costs.points_matrix import write_points_matrix
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import copy_bytes, fill_bytes, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.peers import copy_between, order
from lapwing.gpu.runtime.programs import SHARDED_START
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = SHARDED_START.constants["THREADS"]
# Column minima are those of so many rows, a tile's, of every so many: prices to start from need be no better, and a
# pass over all rows takes as long as the listing.
_MINIMA_ROWS, _MINIMA_STEP = 128, 512
_NO_KEY = 0xFF  # bytes of a key that no row has lowered
_REHEARSED = 1024  # rows


class SlabPart(ShardPart):
    """The state of a solve on one GPU, where its passes run over slabs of its own rows.

    Attributes
    ----------
    slabs : PointSlabs
    reports : Workspace
        Of the listings of slabs, one each.
    """

    def __init__(self, slabs: PointSlabs, matrix: CanonicalMatrix, monitor: Monitor) -> None:
        self.slabs: PointSlabs = slabs
        here = replace(matrix, pointer=slabs.tables[0], row_stride=slabs.pitch)
        super().__init__(slabs.context, here, monitor, None, slabs.own)
        sizes = {"reports": (len(slabs.slabs) * REPORT_SIZE, "uint8"), "u": (matrix.rows, matrix.dual_dtype)}
        self.memory: Workspace = Workspace(slabs.context, sizes)

    def compute(self, k: int) -> range:
        """Compute a slab, which kernels read from now on; its rows."""
        self._read_slab(k)
        self.slabs.compute(k, self.slabs.slabs[k])
        return self.slabs.slabs[k]

    def _read_slab(self, k: int) -> None:
        self._arguments = (self.slabs.tables[k], *self._arguments[1:])

    def lower_minima(self, k: int) -> None:
        """Lower the keys to the column minima of some rows of a slab."""
        rows = self.slabs.slabs[k]
        for first in range(rows.start, rows.stop, _MINIMA_STEP):
            piece = range(first, min(first + _MINIMA_ROWS, rows.stop))
            self._read_slab(k)
            self.slabs.compute(k, piece)
            chunks, bands = self._minima_grid(len(piece), self.matrix.cols % self._pack == 0)
            self._launch("column_minima", chunks * bands, self.keys, 0, piece.start, piece.stop, bands, 1)

    def list_slab(self, k: int, caches: Caches | None) -> None:
        """List the rows of a slab under the prices in `v`, and make their row caches where these are."""
        self.compute(k)
        self._prepare(self.keys, 0)  # which sets back the count of rows that blocks take, and the report
        self._prices_are_lowered = k > 0
        CoreSolve.list_rows(self)
        if caches is not None:
            self.slabs.cache(k, self.v, caches, self.matrix.maximize)
        copy_bytes(self.context, self.memory["reports"] + k * REPORT_SIZE, self.state, REPORT_SIZE)

    def lower_bounds(self, k: int, cols: int, count: int, v: int) -> None:
        """Lower the keys to the column minima of c - u of a slab, of u that the prices of some columns give."""
        rows, context, size = self.compute(k), self.context, self.matrix.cols
        processors = context.info.processors
        shape = (rows.start, rows.stop, 1, count, 1, 0, cols, v, self.memory["u"])
        self._start("row_bounds", row_grid(len(rows), processors), int(self.matrix.maximize), *shape)
        chunks, bands = column_grid(len(rows), size, processors)
        of_columns = (rows.start, rows.stop, size, 1, bands, 0, 0, self.memory["u"], self.keys, self.v)
        self._start("column_bounds", chunks * bands, int(self.matrix.maximize), *of_columns)

    def clear_keys(self) -> None:
        """No row has lowered them."""
        fill_bytes(self.context, self.keys, _NO_KEY, 8 * (self.matrix.cols + -(-self.matrix.cols // _THREADS)))

    @property
    def _pack(self) -> int:
        return 16 // np.dtype(self.matrix.dtype).itemsize

    def _start(self, name: str, grid: int, *arguments: int) -> None:
        program = kernels(self.context, SHARDED_START, SHARDED_START.of_cost(self.matrix.dtype))
        program[name].launch(self.context, grid, _THREADS, self._arguments[0], self.slabs.pitch, *arguments)


class RequestedRows(StoredRows):
    """Rows that the other GPUs compute when they are requested.

    Attributes
    ----------
    v : int
        The address of the prices, once there are some.
    caches_read : int
        Row caches, so far.
    """

    def __init__(
        self, context: Context, layout: SlabLayout, monitor: Monitor, columns: Sequence[RequestedColumns], sense: bool
    ) -> None:
        super().__init__(context, layout.stream, monitor.stream)
        context.synchronize()  # before anyone looks whether rows are requested
        self._columns, self._maximize = columns, sense
        self._has_caches = layout.has_caches
        self.v: int = 0
        self.caches_read: int = 0

    def counts(self) -> dict[str, float]:
        """See `StoredRows`."""
        return super().counts() | {"caches_read": float(self.caches_read)}

    def empty_caches(self) -> None:
        """In the order of the stream: no row has a row cache that decides anything."""
        fill_bytes(self.context, self._memory["cached_count"], 0, 4 * self.layout.lines)
        write(self.context, self._memory["cached_bound"], np.full(self.layout.lines, -np.inf))

    @property
    def caches(self) -> Caches | None:
        """Where the row caches of all rows are; None if rows are too short for them."""
        depth = self.layout.depth
        return (
            Caches(self._memory["cached_col"], depth, self._memory["cached_cost"], depth) if self._has_caches else None
        )

    def note_caches(self, bounds: NDArray[np.float64], count: int) -> None:
        """There is one of every row, with so many columns and these bounds on the others."""
        write(self.context, self._memory["cached_bound"], bounds)
        write(self.context, self._memory["cached_count"], np.full(self.layout.lines, count, np.int32))

    def rehearse(self) -> None:
        """Bring some rows in every way that the search may ask for, after all work.

        The driver may wait for all kernels when it loads one, or allocates memory, for the first time. The search waits
        for rows, so while it runs neither would end.
        """
        self.context.synchronize()  # for the prices
        counted = self.rows_read, self.caches_read
        ids = np.arange(min(self.layout.room, _REHEARSED), dtype=np.int32)
        for for_caches in (False, True):
            self._bring(ids, for_caches)
        self.rows_read, self.caches_read = counted

    def _bring(self, ids: Ids, for_caches: bool) -> Ids:
        if not (for_caches and self._has_caches):
            return super()._bring(ids, for_caches)
        at = self._memory["rows"]
        for part in self._columns:
            part.begin_caches(ids, self.v, at, self._pitch_bytes, self._maximize)
        heads = np.empty((len(ids), 2), np.int64)  # of struct CacheRecord
        heads[:, 0] = np.min([part.bounds(len(ids)) for part in self._columns], axis=0).view(np.int64)
        heads[:, 1] = self.layout.depth
        self._stream.send_rows(at, self._pitch_bytes, heads.view(np.uint8))
        self._stream.synchronize()
        self.caches_read += len(ids)
        return ~ids

    def _fill(self, rows: int, ids: Ids) -> None:
        self.rows_read += len(ids)
        for part in self._columns:
            part.begin_rows(ids, rows, self.layout.pitch)
        for part in self._columns:
            part.finish()


class SlabSolve(HostSolve):
    """One solve, on the first GPU.

    Parameters
    ----------
    source : PointCost
        The rows as they are solved.

    Attributes
    ----------
    parts : list of SlabPart
        Of all GPUs; the first one's state is beside that of the solve.
    """

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        rows: RequestedRows,
        slabs: Sequence[PointSlabs],
        source: PointCost,
    ) -> None:
        super().__init__(context, matrix, monitor, rows, SourceLines(source))
        self.source: PointCost = source
        self._requested, rows.v = rows, self.v
        self._has_rehearsed = False
        self.parts: list[SlabPart] = []
        self._prices: list[Workspace] = []  # of unmatched rows, on the others' GPUs
        for own in slabs:
            with own.context:
                here = replace(matrix, prices=self._prices_on(own.context))
                self.parts.append(SlabPart(own, here, monitor))

    def _prices_on(self, context: Context) -> int:
        matrix = self.matrix
        if not matrix.prices or context is self.context:
            return matrix.prices
        self._prices.append(Workspace(context, {"prices": (matrix.rows, matrix.dual_dtype)}))
        order(self.context, context)
        copy_between(context, self._prices[-1]["prices"], matrix.prices, 8 * matrix.rows)
        return self._prices[-1]["prices"]

    # --- passes over all rows, by every GPU over its own ---

    def _pass(self, stage: str, begin: Callable[[SlabPart], None], launch: Callable[[SlabPart, int], None]) -> None:
        for part in self.parts:
            order(self.context, part.context)
            with part.context:
                begin(part)
        most = max(len(part.slabs.slabs) for part in self.parts)
        for k in range(most):
            if k:
                self._monitor.mark()  # of the slab before, which is waited for while this one is computed
            for part in self.parts:
                if k < len(part.slabs.slabs):
                    with part.context:
                        launch(part, k)
            if k:
                self._monitor.wait_in_pass(stage, k / most)

    def start_at_column_minima(self, copier: Copier | None = None) -> bool:
        """See `CoreSolve`; of some of the rows."""
        self.prepare()
        self._pass("start", SlabPart.prepare, SlabPart.lower_minima)
        self._join_minima()
        return True

    def start_at_bounds(self, cols: Ids, v: int) -> None:
        """The same of c - u, with u that the prices of some columns, at an address, give."""
        self.prepare()
        kept: dict[int, Workspace] = {}

        def begin(part: SlabPart) -> None:
            part.clear_keys()
            sizes = {"cols": (len(cols), "int32"), "v": (len(cols), self.matrix.dual_dtype)}
            kept[id(part)] = memory = Workspace(part.context, sizes)
            write(part.context, memory["cols"], cols)
            copy_between(part.context, memory["v"], v, 8 * len(cols))

        def launch(part: SlabPart, k: int) -> None:
            memory = kept[id(part)]
            part.lower_bounds(k, memory["cols"], len(cols), memory["v"])

        self._pass("start", begin, launch)
        self._join_minima()

    def _join_minima(self) -> None:
        first, *others = self.parts
        join_minima(self, others, self.matrix.cols, first.keys, self.v)

    def replace_prices(self, prices: int) -> None:
        """See `CoreSolve`."""
        CoreSolve.replace_prices(self, prices)

    def launch(self, schedule: Schedule, most_left: int | None = None) -> None:
        """See `CoreSolve`."""
        if not self._has_rehearsed:
            self._requested.rehearse()
            self._has_rehearsed = True
        super().launch(schedule, most_left)

    def list_rows(self) -> None:
        """See `CoreSolve`. Every GPU lists before any copy back."""
        self._begin_listing()
        self._requested.empty_caches()

        def begin(part: SlabPart) -> None:
            copy_between(part.context, part.v, self.v, 8 * self.matrix.cols)

        caches = self._requested.caches
        self._pass("list", begin, lambda part, k: part.list_slab(k, caches))
        if caches is not None:
            layout = self.parts[0].slabs.layout
            bounds = np.concatenate([part.slabs.bounds() for part in self.parts])
            self._requested.note_caches(bounds, layout.whole_depth)
        slabs = [len(part.slabs.slabs) for part in self.parts]
        first, state = self.parts[0], self._memory["state"]
        with Workspace(self.context, {"reports": (sum(slabs) * REPORT_SIZE, "uint8")}) as memory:
            at = memory["reports"]
            for part, count in zip(self.parts, slabs, strict=True):
                order(self.context, part.context)  # whose memory that is
                with part.context:
                    for offset, row_bytes in list_arrays(self.matrix.rows, self.matrix.dtype):
                        own = offset + part.rows.start * row_bytes
                        copy_between(part.context, state + own, part.state + own, len(part.rows) * row_bytes)
                    copy_between(part.context, at, part.memory["reports"], count * REPORT_SIZE)
                order(part.context, self.context)
                at += count * REPORT_SIZE
            first.join_reports(memory["reports"], sum(slabs))
            copy_bytes(self.context, state, first.state, REPORT_SIZE)


class SlabStartFinder(OwnersStartFinder):
    """Prices that passes of all GPUs find."""

    def __init__(self, context: Context, monitor: Monitor, sample: int) -> None:
        super().__init__(context, monitor)
        self._sample_size = sample

    def _sample_prices(self, solve: HostSolve) -> None:
        """See `OwnersStartFinder`."""
        assert isinstance(solve, SlabSolve)
        if not self._sample_size:
            solve.prepare()  # and begin with the prices that there are
            return
        rows, cols = sampled_lines(solve.matrix.rows, self._sample_size)
        costs = self._costs_of_sample(of_points(solve.source, rows, cols))
        sample = self._solved_sample(solve.matrix, costs, self._sample_size)
        if sample is None:
            solve.start_at_column_minima()
        else:
            solve.start_at_bounds(cols, sample.v)

    def _costs_of_sample(self, source: PointCost) -> GpuArray:
        points = upload_by_tiles(self.context, source, None)
        return write_points_matrix(self.context, points, True, None, lambda: self.monitor.wait(sample=True))
