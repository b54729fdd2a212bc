"""Random instances of the literature, reproducible to the last bit.

The cost of a pair depends on (class, n, seed, i, j) alone, through a counter-based hash: any block of any matrix can be
made anywhere, in any order, on any device, and has the same bits. All arithmetic is unsigned 64-bit or IEEE double
without fused multiply-add, summed in the order written here.

    mix(z)         the finaliser of splitmix64 (Steele, Lea & Flood, OOPSLA 2014), after adding its golden gamma
    hash(s, a, b)  mix(mix(mix(s ^ C1) + a) ^ (b * C2 + C3)), constants below
    unit(h)        (h >> 11) * 2**-53, in [0, 1)
    point(t, k)    unit(hash(seed + 0x1000003 * (t + 1), t + 0x77, k)): coordinate t of point k

    class          cost of row i and column j
    uniform        unit(hash(seed, i, j))
    int:R          hash(seed, i, j) * (round(R n) + 1) / 2**64, rounded down: integers in [0, R n]
    geometric      squared distance of two uniform points of the unit square (tags 0, 1 for rows, 2, 3 for columns)
    disjoint       the same; rows of the second half shifted by (1, 1), columns of the first half by (0, 1), of the
                   second half by (1, 0): no row is near its column, the hardest of the geometric classes
    lowrank:K      sum over q < K of point(8 + q, i) * point(8 + q, j)
    sanity         point(100, j) + point(101, i), and 0.1 more off the diagonal: the identity is optimal

The classes are those of Guthe & Thuerck, "Algorithm 1015", ACM TOMS 47 (2021), section 5, drawn from our own hash.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lapwing.costs.base import CostSource
from lapwing.costs.function import cuda_source
from lapwing.costs.points import squared_euclidean
from lapwing.errors import ArgumentError

__all__ = ["CLASSES", "block", "computed", "generate", "points"]

#: The classes; an argument after a colon scales `int` (default 1) and sets the rank of `lowrank` (default 1).
CLASSES: Final = ("uniform", "int:R", "geometric", "disjoint", "lowrank:K", "sanity")

_U64 = np.uint64
_GOLDEN_GAMMA = _U64(0x9E3779B97F4A7C15)
_MIX_1 = _U64(0xBF58476D1CE4E5B9)
_MIX_2 = _U64(0x94D049BB133111EB)
_SEED_XOR = _U64(0x5851F42D4C957F2D)
_COLUMN_FACTOR = _U64(0xD1342543DE82EF95)
_COLUMN_OFFSET = _U64(0x2545F4914F6CDD1D)
_TAG_STEP = 0x1000003
# The class "uniform", on a GPU; row and column as they are hashed here.
_UNIFORM_SOURCE = """
__device__ unsigned long long mix(unsigned long long z) {
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}
__device__ double cost(const Arrays& in, long long i, long long j) {
    return (mix(in.row_keys[i] ^ in.col_keys[j]) >> 11) * 0x1p-53;
}
"""
_TILE_BYTES = 1 << 18  # a tile and its one temporary stay in the second-level cache


def generate(
    cls: str, n: int, seed: int = 0, *, cols: int | None = None, dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    """Make the cost matrix of one instance.

    Parameters
    ----------
    cls : str
        One of `CLASSES`, such as ``"uniform"``, ``"int:10"`` or ``"lowrank:2"``.
    n : int
        Number of rows; also the n of the class (the range of ``int:R``, the halves of ``disjoint``).
    seed : int
        From 0 to 2**63 - 1.
    cols : int, optional
        Number of columns; n when not given. The benchmarks' rectangular class is ``uniform`` with ``cols=2 * n``.
    dtype : dtype
        The costs are made in float64 and converted. An integer type is for ``int:R`` only.

    Returns
    -------
    ndarray of shape (n, cols)

    Raises
    ------
    ArgumentError
        An unknown class, a size or seed out of range, or a dtype that cannot hold the costs.
    """
    width = n if cols is None else cols
    _check_size(n, "n")
    _check_size(width, "cols")
    if n < 0 or width < 0:
        raise ArgumentError(f"an instance cannot have {n} x {width} costs; give sizes of at least 0")
    if max(n, width, n * width) > np.iinfo(np.intp).max // 8:
        raise ArgumentError(f"no memory holds an instance of {n} x {width} costs; give smaller sizes")
    return block(cls, n, seed, np.arange(n), np.arange(width), cols=width, dtype=dtype)


def block(
    cls: str,
    n: int,
    seed: int,
    row_index: ArrayLike,
    col_index: ArrayLike,
    *,
    cols: int | None = None,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """Make the block of an instance with the given rows and columns; parameters as in `generate`.

    Returns
    -------
    ndarray of shape (len(row_index), len(col_index))
        Equal in every bit to ``generate(cls, n, seed, cols=cols, dtype=dtype)[np.ix_(row_index, col_index)]``.
    """
    kind, argument = _parse(cls, n)
    _check_seed(seed)
    i = np.asarray(row_index, dtype=np.int64)
    j = np.asarray(col_index, dtype=np.int64)
    out = np.empty((i.size, j.size), dtype=dtype)
    if out.dtype.kind in "iu":
        if kind != "int":
            raise ArgumentError(f"costs of class {cls!r} are not integers; use a floating-point dtype, not {out.dtype}")
        if argument > np.iinfo(out.dtype).max:
            raise ArgumentError(f"class {cls!r} with n = {n} needs costs up to {argument}; {out.dtype} holds less")
    elif out.dtype.kind != "f":
        raise ArgumentError(
            f"dtype {out.dtype} cannot hold costs; use float32, float64, or an integer type for 'int:R'"
        )
    if out.size == 0:
        return out
    if kind in ("uniform", "int"):
        _fill_hashed(out, kind, argument, seed, i, j)
    elif kind in ("geometric", "disjoint"):
        x, y = points(kind, n, seed, cols=cols)
        _fill_squared_distances(out, x[i], y[j])
    elif kind == "lowrank":
        _fill_lowrank(out, argument, seed, i, j)
    else:
        _fill_sanity(out, seed, i, j)
    return out


def points(
    cls: str, n: int, seed: int = 0, *, cols: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points behind a geometric instance: the cost is their squared distance.

    Parameters
    ----------
    cls : {"geometric", "disjoint"}
    n, seed, cols
        As in `generate`.

    Returns
    -------
    x : ndarray of shape (n, 2), float64
        Of the rows.
    y : ndarray of shape (cols, 2), float64
        Of the columns.
    """
    if cls not in ("geometric", "disjoint"):
        raise ArgumentError(f"class {cls!r} has no points; 'geometric' and 'disjoint' have")
    _check_seed(seed)
    rows, columns = np.arange(n), np.arange(n if cols is None else cols)
    x = np.stack([_point(seed, 0, rows), _point(seed, 1, rows)], axis=1)
    y = np.stack([_point(seed, 2, columns), _point(seed, 3, columns)], axis=1)
    if cls == "disjoint":
        x[2 * rows >= rows.size] += 1.0
        second = 2 * columns >= columns.size
        y[~second, 1] += 1.0
        y[second, 0] += 1.0
    return x, y


