"""Run the Python examples of the documents, and check their links and the paths that they name.

A folder's README.md must also name every source file of the folder.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# A path in backquotes: a folder with a final slash, or a file of the project's sources. NAME stands for any name.
NAMED_PATH = re.compile(r"`((?:[\w.-]+/)+|(?:[\w.-]+/)*[\w.-]+\.(?:py|pyi|hpp|cpp|cuh|cu|sh|toml|json|txt))`")
FOLDERS = (".ci", "benchmarks", "cpp", "docs", "examples", "src", "tests", "tools")


def documents() -> list[Path]:
    """Return every Markdown file of the project that users or contributors read."""
    folders = ("docs", "benchmarks", "cpp", "src", "tests")
    return [*sorted(ROOT.glob("*.md")), *(path for name in folders for path in sorted(ROOT.glob(f"{name}/**/*.md")))]


def project_paths() -> set[str]:
    """Return every path of the project, folders with a final slash, and every end of it that begins at a folder."""
    paths: set[str] = set()
    for path in [*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]:
        parts = path.relative_to(ROOT).parts
        slash = "/" if path.is_dir() else ""
        paths.update("/".join(parts[begin:]) + slash for begin in range(len(parts)))
    return paths


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yield a message for every relative link without a target."""
    for target in LINK.findall(text):
        if not (path.parent / target).exists():
            yield f"{path.relative_to(ROOT)}: the link to {target} leads nowhere"


def missing_paths(path: Path, text: str, paths: set[str]) -> Iterator[str]:
    """Yield a message for every path in backquotes that the project has not."""
    for name in NAMED_PATH.findall(text):
        if name not in paths and "NAME" not in name and not name.startswith(("build/", ".venv/")):
            yield f"{path.relative_to(ROOT)}: there is no {name}"


def unnamed_files(path: Path, text: str) -> Iterator[str]:
    """Yield a message for every source file of a folder that the folder's page does not name, by name or pattern."""
    if path.name != "README.md" or path.parent == ROOT:
        return
    patterns = re.findall(r"`([^`\s]+)`", text)
    for source in sorted(path.parent.iterdir()):
        is_source = source.suffix in (".hpp", ".cpp", ".cuh", ".cu", ".py") and source.name != "__init__.py"
        if is_source and not any(fnmatch(source.name, pattern) for pattern in patterns):
            yield f"{path.relative_to(ROOT)}: {source.name} is not named"


def failing_example(path: Path, text: str) -> Iterator[str]:
    """Yield the first failure of the document's examples, run from top to bottom."""
    namespace: dict[str, object] = {}
    for match in EXAMPLE.finditer(text):
        line = text.count("\n", 0, match.start(1))
        try:
            exec(compile("\n" * line + match[1], str(path), "exec"), namespace)
        except Exception:
            yield traceback.format_exc(limit=-1)
            return


def main() -> int:
    """Print what is wrong; return the exit code."""
    problems, paths = [], project_paths()
    for path in documents():
        text = path.read_text(encoding="utf-8")
        problems += [*broken_links(path, text), *missing_paths(path, text, paths), *unnamed_files(path, text)]
        problems += failing_example(path, text)
    print("\n".join(problems) or "documents: examples run, links and paths exist")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
