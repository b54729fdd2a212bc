"""Reading problems: every format, every kind of damage, and numbers that keep their bits."""

from __future__ import annotations

import io
import math
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing import files, instances
from lapwing.errors import ArgumentError
from lapwing.files import FileFormatError
from lapwing.files import text as text_module

INF = np.inf


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


def fails(path: Path, *words: str, line: int | None = None, **options: object) -> None:
    with pytest.raises(FileFormatError) as caught:
        files.read(path, **options)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("piece_bytes")
@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n4,5,6\n",
        "1;2;3\n4;5;6",
        "1\t2\t3\r\n4\t5\t6\r\n",
        "\n 1 2  3 \n\n4 5 6\n\n",
        "# head\n1, 2, 3 # a\n4,5,6",
        "\ufeff1,2,3\n4,5,6\n",
    ],
)
def test_tables(save, text: str) -> None:
    problem = files.read(save("a.csv", text))
    assert problem.format == "csv"
    assert problem.cost.dtype == np.int64
    assert problem.cost.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.usefixtures("piece_bytes")
def test_table_of_floats_keeps_every_bit(save, tmp_path: Path) -> None:
    cost = np.random.default_rng(0).standard_normal((40, 7)) * 10.0 ** np.arange(-300, 300, 100)[:6].repeat(2)[:7]
    cost[3, 4], cost[5, 5] = INF, 5e-324
    files.write_cost(tmp_path / "a.csv", cost)
    assert files.read(tmp_path / "a.csv").cost.tobytes() == cost.tobytes()


def test_table_of_integers_beyond_2_53_stays_exact(save) -> None:
    cost = files.read(save("a.csv", "9223372036854775807,-9223372036854775808\n9007199254740993,+1\n")).cost
    assert cost.tolist() == [[2**63 - 1, -(2**63)], [2**53 + 1, 1]]


def test_a_column_and_a_row(save) -> None:
    assert files.read(save("a.csv", "1\n2\n3\n")).cost.shape == (3, 1)
    assert files.read(save("a.tsv", "1\t2\t3")).cost.shape == (1, 3)


@pytest.mark.usefixtures("piece_bytes")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1,2\n3,x\n", 2, "'x' is not a number"),
        ("a,b\n3,4\n", 1, "'a' is not a number"),
        ("1,2\n\n3,4,5\n6,7\n", 3, "3 numbers where the rows before have 2"),
        ("1,2\n3\n", 2, "1 number where the rows before have 2"),
        ("1,2\n3,,4\n", 2, "empty field"),
        ("1,2\n,3\n", 2, "empty field"),
        ("1,2\n3,4,\n", 2, "empty field"),
        ("1,2\n3 4,5\n", 2, "without ','"),
        ("1 2,,3\n", 1, "empty field"),
        ("1,2\n,\n", 2, "empty field"),
        ("1.5,2\n3,1e999\n", 2, "1e999 is beyond the range of float64"),
        ("1,2\n3,9223372036854775808\n", 2, "9223372036854775808 does not fit 64 bits"),
        ("1,2\n3,1_0\n", 2, "'1_0' is not a number"),
        ("1,2\n3,0x10\n", 2, "'0x10' is not a number"),
        ("1,2\n3,1+1\n", 2, "'1+1' is not a number"),
        ("1,2\n3,--1\n", 2, "'--1' is not a number"),
        ("1,2\n3,1e\n", 2, "'1e' is not a number"),
        ("1,2\n3,\u00e9\n", 2, "is not a number"),
        ("1;2\n1,5;2\n", 2, "'1,5' is not a number"),
        ("# only\n\n", None, "holds no numbers"),
    ],
)
def test_malformed_tables(save, text: str, line: int | None, words: str) -> None:
    fails(save("a.csv", text), words, line=line)


NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