def computed(cls: str, n: int, seed: int = 0, *, cols: int | None = None, dtype: DTypeLike = np.float64) -> CostSource:
    """An instance whose costs are computed whenever they are read, for sizes that no memory holds.

    Parameters
    ----------
    cls : {"uniform", "geometric", "disjoint"}
        "uniform" is computed on a GPU only.
    n, seed, cols
        As in `generate`.
    dtype : float32 or float64
        Of uniform costs, to which they are rounded, as `generate` does; of points, whose distances are computed in it:
        with float32 another instance than `generate` makes.
    """
    if cls != "uniform":
        x, y = points(cls, n, seed, cols=cols)
        return squared_euclidean(x.astype(dtype), y.astype(dtype))
    _check_seed(seed)
    rows, columns = np.arange(n), np.arange(n if cols is None else cols)
    keys = {"row_keys": _row_key(seed, rows), "col_keys": _col_key(columns)}
    return cuda_source(_UNIFORM_SOURCE, shape=(len(rows), len(columns)), arrays=keys, dtype=dtype)


def _check_size(size: int, name: str) -> None:
    if not isinstance(size, (int, np.integer)):
        raise ArgumentError(f"{name} must be an integer, got {size!r}")


def _parse(cls: str, n: int) -> tuple[str, int]:
    """Class and integer argument: the largest cost of ``int:R``, the rank of ``lowrank:K``, else 0."""
    _check_size(n, "n")
    kind, _, text = str(cls).partition(":")
    try:
        if kind == "int":
            largest = round(float(text or 1) * n)
            if 0 <= largest < 2**32 - 1:
                return kind, largest
        elif kind == "lowrank":
            rank = int(text or 1)
            if rank >= 1:
                return kind, rank
        elif kind in ("uniform", "geometric", "disjoint", "sanity") and not text:
            return kind, 0
    except (ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"unknown instance class {cls!r} for n = {n}; use one of {', '.join(CLASSES)} (0 <= R n < 2**32 - 1, K >= 1)"
    )


