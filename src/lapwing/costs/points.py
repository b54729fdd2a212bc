"""Costs computed from points.

A source is a weighted sum of terms, each a metric of one set of coordinates. The arithmetic is that of the points'
dtype, float32 or float64: for every pair, differences first, dimensions in their order, each operation rounded once.
The compiled rows (cpp/include/lapwing/costs/points.hpp) compute the same bits wherever a cost is needed, so what the
certificate proves is the problem that the docstrings below define.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.base import DENSE_LIMIT_BYTES, CostArray, CostSource, Tier
from lapwing.costs.coordinates import Coordinates, as_coordinates, largest_magnitudes, spans, sum_of_squares
from lapwing.errors import ArgumentError, DtypeError, RangeError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

_ROOM = 2.0  # for the rounding of a cost, and of the bound on it


@dataclass(frozen=True, eq=False)
class Term:
    """One metric of one set of coordinates.

    Attributes
    ----------
    metric : str
        A name of kernels/costs/metrics.cuh.
    x, y : Coordinates (m, d) and (n, d)
    power : float
        Of "minkowski"; 1 for the others.
    weight : float
    largest : float
        No unweighted cost exceeds it in magnitude, and no intermediate result does.
    limit : float
        Pairs whose unweighted cost is above it, as a number of the points' dtype, are forbidden.
    """

    metric: str
    x: Coordinates
    y: Coordinates
    power: float
    weight: float
    largest: float
    limit: float = math.inf

    @property
    def is_gated(self) -> bool:
        """Whether it forbids pairs."""
        return self.limit < math.inf

    def limit_in(self, dtype: np.dtype[Any]) -> float:
        """The limit as a number of the points' dtype."""
        with np.errstate(over="ignore"):
            return float(dtype.type(self.limit))


@dataclass(frozen=True, eq=False)
class PointCost(CostSource):
    """(m, n) costs computed from points whenever they are read, in memory O(m + n).

    Attributes
    ----------
    terms : tuple of Term
        Of one dtype and shape; their weighted costs are added in this order.
    device_of : GpuArray or None
        Of which library and GPU the points were, without their memory.
    forbidden : float
        The cost of pairs beyond a term's limit: an infinity.
    """

    tier: ClassVar[Tier] = "computed"
    terms: tuple[Term, ...]
    device_of: GpuArray | None = None
    matrix_limit: int = DENSE_LIMIT_BYTES
    forbidden: float = math.inf

    def in_sense(self, maximize: bool) -> PointCost:
        """The same costs, with pairs forbidden as that needs."""
        forbidden = -math.inf if maximize and self.is_gated else math.inf
        return self if forbidden == self.forbidden else replace(self, forbidden=forbidden)

    def limited(self, limit: int) -> PointCost:
        """The same costs, never written out to a matrix above the limit."""
        return replace(self, matrix_limit=min(limit, self.matrix_limit))

    def exchanged(self) -> PointCost:
        """The costs with rows and columns exchanged: every metric is symmetric, to the last bit."""
        return replace(self, terms=tuple(replace(term, x=term.y, y=term.x) for term in self.terms))

    def __post_init__(self) -> None:
        largest = _ROOM * sum(abs(term.weight) * term.largest for term in self.terms)
        # what every sum along an alternating path leaves room for (cpp/include/lapwing/numbers/range.hpp)
        limit = float(np.finfo(self.dtype).max)
        if self.dtype == np.float64:
            limit /= 2.0 * min(self.shape) + 4.0
        if not largest <= limit:
            raise RangeError(
                f"costs of these points may reach {largest:.3g}, and only {limit:.3g} leaves room for their sums in "
                f"{self.dtype}; scale the points down"
                + ("" if self.dtype == np.float64 else ", or pass them as float64")
            )

    def __repr__(self) -> str:
        names = " + ".join(
            f"{term.weight:g} {term.metric}" + (f" up to {term.limit:g}" if term.is_gated else "")
            for term in self.terms
        )
        return f"<lapwing.costs.PointCost: {self.shape[0]} x {self.shape[1]} {self.dtype}, {names}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return PointCost, (self.terms, None, self.matrix_limit)  # at home on the host

    @property
    def is_gated(self) -> bool:
        """Whether a term forbids pairs."""
        return any(term.is_gated for term in self.terms)

    @property
    def is_computable_on_gpu(self) -> bool:
        return True

    @property
    def dims(self) -> int:
        return sum(term.x.dims for term in self.terms)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.terms[0].x), len(self.terms[0].y)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.terms[0].x.dtype

    def compiled(self, transposed: bool) -> _core.CostSource:
        """The source that the core reads. Every metric is symmetric, to the last bit."""
        return self._transposed if transposed else self._forward

    def read(self, rows: slice) -> CostArray:
        """The costs of some rows, computed anew."""
        begin, end, step = rows.indices(self.shape[0])
        if step != 1:
            picked = [self._forward.read(i, i + 1) for i in range(begin, end, step)]
            return np.array(picked, self.dtype).reshape(len(picked), self.shape[1])
        end = max(begin, end)
        return self._forward.read(begin, end).reshape(end - begin, self.shape[1])

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
        rows = np.flatnonzero(row_to_col >= 0)
        return self._forward.pairs(rows, row_to_col[rows])

    def identity(self) -> Iterator[bytes]:
        """The terms themselves."""
        for term in self.terms:
            yield repr((term.metric, term.power, term.weight, term.x.shape, term.limit)).encode()
            yield term.x.host.tobytes()
            yield term.y.host.tobytes()

    @cached_property
    def _forward(self) -> _core.CostSource:
        return self._made([(term, term.x.host, term.y.host) for term in self.terms])

    @cached_property
    def _transposed(self) -> _core.CostSource:
        return self._made([(term, term.y.host, term.x.host) for term in self.terms])

    def _made(self, terms: list[tuple[Term, CostArray, CostArray]]) -> _core.CostSource:
        make = _core.point_costs_float32 if self.dtype == np.float32 else _core.point_costs_float64
        return make([(t.metric, x, y, t.weight, t.power, t.limit_in(self.dtype), self.forbidden) for t, x, y in terms])


