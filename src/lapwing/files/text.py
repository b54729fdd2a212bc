"""Fast reading of numbers from text, with errors that name the line.

A text is cut into pieces of whole lines (a few hundred KiB each, so that temporaries stay in cache). In each piece the
separators become spaces, the token starts are found by comparing neighbouring bytes, tokens are counted line by line,
and NumPy's own parser converts the lot: no Python loop runs over numbers. Only when something does not add up are the
tokens looked at one at a time, to name the first bad one and its line.

Integers are kept exactly, as int64, as long as a piece has nothing but integers; otherwise the piece is float64, each
number rounded to nearest. `inf` and `nan` in any case are numbers here; what they mean is the solver's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.files.base import FileFormatError, file_size

_PIECE_BYTES: Final = 1 << 18
_INTEGER_BYTES: Final = b"+-0123456789 \n"
_SAFE_DIGITS: Final = 18  # of these many, every integer fits int64
_NUMBER: Final = re.compile(rb"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_INTEGER: Final = re.compile(rb"[+-]?\d+")
#: For each separator, 1 for a byte that belongs to a token, 0 for one that stands between tokens.
_TOKEN_BYTES: Final = {
    separator: bytes(code not in b" \n" + separator for code in range(256)) for separator in (b" ", b",", b";")
}
DECIMAL_COMMA: Final = re.compile(rb"[+-]?\d*,\d+")
_OTHER_SPACES: Final = (b"\t", b"\v", b"\f")
_SPACES: Final = bytes.maketrans(b"\t\v\f", b"   ")


@dataclass(frozen=True)
class Piece:
    """Consecutive whole lines of numbers.

    Attributes
    ----------
    values : int64 or float64 array
        All numbers in order.
    counts : int64 array
        Numbers in each line.
    line : int
        Line number of the first line, from 1.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]
    line: int

    def line_of(self, index: int) -> int:
        """The line in which number `index` stands."""
        return self.line + int(np.searchsorted(np.cumsum(self.counts), index, side="right"))


def read_text(path: Path) -> bytes:
    """The file's bytes, without a byte-order mark, with all line ends made alike and other white space made spaces."""
    file_size(path)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data[:4096]:
        raise FileFormatError(path, "holds binary data, not text; say what it is with format=")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.translate(_SPACES) if any(space in data for space in _OTHER_SPACES) else data


