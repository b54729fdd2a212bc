"""Programs that were compiled ahead of time: the package `lapwing_kernels`, a wheel of its own, if it is installed.

With it the first solve on a machine waits for no compiler. The package holds one file a program, variant and
architecture, its machine code compressed by zlib. A file's name is a digest of all that the code depends on, the
compiler excepted: a package of another version of Lapwing has other names, so it is passed over, and what it lacks is
compiled as without it. `tools/build_kernels.py` makes the wheel.
"""

from __future__ import annotations

import hashlib
import importlib.util
import zlib
from functools import cache
from pathlib import Path

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.compile import program_macros, program_text
from lapwing.gpu.runtime.programs import Program, Variant

PACKAGE = "lapwing_kernels"
COMPILER = "nvrtc.txt"  # the compiler's version, such as 12.9


def shipped_program(program: Program, variant: Variant, architecture: int) -> bytes | None:
    """The code of a full build, or None if the package does not have it whole, or the driver is too old for it."""
    folder = _folder()
    if folder is None:
        return None
    try:
        return zlib.decompress((folder / file_name(program, variant, architecture)).read_bytes())
    except (OSError, zlib.error):
        return None


def file_name(program: Program, variant: Variant, architecture: int) -> str:
    """Of a program in the package."""
    depends_on = program_text(program, variant), program_macros(program, variant), architecture
    return hashlib.sha256(repr(depends_on).encode()).hexdigest()[:40]


@cache
def _folder() -> Path | None:
    """Where the package is, if the driver can load its code: that of a compiler of the driver's major version."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0])
    try:
        major = int((folder / COMPILER).read_text(encoding="ascii").split(".")[0])
    except (OSError, ValueError):
        return None
    status, version = toolkit.driver().cuDriverGetVersion()
    return folder if int(status) == 0 and version // 1000 >= major else None
