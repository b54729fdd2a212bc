"""A matrix whose rows are shared out among several GPUs of one host: there already, or copied from the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numpy.typing import NDArray

from lapwing.costs.shards import ShardedMatrix
from lapwing.errors import ArgumentError, DtypeError
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_shards
from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.sharded_solver import ShardedSolve, ShardedStartFinder
from lapwing.gpu.costs.canonical import CanonicalForm, shards_to_canonical
from lapwing.gpu.costs.sharded import Shard, Shards, shares
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.costs.upload import is_by_columns, planned_matrix, upload
from lapwing.gpu.kinds.base import CostKind, Search, refuse_reference
from lapwing.gpu.plan import Memory
from lapwing.gpu.plan_several import plan_sharded
from lapwing.gpu.reference.sharded_ssp import ShardedSspSolve
from lapwing.gpu.reference.ssp import SspSolve
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.peers import connect, order
from lapwing.gpu.runtime.programs import CERTIFICATE, CORE, SHARDED_CORE, SHARDED_START, Program, Variant
from lapwing.gpu.runtime.tuning import MOST_SHARDS
from lapwing.plan import Plan
from lapwing.request import Request


class ShardedCosts(CostKind):
    """See the module.

    Parameters
    ----------
    given : as the user gave them
    parts : list of Shard
        Rows as they are solved.
    transposed : bool
        Whether these are columns of the given costs.
    host : array, optional
        The rows on the host, that are to be copied to the shards.
    """

    can_overlap = True
    can_turn = True
    how_made = ""  # how the shards get there, if they do

    def __init__(self, given: Any, parts: list[Shard], transposed: bool, host: NDArray[Any] | None = None) -> None:
        self.context: Context = parts[0].context
        self.given: Any = given
        self.transposed: bool = transposed
        self._parts, self._host = parts, host
        if host is not None:
            self.how_made = "copied from the host"
        self.array_template: GpuArray | None = parts[0].matrix if isinstance(given, ShardedMatrix) else None
        rows, cols = parts[-1].rows.stop, parts[0].matrix.shape[1]
        self.shape: tuple[int, int] = (cols, rows) if transposed else (rows, cols)
        self.dtype: str = parts[0].matrix.dtype

    def plan(self, request: Request) -> Plan:
        if request.method != "ssp":
            refuse_reference(request, "reads a matrix on one GPU")
        else:
            self._require_suited_to_ssp(request)
        memories = [Memory(part.context, part.matrix.library) for part in self._parts]
        return plan_sharded(self._parts, memories, self.transposed, request, self.how_made)

    def _require_suited_to_ssp(self, request: Request) -> None:
        if self.shape[0] != self.shape[1] or request.priced or request.start is not None:
            raise ArgumentError(
                "method 'ssp' on several GPUs solves square matrices, without unmatched_cost or start: use 'core'"
            )
        if self.dtype not in SspSolve.dtypes():
            raise DtypeError(
                f"method='ssp' takes costs of {', '.join(SspSolve.dtypes())} on a GPU, got {self.dtype}: convert them, "
                "or use method='core'"
            )
        if len({part.context.info.ordinal for part in self._parts}) < len(self._parts):
            raise ArgumentError("method 'ssp' searches on all GPUs at once: give each GPU one shard")

    @contextmanager
    def loaded(self) -> Iterator[None]:
        programs = self._programs()
        for context in {part.context.info.ordinal: part.context for part in self._parts}.values():
            with context:
                preload(context, programs)
        preload(self.context, [(CORE, CORE.of_cost(self.dtype))])  # for samples
        with ExitStack() as held:
            parts = self._placed(held)
            contexts = list({part.context.info.ordinal: part.context for part in parts}.values())
            connect(contexts, [part.pointer for part in parts])
            self.shards = Shards(parts)
            self.shards.write_tables()
            try:
                for part in parts[1:]:
                    order(part.context, self.context)  # which reads what is being written there
                yield
            finally:
                for part in parts[1:]:
                    order(self.context, part.context)  # where memory may be written again
                    part.context.synchronize()
                del self.shards

    def _programs(self) -> list[tuple[Program, Variant]]:
        """That every GPU runs."""
        return [(program, program.of_cost(self.dtype)) for program in (SHARDED_CORE, SHARDED_START, CERTIFICATE)]

    def _placed(self, held: ExitStack) -> list[Shard]:
        """The shards in memory; what keeps them there, beside themselves, is entered."""
        host = self._host
        if host is None:
            return self._parts
        parts, copiers = [], []
        for part in self._parts:
            with part.context:
                matrix, copier = upload(part.context, host[part.rows.start : part.rows.stop], by_rows=True)
                copiers.append(held.enter_context(copier))
            parts.append(Shard(part.context, part.rows, matrix))
        for copier in copiers:
            copier.finish()
        return parts

    def canonical(self, maximize: bool, unmatched: UnmatchedColumns | None, monitor: Monitor) -> CanonicalForm:
        return shards_to_canonical(self.shards, self.transposed, maximize, unmatched)

    def search(self, view: CanonicalForm, monitor: Monitor, plan: Plan, request: Request) -> Search:
        if plan.method == "ssp":
            return Search(ShardedSspSolve(view.matrix, monitor, self.shards, self.array_template, request.options))
        solve = ShardedSolve(self.context, view.matrix, monitor, self.shards, self.array_template)
        return Search(solve, ShardedStartFinder(solve, monitor, self.array_template))

    def proof(self, candidate: Candidate, maximize: bool, wait: Callable[[float], None], mail: Mail | None) -> Proof:
        return proof_of_shards(self.shards, self.transposed, candidate, maximize, self.array_template, mail)


def sharded_tensors(cost: ShardedMatrix, device: str, request: Request) -> ShardedCosts:
    """The kind of costs that are on several GPUs.

    Raises
    ------
    ArgumentError
    """
    views = cost.parts
    if device not in ("cuda", f"cuda:{views[0].ordinal}"):
        raise ArgumentError(f"device={device!r}, but shard 0 is on GPU {views[0].ordinal}: leave device out")
    rows, cols = cost.shape
    if rows > cols and not request.priced:
        raise ArgumentError(
            f"costs.sharded of shape {cost.shape} has more rows than columns: share out its columns instead, each "
            "shard transposed and copied in C order, or pass unmatched_cost"
        )
    parts, first = [], 0
    for view, seen in zip(views, cost.seen or [view.pointer for view in views], strict=True):
        context = shared_context(view.ordinal, view.stream)
        parts.append(Shard(context, range(first, first + view.shape[0]), view, seen))
        first += view.shape[0]
    return ShardedCosts(cost, parts, transposed=False)


def sharded_host_matrix(cost: Any, host: NDArray[Any], ordinals: list[int], request: Request) -> ShardedCosts:
    """The kind of a matrix on the host that several GPUs are to hold."""
    rows, cols = host.shape
    transposed = not request.fixes_rows and (rows > cols or (rows == cols and is_by_columns(host)))
    lines = host.T if transposed else host
    contexts = [Context(ordinal) for ordinal in ordinals[:MOST_SHARDS]]
    parts = []
    for context, own in zip(contexts, shares(len(lines), len(contexts)), strict=False):
        parts.append(Shard(context, own, planned_matrix(context, lines[own.start : own.stop], by_rows=True)))
    return ShardedCosts(cost, parts, transposed, lines)
