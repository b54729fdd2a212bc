"""Costs whose rows are in the processes of a group, as the coordinator sees them.

The core reads single rows through a cache, and gives orders to the owners for all that concerns many rows (`RowOwners`
in cpp/include/lapwing/costs/owners.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.base import CostArray, CostSource, Tier
from lapwing.costs.dense import DenseCost
from lapwing.distributed.coordinator import Coordinator
from lapwing.distributed.messages import Message
from lapwing.distributed.shard import dual_dtype

_MAKERS: Final = {
    np.dtype(np.float32): _core.owned_costs_float32,
    np.dtype(np.float64): _core.owned_costs_float64,
    np.dtype(np.int32): _core.owned_costs_int32,
    np.dtype(np.int64): _core.owned_costs_int64,
}
_IDENTITY_ROWS: Final = 16
_GATHERED_BYTES: Final = 64 << 20

Arrays = tuple[NDArray[Any], ...]


class _Supply:
    """The callbacks of the core. Row numbers here are those of the whole problem; requests have those of a shard."""

    def __init__(self, coordinator: Coordinator, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._coordinator = coordinator
        self._shape, self._dtype = shape, dtype

    def __call__(self, begin: int, end: int) -> CostArray:
        """Rows begin to end - 1."""
        begins = self._coordinator.begins
        orders = {}
        for rank in range(self._coordinator.size):
            first, last = max(begin, int(begins[rank])), min(end, int(begins[rank + 1]))
            if first < last:
                place = {"begin": first - int(begins[rank]), "end": last - int(begins[rank])}
                orders[rank] = Message("rows", place)
        answers = self._coordinator.ask(orders)
        blocks = [answers[rank].arrays[0] for rank in sorted(answers)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def pairs(self, rows: NDArray[Any], cols: NDArray[Any]) -> CostArray:
        """The costs of pairs."""
        places = self._by_owner(rows)
        cols = cols.astype(np.int32)
        answers = self._coordinator.ask(
            {rank: Message("pairs", {}, [self._own(rows, at, rank), cols[at]]) for rank, at in places.items()}
        )
        costs = np.empty(len(rows), self._dtype)
        for rank, at in places.items():
            costs[at] = answers[rank].arrays[0]
        return costs

    def part(self, rows: NDArray[Any], cols: NDArray[Any]) -> CostArray:
        """The costs of all pairs of some rows and columns."""
        places = self._by_owner(rows)
        answers = self._coordinator.ask(
            {rank: Message("part", {}, [self._own(rows, at, rank), cols]) for rank, at in places.items()}
        )
        part = np.empty((len(rows), len(cols)), self._dtype)
        for rank, at in places.items():
            part[at] = answers[rank].arrays[0]
        return part

    def list(self, rows: NDArray[Any], limits: NDArray[Any], v: NDArray[Any]) -> Arrays | None:
        """Candidate lists of these rows, with limits or without, or of all if there are none."""
        if len(rows):
            places = self._by_owner(rows)
            orders = {}
            for rank, at in places.items():
                given = [self._own(rows, at, rank), limits[at] if len(limits) else limits, v]
                orders[rank] = Message("list", {"all": False}, given)
        else:
            orders = dict.fromkeys(self._everybody, Message("list", {"all": True}, [rows, limits, v]))
        answers = self._coordinator.ask(orders)
        if any(answer.kind == "too large" for answer in answers.values()):
            return None
        lists = [np.concatenate(parts) for parts in zip(*(answers[rank].arrays for rank in orders), strict=True)]
        return _in_order(lists, np.concatenate(list(places.values()))) if len(rows) else tuple(lists)

    def lower(self, rows: NDArray[Any], u: NDArray[Any]) -> NDArray[Any]:
        """Column minima of c - u over these rows."""
        places = self._by_owner(rows)
        answers = self._coordinator.ask(
            {rank: Message("lower", {}, [self._own(rows, at, rank), u[at]]) for rank, at in places.items()}
        )
        minima: NDArray[Any] = np.minimum.reduce([answer.arrays[0] for answer in answers.values()])
        return minima

    def extreme(self) -> tuple[int | float, int, int]:
        """The finite cost of the largest magnitude, its row and its column."""
        answers = self._coordinator.ask(dict.fromkeys(self._everybody, Message("extreme")))
        found = max((answers[rank].fields for rank in sorted(answers)), key=lambda told: abs(told["value"]))
        return found["value"], found["row"], found["col"]

    @property
    def _everybody(self) -> Sequence[int]:
        """The ranks that have rows."""
        begins = self._coordinator.begins
        return [rank for rank in range(self._coordinator.size) if begins[rank] < begins[rank + 1]]

    def _by_owner(self, rows: NDArray[Any]) -> dict[int, NDArray[np.int64]]:
        """Places in `rows`, by the rank that has them."""
        owners = self._coordinator.owners_of(rows)
        return {int(rank): np.flatnonzero(owners == rank) for rank in np.unique(owners)}

    def _own(self, rows: NDArray[Any], places: NDArray[np.int64], rank: int) -> NDArray[np.int32]:
        own: NDArray[np.int32] = (rows[places] - self._coordinator.begins[rank]).astype(np.int32)
        return own


def _in_order(lists: list[NDArray[Any]], places: NDArray[np.int64]) -> Arrays:
    """Lists of rows that stand at these places, in the order of places."""
    counts, cols, costs, tau = lists
    ends = np.cumsum(counts)
    order = np.argsort(places)
    if not np.array_equal(order, np.arange(len(order))):
        entries = np.concatenate([np.arange(ends[k] - counts[k], ends[k]) for k in order])
        counts, cols, costs, tau = counts[order], cols[entries], costs[entries], tau[order]
    return counts, cols, costs, tau


@dataclass(frozen=True, eq=False)
class ShardedCost(CostSource):
    """(m, n) costs whose rows are shared out among ranks.

    Attributes
    ----------
    coordinator : Coordinator
    cache_bytes : int
        Of rows that are kept here.
    """

    tier: ClassVar[Tier] = "sharded"
    coordinator: Coordinator
    given_shape: tuple[int, int]
    given_dtype: np.dtype[Any]
    cache_bytes: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.given_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.given_dtype

    @property
    def held_bytes(self) -> int:
        return min(self.cache_bytes, self.nbytes)

    @property
    def matrix_limit(self) -> int:
        return self.cache_bytes

    @property
    def reads_columns(self) -> bool:
        return 0 in self.shape

    def compiled(self, transposed: bool) -> Any:
        if 0 in self.shape:
            return np.zeros(self.shape[::-1] if transposed else self.shape, self.dtype)
        return self._source

    def read(self, rows: slice) -> CostArray:
        """The costs of some rows, from the cache or their owners."""
        begin, end, step = rows.indices(self.shape[0])
        cols = self.shape[1]
        if 0 in self.shape or end <= begin:
            return np.empty((len(range(begin, end, step)), cols), self.dtype)
        if step != 1:
            return np.concatenate([self.read(slice(i, i + 1)) for i in range(begin, end, step)])
        costs: CostArray = self._source.read(begin, end).reshape(-1, cols)
        return costs

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        rows = np.flatnonzero(row_to_col >= 0)
        if not len(rows):
            return np.zeros(0, self.dtype)
        return self._supply.pairs(rows, row_to_col[rows])

    def identity(self) -> Iterator[bytes]:
        """A few rows, the same however they are shared out."""
        for i in range(0, self.shape[0], max(1, self.shape[0] // _IDENTITY_ROWS)):
            yield self.read(slice(i, i + 1)).tobytes()

    @property
    def is_gathered(self) -> bool:
        """Whether the matrix is so small that rank 0 solves it whole, which spares a message for each row."""
        return 0 not in self.shape and self.nbytes <= min(self.cache_bytes, _GATHERED_BYTES)

    def gathered(self) -> DenseCost:
        """The matrix, in one message of each owner."""
        return DenseCost(np.ascontiguousarray(self._supply(0, self.shape[0])))

    def counters(self) -> dict[str, float]:
        return {} if 0 in self.shape else self._source.counters()

    def row_proofs(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any]) -> Arrays | None:
        """The findings of the owners' passes over their rows."""
        if 0 in self.shape:
            return None
        begins, parts = self.coordinator.begins, u.shape[0] if u.ndim == 2 else 1
        of_rows, of_cols = u.reshape(parts, -1), v.reshape(parts, -1)
        orders = {}
        for rank in range(self.coordinator.size):
            own = slice(int(begins[rank]), int(begins[rank + 1]))
            orders[rank] = Message("prove", {"parts": parts}, [row_to_col[own], of_rows[:, own], of_cols])
        answers = self.coordinator.ask(orders)
        found = zip(*(answers[rank].arrays for rank in sorted(answers)), strict=True)
        kinds: tuple[Any, ...] = (dual_dtype(self.dtype), np.int32, np.int32, self.dtype)
        return tuple(np.concatenate(each).astype(kind, copy=False) for each, kind in zip(found, kinds, strict=True))

    @cached_property
    def _supply(self) -> _Supply:
        return _Supply(self.coordinator, self.shape, self.dtype)

    @cached_property
    def _source(self) -> _core.CostSource:
        return _MAKERS[self.dtype](*self.shape, self.cache_bytes, self._supply)
