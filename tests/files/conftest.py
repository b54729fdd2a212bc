"""Making the files that the readers are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapwing.files import text as text_module


@pytest.fixture
def save(tmp_path: Path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(params=[1 << 18, 7], ids=["one piece", "many pieces"])
def piece_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is parsed in pieces; the answers and the line numbers must not depend on where it is cut."""
    monkeypatch.setattr(text_module, "_PIECE_BYTES", request.param)