def pieces(path: Path, data: bytes, line: int = 1, separator: bytes = b" ") -> Iterator[Piece]:
    """Parse numbers with one separator (or any white space) between neighbours; `line` is that of the first byte."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE_BYTES)
        end = len(data) if end < 0 else end + 1
        piece = _parse(path, data[start:end], line, separator)
        yield piece
        line += piece.counts.size
        start = end


def _parse(path: Path, data: bytes, line: int, separator: bytes) -> Piece:
    codes = np.frombuffer(data, dtype=np.uint8)
    is_token = np.frombuffer(data.translate(_TOKEN_BYTES[separator]), dtype=np.bool_)
    begins = is_token.copy()
    np.greater(is_token[1:], is_token[:-1], out=begins[1:])
    line_starts = np.concatenate(([0], np.flatnonzero(codes[:-1] == ord("\n")) + 1))
    counts = np.add.reduceat(begins, line_starts, dtype=np.int64)
    if separator != b" ":
        _check_separators(path, codes, begins, counts, line, separator)
        data = data.replace(separator, b" ")
    values = _convert(data, int(counts.sum()))
    if values is None or not _plausible(codes, begins, values):
        _check_tokens(path, data, Piece(np.empty(0), counts, line))
    if values is None:
        raise FileFormatError(path, "holds numbers that cannot be read", line)
    return Piece(values, counts, line)


def _check_separators(
    path: Path,
    codes: NDArray[np.uint8],
    begins: NDArray[np.bool_],
    counts: NDArray[np.int64],
    line: int,
    separator: bytes,
) -> None:
    """Between two neighbours in a line there must be one separator, and none anywhere else."""
    found = np.flatnonzero(codes == ord(separator))
    tokens = np.flatnonzero(begins)
    last = np.cumsum(counts)  # one past the last token of each line
    filled = counts > 0
    inner_left, inner_right = np.ones(tokens.size, dtype=bool), np.ones(tokens.size, dtype=bool)
    inner_left[last[filled] - 1] = False
    inner_right[(last - counts)[filled]] = False
    left, right = tokens[inner_left], tokens[inner_right]
    k = min(found.size, left.size)
    wrong = np.flatnonzero((found[:k] < left[:k]) | (found[:k] > right[:k]))
    if wrong.size == 0 and found.size == left.size:
        return
    k = int(wrong[0]) if wrong.size else k
    at = int(min(found[k] if k < found.size else codes.size, right[k] if k < left.size else codes.size))
    line += int(np.count_nonzero(codes[:at] == ord("\n")))
    shown = separator.decode()
    raise FileFormatError(
        path, f"has an empty field, or two numbers without {shown!r} between them; write inf to forbid a pair", line
    )


def _convert(data: bytes, count: int) -> NDArray[Any] | None:
    """All numbers, one for each of `count` tokens, or None when they cannot all be read.

    NumPy stops at a token that is no number, before 2.3 with no more than a warning: the number 0 that is appended
    here is then missing.
    """
    integers = not data.translate(None, _INTEGER_BYTES)
    try:
        values = np.fromstring(data + b" 0", dtype=np.int64 if integers else np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # the latter before NumPy 2.3, where warnings are made errors
        return None
    return values[:count] if values.size == count + 1 else None


def _plausible(codes: NDArray[np.uint8], begins: NDArray[np.bool_], values: NDArray[Any]) -> bool:
    """False if a number may have left the range of its type without notice."""
    if values.dtype.kind == "i":
        return not values.size or max(int(values.max()), -int(values.min())) < 10**_SAFE_DIGITS
    infinite = np.isinf(values)
    if not infinite.any():
        return True
    at = np.flatnonzero(begins)[infinite]
    first = codes[at]
    first = np.where((first == ord("+")) | (first == ord("-")), codes[np.minimum(at + 1, codes.size - 1)], first)
    return bool(np.all((first == ord("i")) | (first == ord("I"))))


def _check_tokens(path: Path, data: bytes, piece: Piece) -> None:
    """Raise for the first token that is not a number in range; return if all are."""
    integers = not data.translate(None, _INTEGER_BYTES)
    for index, token in enumerate(data.split()):
        shown = token[:40].decode("ascii", "backslashreplace")
        if not (_INTEGER if integers else _NUMBER).fullmatch(token):
            raise FileFormatError(path, f"{shown!r} is not a number; {_remedy(token)}", piece.line_of(index))
        if integers and not -(2**63) <= int(token[:4000]) < 2**63:
            remedy = "scale the costs down, or write them with a decimal point to have them rounded to float64"
            raise FileFormatError(path, f"the integer {shown} does not fit 64 bits; {remedy}", piece.line_of(index))
        if not integers and np.isinf(float(token)) and b"i" not in token.lower():
            remedy = "scale the costs down, or write inf to forbid the pair"
            raise FileFormatError(path, f"{shown} is beyond the range of float64; {remedy}", piece.line_of(index))


def _remedy(token: bytes) -> str:
    """The remedy for a token that is not a number."""
    if DECIMAL_COMMA.fullmatch(token.strip(b'"')):
        return "write decimal points in place of decimal commas, as pandas.read_csv(..., decimal=',') and to_csv do"
    if token[:1].isalpha() or token[:1] == b'"':
        return "names need labels=True (--labels), those of points --x; without, only numbers belong here"
    return "only numbers belong here"


def concatenate(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """All parts in one array, int64 if all of them are; an empty list gives an empty int64 array."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
