"""The core method on the GPU of rank 0, for rows on the GPUs of all ranks, which cannot read each other's memory.

Rank 0 solves as for a matrix that stays on the host (gpu/core/host_solver.py). Passes over the whole matrix (column
minima, lists, prices of a sample, the certificate) are made by every rank over its own rows (gpu_rows.py), and keys,
lists and violations come to rank 0, to the places where passes of its own GPU would have put them. So lists and
starting prices have the same bits however rows are shared out.

A row whose list decides no more is requested by the running kernel. Its owner sends a row cache, made under today's
prices, if several are asked for at once, or else the row itself, as it does for a search that reads a row in full. Rank
0's kernel reads its own rows where they are. Row caches begin empty whenever all rows are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.costs.base import CostSource
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.gpu_rows import OwnPass, RowsHere, place_of
from lapwing.distributed.messages import Message
from lapwing.errors import InvalidCostError
from lapwing.gpu.certificate.passes import CostPass, MatrixPass, Vectors
from lapwing.gpu.core.host_solver import HostSolve, OwnersStartFinder, sampled_lines
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import REPORT_SIZE, CoreSolve
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.costs.host_rows import Ids, SourceLines, StoredRows, StreamLayout, record_bytes, sample_rows
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.arrays import ITEM_BYTES, empty_array
from lapwing.gpu.runtime.copies import OwnStream, copy_bytes, fill_bytes, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CERTIFICATE, SHARDED_START
from lapwing.gpu.runtime.workspace import Workspace

_START_THREADS: Final = SHARDED_START.constants["THREADS"]
_THREADS: Final = CERTIFICATE.constants["THREADS"]

Arrays = list[NDArray[Any]]
Places = NDArray[np.int64]


def nothing(_: range) -> Arrays:
    """Send no arrays."""
    return []


class Owners:
    """The ranks that have rows, as rank 0 gives them orders.

    Parameters
    ----------
    coordinator : Coordinator
    here : RowsHere
        Of rank 0.
    stream : OwnStream
        For copies beside a running kernel.
    """

    def __init__(self, coordinator: Coordinator, here: RowsHere, stream: OwnStream) -> None:
        self.stream: OwnStream = stream
        self.coordinator: Coordinator = coordinator
        self.here: RowsHere = here
        begins = coordinator.begins
        rows = {rank: range(int(begins[rank]), int(begins[rank + 1])) for rank in range(1, coordinator.size)}
        self.others: Mapping[int, range] = {rank: own for rank, own in rows.items() if own}

    def ask(
        self, kind: str, given: Callable[[range], Arrays] = nothing, meanwhile: Callable[[], None] | None = None
    ) -> dict[int, Arrays]:
        """Give all others an order, and do something of rank 0's own in the meantime; their answers by rank."""
        orders = {rank: Message(f"gpu {kind}", {}, given(own)) for rank, own in self.others.items()}
        return self.ask_some(orders, meanwhile)

    def ask_some(self, orders: Mapping[int, Message], meanwhile: Callable[[], None] | None = None) -> dict[int, Arrays]:
        """The same for some ranks."""
        answers = self.coordinator.ask(orders, meanwhile)
        return {rank: list(answers[rank].arrays) for rank in sorted(answers)}

    def of_rows(
        self, kind: str, ids: Ids, some: Places, more: Arrays | None = None
    ) -> Iterator[tuple[Places, NDArray[np.uint8]]]:
        """What an order says of the rows at some places in `ids`, rank by rank, and their places.

        Rank 0's own rows, if they are among them, are asked for as a whole.
        """
        owners = self.coordinator.owners_of(ids[some])
        places = {rank: at for rank in self.others if len(at := some[owners == rank])}
        if places:
            orders = {rank: Message(f"gpu {kind}", {}, [ids[at], *(more or [])]) for rank, at in places.items()}
            yield from ((places[rank], found) for rank, (found,) in self.ask_some(orders).items())
        own = some[owners == 0]
        if len(own):
            yield own, self.here.whole_rows(ids[own], self.stream)


