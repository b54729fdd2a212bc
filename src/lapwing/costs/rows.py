"""Costs that a callback supplies, a block of rows at a time: from a disk, a network, a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lapwing import _core
from lapwing.costs.base import DENSE_LIMIT_BYTES, MAX_LINES, CostArray, CostSource, Tier
from lapwing.errors import ArgumentError, DtypeError

_MAKERS = {
    np.dtype(np.float32): _core.supplied_costs_float32,
    np.dtype(np.float64): _core.supplied_costs_float64,
    np.dtype(np.int32): _core.supplied_costs_int32,
    np.dtype(np.int64): _core.supplied_costs_int64,
}
_UNITS = {"": 1} | {f"{p}{b}": base ** (k + 1) for base, b in ((1000, "B"), (1024, "iB")) for k, p in enumerate("kMGT")}
_BLOCK_BYTES = 8 << 20
_MOST_BYTES = 1 << 62  # that can be asked for: more than any machine has
_IDENTITY_ROWS = 16

Callback = Callable[[int, int], Any]


@dataclass(frozen=True, eq=False)
class RowCost(CostSource):
    """(m, n) costs that a callback supplies; made by `lapwing.costs.rows`."""

    tier: ClassVar[Tier] = "rows"
    callback: Callback
    given_shape: tuple[int, int]
    given_dtype: np.dtype[Any]
    cache_bytes: int
    matrix_limit: int = DENSE_LIMIT_BYTES

    def limited(self, limit: int) -> RowCost:
        """The same costs, with a cache of their own if this one is too large."""
        if limit >= max(self.held_bytes, min(self.matrix_limit, self.nbytes)):
            return self
        return replace(self, cache_bytes=min(limit, self.cache_bytes), matrix_limit=min(limit, self.matrix_limit))

    def __repr__(self) -> str:
        return f"<lapwing.costs.RowCost: {self.shape[0]} x {self.shape[1]} {self.dtype} from {self.callback!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.callback, self.given_shape, self.given_dtype, self.cache_bytes, self.matrix_limit)

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
    def reads_columns(self) -> bool:
        return 0 in self.shape

    def compiled(self, transposed: bool) -> Any:
        """The source that the core reads: never transposed, unless it is empty."""
        if 0 in self.shape:
            return np.zeros(self.shape[::-1] if transposed else self.shape, self.dtype)
        return self._source

    def read(self, rows: slice) -> CostArray:
        """The costs of some rows, from the cache or the callback."""
        begin, end, step = rows.indices(self.shape[0])
        if not len(range(begin, end, step)) or 0 in self.shape:
            return np.zeros((len(range(begin, end, step)), self.shape[1]), self.dtype)
        if step != 1:
            return np.vstack([self.read(slice(i, i + 1)) for i in range(begin, end, step)])
        return self._source.read(begin, end).reshape(end - begin, self.shape[1])

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
        matched = row_to_col >= 0
        costs = np.zeros(len(row_to_col), self.dtype)
        step = max(1, _BLOCK_BYTES // max(1, self.shape[1] * self.dtype.itemsize))
        for begin in range(0, self.shape[0], step):
            part = slice(begin, begin + step)
            rows = np.flatnonzero(matched[part])
            costs[part][rows] = self.read(part)[rows, row_to_col[part][rows]]
        return costs[matched]

    def identity(self) -> Iterator[bytes]:
        """A few rows: each may be dear."""
        for i in range(0, self.shape[0], max(1, self.shape[0] // _IDENTITY_ROWS)):
            yield self.read(slice(i, i + 1)).tobytes()

    def counters(self) -> dict[str, float]:
        """Rows found in the cache and not, and calls of the callback."""
        return {} if 0 in self.shape else self._source.counters()

    @cached_property
    def _source(self) -> _core.CostSource:
        return _MAKERS[self.dtype](*self.shape, self.cache_bytes, self._supply)

    @property
    def _supply(self) -> Callback:
        return partial(_supplied, self.callback, self.shape[1], self.dtype)


def rows(
    callback: Callback, shape: tuple[int, int], dtype: DTypeLike = np.float64, cache: int | str = "1GB"
) -> RowCost:
    """Costs that a callback supplies, a block of rows at a time.

    Parameters
    ----------
    callback : callable
        ``callback(begin, end)`` returns the costs of rows begin to end - 1, an (end - begin, n) array of just `dtype`,
        the same at every call. Called for the blocks of a first pass, of a last pass (the certificate), and in between
        for single rows, as they are needed: some ten times a row on structured costs. By one thread at a time, which is
        the one that solves unless `threads=` asks for more.
    shape : (m, n)
        At most as many rows as columns, unless rows may stay free at an `unmatched_cost`.
    dtype : float32, float64, int32 or int64
        +inf (-inf when maximising) forbids a pair. int64 takes one more pass, which rules out that sums overflow.
    cache : int or str
        Bytes, or like "8GB" or "512MiB", for rows that are kept. Where a quarter of the rows fits, the most often used
        are; below, those that were used again lately (segmented LRU). A few blocks are kept in any case. It belongs to
        the source: another solve finds the rows there.

    Returns
    -------
    RowCost, (m, n)
        A result's statistics count for it ``requests`` and ``request_seconds`` of the callback, ``cache_hits`` and
        ``cache_misses`` of rows that were read, and ``cache_hit_rate``.

    Raises
    ------
    ArgumentError, DtypeError
        Here for these arguments, later for what the callback returns. An error that the callback itself raises
        reaches the caller of `solve` as it is, with a note on the rows that were asked for.
    """
    if not callable(callback):
        raise DtypeError(f"callback must be callable as callback(begin, end), got {callback!r}")
    try:
        m, n = (int(size.__index__()) for size in shape)
    except (TypeError, ValueError, AttributeError):
        raise DtypeError(f"shape must be a pair of whole numbers, got {shape!r}") from None
    if not (0 <= m <= MAX_LINES and 0 <= n <= MAX_LINES):
        raise ArgumentError(f"shape is {shape}; rows and columns must be between 0 and {MAX_LINES}")
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise DtypeError(f"dtype must be float32, float64, int32 or int64, got {dtype!r}") from None
    if kind not in _MAKERS:
        raise DtypeError(f"dtype must be float32, float64, int32 or int64, got {kind}; convert the rows")
    return RowCost(callback, (m, n), kind, as_bytes(cache, "cache"))


def as_bytes(given: Any, name: str) -> int:
    """A number of bytes, or a text like "8GB"."""
    if isinstance(given, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]i?B)\s*", given)
        if match is None:
            raise ArgumentError(f"{name} must be a size like '8GB', '512MiB' or a number of bytes, got {given!r}")
        size = float(match[1]) * _UNITS[match[2]]
        return int(min(size, _MOST_BYTES))
    try:
        size = int(given.__index__())
    except AttributeError:
        raise DtypeError(f"{name} must be a whole number of bytes or a text like '8GB', got {given!r}") from None
    if size < 0:
        raise ArgumentError(f"{name} must not be negative, got {size}")
    return min(size, _MOST_BYTES)


def _supplied(callback: Callback, cols: int, dtype: np.dtype[Any], begin: int, end: int) -> CostArray:
    """The callback's array for some rows, with everything checked but its values."""
    asked = f"rows {begin} to {end - 1}" if end - begin > 1 else f"row {begin}"
    try:
        block = np.asarray(callback(begin, end))
    except BaseException as error:
        error.add_note(f"while Lapwing asked its callback for {asked}")
        raise
    if block.shape != (end - begin, cols):
        raise ArgumentError(
            f"the callback returned shape {block.shape} for {asked}; it must return shape {(end - begin, cols)}"
        )
    if block.dtype != dtype:
        raise DtypeError(
            f"the callback returned dtype {block.dtype} for {asked}; it must return {dtype}: convert it, or pass "
            "dtype= to lapwing.costs.rows"
        )
    readable = block.dtype.isnative and block.flags.aligned and all(s % block.itemsize == 0 for s in block.strides)
    return block if readable else block.astype(dtype.newbyteorder("="))
