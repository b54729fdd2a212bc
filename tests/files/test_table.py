"""Points in named columns, labels around costs, Parquet, and answers that carry names."""

from __future__ import annotations

import contextlib
import csv
import json
import sys

import numpy as np
import pytest

import lapwing as lw
from lapwing import files
from lapwing.files import FileFormatError

CELLS = "cell,x,y,area\nA1,0.5,1,9\n'B, 2',2,-3e1,8\n".replace("'", '"')


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_points_of_a_table(save, separator):
    text = CELLS if separator == "," else CELLS.replace('"B, 2"', "B- 2").replace(",", separator).replace("B-", "B,")
    path = save("cells.tsv", "\ufeff" + text)
    table = files.read_points(path, ["y", "x"], "cell")
    assert table.points.tolist() == [[1, 0.5], [-30, 2]] and table.points.dtype == np.float64
    assert table.ids == ["A1", "B, 2"]
    assert files.read_points(path, ["area"]).ids is None


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        (CELLS, ["z"], "has no column 'z'; its columns are cell, x, y, area"),
        (CELLS, ["cell"], "has 'A1' in column 'cell', record 1; coordinates must be finite numbers"),
        ("x;y\n1,5;2\n", ["x"], "'1,5' in column 'x'.*decimal points in place of decimal commas"),
        ("x,y\n1,nan\n", ["y"], "'nan' in column 'y'"),
        ("x,y\n1,\n", ["y"], "'' in column 'y'"),
        ("x,y\n1,2\n3\n", ["x"], "line 3: has 1 fields where the first line has 2"),
        ("", ["x"], "is empty"),
        ("\xff\xfe\x00x", ["x"], "has no column|is no table"),
    ],
)
def test_tables_that_cannot_be_used(save, text, columns, words):
    with pytest.raises(FileFormatError, match=words):
        files.read_points(save("a.csv", text), columns)


def test_columns_are_named_once():
    for columns in ([], ["x", "x"]):
        with pytest.raises(lw.ArgumentError, match="each once"):
            files.read_points("a.csv", columns)


def test_labels_around_costs(save):
    problem = files.read(save("a.csv", 'task,"a, b",c\nanna,4,1\nbert,9007199254740993,inf\n'), labels=True)
    assert problem.ids == (["anna", "bert"], ["a, b", "c"])
    assert problem.cost.tolist() == [[4, 1], [9007199254740992, np.inf]]
    exact = files.read(save("b.csv", "x;a\nr;9007199254740993\n"), labels=True)
    assert exact.cost.tolist() == [[2**53 + 1]]
    with pytest.raises(FileFormatError, match="line 3: 'no' is not a number"):
        files.read(save("c.csv", "x,a,b\nr,1,2\ns,no,4\n"), labels=True)
    with pytest.raises(FileFormatError, match="line 1: 'task' is not a number.*--labels"):
        files.read(save("d.csv", "task,a\nanna,4\n"))
    with pytest.raises(lw.ArgumentError, match="labels are read from tables"):
        files.read(save("e.mtx", "%%MatrixMarket matrix array real general\n1 1\n3\n"), labels=True)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"cell": ["p", "q"], "x": [1, 2], "y": [0.5, 0.25]}), path)
    table = files.read_points(path, ["x", "y"], "cell")
    assert table.points.tolist() == [[1, 0.5], [2, 0.25]] and table.ids == ["p", "q"]
    problem = files.read(path, labels=True)
    assert problem.ids == (["p", "q"], ["x", "y"]) and problem.cost.tolist() == [[1, 0.5], [2, 0.25]]
    for call, words in (
        (lambda: files.read(path), "has no numbers in column 'cell'"),
        (lambda: files.read_points(path, ["z"]), "has no column 'z'; its columns are cell, x, y"),
        (lambda: files.read(path, memory_limit=8, labels=True), "more than the limit"),
    ):
        with pytest.raises(FileFormatError, match=words):
            call()
    parquet.write_table(pyarrow.table({"a": [2**53 + 1], "b": [0.5]}), path)
    with pytest.raises(FileFormatError, match="integers in column 'a' that float64 rounds"):
        files.read(path)
    parquet.write_table(pyarrow.table({"cell": ["p"], "x": [2**53 + 1], "y": [-3]}), path)
    assert files.read(path, labels=True).cost.tolist() == [[2**53 + 1, -3]]
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in range(200):
        damaged = bytearray(whole[: rng.integers(4, len(whole))] if k % 2 else whole)
        for at in rng.integers(4, len(damaged), 3 * (k % 5)) if len(damaged) > 4 else ():
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        for call in (lambda: files.read(path, labels=True), lambda: files.read_points(path, ["x"])):
            with contextlib.suppress(FileFormatError):
                call()
    path.write_bytes(whole[:60])
    with pytest.raises(FileFormatError, match="no Parquet file that can be read"):
        files.read(path)
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path / "none.parquet", format="parquet")


def test_parquet_without_pyarrow(save, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = save("a.parquet", "PAR1 and so on")
    for call in (lambda: files.read(path), lambda: files.read_points(path, ["x"])):
        with pytest.raises(lw.MissingPackageError, match=r"a\.parquet: .*lapwing\[tables\]"):
            call()


def test_answers_carry_names_and_costs(tmp_path):
    cost = np.array([[3.5, 1.0], [9.0, 2.5], [1.25, 7.0]])
    result, ids = lw.solve(cost), (["a", "b,c", "d"], ["x", "y"])
    files.write(tmp_path / "a.csv", result, ids=ids, duals=True)
    with open(tmp_path / "a.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [(line["row_id"], line["col_id"], line["cost"]) for line in lines] == [
        ("a", "y", "1.0"),
        ("b,c", "", ""),
        ("d", "x", "1.25"),
    ]
    assert float(lines[0]["u"]) == result.u[0] and lines[1]["v"] == ""
    files.write(tmp_path / "a.json", result, ids=ids)
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["row_ids"] == ["a", "b,c", "d"] and answer["pair_costs"] == [1.0, 1.25]
    files.write(tmp_path / "a.npz", result, ids=ids)
    assert np.load(tmp_path / "a.npz")["col_ids"].tolist() == ["x", "y"]


def test_columns_of_one_name(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y,x\n1,2,3\n")
    with pytest.raises(FileFormatError, match="several columns 'x'"):
        files.read_points(path, ["x", "y"])
    assert files.read_points(path, ["y"]).points.tolist() == [[2.0]]
