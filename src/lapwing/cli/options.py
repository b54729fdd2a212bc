"""What `solve` and `plan` share: the file, and how its problem is to be read and solved."""

from __future__ import annotations

import functools
import json
import math
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from lapwing.costs.points import METRICS
from lapwing.errors import ArgumentError
from lapwing.files import FORMATS, read, read_points
from lapwing.files.base import Ids
from lapwing.methods import METHODS
from lapwing.options import OPTIONS, MethodOptions

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Given:
    """A problem as the command line names it."""

    cost: Any
    maximize: bool
    format: str
    source: str  # the files
    ids: Ids | None = None


@dataclass(frozen=True)
class Request:
    """A file, or two of points, and what is asked about the problem in it."""

    file: str
    targets: str | None
    metric: str | None
    maximize: bool
    unmatched_cost: int | float | None
    method: str
    option: tuple[str, ...]
    threads: int | None
    device: str
    format: str | None
    memory_limit: float | None  # GiB
    x: str | None = None  # columns with coordinates, separated by commas
    id: str | None = None  # the column that names points
    labels: bool = False
    output: str | None = None
    duals: bool = False  # in the output

    @property
    def note(self) -> str:
        """All of the request as a text, for a checkpoint; files by their full paths."""
        if STANDARD_INPUT in (self.file, self.targets):
            raise click.UsageError("--checkpoint needs files that can be read again, and standard input is none")
        paths = {name: getattr(self, name) for name in ("file", "targets", "output")}
        full = {name: str(Path(path).resolve()) for name, path in paths.items() if path is not None}
        return json.dumps(asdict(self) | full)

    @classmethod
    def of_note(cls, note: str) -> Request | None:
        """The request of a checkpoint; None if it was not written by `lapwing solve`."""
        try:
            request = cls(**json.loads(note))
        except (ValueError, TypeError, RecursionError):
            return None
        return request if request._is_sound() else None

    def _is_sound(self) -> bool:
        """Whether every field is of the kind that the command line gives it, whatever a checkpoint says."""
        texts = [
            self.file,
            self.method,
            self.device,
            *(x for x in (self.targets, self.format, self.x, self.id, self.output) if x is not None),
        ]
        numbers = [x for x in (self.unmatched_cost, self.memory_limit) if x is not None]
        return (
            all(isinstance(text, str) and "\0" not in text for text in texts)
            and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in numbers)
            and isinstance(self.maximize, bool)
            and isinstance(self.duals, bool)
            and isinstance(self.labels, bool)
            and isinstance(self.option, (list, tuple))
            and all(isinstance(text, str) for text in self.option)
            and (self.metric is None or (isinstance(self.metric, str) and self.metric in METRICS))
            and self.method in ("auto", *METHODS)
            and self.format in (None, *FORMATS)
            and (self.memory_limit is None or self.memory_limit >= 0)
            and (self.threads is None or (type(self.threads) is int and self.threads >= 1))
        )

    def read(self) -> Given:
        """The problem in the file, or of the points in two."""
        if (self.metric is None) != (self.targets is None):
            raise click.UsageError(
                "--metric takes two files of points, and nothing else does; for instance: lapwing solve "
                "--metric squared_euclidean sources.npy targets.npy"
            )
        limit = self._limit_bytes
        options: dict[str, Any] = {} if limit is None else {"memory_limit": limit}
        if self.file == self.targets == STANDARD_INPUT:
            raise click.UsageError("standard input can be FILE or TARGETS, but not both")
        if self.x is not None or self.id is not None:
            return self._read_tables()
        problem = read(_file_of(self.file), format=self.format, maximize=self.maximize, labels=self.labels, **options)
        if self.metric is None or self.targets is None:
            return Given(problem.cost, problem.maximize, problem.format, self.file, problem.ids)
        targets = read(_file_of(self.targets), format=self.format, **options)
        cost = METRICS[self.metric](problem.cost, targets.cost)
        return Given(cost, self.maximize, f"{self.metric} of points", f"{self.file} and {self.targets}")

    def _read_tables(self) -> Given:
        """Points in named columns of two tables."""
        if self.metric is None or self.targets is None or self.x is None:
            raise click.UsageError(
                "--x and --id name columns of two tables of points; for instance: lapwing solve --metric euclidean "
                "--x x,y --id cell sources.csv targets.csv"
            )
        columns = [name.strip() for name in self.x.split(",")]
        sources, targets = (read_points(_file_of(name), columns, self.id) for name in (self.file, self.targets))
        ids = None if sources.ids is None or targets.ids is None else (sources.ids, targets.ids)
        cost = METRICS[self.metric](sources.points, targets.points)
        kind = f"{self.metric} of columns {', '.join(columns)}"
        return Given(cost, self.maximize, kind, f"{self.file} and {self.targets}", ids)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `lapwing.solve` and `lapwing.plan`."""
        names = ("maximize", "unmatched_cost", "threads", "device")
        others = {"method": self._method, "memory_limit": self._limit_bytes}
        return {name: getattr(self, name) for name in names} | others

    @property
    def _method(self) -> str | MethodOptions:
        if not self.option:
            return self.method
        if self.method not in OPTIONS:
            raise click.UsageError(f"method {self.method!r} has no options; those with some: {', '.join(OPTIONS)}")
        try:
            return OPTIONS[self.method].from_text(self.option)
        except ArgumentError as error:
            raise click.UsageError(str(error)) from None

    @property
    def _limit_bytes(self) -> int | None:
        if self.memory_limit is None:
            return None
        size = self.memory_limit * 2.0**30
        if not math.isfinite(size):
            raise click.UsageError(f"--memory-limit must be a finite number of GiB, got {self.memory_limit}")
        return int(size)


def _file_of(name: str) -> str:
    """A file by its name; what comes on standard input is kept in one until the command ends."""
    if name != STANDARD_INPUT:
        return name
    folder = click.get_current_context().with_resource(TemporaryDirectory(prefix="lapwing-"))
    path = Path(folder) / "standard-input"
    with path.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return str(path)


def _number(text: str) -> int | float:
    """An integer stays one, so that integer problems stay exact; anything else is a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)


