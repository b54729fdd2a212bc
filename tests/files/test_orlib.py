"""OR-Library files, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing import files
from support.refusal import fails
from support.sparse import written_out

INF = np.inf


@pytest.mark.usefixtures("piece_bytes")
def test_orlib_dense(save) -> None:
    problem = files.read(save("assign3.txt", " 3\n 1 2 3 4\n 5\n 6 7 8 9 \n"))
    assert (problem.format, problem.cost.tolist()) == ("orlib", [[1, 2, 3], [4, 5, 6], [7, 8, 9]])


@pytest.mark.usefixtures("piece_bytes")
def test_orlib_sparse(save) -> None:
    path = save("assignp2.txt", " 2 \n 1 2 7 \n 2 1 8\n")
    problem = files.read(path)
    assert (problem.format, written_out(problem.cost).tolist()) == ("orlib-sparse", [[INF, 7], [8, INF]])
    assert lw.solve(files.read(path, maximize=True).cost, maximize=True).objective == 15


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
