"""Check lengths that formatters leave alone: lines of kernels and C++, comments included, and files, of Python too.

A file past the limit asks to be split along its own seam. Only lines are checked in tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 120
LONGEST_FILE = 500  # "about 450"
FOLDERS = ("src/lapwing", "cpp", "tests", "benchmarks", "tools", "examples")
SUFFIXES = {".cu", ".cuh", ".cpp", ".hpp", ".py", ".pyi"}


def problems() -> Iterator[str]:
    """Files and lines that are too long."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES):
        name, lines = path.relative_to(ROOT), path.read_text(encoding="utf-8").splitlines()
        if len(lines) > LONGEST_FILE and "tests" not in name.parts:
            yield f"{name}: {len(lines)} lines"
        for number, line in enumerate(lines, 1):
            if len(line) > LONGEST_LINE:
                yield f"{name}:{number}: {len(line)} columns"


def main() -> int:
    """Print what is too long; 1 if there is anything."""
    found = list(problems())
    print("\n".join(found) or "lines: short enough")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
