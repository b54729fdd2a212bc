"""The messages between ranks: a word, a few numbers and texts as JSON, and arrays. No content is ever executed.

Errors are sent as messages, too, and every rank raises them again: Lapwing's own with their type, others as a
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

HEAD_BYTES: Final = 1024  # of every message
_NUMBERS_BYTES: Final = 16  # of it: lengths of the description and of the body
_ROOM: Final = HEAD_BYTES - _NUMBERS_BYTES  # for a description; a longer one begins the body
_ALIGNMENT: Final = 8
_DTYPES: Final[dict[str, Any]] = {kind: np.dtype(kind) for kind in ("float32", "float64", "int32", "int64", "uint8")}
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
        """Bytes: a head of `HEAD_BYTES`, and a body, if there is more than fits into the head."""
        arrays = [np.ascontiguousarray(array) for array in self.arrays]
        forms = [(array.dtype.name, array.shape) for array in arrays]
        text = np.frombuffer(json.dumps((self.kind, self.fields, forms)).encode(), np.uint8)
        parts = [text] if len(text) > _ROOM else []
        parts += [array.reshape(-1).view(np.uint8) for array in arrays]
        ends = np.cumsum([_padded(len(part)) for part in parts], dtype=np.int64)
        head = np.zeros(HEAD_BYTES, np.uint8)
        head[:_NUMBERS_BYTES].view(np.int64)[:] = len(text), ends[-1] if parts else 0
        if len(text) <= _ROOM:
            head[_NUMBERS_BYTES : _NUMBERS_BYTES + len(text)] = text
        if not parts or not ends[-1]:
            return [head]
        body = np.empty(ends[-1], np.uint8)
        for part, end in zip(parts, ends, strict=True):
            begin = end - _padded(len(part))
            body[begin : begin + len(part)] = part
        return [head, body]


def body_bytes(head: NDArray[np.uint8]) -> int:
    """How many bytes follow a head."""
    return int(head[:_NUMBERS_BYTES].view(np.int64)[1])


def decoded(head: NDArray[np.uint8], body: NDArray[np.uint8]) -> Message:
    """The message of a head and its body, in which its arrays stay.

    Raises
    ------
    GroupError
        If it is none.
    """
    length = int(head[:_NUMBERS_BYTES].view(np.int64)[0])
    in_body = length > _ROOM
    text = body[:length] if in_body else head[_NUMBERS_BYTES : _NUMBERS_BYTES + length]
    begin = _padded(length) if in_body else 0
    try:
        kind, fields, forms = json.loads(text.tobytes())
        arrays = []
        for name, shape in forms:
            size = math.prod(shape) * np.dtype(_DTYPES[name]).itemsize
            arrays.append(body[begin : begin + size].view(_DTYPES[name]).reshape(shape))
            begin += _padded(size)
    except (ValueError, KeyError, TypeError) as error:
        raise GroupError("a rank sent what is no message of Lapwing's: do all ranks run the same version?") from error
    return Message(kind, fields, arrays)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


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
