"""Messages come back as they were sent, and what is none is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapwing as lw

pytest.importorskip("torch")
messages = pytest.importorskip("lapwing.distributed.messages")


def passed(message):
    head, *body = message.encoded()
    assert len(head) == messages.HEAD_BYTES and messages.body_bytes(head) == sum(map(len, body))
    return messages.decoded(head, body[0] if body else np.empty(0, np.uint8))


@pytest.mark.parametrize("words", [0, 10, 5000])
def test_messages_come_back(words):
    arrays = [
        np.arange(5, dtype=np.int32),
        np.zeros((0, 3)),
        np.array([[math.inf, -0.0, 1e-320]]),
        np.ones(3, np.uint8),
    ]
    sent = messages.Message("word", {"text": "x" * words, "huge": 10**30, "value": math.inf}, arrays)
    got = passed(sent)
    assert (got.kind, got.fields) == (sent.kind, sent.fields)
    for before, after in zip(arrays, got.arrays, strict=True):
        assert before.dtype == after.dtype and before.shape == after.shape and before.tobytes() == after.tobytes()


@pytest.mark.parametrize(
    "error",
    [
        lw.InvalidCostError(3, 4, -math.inf),
        lw.InfeasibleError(np.array([1, 2]), np.array([7])),
        lw.InfeasibleError(np.array([1]), np.array([7, 8]), by_cols=True),
        lw.RangeError("too large"),
        lw.InternalError("a contradiction"),
    ],
)
def test_errors_come_back(error):
    again = messages.error_of(passed(messages.failure(error, 2)))
    assert type(again) is type(error) and str(again) == str(error)
    for name in ("row", "col", "value", "rows", "cols"):
        if hasattr(error, name):
            assert np.array_equal(getattr(again, name), getattr(error, name))


def test_other_errors_are_named():
    again = messages.error_of(passed(messages.failure(ZeroDivisionError("on purpose"), 2)))
    assert (
        isinstance(again, lw.GroupError)
        and str(again) == "rank 2 of the group failed with ZeroDivisionError: on purpose"
    )
    assert isinstance(messages.error_of(passed(messages.failure(KeyboardInterrupt(), 1))), KeyboardInterrupt)


def test_what_is_no_message_is_refused():
    head, body = messages.Message("word", {}, [np.ones(4)]).encoded()
    for broken in (head[::-1].copy(), np.where(np.arange(len(head)) == 20, 0, head).astype(np.uint8)):
        broken[:16] = head[:16]
        with pytest.raises(lw.GroupError, match="same version"):
            messages.decoded(broken, body)
    with pytest.raises(lw.GroupError, match="same version"):
        messages.decoded(head, body[:-8])
