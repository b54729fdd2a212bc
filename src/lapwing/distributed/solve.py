"""The flow of a solve over a group: agree, solve on rank 0 with the help of all, tell everybody the answer.

1. Every rank checks its own rows and options, and tells rank 0 their shape, dtype and options, or its error. Rank 0
   compares them. A rank that differs, or an error, ends the solve on every rank before any costs are read.
2. Rank 0 runs the flow of `lapwing.solve` on a `ShardedCost`; the others follow its orders (`Shard.follow`).
3. Rank 0 sends each rank its part of the answer, or the error, which every rank raises.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, SupportsIndex

import numpy as np

from lapwing.costs.base import MAX_LINES
from lapwing.costs.dense import DenseCost
from lapwing.cpu.backend import Cpu, solve_requested
from lapwing.distributed.channel import Channel, Interrupts
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.member import Given, Member
from lapwing.distributed.messages import Message, error_of, failure
from lapwing.distributed.reference import METHODS, solve_reference
from lapwing.distributed.result import RankResult, described_plan, outcomes, plan_of, result_of
from lapwing.distributed.source import ShardedCost
from lapwing.errors import ArgumentError, LapwingError
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.progress import Progress
from lapwing.request import Request

if TYPE_CHECKING:
    from lapwing.checkpoint import Checkpoint
    from lapwing.gpu.runtime.arrays import GpuArray

_CACHE_BYTES: Final = 1 << 30  # of rows that rank 0 keeps, unless memory_limit= says otherwise


def solve(
    local_rows: Any,
    *,
    group: Any = None,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
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
        ``lw.costs.squared_euclidean(x_local, y)``; of points on GPUs, rank 0 is sent all, and solves on its GPU or,
        of many dimensions that it cannot hold the costs of, on all GPUs that ranks of its host have.
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
    maximize, infeasible, invalid, method, time_limit, certify
        As for `lapwing.solve`, the same on all ranks; `method` is "auto", "core", or, for square problems, one of
        "hungarian-bfs", "hungarian-tree" and "ssp", as their papers have them over ranks. Passes over all rows are not
        cut short by the time limit.

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
    given = Given(
        maximize, unmatched_cost, infeasible, invalid, start, method, threads, time_limit, certify, memory_limit
    )

    def run(member: Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
        if checkpoint is not None:
            from lapwing.checkpoint import go_on

            go_on(checkpoint, problem, request)
        if request.method in METHODS:
            return _solved_as_in_papers(member, problem, request, coordinator)
        if (small := _small(problem, member)) is not None:
            problem = replace(problem, cost=small.gathered())
            request.threads = member.own.threads
        elif member.peers is not None:
            return _solved_on_gpus(member, problem, request, coordinator)
        elif (found := _solved_over_gpus(member, problem, request, coordinator)) is not None:
            return found
        chosen = Cpu().plan(problem, request)
        answer, certificate = solve_requested(problem, chosen, request, coordinator.look_after)
        return outcomes(answer, certificate, member.explained(chosen, coordinator), coordinator.begins)

    member, message = _together(local_rows, group, given, progress, run)
    return result_of(message, member.own, member.own.shape[1], member.invalid)


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
    given = Given(maximize, unmatched_cost, "raise", "raise", start, method, threads, None, True, memory_limit)

    def run(member: Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
        if request.method not in METHODS and (small := _small(problem, member)) is not None:
            matrix = np.empty(problem.shape, small.dtype)  # whose numbers no plan depends on
            problem, request.threads = replace(problem, cost=DenseCost(matrix)), member.own.threads
        elif request.method not in METHODS and member.peers is not None:
            from lapwing.distributed.peer_memory import planned_on_gpus

            with member.peers.opened() as opened:
                chosen = member.explained(planned_on_gpus(opened, problem, request, member.peers.devices), coordinator)
            return [Message("plan", described_plan(chosen))] * coordinator.size
        over_gpus = _planned_over_gpus(member, problem, request, coordinator)
        chosen = member.explained(over_gpus or _planned(problem, request), coordinator)
        return [Message("plan", described_plan(chosen))] * coordinator.size

    return plan_of(_together(local_rows, group, given, False, run)[1].fields)


def _small(problem: Problem, member: Member) -> ShardedCost | None:
    """The costs, if rank 0 is sent the matrix since it is small."""
    has_points = member.peers is not None and member.own.points()[0] is not None
    cost = problem.cost
    return cost if isinstance(cost, ShardedCost) and cost.is_gathered and not has_points else None


def _planned(problem: Problem, request: Request) -> Plan:
    """The plan of rank 0."""
    if request.method not in METHODS:
        return Cpu().plan(problem, request)
    plan = Cpu().plan(problem, replace(request, method="core", options=None))
    return replace(plan, method=request.method, reasons=("the paper's method over ranks; core is faster",))


def _solved_as_in_papers(member: Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
    plan, by_core = _planned(problem, request), replace(request, method="core", options=None)
    found = solve_reference(problem, Cpu().plan(problem, by_core), request, coordinator)
    if found is None:  # which core can tell
        plan = Cpu().plan(problem, by_core)
        found = solve_requested(problem, plan, by_core, coordinator.look_after)
    return outcomes(*found, member.explained(plan, coordinator), coordinator.begins)


def _solved_on_gpus(member: Member, problem: Problem, request: Request, coordinator: Coordinator) -> list[Message]:
    from lapwing.distributed.peer_memory import solve_on_gpus

    assert member.peers is not None
    with member.peers.opened() as matrix:
        answer, certificate, chosen = solve_on_gpus(
            matrix, problem, request, coordinator.look_after, member.peers.devices
        )
    return outcomes(answer, certificate, member.explained(chosen, coordinator), coordinator.begins)


def _gpu_of_rank_0(member: Member, problem: Problem, request: Request) -> GpuArray | None:
    """Rank 0's rows on its GPU, if this can solve with the passes of all ranks' GPUs."""
    can = request.method not in METHODS and member.is_on_gpus and isinstance(problem.cost, ShardedCost)
    return member.own.view if can else None


def _planned_over_gpus(member: Member, problem: Problem, request: Request, coordinator: Coordinator) -> Plan | None:
    """None if the GPUs cannot, or rank 0's has no room."""
    view = _gpu_of_rank_0(member, problem, request)
    if view is None:
        return None
    from lapwing.distributed.gpu_costs import planned_over_gpus

    return planned_over_gpus(view, problem, request, coordinator)


