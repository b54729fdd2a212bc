"""The assignment problems of Beasley's OR-Library (J. Oper. Res. Soc. 41, 1990): assignN and assignpN.

Dense (`orlib`): n, then the n * n costs row by row, broken into lines anywhere.
Sparse (`orlib-sparse`): n, then lines ``i j cost`` with i and j from 1 to n; pairs not listed are forbidden.
Both are minimised.

Without a `format` a file is dense if it has n * n numbers after n, unless each of its lines has three of them (and n is
not 3); else sparse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.files.base import FileFormatError, FileProblem, ReadOptions
from lapwing.files.entries import Entries
from lapwing.files.text import concatenate, pieces, read_text


def read_orlib(path: Path, options: ReadOptions, sparse: bool | None = None) -> FileProblem:
    """Read either form; `sparse` selects it, None detects it from the content."""
    parsed = list(pieces(path, read_text(path)))
    values: NDArray[Any] = concatenate([piece.values for piece in parsed])
    counts = concatenate([piece.counts for piece in parsed])
    del parsed
    if values.size == 0:
        raise FileFormatError(path, "is empty; the first number must be n")
    n = _size(path, values[0])
    body = values[1:]
    counts[counts.nonzero()[0][0]] -= 1
    if sparse is None:
        sparse = body.size != n * n or (n != 3 and bool(np.all((counts == 0) | (counts == 3))))
    if not sparse:
        if body.size != n * n:
            raise FileFormatError(
                path,
                f"has {body.size} costs after n = {n}, not n * n = {n * n}; it is truncated, or not of this format",
                None if body.size > n * n else counts.size,
            )
        return FileProblem(body.reshape(n, n), options.maximize, "orlib")
    wrong = (counts != 0) & (counts != 3)
    if wrong.any():
        at = int(wrong.argmax())
        raise FileFormatError(
            path,
            f"has {counts[at]} numbers after n = {n}, neither n * n costs in all nor 'i j cost'"
            " in each line; say what it is with format=",
            at + 1,
        )
    entries = Entries.from_triples(body.reshape(-1, 3), np.flatnonzero(counts) + 1)
    entries.check(path, (n, n))
    return FileProblem(entries.costs(path, (n, n), options), options.maximize, "orlib-sparse")


def _size(path: Path, value: Any) -> int:
    if not (np.isfinite(value) and value == int(value) and 0 <= value < 2**31):
        raise FileFormatError(path, f"the first number must be n, not {value}", 1)
    return int(value)
