"""The rows of one rank, and what it does with them on order: list, fold into column minima, copy, prove.

An order is a message, and so is its answer. `RowsOnHost` has rows that the core reads, in memory, computed, or from a
file; `device_shard.py` has those of a tensor on a GPU. Rows are numbered from the shard's first; errors name the rows
of the whole problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.base import CostArray, CostSource
from lapwing.distributed.channel import Interrupts
from lapwing.distributed.messages import Message
from lapwing.errors import InvalidCostError
from lapwing.problem import Problem
from lapwing.tensors import like

if TYPE_CHECKING:
    from lapwing.distributed.columns import Columns
    from lapwing.gpu.runtime.arrays import GpuArray

Indices = NDArray[np.int32]
Lists = tuple[Indices, Indices, NDArray[Any], NDArray[Any]]  # counts, columns, costs, tau
Found = tuple[NDArray[Any], Indices, Indices, NDArray[Any]]  # violation, column, invalid column, matched cost
Points = tuple[dict[str, Any] | None, Sequence[NDArray[Any]]]  # in words, and coordinates

_BLOCK_BYTES: Final = 64 << 20  # of costs that are listed at a time: between two blocks, Ctrl-C is looked for


class Shard(ABC):
    """Rows of a rank.

    Attributes
    ----------
    shape : (rows, cols)
    dtype : one of the core's dtypes
    prices, prices_of_cols : arrays or None
        Of this shard's rows, and of all columns, as in `Problem`.
    where : str
        In words.
    first : int
        The number of its first row in the whole problem.
    rows_of_problem : int
    threads : int
    """

    where: str
    first: int = 0
    rows_of_problem: int = 0
    threads: int = 1

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        maximize: bool,
        prices: NDArray[Any] | None,
        prices_of_cols: NDArray[Any] | None,
    ) -> None:
        self.shape: tuple[int, int] = shape
        self.dtype: np.dtype[Any] = dtype
        self.maximize: bool = maximize
        self.prices: NDArray[Any] | None = prices
        self.prices_of_cols: NDArray[Any] | None = prices_of_cols
        self.interrupts: Interrupts = Interrupts()
        self._columns: Columns | None = None

    def follow(self, order: Message) -> Message:
        """Do as ordered.

        Raises
        ------
        InvalidCostError, KeyboardInterrupt
        """
        self.interrupts.raise_if_pending()
        given = order.arrays
        if order.kind == "ping":
            return Message("done")
        if order.kind == "rows":
            return Message("done", {}, [self.rows(order.fields["begin"], order.fields["end"])])
        if order.kind == "pairs":
            return Message("done", {}, [self.pairs(given[0], given[1])])
        if order.kind == "part":
            return Message("done", {}, [self.part(given[0], given[1])])
        if order.kind == "list":
            rows = self._all_rows() if order.fields["all"] else given[0]
            return self._listed(rows, given[1] if given[1].size else None, given[2])
        if order.kind == "lower":
            return Message("done", {}, [self.lower(given[0], given[1])])
        if order.kind == "extreme":
            value, row, col = self.extreme()
            return Message("done", {"value": value, "row": row + self.first, "col": col})
        if order.kind == "prove":
            return Message("done", {}, self.prove(given[0], given[1], given[2], order.fields["parts"]))
        if self._columns is None:  # of a method of the papers
            from lapwing.distributed.columns import Columns

            self._columns = Columns(self)
        return self._columns.follow(order)

    def _all_rows(self) -> Indices:
        return np.arange(self.shape[0], dtype=np.int32)

    def _listed(self, rows: Indices, limits: NDArray[Any] | None, v: NDArray[Any]) -> Message:
        found: list[Lists] = []
        at = 0
        for some in self.blocks(rows):
            up_to = None if limits is None else limits[at : at + len(some)]
            at += len(some)
            try:
                lists = self.list(some, up_to, v)
            except _core.InvalidCost as error:
                row, col = error.args
                value = float(self.pairs(np.array([row], np.int32), np.array([col], np.int32))[0])
                raise InvalidCostError(self.first + row, col, value, self.maximize) from None
            if lists is None:
                return Message("too large")
            found.append(lists)
        kinds: tuple[Any, ...] = (np.int32, np.int32, self.dtype, dual_dtype(self.dtype))
        arrays = [np.concatenate([np.zeros(0, kind), *parts]) for kind, parts in zip(kinds, _each(found), strict=True)]
        return Message("done", {}, [array.astype(kind, copy=False) for array, kind in zip(arrays, kinds, strict=True)])

    def blocks(self, rows: Indices) -> Iterator[Indices]:
        """These rows, so many at a time that a block takes little memory, and time."""
        step = max(1, _BLOCK_BYTES // max(1, self.shape[1] * self.dtype.itemsize))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]
            self.interrupts.raise_if_pending()

    @abstractmethod
    def rows(self, begin: int, end: int) -> CostArray:
        """The costs of some rows."""

    @abstractmethod
    def pairs(self, rows: Indices, cols: Indices) -> CostArray:
        """The costs of pairs."""

    @abstractmethod
    def part(self, rows: Indices, cols: Indices) -> CostArray:
        """The costs of all pairs of some rows and columns, as a matrix."""

    @abstractmethod
    def list(self, rows: Indices, limits: NDArray[Any] | None, v: NDArray[Any]) -> Lists | None:
        """Candidate lists (`RowOwners::list` in cpp/include/lapwing/costs/owners.hpp).

        Raises `_core.InvalidCost`; None if a cost is too large.
        """

    @abstractmethod
    def lower(self, rows: Indices, u: NDArray[Any]) -> NDArray[Any]:
        """Column minima of c - u over some rows, of costs as the kernels minimise them."""

    @abstractmethod
    def extreme(self) -> tuple[int | float, int, int]:
        """The finite cost of the largest magnitude, its row and its column."""

    @abstractmethod
    def prove(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], parts: int) -> Found:
        """The certificate's data of every row; duals as minimised, [parts, rows] and [parts, cols]."""

    @abstractmethod
    def as_given(self, values: NDArray[Any]) -> Any:
        """Numbers of an answer in the library, and on the device, of the rows."""

    def costs(self) -> Any:
        """The costs that a result keeps; see `lapwing.result.Costs`."""
        return None

    @property
    def tensor(self) -> Any:
        """The rows as a tensor on a GPU, if they are one."""
        return None

    @property
    def view(self) -> GpuArray | None:
        """The rows as kernels of Lapwing read them, if they are on a GPU, and there are some."""
        return None

    @property
    def gpu(self) -> tuple[str, str] | None:
        """The dtype of `view`, and a name of its GPU, if there is one."""
        return None

    def close(self) -> None:  # noqa: B027
        """Give back what orders left behind."""

    def exported(self) -> dict[str, Any] | None:
        """The handle by which another process opens the memory of the rows; None if it cannot."""
        return None

    def points(self) -> Points:
        """The points on a GPU that define the rows, as `RowsOfPoints` has them; None if there are none."""
        return None, []


