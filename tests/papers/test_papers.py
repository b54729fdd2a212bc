"""`lapwing papers`: what a table's record holds, on tiny instances."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.cli.main import main
from lapwing.methods import METHODS
from lapwing.options import name_and_options
from lapwing.papers import TABLES, Column, Instance, Limits, Table, draw, run_table, show
from lapwing.papers.images import distances, draw_images, scaled
from lapwing.papers.tables import PAPERS

CORE, SSP = Column("core", "core"), Column("ours", "ssp")
TWO = (Instance("uniform", 10), Instance("uniform", 20))


def table(measure="seconds", columns=(SSP, CORE), instances=TWO, **more):
    return Table("tiny", "lopes", "Table 0", measure, columns, instances, 10, **more)


def test_every_table_can_be_run():
    for name, each in TABLES.items():
        assert each.name == name and each.paper in PAPERS and each.source
        assert each.measure in ("seconds", "rows", "path", "shares")
        assert any(column.method for column in each.columns)
        for column in each.columns:
            if column.method is not None:
                assert name_and_options(column.method)[0] in METHODS
        for cls in {instance.cls for instance in each.instances}:
            sizes = [instance.n for instance in each.instances if instance.cls == cls]
            assert sizes == sorted(sizes)
            lw.instances.block(cls, max(sizes), 1, [0], [0])


def test_published_figures_have_a_source():
    labels = {name: {instance.label for instance in each.instances} for name, each in TABLES.items()}
    for name, each in TABLES.items():
        for instance, column in each.published:
            assert instance in labels[name] and column in {known.label for known in each.columns}
        if each.published:
            assert not each.source.startswith("no source")


def test_a_record():
    record = run_table(table(published={("uniform 20", "ours"): 1.5}, source="somewhere"), Limits())
    assert [row["instance"] for row in record["rows"]] == ["uniform 10", "uniform 20"]
    assert record["rows"][1]["cells"]["ours"]["published"] == 1.5 and record["fits"] == {}
    assert all(cell["value"] > 0 for row in record["rows"] for cell in row["cells"].values())
    assert json.loads(json.dumps(record)) == record


def test_rows_and_their_powers():
    record = run_table(table("rows", instances=tuple(Instance("sanity", n, 2) for n in (20, 40))), Limits())
    assert [row["cells"]["ours"]["value"] for row in record["rows"]] == [1, 1]
    assert record["fits"]["sanity"]["ours"] == pytest.approx(1)


def test_shares_add_up():
    record = run_table(table("shares", columns=(Column("munkres", "munkres"),)), Limits())
    for row in record["rows"]:
        assert sum(row["cells"]["munkres"]["value"].values()) == pytest.approx(1)


def test_small_and_largest():
    assert len(run_table(table(), Limits(small=True))["rows"]) == 1
    assert len(run_table(table(), Limits(largest=15))["rows"]) == 1


def test_missing_cells_say_why():
    columns = (Column("Gurobi", None), Column("gone", "simplex"), Column("slow", "ssp"))
    instances = tuple(Instance("disjoint", n) for n in (600, 601))
    record = run_table(table(columns=columns, instances=instances), Limits(seconds=1e-6))
    remarks = [[cell["remark"] for cell in row["cells"].values()] for row in record["rows"]]
    assert remarks[0] == ["published only", "no method 'simplex'", "not done after 1e-06 s"]
    assert remarks[1][2] == "not asked: a smaller one took too long"
    text = show(record | {"machine": "a machine"})
    assert "- / published only" in text and "a machine" in text


def test_a_wrong_answer_is_no_figure(monkeypatch):
    solve = lw.solve

    def wrong(cost, *, method="auto", **options):
        return solve(cost + np.eye(len(cost)) if method == "ssp" else cost, method=method, **options)

    monkeypatch.setattr(lw, "solve", wrong)
    with pytest.raises(lw.InternalError, match="where .* is proven"):
        run_table(table(instances=(Instance("sanity", 10),)), Limits())


@pytest.mark.parametrize("measure", ["seconds", "shares"])
def test_pictures(measure, tmp_path):
    pytest.importorskip("matplotlib")
    columns = (Column("munkres", "munkres"),)
    record = run_table(table(measure, columns, published={("uniform 10", "munkres"): 2.0}), Limits())
    draw(record, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_distances_of_images(tmp_path):
    rng = np.random.default_rng(0)
    dark, bright = 0.1 * rng.random((4, 6, 3)), 0.9 + 0.1 * rng.random((4, 6, 3))
    images = {"dark": dark, "bright": bright, "dark again": dark.copy(), "upside down": dark[::-1]}
    distance, _ = distances(images, "jv")
    assert distance[0, 2] == 0 and distance[0, 1] > 1 and 0 < distance[0, 3] < 0.1
    assert np.array_equal(distance, distance.T)
    if pytest.importorskip("matplotlib"):
        record = {"title": "t", "pixels": 24, "places": scaled(distance).tolist()}
        draw_images(record, images, tmp_path / "a.png")
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
    options = ["papers", "--small", "--table", "report-2022-3", "--largest", "64"]
    result = run(main, [*options, "--output", str(tmp_path)])
    assert result.exit_code == 0 and "Table III: n = 64" in result.output and "Gurobi" in result.output
    record = json.loads((tmp_path / "report-2022-3.json").read_text())
    assert record["machine"] and len(record["rows"]) == 7
    assert json.loads(run(main, [*options, "--json"]).output)["table"] == "report-2022-3"
