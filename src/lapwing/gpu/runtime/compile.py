"""Compiles a program of the table to machine code, with NVRTC through `cuda.core`; needs neither a GPU nor a driver.

The headers of kernels/ are put into the text (`source_text`), so the text alone determines the program, and
the cache's key must cover only the text. No header of the CUDA toolkit is used: compiling takes tenths of a second,
and no package beside the compiler must be installed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from lapwing.errors import ArgumentError, GpuError
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.programs import TEXT, Program, Variant

KERNELS = Path(__file__).resolve().parents[2] / "kernels"

USER_FILE = "cuda_source"  # the name of a user's text in the compiler's messages
_QUICK_FROM = 12, 9  # NVRTC that has such levels
_TEXT_FILE = "source"  # in whose place a variant's text stands
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"\s*$')


def compile_program(
    program: Program, variant: Variant, architecture: int, log: Any = None, quick: bool = False
) -> bytes:
    """Machine code (a cubin) of all of the program's kernels.

    Parameters
    ----------
    program : Program
    variant : one of `program.variants()`
    architecture : int
        Ten times the compute capability.
    log : object with `write`, optional
        Gets the assembler's report on registers, spills and shared memory.
    quick : bool
        Whether to optimise less: see `can_be_quick`.

    Raises
    ------
    GpuError
        If cuda-core is missing or the compiler refuses; the message holds its log.
    ArgumentError
        If it refuses what a user wrote.
    """
    core = toolkit.core()
    options = program_options(program, variant, architecture, report=log is not None, quick=quick)
    try:
        compiled = core.Program(program_text(program, variant), "c++", options).compile("cubin", logs=log)
    except Exception as error:  # cuda.core's own errors have no common base class
        if f"{USER_FILE}(" in str(error):
            raise ArgumentError(
                f"the CUDA source does not compile; its lines are those of {USER_FILE}:\n{error}"
            ) from error
        version = ".".join(map(str, toolkit.nvrtc_version()))
        raise GpuError(
            f"kernels/{program.source} with {dict(variant)} does not compile for sm_{architecture}: NVRTC {version}. "
            f"If the GPU is newer than this, upgrade with pip install -U 'nvidia-cuda-nvrtc==13.*'.\n{error}"
        ) from error
    return bytes(compiled.code)


def can_be_quick() -> bool:
    """Whether the compiler has a level that takes it a third of the time, and makes code of a good half the speed."""
    return toolkit.nvrtc_version() >= _QUICK_FROM


def program_options(
    program: Program, variant: Variant, architecture: int, report: bool = False, quick: bool = False
) -> Any:
    """The options of `cuda.core`. No contraction to fused multiply-add: one expression gives one result everywhere."""
    macros = program_macros(program, variant)
    return toolkit.core().ProgramOptions(
        name=Path(program.source).name,  # with a folder, cuda.core would want to know what it holds
        arch=f"sm_{architecture}",
        std="c++17",
        fma=False,
        device_int128=True,
        define_macro=macros or None,
        ptxas_options=["-v"] if report else None,
        ofast_compile="mid" if quick else None,
    )


def program_macros(program: Program, variant: Variant) -> list[tuple[str, str]]:
    """Names and values of all macros."""
    chosen = [(name, value) for name, value in variant if name != TEXT]
    return [*chosen, *((name, str(value)) for name, value in program.constants.items())]


def program_text(program: Program, variant: Variant) -> str:
    """All of what is compiled."""
    return source_text(program.source, dict(variant).get(TEXT, ""))


@cache
def source_text(source: str, text: str = "") -> str:
    """A file of kernels/ with its headers in place, each once; and `text` in place of the one that defines the costs.

    A header stands where it is first included, so that no `#include` may stand under an `#if`.
    """
    return "\n".join(_flattened(source, set(), text)) + "\n"


def _flattened(source: str, seen: set[str], text: str) -> list[str]:
    """Lines of a file; `#line` keeps the compiler's messages true."""
    seen.add(source)
    lines = [f'#line 1 "{source}"']
    content = text if source == _TEXT_FILE else (KERNELS / source).read_text(encoding="utf-8")
    for number, line in enumerate(content.splitlines(), 1):
        header = _INCLUDE.match(line)
        if header is None:
            lines.append("" if line.strip() == "#pragma once" else line)
        elif header[1] not in seen:
            lines += [*_flattened(header[1], seen, text), f'#line {number + 1} "{source}"']
        else:
            lines.append("")
    return lines
