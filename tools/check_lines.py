"""Check that no line of the kernels, comments included, is longer than 120 columns: clang-format keeps comments."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 120
FOLDERS = tuple(f"src/lapwing/kernels/{name}" for name in ("common", "core", "costs"))
SUFFIXES = {".cu", ".cuh", ".cpp", ".hpp"}


def main() -> int:
    """Print the lines that are too long; 1 if there are any."""
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    long = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST
    ]
    print("\n".join(long) or "lines: short enough")
    return bool(long)


if __name__ == "__main__":
    sys.exit(main())
