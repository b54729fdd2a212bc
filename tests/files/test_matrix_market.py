"""Matrix Market files, as they are defined, as SciPy writes them, and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing import files
from support.refusal import fails
from support.sparse import written_out

INF = np.inf


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
    matrix = written_out(problem.cost) if header.startswith("coordinate") else problem.cost
    assert matrix.tolist() == expected


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
    assert np.array_equal(written_out(files.read(tmp_path / "sparse.mtx").cost), np.where(mask, dense, INF))


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
    ],
)
def test_malformed_matrix_market(save, text: str, line: int, words: str) -> None:
    fails(save("a.mtx", text), words, line=line)


def test_integers_of_sparse_files_stay_integers(save) -> None:
    text = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 9007199254740993\n2 1 -5\n"
    result = lw.solve(files.read(save("a.mtx", text)).cost)
    assert result.objective == 9007199254740988 and result.certificate.exact


def test_a_complete_coordinate_file_is_a_matrix(save) -> None:
    text = "%%MatrixMarket matrix coordinate integer general\n2 2 4\n1 1 1\n1 2 2\n2 1 3\n2 2 4\n"
    assert files.read(save("a.mtx", text)).cost.tolist() == [[1, 2], [3, 4]]


def test_a_sparse_file_is_not_written_out(save) -> None:
    n = 60_000  # 29 GB
    lines = "".join(f"{i} {i} 1\n" for i in range(1, n + 1))
    problem = files.read(save("a.mtx", f"%%MatrixMarket matrix coordinate integer general\n{n} {n} {n}\n{lines}"))
    assert lw.solve(problem.cost).objective == n
