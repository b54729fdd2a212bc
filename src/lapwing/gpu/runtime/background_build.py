"""Programs that take long to compile: a quick build first, while another process compiles the full build.

The core's persistent kernel takes the compiler 10 to 20 s. With less optimisation it takes a third of that, and solves
take 1.2 to 2.8 times as long; the answers are the same, since nothing is contracted or reordered either way. So the
first use on a machine begins with a quick build, while a process of its own compiles the program in full, into the
cache; it does so even if the one that started it ends before. Later solves get the full build as soon as it is there
(`launch.kernels`). If no process can be started, or there is no cache, the first use waits for the compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lapwing.gpu.runtime.cache import cached_program, can_keep, find_program
from lapwing.gpu.runtime.compile import can_be_quick
from lapwing.gpu.runtime.programs import PROGRAMS, Program, Variant

_NICENESS = 10  # of the process, for which no solve waits


@dataclass(frozen=True)
class BackgroundBuild:
    """A full build in the making."""

    program: Program
    variant: Variant
    architecture: int
    process: subprocess.Popen[str]

    def is_over(self) -> bool:
        """Whether it was made, or failed."""
        return self.process.poll() is not None

    def wait(self) -> None:
        """Wait until the build ends."""
        self.process.wait()

    def abandon(self) -> None:
        """Stop the build, whose result is not needed."""
        self.process.kill()
        self.process.wait()

    def result(self) -> bytes | None:
        """The code; None if there is none."""
        return find_program(self.program, self.variant, self.architecture)


def start_build(program: Program, variant: Variant, architecture: int) -> tuple[bytes, BackgroundBuild | None]:
    """Code to begin with; and, if it is a quick build, the full one in the making.

    Raises
    ------
    GpuError, ArgumentError
        As `compile_program`.
    """
    if program.is_slow_to_compile and can_be_quick():
        code = find_program(program, variant, architecture)
        if code is not None:
            return code, None
        build = _make(program, variant, architecture)
        if build is not None:
            try:
                return cached_program(program, variant, architecture, quick=True), build
            except BaseException:  # a user's text may not compile
                build.abandon()
                raise
    return cached_program(program, variant, architecture), None


def _make(program: Program, variant: Variant, architecture: int) -> BackgroundBuild | None:
    """Start a process for it; None where that cannot be."""
    python = Path(sys.executable or "")
    script = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"  # as it is found here
    if not python.name.startswith("python") or not can_keep():  # an application that has Python in it, for one
        return None
    try:
        process = subprocess.Popen(
            [python, "-P", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is not for it
        )
    except OSError:
        return None
    assert process.stdin is not None
    with contextlib.suppress(OSError), process.stdin as stdin:  # if it is over already, it failed
        stdin.write(order(program, variant, architecture))
    return BackgroundBuild(program, variant, architecture, process)


def order(program: Program, variant: Variant, architecture: int) -> str:
    """The order for the process."""
    return json.dumps([program.name, variant, architecture])


def main() -> None:
    """Compile what the standard input orders."""
    name, variant, architecture = json.loads(sys.stdin.read())
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    (program,) = (program for program in PROGRAMS if program.name == name)
    cached_program(program, tuple((macro, value) for macro, value in variant), architecture)
