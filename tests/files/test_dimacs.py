"""DIMACS files."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing import files
from support.refusal import fails
from support.sparse import written_out

INF = np.inf
DIMACS = "c example\np asn 5 4\nn 4\nn 2\nc arcs\na 2 1 5\na 2 5 -6\na 4 3 7\na 4 1 2\n"


@pytest.mark.usefixtures("piece_bytes")
@pytest.mark.parametrize("name", ["a.asn", "a.txt"])
def test_dimacs(save, name: str) -> None:
    problem = files.read(save(name, DIMACS))
    assert problem.format == "dimacs"
    assert written_out(problem.cost).tolist() == [[5, INF, -6], [2, 7, INF]]  # rows 2, 4; columns 1, 3, 5


def test_dimacs_without_node_lines(save) -> None:
    assert written_out(files.read(save("a.asn", "p asn 4 2\na 1 3 5\n\na 2 4 6")).cost).tolist() == [[5, INF], [INF, 6]]


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
