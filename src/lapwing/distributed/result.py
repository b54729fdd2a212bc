"""What `lapwing.distributed.solve` returns on a rank, and the message that brings it there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import Answer
from lapwing.certificate import Certificate, Shortage
from lapwing.distributed.messages import Message
from lapwing.distributed.shard import Shard
from lapwing.errors import ArgumentError
from lapwing.invalid import InvalidPairs
from lapwing.plan import Plan
from lapwing.result import Result

_ARRAYS = ("duals", "shortages")  # of a certificate


@dataclass(frozen=True, eq=False, repr=False)
class RankResult(Result):
    """One rank's part of an assignment whose rows are shared out, and the proof of the whole.

    `row_to_col`, `u` and what follows from them (`row_ind`, `col_ind`, `pairs`, `pair_costs`, `matched_cost`) are of
    this rank's rows, which are numbered from 0. `objective`, `v`, `certificate`, `lower_bound`, `status`, `plan` and
    `statistics` are of the whole problem, the same on every rank; rows in the certificate are numbered over all ranks.

    Attributes
    ----------
    first_row : int
        The number of this rank's first row in the whole problem.
    shape : (m, n)
        Of the whole problem.
    """

    first_row: int = 0
    shape: tuple[int, int] = (0, 0)

    def __repr__(self) -> str:
        rows, cols = self.shape
        own = f"rows {self.first_row} to {self.first_row + len(self.u) - 1}" if len(self.u) else "no rows"
        what = f"{self.status}, objective {self.objective!r}"
        return f"<lapwing.distributed.RankResult: {what}, {own} of {rows} x {cols}>"

    def is_unique(self) -> bool:
        """Not to be had yet: it would have to read the rows of other ranks.

        Raises
        ------
        ArgumentError
        """
        raise ArgumentError("is_unique() reads all costs, and this rank has its own rows alone")


def outcomes(answer: Answer, certificate: Certificate | None, plan: Plan, begins: NDArray[np.int64]) -> list[Message]:
    """The message for each rank."""
    told: dict[str, Any] = {
        "objective": answer.objective if certificate is None else certificate.primal,
        "lower_bound": answer.bound if certificate is None else certificate.optimum_bound,
        "statistics": answer.statistics,
        "status": answer.status,
        "plan": described_plan(plan),
    }
    arrays: list[NDArray[Any]] = [answer.v]
    if certificate is not None:
        told["certificate"] = {
            one.name: getattr(certificate, one.name) for one in fields(certificate) if one.name not in _ARRAYS
        }
        arrays += certificate.duals or ()
        told["has_duals"] = certificate.duals is not None
        told["shortages_of_cols"] = [shortage.of_cols for shortage in certificate.shortages]
        for shortage in certificate.shortages:
            arrays += [shortage.rows, shortage.cols]
    own = [slice(int(begin), int(end)) for begin, end in pairwise(begins)]
    return [Message("answer", told, [answer.row_to_col[rows], answer.u[rows], *arrays]) for rows in own]


def result_of(message: Message, shard: Shard, cols: int, invalid: InvalidPairs | None) -> RankResult:
    """The result in the coordinator's message to this rank."""
    told = message.fields
    row_to_col, u, v, *rest = message.arrays
    certificate = None
    if "certificate" in told:
        given = told["certificate"]
        at = given["violation_at"]
        duals = None
        if told["has_duals"]:
            duals, rest = (rest[0], rest[1]), rest[2:]
        shortages = tuple(
            Shortage(rest[2 * k], rest[2 * k + 1], of_cols) for k, of_cols in enumerate(told["shortages_of_cols"])
        )
        given = given | {"violation_at": None if at is None else tuple(at)}
        certificate = Certificate(**given, duals=duals, shortages=shortages)
    return RankResult(
        shard.as_given(row_to_col),
        told["objective"],
        shard.as_given(u),
        shard.as_given(v),
        certificate,
        told["statistics"],
        told["status"],
        plan_of(told["plan"]),
        told["lower_bound"],
        shard.costs(),
        invalid,
        first_row=shard.first,
        shape=(shard.rows_of_problem, cols),
    )


def described_plan(plan: Plan) -> dict[str, Any]:
    """A plan of a method without options, as JSON has it."""
    return {name: value for name, value in asdict(plan).items() if name != "options"}


def plan_of(told: dict[str, Any]) -> Plan:
    """The plan that was described."""
    return Plan(**told | {"shape": tuple(told["shape"]), "reasons": tuple(told["reasons"])})