_OPTIONS_HELP = " ".join(f"{name} has {'; '.join(options.described())}." for name, options in OPTIONS.items())

_OPTIONS = (
    click.argument("file", type=click.Path()),
    click.argument("targets", type=click.Path(), required=False),
    click.option(
        "--metric",
        type=click.Choice(list(METRICS)),
        help="Compute costs from the points in FILE and TARGETS, one a row, without making a matrix.",
    ),
    click.option("--x", metavar="NAMES", help="Columns of the two tables with coordinates, for instance x,y."),
    click.option("--id", metavar="NAME", help="The column of the two tables that names points; answers carry it."),
    click.option(
        "--labels",
        is_flag=True,
        help="The first line and first column of FILE name its columns and rows, as answers do.",
    ),
    click.option("--maximize", is_flag=True, help="Maximise the sum instead of minimising it."),
    click.option(
        "--unmatched-cost",
        type=_number,
        metavar="NUMBER",
        help="Let any row stay free at this price (when maximising: for this value).",
    ),
    click.option(
        "--method",
        type=click.Choice(["auto", *METHODS]),
        default="auto",
        show_default=True,
        help="How to solve; every method gives a certified optimum.",
    ),
    click.option("--option", multiple=True, metavar="NAME=VALUE", help=f"An option of the method. {_OPTIONS_HELP}"),
    click.option(
        "--threads", type=click.IntRange(min=1), metavar="N", help="Threads; chosen by the plan if not given."
    ),
    click.option(
        "--device",
        default="cpu",
        show_default=True,
        metavar="DEVICE",
        help="Where to solve: cpu, cuda (the first GPU), cuda:N, or auto (a GPU if there is one and it pays).",
    ),
    click.option("--format", type=click.Choice(FORMATS), help="The file's format, if it is not to be found out."),
    click.option(
        "--memory-limit",
        type=click.FloatRange(min=0),
        metavar="GIB",
        help="Most memory for a sparse file's matrix in dense form, or for unpacking a compressed .npz file (2 if not "
        "given); a larger .npy file is read row by row as it is needed (if not given: one above half of the memory).",
    ),
)

time_limit_option = click.option(
    "--time-limit", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop then, with the best so far."
)
progress_option = click.option("--progress", is_flag=True, help="Show the phases on standard error while solving.")
checkpoint_interval_option = click.option(
    "--checkpoint-interval",
    type=click.FloatRange(min=0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="From one checkpoint to the next.",
)

_ANSWER_OPTIONS = (
    click.option("--duals", is_flag=True, help="Give the duals u and v too, in --output and --json."),
    click.option(
        "--output", "-o", type=click.Path(dir_okay=False), help="Write the answer to a .npz, .json or .csv file."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text."),
    time_limit_option,
    progress_option,
)


def problem_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, which takes a `Request` first, the file and the options above."""

    @functools.wraps(command)
    def with_request(**given: Any) -> None:
        asked = {field.name: given.pop(field.name) for field in fields(Request) if field.name in given}
        command(Request(**asked), **given)

    for option in reversed(_OPTIONS):
        with_request = option(with_request)
    return with_request


def answer_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of what is done with an answer."""
    for option in reversed(_ANSWER_OPTIONS):
        command = option(command)
    return command
