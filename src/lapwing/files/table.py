"""Tables with names: points in named columns of a CSV, TSV or Parquet file, and labels around a matrix of costs.

A text table is read by Python's own csv module: the first line has the names, separated by tabs, semicolons or commas;
fields may be quoted. Parquet is read by pyarrow, the extra `tables`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, MissingPackageError
from lapwing.files.base import FileFormatError, FileProblem, ReadOptions, check_dense_size, file_size

_PARQUET: Final = b"PAR1"
_DECIMAL_COMMA: Final = re.compile(r"\s*[+-]?\d*,\d+\s*")


@dataclass(frozen=True)
class PointTable:
    """Points, one a line.

    Attributes
    ----------
    points : (n, d) float64
    ids : list of str, or None
        What the lines are called.
    """

    points: NDArray[np.float64]
    ids: list[str] | None


def read_points(path: str | Path, columns: Sequence[str], name: str | None = None) -> PointTable:
    """Read the coordinates of points from named columns of a table with a header.

    Parameters
    ----------
    path : path
        Of a .csv, .tsv or other text table, or a Parquet file.
    columns : sequence of str
        The d columns with coordinates, in order.
    name : str, optional
        The column that names the points.

    Raises
    ------
    FileFormatError
        If a column is missing, or holds what is no finite number; the message names the line.
    ArgumentError
        If no columns are named, or one twice.
    MissingPackageError
        For a Parquet file without pyarrow.
    OSError
        The file cannot be opened.
    """
    path = Path(path)
    if not columns or len(set(columns)) < len(columns):
        raise ArgumentError(f"name the columns with coordinates, each once; got {list(columns)}")
    wanted = [*columns, *([] if name is None else [name])]
    table = _parquet_columns(path, wanted) if is_parquet(path) else _text_columns(path, wanted)
    points = np.column_stack([_numbers(path, column, values) for column, values in zip(columns, table, strict=False)])
    return PointTable(points, None if name is None else [str(value) for value in table[-1]])


def read_labelled(path: Path) -> tuple[bytes, list[str], list[str]]:
    """A text table of costs without its first line and first column, which are labels: comma-separated; both labels."""
    lines = _records(path)
    _, header = next(lines)
    rows, numbers = [], [""]  # a line for the header, so that errors name the right line
    for _, fields in lines:
        rows.append(fields[0].strip())
        numbers.append(",".join(field.strip() for field in fields[1:]))
    return "\n".join(numbers).encode(), rows, [name.strip() for name in header[1:]]


def read_parquet(path: Path, options: ReadOptions) -> FileProblem:
    """A Parquet file of costs: one row a record, one column a column; with labels, the first column names the rows."""
    file_size(path)
    with _parquet(path) as parquet:
        about = parquet.read_metadata(path)
        check_dense_size(path, (about.num_rows, about.num_columns), options.memory_limit)
        table = parquet.read_table(path)
        names = table.column_names
        columns = names[1:] if options.labels else names
        if not columns or not table.num_rows:
            raise FileFormatError(path, "holds no costs")
        values = [_as_array(path, name, table.column(name)) for name in columns]
        ids = ([str(value) for value in table.column(0).to_pylist()], columns) if options.labels else None
    costs = np.column_stack(values)
    for name, given in zip(columns, values, strict=True):
        if given.dtype.kind in "iu" and costs.dtype.kind == "f" and _rounds(given, costs.dtype):
            raise FileFormatError(path, f"has integers in column {name!r} that {costs.dtype} rounds; write one dtype")
    return FileProblem(costs, options.maximize, "parquet", ids)


def _rounds(integers: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether some are no number of a float type: beyond 2^53, for float64."""
    largest = 1 << (np.finfo(dtype).nmant + 1)
    return bool(((integers > largest) | (integers < -largest if integers.dtype.kind == "i" else False)).any())


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does."""
    file_size(path)
    with path.open("rb") as stream:
        return stream.read(len(_PARQUET)) == _PARQUET


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a text table that are not empty, each with its number; all have as many fields as the first."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            head = stream.readline()
            separator = next((each for each in "\t;," if each in head), ",")
            stream.seek(0)
            width = 0
            reader = csv.reader(stream, delimiter=separator, skipinitialspace=True)
            for fields in reader:
                if not fields:
                    continue
                width = width or len(fields)
                if len(fields) != width:
                    message = f"has {len(fields)} fields where the first line has {width}; every line needs the same"
                    raise FileFormatError(path, message, reader.line_num)
                yield reader.line_num, fields
            if width == 0:
                raise FileFormatError(path, "is empty; it must begin with a line of names")
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileFormatError(path, f"is no table of text: {error}") from error


def _text_columns(path: Path, wanted: Sequence[str]) -> list[list[str]]:
    lines = _records(path)
    _, header = next(lines)
    names = [name.strip() for name in header]
    places = [_place(path, names, name) for name in wanted]
    values: list[list[str]] = [[] for _ in places]
    for _, fields in lines:
        for column, place in zip(values, places, strict=True):
            column.append(fields[place])
    return values


def _parquet_columns(path: Path, wanted: Sequence[str]) -> list[Any]:
    with _parquet(path) as parquet:
        names = parquet.read_schema(path).names
        for name in wanted:
            _place(path, names, name)
        table = parquet.read_table(path, columns=list(dict.fromkeys(wanted)))
        return [table.column(name).to_pylist() for name in wanted]


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    """Pyarrow's module of Parquet; what it raises for a damaged file becomes our error."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingPackageError(f"{path}: Parquet files need pyarrow: pip install 'lapwing[tables]'") from error
    try:
        yield parquet
    except FileFormatError:
        raise
    except (ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise FileFormatError(path, f"is no Parquet file that can be read: {error}") from error


def _place(path: Path, names: Sequence[str], name: str) -> int:
    if name not in names:
        raise FileFormatError(path, f"has no column {name!r}; its columns are {', '.join(names)}", 1)
    if list(names).count(name) > 1:
        raise FileFormatError(path, f"has several columns {name!r}; rename all but one", 1)
    return list(names).index(name)


def _numbers(path: Path, name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """A column as finite floats."""
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.array([_number(value) for value in values])
    wrong = np.flatnonzero(~np.isfinite(column))
    if wrong.size:
        value = values[int(wrong[0])]
        remedy = "coordinates must be finite numbers"
        if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value):
            remedy = "write decimal points in place of decimal commas"
        raise FileFormatError(path, f"has {value!r} in column {name!r}, record {int(wrong[0]) + 1}; {remedy}")
    return column


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _as_array(path: Path, name: str, column: Any) -> NDArray[Any]:
    """A column of Parquet as NumPy's numbers; a missing value is NaN, which no solve takes."""
    values: NDArray[Any] = np.asarray(column.to_numpy())
    if values.dtype.kind not in "biuf":
        raise FileFormatError(path, f"has no numbers in column {name!r}; with a column of labels, ask for labels")
    return values
