"""Run the Python examples of README.md and docs/, one document at a time; check that relative links lead somewhere."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def documents() -> list[Path]:
    """Return every Markdown file of the project that users or contributors read."""
    return [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), ROOT / "benchmarks" / "README.md"]


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yield a message for every relative link without a target."""
    for target in LINK.findall(text):
        if not (path.parent / target).exists():
            yield f"{path.relative_to(ROOT)}: the link to {target} leads nowhere"


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
    problems = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        problems += [*broken_links(path, text), *failing_example(path, text)]
    print("\n".join(problems) or "documents: examples run, links lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