def squared_euclidean(X: Any, Y: Any, *, max_distance: Any = None) -> PointCost:
    """Squared distances: cost[i, j] = sum over k of (X[i, k] - Y[j, k])**2.

    Parameters
    ----------
    X, Y : (m, d) and (n, d) real, finite
        The points of the rows and of the columns, copied; where they are on a GPU, the problem is solved there.
        float16 and float32 are computed with in float32, float64 and integers (which must be exact there) in float64;
        of two dtypes the wider one counts.
    max_distance : float, optional
        Pairs that are farther apart are forbidden; of squared distances it is the distance. Compared in the points'
        dtype with the cost as it is computed. A narrow gate makes a solve faster: far points are not even looked at.

    Returns
    -------
    PointCost, (m, n)

    Raises
    ------
    ArgumentError, DtypeError, RangeError
        If the points cannot be used, or are so far apart that costs overflow.

    Notes
    -----
    Differences are formed before they are squared, so nothing cancels however far the points are from the origin; but
    coordinates keep their own rounding, so shift float32 points to their centre before you round them to float32.
    """
    x, y, device_of = as_coordinates(X, Y)
    limit = _as_limit(max_distance)
    limit *= limit
    return _source("squared_euclidean", x, y, sum_of_squares(x, y), device_of, limit=limit)


def euclidean(X: Any, Y: Any, *, max_distance: Any = None) -> PointCost:
    """Distances: cost[i, j] = sqrt(sum over k of (X[i, k] - Y[j, k])**2).

    Parameters, returns and raises as `squared_euclidean`.
    """
    x, y, device_of = as_coordinates(X, Y)
    squared = sum_of_squares(x, y)
    limit = _as_limit(max_distance)
    return _source("euclidean", x, y, max(squared, math.sqrt(squared)), device_of, limit=limit)


