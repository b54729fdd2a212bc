"""Coordinates of points, checked: on the host, or a copy on the GPU where a user's points are.

Points on a GPU stay there if there are many coordinates: to copy them to the host and back takes longer than to solve
the problem. The host gets them when it asks for them, for a solve on the CPU, say. A kernel makes the copy
(kernels/costs/coordinates.cu), in the order in which other kernels read it, and finds the range of each dimension.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from lapwing.arrays import read_view, view_if_on_gpu
from lapwing.costs.base import MAX_LINES, CostArray
from lapwing.costs.dtypes import EXACT_FLOAT64, as_array, without_mask
from lapwing.errors import ArgumentError, DtypeError, LapwingError, RangeError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

_SMALL_FLOATS = ("float16", "float32", "bfloat16")  # exact in float32
_FEW_DIMS = 4  # points of fewer are put in order on the host
_MANY = 1 << 16  # coordinates of one set of points that stay on a GPU


class Coordinates:
    """Finite points on the host.

    Attributes
    ----------
    host : (k, d), float32 or float64, C-ordered, read-only
    shape : (k, d)
    dtype : float32 or float64
    on_gpu : GpuArray or None
        (d, k): where a copy lies on a GPU, by dimension.
    """

    on_gpu: GpuArray | None = None

    def __init__(self, points: CostArray) -> None:
        self.host: CostArray = frozen(points)
        self.shape: tuple[int, int] = (len(points), points.shape[1])
        self.dtype: np.dtype[Any] = points.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Coordinates, (self.host,)

    @property
    def dims(self) -> int:
        """Coordinates of a point."""
        return self.shape[1]

    @property
    def nbytes(self) -> int:
        """Of all coordinates."""
        return len(self) * self.dims * self.dtype.itemsize

    def on(self, ordinal: int | None) -> GpuArray | None:
        """The copy on this GPU, if there is one."""
        return self.on_gpu if self.on_gpu is not None and self.on_gpu.ordinal == ordinal else None

    def range(self) -> tuple[list[float], list[float]]:
        """The least and the largest coordinate in each dimension, of one point at least."""
        lowest, highest = self.host.min(axis=0).tolist(), self.host.max(axis=0).tolist()
        return lowest, highest


class GpuCoordinates(Coordinates):
    """The same on a GPU; `host` copies them from there."""

    on_gpu: GpuArray

    def __init__(self, on_gpu: GpuArray, lowest: list[float], highest: list[float]) -> None:
        self.on_gpu = on_gpu
        self.shape: tuple[int, int] = (on_gpu.shape[1], on_gpu.shape[0])
        self.dtype: np.dtype[Any] = np.dtype(on_gpu.dtype)
        self._range = lowest, highest

    @cached_property
    def host(self) -> CostArray:  # type: ignore[override]
        return Coordinates(read_view(self.on_gpu).T).host

    def range(self) -> tuple[list[float], list[float]]:
        return self._range


def as_coordinates(
    given_x: Any, given_y: Any, on_host: bool = False
) -> tuple[Coordinates, Coordinates, GpuArray | None]:
    """Two sets of points of one dtype and dimension, copied once, and of which library and GPU they are."""
    views = view_if_on_gpu(given_x), view_if_on_gpu(given_y)
    x: Coordinates
    y: Coordinates
    if not on_host and _stay_on_gpu(views):
        x, y = (_taken(view, name) for view, name in zip(views, "XY", strict=True))
    else:
        arrays = as_points(given_x, "X"), as_points(given_y, "Y")
        dtype = np.dtype(np.float32 if all(map(is_small, arrays)) else np.float64)
        x, y = (
            Coordinates(points.astype(dtype, copy=view is None)) for points, view in zip(arrays, views, strict=True)
        )
    if x.dims != y.dims:
        raise ArgumentError(f"X and Y must have the same number of dimensions, got shapes {x.shape} and {y.shape}")
    return x, y, device_of_points(given_x, given_y)


def frozen(points: CostArray) -> CostArray:
    """In C order and read-only; `points` is nobody else's."""
    points = np.ascontiguousarray(points)
    points.flags.writeable = False
    return points


def device_of_points(given_x: Any, given_y: Any) -> GpuArray | None:
    """The GPU that holds the points."""
    arrays = [view for view in map(view_if_on_gpu, (given_x, given_y)) if view is not None]
    if len({array.ordinal for array in arrays}) > 1:
        raise ArgumentError("X and Y are on different GPUs: move them to one")
    return replace(arrays[0], owner=None, pointer=0) if arrays else None


def is_small(points: CostArray) -> bool:
    """Whether points are computed with in float32."""
    return points.dtype.name in _SMALL_FLOATS


