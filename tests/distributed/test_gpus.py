"""Ranks with emulated GPUs, which cannot read each other's memory; tests/gpu/test_ranks_on_gpus.py has the numbers."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import lapwing as lw
from support import distributed_cases as cases
from support import emulated_programs
from support.ranks import Ranks, require_ranks

pytestmark = pytest.mark.skipif(
    emulated_programs.COMPILER is None or sys.platform != "linux", reason="the CUDA emulator needs Linux and a compiler"
)


def uniform(n, dtype=np.float32):
    return np.random.default_rng(1).random((n, n)).astype(dtype)


@pytest.mark.parametrize("maximize", [False, True])
def test_all_ranks_have_the_answer(ranks, maximize):
    matrix = uniform(60)
    answers = ranks.run(cases.solve_on_gpus, matrix, maximize=maximize)
    expected = lw.solve(matrix, maximize=maximize)
    for answer in answers:
        assert answer["objective"] == expected.objective and answer["certificate"].exact
        assert "rank 0 solves on GPU 0" in answer["plan"] and "rank 3 on" in answer["plan"]
    row_to_col = np.concatenate([answer["row_to_col"] for answer in answers])
    assert matrix[np.arange(60), row_to_col].sum(dtype=np.float64) == pytest.approx(expected.objective)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_row_caches_come_in_place_of_rows(ranks, dtype):
    """Rounded sums: no list decides much."""
    random = np.random.default_rng(7)
    matrix = np.round(30 * (random.random((120, 1)) + random.random((1, 120)))).astype(dtype)
    answers = ranks.run(cases.solve_on_gpus, matrix)
    assert answers[0]["objective"] == lw.solve(matrix).objective and answers[0]["certificate"].exact
    assert answers[0]["statistics"]["caches_read"] > 0


def test_options(ranks):
    matrix = uniform(40)
    first = ranks.run(cases.solve_on_gpus, matrix, unmatched_cost=0.05)
    assert first[2]["objective"] == lw.solve(matrix, unmatched_cost=0.05).objective
    partial = matrix.copy()
    partial[[1, 30]] = math.inf
    answers = ranks.run(cases.solve_on_gpus, partial, infeasible="partial", memory_limit=6200)
    assert answers[1]["status"] == "partial"
    assert answers[1]["objective"] == lw.solve(partial, infeasible="partial", memory_limit=6200).objective
    partial[30, 3] = math.nan
    for error in ranks.run(cases.solve_on_gpus, partial):
        assert isinstance(error, lw.InvalidCostError) and (error.row, error.col) == (30, 3)
    stopped = ranks.run(cases.solve_on_gpus, matrix, time_limit=0.0)
    assert stopped[0]["lower_bound"] <= lw.solve(matrix).objective <= stopped[3]["objective"]
    of_one = ranks.run(cases.solve_on_gpus, matrix, gpu=7)
    assert "rank 0 solves on GPU" not in of_one[0]["plan"]
    unlike = ranks.run(cases.solve_on_gpus, matrix, unmatched_cost=(0.05, np.full(40, 0.01)))
    assert "rank 0 solves on GPU" not in unlike[0]["plan"]  # by the CPU's core


def test_a_checkpoint(ranks, tmp_path):
    matrix, file = uniform(60), str(tmp_path / "solve.npz")
    answers = ranks.run(cases.solve_on_gpus, matrix, checkpoint=file)
    again = ranks.run(cases.solve_on_gpus, matrix, checkpoint=file)
    assert answers[0]["objective"] == again[3]["objective"] == lw.solve(matrix).objective


@pytest.mark.parametrize(("moment", "victim"), [("gpu list", 2), ("gpu prove", 1), ("gpu minima", 3)])
def test_a_rank_that_dies(tmp_path, moment, victim):
    require_ranks()
    with Ranks(4, tmp_path) as four:
        four.begin(cases.solve_on_gpus, uniform(60), moment=moment, victim=victim)
        for answer in four.end([rank for rank in range(4) if rank != victim], within=30):
            assert isinstance(answer, tuple), answer
            words, seconds = answer
            assert f"rank {victim} of the group does not answer" in words and seconds < 30


@pytest.mark.parametrize("moment", ["gpu list", "gpu prove"])
def test_ctrl_c_on_one_rank(ranks, moment):
    for error in ranks.run(cases.solve_on_gpus, uniform(60), moment=moment, interrupted=2):
        assert isinstance(error, KeyboardInterrupt), error
    assert all(isinstance(answer, dict) for answer in ranks.run(cases.solve_on_gpus, uniform(30)))
