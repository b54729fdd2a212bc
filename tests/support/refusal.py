"""The words that a reader must have for a file that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapwing import files
from lapwing.files import FileFormatError


def fails(path: Path, *words: str, line: int | None = None, **options: object) -> None:
    with pytest.raises(FileFormatError) as caught:
        files.read(path, **options)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
