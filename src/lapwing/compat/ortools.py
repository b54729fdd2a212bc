"""OR-Tools: `from lapwing.compat.ortools import SimpleLinearSumAssignment`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.api import solve
from lapwing.costs import edges
from lapwing.errors import ArgumentError, InfeasibleError

__all__ = ["SimpleLinearSumAssignment"]


_MOST_SUM = 1 << 60  # of the magnitudes of costs, far from where sums of int64 overflow


class _Status(IntEnum):
    OPTIMAL = 0
    INFEASIBLE = 1
    POSSIBLE_OVERFLOW = 2


class SimpleLinearSumAssignment:
    """A perfect matching of equally many left and right nodes at the least cost, by arcs of integer costs.

    Of parallel arcs the cheapest counts. Without arcs the optimum is 0.
    """

    Status = _Status
    OPTIMAL: ClassVar = _Status.OPTIMAL
    INFEASIBLE: ClassVar = _Status.INFEASIBLE
    POSSIBLE_OVERFLOW: ClassVar = _Status.POSSIBLE_OVERFLOW

    def __init__(self) -> None:
        self._left: list[int] = []
        self._right: list[int] = []
        self._cost: list[int] = []
        self._mates: NDArray[Any] = np.zeros(0, np.int64)
        self._mate_costs: NDArray[Any] = np.zeros(0, np.int64)

    def add_arc_with_cost(self, left_node: int, right_node: int, cost: int) -> int:
        """Add an arc; return its number."""
        self.add_arcs_with_cost([left_node], [right_node], [cost])
        return len(self._cost) - 1

    def add_arcs_with_cost(self, left_nodes: Any, right_nodes: Any, costs: Any) -> NDArray[np.int32]:
        """Add arcs; return their numbers."""
        left, right, cost = (np.asarray(values).ravel() for values in (left_nodes, right_nodes, costs))
        if not len(left) == len(right) == len(cost):
            raise ArgumentError(f"there are {len(left)} left nodes, {len(right)} right nodes and {len(cost)} costs")
        if len(left) and min(left.min(), right.min()) < 0:
            raise ArgumentError(f"node {min(left.min(), right.min())} is negative: nodes count from 0")
        first = len(self._cost)
        self._left += left.tolist()
        self._right += right.tolist()
        self._cost += [int(c) for c in cost.tolist()]
        return np.arange(first, len(self._cost), dtype=np.int32)

    def num_nodes(self) -> int:
        """One more than the largest node of either side."""
        return max([-1, *self._left, *self._right]) + 1

    def num_arcs(self) -> int:
        return len(self._cost)

    def left_node(self, arc: int) -> int:
        return self._left[arc]

    def right_node(self, arc: int) -> int:
        return self._right[arc]

    def cost(self, arc: int) -> int:
        return self._cost[arc]

    def solve(self) -> _Status:
        """Find the optimum; the other methods tell it."""
        size = self.num_nodes()
        self._mates = np.zeros(0, np.int64)
        self._mate_costs = np.zeros(0, np.int64)
        if size == 0:
            return _Status.OPTIMAL
        if max(map(abs, self._cost)) * size > _MOST_SUM:
            return _Status.POSSIBLE_OVERFLOW
        try:
            left, right, cost = (np.array(x, np.int64) for x in (self._left, self._right, self._cost))
            order = np.lexsort((cost, right, left))
            left, right, cost = left[order], right[order], cost[order]
            cheapest = np.ones(len(cost), bool)
            cheapest[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
            pairs = edges(left[cheapest], right[cheapest], cost[cheapest], (size, size))
            result = solve(pairs, certify=False)
        except InfeasibleError:
            return _Status.INFEASIBLE
        self._mates, self._mate_costs = result.row_to_col, result.pair_costs
        return _Status.OPTIMAL

    def optimal_cost(self) -> int:
        """The least total cost."""
        return sum(self._mate_costs.tolist())

    def right_mate(self, left_node: int) -> int:
        """The right node of a left one."""
        return int(self._mates[left_node])

    def assignment_cost(self, left_node: int) -> int:
        """The cost of the arc of a left node."""
        return int(self._mate_costs[left_node])
