"""Costs by the user's own CUDA function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lapwing.arrays import read_view, view_if_on_gpu
from lapwing.costs.base import MAX_LINES, CostArray, CostSource, CudaFunction, Tier
from lapwing.costs.dense import CORE_DTYPES
from lapwing.errors import ArgumentError, DtypeError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_ELEMENTS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
ON_GPU_ONLY = (
    "costs of cuda_source are computed on a GPU only: solve them there (leave device= out, or device='cuda'), or write "
    "them for a CPU, for instance as lapwing.costs.rows"
)


@dataclass(frozen=True, eq=False)
class FunctionCost(CostSource):
    """(m, n) costs by a CUDA function; made by `lapwing.costs.cuda_source`.

    Attributes
    ----------
    function : CudaFunction
    given_shape : (m, n)
    given_dtype : dtype
    """

    tier: ClassVar[Tier] = "computed"
    function: CudaFunction
    given_shape: tuple[int, int]
    given_dtype: np.dtype[Any]
    device_of: GpuArray | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        rows, cols = self.given_shape
        return f"<lapwing.costs.FunctionCost: {rows} x {cols} {self.given_dtype}, of {', '.join(self.function.arrays)}>"

    @property
    def shape(self) -> tuple[int, int]:
        return self.given_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.given_dtype

    @property
    def cuda_function(self) -> CudaFunction:
        return self.function

    def compiled(self, transposed: bool) -> Any:
        raise ArgumentError(ON_GPU_ONLY)

    def read(self, rows: slice) -> CostArray:
        raise ArgumentError(ON_GPU_ONLY)

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        raise ArgumentError(ON_GPU_ONLY)

    def identity(self) -> Iterator[bytes]:
        """The text, and what it reads."""
        yield self.function.text.encode()
        for name, value in self.function.arrays.items():
            array = np.asarray(value) if isinstance(value, (int, float, np.ndarray)) else read_view(value)
            yield f"{name} {array.dtype} {array.shape}".encode() + array.tobytes()


def cuda_source(
    source: str, *, shape: tuple[int, int], arrays: Mapping[str, Any] | None = None, dtype: DTypeLike = np.float32
) -> FunctionCost:
    r"""Costs by a CUDA C++ function of your own, on a GPU, computed whenever they are read.

    Parameters
    ----------
    source : str
        CUDA C++17 that defines ``__device__ T cost(const Arrays& in, long long i, long long j)``, for any number type
        T: the cost of row i and column j, the same each time that it is asked for. ``in`` has a member for each of
        `arrays`. Helper functions may stand beside it; headers are not to be had. It is compiled without contraction to
        fused multiply-add, at first use in seconds, and kept on disk.
    shape : (m, n)
    arrays : name -> array or number
        Arrays of booleans, integers, float32 or float64, C-contiguous, come as pointers to constant elements
        (``const float*`` for float32); those on a GPU are read in place, so leave them as they are while a solve runs,
        others are copied there. Integers come as ``long long``, floats as ``double``.
    dtype : float32, float64, int32 or int64
        To which a cost is rounded. +inf (-inf when maximising) forbids a pair.

    Returns
    -------
    FunctionCost, (m, n)

    Raises
    ------
    ArgumentError, DtypeError
        A fault of the source itself is an `ArgumentError` of `lapwing.solve`, with its lines.

    Examples
    --------
    >>> import lapwing as lw, numpy as np
    >>> x = np.array([0.0, 1.0, 2.5], np.float32)
    >>> lw.costs.cuda_source(
    ...     r'''
    ...     __device__ float cost(const Arrays& in, long long i, long long j) {
    ...         return fabsf(in.x[i] - in.x[j]) * in.w;
    ...     }
    ...     ''',
    ...     shape=(3, 3),
    ...     arrays={"x": x, "w": 0.5},
    ... )
    <lapwing.costs.FunctionCost: 3 x 3 float32, of x, w>
    """
    if not isinstance(source, str):
        raise DtypeError(f"cuda_source takes CUDA C++ as a str, got {type(source).__name__}")
    if not re.search(r"\bcost\s*\(", source):
        raise ArgumentError("the CUDA source defines no function cost(const Arrays& in, long long i, long long j)")
    chosen = np.dtype(dtype)
    if chosen not in CORE_DTYPES:
        raise DtypeError(f"dtype must be float32, float64, int32 or int64, got {chosen}")
    checked = {name: _checked(name, value) for name, value in (arrays or {}).items()}
    on_gpu = [value for value in checked.values() if not isinstance(value, (int, float, np.ndarray))]
    if len({array.ordinal for array in on_gpu}) > 1:
        raise ArgumentError("arrays are on several GPUs: move them to one")
    device_of = on_gpu[0] if on_gpu else None
    return FunctionCost(CudaFunction(source, checked), _checked_shape(shape), chosen, device_of)


def _checked_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = (int(count) for count in shape)
    except (TypeError, ValueError):
        raise ArgumentError(f"shape must be (m, n), got {shape!r}") from None
    if not (0 <= rows <= MAX_LINES and 0 <= cols <= MAX_LINES):
        raise ArgumentError(f"shape must be (m, n), each from 0 to {MAX_LINES}, got {shape}")
    return rows, cols


def _checked(name: str, value: Any) -> int | float | NDArray[Any] | GpuArray:
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"arrays has the name {name!r}, which is none of C++")
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value) if isinstance(value, (float, np.floating)) else int(value)
    array: NDArray[Any] | GpuArray
    view = view_if_on_gpu(value)
    if view is not None:
        array, dtype = view, view.dtype
        if not view.is_contiguous:
            raise ArgumentError(f"arrays[{name!r}] must be C-contiguous on a GPU, got strides {array.strides}")
    else:
        given = np.asarray(value)
        array = np.array(given, given.dtype.newbyteorder("="), order="C")  # a copy of our own
        array.flags.writeable = False
        dtype = array.dtype.name
    if dtype not in _ELEMENTS:
        raise DtypeError(f"arrays[{name!r}] has dtype {dtype}; pass booleans, integers, float32 or float64")
    return array
