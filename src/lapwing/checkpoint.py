"""The checkpoints that a long solve writes now and then, so that another can continue from them.

A checkpoint is an .npz file with the duals u and v, the assignment row_to_col, and a JSON text `about`: the
problem, by a hash of its costs; the state of the solve; and the caller's note. It replaces the previous file only when
it is complete, so there is always a complete one. A solve continues from the duals alone: finding prices takes most of
its time, and the assignment follows quickly from good ones. The answer is proven, whatever the file contains.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import struct
import time
import tokenize
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.answer import Answer, Duals
from lapwing.atomic import atomic_writer
from lapwing.costs.base import MAX_LINES
from lapwing.errors import ArgumentError, DtypeError
from lapwing.problem import Problem

if TYPE_CHECKING:
    from lapwing.request import Request

_VERSION: Final = 1
_ABOUT: Final[dict[str, type | tuple[type, ...]]] = {
    "problem": str,
    "shape": list,
    "dtype": str,
    "maximize": bool,
    "note": str,
    "status": str,
    "matched": int,
    "seconds": (int, float),
}
_MOST_BYTES_ABOUT: Final = 16 << 20
_HEADER_BYTES: Final = 4096
_DAMAGE: Final = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, EOFError, ArithmeticError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, MemoryError),
)


@dataclass(frozen=True)
class Checkpoint:
    """The file to which a long solve writes its state, and how often.

    Attributes
    ----------
    path : str or path
        Of an .npz file, which is replaced as a whole.
    interval : float
        Seconds between two writes; the last is at the end, a time limit or an interruption.
    note : str
        Kept with it, for whoever goes on.
    """

    path: str | os.PathLike[str]
    interval: float = 120.0
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.note, str):
            raise DtypeError(f"a checkpoint's note must be a str, got {type(self.note).__name__}")
        try:
            path = os.fspath(self.path)
            interval = float(self.interval)
        except (TypeError, ValueError):
            raise DtypeError(
                f"checkpoint must be the path of a file, and its interval seconds, got {self.path!r}, {self.interval!r}"
            ) from None
        except OverflowError:
            raise ArgumentError("a checkpoint's interval is beyond float64: it must be finite, in seconds") from None
        if not isinstance(path, str) or "\0" in path:
            raise ArgumentError(f"a checkpoint's path must be a str without null characters, got {path!r}")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ArgumentError(f"a checkpoint's path has characters that no file's name has: {path!r}") from None
        if not 0 <= interval < math.inf:
            raise ArgumentError(f"a checkpoint's interval must be finite and not negative, got {self.interval}")


@dataclass(frozen=True)
class Saved:
    """The contents of a checkpoint.

    Attributes
    ----------
    u, v : (m,) and (n,) float64 or int64
    row_to_col : (m,) int64
    about : dict
        "problem", "shape", "dtype", "maximize", "status", "matched", "seconds", "note".
    """

    u: NDArray[Any]
    v: NDArray[Any]
    row_to_col: NDArray[np.int64]
    about: dict[str, Any]


def read_checkpoint(path: str | os.PathLike[str]) -> Saved:
    """Read a checkpoint.

    Raises
    ------
    ArgumentError
        If the file is none, or damaged.
    OSError
        If it cannot be opened.
    """
    if not os.path.isfile(path) and os.path.exists(path):
        raise ArgumentError(f"{path} is not a regular file, so it is no checkpoint: give another path")
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                about = _about_of(archive)
                rows, cols = about["shape"]
                u, v = _array_of(archive, "u", rows), _array_of(archive, "v", cols)
                row_to_col = _array_of(archive, "row_to_col", rows)
        except _DAMAGE as error:
            raise ArgumentError(
                f"{path} is no checkpoint of Lapwing, or it is damaged ({error}); remove it to start anew"
            ) from error
    return Saved(u, v, row_to_col, about)


def _about_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The description that the file has of itself.

    Raises
    ------
    ValueError
        If a field is missing or of another kind.
    """
    text = _member(archive, "about", _MOST_BYTES_ABOUT)
    if text.dtype != np.uint8:
        raise ValueError("'about' is no text")
    about = json.loads(text.tobytes())
    if not isinstance(about, dict) or about.get("version") != _VERSION:
        raise ValueError(f"it is of another version of Lapwing than those that write version {_VERSION}")
    for name, kind in _ABOUT.items():
        if not isinstance(about.get(name), kind) or isinstance(about[name], bool) != (kind is bool):
            raise ValueError(f"its field {name!r} is missing, or of another kind")
    shape = about["shape"]
    if len(shape) != 2 or not all(type(n) is int and 0 <= n <= MAX_LINES for n in shape):
        raise ValueError("its shape is none")
    if not 0 <= about["seconds"] < math.inf:
        raise ValueError("its seconds are none")
    return about


