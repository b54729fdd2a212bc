"""From a program of the table to machine code, with NVRTC through `cuda.core`; needs neither a GPU nor a driver.

The headers of kernels/ are put into the text (`source_text`), so that the text alone says what is compiled: it is all
that the cache's key must cover. No header of the CUDA toolkit is used: compiling takes tenths of a second, and no
package beside the compiler must be installed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from lapwing.errors import GpuError
from lapwing.gpu import toolkit
from lapwing.gpu.programs import Program, Variant

KERNELS = Path(__file__).resolve().parent.parent / "kernels"

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"\s*$')


def compile_program(program: Program, variant: Variant, architecture: int, log: Any = None) -> bytes:
    """Machine code (a cubin) of all of the program's kernels.

    Parameters
    ----------
    program : Program
    variant : one of `program.variants()`
    architecture : int
        Ten times the compute capability.
    log : object with `write`, optional
        Gets the assembler's report on registers, spills and shared memory.

    Raises
    ------
    GpuError
        If cuda-core is missing or the compiler refuses; the message holds its log.
    """
    core = toolkit.core()
    options = program_options(program, variant, architecture, report=log is not None)
    try:
        compiled = core.Program(source_text(program.source), "c++", options).compile("cubin", logs=log)
    except Exception as error:  # cuda.core's own errors have no common base class
        version = ".".join(map(str, toolkit.nvrtc_version()))
        raise GpuError(
            f"kernels/{program.source} with {dict(variant)} does not compile for sm_{architecture}: NVRTC {version}. "
            f"If the GPU is newer than this, upgrade with pip install -U 'lapwing[cuda13]'.\n{error}"
        ) from error
    return bytes(compiled.code)


def program_options(program: Program, variant: Variant, architecture: int, report: bool = False) -> Any:
    """The options of `cuda.core`. No contraction to fused multiply-add: one expression gives one result everywhere."""
    macros = [*variant, *((name, str(value)) for name, value in program.constants.items())]
    return toolkit.core().ProgramOptions(
        name=program.source,
        arch=f"sm_{architecture}",
        std="c++17",
        fma=False,
        device_int128=True,
        define_macro=macros or None,
        ptxas_options=["-v"] if report else None,
    )


@cache
def source_text(source: str) -> str:
    """A file of kernels/ with its headers in place, each once."""
    return "\n".join(_flattened(source, set())) + "\n"


def _flattened(source: str, seen: set[str]) -> list[str]:
    """Lines of a file; `#line` keeps the compiler's messages true."""
    seen.add(source)
    lines = [f'#line 1 "{source}"']
    for number, line in enumerate((KERNELS / source).read_text(encoding="utf-8").splitlines(), 1):
        header = _INCLUDE.match(line)
        if header is None:
            lines.append("" if line.strip() == "#pragma once" else line)
        elif header[1] not in seen:
            lines += [*_flattened(header[1], seen), f'#line {number + 1} "{source}"']
        else:
            lines.append("")
    return lines
