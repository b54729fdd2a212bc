"""Costs that tie: alternating trees finish what the core method began (gpu/reference/trees.py), on the emulated GPU."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import GpuError
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.solver import UNFINISHED
from lapwing.gpu.reference import trees
from lapwing.gpu.runtime.workspace import Workspace
from support.checks import assert_hall_violator, assert_optimal
from support.emulated_solves import check_interrupted
from support.tied import differences, sums

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture
def at_once(monkeypatch):
    """Hand over after the first search that reads a row again."""
    monkeypatch.setattr(trees, "MOST_READS", 0.0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("make", [sums, differences])
def test_trees_finish(make, dtype, maximize):
    cost = make(1, 300).astype(dtype)
    result = lw.solve(cost, device="cuda", maximize=maximize)
    assert_optimal(result, cost, maximize=maximize)
    assert result.statistics["tight_steps"] > 0


@pytest.mark.usefixtures("at_once")
def test_forbidden_pairs():
    cost = sums(2, 300).astype(np.float32)
    cost[np.random.default_rng(3).random(cost.shape) < 0.3] = np.inf
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["tight_steps"] > 0


@pytest.mark.usefixtures("at_once")
def test_no_assignment():
    cost = sums(4, 300).astype(np.float32)
    cost[:120, 100:] = np.inf
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda")
    assert_hall_violator(caught.value, cost)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_the_core_goes_on_where_trees_take_long(monkeypatch):
    cost = sums(5, 300).astype(np.float32)
    by_trees = lw.solve(cost, device="cuda")
    monkeypatch.setattr(trees, "_LEVELS_A_READ", -1e9)
    by_both = lw.solve(cost, device="cuda")
    assert_optimal(by_both, cost)
    assert 0 < by_both.statistics["tree_steps"] < by_trees.statistics["tree_steps"]
    assert by_both.statistics["listings"] == by_trees.statistics["listings"] + 1


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("most_free", [0.0, 1.0])
def test_samples_give_better_prices_where_trees_give_up(monkeypatch, most_free):
    cost = differences(7, 300).astype(np.float32)
    monkeypatch.setattr(trees, "finish", lambda _solve, before, **_: before._replace(status=UNFINISHED))
    for name, value in (("_FIRST_SAMPLE", 64), ("_READS_AFTER_TREES", 0.0), ("_FREE_AFTER_TREES", most_free)):
        monkeypatch.setattr(core_start, name, value)
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["levels"] == (1 if most_free == 0.0 else 0)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_time_limits():
    cost = sums(6, 300).astype(np.float32)
    began = time.perf_counter()
    lw.solve(cost, device="cuda")
    whole = time.perf_counter() - began
    for share in (0.2, 0.4, 0.6, 0.8):
        check_interrupted(cost, repeatable=False, time_limit=share * whole)


@pytest.mark.usefixtures("at_once")
def test_costs_without_ties_stay_with_the_core():
    rng = np.random.default_rng(7)
    cost = np.abs(rng.random((300, 1)) - rng.random(300)).astype(np.float32)
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert result.statistics["tree_steps"] == result.statistics["tight_steps"] == 0


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("options", [pytest.param({}, marks=pytest.mark.slow), {"memory_limit": 2_000_000}])
def test_trees_do_without_tight_pairs(monkeypatch, options):
    cost = sums(8, 300).astype(np.float32)

    def workspace(context, sizes, array_template):
        if sizes["all"][0] >= 10**12:
            raise GpuError("no memory is free")
        return Workspace(context, sizes, array_template)

    monkeypatch.setattr(trees, "Workspace", workspace)
    monkeypatch.setattr(trees, "tight_bytes", lambda rows: 10**12)
    result = lw.solve(cost, device="cuda", **options)
    assert_optimal(result, cost)
    assert result.statistics["tight_steps"] == 0 and result.statistics["tree_steps"] > 0


@pytest.mark.usefixtures("at_once")
def test_better_prices_come_first_where_exploring_leaves_half_of_the_rows(monkeypatch):
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 80)
    rng = np.random.default_rng(9)
    cost = np.round(100 * rng.random((400, 1)) * rng.random(400)).astype(np.float32)
    finished = []

    def noted(solve, before, *arguments, **options):
        finished.append(before.free_rows)
        return finish(solve, before, *arguments, **options)

    finish = trees.finish
    monkeypatch.setattr(trees, "finish", noted)
    result = lw.solve(cost, device="cuda")
    assert_optimal(result, cost)
    assert all(free <= 200 for free in finished)
