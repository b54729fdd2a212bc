"""Check that a tag's version is that of pyproject.toml, of CITATION.cff and of the newest part of CHANGELOG.md."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = {"CITATION.cff": r"^version: (\S+)$", "CHANGELOG.md": r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$"}


def main() -> int:
    """Print where the version of the first argument is missing; return the exit code."""
    wanted = sys.argv[1]
    found = {"pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "no released version"
    wrong = {name: version for name, version in found.items() if version != wanted}
    for name, version in wrong.items():
        print(f"{name} names {version}, the tag {wanted}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
