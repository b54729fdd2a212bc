"""Costs that are written read back bit for bit; nobody ever sees half a file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from lapwing import files, instances
from lapwing.errors import ArgumentError


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".mtx"])
@pytest.mark.parametrize("cls", ["uniform", "int:10"])
def test_written_costs_read_back(tmp_path: Path, suffix: str, cls: str) -> None:
    cost = instances.generate(cls, 9, 1, cols=13, dtype=np.int64 if cls == "int:10" else np.float64)
    files.write_cost(tmp_path / f"a{suffix}", cost)
    back = files.read(tmp_path / f"a{suffix}").cost
    assert (back.dtype, back.tolist()) == (cost.dtype, cost.tolist())


def test_writing_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npy"
    files.write_cost(path, np.zeros((2, 2)))
    path.chmod(0o640)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no space"):
            files.write_cost(path, np.ones((2, 2)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npy"]
    link = tmp_path / "link.npy"
    link.symlink_to(path)
    files.write_cost(link, np.ones((2, 2)))
    assert link.is_symlink() and (os.name == "nt" or path.stat().st_mode & 0o777 == 0o640)
    assert np.array_equal(np.load(path), np.ones((2, 2)))


def test_writing_where_it_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"'a.xlsx'.*\.npy, \.npz, \.csv or \.mtx"):
        files.write_cost("a.xlsx", np.zeros((2, 2)))
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ArgumentError, match="not a regular file"):
        files.write_cost(tmp_path / "folder.npy", np.zeros((2, 2)))
    with pytest.raises(FileNotFoundError):
        files.write_cost(tmp_path / "absent" / "a.npy", np.zeros((2, 2)))
