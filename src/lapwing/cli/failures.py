"""Exit codes, and how an exception becomes one line on standard error and one of them."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import Any

import click

from lapwing.errors import InfeasibleError, InternalError, LapwingError


class ExitCode(IntEnum):
    """The exit status of the process."""

    OPTIMAL = 0
    INPUT = 1
    USAGE = 2
    INFEASIBLE = 3
    TIME_LIMIT = 4
    INTERNAL = 5
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_CODES_HELP = """\b
Exit codes:
    0  done; for solve: the answer is optimal
    1  a file or its content cannot be used, or memory ran out
    2  the command line is wrong
    3  the problem is infeasible
    4  the time limit came first; the best answer so far was given
    5  a bug in Lapwing
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM, as schedulers send it), after a last checkpoint"""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came: a solve ends as at Ctrl-C."""


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Have SIGTERM raise where Ctrl-C does. Only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class LapwingGroup(click.Group):
    """A group whose commands end with one line and an exit code, never with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _terminated_like_interrupted():
                return super().invoke(ctx)
        except TerminatedError:
            _fail(ctx, ExitCode.TERMINATED, "terminated")
        except KeyboardInterrupt:
            _fail(ctx, ExitCode.INTERRUPTED, "interrupted")
        except InfeasibleError as error:
            _fail(ctx, ExitCode.INFEASIBLE, str(error))
        except InternalError as error:
            _fail(ctx, ExitCode.INTERNAL, str(error))
        except LapwingError as error:
            _fail(ctx, ExitCode.INPUT, str(error))
        except MemoryError as error:
            _fail(ctx, ExitCode.INPUT, f"out of memory ({error}); use float32 or int32 costs, or a smaller problem")
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of standard output has closed it; click ends quietly
                raise
            where = f"{error.filename}: " if error.filename else ""
            _fail(ctx, ExitCode.INPUT, f"{where}{error.strerror or error}")


def _fail(ctx: click.Context, code: ExitCode, message: str) -> None:
    click.echo(f"lapwing: {' '.join(message.split())}", err=True)
    ctx.exit(code)
