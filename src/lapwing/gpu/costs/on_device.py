"""A matrix in a GPU's memory, as far as it is read here: row by row, to tell it from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostArray, CostSource, Tier
from lapwing.costs.dtypes import core_dtype
from lapwing.errors import ArgumentError
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import read_array

_ELSEWHERE = "a matrix on a GPU is solved there: leave device= out"


@dataclass(frozen=True, eq=False)
class DeviceCost(CostSource):
    """(m, n) costs of `lapwing.gpu.runtime.arrays`; in the core's dtypes, as a CPU would have them."""

    tier: ClassVar[Tier] = "dense"
    matrix: GpuArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return core_dtype(np.dtype("float32" if self.matrix.dtype == "bfloat16" else self.matrix.dtype))

    def read(self, rows: slice) -> CostArray:
        """The costs of some rows; quick if each is in one piece."""
        given = self.matrix
        begin, end, step = rows.indices(given.shape[0])
        at = given.pointer + begin * given.strides[0] * ITEM_BYTES[given.dtype]
        shape, strides = (len(range(begin, end, step)), given.shape[1]), (given.strides[0] * step, given.strides[1])
        part = GpuArray(given.owner, at, shape, strides, given.dtype, given.ordinal, given.stream, given.library)
        return read_array(part).astype(self.dtype)

    def compiled(self, transposed: bool) -> Any:
        raise ArgumentError(_ELSEWHERE)

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        raise ArgumentError(_ELSEWHERE)