def as_points(given: Any, name: str) -> CostArray:
    """Finite points (k, d) of a real dtype, which is exact in float64, on the host."""
    view = view_if_on_gpu(given)
    if view is not None:
        given = read_view(view)
    try:
        points = as_array(without_mask(given, name), name)
    except LapwingError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is no array of points: {error}") from error
    usable = points.dtype.kind in "biu" or (points.dtype.kind == "f" and points.dtype.itemsize <= 8)
    if not usable and points.dtype.name != "bfloat16":
        raise DtypeError(f"{name} has dtype {points.dtype}; convert it with {name}.astype(np.float64)")
    _check_shape(points.shape, name)
    if points.dtype.kind in "iu" and points.size:
        extreme = max(int(points.max()), -int(points.min()))
        if extreme > EXACT_FLOAT64:
            raise RangeError(f"{name} holds {extreme}, beyond 2^53: not exact in float64; shift or divide the points")
    elif points.dtype.kind != "b":
        finite = np.isfinite(points if points.dtype.kind == "f" else points.astype(np.float64))
        if not finite.all():
            i, k = np.unravel_index(int(finite.argmin()), points.shape)
            raise _not_finite(name, int(i), int(k), points[i, k])
    return points


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        remedy = f"; for points on a line pass {name}[:, None]" if len(shape) == 1 else ""
        raise ArgumentError(f"{name} must have shape (points, dimensions), got {shape}{remedy}")
    if shape[0] > MAX_LINES:
        raise ArgumentError(f"{name} has {shape[0]} points; at most {MAX_LINES} are supported")


def _not_finite(name: str, i: int, k: int, value: Any) -> ArgumentError:
    return ArgumentError(f"{name}[{i}, {k}] is {value}; coordinates must be finite")


def _stay_on_gpu(views: tuple[GpuArray | None, GpuArray | None]) -> TypeGuard[tuple[GpuArray, GpuArray]]:
    """Whether both sets are on one GPU, of dtypes that the kernel reads, and many."""
    x, y = views
    return (
        x is not None
        and y is not None
        and x.ordinal == y.ordinal
        and ((x.dtype in _SMALL_FLOATS and y.dtype in _SMALL_FLOATS) or x.dtype == y.dtype == "float64")
        and all(len(shape) == 2 and shape[1] >= _FEW_DIMS and math.prod(shape) >= _MANY for shape in (x.shape, y.shape))
    )


def _taken(view: GpuArray, name: str) -> GpuCoordinates:
    """A copy on the GPU, checked."""
    from lapwing.gpu.runtime.arrays import empty_array, row_major
    from lapwing.gpu.runtime.copies import fill_bytes, read
    from lapwing.gpu.runtime.device import shared_context
    from lapwing.gpu.runtime.launch import kernels
    from lapwing.gpu.runtime.programs import COORDINATES

    _check_shape(view.shape, name)
    count, dims = view.shape
    dtype = "float64" if view.dtype == "float64" else "float32"
    with shared_context(view.ordinal, view.stream) as context:
        program = kernels(context, COORDINATES, COORDINATES.of_cost(view.dtype))
        copy = empty_array(context, (dims, count), dtype, view)
        found = empty_array(context, (2 * dims + 1,), "int64", view)
        largest, infinite = found.pointer + 8 * dims, found.pointer + 16 * dims
        fill_bytes(context, found.pointer, 0xFF, 8 * dims)
        fill_bytes(context, largest, 0, 8 * dims)
        fill_bytes(context, infinite, 0xFF, 8)
        threads, points, at_once = (COORDINATES.constants[name] for name in ("THREADS", "POINTS", "DIMS"))
        program["take_points"].launch(
            context, -(-count // points) * -(-dims // at_once), threads,
            view.pointer, *view.strides, count, dims, copy.pointer, found.pointer, largest, infinite,
        )  # fmt: skip
        keys = read(context, found.pointer, 2 * dims + 1, "int64").view(np.uint64)
        if keys[-1] != np.uint64(2**64 - 1):
            i, k = divmod(int(keys[-1]), dims)
            at = view.pointer + (i * view.strides[0] + k * view.strides[1]) * view.nbytes // (count * dims)
            raise _not_finite(name, i, k, read(context, at, 1, view.dtype)[0])
    lowest, highest = _numbers(keys[:dims]), _numbers(keys[dims:-1])
    return GpuCoordinates(replace(copy, shape=(dims, count), strides=row_major((dims, count))), lowest, highest)


def _numbers(keys: CostArray) -> list[float]:
    """Of ordered keys (kernels/common/numbers.cuh)."""
    sign = np.uint64(1 << 63)
    numbers: list[float] = np.where(keys & sign, keys ^ sign, ~keys).view(np.float64).tolist()
    return numbers


def spans(x: Coordinates, y: Coordinates) -> list[float]:
    """For each dimension, what no difference exceeds; infinite where that may overflow."""
    if not (len(x) and len(y)):
        return []
    (low_x, high_x), (low_y, high_y) = x.range(), y.range()
    lowest, highest = map(min, zip(low_x, low_y, strict=True)), map(max, zip(high_x, high_y, strict=True))
    return [high - low for high, low in zip(highest, lowest, strict=True)]


def sum_of_squares(x: Coordinates, y: Coordinates) -> float:
    """What no squared distance exceeds."""
    return sum(span * span for span in spans(x, y))


def largest_magnitudes(points: Coordinates) -> list[float]:
    """For each dimension."""
    if not len(points):
        return [0.0] * points.dims
    return [max(abs(low), abs(high)) for low, high in zip(*points.range(), strict=True)]
