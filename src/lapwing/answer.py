"""What a backend answers, wherever it runs: an assignment and duals, in the user's orientation and sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.certificate import Number

Duals = tuple[NDArray[Any], NDArray[Any]]  # u (m,) and v (n,), in the user's orientation and sense
Keep = Callable[["Answer"], None]  # given what a method has, now and then


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class Answer:
    """What a method found.

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
        By which the method moved prices at its end: their errors are ulps of it, too.
    objective, bound : int, float or None
        What the assignment costs, and what the optimum is not below, where no certificate says so.
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
