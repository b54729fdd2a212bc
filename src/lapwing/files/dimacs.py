"""Assignment problems of the first DIMACS implementation challenge (1991), ``p asn``.

    c a comment
    p asn NODES ARCS
    n ID                 one line for each node on the left side
    a SOURCE TARGET COST one line for each pair that is allowed

Rows are the nodes named by `n` lines in ascending order, columns all others in ascending order; nodes count from 1.
Without `n` lines, the sources of arcs are the left side. Every arc must lead from left to right; parallel arcs are not
allowed; pairs without an arc are forbidden. The sum of COST is minimised, as the challenge defines the problem; files
of scores to maximise have the same form, so that `maximize` is the reader's to say. Costs may be fractional.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.sparse import SparseCost
from lapwing.files.base import FileFormatError, FileProblem, ReadOptions
from lapwing.files.entries import Entries
from lapwing.files.text import concatenate, pieces, read_text

_TAGS: Final = b"cpna"
_WIDTH: Final = {"n": 1, "a": 3}
_MEANING: Final = {"n": "n ID", "a": "a SOURCE TARGET COST"}


def read_dimacs(path: Path, options: ReadOptions) -> FileProblem:
    """Read a ``p asn`` file."""
    data = bytearray(read_text(path))
    tags, starts = _tags(path, data)
    nodes, arcs = _problem_line(path, data, tags, starts)
    _blank_tags(data, tags, starts)
    parsed = list(pieces(path, bytes(data)))
    del data
    values = concatenate([piece.values for piece in parsed])
    counts = concatenate([piece.counts for piece in parsed])
    del parsed
    for tag, width in _WIDTH.items():
        wrong = (tags == ord(tag)) & (counts != width)
        if wrong.any():
            raise FileFormatError(path, f"must be '{_MEANING[tag]}'", int(wrong.argmax()) + 1)
    of_arc = np.repeat(tags == ord("a"), counts)
    arc_lines = np.flatnonzero(tags == ord("a")) + 1
    if arc_lines.size != arcs:
        line = int((tags == ord("p")).argmax()) + 1
        raise FileFormatError(path, f"declares {arcs} arcs but has {arc_lines.size}; the file may be truncated", line)
    left = _left_side(path, values[~of_arc], np.flatnonzero(tags == ord("n")) + 1, nodes)
    cost = _costs(path, Entries.from_triples(values[of_arc].reshape(-1, 3), arc_lines), left, nodes, options)
    return FileProblem(cost, options.maximize, "dimacs")


def _tags(path: Path, data: bytearray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """First byte of every line (a space for a blank one), and where each line starts."""
    codes = np.frombuffer(data, dtype=np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(codes[:-1] == ord("\n")) + 1)) if codes.size else np.zeros(0, np.int64)
    tags = codes[starts]
    tags = np.where(tags == ord("\n"), np.uint8(ord(" ")), tags)
    follow = codes[np.minimum(starts + 1, codes.size - 1)]
    alone = (starts + 1 >= codes.size) | (follow == ord(" ")) | (follow == ord("\n"))
    blank = tags == ord(" ")
    known = np.isin(tags, np.frombuffer(_TAGS, dtype=np.uint8)) & (alone | (tags == ord("c")))
    for at in np.flatnonzero(~known):
        start = int(starts[at])
        end = data.find(b"\n", start)
        text = bytes(data[start : end if end >= 0 else len(data)]).strip()
        if not (blank[at] and not text):
            shown = text[:40].decode("ascii", "backslashreplace")
            raise FileFormatError(path, f"{shown!r} is not a line of type c, p, n or a", int(at) + 1)
    return tags, starts


def _problem_line(path: Path, data: bytearray, tags: NDArray[np.uint8], starts: NDArray[np.int64]) -> tuple[int, int]:
    lines = np.flatnonzero(tags == ord("p"))
    if lines.size != 1:
        at = int(lines[1]) + 1 if lines.size else None
        raise FileFormatError(path, f"has {lines.size} lines 'p asn NODES ARCS'; it needs one", at)
    first = np.flatnonzero((tags == ord("n")) | (tags == ord("a")))
    if first.size and first[0] < lines[0]:
        raise FileFormatError(path, "the line 'p asn NODES ARCS' must come before this one", int(first[0]) + 1)
    start = int(starts[lines[0]])
    end = data.find(b"\n", start)
    words = bytes(data[start : end if end >= 0 else len(data)]).split()
    if len(words) != 4 or words[1] != b"asn" or not all(word.isdigit() and len(word) <= 9 for word in words[2:]):
        shown = b" ".join(words)[:40].decode("ascii", "backslashreplace")
        raise FileFormatError(path, f"must be 'p asn NODES ARCS', not {shown!r}", int(lines[0]) + 1)
    return int(words[2]), int(words[3])


def _blank_tags(data: bytearray, tags: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
    """Leave only the numbers of n and a lines: their tags become spaces, other lines blank."""
    codes = np.frombuffer(data, dtype=np.uint8)
    codes[starts[(tags == ord("n")) | (tags == ord("a"))]] = ord(" ")
    for at in np.flatnonzero((tags == ord("c")) | (tags == ord("p"))):
        end = int(starts[at + 1]) - 1 if at + 1 < starts.size else codes.size - (codes[-1] == ord("\n"))
        codes[starts[at] : end] = ord(" ")


def _left_side(path: Path, ids: NDArray[Any], lines: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    outside = (ids < 1) | (ids > nodes) | (ids != np.floor(ids))
    if outside.any():
        raise FileFormatError(path, f"the node must be an integer from 1 to {nodes}", int(lines[outside.argmax()]))
    left, first = np.unique(ids, return_index=True)
    if left.size != ids.size:
        again = np.setdiff1d(np.arange(ids.size), first)[0]
        raise FileFormatError(path, f"node {ids[again]:.0f} is named for the second time", int(lines[again]))
    return left.astype(np.int64)


def _costs(
    path: Path, arcs: Entries, left: NDArray[np.int64], nodes: int, options: ReadOptions
) -> SparseCost | NDArray[Any]:
    arcs.check(path, (nodes, nodes))
    source, target = arcs.rows + 1, arcs.cols + 1
    if left.size == 0:
        left = np.unique(source)
    shape = (left.size, nodes - left.size)
    row = np.searchsorted(left, source)
    at = np.searchsorted(left, target)
    backwards = (left.take(row, mode="clip") != source) | (left.take(at, mode="clip") == target)
    if backwards.any():
        k = int(backwards.argmax())
        raise FileFormatError(
            path,
            f"the arc from {source[k]} to {target[k]} does not lead from the left side to the right",
            int(arcs.lines[k]),
        )
    return Entries(row, target - 1 - at, arcs.values, arcs.lines).costs(path, shape, options)
