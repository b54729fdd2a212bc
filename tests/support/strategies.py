"""Matrices that find bugs: ties, scales, signs, infinities, duplicates, and every layout of memory."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

CORE_DTYPES = [np.float32, np.float64, np.int32, np.int64]
SMALL_DTYPES = [np.bool_, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64, np.float16]


def _uniform(rng, m, n):
    return rng.random((m, n))


def _all_equal(rng, m, n):
    return np.full((m, n), rng.integers(-3, 4), dtype=np.float64)


def _few_values(rng, m, n):
    return rng.integers(0, 3, (m, n)).astype(np.float64)


def _mixed_signs(rng, m, n):
    return rng.normal(size=(m, n))


def _duplicate_lines(rng, m, n):
    distinct = rng.random((max(1, m // 3), max(1, n // 3)))
    return distinct[rng.integers(0, len(distinct), m)][:, rng.integers(0, distinct.shape[1], n)]


def _geometric(rng, m, n):
    a, b = rng.random((m, 2)), rng.random((n, 2))
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


def _rank_one(rng, m, n):
    return np.outer(rng.random(m), rng.random(n))


def _rank_one_sorted(rng, m, n):
    return np.outer(np.arange(m, 0.0, -1), np.arange(1.0, n + 1))


def _shifted(rng, m, n):
    """Row and column offsets that dwarf the differences."""
    return rng.integers(0, 10, (m, n)) + 1e6 * rng.integers(-5, 5, (m, 1)) + 1e6 * rng.integers(-5, 5, (1, n))


def _wide_range(rng, m, n):
    return np.ldexp(rng.random((m, n)) - 0.5, rng.integers(-40, 40, (m, n)))


KINDS = [
    _uniform,
    _all_equal,
    _few_values,
    _mixed_signs,
    _duplicate_lines,
    _geometric,
    _rank_one,
    _rank_one_sorted,
    _shifted,
    _wide_range,
]


def make_matrix(kind, rng, m, n, dtype):
    """A matrix of one of KINDS; integers span about 1000 values."""
    values = kind(rng, m, n)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return values > np.median(values)
    if dtype.kind in "iu":
        largest = np.abs(values).max() or 1.0
        limit = min(1000, np.iinfo(dtype).max)
        values = np.rint(values / largest * limit)
        if dtype.kind == "u":
            values = np.abs(values)
    with np.errstate(over="ignore"):
        return np.clip(values, -6e4, 6e4).astype(dtype) if dtype == np.float16 else values.astype(dtype)


def lay_out(matrix, layout):
    """The same numbers in another place of memory."""
    if layout == "C":
        return np.ascontiguousarray(matrix)
    if layout == "F":
        return np.asfortranarray(matrix)
    if layout == "strided":
        m, n = matrix.shape
        block = np.zeros((2 * m, 3 * n), matrix.dtype)
        block[::2, ::3] = matrix
        return block[::2, ::3]
    if layout == "reversed rows":
        return np.ascontiguousarray(matrix[::-1])[::-1]
    if layout == "reversed both":
        return np.ascontiguousarray(matrix[::-1, ::-1])[::-1, ::-1]
    if layout == "part of rows":
        return np.hstack([matrix, matrix])[:, : matrix.shape[1]]
    if layout == "big-endian":
        return matrix.astype(matrix.dtype.newbyteorder(">"))
    if layout == "misaligned":
        raw = np.zeros(matrix.nbytes + 1, np.uint8)
        view = raw[1:].view(matrix.dtype).reshape(matrix.shape)
        view[...] = matrix
        return view
    assert layout == "read-only"
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = [
    "C",
    "F",
    "strided",
    "reversed rows",
    "reversed both",
    "part of rows",
    "big-endian",
    "misaligned",
    "read-only",
]


@st.composite
def matrices(draw, dtypes=tuple(CORE_DTYPES), longest=14, layouts=("C", "F"), forbid=False):
    """A matrix of 1 to `longest` rows and columns. With `forbid`, infinite entries (+inf) of several patterns."""
    m = draw(st.integers(1, longest), label="rows")
    n = draw(st.integers(1, longest), label="columns")
    kind = draw(st.sampled_from(KINDS), label="kind")
    dtype = draw(st.sampled_from(list(dtypes)), label="dtype")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), label="seed"))
    matrix = make_matrix(kind, rng, m, n, dtype)
    if forbid:
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float32 else np.float64)
        matrix[_pattern(draw, rng, m, n)] = np.inf
    return lay_out(matrix, draw(st.sampled_from(list(layouts)), label="layout"))


def _pattern(draw, rng, m, n):
    """Where pairs are forbidden."""
    i, j = np.indices((m, n))
    pattern = draw(st.sampled_from(["random", "triangle", "band", "blocks", "line", "all"]), label="pattern")
    if pattern == "random":
        return rng.random((m, n)) < draw(st.sampled_from([0.1, 0.5, 0.8, 0.95]), label="share")
    if pattern == "triangle":
        return i > j
    if pattern == "band":
        return np.abs(i - j) > draw(st.integers(0, 2), label="width")
    if pattern == "blocks":
        return (i % 2) != (j % 3 % 2)
    if pattern == "line":
        return (i == m // 2) if draw(st.booleans(), label="row") else (j == n // 2)
    return np.ones((m, n), dtype=bool)
