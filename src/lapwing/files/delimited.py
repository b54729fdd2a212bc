"""A dense matrix as text: one row a line, numbers separated by commas, semicolons, tabs or spaces.

`#` starts a comment; blank lines are skipped; a byte-order mark is ignored. There is no header, unless labels are asked
for: then the first line and the first column are names. The matrix is int64 where every number is an integer, else
float64. `inf` forbids a pair (`-inf` when maximising).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from lapwing.files.base import FileFormatError, FileProblem, Ids, ReadOptions
from lapwing.files.table import read_labelled
from lapwing.files.text import DECIMAL_COMMA, concatenate, pieces, read_text

_COMMENT: Final = re.compile(rb"#[^\n]*")


def read_delimited(path: Path, options: ReadOptions) -> FileProblem:
    """Read a table of numbers; a table needs no memory that its file does not justify, so there is no limit."""
    ids: Ids | None = None
    if options.labels:
        data, *labels = read_labelled(path)
        ids = labels[0], labels[1]
    else:
        data = read_text(path)
        if b"#" in data:
            data = _COMMENT.sub(b"", data)
    width, parts = 0, []
    for piece in pieces(path, data, separator=_separator(data)):
        filled = piece.counts > 0
        counts = piece.counts[filled]
        if counts.size == 0:
            continue
        width = width or int(counts[0])
        if (counts != width).any():
            at = int((filled & (piece.counts != width)).argmax())
            raise FileFormatError(
                path,
                f"has {_numbers(int(piece.counts[at]))} where the rows before have {width}; every row needs the same",
                piece.line + at,
            )
        parts.append(piece.values)
    if not parts:
        raise FileFormatError(path, "holds no numbers; write one row of costs a line")
    return FileProblem(concatenate(parts).reshape(-1, width), options.maximize, "csv", ids)


def _separator(data: bytes) -> bytes:
    """A semicolon or a comma where the first line of numbers has one, else a space (for any white space).

    A space, too, between numbers with decimal commas, which are refused later.
    """
    end = data.find(b"\n", len(data) - len(data.lstrip()))
    first = data if end < 0 else data[:end]
    tokens = first.split()
    if len(tokens) > 1 and all(DECIMAL_COMMA.fullmatch(token) for token in tokens):
        return b" "
    return next((separator for separator in (b";", b",") if separator in first), b" ")


def _numbers(count: int) -> str:
    return f"{count} number{'' if count == 1 else 's'}"
