"""`lapwing papers`: the identities of its tables, and what a table's record holds, on tiny instances."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.cli.main import main
from lapwing.methods import METHODS
from lapwing.options import name_and_options
from lapwing.papers import (
    TABLES,
    Column,
    Instance,
    Limits,
    Measurements,
    Table,
    curves,
    draw,
    measure,
    pairs,
    run_table,
    show,
)
from lapwing.papers.curves import draw_curves, run_curves
from lapwing.papers.images import distances, draw_images, scaled
from lapwing.papers.measure import QUANTITIES
from lapwing.papers.published import PAPERS, paper
from lapwing.papers.runner import fit_power

CORE, SSP = Column("core", "core"), Column("ours", "ssp", "with_epsilon")
TWO = (Instance("uniform", 10, printed={"with_epsilon": 1.5}), Instance("uniform", 20))
BY_ROOT_TWO = (1000, 1414, 2000, 2828, 4000, 5656, 8000, 11313, 16000, 22627, 32000, 45254, 64000, 90509, 128000)
DOUBLING = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
LOPES = ("int:0.1", "int:1", "int:10")
GUTHE = {"sanity", "uniform", "geometric", "disjoint", "lowrank:1", "lowrank:2", "lowrank:4", "lowrank:8"}

#: Each printed table: its number, classes, sizes and seeds.
IDENTITIES = {
    "date-nagi-1": ("1", {"int:1"}, tuple(range(500, 5001, 500)), 3),
    "date-nagi-2": ("2", {"int:1"}, (1000, 2000, 3000, 4000, 5000), 1),
    "date-nagi-3": ("3", set(LOPES), (5000, 10000, 15000, 20000), 3),
    "date-nagi-4": ("4", {"int:10"}, (10000, 14142, 20000, 28284, 40000), 1),
    "date-nagi-5": ("5", {"int:10"}, (10000, 14142, 20000), 1),
    "lopes-1": ("1", set(LOPES), DOUBLING[3:], 1),
    "lopes-2": ("2", set(LOPES), DOUBLING[3:], 1),
    "lopes-3": ("3", {"int:1"}, DOUBLING[3:], 1),
    "lopes-4": ("4", set(LOPES), DOUBLING[3:], 1),
    "report-2021-1": ("I", {"int:1000"}, (4096,), 1),
    "report-2021-2": ("II", {"int:1000"}, DOUBLING[2:7], 1),
    "report-2021-3": ("III", {"int:1000"}, DOUBLING[2:7], 1),
    "report-2022-3": ("III", {f"int:{10.0**k:g}" for k in range(-3, 4)}, (512, 8192), 1),
    **{
        f"report-2022-{k + 7}": (("IV", "V", "VI", "VII", "VIII", "IX", "X")[k + 3], {f"int:{10.0**k:g}"}, DOUBLING, 1)
        for k in range(-3, 4)
    },
    "algorithm-1015-1": ("1", GUTHE, BY_ROOT_TWO[:11], 5),
    "algorithm-1015-2": ("2", GUTHE, BY_ROOT_TWO, 1),
    "algorithm-1015-3": ("3", {"int:10"}, (10000, 14142, 20000, 28284, 40000, 56568, 80000, 113137, 160000), 1),
}


def table(columns=(SSP, CORE), instances=TWO, unit="s", **more):
    return Table("tiny", "lopes", "Table 0", unit, columns, instances, 10, **more)


def test_every_table_can_be_run():
    for name, each in TABLES.items():
        assert each.name == name and each.paper in PAPERS and each.title.startswith(("Table ", "Figure "))
        labels = [column.label for column in each.columns]
        assert len(set(labels)) == len(labels)
        for k, column in enumerate(each.columns):
            assert column.quantity in QUANTITIES or column.quantity.split()[0] in ("statistic", "seconds")
            assert set(column.formed[1:]) <= set(labels[:k])
            if column.method is not None:
                assert name_and_options(column.method)[0] in METHODS
        for cls in {instance.cls for instance in each.instances}:
            lw.instances.block(cls, max(line.n for line in each.instances if line.cls == cls), 1, [0], [0])


@pytest.mark.parametrize("name", IDENTITIES)
def test_the_identity_of_a_printed_table(name):
    each, (number, classes, sizes, seeds) = TABLES[name], IDENTITIES[name]
    assert each.number == number and each.title.startswith(f"Table {number}:")
    assert {line.cls for line in each.instances} == classes
    for cls in classes:
        assert tuple(dict.fromkeys(line.n for line in each.instances if line.cls == cls)) == sizes
    assert {line.seeds for line in each.instances} == {seeds}


def test_tables_have_all_that_is_printed():
    """Every line and every column of every printed table."""
    shown = {(each.paper, each.number) for name, each in TABLES.items() if name in IDENTITIES}
    assert shown == {(key, number) for key in PAPERS for number in paper(key).tables}
    for name in IDENTITIES:
        each = TABLES[name]
        assert each.printed is not None
        assert set(each.printed.columns) == {column.printed for column in each.columns if column.printed}
        assert list(dict.fromkeys(id(line.printed) for line in each.instances)) == [
            id(row) for row in each.printed.rows
        ]


def test_printed_figures():
    """One of each table, as in the paper."""
    expected = {
        ("date-nagi", "1", 9, "cu_class"): 1.39,
        ("date-nagi", "2", 4, "initial"): 4316,
        ("date-nagi", "3", 11, "tree_total"): 12.81,
        ("date-nagi", "4", 4, "class_overall"): 23.59,
        ("date-nagi", "5", 0, "class_overall"): 11.07,
        ("lopes", "1", 14, "cuda"): 1094.78,
        ("lopes", "2", 5, "speedup"): 0.87,
        ("lopes", "3", 4, "step_6"): 29.49,
        ("lopes", "4", 14, "cuda"): 1716.38,
        ("report-2021", "I", 0, "compress_matrix_l1"): 0.03,
        ("report-2021", "II", 4, "baseline"): 16759.68,
        ("report-2021", "III", 4, "total4"): 4.34,
        ("report-2022", "III", 6, "step_6"): 6210,
        ("report-2022", "IX", 7, "ours"): 1306.27,
        ("algorithm-1015", "1", 11, "with_epsilon"): 12824,
        ("algorithm-1015", "2", 0, "ours"): 0.027,
        ("algorithm-1015", "3", 0, "omp8"): 0.87,
    }
    for (key, number, line, column), figure in expected.items():
        assert paper(key).tables[number].rows[line][column] == figure
    assert paper("algorithm-1015").tables["1"].fits["uniform", "without_epsilon"] == (0.631, 1.515, 2.19)


def test_printed_quotients():
    """Tables of quotients are those of the tables before them, up to rounding."""
    for times, factors in zip(paper("lopes").tables["1"].rows, paper("lopes").tables["2"].rows, strict=True):
        assert factors["speedup"] == pytest.approx(times["cpu"] / times["cuda"], abs=0.02)
    tables = paper("report-2021").tables
    for times, factors in zip(tables["II"].rows, tables["III"].rows, strict=True):
        assert factors["total4"] == pytest.approx(times["baseline"] / times["opt4"], abs=0.01)
    for row in paper("date-nagi").tables["2"].rows:
        assert sum(count for name, count in row.items() if name not in ("cls", "n") and count) == row["n"]


def test_a_record():
    record = run_table(table(), Limits())
    assert [row["instance"] for row in record["rows"]] == ["uniform 10", "uniform 20"]
    assert [row["cells"]["ours"]["published"] for row in record["rows"]] == [1.5, None] and record["fits"] == {}
    assert all(cell["value"] > 0 for row in record["rows"] for cell in row["cells"].values())
    assert json.loads(json.dumps(record)) == record
    thousand = run_table(table(unit="ms"), measured := Measurements(Limits()))["rows"][0]["cells"]["ours"]["value"]
    assert run_table(table(), measured)["rows"][0]["cells"]["ours"]["value"] == pytest.approx(thousand / 1000)


def test_formed_columns():
    columns = (
        Column("a", "ssp", shown=False),
        Column("b", "core", device="cuda"),
        Column("twice", None, formed=("quotient", "a", "a")),
        Column("nothing", None, formed=("difference", "a", "b")),
    )
    record = run_table(table(columns), Limits())
    cells = record["rows"][0]["cells"]
    assert cells["twice"]["value"] == 1 and cells["nothing"]["remark"] == "on a GPU"
    assert record["shown"] == ["b", "twice", "nothing"]


def test_rows_and_their_powers():
    columns = (Column("ours", "ssp", quantity="rows"),)
    instances = tuple(Instance("sanity", n, 2) for n in (20, 40))
    record = run_table(table(columns, instances, "rows"), Limits())
    assert [row["cells"]["ours"]["value"] for row in record["rows"]] == [20, 40]
    assert record["fits"]["sanity"]["ours"]["value"] == pytest.approx((1, 1, 0), abs=1e-6)


def test_fits_are_the_papers():
    """Least squares of the counts: those of its own lines, without epsilon."""
    printed = paper("algorithm-1015").tables["1"]
    for cls in GUTHE:
        points = [(row["n"], row["without_epsilon"]) for row in printed.rows if row["cls"] == cls]
        _, power, error = fit_power(*np.array(points, float).T)
        _, their_power, their_error = printed.fits[cls, "without_epsilon"]
        assert power == pytest.approx(their_power, abs=0.008) and error == pytest.approx(their_error, abs=0.03)


def test_shares_add_up():
    record = run_table(table((Column("munkres", "munkres", quantity="shares"),), unit="share"), Limits())
    for row in record["rows"]:
        assert sum(row["cells"]["munkres"]["value"].values()) == pytest.approx(1)


@pytest.mark.parametrize("method", ["hungarian-bfs", "hungarian-tree"])
def test_steps_are_timed(method):
    """Among them Date and Nagi's forward pass and dual update."""
    cost = lw.instances.generate("int:10", 300, 1, dtype="int32")
    result = lw.solve(cost, method=method, threads=1, certify=False)
    found = result.statistics
    steps = {name: found[f"{name}_seconds"] for name in ("reduction", "forward", "dual_update", "augmentation")}
    assert all(seconds > 0 for seconds in steps.values()) and found["dual_updates"] > 1
    assert sum(steps.values()) + found.get("compression_seconds", 0.0) <= found["solve_seconds"]


