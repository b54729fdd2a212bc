"""Sparse costs as a matrix, and in the memory of an emulated GPU."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from lapwing.costs.sparse import SparseCost
from support.gpu_memory import Gpu, OnGpu


def written_out(cost: Any) -> np.ndarray:
    """The matrix, with infinity where sparse costs have no pair."""
    assert isinstance(cost, SparseCost)
    return cost.read(slice(None))


class CupyMatrix:
    """What CuPy's matrices answer, for one of SciPy's (CSR, CSC or COO) whose arrays lie on an emulated GPU."""

    def __init__(self, gpu: Gpu, matrix: Any, indices: type = np.int32) -> None:
        self.matrix, self.format, self.shape = matrix, matrix.format, matrix.shape
        self.data = OnGpu(gpu, matrix.data)
        if matrix.format == "coo":
            self.row, self.col = (OnGpu(gpu, part.astype(indices)) for part in matrix.coords)
        else:
            self.indices, self.indptr = (OnGpu(gpu, part.astype(indices)) for part in (matrix.indices, matrix.indptr))

    def get(self) -> Any:
        return self.matrix


def pretend_cupy(monkeypatch: Any) -> None:
    """Have `CupyMatrix` taken for CuPy's."""
    module = ModuleType("cupyx.scipy.sparse")
    module.issparse = lambda value: isinstance(value, CupyMatrix)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", module)
