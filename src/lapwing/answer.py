"""The answer of a backend on any device: an assignment and duals, in the user's orientation and sense."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.certificate import Number
from lapwing.errors import RangeError
from lapwing.problem import Problem, must_be_matched

if TYPE_CHECKING:
    from fractions import Fraction

OUT_OF_RANGE = "the optimum is out of the range of float64: divide all costs by a constant"
NO_PROOF = "the optimum has no proof within the range of float64, which its duals leave: divide all costs by a constant"

Duals = tuple[NDArray[Any], NDArray[Any]]  # u (m,) and v (n,), in the user's orientation and sense
Keep = Callable[["Answer"], None]  # given what a method has, now and then


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class Answer:
    """The answer of a method.

    Invariants: those of a `lapwing.Result`, which is made from it.

    Attributes
    ----------
    status : "optimal", "time_limit", or "running" for what is kept on the way
    row_to_col, u, v : arrays, in the library of the costs where these are on a GPU
    statistics : dict
    parts : ((k, m), (k, n)) float64, or None
        Numbers whose sums are the duals, where one float64 has too few digits for them; u and v are the sums, rounded.
    provisional : bool
        Whether an "optimal" answer may be far from the optimum: large costs were needed, and are not all the same.
    shift : float
        The amount by which the method moved prices at its end. Their errors include ulps of it.
    objective, bound : int, float or None
        The cost of the assignment, and a lower bound of the optimum, if there is no certificate.
    col_to_row : array or None
        If the method knows it.
    """

    status: str
    row_to_col: Any
    u: Any
    v: Any
    statistics: dict[str, float]
    parts: Duals | None = None
    provisional: bool = False
    shift: float = 0.0
    objective: Number | None = None
    bound: Number | None = None
    col_to_row: Any = None

    @property
    def proving_duals(self) -> Duals:
        """U and v with all their digits."""
        return (self.u, self.v) if self.parts is None else self.parts


def inverse(partner: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The same matching seen from the other side, which has `size` members: -1 where free."""
    answer = np.full(size, -1, np.int64)
    matched = np.flatnonzero(partner >= 0)
    answer[partner[matched]] = matched
    return answer


# --- what an assignment costs, without rounding on the way --------------------------------------------------------


def objective(problem: Problem, row_to_col: NDArray[np.int64]) -> Number:
    """The sum of the matched costs and of the unmatched costs of free rows and columns, of those that may be free."""
    parts = [problem.cost.picked(row_to_col)]
    free = []
    if problem.unmatched_cost is not None:
        free.append(problem.unmatched_cost[row_to_col < 0])
    if problem.unmatched_cols is not None:
        free.append(problem.unmatched_cols[inverse(row_to_col, problem.shape[1]) < 0])
    parts += [prices[~must_be_matched(prices)] for prices in free if prices.size]
    return exact_sum(parts)


def exact_sum(parts: list[NDArray[Any]]) -> Number:
    """The exact sum of integers, or the correctly rounded sum of floats.

    Raises
    ------
    RangeError
    """
    if all(part.dtype.kind == "i" for part in parts):
        return sum(_whole_sum(part) for part in parts)
    return float_sum(value for part in parts for value in part.tolist())


def float_sum(values: Iterable[Number]) -> float:
    """The correctly rounded sum.

    Raises
    ------
    RangeError
    """
    values = list(values)
    try:
        whole = all(isinstance(value, int) for value in values)
        return float(sum(values)) if whole else math.fsum(values)
    except OverflowError:  # of a sum on the way to one that may be in range
        total = _rational_sum(values)
    try:
        return float(total)
    except OverflowError:
        raise RangeError(OUT_OF_RANGE) from None


def _whole_sum(part: NDArray[Any]) -> int:
    largest = max(-int(part.min()), int(part.max())) if part.size else 0
    return int(part.sum(dtype=np.int64)) if largest * part.size < 1 << 63 else sum(part.tolist())


def _rational_sum(values: Sequence[Number]) -> Fraction:
    from fractions import Fraction  # loads much, and is seldom asked for

    return sum(map(Fraction, values), Fraction(0))


def sum_towards(values: Sequence[Number], towards: float | None = None) -> Number:
    """The sum: exact for integers, of floats rounded to the nearest, or `towards` an infinity."""
    if all(isinstance(value, int) for value in values):
        return sum(values)
    if not all(math.isfinite(value) for value in values):
        return math.fsum(values)
    exact = _rational_sum(values)
    nearest = float(exact)
    if towards is None or nearest == exact or (nearest > exact) == (towards > 0):
        return nearest
    return math.nextafter(nearest, towards)