def test_small_and_largest():
    assert len(run_table(table(), Limits(small=True))["rows"]) == 1
    assert len(run_table(table(), Limits(largest=15))["rows"]) == 1


def test_every_printed_figure_is_shown():
    """As printed, also of lines that are larger than the run."""
    for name in IDENTITIES:
        each = TABLES[name]
        record = run_table(each, Limits(largest=1)) | {"machine": "a machine"}
        words = show(record).replace("/", " ").split()
        for row in each.printed.rows:
            for column in each.printed.columns:
                assert row[column] is None or f"{row[column]:.10g}" in words, (name, column)
        for fit in each.printed.fits.values():
            assert all(f"{figure:.10g}" in words for figure in fit)
        for row in record["rows"]:
            for column in each.columns:
                cell = row["cells"][column.label]
                assert cell["value"] is None and cell["remark"] in (column.remark, "larger than this run")


def test_matrices_that_memory_has_no_room_for():
    record = run_table(table(instances=(Instance("uniform", 10_000_000),)), Limits())
    assert record["rows"][0]["cells"]["core"]["remark"] == "a matrix of 800000 GB"


def test_missing_cells_say_why():
    columns = (
        Column("Gurobi"),
        Column("slow", "ssp"),
        Column("many", "ssp", device="cpu", threads=4096),
        Column("uncounted", "jv", quantity="statistic iterations"),
    )
    instances = tuple(Instance("disjoint", n) for n in (600, 601))
    record = run_table(table(columns, instances), Limits(seconds=1e-6))
    remarks = [[cell.get("remark") for cell in row["cells"].values()] for row in record["rows"]]
    assert remarks[0][:3] == ["published only", "not done after 1e-06 s", "needs 4096 cores"]
    assert remarks[1][1] == "not asked: a smaller one took too long"
    assert run_table(table(columns), Limits())["rows"][0]["cells"]["uncounted"]["remark"] == "not counted"
    late = run_table(table(), Limits(budget=1e-9))["rows"][0]["cells"]["core"]
    assert late["remark"] == "no time was left"
    several = run_table(table((CORE,), (Instance("uniform", 10, gpus=2),)), Limits())["rows"][0]
    assert several["instance"] == "uniform 10 on 2" and several["cells"]["core"]["value"] is None
    text = show(record | {"machine": "a machine"})
    assert "- / published only" in text and "a machine" in text


