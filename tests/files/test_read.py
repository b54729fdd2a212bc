"""Which format a file has, how much memory it may take, and what is no file or no text at all."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lapwing import files
from lapwing.errors import ArgumentError
from lapwing.files import FileFormatError
from support.refusal import fails

# --- which format ---------------------------------------------------------------------------------


def test_content_decides_before_the_name(tmp_path: Path, save) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    os.rename(tmp_path / "a.npy", tmp_path / "a.csv")
    assert files.read(tmp_path / "a.csv").format == "npy"
    assert files.read(save("b.csv", "%%MatrixMarket matrix array real general\n1 1\n1\n")).format == "mtx"
    assert files.read(save("costs", "1 2\n3 4\n")).format == "csv"


def test_format_overrides(save) -> None:
    path = save("a.txt", "2\n1\n")
    fails(path, "format=", line=2)
    assert files.read(path, format="csv").cost.tolist() == [[2], [1]]
    with pytest.raises(ArgumentError, match="unknown format 'xls'; use one of npy, npz, csv"):
        files.read(path, format="xls")


def test_what_is_no_file_or_no_text(tmp_path: Path, save) -> None:
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path / "absent.csv")
    fails(tmp_path, "not a regular file")
    fails(save("a.csv", ""), "is empty")
    fails(save("a.csv", b"1,2\n\0\0\n"), "binary data")
    fails(save("a.txt", b"1 2\n" * 2000 + b"\0\n"), "is not a number", line=2001)


def saved(save, *arrays, **named) -> bytes:
    """The bytes that one of NumPy's functions writes."""
    stream = io.BytesIO()
    save(stream, *arrays, **named)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "start", "end"),
    [
        ("a.npz", saved(np.savez, **dict.fromkeys(["a" * 999, "b" * 999], np.eye(2))), "needs one array", "b" * 99),
        ("a.npy", saved(np.save, np.zeros((2, 2), [(f"f{k}", "f8") for k in range(400)])), "holds [('f0'", "type"),
        ("a.npy", saved(np.save, np.eye(2)).replace(b"(2, 2)", b"2" * 990), "has a damaged .npy header", "numpy.save"),
        ("a.mtx", f"%%MatrixMarket matrix array {'r' * 140} general\n", "the field 'rrr", "are"),
        ("a.mtx", f"%%MatrixMarket matrix array real general\n{'1' * 999} 1\n", "must hold the numbers", "111'"),
        ("a.asn", f"p asn {'1' * 999} 1\n", "must be 'p asn NODES ARCS'", "111'"),
        ("a.csv", "x" * 999, "'xxx", "only numbers belong here"),
        ("a.csv", "1" * 999, "the integer 111", "float64"),
    ],
    ids=["members", "dtype", "header", "word", "sizes", "nodes", "token", "integer"],
)
def test_messages_stay_short_whatever_they_quote(save, name: str, content: str | bytes, start: str, end: str) -> None:
    path = save(name, content)
    with pytest.raises(FileFormatError) as caught:
        files.read(path)
    message = caught.value.message
    assert message.startswith(start) and message.endswith(end) and len(message) < 410
    assert str(caught.value).startswith(str(path)) and str(caught.value).endswith(message)


def test_errors_survive_pickling(save) -> None:
    with pytest.raises(FileFormatError) as caught:
        files.read(save("a.csv", "x"))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.line, copy.path) == (str(caught.value), 1, caught.value.path)


# --- huge declarations ----------------------------------------------------------------------------


def npy_header(shape: str) -> bytes:
    header = saved(np.save, np.zeros((1, 1)))
    return header.replace(b"(1, 1), }" + b" " * (len(shape) - 6), shape.encode() + b", }")[:128]


def zipped(header: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cost.npy", header + bytes(1000))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.npy", npy_header("(1000000, 1000000)"), "truncated"),
        ("a.npz", zipped(npy_header("(1000000, 1000000)")), "truncated"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1\n", "limit of 2 GiB"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n1000000 1000000\n1\n", "but has 1"),
        ("a.mtx", "%%MatrixMarket matrix array real symmetric\n1000000 1000000\n1\n", "but has 1"),
        ("a.txt", "1000000000\n1 1 1\n", "limit of 2 GiB"),
        ("a.asn", "p asn 999999999 1\na 1 999999999 1\n", "limit of 2 GiB"),
    ],
)
def test_huge_sizes_are_refused_without_allocating(save, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        files.read(save(name, content))


def test_memory_limit(tmp_path: Path, save) -> None:
    path = save("a.txt", "1000\n1 1 1\n")
    assert files.read(path, memory_limit=16_008).cost.shape == (1000, 1000)
    fails(path, "1000 rows and 1000 columns take 15.63 KiB", "--memory-limit", memory_limit=16_007)
    np.savez_compressed(tmp_path / "a.npz", np.zeros((1000, 1000)))
    assert files.read(tmp_path / "a.npz", memory_limit=8_000_000).cost.shape == (1000, 1000)
    fails(tmp_path / "a.npz", "memory_limit", memory_limit=7_999_999)


def test_limits_and_paths_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "x.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate real general\n99999999 99999999 0\n")
    fails(path, "more than the limit of 953.7 MiB", memory_limit="1GB")
    path.write_bytes(b"%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 0\n")
    fails(path, "at most 2147483647 a side", memory_limit="1GB")
    fails(path, "at most 2147483647 a side", memory_limit=1 << 90)
    with pytest.raises(ArgumentError, match="NUL"):
        files.read("x\0")
