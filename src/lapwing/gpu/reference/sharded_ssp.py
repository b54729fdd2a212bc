"""Method "ssp" for a matrix in shards on several GPUs of one host (kernels/reference/sharded_ssp.cu).

The method splits columns, and shards are blocks of rows. So the transposed matrix is solved: each GPU copies its rows
as columns, the clusters of all GPUs search together, and the answer is written to the first GPU, rows as columns again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.sharded_solver import ShardedSolve, ShardedStartFinder, ShardPart
from lapwing.gpu.core.solver import INFEASIBLE, INVALID, Report
from lapwing.gpu.costs.canonical import CanonicalMatrix, gathered
from lapwing.gpu.costs.sharded import Shards
from lapwing.gpu.reference.base import ReferenceMethod
from lapwing.gpu.reference.ssp import SspSolve, first_prices, launch_cluster, scans
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import fetch, fill_bytes, write
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.peers import order
from lapwing.gpu.runtime.programs import SHARDED_SSP
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.options import MethodOptions

_CONSTANTS = SHARDED_SSP.constants
_LETTER_BYTES = _CONSTANTS["LETTER_BYTES"]
_MOST_GPUS = _CONSTANTS["MOST_GPUS"]
_TABLE_WORDS = 3 + 4 * _MOST_GPUS + 3  # of struct Peers


@dataclass(eq=False)
class _Member:
    """What a GPU has of a solve.

    Attributes
    ----------
    part : ShardPart
    columns : GpuArray, (n, rows of the shard)
        The transposed shard.
    memory : Workspace
        Of struct Ssp, of columns that shared memory has no room for, of letters to it, and struct Peers.
    kernels : dict of str to Kernel
    """

    part: ShardPart
    columns: GpuArray
    memory: Workspace
    kernels: dict[str, Kernel]

    def arguments(self, rows: int, watch: int) -> tuple[int, ...]:
        """LAPWING_SSP, for so many rows."""
        part, columns = self.part, self.columns
        of_matrix = (columns.pointer, columns.shape[1], rows, columns.shape[1], int(part.matrix.maximize), 0)
        return (*of_matrix, part.u, part.v, part.state, self.memory["all"], watch)


class ShardedSspSolve(ShardedSolve, ReferenceMethod):
    """Shortest augmenting paths with epsilon-pricing, whose columns are the rows of all shards."""

    keeps_lists = False

    def __init__(
        self,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        shards: Shards,
        array_template: GpuArray | None,
        tuning: MethodOptions | None = None,
    ) -> None:
        super().__init__(shards.parts[0].context, matrix, monitor, shards, array_template)
        self._first_prices = _CONSTANTS[first_prices(tuning)]
        self._array_template = array_template
        self._members: list[_Member] = []
        for part, shard in zip(self.parts, shards.parts, strict=True):
            with part.context:
                columns = gathered(part.context, shard.matrix, (matrix.cols, len(part.rows)), (1, shards.pitch))
                sizes = {
                    "all": (SspSolve.workspace_bytes(matrix.rows, matrix.rows), "uint8"),
                    "far": (SspSolve.extra_bytes(matrix.cols, len(part.rows), matrix.dtype), "uint8"),
                    "letters": (_LETTER_BYTES, "uint8"),
                    "peers": (_TABLE_WORDS, "int64"),
                }
                memory = Workspace(part.context, sizes, shard.matrix)
                program = kernels(part.context, SHARDED_SSP, SHARDED_SSP.of_cost(matrix.dtype))
            self._members.append(_Member(part, columns, memory, program))

    def run(self) -> Report:
        """Solve, and wait for the end. Where there is no answer, the core method proves it.

        Raises
        ------
        TimeIsUpError
            If it was stopped before.
        """
        self._monitor.look_at_the_clock()
        self.prepare(zero_prices=True)
        self._solved_since_listing = True
        watch = self._monitor.pointer(sample=False)
        self._write_tables(watch)
        for member in self._members:
            context = member.part.context
            with context:
                self._launch_search(member, 0, watch)  # which loads it: while another searches, that might wait
                arguments = (*member.arguments(self.matrix.cols, watch), member.memory["peers"])
                member.kernels["survey_ssp"].launch_cooperative(context, 1, SspSolve.threads, *arguments)
        self._wait_for_each_other()
        for member in self._members:
            with member.part.context:
                self._launch_search(member, self.matrix.cols, watch)
        for part in self.others:
            order(part.context, self.context)
        fetch(self.context, self.state, self._mail.memory)
        self._monitor.mark()
        self.after_launch()
        report = self._read_report()
        if report.status in (INVALID, INFEASIBLE):
            return ShardedStartFinder(self, self._monitor, self._array_template).run(self)
        return self._in_time(report)

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        return {"phases": float(report.phases)} | scans(report)

    def _launch_search(self, member: _Member, rows: int, watch: int) -> None:
        context, columns = member.part.context, member.columns
        launch_cluster(
            context,
            member.kernels["solve_ssp"],
            SspSolve.column_bytes(columns.shape[1], columns.dtype),
            member.memory["far"],
            (*member.arguments(rows, watch), self._first_prices),
            (member.memory["peers"],),
        )

    def _wait_for_each_other(self) -> None:
        """What is launched from now on waits for what was launched on any GPU."""
        for part in self.others:
            order(part.context, self.context)
        for part in self.others:
            order(self.context, part.context)

    def _write_tables(self, watch: int) -> None:
        """Struct Peers on every GPU, and no letters."""
        begins, more, reports, letters = np.zeros((4, _MOST_GPUS), np.int64)
        for k, member in enumerate(self._members):
            part, memory = member.part, member.memory
            begins[k], more[k], reports[k], letters[k] = part.rows.start, memory["all"], part.state, memory["letters"]
        begins[len(self._members) :] = self.matrix.rows
        for k, member in enumerate(self._members):
            head, ends = [len(self._members), k], [self.matrix.rows]
            tail = [watch, self.u, self.v]
            words = np.concatenate([head, begins, ends, more, reports, letters, tail]).astype(np.int64)
            with member.part.context:
                write(member.part.context, member.memory["peers"], words)
                fill_bytes(member.part.context, member.memory["letters"], 0, _LETTER_BYTES)


def shard_bytes(size: int, rows: int, dtype: str) -> int:
    """Memory of a GPU beside its shard, of so many rows, and the core method's workspace."""
    columns = size * rows * ITEM_BYTES[dtype] + SspSolve.extra_bytes(size, rows, dtype)
    return columns + SspSolve.workspace_bytes(size, size) + _LETTER_BYTES + 8 * _TABLE_WORDS