def test_each_solve_is_made_once(monkeypatch):
    solve, calls = lw.solve, []
    monkeypatch.setattr(lw, "solve", lambda *args, **more: calls.append(more) or solve(*args, **more))
    measured = Measurements(Limits())
    first = run_table(table(), measured)
    made = len(calls)
    assert run_table(table(), measured) == first and len(calls) == made


def test_small_instances_come_first(monkeypatch):
    """A table that runs out of time lacks the largest instances of all classes, not the last classes."""
    solve, sizes = lw.solve, []
    monkeypatch.setattr(lw, "solve", lambda cost, **more: sizes.append(len(cost)) or solve(cost, **more))
    instances = tuple(Instance(cls, n) for cls in ("uniform", "int:1") for n in (12, 70))
    record = run_table(table(instances=instances), Limits())
    assert sizes == sorted(sizes)
    assert [row["instance"] for row in record["rows"]] == ["uniform 12", "uniform 70", "int:1 12", "int:1 70"]


def test_tables_share_the_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(measure.time, "monotonic", lambda: now[0])
    measured = Measurements(Limits(budget=60))
    measured.share(6)  # may take half
    now[0] = 31
    assert run_table(table(), measured)["rows"][0]["cells"]["core"]["remark"] == "no time was left"
    measured.share(5)
    now[0] = 48
    assert run_table(table(), measured)["rows"][0]["cells"]["core"]["value"] > 0