def _array_of(archive: zipfile.ZipFile, name: str, length: int) -> NDArray[Any]:
    """An array of so many numbers, as a solve writes it; a larger one is not even unpacked."""
    array = _member(archive, name, 8 * length)
    kinds = ("i8",) if name == "row_to_col" else ("f8", "i8")
    if array.shape != (length,) or array.dtype not in [np.dtype(kind) for kind in kinds]:
        raise ValueError(f"{name!r} has shape {array.shape} and dtype {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name!r} is not finite")
    return array


def _member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> NDArray[Any]:
    information = archive.getinfo(f"{name}.npy")
    if information.file_size > most_bytes + _HEADER_BYTES:
        raise ValueError(f"{name!r} would take {information.file_size} bytes")
    array: NDArray[Any] = np.lib.format.read_array(
        io.BytesIO(archive.read(information)), allow_pickle=False, max_header_size=_HEADER_BYTES
    )
    return array


class CheckpointWriter:
    """Writes one solve's checkpoints, and reads the one from which it can start.

    A checkpoint that cannot be written is a warning, once: the solve goes on, and the one before stays.

    Raises
    ------
    ArgumentError
        If there is a file already that is no checkpoint, or one of another problem.
    """

    def __init__(self, given: Checkpoint | str | os.PathLike[str], problem: Problem) -> None:
        checkpoint = given if isinstance(given, Checkpoint) else Checkpoint(given)
        self.interval: float = float(checkpoint.interval)
        self._path, self._problem = Path(checkpoint.path), problem
        self._began, self._warned, self._failed = time.perf_counter(), False, 0.0
        self._about = {
            "version": _VERSION,
            "problem": fingerprint(problem),
            "shape": problem.shape,
            "dtype": str(problem.cost.dtype),
            "maximize": problem.maximize,
            "note": checkpoint.note,
        }
        if not self._path.parent.is_dir():
            raise ArgumentError(f"the checkpoint {self._path} has no folder {self._path.parent}: make it first")
        self._before = self._saved()
        self._seconds = 0.0 if self._before is None else float(self._before.about["seconds"])

    @property
    def start(self) -> Duals | None:
        """The duals in the file, if there is one and they are worth it.

        Where one side's are all the same, the solve was stopped before it had prices: the other side's are minima of
        the costs, which are found again at once, and a solve that begins anew takes its prices from a sample.
        """
        if self._before is None or any(np.ptp(dual) == 0 for dual in (self._before.u, self._before.v) if dual.size):
            return None
        return self._before.u, self._before.v

    def keep(self, answer: Answer) -> None:
        """Write what there is now."""
        told = {
            "status": answer.status,
            "matched": int((answer.row_to_col >= 0).sum()),
            "seconds": self._seconds + time.perf_counter() - self._began,
        }
        about = np.frombuffer(json.dumps(self._about | told).encode(), np.uint8)
        u, v = (np.where(np.isfinite(dual), dual, dual.dtype.type(0)) for dual in (answer.u, answer.v))
        try:
            with atomic_writer(self._path) as stream:
                np.savez(stream, u=u, v=v, row_to_col=answer.row_to_col, about=about)
        except (OSError, ArgumentError) as error:
            answer.statistics["checkpoints_failed"] = self._failed = self._failed + 1
            if not self._warned:
                self._warned = True
                self._warn(error)

    def _warn(self, error: OSError | ArgumentError) -> None:
        """Say that a checkpoint was not written; where warnings are errors, too, the solve goes on."""
        with contextlib.suppress(RuntimeWarning):
            warnings.warn(
                f"the checkpoint {self._path} could not be written ({getattr(error, 'strerror', None) or error}): the "
                "solve goes on, and the checkpoint before, if any, stays as it was",
                RuntimeWarning,
                stacklevel=3,
            )

    def _saved(self) -> Saved | None:
        if not self._path.exists():
            return None
        saved = read_checkpoint(self._path)
        if saved.about["problem"] != self._about["problem"]:
            raise ArgumentError(
                f"{self._path} is a checkpoint of another problem, {_described(saved.about)}, and not of this one, "
                f"{_described(self._about)}: its costs have changed, or it is another file; remove it to start anew"
            )
        return saved


def go_on(given: Checkpoint | str | os.PathLike[str], problem: Problem, request: Request) -> None:
    """Have a solve write checkpoints, and start from the one that is there."""
    request.writer = CheckpointWriter(given, problem)
    request.start = request.writer.start or request.start


def _described(about: dict[str, Any]) -> str:
    rows, cols = about["shape"]
    return (
        f"{rows} x {cols} {about['dtype']} {'maximised' if about['maximize'] else 'minimised'} {about['problem'][:8]}"
    )


def fingerprint(problem: Problem) -> str:
    """A hash of all that makes a problem; of large matrices, of rows at even distances."""
    digest = hashlib.sha256(repr((problem.shape, str(problem.cost.dtype), problem.maximize)).encode())
    for part in problem.cost.identity():
        digest.update(part)
    if problem.unmatched_cost is not None:
        digest.update(b"unmatched" + problem.unmatched_cost.tobytes())
    if problem.unmatched_cols is not None:
        digest.update(b"unmatched columns" + problem.unmatched_cols.tobytes())
    return digest.hexdigest()
