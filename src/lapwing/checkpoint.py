"""What a long solve writes now and then, so that another can go on from it.

A checkpoint is an .npz file with the duals u and v, the assignment row_to_col, and a JSON text `about`: which problem
it is of, by a hash of its costs, how far the solve was, and a note of whoever asked for it. It replaces the one before
only when it is complete, so there is always a whole one. The duals alone are what a solve goes on from: prices are what
takes it long to find, and from good ones the assignment follows quickly. Whatever a file says, the answer is proven.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DtypeError
from lapwing.files.atomic import atomic_writer
from lapwing.methods import Answer, Start
from lapwing.problem import Problem

_VERSION: Final = 1
_ARRAYS: Final = ("u", "v", "row_to_col", "about")
_DAMAGE: Final = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError)


@dataclass(frozen=True)
class Checkpoint:
    """Where a long solve writes what it has, and how often.

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
        try:
            os.fspath(self.path)
            interval = float(self.interval)
        except (TypeError, ValueError):
            raise DtypeError(
                f"checkpoint must be the path of a file, and its interval seconds, got {self.path!r}, {self.interval!r}"
            ) from None
        except OverflowError:
            raise ArgumentError("a checkpoint's interval is beyond float64: it must be finite, in seconds") from None
        if not 0 <= interval < math.inf:
            raise ArgumentError(f"a checkpoint's interval must be finite and not negative, got {self.interval}")


def as_checkpoint(given: Any) -> Checkpoint:
    """A path as a `Checkpoint`."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds.

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
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as file:
                u, v, row_to_col, about = (file[name] for name in _ARRAYS)
            known = json.loads(about.tobytes())
            lengths = len(u), len(v)
            fits = known["version"] == _VERSION and lengths == tuple(known["shape"]) and "problem" in known
        except _DAMAGE as error:
            raise ArgumentError(
                f"{path} is no checkpoint of Lapwing, or it is damaged ({error}); remove it to start anew"
            ) from error
    if not fits:
        raise ArgumentError(f"{path} is a checkpoint of another version of Lapwing; remove it to start anew")
    return Saved(u, v, row_to_col, known)


class Keeper:
    """Writes one solve's checkpoints, and says what it can start from.

    A checkpoint that cannot be written is a warning, once: the solve goes on, and the one before stays.

    Raises
    ------
    ArgumentError
        If there is a file already that is no checkpoint, or one of another problem.
    """

    def __init__(self, checkpoint: Checkpoint, problem: Problem) -> None:
        self.interval = float(checkpoint.interval)
        self._path, self._problem = Path(checkpoint.path), problem
        self._began, self._warned = time.perf_counter(), False
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
    def start(self) -> Start | None:
        """The duals in the file, if there is one."""
        return None if self._before is None else (self._before.u, self._before.v)

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
        except OSError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"the checkpoint {self._path} could not be written ({error.strerror or error}): the solve goes on, "
                    "and the checkpoint before, if any, stays as it was",
                    RuntimeWarning,
                    stacklevel=2,
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
    return digest.hexdigest()