def test_a_method_is_asked_for_less_than_took_too_long():
    measured, slow = Measurements(Limits(seconds=1e-6)), table((SSP,), (Instance("disjoint", 700),))
    assert "not done" in run_table(slow, measured)["rows"][0]["cells"]["ours"]["remark"]
    cells = [run_table(table((SSP,), (Instance("disjoint", n),)), measured)["rows"][0]["cells"] for n in (3, 701)]
    assert cells[1]["ours"]["remark"] == "not asked: a smaller one took too long"
    assert cells[0]["ours"]["value"] is not None or "not done" in cells[0]["ours"]["remark"]


@pytest.mark.parametrize("cls", ["int:10", "disjoint", "lowrank:2"])
def test_matrices_are_those_of_the_instances(cls):
    dtype = np.int32 if cls.startswith("int") else np.float64
    made = Measurements(Limits())._costs(Instance(cls, 130), 3)
    assert made.dtype == dtype and np.array_equal(made, lw.instances.generate(cls, 130, 3, dtype=dtype))


def test_a_wrong_answer_is_no_figure(monkeypatch):
    solve = lw.solve

    def wrong(cost, *, method="auto", **options):
        return solve(cost + np.eye(len(cost)) if method == "ssp" else cost, method=method, **options)

    monkeypatch.setattr(lw, "solve", wrong)
    with pytest.raises(lw.InternalError, match="where .* is proven"):
        run_table(table(instances=(Instance("sanity", 10),)), Limits())