@given(
    st.lists(st.text("0123456789+-.eEinfNa", min_size=1, max_size=24) | st.floats().map(repr), min_size=1, max_size=6)
)
def test_a_token_is_read_as_python_reads_it_or_refused(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "tokens.csv"
    path.write_text(" ".join(tokens))
    valid = all(NUMBER.fullmatch(token) for token in tokens)
    integers = not any(set(token) - set("0123456789+-") for token in tokens)
    overflow = any(math.isinf(float(token)) and "i" not in token.lower() for token in tokens) if valid else True
    if valid and integers and all(-(2**63) <= int(token) < 2**63 for token in tokens):
        assert files.read(path).cost.tolist() == [[int(token) for token in tokens]]
    elif valid and not integers and not overflow:
        expected = np.array([[float(token) for token in tokens]])
        assert np.array_equal(files.read(path).cost, expected, equal_nan=True)
    else:
        with pytest.raises(FileFormatError):
            files.read(path)


# --- OR-Library -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("piece_bytes")
def test_orlib_dense(save) -> None:
    problem = files.read(save("assign3.txt", " 3\n 1 2 3 4\n 5\n 6 7 8 9 \n"))
    assert (problem.format, problem.cost.tolist()) == ("orlib", [[1, 2, 3], [4, 5, 6], [7, 8, 9]])


@pytest.mark.usefixtures("piece_bytes")
def test_orlib_sparse(save) -> None:
    path = save("assignp2.txt", " 2 \n 1 2 7 \n 2 1 8\n")
    problem = files.read(path)
    assert (problem.format, problem.cost.tolist()) == ("orlib-sparse", [[INF, 7], [8, INF]])
    assert files.read(path, maximize=True).cost.tolist() == [[-INF, 7], [8, -INF]]


def test_orlib_sparse_with_as_many_numbers_as_a_dense_one(save) -> None:
    lines = "".join(f"{i} {j} {i * j}\n" for i in range(1, 7) for j in (1, 6))  # 36 numbers = 6 * 6
    path = save("a.txt", "6\n" + lines)
    assert files.read(path).format == "orlib-sparse"
    assert files.read(path, format="orlib").cost.shape == (6, 6)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("2\n1 2 3\n4 5\n", 3, "neither n * n costs in all nor 'i j cost'"),
        ("2\n1 2\n3\n", 2, "neither n * n"),
        ("2\n1 3 5\n", 2, "the column must be an integer from 1 to 2"),
        ("2\n1 1 5\n0 1 5\n", 3, "the row must be an integer from 1 to 2"),
        ("2\n1 1 5\n1.5 1 5\n", 3, "the row must be an integer"),
        ("3\n1 1 5\n2 2 1\n1 1 6\n2 3 4\n", 4, "(1, 1) is given for the second time"),
        ("99999999999\n1 1 1\n", 1, "first number must be n"),
    ],
)
def test_malformed_orlib(save, text: str, line: int, words: str) -> None:
    fails(save("a.txt", text), words, line=line)


def test_truncated_orlib_dense(save) -> None:
    fails(save("a.txt", "3\n1 2 3\n4 5 6\n7 8\n"), "8 costs after n = 3", "truncated", line=4, format="orlib")


# --- Matrix Market --------------------------------------------------------------------------------


@pytest.mark.usefixtures("piece_bytes")
@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("coordinate real general", "2 3 2\n1 3 1.5\n2 1 -4\n", [[INF, INF, 1.5], [-4, INF, INF]]),
        ("coordinate integer general", "2 2 2\n\n1 2 7\n% c\n2 1 0\n", [[INF, 7], [0, INF]]),
        ("coordinate pattern general", "2 2 1\n1 2\n", [[INF, 1], [INF, INF]]),
        ("coordinate integer symmetric", "2 2 2\n1 1 5\n2 1 7\n", [[5, 7], [7, INF]]),
        ("coordinate real skew-symmetric", "2 2 1\n2 1 7\n", [[INF, -7], [7, INF]]),
        ("array integer general", "2 3\n1\n2\n3\n4\n5\n6\n", [[1, 3, 5], [2, 4, 6]]),
        ("array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n", [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ("array integer skew-symmetric", "3 3\n1\n2\n3\n", [[0, -1, -2], [1, 0, -3], [2, 3, 0]]),
        ("array integer general", "0 3\n", np.empty((0, 3)).tolist()),
    ],
)
def test_matrix_market(save, header: str, body: str, expected: list) -> None:
    problem = files.read(save("a.mtx", f"%%MatrixMarket matrix {header}\n% comment\n%\n{body}"))
    assert problem.format == "mtx"
    assert problem.cost.tolist() == expected