class RankRows(StoredRows):
    """Rows of all ranks: rank 0's own where they are, the others' on their way to its GPU.

    Attributes
    ----------
    owners : Owners
    v : int
        The address of the prices, once there are some.
    caches_read : int
        Row caches, so far.
    """

    def __init__(self, context: Context, layout: StreamLayout, monitor: Monitor, owners: Owners) -> None:
        self.owners: Owners = owners
        super().__init__(context, layout, monitor.stream)
        self.v: int = 0
        self.caches_read: int = 0

    def counts(self) -> dict[str, float]:
        """See `StoredRows`."""
        return super().counts() | {"caches_read": float(self.caches_read)}

    def _own_rows(self) -> tuple[int, int, int, int]:
        here = self.owners.here
        return here.address(0), here.part.matrix.row_stride, here.rows.start, here.rows.stop

    def empty_caches(self) -> None:
        """In the order of the stream: no row has a row cache that decides anything."""
        layout, is_integer = self.layout, self.owners.here.part.matrix.dual_dtype == "int64"
        fill_bytes(self.context, self._memory["cached_count"], 0, 4 * layout.lines)
        bound = np.full(layout.lines, -ABSENT if is_integer else -np.inf, np.int64 if is_integer else np.float64)
        write(self.context, self._memory["cached_bound"], bound)

    def serve(self) -> None:
        super().serve()
        self.owners.coordinator.look_after()

    def _bring(self, ids: Ids, for_caches: bool) -> Ids:
        owner = ids.copy()
        elsewhere = np.flatnonzero(self.owners.coordinator.owners_of(ids) != 0)
        record = record_bytes(self.layout)
        if not len(elsewhere):
            return owner
        prices, row = 8 * self.owners.here.part.matrix.cols, self.owners.here.row_bytes
        if for_caches and record <= row and prices + len(elsewhere) * record < len(elsewhere) * row:
            self._bring_caches(ids, elsewhere)
            owner[elsewhere] = ~ids[elsewhere]
        else:
            self._fill(self._memory["rows"], ids, elsewhere)
        return owner

    def _bring_caches(self, ids: Ids, elsewhere: Places) -> None:
        """Have row caches come, each to where the row would begin."""
        matrix = self.owners.here.part.matrix
        v = np.frombuffer(self._stream.fetch(self.v, 8 * matrix.cols), matrix.dual_dtype)
        came = self.owners.of_rows("caches", ids, elsewhere, [v, np.array([self.layout.depth])])
        for places, records in came:
            self.caches_read += len(places)
            for run in np.split(np.arange(len(places)), np.flatnonzero(np.diff(places) != 1) + 1):
                at = self._memory["rows"] + int(places[run[0]]) * self._pitch_bytes
                self._stream.send_rows(at, self._pitch_bytes, records[run[0] : run[-1] + 1])
            self._stream.synchronize()

    def _fill(self, rows: int, ids: Ids, some: Places | None = None) -> None:
        # Rank 0's own come by way of the host: a copy within the GPU may wait for the kernel that waits for it.
        for places, of_rows in self.owners.of_rows("rows", ids, np.arange(len(ids)) if some is None else some):
            self.rows_read += len(places)
            for k, row in zip(places.tolist(), of_rows, strict=True):
                self._stream.send(rows + k * self._pitch_bytes, row)
            self._stream.synchronize()


