"""Bad input, other errors, Ctrl-C and processes that die: every rank raises, and nothing hangs."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import lapwing as lw
from support import distributed_cases as cases
from support.ranks import Ranks, require_ranks


def uniform(n, m=None):
    return np.random.default_rng(1).random((n, m or n))


@pytest.mark.parametrize("on", [0, 1, 3])
@pytest.mark.parametrize(
    ("which", "kind", "words"),
    [
        ("columns", lw.ArgumentError, "in columns"),
        ("dtype", lw.ArgumentError, "in dtype"),
        ("maximize", lw.ArgumentError, "in maximize"),
        ("time_limit", lw.ArgumentError, "in time_limit"),
        ("unmatched", lw.ArgumentError, "in unmatched_cost"),
        ("start", lw.ArgumentError, "in start"),
        ("invalid", lw.ArgumentError, "in invalid"),
        ("vector", lw.ArgumentError, "2-D"),
        ("method", lw.ArgumentError, "method='jv'"),
    ],
)
def test_a_rank_that_differs_is_named_everywhere(ranks, which, kind, words, on):
    errors = ranks.run(cases.differ, which, on)
    for error in errors:
        assert isinstance(error, kind), error
        assert words in str(error) and str(error) == str(errors[0])
    if which not in ("vector", "method") and on == 0:
        assert "rank 1 of the group differs from rank 0" in str(errors[0])
    else:
        assert f"rank {on} of the group" in str(errors[0])


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("row", [0, 17, 39])
@pytest.mark.parametrize("on_device", [False, True])
def test_invalid_costs_are_named_by_their_row(ranks, value, row, on_device):
    costs = uniform(40)
    costs[row, 7] = value
    for error in ranks.run(cases.solve_tensor, costs, on_device):
        assert isinstance(error, lw.InvalidCostError), error
        assert (error.row, error.col) == (row, 7) and (error.value == value or math.isnan(value))
        assert f"cost[{row}, 7]" in str(error)


def test_a_hall_violator_in_global_numbers(ranks):
    costs = uniform(40)
    costs[[3, 25, 38]] = math.inf
    costs[[3, 25, 38], 4] = 1.0
    costs[[3, 25], 5] = 1.0
    for error in ranks.run(cases.solve, costs):
        assert isinstance(error, lw.InfeasibleError), error
        assert error.rows.tolist() == [3, 25, 38] and error.cols.tolist() == [4, 5]
    answers = ranks.run(cases.solve, costs, infeasible="partial", memory_limit=None)
    assert all(answer["status"] == "partial" for answer in answers), answers
    assert answers[3]["objective"] == lw.solve(costs, infeasible="partial").objective


def test_other_refusals(ranks):
    for error in ranks.run(cases.solve, uniform(20, 10)):
        assert isinstance(error, lw.ArgumentError) and "20 rows and 10 columns" in str(error)
    for error in ranks.run(cases.solve, np.full((8, 8), 2**61)):
        assert isinstance(error, lw.RangeError) and "cost[0, 0]" in str(error)
    for error in ranks.run(cases.solve, uniform(8), checkpoint="/nowhere/at/all.npz"):
        assert isinstance(error, lw.ArgumentError) and "no folder" in str(error)


def test_an_error_of_the_callers_own_function(ranks):
    first, *others = ranks.run(cases.fail_in_progress, uniform(900))
    if isinstance(first, dict):
        pytest.skip("solved before anything was told")
    assert isinstance(first, ZeroDivisionError)
    for error in others:
        assert isinstance(error, lw.GroupError) and "rank 0 of the group failed with ZeroDivisionError" in str(error)
    assert all(isinstance(answer, dict) for answer in ranks.run(cases.solve, uniform(30)))


def test_nobody_is_there():
    pytest.importorskip("torch")
    with pytest.raises(lw.ArgumentError, match="torchrun"):
        lw.distributed.solve(uniform(3))


MOMENTS = ["before", "list 1", "list 2", "rows 1", "rows 5", "part 1", "lower 1", "ping 1", "prove 1"]


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_rank_that_dies_at_any_moment(tmp_path, moment, victim):
    if (moment, victim) == ("ping 1", 0):
        pytest.skip("rank 0 asks, and is not asked")
    die(tmp_path, moment, victim)


@pytest.mark.parametrize(
    ("moment", "victim"), [("before", 2), ("list 1", 2), ("ping 1", 1), ("prove 1", 3), ("list 1", 0)]
)
def test_a_rank_that_dies(tmp_path, moment, victim):
    die(tmp_path, moment, victim)


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_dies_in_a_method_of_the_papers(tmp_path, victim):
    die(tmp_path, "columns grow 3", victim, method="hungarian-tree")


def test_a_checkpoint_outlives_a_rank_that_dies(tmp_path):
    file = tmp_path / "solve.npz"
    costs = die(tmp_path, "list 12", 2, checkpoint=str(file))
    assert file.exists()
    (tmp_path / "again").mkdir()
    with Ranks(3, tmp_path / "again") as three:
        answers = three.run(cases.solve, costs, size=3, checkpoint=str(file))
    assert all(isinstance(answer, dict) for answer in answers), answers
    assert answers[0]["objective"] == lw.solve(costs).objective


def die(folder, moment, victim, **options):
    require_ranks()
    random = np.random.default_rng(0)
    x, y = random.random((600, 2)), random.random((600, 2))
    costs = ((x[:, None] - y) ** 2).sum(-1)
    with Ranks(4, folder) as four:
        began = time.monotonic()
        four.begin(cases.die, costs, victim, moment, **options)
        answers = four.end([rank for rank in range(4) if rank != victim], within=30)
        for answer in answers:
            assert isinstance(answer, tuple), answer
            words, seconds = answer
            assert f"rank {victim} of the group does not answer" in words and seconds < 30
        assert time.monotonic() - began < 30
    return costs


@pytest.mark.parametrize("on", [0, 2])
def test_ctrl_c_on_one_rank(tmp_path, on):
    require_ranks()
    random = np.random.default_rng(0)
    x, y = random.random((1500, 2)), random.random((1500, 2))
    costs = ((x[:, None] - y) ** 2).sum(-1)
    with Ranks(4, tmp_path) as four:
        four.begin(cases.interrupt, costs, on, 0.3)
        for error in four.end(within=30):
            assert isinstance(error, KeyboardInterrupt), error
        assert all(isinstance(answer, dict) for answer in four.run(cases.solve, uniform(30)))