def _check_seed(seed: int) -> None:
    if not (isinstance(seed, (int, np.integer)) and 0 <= seed < 2**63):
        raise ArgumentError(f"seed {seed!r} is out of range; use an integer from 0 to 2**63 - 1")


def _mix(z: NDArray[np.uint64], scratch: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix z in place; scratch has its shape. Array arithmetic wraps without warnings."""
    z += _GOLDEN_GAMMA
    for shift, factor in ((30, _MIX_1), (27, _MIX_2)):
        np.right_shift(z, _U64(shift), out=scratch)
        z ^= scratch
        z *= factor
    np.right_shift(z, _U64(31), out=scratch)
    z ^= scratch
    return z


def _row_key(seed: int, a: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The part of hash(seed, a, b) that depends on a alone: mix(mix(seed ^ C1) + a)."""
    key = np.array([seed], dtype=_U64) ^ _SEED_XOR
    key = _mix(key, np.empty_like(key)) + a.astype(_U64)
    return _mix(key, np.empty_like(key))


def _col_key(b: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The part of hash(seed, a, b) that depends on b alone: b C2 + C3."""
    return b.astype(_U64) * _COLUMN_FACTOR + _COLUMN_OFFSET


def _unit(h: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (h >> _U64(11)).astype(np.float64) * 2.0**-53


def _point(seed: int, tag: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    key = _row_key(seed + _TAG_STEP * (tag + 1), np.array([tag + 0x77])) ^ _col_key(k)
    return _unit(_mix(key, np.empty_like(key)))


def _tiles(rows: int, cols: int) -> list[tuple[slice, slice]]:
    width = max(1, min(cols, _TILE_BYTES // 8))
    height = max(1, _TILE_BYTES // (8 * width))
    return [
        (slice(top, top + height), slice(left, left + width))
        for top in range(0, rows, height)
        for left in range(0, cols, width)
    ]


def _fill_hashed(
    out: NDArray[Any], kind: str, largest: int, seed: int, i: NDArray[np.int64], j: NDArray[np.int64]
) -> None:
    row_key, col_key = _row_key(seed, i), _col_key(j)
    for rows, cols in _tiles(*out.shape):
        h = row_key[rows, None] ^ col_key[None, cols]
        scratch = np.empty_like(h)
        _mix(h, scratch)
        if kind == "uniform":
            h >>= _U64(11)
            unit = h.astype(np.float64)
            unit *= 2.0**-53
            out[rows, cols] = unit
        else:  # floor(h * m / 2**64) by halves: h = high 2**32 + low, and m < 2**32 keeps every product below 2**64
            m = _U64(largest + 1)
            np.bitwise_and(h, _U64(0xFFFFFFFF), out=scratch)
            scratch *= m
            scratch >>= _U64(32)
            h >>= _U64(32)
            h *= m
            h += scratch
            h >>= _U64(32)
            out[rows, cols] = h


def _fill_squared_distances(out: NDArray[Any], x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    for rows, cols in _tiles(*out.shape):
        a = x[rows, :1] - y[cols, 0]
        b = x[rows, 1:] - y[cols, 1]
        a *= a
        b *= b
        a += b
        out[rows, cols] = a


def _fill_lowrank(out: NDArray[Any], rank: int, seed: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
    left = [_point(seed, 8 + q, i) for q in range(rank)]
    right = [_point(seed, 8 + q, j) for q in range(rank)]
    for rows, cols in _tiles(*out.shape):
        total = left[0][rows, None] * right[0][None, cols]
        for q in range(1, rank):
            total += left[q][rows, None] * right[q][None, cols]
        out[rows, cols] = total


def _fill_sanity(out: NDArray[Any], seed: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
    of_row, of_col = _point(seed, 101, i), _point(seed, 100, j)
    for rows, cols in _tiles(*out.shape):
        diagonal = of_col[None, cols] + of_row[rows, None]
        out[rows, cols] = np.where(i[rows, None] == j[None, cols], diagonal, diagonal + 0.1)