class RankSolve(HostSolve):
    """One solve, on rank 0.

    Attributes
    ----------
    owners : Owners
    """

    def __init__(
        self, context: Context, matrix: CanonicalMatrix, monitor: Monitor, rows: RankRows, source: CostSource
    ) -> None:
        super().__init__(context, matrix, monitor, rows, SourceLines(source))
        self._rank_rows, rows.v = rows, self.v
        self.owners: Owners = rows.owners

    @property
    def _here(self) -> RowsHere:
        return self.owners.here

    def start_at_column_minima(self, copier: Copier | None = None) -> bool:
        """See `CoreSolve`."""
        self.prepare()
        self._join(self.owners.ask("minima", nothing, self._here.find_minima))
        return True

    def start_at_bounds(self, cols: NDArray[np.int32], v: NDArray[Any]) -> None:
        """The same of c - u, with u that these prices of some columns give."""
        self.prepare()
        self._join(self.owners.ask("bounds", lambda _: [cols, v], lambda: self._here.find_bounds(cols, v)))

    def _join(self, answers: Mapping[int, Arrays]) -> None:
        """Set `v` to the minima of the columns, whose keys each rank has."""
        size = self.matrix.cols
        with Workspace(self.context, {"keys": (max(len(answers), 1) * size, "int64")}) as memory:
            for k, (keys,) in enumerate(answers.values()):
                write(self.context, memory["keys"] + 8 * k * size, keys)
            join = kernels(self.context, SHARDED_START, SHARDED_START.of_cost(self.matrix.dtype))["join_minima"]
            of_others = (memory["keys"], len(answers), size, size)
            join.launch(
                self.context, -(-size // _START_THREADS), _START_THREADS, self._here.part.keys, *of_others, self.v
            )
            self.context.synchronize()

    def replace_prices(self, prices: int) -> None:
        """See `CoreSolve`."""
        CoreSolve.replace_prices(self, prices)

    def list_rows(self) -> None:
        """See `CoreSolve`."""
        self._begin_listing()
        self._rank_rows.empty_caches()
        here, context, state = self._here, self.context, self._memory["state"]
        v = read(context, self.v, self.matrix.cols, self.matrix.dual_dtype)
        answers = self.owners.ask("list", lambda _: [v], lambda: here.list_rows(self.v))
        arrays = here.places()
        for at, size in arrays:
            copy_bytes(context, state + at, here.part.state + at, size)
        with Workspace(context, {"reports": (max(len(answers), 1) * REPORT_SIZE, "uint8")}) as memory:
            for k, (rank, answer) in enumerate(answers.items()):
                for (at, size), lists in zip(arrays, answer[:-1], strict=True):
                    each = size // len(here.rows)
                    write(context, state + at + each * (self.owners.others[rank].start - here.rows.start), lists)
                write(context, memory["reports"] + k * REPORT_SIZE, answer[-1])
            here.part.join_reports(memory["reports"], len(answers))
            copy_bytes(context, state, here.part.state, REPORT_SIZE)
            context.synchronize()


class RankStartFinder(OwnersStartFinder):
    """Prices that passes of all ranks find."""

    def _sample_prices(self, solve: HostSolve) -> None:
        """See `OwnersStartFinder`."""
        assert isinstance(solve, RankSolve)
        matrix, owners = solve.matrix, solve.owners
        size = sample_rows(matrix.rows)
        if size == 0:
            solve.prepare()  # and begin with the prices that there are
            return
        rows, cols = sampled_lines(matrix.rows, size)
        costs = empty_array(self.context, (size, size), matrix.dtype)

        def put(own: range, values: NDArray[np.uint8]) -> None:
            first = int(np.searchsorted(rows, own.start))
            write(self.context, costs.pointer + first * size * ITEM_BYTES[matrix.dtype], values)

        def own_of(own: range) -> NDArray[np.int32]:
            return rows[np.searchsorted(rows, own.start) : np.searchsorted(rows, own.stop)]

        here = owners.here
        came = owners.ask(
            "sample", lambda own: [own_of(own), cols], lambda: put(here.rows, here.sample(own_of(here.rows), cols))
        )
        for rank, (values,) in came.items():
            put(owners.others[rank], values)
        sample = self._solved_sample(matrix, costs, size)
        if sample is None:
            solve.start_at_column_minima()
            return
        solve.start_at_bounds(cols, read(self.context, sample.v, size, matrix.dual_dtype))


class RankPass(MatrixPass):
    """The certificate's pass, by all ranks. Rank 0 has the answer, and gets the violations and the matched costs.

    Parameters
    ----------
    owners : Owners
    source : CostSource
        Of all rows, for single costs.
    """

    def __init__(self, owners: Owners, source: CostSource) -> None:
        here = owners.here
        self.by_columns: bool = False
        CostPass.__init__(self, here.context, (here.whole.rows, here.whole.cols), here.whole.maximize, None)
        self._owners, self._source, self._own = owners, source, OwnPass(here)
        self.dtype: str = here.view.dtype
        self.line_stride: int = here.part.matrix.row_stride
        self.position_stride: int = 1
        self.kernels = self._own.kernels
        self._picked = Workspace(here.context, {"costs": (self.rows * ITEM_BYTES[self.dtype], "uint8")})
        self._invalid: list[tuple[int, int]] = []

    def launch_lines(self, at: Vectors) -> None:
        context, here, item = self.context, self._owners.here, ITEM_BYTES[self.dtype]
        dual = here.part.matrix.dual_dtype
        self._picked.clear()
        row_to_col = read(context, at.row_to_col, self.rows, "int64")
        u, v = (read(context, values, size, dual) for values, size in ((at.u, self.rows), (at.v, self.cols)))
        first = 8 * here.rows.start

        def own() -> None:
            self._launch_part(at, here.view.pointer, here.rows.start, len(here.rows))
            self._own.launch_pick(at.row_to_col + first, self._picked["costs"] + item * here.rows.start)

        def given(rows: range) -> Arrays:
            own_rows = slice(rows.start, rows.stop)
            return [row_to_col[own_rows], u[own_rows], v]

        self._invalid = []
        for rank, (violations, picked, invalid) in self._owners.ask("prove", given, own).items():
            begin = self._owners.others[rank].start
            write(context, at.violations + 8 * begin, violations)
            write(context, self._picked["costs"] + item * begin, picked)
            if invalid[0]:
                row, col = place_of(int(invalid[0]))
                self._invalid.append((begin + row, col))

    @property
    def of_vectors(self) -> tuple[int, ...]:
        return self._picked["costs"], self.rows, self.cols, 1, 0, int(self.maximize)

    def launch_place(self, line: int, at: Vectors, place: int) -> None:
        ((_, found),) = self._owners.of_rows("rows", np.array([line], np.int32), np.zeros(1, np.int64))
        with Workspace(self.context, {"row": (found.size, "uint8")}) as memory:
            write(self.context, memory["row"], found)
            self._launch_place(memory["row"], line, at, place)
            self.context.synchronize()

    def require_valid(self) -> None:
        for row, col in self._invalid:
            raise InvalidCostError(row, col, self.cost_at(row, col), self.maximize)

    def cost_at(self, row: int, col: int) -> float:
        return float(self._source.read(slice(row, row + 1))[0, col])
