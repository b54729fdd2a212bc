"""Costs of points of many dimensions, whose matrix several GPUs of one host hold: each computes and holds some rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from lapwing.costs.points import PointCost
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_shared_points
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.costs.computed import ComputedCosts, planned_by_tiles, upload_by_tiles
from lapwing.gpu.costs.points_matrix import planned_points_matrix, write_lines
from lapwing.gpu.costs.sharded import Shard, shares
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.kinds.sharded import ShardedCosts
from lapwing.gpu.plan import Memory
from lapwing.gpu.plan_several import has_room_for_shards
from lapwing.gpu.runtime.arrays import ANY, ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.peers import order
from lapwing.gpu.runtime.programs import CORE_START, POINTS_CERTIFICATE, POINTS_MATRIX, TEXT, Program, Variant
from lapwing.request import Request


class ShardedPoints(ShardedCosts):
    """See the module; the certificate computes all costs again, each GPU those of some rows.

    Parameters
    ----------
    source : PointCost
    contexts : list of Context
    fixed : bool
        Whether rows are solved as they are.
    """

    can_overlap = is_readable_on_host = False
    how_made = "computed there from points"
    given: PointCost

    def __init__(self, source: PointCost, contexts: list[Context], fixed: bool) -> None:
        matrix = planned_points_matrix(source.shape, planned_by_tiles(source).dtype, fixed)
        transposed, pitch = matrix.strides[0] == 1, max(matrix.strides)
        lines, positions = source.shape[::-1] if transposed else source.shape
        parts = [
            Shard(context, own, replace(matrix, shape=(len(own), positions), strides=(pitch, 1)))
            for context, own in zip(contexts, shares(lines, len(contexts)), strict=False)
        ]
        super().__init__(source, parts, transposed)
        self._points: list[tuple[Context, ComputedCosts]] = []

    def has_room(self, request: Request) -> bool:
        """Whether the GPUs have room for the matrix, and so much is allowed."""
        return has_room_for_shards(self._parts, [Memory(part.context) for part in self._parts], request)

    def _programs(self) -> list[tuple[Program, Variant]]:
        choice = {"COST": self.dtype, TEXT: planned_by_tiles(self.given).cost_program.text}
        of_points = [(program, program.variant(**choice)) for program in (POINTS_MATRIX, POINTS_CERTIFICATE)]
        return [*super()._programs(), *of_points, (CORE_START, CORE_START.of_cost(self.dtype))]

    def _placed(self, held: ExitStack) -> list[Shard]:
        held.callback(self._points.clear)
        parts = []
        for part in self._parts:
            with part.context:
                self._points.append((part.context, upload_by_tiles(part.context, self.given, None)))
                memory = empty_array(part.context, (len(part.rows) * part.matrix.strides[0],), self.dtype)
            own = GpuArray(memory.owner, memory.pointer, part.matrix.shape, part.matrix.strides, self.dtype,
                           part.context.info.ordinal, part.context.stream_handle, ANY)  # fmt: skip
            parts.append(Shard(part.context, part.rows, own))
        return parts

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        shards = self.shards
        pitch, item = shards.pitch, ITEM_BYTES[self.dtype]
        longest = max(len(part.rows) for part in shards.parts)
        for step in self._points[0][1].cost_program.parts_by_tiles(longest, shards.shape[1]):
            if step.start:
                monitor.wait()
            for part, (context, cost) in zip(shards.parts, self._points, strict=True):
                first, end = part.rows.start + step.start, min(part.rows.start + step.stop, part.rows.stop)
                if first < end:
                    origin = part.pointer - part.rows.start * pitch * item
                    with context:
                        write_lines(context, cost, self.transposed, range(first, end), pitch, origin)
        for context, _ in self._points[1:]:
            order(context, self.context)
        return super().canonical(maximize, unmatched, monitor)

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_shared_points(self._points, self.dtype, candidate, maximize, wait, mail)
