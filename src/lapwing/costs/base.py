"""The contract of a cost source: the view that the flow has of costs, in a matrix or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

CostArray = NDArray[Any]

DENSE_LIMIT_BYTES: Final = 8 << 30  # of costs that are written out as a matrix, unless memory_limit= says otherwise
MAX_LINES = np.iinfo(np.int32).max  # rows or columns

# The storage of costs: a matrix in memory; arrays of the allowed pairs; computed at every read; rows from a callback;
# rows from a file; rows divided among several processes.
Tier = Literal["dense", "sparse", "computed", "rows", "streamed", "sharded"]

_IDENTITY_BYTES = 1 << 22, 1 << 30  # of costs that are hashed: these, ...
_IDENTITY_SHARE = 64  # ... and of larger ones this part: a hash takes ten times as long as a solve's pass

_INT64: np.dtype[Any] = np.dtype(np.int64)
_FLOAT64: np.dtype[Any] = np.dtype(np.float64)


def identity_step(nbytes: int) -> int:
    """Which lines are hashed of costs that take so many bytes: each of this number."""
    least, most = _IDENTITY_BYTES
    return -(-nbytes // min(max(least, nbytes // _IDENTITY_SHARE), most)) or 1


@dataclass(frozen=True, eq=False)
class CudaFunction:
    """The program that computes costs on a GPU.

    Attributes
    ----------
    text : str
        CUDA C++ with ``__device__ T cost(const Arrays& in, long long i, long long j)``.
    arrays : name -> C-contiguous array, of the host or of a GPU, int or float
        The members of ``in``.
    """

    text: str
    arrays: Mapping[str, int | float | NDArray[Any] | GpuArray]


class CostSource(ABC):
    """(m, n) costs of one of the core's dtypes. A pair has the same cost, to the last bit, however it is read."""

    tier: ClassVar[Tier]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def is_integer(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def dual_dtype(self) -> np.dtype[Any]:
        """Of sums and duals: int64 for integers, float64 for floats."""
        return _INT64 if self.is_integer else _FLOAT64

    @property
    def nbytes(self) -> int:
        """Of the costs as a matrix, which need not exist."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def rows_are_contiguous(self) -> bool:
        """Whether rows are no slower to read than columns, so that a square problem is solved as it stands."""
        return True

    @property
    def reads_columns(self) -> bool:
        """Whether the transposed problem can be read as well, as a tall one has to be."""
        return True

    @property
    def held_bytes(self) -> int:
        """Bytes that the source itself keeps in memory, beside the data it was made from."""
        return 0

    @property
    def dims(self) -> int:
        """How many coordinates of each point a cost is computed from; 0 if it is not computed from points."""
        return 0

    @property
    def device_of(self) -> GpuArray | None:
        """An array like those that the source was made from, if these are on a GPU: there it is solved."""
        return None

    @property
    def cuda_function(self) -> CudaFunction | None:
        """The program that computes it on a GPU; None if the GPU's own code does."""
        return None

    @property
    def is_computable_on_gpu(self) -> bool:
        """Whether a GPU can compute these costs."""
        return self.cuda_function is not None

    @property
    def matrix_limit(self) -> int:
        """Bytes that these costs may take as a matrix, for a method that reads no source."""
        return DENSE_LIMIT_BYTES

    def limited(self, _limit: int) -> CostSource:
        """The same costs, of which at most so many bytes are held in memory."""
        return self

    def in_sense(self, _maximize: bool) -> CostSource:
        """The same costs, in which infinities forbid pairs where that is maximised, or minimised."""
        return self

    @abstractmethod
    def compiled(self, transposed: bool) -> Any:
        """What `_core.solve` and `_core.certify` read: an array or a `_core.CostSource`."""

    @abstractmethod
    def read(self, rows: slice) -> CostArray:
        """The costs of some rows, as a matrix: a view where there is one to be had."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> CostArray:
        """The matrix, for `numpy.asarray`.

        Raises
        ------
        ArgumentError
            If it takes more than `matrix_limit` bytes.
        ValueError
            If a copy is ruled out.
        """
        if copy is False:
            raise ValueError("these costs are in no matrix: numpy cannot have one without a copy")
        if self.nbytes > self.matrix_limit:
            raise ArgumentError(
                f"the matrix of {self.shape[0]} x {self.shape[1]} costs would take {self.nbytes} bytes, more than "
                f"{self.matrix_limit}: read some of its rows, source.read(slice(0, 100))"
            )
        return np.array(self.read(slice(None)), dtype)

    def row_proofs(
        self, _row_to_col: NDArray[np.int64], _u: NDArray[Any], _v: NDArray[Any]
    ) -> tuple[NDArray[Any], ...] | None:
        """What `_core.certify_rows` finds of all rows, where these are in other processes; None if they are here."""
        return None

    def counters(self) -> dict[str, float]:
        """Counts since the source was made; the difference goes into a result's statistics."""
        return {}

    def identity(self) -> Iterator[bytes]:
        """Bytes that tell these costs from others: a matrix, or of a large one rows at even distances."""
        step = identity_step(self.nbytes)
        for i in range(0, self.shape[0], step):
            yield self.read(slice(i, i + 1)).tobytes()

    @abstractmethod
    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
