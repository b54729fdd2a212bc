"""Every exception that Lapwing raises on purpose. Each message names the offending value and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IndexArray = NDArray[np.int64]

_SHOWN = 5  # indices that a message lists before it says "..."


class LapwingError(Exception):
    """Base class of all of Lapwing's errors."""


class ArgumentError(LapwingError, ValueError):
    """An argument has a wrong shape or value."""


class DtypeError(LapwingError, TypeError):
    """An argument has a type that has no exact place among the numbers Lapwing computes with."""


class InvalidCostError(ArgumentError):
    """A cost is NaN, or infinite with the sign that cannot mean "forbidden".

    Attributes
    ----------
    row, col : int
        Where it stands in the matrix as it was given.
    value : float
        What stands there.
    """

    def __init__(self, row: int, col: int, value: float, maximize: bool = False) -> None:
        self.row: int = row
        self.col: int = col
        self.value: float = value
        self._maximize = maximize
        if value != value:
            remedy = f"replace it, for instance by {'-inf' if maximize else '+inf'} to forbid the pair"
        else:
            sense, forbids = ("maximising", "-inf") if maximize else ("minimising", "+inf")
            remedy = f"when {sense}, only {forbids} is allowed and forbids the pair"
        super().__init__(f"cost[{row}, {col}] is {value}: {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.col, self.value, self._maximize)


class RangeError(LapwingError, ValueError, OverflowError):
    """The costs are too large for exact sums in the arithmetic that their dtype calls for."""


class InfeasibleError(LapwingError, ValueError):
    """No assignment avoids the forbidden pairs; `rows` and `cols` prove it (Hall's theorem).

    Attributes
    ----------
    rows, cols : int64 arrays, increasing
        The Hall violator, which contains no smaller one. If rows are the scarcer side (m < n): all pairs of `rows` that
        are not forbidden lie in `cols`, and there are fewer `cols` than `rows`. For a tall matrix (m > n) rows and
        columns change roles. For a square one there are violators of either kind: the one is named that is smaller.
    """

    def __init__(self, rows: IndexArray, cols: IndexArray, by_cols: bool = False) -> None:
        self.rows: IndexArray = rows
        self.cols: IndexArray = cols
        self._by_cols = by_cols
        few, many = (rows, cols) if by_cols else (cols, rows)
        few_noun, many_noun = ("row", "column") if by_cols else ("column", "row")
        super().__init__(
            f"the problem is infeasible: {_these(many, many_noun)} {'has' if len(many) == 1 else 'have'} "
            + (f"only {_these(few, few_noun)}" if len(few) else f"no {few_noun}")
            + f" that {'are' if len(few) > 1 else 'is'} not forbidden; "
            "allow more pairs, pass unmatched_cost= to let rows stay free at a price, or infeasible='partial' to match "
            "as many as possible"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rows, self.cols, self._by_cols)


class GpuError(LapwingError, RuntimeError):
    """A GPU was asked for and cannot be used: no driver, no such device, no compiler, or hardware that is too old."""


class GroupError(LapwingError, RuntimeError):
    """A rank of a `torch.distributed` group is gone, or failed with an error that is none of Lapwing's."""


class MissingPackageError(LapwingError, ImportError):
    """The call needs a package that is not installed; the message tells how to install it."""


def infeasible(transposed: bool, violators: IndexArray, reach: IndexArray) -> InfeasibleError:
    """The error for a Hall violator of a matrix, or if `transposed` of its transpose.

    Its rows `violators` have no columns but those in `reach`, which are fewer. Both increase.
    """
    return InfeasibleError(reach, violators, by_cols=True) if transposed else InfeasibleError(violators, reach)


class InternalError(LapwingError, RuntimeError):
    """A contradiction inside Lapwing: an answer that its own certificate refuses. Please report it."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. This is a bug in Lapwing: please report it with the matrix and the output of `lapwing info`"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_internal, (str(self),)


def _rebuild_internal(message: str) -> InternalError:
    error = InternalError.__new__(InternalError)
    error.args = (message,)
    return error


def _these(indices: IndexArray, noun: str) -> str:
    """Words like "these 3 rows (0, 4, 7)"."""
    count = len(indices)
    shown = ", ".join(str(i) for i in indices[:_SHOWN]) + (", ..." if count > _SHOWN else "")
    return f"this 1 {noun} ({shown})" if count == 1 else f"these {count} {noun}s ({shown})"
