"""Costs that are not a number, by ``invalid="forbid"``: their pairs are forbidden, and listed.

Arrays are replaced by copies with infinities, made where they lie: those on a GPU by their own library, in the order of
its stream, so that nothing waits. Costs that are computed, or asked for, are replaced whenever they are read.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.arrays import is_gpu_array
from lapwing.costs.base import CostArray, CostSource
from lapwing.costs.dense import row_blocks
from lapwing.costs.dtypes import is_nullable, nullable_values
from lapwing.costs.expression import ExpressionCost
from lapwing.costs.points import PointCost
from lapwing.costs.rows import Callback, RowCost
from lapwing.costs.sparse import SparseCost, is_sparse
from lapwing.costs.sparse_arrays import as_sparse_cost
from lapwing.costs.streamed import streamed_if_large
from lapwing.errors import ArgumentError
from lapwing.inputs import as_plain_array
from lapwing.matched import library_of
from lapwing.tensors import is_host_tensor, is_tensor, read_tensor


class InvalidPairs:
    """The pairs of costs that are not a number, listed when they are first asked for.

    A GPU's memory is not kept from others: its costs are to be held by the caller until then.
    """

    def __init__(self, cost: Any) -> None:
        is_weak = is_gpu_array(cost) and hasattr(type(cost), "__weakref__")
        self._refer = weakref.ref(cost) if is_weak else lambda: cost
        self._listed: Any = None  # once it is pickled

    def __getstate__(self) -> dict[str, Any]:
        return {"_listed": self.listed()}

    def listed(self) -> Any:
        """(k, 2) int64, or (k, 3) of a batch, in the library of the costs.

        Raises
        ------
        ArgumentError
        """
        if self._listed is not None:
            return self._listed
        cost = self._refer()
        if cost is None:
            raise ArgumentError("the costs are not in the GPU's memory any more: ask while you hold them")
        if is_sparse(cost):
            pairs = as_sparse_cost(cost)
            at = np.flatnonzero(pairs.data != pairs.data)
            line, across = pairs.entry_lines[at], pairs.indices[at].astype(np.int64)
            found = np.stack((across, line) if pairs.by_columns else (line, across), axis=1)
            return found[np.lexsort((found[:, 1], found[:, 0]))]
        if is_gpu_array(cost) or is_tensor(cost):
            return _where(cost != cost)
        if hasattr(cost, "isna"):
            return np.argwhere(np.asarray(cost.isna()))
        if not isinstance(cost, CostSource):
            cost = as_plain_array(cost)
        parts = [np.zeros((0, len(cost.shape)), np.int64)]
        for block in row_blocks(cost):
            rows = cost.read(block) if isinstance(cost, CostSource) else cost[block]
            found = np.argwhere(rows != rows)
            found[:, 0] += block.start
            parts.append(found)
        return np.concatenate(parts)


def without_invalid(cost: Any, maximize: bool, limit: int | None = None) -> Any:
    """The same costs, with forbidden pairs where they are not a number.

    Parameters
    ----------
    cost : as the user gave them: (m, n), or (B, m, n)
    maximize : bool
    limit : int or None
        Bytes; a memory map above it is streamed.

    Raises
    ------
    ArgumentError
        For a function that only a GPU computes, and arrays on a GPU of a library that is not known.
    """
    forbidden = -math.inf if maximize else math.inf
    if isinstance(cost, CostSource) or is_sparse(cost):
        return _source_without(cost, forbidden)
    if is_host_tensor(cost):
        read_tensor(cost, "cost")  # refuses what is no plain array of numbers
    if is_gpu_array(cost) or is_tensor(cost):
        return _in_its_library(cost, forbidden)
    cost = streamed_if_large(cost, limit)
    if isinstance(cost, CostSource):
        return _source_without(cost, forbidden)
    if hasattr(cost, "isna") and is_nullable(cost, np.asarray(cost)):
        cost = nullable_values(cost, "cost")  # missing integers are masked, and so forbidden
    if isinstance(cost, np.ma.MaskedArray) and cost.dtype.kind in "biu":
        return cost
    return _filled(as_plain_array(cost, maximize), forbidden)


def numbers_of_batch(costs: Any, maximize: bool) -> tuple[Any, Any]:
    """The costs of a batch without NaN, and what lists where they were: of each problem, if they are a list."""
    if isinstance(costs, (list, tuple)):
        return [without_invalid(cost, maximize) for cost in costs], [InvalidPairs(cost) for cost in costs]
    return without_invalid(costs, maximize), InvalidPairs(costs)


def _filled(array: CostArray, forbidden: float) -> CostArray:
    """The array itself, if all are numbers."""
    if array.ndim == 0 or (array.dtype.kind != "f" and array.dtype.name != "bfloat16"):
        return array
    copy: CostArray | None = None
    for block in row_blocks(array):
        invalid = array[block] != array[block]
        if invalid.any():
            copy = array.copy(order="K") if copy is None else copy
            copy[block][invalid] = forbidden
    return array if copy is None else copy


def _source_without(cost: Any, forbidden: float) -> CostSource:
    if isinstance(cost, PointCost):
        return cost  # all of their costs are numbers
    if is_sparse(cost):
        cost = as_sparse_cost(cost)
    if isinstance(cost, SparseCost):
        return replace(cost, data=_filled(cost.data, forbidden))
    if isinstance(cost, ExpressionCost):
        return replace(cost, nan_becomes=forbidden)
    if isinstance(cost, RowCost):
        return cost if cost.is_integer else replace(cost, callback=_Filling(cost.callback, forbidden))
    if cost.tier == "sharded":
        from lapwing.costs.shards import ShardedMatrix, sharded

        assert isinstance(cost, ShardedMatrix)
        return sharded([_in_its_library(part.owner, forbidden) for part in cost.parts])
    raise ArgumentError("invalid='forbid' takes no function that only a GPU computes: let it return infinity itself")


class _Filling:
    """A callback's rows, filled."""

    def __init__(self, callback: Callback, forbidden: float) -> None:
        self._callback, self._forbidden = callback, forbidden

    def __call__(self, begin: int, end: int) -> Any:
        rows: NDArray[Any] = np.asarray(self._callback(begin, end))
        return _filled(rows, self._forbidden) if rows.ndim == 2 else rows


def _in_its_library(array: Any, forbidden: float) -> Any:
    library = library_of(array)
    if library is np:
        raise ArgumentError(
            "invalid='forbid' takes arrays of PyTorch, CuPy and JAX on a GPU: replace NaN yourself, or pass one of them"
        )
    if library.__name__ == "torch":
        return array.detach().masked_fill(array != array, forbidden) if array.is_floating_point() else array
    return library.where(array != array, forbidden, array) if array.dtype.kind not in "iub" else array


def _where(mask: Any) -> Any:
    """(k, d) indices where a mask of any library is true."""
    found = mask.nonzero()
    return library_of(mask).stack(found, -1) if isinstance(found, tuple) else found