def _solved_over_gpus(
    member: Member, problem: Problem, request: Request, coordinator: Coordinator
) -> list[Message] | None:
    """The same."""
    view = _gpu_of_rank_0(member, problem, request)
    if view is None:
        return None
    from lapwing.distributed.gpu_costs import solve_over_gpus

    found = solve_over_gpus(view, problem, request, coordinator)
    if found is None:
        return None
    answer, certificate, chosen = found
    return outcomes(answer, certificate, member.explained(chosen, coordinator), coordinator.begins)


def _together(
    local_rows: Any,
    group: Any,
    given: Given,
    progress: Any,
    run: Callable[[Member, Problem, Request, Coordinator], list[Message]],
) -> tuple[Member, Message]:
    """Agree, and run on rank 0 while the others follow; what rank 0 has for this rank at the end."""
    channel = Channel(group)
    member = Member(local_rows, given, progress)
    with Interrupts() as interrupts:
        if channel.rank != 0:
            try:
                return member, _follow(channel, member, interrupts)
            finally:
                if member.shard is not None:
                    member.shard.close()
        coordinator = Coordinator(channel, member.shard, interrupts)
        try:
            messages = run(member, *_agree(member, coordinator, interrupts), coordinator)
        except BaseException as error:
            coordinator.tell_all(error)
            raise
        coordinator.tell(dict(enumerate(messages)))
        return member, messages[0]


def _follow(channel: Channel, member: Member, interrupts: Interrupts) -> Message:
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


def _raise(member: Member, order: Message) -> NoReturn:
    """Raise what rank 0 tells; with this rank's own error behind it, if there is one."""
    raise error_of(order) from member.error


def _agree(member: Member, coordinator: Coordinator, interrupts: Interrupts) -> tuple[Problem, Request]:
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
    member.take_notes([hellos[rank] for rank in sorted(hellos)])
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


def _refuse(rank: int, told: Message, member: Member) -> NoReturn:
    """Raise the error of a rank, named."""
    error = error_of(told)
    if isinstance(error, LapwingError):
        error.args = (f"rank {rank} of the group: {error}", *error.args[1:])
    raise error from (member.error if rank == 0 else None)
