"""The flow of a solve over a group: agree, solve on rank 0 with the help of all, tell everybody the answer.

1. Every rank checks its own rows and options, and tells rank 0 their shape, dtype and options, or its error. Rank 0
   compares them. A rank that differs, or an error, ends the solve on every rank before any costs are read.
2. Rank 0 runs the flow of `lapwing.solve` on a `ShardedCost`; the others follow its orders (`Shard.follow`).
3. Rank 0 sends each rank its part of the answer, or the error, which every rank raises.
"""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, SupportsIndex

import numpy as np

from lapwing import inputs
from lapwing.costs.base import MAX_LINES, CostSource
from lapwing.costs.dense import DenseCost
from lapwing.cpu.backend import Cpu, solve_requested
from lapwing.distributed.channel import Channel, Interrupts
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.messages import Message, error_of, failure, finite_or_none
from lapwing.distributed.result import RankResult, described_plan, outcomes, plan_of, result_of
from lapwing.distributed.shard import RowsOnHost, Shard
from lapwing.distributed.source import ShardedCost
from lapwing.errors import ArgumentError, LapwingError
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.progress import Progress
from lapwing.request import Request, make_request

if TYPE_CHECKING:
    from lapwing.checkpoint import Checkpoint
    from lapwing.distributed.peer_memory import PeerMemory

_CACHE_BYTES: Final = 1 << 30  # of rows that rank 0 keeps, unless memory_limit= says otherwise


