"""One rank in a solve over a group: its arguments, its rows, and what it says of them to rank 0."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing import inputs
from lapwing.costs.base import CostSource
from lapwing.costs.points import PointCost
from lapwing.distributed.channel import Interrupts
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.messages import Message, failure, finite_or_none
from lapwing.distributed.reference import METHODS
from lapwing.distributed.shard import RowsOnHost, Shard
from lapwing.errors import ArgumentError
from lapwing.invalid import InvalidPairs, without_invalid
from lapwing.plan import Plan
from lapwing.request import Request, make_request

if TYPE_CHECKING:
    from lapwing.distributed.peer_memory import PeerMemory
    from lapwing.distributed.points import GatheredPoints

_SHOWN_RANKS: Final = 16


@dataclass(frozen=True)
class Given:
    """The arguments that concern every rank."""

    maximize: Any
    unmatched_cost: Any
    infeasible: Any
    invalid: Any
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
            self.invalid,
        )
        if request.method not in ("auto", "core", *METHODS):
            raise ArgumentError(
                f"method={request.method!r} needs all rows in one process: leave it out, or pass 'core'; for tables of "
                f"the papers, {', '.join(map(repr, METHODS))}"
            )
        return request


class Member:
    """One rank in a solve: its rows, or the error that kept it from having them.

    Attributes
    ----------
    shard : Shard or None
    request : Request or None
    error : Exception or None
    peers : PeerMemory, GatheredPoints or None
        On rank 0: the costs of all ranks, if it has them on GPUs.
    is_on_gpus : bool
        On rank 0: whether all rows are on GPUs, whose memory it cannot open.
    invalid : InvalidPairs or None
        Of this rank's rows, if they are forbidden.
    """

    def __init__(self, local_rows: Any, given: Given, progress: Any) -> None:
        self.shard: Shard | None = None
        self.request: Request | None = None
        self.error: Exception | None = None
        self.peers: PeerMemory | GatheredPoints | None = None
        self.is_on_gpus: bool = False
        self.invalid: InvalidPairs | None = None
        self._own_rows: list[str] = []
        try:
            self.request = given.request(progress)
            if self.request.forbid_invalid:
                self.invalid = InvalidPairs(local_rows)
                local_rows = without_invalid(local_rows, self.request.maximize)
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
            "invalid": "forbid" if request.forbid_invalid else "raise",
            "memory_limit": request.memory_limit,
        }
        told = {"same": same, "rows": shard.shape[0], "host": socket.gethostname(), "where": shard.where}
        told["memory"] = shard.exported()
        told["gpu"] = shard.gpu
        told["points"], points = shard.points()
        prices = [] if shard.prices is None else [shard.prices]
        return Message("hello", told | {"threads": request.threads}, [*prices, *points])

    def settle(self, told: dict[str, Any], interrupts: Interrupts) -> None:
        """Learn from rank 0 which rows these are."""
        shard = self.own
        assert self.request is not None
        shard.first, shard.rows_of_problem, shard.interrupts = told["first"], told["rows"], interrupts
        shard.threads = self.request.threads or max(1, inputs.processors() // told["ranks_on_host"])

    def take_notes(self, hellos: Sequence[Message]) -> None:
        """On rank 0: who holds what, and whether its costs can be had on a GPU here."""
        said = [hello.fields for hello in hellos]
        if self.own.prices_of_cols is None and all(each["memory"] for each in said):
            from lapwing.distributed.peer_memory import PeerMemory

            memories, hosts = [each["memory"] for each in said], [each["host"] for each in said]
            self.peers = PeerMemory.of(self.own.tensor, memories, hosts)
        elif self.own.prices_of_cols is None and all(each["points"] for each in said):
            from lapwing.distributed.points import GatheredPoints

            priced = int(self.own.prices is not None)
            self.peers = GatheredPoints.of(self.own, said, [hello.arrays[priced:] for hello in hellos])
        # A GPU for each: rank 0's is busy while it asks the others for rows.
        on = [(each["gpu"] or (None, None), each["host"]) for each in said if each["rows"]]
        same = len({dtype for (dtype, _), _ in on}) == 1 and len({(name, host) for (_, name), host in on}) == len(on)
        can = self.own.prices_of_cols is None and self.own.view is not None
        self.is_on_gpus = can and self.peers is None and same
        for rank, told in enumerate(said):
            self._own_rows.append(f"rank {rank} on {told['host']} holds {told['rows']} rows, {told['where']}")

    def explained(self, chosen: Plan, coordinator: Coordinator) -> Plan:
        """The plan with who holds what."""
        shown = self._own_rows
        if len(shown) > _SHOWN_RANKS:
            shown = [*shown[:_SHOWN_RANKS], f"and so on, {coordinator.size} ranks in all"]
        why = "rank 0 holds the lists of all rows, searches, and asks for single rows; passes are made where rows are"
        if chosen.device != "cpu" and self.peers is not None:
            why = self.peers.why
        if chosen.tier == "dense":
            why = (
                "the matrix is small: rank 0 is sent the rows, and solves it; memory_limit=0 leaves them where they are"
            )
        return replace(chosen, reasons=(*chosen.reasons, why, *shown))


def _shard(local_rows: Any, request: Request) -> Shard:
    """The rows of this rank, checked.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    if getattr(local_rows, "is_cuda", False) is True:
        from lapwing.distributed.device_shard import rows_on_device

        return rows_on_device(local_rows, request)
    on_gpu = isinstance(local_rows, CostSource) and local_rows.device_of is not None
    if on_gpu and not isinstance(local_rows, PointCost):
        raise ArgumentError("costs that arrays on a GPU define are not shared out: pass the arrays on the host")
    problem = inputs.make_problem(
        local_rows, request.maximize, request.unmatched_cost, None, isinstance(local_rows, np.ndarray)
    )
    if problem.cost.tier == "sparse":
        raise ArgumentError("sparse rows are not shared out: solve them in one process, or write them out, .toarray()")
    if on_gpu:
        from lapwing.distributed.points import RowsOfPoints

        return RowsOfPoints(problem, local_rows)
    return RowsOnHost(problem, local_rows)


def _kind_of_prices(shard: Shard) -> str:
    if shard.prices is None:
        return "nothing"
    return "rows" if shard.prices_of_cols is None else "rows and columns"


def _digest(values: Any) -> str | None:
    """What shows whether a vector is the same on all ranks."""
    return None if values is None else f"checksum {zlib.crc32(np.ascontiguousarray(values).tobytes()):08x}"