@pytest.mark.parametrize("unit", ["s", "share"])
def test_pictures(unit, tmp_path):
    pytest.importorskip("matplotlib")
    columns = (Column("munkres", "munkres", "with_epsilon", "shares" if unit == "share" else "time"),)
    draw(run_table(table(columns, unit=unit), Limits()), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_curves_along_a_run(monkeypatch, tmp_path):
    """The counts of all rows add up to those of a solve; rank one reads all rows that are assigned, and its own."""
    monkeypatch.setattr(curves, "_N", 60)
    cost = lw.instances.generate("uniform", 60, 1, dtype=np.float64)
    record = run_curves("algorithm-1015-figure-1", small=True)
    for curve, options in zip(record["curves"], (lw.Ssp(pricing=False), curves.AS_PRINTED), strict=True):
        found = lw.solve(cost, method=options).statistics
        for counts in (curve["scan count"], curve["times read"]):
            assert sum(counts) == found["rows_scanned"] - found["rows_scanned_start"]
        assert sum(curve["path length"]) == found["path_rows"] - 60 * found["phases"]
        assert min(curve["scan count"]) >= found["phases"] and min(curve["path length"]) >= 0
    plain = curves._core.trace_ssp(lw.instances.generate("lowrank:1", 60, 1), lw.Ssp(pricing=False).compiled())
    assert plain["searched"].tolist() == list(range(1, 61)) and plain["epsilon"] == [0]
    assert plain["scans"].tolist() == list(range(60, 0, -1))
    if pytest.importorskip("matplotlib"):
        draw_curves(record, tmp_path / "a.png")
        assert (tmp_path / "a.png").exists()


def test_distances_from_the_last_v(monkeypatch, tmp_path):
    monkeypatch.setattr(curves, "_SIZES", (80,))
    record = run_curves("algorithm-1015-figure-3", small=True)
    assert [curve["label"] for curve in record["curves"]] == [f"{cls} 80" for cls in curves._CLASSES]
    for curve in record["curves"]:
        assert curve["epsilon"] == sorted(curve["epsilon"], reverse=True) and len(curve["distance"]) > 0
        assert all(away > 0 for away in curve["distance"])
    if pytest.importorskip("matplotlib"):
        draw_curves(record, tmp_path / "a.png")


def test_distances_of_images(tmp_path):
    rng = np.random.default_rng(0)
    dark, bright = 0.1 * rng.random((4, 6, 3)), 0.9 + 0.1 * rng.random((4, 6, 3))
    dark[0, 0] = bright[0, 0] = 1  # of which colours are shares
    images = {"dark": dark, "bright": bright, "dark again": dark.copy(), "upside down": dark[::-1], "less": dark[:3]}
    distance, _ = distances(images, "jv")
    assert distance[0, 2] == 0 and distance[0, 1] > 20 and 0 < distance[0, 3] < 5
    assert np.array_equal(distance, distance.T) and distance[0, 4] > 0
    if pytest.importorskip("matplotlib"):
        record = {"title": "t", "pixels": 24, "places": scaled(distance).tolist()}
        draw_images(record, images, tmp_path / "a.png")
        assert (tmp_path / "a.png").exists()


def test_the_distance_of_images_is_the_optimal_cost():
    """Of points of colours and positions, each in [0, 1]."""
    one, other = np.zeros((1, 2, 3)), np.zeros((1, 2, 3))
    one[0, 1], other[0, 0, 0] = 0.5, 0.25  # black and white; red and black
    distance, _ = distances({"one": one, "other": other}, "jv")
    stay, swap = 1 + 3, (1 + 1) + (1 + 2)  # (0,0,0)-(1,0,0), (1,1,1)-(0,0,0); with the change of place
    assert distance[0, 1] == pytest.approx(min(stay, swap))


def test_pairs_of_images(monkeypatch, tmp_path):
    """Each image with the next one; epsilon takes nothing from the optimum, and rows are what `ssp` counts."""
    random = np.random.default_rng(5)
    monkeypatch.setattr(pairs, "SIZES", ((4, 3), (5, 4), (900, 1)))
    record = pairs.run_pairs(True, lambda size: {name: random.random((*size[::-1], 3)) for name in "abc"})
    assert [pair["pair"] for pair in record["pairs"][:3]] == [["a", "b"], ["b", "c"], ["c", "a"]]
    assert [pair["pixels"] for pair in record["pairs"]] == [12] * 3 + [20] * 3
    assert all(pair["rows"][label] >= pair["pixels"] for pair in record["pairs"] for label in pairs.METHODS)
    assert [len(values) for values in pairs.quotients(record, "rows").values()] == [3, 3]
    assert "20 pixels: epsilon divides rows" in pairs.describe_pairs(record | {"machine": "a machine"})
    if pytest.importorskip("matplotlib"):
        pairs.draw_pairs(record, tmp_path / "a.png")
        assert (tmp_path / "a.png").exists()


def test_scaling_keeps_distances_of_the_plane():
    places = np.random.default_rng(1).random((7, 2))
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    found = scaled(distance)
    assert np.allclose(np.linalg.norm(found[:, None] - found, axis=2), distance)


def test_command_line(tmp_path):
    run = CliRunner().invoke
    assert "algorithm-1015-1: Table 1" in run(main, ["papers", "--list"]).output
    assert run(main, ["papers", "--table", "lopes-9"]).exit_code == 2
    options = ["papers", "--small", "--table", "report-2022-4", "--largest", "64"]
    result = run(main, [*options, "--output", str(tmp_path)])
    assert result.exit_code == 0 and "2022: Table IV: six solvers, range 0.001n" in result.output
    assert "8.439 /" in result.output
    record = json.loads((tmp_path / "report-2022-4.json").read_text())
    assert record["machine"] and record["command"] and "commit" in record and len(record["rows"]) == 8
    assert [row["n"] for row in record["rows"] if row["cells"]["core"]["value"] is not None] == [64]
    assert record["rows"][0]["cells"]["Gurobi"]["published"] == 8.439
    assert json.loads(run(main, [*options, "--json"]).output)["table"] == "report-2022-4"