@pytest.mark.parametrize(("symmetric", "integer"), [(False, False), (False, True), (True, False)])
def test_matrix_market_as_scipy_writes_it(tmp_path: Path, symmetric: bool, integer: bool) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.random.default_rng(0).integers(1, 9, (12, 12)) * (1 if integer else 0.37)
    dense = dense + dense.T if symmetric else dense
    scipy_io.mmwrite(tmp_path / "dense.mtx", dense)
    assert np.array_equal(files.read(tmp_path / "dense.mtx").cost, dense)
    mask = np.random.default_rng(1).random((12, 12)) < 0.4
    mask = mask | mask.T if symmetric else mask
    scipy_io.mmwrite(tmp_path / "sparse.mtx", sparse.coo_array(np.where(mask, dense, 0)))
    assert np.array_equal(files.read(tmp_path / "sparse.mtx").cost, np.where(mask, dense, INF))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", 1, "'complex' is not supported"),
        ("%%MatrixMarket vector array real general\n1 1\n1\n", 1, "'vector' is not supported"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n1\n", 1, "pattern"),
        ("%%MatrixMarket matrix array real\n1 1\n1\n", 1, "FORMAT FIELD SYMMETRY"),
        ("%%MatrixMarket matrix array real general\n% no more\n", 3, "before the line with the sizes"),
        ("%%MatrixMarket matrix array real general\n2 x\n", 2, "'2 x'"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", 2, "so 4 costs, but has 3"),
        ("%%MatrixMarket matrix array real symmetric\n2 3\n1\n2\n3\n", 2, "must be square, not 2 x 3"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", 2, "declares 2 entries but has 1"),
        ("%%MatrixMarket matrix coordinate real general\n%\n2 2 1\n\n1 3 1\n", 5, "column must be an integer"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", 3, "2 numbers instead of 'i j cost'"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 z\n", 3, "'z' is not a number"),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n", 3, "on or below the diagonal"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", 3, "below the diagonal"),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 2 9007199254740993\n", 3, "is beyond 2**53"),
    ],
)
def test_malformed_matrix_market(save, text: str, line: int, words: str) -> None:
    fails(save("a.mtx", text), words, line=line)


# --- DIMACS ---------------------------------------------------------------------------------------

DIMACS = "c example\np asn 5 4\nn 4\nn 2\nc arcs\na 2 1 5\na 2 5 -6\na 4 3 7\na 4 1 2\n"


@pytest.mark.usefixtures("piece_bytes")
@pytest.mark.parametrize("name", ["a.asn", "a.txt"])
def test_dimacs(save, name: str) -> None:
    problem = files.read(save(name, DIMACS))
    assert problem.format == "dimacs"
    assert problem.cost.tolist() == [[5, INF, -6], [2, 7, INF]]  # rows 2, 4; columns 1, 3, 5


def test_dimacs_without_node_lines(save) -> None:
    assert files.read(save("a.asn", "p asn 4 2\na 1 3 5\n\na 2 4 6")).cost.tolist() == [[5, INF], [INF, 6]]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("p asn 5 4\n", "", None, "0 lines 'p asn NODES ARCS'"),
        ("c arcs", "p asn 5 4", 5, "2 lines 'p asn"),
        ("p asn 5 4", "p max 5 4", 2, "not 'p max 5 4'"),
        ("p asn 5 4", "p asn 5", 2, "must be 'p asn NODES ARCS'"),
        ("p asn 5 4", "p asn 5 5", 2, "declares 5 arcs but has 4"),
        ("c example", "n 1", 1, "must come before"),
        ("n 2", "n 6", 4, "integer from 1 to 5"),
        ("n 2", "n 4", 4, "node 4 is named for the second time"),
        ("n 2", "n 2 3", 4, "must be 'n ID'"),
        ("n 2", "x 2", 4, "'x 2' is not a line of type"),
        ("n 2", "n2", 4, "'n2' is not a line of type"),
        ("a 2 5 -6", "a 2 5", 7, "must be 'a SOURCE TARGET COST'"),
        ("a 2 5 -6", "a 2 1 5", 7, "(2, 1) is given for the second time"),
        ("a 2 5 -6", "a 2 9 5", 7, "column must be an integer from 1 to 5"),
        ("a 2 5 -6", "a 2 4 5", 7, "from 2 to 4 does not lead"),
        ("a 2 5 -6", "a 1 5 5", 7, "from 1 to 5 does not lead"),
        ("a 2 5 -6", "a 2 5 q", 7, "'q' is not a number"),
    ],
)
def test_malformed_dimacs(save, old: str, new: str, line: int | None, words: str) -> None:
    assert old in DIMACS
    fails(save("a.asn", DIMACS.replace(old, new, 1)), words, line=line)


# --- NumPy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i1", "u8", "?", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_mapped(tmp_path: Path, dtype: str, order: str) -> None:
    cost = np.asarray(np.arange(12).reshape(3, 4), dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", cost)
    problem = files.read(tmp_path / "a.npy")
    assert isinstance(problem.cost, np.memmap)
    assert not problem.cost.flags.writeable
    assert problem.cost.dtype == cost.dtype
    assert problem.cost.flags.f_contiguous == (order == "F")
    assert np.array_equal(problem.cost, cost)


def test_empty_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.empty((0, 4), dtype=np.float32))
    assert files.read(tmp_path / "a.npy").cost.shape == (0, 4)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(tmp_path: Path, write, order: str) -> None:
    cost = np.asarray(np.random.default_rng(0).random((30, 40)), order=order)
    write(tmp_path / "one.npz", anything=cost)
    write(tmp_path / "two.npz", other=cost[:3], cost=cost)
    for name in ("one.npz", "two.npz"):
        assert np.array_equal(files.read(tmp_path / name).cost, cost)
    write(tmp_path / "none.npz", other=cost[:3], costs=cost)
    fails(tmp_path / "none.npz", "named 'cost'", "other, costs")


