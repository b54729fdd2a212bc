"""Tables of numbers: every separator, every kind of damage, and numbers that keep their bits."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing import files
from lapwing.files import FileFormatError
from support.refusal import fails


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
    cost[3, 4], cost[5, 5] = np.inf, 5e-324
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
        ("1,5;2,5\n3;4\n", 1, "'1,5' is not a number; write decimal points in place of decimal commas"),
        ("1,5\t2,5\n3,25\t4\n", 1, "'1,5' is not a number; write decimal points"),
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
