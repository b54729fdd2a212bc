"""The certificate of an answer whose costs are on a GPU: one pass over the whole matrix there, a few sums here.

kernels/certificate/certificate.cu measures the violations of the duals over all pairs and forms exact sums. This module
joins the sums, rounds each once, and makes the same `Certificate` as the CPU does. Neither shares code with a method.

Cost: every matrix element is read once; 4 bytes a column and 8 a line of scratch memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.certificate import Certificate, Number, assemble
from lapwing.errors import InvalidCostError
from lapwing.gpu.certificate.passes import (
    BoxedPass,
    ComputedPass,
    CostPass,
    HostPass,
    MatrixPass,
    SparsePass,
    TiledPass,
    Vectors,
)
from lapwing.gpu.certificate.sharded_pass import ShardedPass, SharedPointsPass
from lapwing.gpu.costs.computed import ComputedCosts
from lapwing.gpu.costs.host_rows import HostRows, Streamed
from lapwing.gpu.costs.sharded import Shards
from lapwing.gpu.costs.sparse import SparseLines
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import Mail, read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.programs import CERTIFICATE, INTEGERS
from lapwing.gpu.runtime.workspace import Workspace

_THREADS = CERTIFICATE.constants["THREADS"]
_VECTOR_BLOCKS = 128  # at most
_FINEST = 1 << 1074  # 1 over the smallest double
SUMMARY_BYTES = 4096  # room for the words of the longest summary

# The words of the summary, and the names of faults by stage and kind (kernels/certificate/certificate.cu).
_FAULT, _INVALID_COST, _PLACE, _, _TOTALS = range(5)
_SCRATCH = ("violations", "summary", "owners")  # the last of Vectors
_MATCHING_FAULTS = ("column_range", "column_twice", "forbidden_pair")
_EVERY_BIT = (1 << 64) - 1


class Candidate(NamedTuple):
    """The answer to certify: addresses of contiguous arrays on the costs' GPU, in the user's sense.

    Attributes
    ----------
    row_to_col : (m,) int64, -1 where a row is free; any values
    u, v : (m,) and (n,) float64, or int64 for integer costs
    prices : (m,) of the duals' dtype, or 0
        What row i costs *as minimised* when it stays free, infinite (`ABSENT`) where it must not.
    """

    row_to_col: int
    u: int
    v: int
    prices: int = 0


def prove_on_gpu(context: Context, cost: GpuArray, candidate: Candidate, maximize: bool = False) -> Certificate:
    """Certify an assignment against the whole matrix; waits for the stream.

    Parameters
    ----------
    context : Context, entered
    cost : GpuArray, (m, n), neither of them 0
    candidate : Candidate
    maximize : bool

    Raises
    ------
    InvalidCostError
        If a cost is NaN or infinite with the wrong sign.
    """
    proof = proof_of_matrix(context, cost, candidate, maximize)
    proof.start()
    return proof.finish()


def proof_of_matrix(
    context: Context, cost: GpuArray, candidate: Candidate, maximize: bool, mail: Mail | None = None
) -> Proof:
    """See `prove_on_gpu`."""
    tall = not candidate.prices and cost.shape[0] > cost.shape[1]
    return Proof(MatrixPass(context, cost, maximize, tall), cost.dtype, candidate, mail)


def proof_of_computed(
    context: Context,
    cost: ComputedCosts,
    candidate: Candidate,
    maximize: bool,
    array_template: GpuArray | None,
    wait: Callable[[float], None],
    mail: Mail | None = None,
) -> Proof:
    """The same for computed costs, whose pass comes in parts; `wait` is called between them."""
    costs: CostPass
    if cost.cost_program.in_order and not maximize:
        costs = BoxedPass(context, cost, array_template, wait)
    else:
        costs = ComputedPass(context, cost, maximize, array_template, wait)
    return Proof(costs, cost.dtype, candidate, mail)


def proof_by_tiles(
    context: Context,
    cost: ComputedCosts,
    candidate: Candidate,
    maximize: bool,
    array_template: GpuArray | None,
    wait: Callable[[float], None],
    mail: Mail | None = None,
) -> Proof:
    """The same for costs of points that are computed by tiles."""
    return Proof(TiledPass(context, cost, maximize, array_template, wait), cost.dtype, candidate, mail)


def proof_of_host_rows(
    context: Context,
    cost: Streamed,
    rows: HostRows,
    candidate: Candidate,
    maximize: bool,
    wait: Callable[[float], None],
    mail: Mail | None = None,
) -> Proof:
    """The same for a matrix on the host, which comes in parts."""
    return Proof(HostPass(context, cost, rows, maximize, wait), cost.dtype, candidate, mail)


def proof_of_sparse(
    context: Context,
    cost: SparseLines,
    candidate: Candidate,
    maximize: bool,
    array_template: GpuArray | None = None,
    mail: Mail | None = None,
) -> Proof:
    """The same for sparse costs: over all pairs that have an entry."""
    return Proof(SparsePass(context, cost, maximize, array_template), cost.dtype, candidate, mail)


def proof_of_shards(
    shards: Shards,
    by_columns: bool,
    candidate: Candidate,
    maximize: bool,
    array_template: GpuArray | None = None,
    mail: Mail | None = None,
) -> Proof:
    """The same for a matrix in shards on several GPUs; the answer is on that of the first."""
    return Proof(ShardedPass(shards, by_columns, maximize, array_template), shards.dtype, candidate, mail)


def proof_of_shared_points(
    costs: Sequence[tuple[Context, ComputedCosts]],
    dtype: str,
    candidate: Candidate,
    maximize: bool,
    wait: Callable[[float], None],
    mail: Mail | None = None,
) -> Proof:
    """The same for costs of points that several GPUs compute; the answer is on the first."""
    return Proof(SharedPointsPass(costs, maximize, None, wait), dtype, candidate, mail)


class Proof:
    """One certificate in the making.

    What the kernels find they write to `mail`, of SUMMARY_BYTES; without it `finish` copies it.

    Parameters
    ----------
    costs : CostPass
    dtype : str
        Of the costs.
    candidate : Candidate
    """

    def __init__(self, costs: CostPass, dtype: str, candidate: Candidate, mail: Mail | None) -> None:
        self.context: Context = costs.context
        self.costs: CostPass = costs
        self.candidate: Candidate = candidate
        self.maximize: bool = costs.maximize
        self.rows: int = costs.rows
        self.cols: int = costs.cols
        self.tall: bool = not candidate.prices and self.rows > self.cols
        self.integer: bool = dtype in INTEGERS
        self.limbs = 2 if self.integer else 66  # of an exact sum
        self.blocks: int = min(-(-max(self.rows, self.cols) // _THREADS), _VECTOR_BLOCKS)
        self.words: int = _TOTALS + 3 * self.limbs + 2 + 2 * self.blocks
        sizes = {
            "summary": (self.words, "int64"),
            "violations": (costs.lines, "int64"),
            "owners": (self.cols, "uint32"),
        }
        self.memory: Workspace = Workspace(self.context, sizes, costs.array_template)
        self.at: Vectors = Vectors(
            candidate.row_to_col, candidate.u, candidate.v, *(self.memory[name] for name in _SCRATCH)
        )
        self._mail = mail

    def start(self) -> None:
        """Launch all that it takes, in the order of the stream; may be called again."""
        self.memory.clear()
        self.costs.launch_lines(self.at)
        self.costs.kernels["certify_vectors"].launch(
            self.context, self.blocks, _THREADS,
            *self.costs.of_vectors, self.at.row_to_col, self.at.u, self.at.v, self.candidate.prices, self.at.owners,
            self.at.violations, self.costs.lines, self.at.summary, 0 if self._mail is None else self._mail.address,
        )  # fmt: skip

    def finish(self) -> Certificate:
        """Wait for it."""
        summary = self._summary()
        fault = self._fault(summary[:_TOTALS].tolist())
        worst, place = self._worst(summary[-2 * self.blocks :])
        at = self._violation_at(place) if worst else (-1, -1)
        return self._assemble(summary[_TOTALS : -2 * self.blocks], fault, worst, at)

    def _summary(self) -> NDArray[np.int64]:
        if self._mail is None:
            return read(self.context, self.at.summary, self.words, "int64")
        self.context.synchronize()
        return self._mail.memory[: 8 * self.words].view(np.int64)

    # --- what was found -----------------------------------------------------------------------------------------------

    def _fault(self, summary: list[int]) -> tuple[str, int, int]:
        """The first fault's name, and its row and column."""
        if not summary[_FAULT]:
            if summary[_INVALID_COST]:
                key = _first(summary[_INVALID_COST])
                raise self._invalid_cost(*self._as_given(key >> 32, key & 0xFFFFFFFF))
            self.costs.require_valid()
            return "none", -1, -1
        key = _first(summary[_FAULT])
        stage, index, kind = key >> 40, key >> 2 & 0xFFFFFFFF, key & 3
        if stage == 0:
            col = int(read(self.context, self.candidate.row_to_col + 8 * index, 1, "int64")[0])
            return _MATCHING_FAULTS[kind], index, col
        return ("invalid_dual", -1, index) if kind else ("invalid_dual", index, -1)

    def _invalid_cost(self, row: int, col: int) -> InvalidCostError:
        return InvalidCostError(row, col, self.costs.cost_at(row, col), self.maximize)

    def _worst(self, found: NDArray[np.int64]) -> tuple[Number, int]:
        """The worst violation of all blocks, and the number of the first constraint that has it."""
        amounts = found[::2].tolist()
        worst = max(amounts)  # bits of non-negative doubles are in the doubles' order
        if worst == 0:
            return 0 if self.integer else 0.0, -1
        places = found[1::2].tolist()
        place = min(at & _EVERY_BIT for at, amount in zip(places, amounts, strict=True) if amount == worst)
        return worst if self.integer else float(np.int64(worst).view(np.float64)), place

    def _violation_at(self, place: int) -> tuple[int, int]:
        """Row and column of constraint number `place`; -1 for the column or row of a constraint on u or v alone."""
        if place < self.rows:
            return place, -1
        if place < 2 * self.rows + self.cols:
            index = place - self.rows
            return (index, -1) if self.tall else (-1, index)
        line = place - 2 * self.rows - self.cols
        self.costs.launch_place(line, self.at, self.at.summary + 8 * _PLACE)
        return self._as_given(line, _first(int(read(self.context, self.at.summary + 8 * _PLACE, 1, "int64")[0])))

    def _as_given(self, line: int, position: int) -> tuple[int, int]:
        return (position, line) if self.costs.by_columns else (line, position)

    # --- the certificate ----------------------------------------------------------------------------------------------

    def _assemble(
        self, found: NDArray[np.int64], fault: tuple[str, int, int], worst: Number, at: tuple[int, int]
    ) -> Certificate:
        primal, dual, excess = _joined(found[:-2], self.limbs)
        matched, missing = found[-2:].tolist()
        complete = matched == self.cols if self.tall else missing == 0
        nearest: Callable[[int], Number] = int if self.integer else _nearest
        limit: Number = ABSENT if self.integer else math.inf
        name, *faulty = fault
        cost, gap, slack = nearest(primal), nearest(primal - dual), primal - dual + excess
        usable = name == "none" and complete and (self.integer or -limit < cost < limit)
        bound = limit
        if usable and worst < limit and slack >= 0:
            bound = min(slack, ABSENT) if self.integer else _upward(slack)
        row, col = (1, 0) if self.tall else (0, 1)  # places of a pair
        raw: dict[str, Any] = {
            "fault": name,
            "fault_row": faulty[row],
            "fault_col": faulty[col],
            "matched": matched,
            "complete": complete,
            "primal": cost,
            "dual": cost if primal == dual else nearest(dual),
            "dual_below": dual if self.integer else -_upward(-dual),
            "gap": gap,
            "violation": worst,
            "violation_row": at[row],
            "violation_col": at[col],
            "bound": bound,
            "exact": usable and gap == 0 and worst == 0,
        }
        return assemble(raw, None, (self.rows, self.cols), tall=self.tall, maximize=self.maximize, integer=self.integer)


def _first(key: int) -> int:
    """The smallest number that was reported to a key."""
    return ~key & _EVERY_BIT


def _joined(limbs: NDArray[np.int64], each: int) -> list[int]:
    """Exact sums of so many limbs each: integers, in units of 2^-1074 if they are of doubles."""
    sums = [0] * (len(limbs) // each)
    (places,) = limbs.nonzero()  # mostly few
    for place, limb in zip(places.tolist(), limbs[places].tolist(), strict=True):
        which, k = divmod(place, each)
        sums[which] += limb << 32 * k
    return sums


def _nearest(total: int) -> float:
    """The double nearest to total / 2^1074, ties to even."""
    if not total:
        return 0.0
    try:
        return total / _FINEST
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _upward(total: int) -> float:
    """The smallest double not below total / 2^1074."""
    value = _nearest(total)
    if not total or math.isinf(value):
        return value
    numerator, denominator = value.as_integer_ratio()
    return math.nextafter(value, math.inf) if numerator * (_FINEST // denominator) < total else value