def test_unfit_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array, word in (
        (np.zeros(3), "shape (3,)"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((2, 2), dtype=complex), "complex128"),
        (np.zeros((2, 2), dtype="S3"), "|S3"),
        (np.zeros((2, 2), dtype=[("a", float)]), "not real numbers"),
    ):
        np.save(path, array)
        fails(path, word)


class Bomb:
    """Its pickle would make a file, were it loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def test_pickles_are_refused_and_not_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    objects = np.array([[Bomb(made)]], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", cost=objects)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(Bomb(made)))
    for name in ("a.npy", "a.npz", "a.pkl"):
        fails(tmp_path / name, "pickle", "refused")
    assert not made.exists()


def test_damaged_npy(tmp_path: Path, save) -> None:
    np.save(tmp_path / "a.npy", np.zeros((50, 50)))
    whole = (tmp_path / "a.npy").read_bytes()
    fails(save("b.npy", whole[:-1]), "truncated", "50 x 50", "20127")
    fails(save("b.npy", whole[:40]), "damaged .npy header")
    fails(save("b.npy", whole[:7]), "damaged .npy header")
    fails(save("b.npy", b"nonsense"), "damaged .npy header")
    fails(save("b.npy", whole.replace(b"(50, 50)", b"(50,-50)")), "shape (50, -50)")


def test_damaged_npz(tmp_path: Path, save) -> None:
    np.savez_compressed(tmp_path / "a.npz", np.random.default_rng(0).random((50, 50)))
    whole = (tmp_path / "a.npz").read_bytes()
    fails(save("b.npz", whole[:-30]), "cannot be read as .npz")
    middle = len(whole) // 2
    fails(save("b.npz", whole[:middle] + bytes(64) + whole[middle + 64 :]), "cannot be read as .npz")
    fails(save("b.npz", b"nonsense"), "cannot be read as .npz")
    with zipfile.ZipFile(tmp_path / "c.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("cost.npy", bytes(100))
    fails(tmp_path / "c.npz", "packed by method 14")


# --- huge declarations ----------------------------------------------------------------------------


def npy_header(shape: str) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros((1, 1)))
    return stream.getvalue().replace(b"(1, 1), }" + b" " * (len(shape) - 6), shape.encode() + b", }")[:128]


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
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 1 1\n", "limit of 2 GiB"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n1000000 1000000\n1\n", "but has 1"),
        ("a.mtx", "%%MatrixMarket matrix array real symmetric\n1000000 1000000\n1\n", "but has 1"),
        ("a.txt", "1000000\n1 1 1\n", "limit of 2 GiB"),
        ("a.asn", "p asn 999999999 1\na 1 999999999 1\n", "limit of 2 GiB"),
    ],
)
def test_huge_sizes_are_refused_without_allocating(save, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        files.read(save(name, content))


def test_memory_limit(tmp_path: Path, save) -> None:
    path = save("a.txt", "1000\n1 1 1\n")
    assert files.read(path, memory_limit=8_000_000).cost.shape == (1000, 1000)
    fails(path, "1000 x 1000 costs take 7.629 MiB", "--memory-limit", memory_limit=7_999_999)
    np.savez_compressed(tmp_path / "a.npz", np.zeros((1000, 1000)))
    assert files.read(tmp_path / "a.npz", memory_limit=8_000_000).cost.shape == (1000, 1000)
    fails(tmp_path / "a.npz", "memory_limit", memory_limit=7_999_999)


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


def test_errors_survive_pickling(save) -> None:
    with pytest.raises(FileFormatError) as caught:
        files.read(save("a.csv", "x"))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.line, copy.path) == (str(caught.value), 1, caught.value.path)


# --- writing costs --------------------------------------------------------------------------------


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
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert np.array_equal(np.load(path), np.ones((2, 2)))


def test_writing_where_it_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"'a.xlsx'.*\.npy, \.npz, \.csv or \.mtx"):
        files.write_cost("a.xlsx", np.zeros((2, 2)))
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ArgumentError, match="not a regular file"):
        files.write_cost(tmp_path / "folder.npy", np.zeros((2, 2)))
    with pytest.raises(FileNotFoundError):
        files.write_cost(tmp_path / "absent" / "a.npy", np.zeros((2, 2)))