class RowsOnHost(Shard):
    """Rows that the core reads.

    Parameters
    ----------
    problem : Problem
        Of these rows alone.
    given : as the caller has them
    """

    def __init__(self, problem: Problem, given: Any) -> None:
        super().__init__(
            problem.shape, problem.cost.dtype, problem.maximize, problem.unmatched_cost, problem.unmatched_cols
        )
        self.problem = problem
        self._template = given
        self.where = "host memory" if problem.cost.tier == "dense" else f"{problem.cost.tier} on the host"

    @property
    def _cost(self) -> CostSource:
        return self.problem.cost

    def rows(self, begin: int, end: int) -> CostArray:
        return self._cost.read(slice(begin, end))

    def pairs(self, rows: Indices, cols: Indices) -> CostArray:
        row_to_col = np.full(self.shape[0], -1, np.int64)
        costs = np.empty(len(rows), self.dtype)
        if self._cost.tier == "dense":
            costs[:] = self._cost.compiled(False)[rows, cols]
        elif len(np.unique(rows)) == len(rows):  # in the order of rows
            row_to_col[rows] = cols
            costs[np.argsort(rows, kind="stable")] = self._cost.picked(row_to_col)
        else:
            for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
                costs[k] = self.rows(i, i + 1)[0, j]
        return costs

    def part(self, rows: Indices, cols: Indices) -> CostArray:
        if self._cost.tier == "dense":
            matrix: CostArray = self._cost.compiled(False)[np.ix_(rows, cols)]
            return matrix
        part = np.empty((len(rows), len(cols)), self.dtype)
        for k, i in enumerate(rows.tolist()):
            part[k] = self.rows(i, i + 1)[0, cols]
        return part

    def list(self, rows: Indices, limits: NDArray[Any] | None, v: NDArray[Any]) -> Lists | None:
        cost = self._cost.compiled(False)
        return _core.list_rows(cost, self.maximize, self.first, self.rows_of_problem, rows, limits, v, self.threads)

    def lower(self, rows: Indices, u: NDArray[Any]) -> NDArray[Any]:
        return _core.column_minima(self._cost.compiled(False), self.maximize, rows, u)

    def extreme(self) -> tuple[int | float, int, int]:
        return _core.extreme_cost(self._cost.compiled(False), self.threads)

    def prove(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], parts: int) -> Found:
        cost = self._cost.compiled(False)
        return _core.certify_rows(cost, self.maximize, row_to_col, u.ravel(), v.ravel(), parts, self.threads)

    def as_given(self, values: NDArray[Any]) -> Any:
        return like(values, self._template)

    def costs(self) -> Any:
        from lapwing.result import HostCosts

        return HostCosts(self.problem)


def dual_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of sums and duals of costs of this dtype."""
    return np.dtype(np.int64) if dtype.kind == "i" else np.dtype(np.float64)


def _each(found: list[Lists]) -> list[list[NDArray[Any]]]:
    return [list(parts) for parts in zip(*found, strict=True)] if found else [[], [], [], []]