def solve(
    local_rows: Any,
    *,
    group: Any = None,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    start: Any = None,
    method: str = "auto",
    threads: SupportsIndex | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[Progress], object] = False,
    certify: bool = True,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> RankResult:
    """Solve one assignment problem whose rows are shared out among the ranks of a group; all ranks call it.

    Parameters
    ----------
    local_rows : (m_k, n) real matrix
        This rank's rows, with all columns; the problem's rows are those of rank 0, of rank 1, and so on. m_k may differ
        and may be 0; n and the dtype are the same everywhere. A NumPy array or memory map, a tensor of PyTorch on the
        host or on this rank's GPU, or a source of `lapwing.costs` that computes these rows, such as
        ``lw.costs.squared_euclidean(x_local, y)``.
    group : torch.distributed.ProcessGroup, optional
        Default: all ranks. Its rank 0 holds the lists and searches.
    unmatched_cost : None, scalar, (m_k,) array-like, or a tuple of two
        As for `lapwing.solve`: one price, or one for each of this rank's rows; prices of columns are the same on all
        ranks.
    start : (u, v), or the result of an earlier solve of the same rows
        Duals to start from: u of this rank's rows, v of all columns.
    threads : int, optional
        Threads of this rank's passes over its rows. Default: the processors of its host, shared among its ranks.
    progress, checkpoint
        As for `lapwing.solve`, on rank 0; the others ignore them. A checkpoint may be continued by any number of ranks.
    memory_limit : int or str, optional
        Bytes of other ranks' rows that rank 0 keeps; 1 GiB by default. A matrix of at most so many bytes, and 64 MiB,
        is sent to rank 0, which solves it.
    maximize, infeasible, method, time_limit, certify
        As for `lapwing.solve`, the same on all ranks; `method` is "auto" or "core". Passes over all rows are not cut
        short by the time limit.

    Returns
    -------
    RankResult

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError, ArgumentError, DtypeError
        As `lapwing.solve`, the same on every rank; rows are numbered over all ranks. Also where ranks differ in what
        must be the same.
    GroupError
        If a rank is gone, or failed with an error that is none of Lapwing's.
    KeyboardInterrupt
        On every rank, if one of them was interrupted.
    """
    given = _Given(maximize, unmatched_cost, infeasible, start, method, threads, time_limit, certify, memory_limit)

    def run(member: _Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
        if checkpoint is not None:
            from lapwing.checkpoint import go_on

            go_on(checkpoint, problem, request)
        if isinstance(problem.cost, ShardedCost) and problem.cost.is_gathered:
            problem = replace(problem, cost=problem.cost.gathered())
            request.threads = member.own.threads
        elif member.peers is not None:
            return _solved_on_gpus(member, problem, request, coordinator)
        chosen = Cpu().plan(problem, request)
        answer, certificate = solve_requested(problem, chosen, request, coordinator.look_after)
        return outcomes(answer, certificate, member.explained(chosen, coordinator), coordinator.begins)

    member, message = _together(local_rows, group, given, progress, run)
    return result_of(message, member.own, member.own.shape[1])


def plan(
    local_rows: Any,
    *,
    group: Any = None,
    maximize: bool = False,
    unmatched_cost: Any = None,
    start: Any = None,
    method: str = "auto",
    threads: SupportsIndex | None = None,
    memory_limit: int | str | None = None,
) -> Plan:
    """What `solve` would do with the same arguments, who holds what, and why, without solving; all ranks call it.

    Raises
    ------
    ArgumentError, DtypeError, RangeError, GroupError
        As `solve`.
    """
    given = _Given(maximize, unmatched_cost, "raise", start, method, threads, None, True, memory_limit)

    def run(member: _Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
        if isinstance(problem.cost, ShardedCost) and problem.cost.is_gathered:
            matrix = np.empty(problem.shape, problem.cost.dtype)  # whose numbers no plan depends on
            problem, request.threads = replace(problem, cost=DenseCost(matrix)), member.own.threads
        elif member.peers is not None:
            from lapwing.distributed.peer_memory import planned_on_gpus

            with member.peers.opened() as opened:
                chosen = member.explained(planned_on_gpus(opened, problem, request), coordinator)
            return [Message("plan", described_plan(chosen))] * coordinator.size
        chosen = member.explained(Cpu().plan(problem, request), coordinator)
        return [Message("plan", described_plan(chosen))] * coordinator.size

    return plan_of(_together(local_rows, group, given, False, run)[1].fields)


def _solved_on_gpus(member: _Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
    from lapwing.distributed.peer_memory import solve_on_gpus

    assert member.peers is not None
    with member.peers.opened() as matrix:
        answer, certificate, chosen = solve_on_gpus(matrix, problem, request, coordinator.look_after)
    return outcomes(answer, certificate, member.explained(chosen, coordinator), coordinator.begins)


@dataclass(frozen=True)
class _Given:
    """The arguments that concern every rank."""

    maximize: Any
    unmatched_cost: Any
    infeasible: Any
    start: Any
    method: Any
    threads: Any
    time_limit: Any
    certify: Any
    memory_limit: Any

    def request(self, progress: Any) -> Request:
        """Checked, as far as that needs no costs."""
        request = make_request(
            self.maximize,
            self.unmatched_cost,
            self.start,
            self.method,
            self.threads,
            self.memory_limit,
            self.certify,
            self.time_limit,
            progress,
            self.infeasible,
        )
        if request.method not in ("auto", "core"):
            raise ArgumentError(
                f"method={request.method!r} needs all rows in one process: leave it out, or pass 'core'"
            )
        return request


class _Member:
    """One rank in a solve: its rows, or the error that kept it from having them.

    Attributes
    ----------
    shard : Shard or None
    request : Request or None
    error : Exception or None
    peers : PeerMemory or None
        On rank 0: the memories of all ranks, if these are on GPUs that it can read.
    """

    def __init__(self, local_rows: Any, given: _Given, progress: Any) -> None:
        self.shard: Shard | None = None
        self.request: Request | None = None
        self.error: Exception | None = None
        self.peers: PeerMemory | None = None
        self._own_rows: list[str] = []
        try:
            self.request = given.request(progress)
            self.shard = _shard(local_rows, self.request)
            if self.request.start is not None:
                inputs.check_duals(*self.request.start, self.shard.shape, "start")
        except Exception as error:  # of any kind: it goes to all ranks
            self.error = error

    @property
    def own(self) -> Shard:
        """The rows, once all have agreed."""
        assert self.shard is not None
        return self.shard

    def introduction(self, rank: int) -> Message:
        """The first message to rank 0."""
        if self.error is not None or self.shard is None or self.request is None:
            assert self.error is not None
            return failure(self.error, rank)
        shard, request = self.shard, self.request
        same = {
            "columns": shard.shape[1],
            "dtype": str(shard.dtype),
            "maximize": request.maximize,
            "unmatched_cost for": _kind_of_prices(shard),
            "prices of columns": _digest(shard.prices_of_cols),
            "start": None if request.start is None else _digest(np.asarray(request.start[1], np.float64)),
            "method": request.method,
            "time_limit": finite_or_none(request.time_limit),
            "certify": request.certify,
            "infeasible": "partial" if request.partial else "raise",
            "memory_limit": request.memory_limit,
        }
        told = {"same": same, "rows": shard.shape[0], "host": socket.gethostname(), "where": shard.where}
        told["memory"] = shard.exported()
        arrays = [] if shard.prices is None else [shard.prices]
        return Message("hello", told | {"threads": request.threads}, arrays)

    def settle(self, told: dict[str, Any], interrupts: Interrupts) -> None:
        """Learn from rank 0 which rows these are."""
        shard = self.own
        assert self.request is not None
        shard.first, shard.rows_of_problem, shard.interrupts = told["first"], told["rows"], interrupts
        shard.threads = self.request.threads or max(1, inputs.processors() // told["ranks_on_host"])

    def take_notes(self, hellos: dict[int, Message]) -> None:
        """On rank 0: who holds what, and whether its memory can be opened here."""
        if self.own.prices_of_cols is None and all(hellos[rank].fields["memory"] for rank in hellos):
            from lapwing.distributed.peer_memory import PeerMemory

            said = [hellos[rank].fields for rank in sorted(hellos)]
            memories, hosts = [each["memory"] for each in said], [each["host"] for each in said]
            self.peers = PeerMemory.of(self.own.tensor, memories, hosts)
        for rank in sorted(hellos):
            told = hellos[rank].fields
            self._own_rows.append(f"rank {rank} on {told['host']} holds {told['rows']} rows, {told['where']}")

    def explained(self, chosen: Plan, coordinator: Coordinator) -> Plan:
        """The plan with who holds what."""
        shown = self._own_rows
        if len(shown) > _SHOWN_RANKS:
            shown = [*shown[:_SHOWN_RANKS], f"and so on, {coordinator.size} ranks in all"]
        why = "rank 0 holds the lists of all rows, searches, and asks for single rows; passes are made where rows are"
        if chosen.device != "cpu":
            why = "rank 0 opens the memory of all ranks on this host, and has every GPU pass over its own rows"
        if chosen.tier == "dense":
            why = (
                "the matrix is small: rank 0 is sent the rows, and solves it; memory_limit=0 leaves them where they are"
            )
        return replace(chosen, reasons=(*chosen.reasons, why, *shown))


_SHOWN_RANKS: Final = 16


def _together(
    local_rows: Any,
    group: Any,
    given: _Given,
    progress: Any,
    run: Callable[[_Member, Problem, Request, Coordinator], list[Message]],
) -> tuple[_Member, Message]:
    """Agree, and run on rank 0 while the others follow; what rank 0 has for this rank at the end."""
    channel = Channel(group)
    member = _Member(local_rows, given, progress)
    with Interrupts() as interrupts:
        if channel.rank != 0:
            return member, _follow(channel, member, interrupts)
        coordinator = Coordinator(channel, member.shard, interrupts)
        try:
            messages = run(member, *_agree(member, coordinator, interrupts), coordinator)
        except BaseException as error:
            coordinator.tell_all(error)
            raise
        coordinator.tell(dict(enumerate(messages)))
        return member, messages[0]


def _follow(channel: Channel, member: _Member, interrupts: Interrupts) -> Message:
    """The loop of a rank other than 0: it sends its description and executes requests until the end."""
    with interrupts.put_off():
        channel.send(0, member.introduction(channel.rank)).wait()
        while True:
            order = channel.receive(0)
            if order.kind == "failure":
                interrupts.pending = False
                _raise(member, order)
            if order.kind in ("answer", "plan"):
                return order
            if order.kind == "begin":
                member.settle(order.fields, interrupts)
                continue
            try:
                answer = member.own.follow(order)
            except BaseException as error:
                member.error = error if isinstance(error, Exception) else None
                answer = failure(error, channel.rank)
            channel.send(0, answer).wait()


def _raise(member: _Member, order: Message) -> NoReturn:
    """Raise what rank 0 tells; with this rank's own error behind it, if there is one."""
    raise error_of(order) from member.error


def _agree(member: _Member, coordinator: Coordinator, interrupts: Interrupts) -> tuple[Problem, Request]:
    """On rank 0: compare what all ranks have, and begin; the problem of all rows.

    Raises
    ------
    LapwingError
        The error of the first rank that failed, or whose description differs.
    """
    with interrupts.put_off():
        hellos = {0: member.introduction(0)} | coordinator.receive(range(1, coordinator.size))
    if coordinator.lost is not None:
        raise coordinator.lost
    for rank in sorted(hellos):
        if hellos[rank].kind == "failure":
            _refuse(rank, hellos[rank], member)
    expected = hellos[0].fields["same"]
    for rank in sorted(hellos):
        for name, value in hellos[rank].fields["same"].items():
            if value != expected[name]:
                raise ArgumentError(
                    f"rank {rank} of the group differs from rank 0 in {name}: {value} and {expected[name]}; all ranks "
                    "pass rows of one matrix, and the same options"
                )
    counts = [hellos[rank].fields["rows"] for rank in sorted(hellos)]
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows, cols = int(begins[-1]), int(expected["columns"])
    if rows > MAX_LINES:
        raise ArgumentError(f"the ranks have {rows} rows in all; at most {MAX_LINES} are supported")
    member.take_notes(hellos)
    coordinator.begins = begins
    hosts = [hellos[rank].fields["host"] for rank in sorted(hellos)]
    begun = [
        {"first": int(begins[rank]), "rows": rows, "ranks_on_host": hosts.count(hosts[rank])}
        for rank in range(coordinator.size)
    ]
    member.settle(begun[0], interrupts)
    coordinator.tell({rank: Message("begin", begun[rank]) for rank in range(1, coordinator.size)})
    shard, request = member.own, member.request
    assert request is not None
    limit = _CACHE_BYTES if request.memory_limit is None else request.memory_limit
    cost = ShardedCost(coordinator, (rows, cols), shard.dtype, limit)
    prices = None
    if shard.prices is not None:
        prices = np.concatenate([hellos[rank].arrays[0] for rank in sorted(hellos)])
    problem = Problem(cost, request.maximize, prices, shard.prices_of_cols)
    if problem.is_tall and not problem.is_empty:
        raise ArgumentError(
            f"the ranks have {rows} rows and {cols} columns; more rows than columns cannot be solved by rows: share "
            "out the rows of the transposed matrix, or pass unmatched_cost="
        )
    if request.start is not None:  # of these, the method uses v
        request.start = np.zeros(rows, problem.dual_dtype), request.start[1]
    return problem, request


def _refuse(rank: int, told: Message, member: _Member) -> NoReturn:
    """Raise the error of a rank, named."""
    error = error_of(told)
    if isinstance(error, LapwingError):
        error.args = (f"rank {rank} of the group: {error}", *error.args[1:])
    raise error from (member.error if rank == 0 else None)


def _shard(local_rows: Any, request: Request) -> Shard:
    """The rows of this rank, checked.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    if getattr(local_rows, "is_cuda", False) is True:
        from lapwing.distributed.device_shard import rows_on_device

        return rows_on_device(local_rows, request)
    if isinstance(local_rows, CostSource) and local_rows.device_of is not None:
        raise ArgumentError("points and arrays on a GPU are not shared out yet: pass them on the host")
    problem = inputs.make_problem(
        local_rows, request.maximize, request.unmatched_cost, None, isinstance(local_rows, np.ndarray)
    )
    if problem.cost.tier == "sparse":
        raise ArgumentError("sparse rows are not shared out: solve them in one process, or write them out, .toarray()")
    return RowsOnHost(problem, local_rows)


def _kind_of_prices(shard: Shard) -> str:
    if shard.prices is None:
        return "nothing"
    return "rows" if shard.prices_of_cols is None else "rows and columns"


def _digest(values: Any) -> int | None:
    """A checksum that shows whether a vector is the same on all ranks."""
    return None if values is None else zlib.crc32(np.ascontiguousarray(values).tobytes())
