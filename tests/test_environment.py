"""The environment variables that the sources read, and their page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "environment.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not in the sdist")
def test_every_variable_is_documented():
    folders = ("src", "cpp/src", "cpp/include")
    sources = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".hpp", ".cpp")
    ]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    read = set(re.findall(r'"(LAPWING_[A-Z_]+)"', text)) | set(re.findall(r'(?:environ\.get|getenv)\("(\w+)"', text))
    documented = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"LAPWING_THREADS", "LAPWING_SIMD", "XDG_CACHE_HOME"} <= read
    assert read <= documented, read - documented
