"""Matrix Market files (Boisvert, Pozo & Remington, NISTIR 5935, 1996): ``%%MatrixMarket matrix FORMAT FIELD SYMMETRY``.

coordinate   lines ``i j cost``; pairs not listed are forbidden (not zero, as a linear-algebra reader would have it);
             field `pattern` has lines ``i j`` and gives every listed pair the cost 1
array        all costs, column by column
integer      kept as int64; `real` is float64; `complex` is refused
symmetric    the lower triangle is stored; skew-symmetric: its mirror image is negated, and the diagonal is left out
             (zero in `array` files, forbidden in `coordinate` files)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost
from lapwing.files.base import FileFormatError, FileProblem, ReadOptions, check_dense_size
from lapwing.files.entries import Entries
from lapwing.files.text import concatenate, pieces, read_text

_COMMENT: Final = re.compile(rb"%[^\n]*")
_CHOICES: Final = (
    ("object", ("matrix",)),
    ("format", ("coordinate", "array")),
    ("field", ("real", "integer", "double", "pattern")),
    ("symmetry", ("general", "symmetric", "skew-symmetric")),
)


@dataclass(frozen=True)
class _Header:
    coordinate: bool
    pattern: bool
    symmetry: str
    sizes: tuple[int, ...]  # rows, columns, and for coordinate files the number of entries
    end: int  # offset of the first byte after the size line
    lines: int  # lines before that byte


def read_matrix_market(path: Path, options: ReadOptions) -> FileProblem:
    """Read a coordinate or array file."""
    data = read_text(path)
    header = _read_header(path, data)
    body = _COMMENT.sub(b"", data[header.end :]) if b"%" in data[header.end :] else data[header.end :]
    parsed = list(pieces(path, body, header.lines + 1))
    values = concatenate([piece.values for piece in parsed])
    counts = concatenate([piece.counts for piece in parsed])
    del parsed
    cost: NDArray[Any] | SparseCost
    if header.coordinate:
        cost = _coordinate(path, header, values, counts, options)
    else:
        cost = _array(path, header, values, options)
    return FileProblem(cost, options.maximize, "mtx")


def _read_header(path: Path, data: bytes) -> _Header:
    end = data.find(b"\n")
    words = data[: end if end >= 0 else len(data)][:200].decode("ascii", "replace").lower().split()
    if not words or words[0] != "%%matrixmarket" or len(words) != 5:
        raise FileFormatError(path, "must be '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'", 1)
    for word, (name, choices) in zip(words[1:], _CHOICES, strict=True):
        if word not in choices:
            raise FileFormatError(path, f"the {name} {word!r} is not supported; {', '.join(choices)} are", 1)
    coordinate = words[2] == "coordinate"
    if words[3] == "pattern" and not coordinate:
        raise FileFormatError(path, "an array file cannot be of field 'pattern'; use real or integer", 1)
    line = 1
    while 0 <= end < len(data):
        start, line = end + 1, line + 1
        end = data.find(b"\n", start)
        text = (data[start:end] if end >= 0 else data[start : start + 200]).strip()
        if text and not text.startswith(b"%"):
            sizes = _sizes(path, text, 3 if coordinate else 2, line)
            if words[4] != "general" and sizes[0] != sizes[1]:
                raise FileFormatError(path, f"a {words[4]} matrix must be square, not {sizes[0]} x {sizes[1]}", line)
            return _Header(coordinate, words[3] == "pattern", words[4], sizes, end + 1 if end >= 0 else len(data), line)
    raise FileFormatError(path, "ends before the line with the sizes", line)


def _sizes(path: Path, text: bytes, count: int, line: int) -> tuple[int, ...]:
    words = text.split()
    if len(words) != count or not all(word.isdigit() and len(word) <= 10 for word in words):
        names = "rows, columns and entries" if count == 3 else "rows and columns"
        shown = text[:40].decode("ascii", "backslashreplace")
        raise FileFormatError(path, f"must hold the numbers of {names}, not {shown!r}", line)
    return tuple(int(word) for word in words)


def _coordinate(
    path: Path, header: _Header, values: NDArray[Any], counts: NDArray[np.int64], options: ReadOptions
) -> SparseCost | NDArray[Any]:
    rows, cols, declared = header.sizes
    width = 2 if header.pattern else 3
    wrong = (counts != 0) & (counts != width)
    if wrong.any():
        at = int(wrong.argmax())
        expected = "i j" if header.pattern else "i j cost"
        raise FileFormatError(path, f"has {counts[at]} numbers instead of '{expected}'", header.lines + 1 + at)
    lines = np.flatnonzero(counts) + header.lines + 1
    if lines.size != declared:
        raise FileFormatError(path, f"declares {declared} entries but has {lines.size}; is it truncated?", header.lines)
    table = values.reshape(-1, width)
    if header.pattern:
        table = np.concatenate((table, np.ones((declared, 1), dtype=table.dtype)), axis=1)
    entries = Entries.from_triples(table, lines)
    if header.symmetry != "general":
        entries = _mirrored(path, entries, -1 if header.symmetry == "skew-symmetric" else 1)
    entries.check(path, (rows, cols))
    return entries.costs(path, (rows, cols), options)


def _mirrored(path: Path, entries: Entries, sign: int) -> Entries:
    upper = entries.rows < entries.cols if sign > 0 else entries.rows <= entries.cols
    if upper.any():
        triangle = "on or below" if sign > 0 else "below"
        line = int(entries.lines[upper.argmax()])
        raise FileFormatError(path, f"only entries {triangle} the diagonal belong into this kind of matrix", line)
    off = entries.rows != entries.cols
    return Entries(
        np.concatenate((entries.rows, entries.cols[off])),
        np.concatenate((entries.cols, entries.rows[off])),
        np.concatenate((entries.values, sign * entries.values[off])),
        np.concatenate((entries.lines, entries.lines[off])),
    )


def _array(path: Path, header: _Header, values: NDArray[Any], options: ReadOptions) -> NDArray[Any]:
    rows, cols = header.sizes
    skew = header.symmetry == "skew-symmetric"
    stored = rows * cols if header.symmetry == "general" else rows * (rows - 1) // 2 if skew else rows * (rows + 1) // 2
    if values.size != stored:
        raise FileFormatError(
            path,
            f"declares {rows} x {cols} ({header.symmetry}), so {stored} costs, but has {values.size}; is it truncated?",
            header.lines,
        )
    if header.symmetry == "general":
        return values.reshape(cols, rows).T
    check_dense_size(path, (rows, cols), options.memory_limit)
    cost = np.zeros((rows, cols), dtype=values.dtype)
    col, row = np.triu_indices(rows, k=1 if skew else 0)  # the lower triangle, column by column
    cost[row, col] = values
    cost[col, row] = -values if skew else values
    return cost
