"""Methods of the papers over ranks, for the tables of the papers; "core" is faster.

Problem   a square matrix whose rows are shared out among ranks. The methods solve the transposed one, whose columns are
          shared out (columns.py); "rows" and "columns" are of that.
Methods   "hungarian-bfs", Date and Nagi's classical variant: ranks list their tight pairs, the root searches in the
          lists of all; after a dual update, by the least slack of all ranks, they list again.
          "hungarian-tree", their alternating trees: every level of the forest is broadcast, and each rank lowers the
          slacks of its columns, and answers with those that enter.
          "ssp", Algorithm 1015: a row at a time, by Dijkstra; each scan is of all ranks, and a reduction of their least
          distances. Without epsilon-pricing; prices begin at the column minima.
Cost      passes over m n / P costs on each rank. Messages, to and from all ranks: two for a dual update of the first
          method, one for a level and two for an update of the second, one for a row scanned of the third.

Deviations: the papers use MPI collectives, or threads of one process; here the root gives orders (coordinator.py), so
that a rank that dies is noticed. In the classical variant Date and Nagi split rows, too: those of the matrix as given
are. Duals of floats are rounded; where the certificate leaves a doubt, the exact solve takes over as after any method.

References: K. Date, R. Nagi, Parallel Computing 57 (2016) 52-72, section 5. S. Guthe, D. Thuerck, "Algorithm 1015", ACM
Trans. Math. Softw. 47 (2021), section 4.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.answer import Answer
from lapwing.certificate import Certificate, prove, require_matching
from lapwing.cpu.backend import sum_up
from lapwing.cpu.exact import is_proven, refuse_errors, repaired
from lapwing.distributed.columns import FAR, NONE, PREFIX
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.messages import Message
from lapwing.errors import ArgumentError
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.request import Request

Ids = NDArray[np.int64]
METHODS: Final = ("hungarian-bfs", "hungarian-tree", "ssp")


def solve_reference(
    problem: Problem, plan: Plan, request: Request, coordinator: Coordinator
) -> tuple[Answer, Certificate | None] | None:
    """Solve by the method that is asked for; None where core is to refuse with a proof. `plan` is core's.

    Raises
    ------
    ArgumentError
        If the method cannot do what is asked.
    """
    rows, cols = problem.shape
    others = request.start is not None or request.writer is not None or np.isfinite(request.time_limit)
    if rows != cols or problem.unmatched_cost is not None or others:
        raise ArgumentError(
            f"method={request.method!r} over ranks solves square problems to their end: leave out unmatched_cost, "
            "start, time_limit and checkpoint, or use method='core'"
        )
    began = time.perf_counter()
    if rows and _core.check_range(problem.cost.compiled(False), problem.maximize, None, None, 1) is not None:
        return None
    run = _Run(coordinator, rows, problem.is_integer)
    if rows and not _METHODS[request.method](run):
        return None
    sign = -1 if problem.maximize else 1  # rows of the matrix as given are the columns here
    answer = Answer(
        "optimal",
        run.col_to_row,
        sign * run.v,
        sign * run.u,
        {name: float(count) for name, count in run.counts.items()},
    )
    answer.statistics["solve_seconds"] = solved = time.perf_counter() - began
    if not request.certify:
        sum_up(problem, answer)
        return answer, None
    certificate = prove(problem, answer.row_to_col, answer.u, answer.v, plan.threads)
    require_matching(certificate)
    if not is_proven(problem, answer, certificate):
        refuse_errors(problem, answer, certificate)
        answer, certificate = repaired(problem, plan, answer, certificate, np.inf, None)
    answer.statistics["certify_seconds"] = time.perf_counter() - began - solved
    return answer, certificate


class _Run:
    """The root's state of one solve.

    Attributes
    ----------
    u, v : duals of rows and columns
    row_to_col, col_to_row : int64, -1 where free
    counts : Counter
        For the statistics.
    """

    def __init__(self, coordinator: Coordinator, size: int, integer: bool) -> None:
        self._coordinator, self._ends = coordinator, coordinator.begins
        self.far: int | float = FAR if integer else np.inf
        self.dtype = np.dtype(np.int64 if integer else np.float64)
        self.u, self.v = np.zeros((2, size), self.dtype)
        self.row_to_col, self.col_to_row = np.full((2, size), NONE, np.int64)
        self.counts: Counter[str] = Counter()

    def ask(self, order: str, *arrays: Any, own: Sequence[Any] = ()) -> list[Sequence[NDArray[Any]]]:
        """The answers of all ranks, in their order; after `arrays`, each gets its own of the arrays `own`."""
        orders = {
            rank: Message(PREFIX + order, {}, [*arrays, *own[rank : rank + 1]]) for rank in range(len(self._ends) - 1)
        }
        answers = self._coordinator.ask(orders)
        return [answers[rank].arrays for rank in sorted(answers)]

    def divided(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """By the ranks that have these columns."""
        return np.split(array, self._ends[1:-1])

    def scan(self, row: int, col: int, offset: Any) -> tuple[Any, int, int]:
        """Scan a row, and settle the column that led to it: the next column's distance, number, and row before it."""
        places = [
            np.array([row, col - begin if begin <= col < end else NONE], np.int32)
            for begin, end in pairwise(self._ends.tolist())
        ]
        found = self.ask("scan", np.array([offset], self.dtype), own=places)
        rank = min(range(len(found)), key=lambda k: found[k][0][0])
        (distance,), (place, before) = found[rank]
        return distance, int(place + self._ends[rank]), int(before)

    def least(self, order: str, *arrays: Any, own: Sequence[Any] = ()) -> Any:
        """The least of their answers, each of one number."""
        return min(found[0][0] for found in self.ask(order, *arrays, own=own))

    def pairs(self, found: list[Sequence[NDArray[Any]]]) -> tuple[Ids, Ids]:
        """Columns of the whole that entered, and the rows that reached them."""
        cols = np.concatenate([each[0] + first for each, first in zip(found, self._ends, strict=False)])
        return cols.astype(np.int64), np.concatenate([each[1] for each in found]).astype(np.int64)

    def begin(self, row_minima: bool) -> bool:
        """The initial reduction; False if a row or column has no cost."""
        minima = np.minimum.reduce([found[0] for found in self.ask("row minima")])
        self.u = minima if row_minima else np.zeros_like(minima)
        if (minima >= self.far).any():
            return False
        self.v = np.concatenate([found[0] for found in self.ask("reduce", self.u)])
        return bool((self.v < self.far).all())

    def tight(self) -> tuple[Ids, Ids]:
        """All tight pairs, by rows."""
        found = self.ask("tight", self.u, own=self.divided(self.v))
        cols, rows = self.pairs([(each[0][:, 1], each[0][:, 0]) for each in found])
        order = np.lexsort((cols, rows))
        return rows[order], cols[order]

    def match_greedily(self, rows: Ids, cols: Ids) -> None:
        """Match tight pairs, row by row."""
        for row, col in zip(rows.tolist(), cols.tolist(), strict=True):
            if self.row_to_col[row] < 0 and self.col_to_row[col] < 0:
                self.row_to_col[row], self.col_to_row[col] = col, row

    def flip(self, col: int, parent: NDArray[np.int64]) -> None:
        """Match along the path that ends at a free column."""
        self.counts["augmentations"] += 1
        while col >= 0:
            row = int(parent[col])
            self.col_to_row[col], self.row_to_col[row], col = row, col, int(self.row_to_col[row])

    @property
    def free_rows(self) -> Ids:
        return np.flatnonzero(self.row_to_col < 0)


