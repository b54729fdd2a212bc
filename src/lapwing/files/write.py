"""Writing answers: .npz and .json hold everything, .csv the assignment as a table."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from lapwing.atomic import atomic_writer
from lapwing.errors import ArgumentError
from lapwing.files.base import Ids
from lapwing.result import Result

_Writer = Callable[[BinaryIO, Result, bool, Ids | None], None]
_CERTIFICATE_FIELDS: Final = ("gap", "violation", "exact", "primal", "dual", "bound")


def write(path: str | os.PathLike[str], result: Result, *, duals: bool = False, ids: Ids | None = None) -> None:
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
    ids : two sequences of str, optional
        What rows and columns are called: written too, with the cost of each pair (in .csv as the columns row_id,
        col_id and cost, the last two empty where the row is free).

    Raises
    ------
    ArgumentError
        The ending is none of the three.
    OSError
        The file cannot be written.
    """
    write_as = writer_of(path)
    with atomic_writer(path) as stream:
        write_as(stream, result, duals, ids)


def writer_of(path: str | os.PathLike[str]) -> _Writer:
    """The function behind a file name; raises before any work is done if there is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise ArgumentError(
            f"cannot write an answer to {os.fspath(path)!r}: use a name that ends in {', '.join(_WRITERS)}"
        )
    return _WRITERS[suffix]


def as_dict(result: Result, duals: bool = False, ids: Ids | None = None) -> dict[str, Any]:
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
    if ids is not None:
        fields["row_ids"], fields["col_ids"] = map(list, ids)
        fields["pair_costs"] = [_plain(value) for value in result.pair_costs.tolist()]
    return fields


def _plain(value: Any) -> Any:
    """A value that JSON has: NumPy scalars become Python's, what is not finite becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_json(stream: BinaryIO, result: Result, duals: bool, ids: Ids | None) -> None:
    stream.write(json.dumps(as_dict(result, duals, ids), allow_nan=False).encode() + b"\n")


def _write_npz(stream: BinaryIO, result: Result, duals: bool, ids: Ids | None) -> None:
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
    if ids is not None:
        arrays |= {"row_ids": np.array(ids[0], str), "col_ids": np.array(ids[1], str), "pair_costs": result.pair_costs}
    np.savez(stream, **arrays)


def _write_csv(stream: BinaryIO, result: Result, duals: bool, ids: Ids | None) -> None:
    cols = result.row_to_col.tolist()
    table: dict[str, list[Any]] = {"row": list(range(len(cols))), "col": cols}
    if ids is not None:
        costs = dict(zip(result.row_ind.tolist(), result.pair_costs.tolist(), strict=True))
        table["row_id"] = list(ids[0])
        table["col_id"] = [ids[1][col] if col >= 0 else "" for col in cols]
        table["cost"] = [repr(costs[row]) if row in costs else "" for row in range(len(cols))]
    if duals:
        v = result.v.tolist()
        table["u"] = [repr(value) for value in result.u.tolist()]
        table["v"] = [repr(v[col]) if col >= 0 else "" for col in cols]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    stream.write(text.getvalue().encode())


_WRITERS: Final[dict[str, _Writer]] = {
    ".npz": _write_npz,
    ".json": _write_json,
    ".csv": _write_csv,
}