def minkowski(X: Any, Y: Any, p: float, *, max_distance: Any = None) -> PointCost:
    """Minkowski distances: cost[i, j] = (sum over k of abs(X[i, k] - Y[j, k])**p)**(1 / p).

    Parameters, returns and raises as `squared_euclidean`, and

    p : float
        At least 1; 1 is the Manhattan distance, 2 the Euclidean, `math.inf` the largest difference. Others are computed
        with the C library's `pow`, a hundred times slower.
    """
    x, y, device_of = as_coordinates(X, Y)
    try:
        power = float(p)
    except (TypeError, ValueError):
        raise DtypeError(f"p must be a number, got {p!r}") from None
    except OverflowError:
        raise ArgumentError("p is beyond float64: pass math.inf for the largest difference") from None
    if not power >= 1:
        raise ArgumentError(f"p must be at least 1, got {p}: below, it is no distance")
    if power == 2:
        return euclidean(X, Y, max_distance=max_distance)
    limit = _as_limit(max_distance)
    differences = spans(x, y)
    if power == 1:
        return _source("manhattan", x, y, sum(differences), device_of, limit=limit)
    if power == math.inf:
        return _source("chebyshev", x, y, max(differences, default=0.0), device_of, limit=limit)
    try:
        largest = sum(span**power for span in differences)
    except OverflowError:
        largest = math.inf
    return _source("minkowski", x, y, max(largest, sum(differences)), device_of, power, limit)


def manhattan(X: Any, Y: Any) -> PointCost:
    """`minkowski` with p = 1: cost[i, j] = sum over k of abs(X[i, k] - Y[j, k])."""
    return minkowski(X, Y, 1)


def chebyshev(X: Any, Y: Any) -> PointCost:
    """`minkowski` with p infinite: cost[i, j] = max over k of abs(X[i, k] - Y[j, k])."""
    return minkowski(X, Y, math.inf)


def inner_product(X: Any, Y: Any) -> PointCost:
    """Inner products: cost[i, j] = sum over k of X[i, k] * Y[j, k], the low-rank matrix X @ Y.T.

    Parameters, returns and raises as `squared_euclidean`.
    """
    x, y, device_of = as_coordinates(X, Y)
    largest = sum(a * b for a, b in zip(largest_magnitudes(x), largest_magnitudes(y), strict=True))
    return _source("inner_product", x, y, largest, device_of)


def cosine(X: Any, Y: Any, *, max_distance: Any = None) -> PointCost:
    """Cosine distances: cost[i, j] = 1 - sum over k of x[i, k] * y[j, k], where x and y are X and Y as unit vectors.

    The points are divided by their lengths in float64, and rounded to their dtype, before anything else.

    Parameters, returns and raises as `squared_euclidean`; a point at the origin has no direction and is an
    `ArgumentError`.
    """
    x, y, device_of = as_coordinates(X, Y, on_host=True)
    return _source("cosine", _directions(x, "X"), _directions(y, "Y"), 4.0, device_of, limit=_as_limit(max_distance))


def haversine(X: Any, Y: Any, *, max_distance: Any = None) -> PointCost:
    """Great-circle distances on the unit sphere: cost[i, j] = 2 arcsin(``|x[i] - y[j]|`` / 2).

    x and y are X and Y as unit vectors in space, computed in float64 and rounded to the points' dtype; so a distance is
    exact to about 1e-16 (float32: 1e-7) on the unit sphere, a nanometre (a metre) on the Earth.

    Parameters
    ----------
    X, Y : (m, 2) and (n, 2) real, finite
        Latitude and longitude in radians, latitudes within pi / 2 of 0. For kilometres on the Earth:
        ``weighted(haversine(X, Y), 6371.0088)``.
    max_distance : float, optional
        In radians; as for `squared_euclidean`.

    Returns and raises as `squared_euclidean`.
    """
    x, y, device_of = as_coordinates(X, Y, on_host=True)
    limit = _as_limit(max_distance)
    return _source("great_circle", _on_sphere(x, "X"), _on_sphere(y, "Y"), 5.0, device_of, limit=limit)