class _Forest:
    """Alternating trees from all free rows: `root` of each row, `parent` row of each column; -1 outside."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        size = len(run.u)
        self.root, self.parent = np.full((2, size), NONE, np.int64)
        self.frontier: Ids = run.free_rows
        self.root[self.frontier] = self.frontier
        self.ends: Ids = np.zeros(0, np.int64)

    def enter(self, cols: Ids, rows: Ids) -> None:
        """Columns enter by tight pairs with rows of the forest; so do the rows that they are matched with."""
        cols, first = np.unique(cols[self.parent[cols] < 0], return_index=True)
        self.parent[cols] = rows[first]
        matched = self._run.col_to_row[cols]
        self.ends = np.concatenate([self.ends, cols[matched < 0]])
        self.frontier = matched[matched >= 0]
        self.root[self.frontier] = self.root[self.parent[cols[matched >= 0]]]

    def augment(self) -> None:
        """Flip one path in each tree that has an end."""
        _, first = np.unique(self.root[self.parent[self.ends]], return_index=True)
        for col in self.ends[first].tolist():
            self._run.flip(col, self.parent)

    def move_duals(self, theta: Any) -> None:
        """By a dual update."""
        self._run.counts["dual_updates"] += 1
        self._run.u[self.root >= 0] += theta
        self._run.v[self.parent >= 0] -= theta


def _classical(run: _Run) -> bool:
    if not run.begin(row_minima=True):
        return False
    rows, cols = run.tight()
    run.match_greedily(rows, cols)
    while len(run.free_rows):
        run.counts["iterations"] += 1
        starts = np.searchsorted(rows, np.arange(len(run.u) + 1))
        forest = _Forest(run)
        while len(forest.frontier):
            lengths = starts[forest.frontier + 1] - starts[forest.frontier]
            before = np.repeat(np.cumsum(lengths) - lengths, lengths)
            at = np.repeat(starts[forest.frontier], lengths) + np.arange(lengths.sum()) - before
            fresh = at[forest.parent[cols[at]] < 0]
            forest.enter(cols[fresh], rows[fresh])
        if len(forest.ends):
            forest.augment()
            continue
        reached, covered = ((mark >= 0).astype(np.uint8) for mark in (forest.root, forest.parent))
        theta = run.least("least", run.u, reached, own=run.divided(covered))
        if theta >= run.far:
            return False
        forest.move_duals(theta)
        rows, cols = run.tight()
    return True


def _tree(run: _Run) -> bool:
    if not run.begin(row_minima=True):
        return False
    run.match_greedily(*run.tight())
    while len(run.free_rows):
        run.counts["iterations"] += 1
        run.ask("forget")
        forest = _Forest(run)
        while True:
            while len(forest.frontier):
                frontier = forest.frontier
                run.counts["rows_scanned"] += len(frontier)
                forest.enter(*run.pairs(run.ask("grow", frontier.astype(np.int32), run.u[frontier])))
            if len(forest.ends):
                break
            theta = run.least("least slack")
            if theta >= run.far:
                return False
            forest.move_duals(theta)
            forest.enter(*run.pairs(run.ask("shift", np.array([theta], run.dtype))))
        forest.augment()
    return True


def _shortest_paths(run: _Run) -> bool:
    if not run.begin(row_minima=False):
        return False
    for free in range(len(run.u)):
        run.counts["searches"] += 1
        run.ask("forget")
        parent = np.full(len(run.u), NONE, np.int64)
        row, col, distance = free, NONE, run.dtype.type(0)
        scanned: list[tuple[int, int, Any]] = []  # row, the column that led to it, their distance
        while True:
            scanned.append((row, col, distance))
            best = run.scan(row, col, distance - run.u[row])
            if best[0] >= run.far:
                return False
            distance, col = best[:2]
            parent[col] = best[2]
            if run.col_to_row[col] < 0:
                break
            row = int(run.col_to_row[col])
        run.counts["rows_scanned"] += len(scanned)
        run.ask("settle", np.array([distance], run.dtype))
        for row, by, its in scanned:
            run.u[row] += distance - its
            if by >= 0:
                run.v[by] += its - distance
        run.flip(col, parent)
    return True


_METHODS: Final[dict[str, Callable[[_Run], bool]]] = dict(
    zip(METHODS, (_classical, _tree, _shortest_paths), strict=True)
)
