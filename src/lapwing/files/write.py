"""Writing answers: .npz and .json hold everything, .csv the assignment as a table."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from lapwing.atomic import atomic_writer
from lapwing.errors import ArgumentError
from lapwing.result import Result

_CERTIFICATE_FIELDS: Final = ("gap", "violation", "exact", "primal", "dual", "bound")


def write(path: str | os.PathLike[str], result: Result, *, duals: bool = False) -> None:
    """Write an answer, atomically.

    Parameters
    ----------
    path : path
        Its ending chooses the form. ``.npz``: arrays `row_to_col`, `col_to_row`, `objective`, `lower_bound`, `status`
        and `certificate_*`. ``.json``: the same as one object, where infinities and absent values are null. ``.csv``:
        lines ``row,col`` counted from 0, col -1 where the row is free.
    result : Result
    duals : bool
        Also write `u` and `v` (in .csv as the columns u and v of each row and its partner).

    Raises
    ------
    ArgumentError
        The ending is none of the three.
    OSError
        The file cannot be written.
    """
    write_as = writer_of(path)
    with atomic_writer(path) as stream:
        write_as(stream, result, duals)


def writer_of(path: str | os.PathLike[str]) -> Callable[[BinaryIO, Result, bool], None]:
    """The function behind a file name; raises before any work is done if there is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise ArgumentError(
            f"cannot write an answer to {os.fspath(path)!r}: use a name that ends in {', '.join(_WRITERS)}"
        )
    return _WRITERS[suffix]


def as_dict(result: Result, duals: bool = False) -> dict[str, Any]:
    """The answer as plain Python values, for JSON."""
    fields: dict[str, Any] = {
        "status": result.status,
        "objective": _plain(result.objective),
        "lower_bound": _plain(result.lower_bound),
        "row_to_col": result.row_to_col.tolist(),
        "col_to_row": result.col_to_row.tolist(),
        "certificate": None,
        "statistics": {name: _plain(value) for name, value in result.statistics.items()},
    }
    if result.certificate is not None:
        fields["certificate"] = {name: _plain(getattr(result.certificate, name)) for name in _CERTIFICATE_FIELDS}
    if duals:
        fields["u"] = [_plain(value) for value in result.u.tolist()]
        fields["v"] = [_plain(value) for value in result.v.tolist()]
    return fields


def _plain(value: Any) -> Any:
    """A value that JSON has: NumPy scalars become Python's, what is not finite becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_json(stream: BinaryIO, result: Result, duals: bool) -> None:
    stream.write(json.dumps(as_dict(result, duals), allow_nan=False).encode() + b"\n")


def _write_npz(stream: BinaryIO, result: Result, duals: bool) -> None:
    arrays: dict[str, Any] = {
        "row_to_col": result.row_to_col,
        "col_to_row": result.col_to_row,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "status": result.status,
    }
    if result.certificate is not None:
        arrays |= {f"certificate_{name}": getattr(result.certificate, name) for name in _CERTIFICATE_FIELDS}
    if duals:
        arrays |= {"u": result.u, "v": result.v}
    np.savez(stream, **arrays)


def _write_csv(stream: BinaryIO, result: Result, duals: bool) -> None:
    cols = result.row_to_col.tolist()
    lines = ["row,col,u,v" if duals else "row,col"]
    if duals:
        u, v = result.u.tolist(), result.v.tolist()
        lines += [
            f"{row},{col},{u[row]!r},{v[col]!r}" if col >= 0 else f"{row},-1,{u[row]!r},"
            for row, col in enumerate(cols)
        ]
    else:
        lines += [f"{row},{col}" for row, col in enumerate(cols)]
    stream.write(("\n".join(lines) + "\n").encode())


_WRITERS: Final[dict[str, Callable[[BinaryIO, Result, bool], None]]] = {
    ".npz": _write_npz,
    ".json": _write_json,
    ".csv": _write_csv,
}
