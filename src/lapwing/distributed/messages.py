"""What ranks tell each other: a word, a few numbers and texts as JSON, and arrays; nothing of it is ever executed.

Errors travel as messages, too, and are raised again by every rank: Lapwing's own as what they are, others as a
`GroupError` that names them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import (
    ArgumentError,
    DtypeError,
    GpuError,
    GroupError,
    InfeasibleError,
    InternalError,
    InvalidCostError,
    LapwingError,
    MissingPackageError,
    RangeError,
)

HEAD_BYTES: Final = 1024  # of every message; a longer description follows by itself
_LENGTH_BYTES: Final = 8
_DTYPES: Final = frozenset({"float32", "float64", "int32", "int64", "uint8"})
_WORDED: Final[dict[str, type[LapwingError]]] = {
    kind.__name__: kind
    for kind in (ArgumentError, DtypeError, RangeError, GpuError, GroupError, InternalError, MissingPackageError)
}


@dataclass(frozen=True, eq=False)
class Message:
    """One message.

    Attributes
    ----------
    kind : str
    fields : dict
        What JSON can say.
    arrays : sequence of float32, float64, int32, int64 or uint8 arrays
    """

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    arrays: Sequence[NDArray[Any]] = ()

    def encoded(self) -> list[NDArray[np.uint8]]:
        """Bytes: a head of `HEAD_BYTES`, the description if it is longer than that, and the arrays that have any."""
        arrays = [np.ascontiguousarray(array) for array in self.arrays]
        forms = [(array.dtype.name, array.shape) for array in arrays]
        text = np.frombuffer(json.dumps((self.kind, self.fields, forms)).encode(), np.uint8)
        head = np.zeros(HEAD_BYTES, np.uint8)
        head[:_LENGTH_BYTES].view(np.int64)[0] = len(text)
        parts = [head]
        if len(text) <= HEAD_BYTES - _LENGTH_BYTES:
            head[_LENGTH_BYTES : _LENGTH_BYTES + len(text)] = text
        else:
            parts.append(text.copy())
        for array in arrays:
            if array.size:
                flat = array.reshape(-1).view(np.uint8)
                parts.append(flat if flat.flags.writeable else flat.copy())
        return parts


def length_of(head: NDArray[np.uint8]) -> int:
    """Bytes of the description that a head announces, if it is not in the head itself; else 0."""
    length = int(head[:_LENGTH_BYTES].view(np.int64)[0])
    return length if length > HEAD_BYTES - _LENGTH_BYTES else 0


def described(head: NDArray[np.uint8], longer: NDArray[np.uint8] | None) -> Message:
    """The message without the contents of its arrays, which are to be read into `arrays`."""
    length = int(head[:_LENGTH_BYTES].view(np.int64)[0])
    text = head[_LENGTH_BYTES : _LENGTH_BYTES + length] if longer is None else longer
    kind, fields, forms = json.loads(text.tobytes())
    if not all(name in _DTYPES and all(type(n) is int and n >= 0 for n in shape) for name, shape in forms):
        raise GroupError("a rank sent what is no message of Lapwing's: do all ranks run the same version?")
    return Message(kind, fields, [np.empty(shape, name) for name, shape in forms])


def failure(error: BaseException, rank: int) -> Message:
    """An error of a rank as a message."""
    fields: dict[str, Any] = {"rank": rank, "error": type(error).__name__, "text": str(error)}
    if isinstance(error, InvalidCostError):
        row, col, value, maximize = error.__reduce__()[1]
        # A NaN has no place in JSON that is read elsewhere; Python's reader takes it.
        return Message("failure", fields | {"at": [row, col], "value": value, "maximize": maximize})
    if isinstance(error, InfeasibleError):
        rows, cols, by_cols = error.__reduce__()[1]
        return Message("failure", fields | {"by_cols": by_cols}, [rows, cols])
    return Message("failure", fields)


def error_of(message: Message) -> BaseException:
    """The error that a message tells of."""
    told = message.fields
    name, text, rank = told["error"], told["text"], told["rank"]
    if name == "InvalidCostError":
        row, col = told["at"]
        return InvalidCostError(row, col, float(told["value"]), told["maximize"])
    if name == "InfeasibleError":
        rows, cols = message.arrays
        return InfeasibleError(rows.astype(np.int64), cols.astype(np.int64), told["by_cols"])
    if name == "InternalError":
        error = InternalError.__new__(InternalError)
        error.args = (text,)
        return error
    if name == "KeyboardInterrupt":
        return KeyboardInterrupt(f"rank {rank} of the group was interrupted")
    if name in _WORDED:
        return _WORDED[name](text)
    return GroupError(f"rank {rank} of the group failed with {name}: {text}")


def finite_or_none(value: float) -> float | None:
    """A number for a comparison of options; None stands for no limit."""
    return value if math.isfinite(value) else None
