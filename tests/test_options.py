"""The options of methods: one typed way, checked, seen in the plan, and at work."""

import dataclasses

import numpy as np
import pytest

import lapwing as lw
from lapwing.options import OPTIONS
from support.checks import assert_optimal


def test_a_name_means_the_defaults():
    cost = np.eye(5)
    assert lw.plan(cost, method="munkres") == lw.plan(cost, method=lw.Munkres())
    assert lw.plan(cost, method="munkres").options == lw.Munkres()
    assert lw.plan(cost, method="jv").options is None


def test_the_plan_tells():
    plan = lw.plan(np.eye(5), method=lw.Munkres(switch=True, stages=["fused"]))
    assert plan.method == "munkres" and plan.options == lw.Munkres(stages=("fused",), switch=True)
    assert "Munkres(stages=('fused',), switch=True)" in str(plan)


def test_stages_have_one_order_and_come_once():
    assert lw.Munkres(stages=["one_launch", "fused", "fused"]).stages == ("fused", "one_launch")
    assert lw.Munkres(stages="fused").stages == ("fused",)
    assert lw.Munkres(stages=()).stages == ()
    assert "barrier" not in lw.Munkres().stages and len(lw.Munkres().stages) == 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"switch": 1}, "'switch' of method 'munkres' must be True or False, got 1"),
        ({"start": "random"}, r"'start' .* must be \('greedy', 'regret'\), got 'random'"),
        ({"start": ("greedy",)}, "'start'"),
        ({"stages": ["fused", "faster"]}, r"must be some of \('reductions', .*got \['fused', 'faster'\]"),
        ({"stages": 3}, "must be some of"),
    ],
)
def test_wrong_options(wrong, words):
    with pytest.raises(lw.ArgumentError, match=words):
        lw.Munkres(**wrong)


def test_options_are_for_their_method():
    with pytest.raises(lw.DtypeError, match="must be a name, or options"):
        lw.solve(np.eye(3), method=3)
    with pytest.raises(lw.ArgumentError, match="method='jv' is not supported on a GPU"):
        lw.solve(np.eye(3), method="jv", device="cuda")


def test_from_words():
    assert lw.Munkres.from_text([]) == lw.Munkres()
    words = ["switch=yes", "start=regret", "stages=fused,one_launch"]
    assert lw.Munkres.from_text(words) == lw.Munkres(stages=("fused", "one_launch"), switch=True, start="regret")
    assert lw.Munkres.from_text(["stages="]) == lw.Munkres(stages=())
    for wrong in ("switch", "speed=1", "switch=maybe", "stages=all"):
        with pytest.raises(lw.ArgumentError):
            lw.Munkres.from_text([wrong])


@pytest.mark.parametrize("options", OPTIONS.values())
def test_every_option_is_described(options):
    assert [line.partition("=")[0] for line in options.described()] == [
        spec.name for spec in dataclasses.fields(options)
    ]


@pytest.mark.parametrize("cls", ["uniform", "int:1", "geometric"])
def test_options_change_the_way_and_not_the_answer(cls):
    cost = lw.instances.generate(cls, 120, 3)
    plain = lw.solve(cost, method="munkres")
    switched = lw.solve(cost, method=lw.Munkres(switch=True))
    unfused = lw.solve(cost, method=lw.Munkres(stages=()))
    by_regret = lw.solve(cost, method=lw.Munkres(start="regret"))
    for result in (plain, switched, unfused, by_regret):
        assert_optimal(result, cost)
    assert np.array_equal(unfused.row_to_col, plain.row_to_col)
    assert unfused.statistics["dual_updates"] == plain.statistics["dual_updates"]
    assert unfused.statistics["rows_scanned"] > plain.statistics["rows_scanned"]
    assert by_regret.statistics["matched_at_start"] >= plain.statistics["matched_at_start"]
    assert switched.statistics.get("switched_at_iteration", 0) <= plain.statistics["iterations"]


@pytest.mark.parametrize("method", ["hungarian-bfs", "hungarian-tree", "munkres"])
def test_what_is_counted(method):
    cost = lw.instances.generate("uniform", 150, 3)
    statistics = lw.solve(cost, method=method).statistics
    assert statistics["augmentations"] == 150 - statistics["matched_at_start"]
    assert 0 < statistics["iterations"] <= statistics["augmentations"]
    assert statistics["edges_visited"] >= statistics["augmentations"] and statistics["rows_scanned"] > 150
    assert statistics["dual_updates"] > 0 and statistics["levels"] > 0
    if method == "munkres":
        steps = [statistics[f"step_{k}_seconds"] for k in range(1, 7)] + [statistics["renewal_seconds"]]
        assert min(steps) >= 0 and sum(steps) <= statistics["seconds"]