def weighted(*terms: Any) -> PointCost:
    """A weighted sum of sources: ``weighted(colour, 1.0, position, 0.2)`` costs 1.0 * colour + 0.2 * position.

    Parameters
    ----------
    terms : PointCost, float, PointCost, float, ...
        Sources of one shape, each followed by its finite weight. Costs are computed in float64 if any source is of
        float64, else in float32, to which weights are rounded; sums go from the first term to the last, and the terms
        of a source that is a sum itself are multiplied out. A pair is forbidden if it is beyond `max_distance` in any
        term, before the weight.

    Returns
    -------
    PointCost, (m, n)

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    if not terms or len(terms) % 2:
        raise ArgumentError(
            f"weighted takes pairs, source and weight, one after the other: got {len(terms)} arguments; for instance "
            "weighted(colour, 1.0, position, 0.2)"
        )
    gathered: list[Term] = []
    for source, given in zip(terms[::2], terms[1::2], strict=True):
        if not isinstance(source, PointCost):
            raise DtypeError(f"weighted takes sources of lapwing.costs, got {type(source).__name__}")
        if source.shape != terms[0].shape:
            raise ArgumentError(f"weighted takes sources of one shape, got {terms[0].shape} and {source.shape}")
        weight = _as_float(given, "a weight")
        if not math.isfinite(weight):
            raise ArgumentError(f"a weight must be finite, got {weight}")
        gathered += [replace(term, weight=term.weight * weight) for term in source.terms]
    dtype = np.result_type(*(term.x.dtype for term in gathered))
    devices = [source.device_of for source in terms[::2] if source.device_of is not None]
    if len({device_of.ordinal for device_of in devices}) > 1:
        raise ArgumentError("weighted got points on several GPUs: move them to one")
    return PointCost(tuple(_in_dtype(term, dtype) for term in gathered), devices[0] if devices else None)


# The metrics that take nothing but two sets of points, by the names that the command line gives them.
METRICS: Final[dict[str, Callable[[Any, Any], PointCost]]] = {
    "squared_euclidean": squared_euclidean,
    "euclidean": euclidean,
    "manhattan": manhattan,
    "chebyshev": chebyshev,
    "cosine": cosine,
    "inner_product": inner_product,
    "haversine": haversine,
}

# --- the parts of a source ------------------------------------------------------------------------


def _source(
    metric: str,
    x: Coordinates,
    y: Coordinates,
    largest: float,
    device_of: GpuArray | None,
    power: float = 1.0,
    limit: float = math.inf,
) -> PointCost:
    return PointCost((Term(metric, x, y, power, 1.0, largest, limit),), device_of)


def _as_limit(given: Any) -> float:
    """The largest distance, infinite for none."""
    limit = math.inf if given is None else _as_float(given, "max_distance")
    if not limit >= 0:
        raise ArgumentError(f"max_distance must be at least 0, got {given}")
    return limit


def _directions(points: Coordinates, name: str) -> Coordinates:
    exact = points.host.astype(np.float64)
    exact /= np.abs(exact).max(axis=1, keepdims=True, initial=5e-324)  # or squares might overflow, or vanish
    length = np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
    if not length.all():
        raise ArgumentError(f"{name}[{int(length.argmin())}] lies at the origin: it has no direction; leave it out")
    return Coordinates((exact / length).astype(points.dtype))


def _on_sphere(points: Coordinates, name: str) -> Coordinates:
    if points.shape[1] != 2:
        raise ArgumentError(f"{name} must hold latitude and longitude, shape (points, 2), got {points.shape}")
    latitude, longitude = points.host.T.astype(np.float64)
    beyond = np.abs(latitude) > math.pi / 2 * (1 + 1e-6)
    if beyond.any():
        i = int(beyond.argmax())
        raise ArgumentError(
            f"{name}[{i}, 0] is {latitude[i]}, a latitude beyond pi / 2; coordinates are latitude and longitude in "
            "radians: convert degrees with np.radians"
        )
    across = np.cos(latitude)
    vectors = np.stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)], axis=1)
    return Coordinates(vectors.astype(points.dtype))


def _as_float(given: Any, name: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise DtypeError(f"{name} must be a number, got {given!r}") from None
    except OverflowError:
        raise ArgumentError(f"{name} must be finite in float64, got an integer beyond it") from None


def _in_dtype(term: Term, dtype: np.dtype[Any]) -> Term:
    """The term's points and weight in another dtype, whose numbers include their own."""
    with np.errstate(over="ignore"):
        weight = float(dtype.type(term.weight))
    if term.x.dtype == dtype:
        return replace(term, weight=weight)
    x, y = (Coordinates(points.host.astype(dtype)) for points in (term.x, term.y))
    return replace(term, x=x, y=y, weight=weight)
