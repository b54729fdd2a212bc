"""One problem over four ranks: the answers, and the bits of their certificates, are those of one process."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from support import distributed_cases as cases
from support.ranks import Ranks, require_ranks

DTYPES = (np.float32, np.float64, np.int32, np.int64)


def matrix(kind, shape, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    if kind == "uniform":
        costs = random.random(shape)
    elif kind == "few integers":
        costs = random.integers(0, 4, shape).astype(float)
    elif kind == "points":
        x, y = random.random((shape[0], 2)), random.random((shape[1], 2))
        costs = np.sqrt(((x[:, None] - y) ** 2).sum(-1))
    elif kind == "low rank":
        costs = random.random((shape[0], 1)) * random.random((1, shape[1]))
    elif kind == "forbidden":
        costs = random.random(shape)
        costs[random.random(shape) < 0.6] = math.inf
        np.fill_diagonal(costs, 1.0)
        return costs.astype(dtype)
    return (costs * (1 if np.dtype(dtype).kind == "f" else 10_000)).astype(dtype)


def joined(answers):
    """The parts of all ranks as one answer; all that they share is the same."""
    for answer in answers:
        assert isinstance(answer, dict), answer
    first = answers[0]
    for answer in answers[1:]:
        assert answer["objective"] == first["objective"] and answer["certificate"] == first["certificate"]
        assert answer["status"] == first["status"] and answer["lower_bound"] == first["lower_bound"]
        assert np.array_equal(answer["v"], first["v"]) and answer["shape"] == first["shape"]
    begins = np.cumsum([0, *(len(answer["u"]) for answer in answers)])
    assert [answer["first_row"] for answer in answers] == begins[:-1].tolist()
    parts = {name: np.concatenate([answer[name] for answer in answers]) for name in ("row_to_col", "u")}
    return first | parts


def check(answers, costs, **options):
    """Certify the joined answer here, to the same certificate; its objective is the optimum."""
    answer = joined(answers)
    asked = {name: value for name, value in options.items() if name in ("maximize", "unmatched_cost", "infeasible")}
    expected = lw.solve(costs, **asked)
    assert answer["shape"] == costs.shape and answer["status"] == expected.status
    duals = answer["u"], answer["v"]
    if answer["certificate"].duals is None and expected.status == "optimal":
        here = lw.certify(costs, answer["row_to_col"], *duals, **asked)
        assert here == answer["certificate"]
    assert answer["objective"] == pytest.approx(expected.objective, rel=1e-12)
    if costs.dtype.kind == "i":
        assert answer["objective"] == expected.objective and answer["certificate"].exact
    return answer


@pytest.mark.parametrize("kind", ["uniform", "few integers", "points", "low rank", "forbidden"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (5, 30), (300, 330)])
@pytest.mark.parametrize("maximize", [False, True])
def test_every_kind_of_costs(ranks, kind, shape, maximize):
    costs = matrix(kind, shape) * (-1 if maximize and kind == "forbidden" else 1)
    check(ranks.run(cases.solve, costs, maximize=maximize), costs, maximize=maximize)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["uniform", "points"])
@pytest.mark.parametrize("maximize", [False, True])
def test_every_dtype(ranks, dtype, kind, maximize):
    costs = matrix(kind, (150, 160), dtype)
    check(ranks.run(cases.solve, costs, maximize=maximize), costs, maximize=maximize)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (2, 3), (40, 40)])
def test_ranks_without_rows(ranks, shape):
    costs = matrix("uniform", shape)
    answer = joined(ranks.run(cases.solve, costs, own=cases.uneven))
    assert answer["objective"] == lw.solve(costs).objective and answer["shape"] == shape


@pytest.mark.parametrize("shape", [(60, 60), (80, 20), (20, 80)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_may_stay_free(ranks, shape, dtype):
    costs = matrix("uniform", shape, dtype)
    price = float(np.quantile(costs, 0.02)) if costs.dtype.kind == "f" else int(np.quantile(costs, 0.02))
    check(ranks.run(cases.solve, costs, unmatched_cost=price), costs, unmatched_cost=price)
    prices = np.linspace(0, 2, shape[0]) * price if costs.dtype.kind == "f" else np.arange(shape[0]) * price // 20
    check(ranks.run(cases.solve, costs, unmatched_cost=prices), costs, unmatched_cost=prices)
    of_both = prices, price // 2
    check(ranks.run(cases.solve, costs, unmatched_cost=of_both), costs, unmatched_cost=of_both)


def test_points(ranks):
    random = np.random.default_rng(3)
    x, y = random.random((400, 2), np.float32), random.random((420, 2), np.float32)
    answer = joined(ranks.run(cases.solve_points, x, y))
    costs = lw.costs.squared_euclidean(x, y)
    assert lw.certify(costs, answer["row_to_col"], answer["u"], answer["v"]) == answer["certificate"]
    assert answer["objective"] == pytest.approx(lw.solve(costs).objective, rel=1e-12)


def test_points_of_which_some_are_on_a_gpu(ranks):
    """Those are computed on the host, like the others."""
    x, y = np.random.default_rng(5).random((2, 50, 2))
    source = lw.costs.squared_euclidean(x, y)
    check(ranks.run(cases.solve_points_of_which_some_are_on_a_gpu, x, y), np.asarray(source))


@pytest.mark.parametrize("kind", ["array", "tensor", "DTensor"])
def test_costs_that_are_no_numbers(ranks, kind):
    costs = matrix("uniform", (40, 44))
    costs[np.random.default_rng(6).random(costs.shape) < 0.2] = math.nan
    answers, pairs = zip(*ranks.run(cases.solve_without_invalid, costs, kind), strict=True)
    check(answers, np.where(np.isnan(costs), math.inf, costs))
    found = [own + np.array([answer["first_row"], 0]) for own, answer in zip(pairs, answers, strict=True)]
    assert np.array_equal(np.concatenate(found), np.argwhere(np.isnan(costs)))


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "few integers", "forbidden"])
@pytest.mark.parametrize("maximize", [False, True])
def test_tensors(ranks, kind, on_device, maximize):
    for shape in ((12, 12), (130, 140)):
        costs = matrix(kind, shape, np.float32) * np.float32(-1 if maximize and kind == "forbidden" else 1)
        check(ranks.run(cases.solve_tensor, costs, on_device, maximize=maximize), costs, maximize=maximize)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16, np.int8, np.uint8, np.int16])
def test_dtypes_of_tensors_by_the_code_for_gpus(ranks, dtype):
    costs = matrix("uniform", (90, 100)) * (1 if np.dtype(dtype).kind == "f" else 120)
    costs = costs.astype(dtype)
    check(ranks.run(cases.solve_tensor, costs, True), costs)
    check(ranks.run(cases.solve_tensor, costs, True, unmatched_cost=1), costs, unmatched_cost=1)


def test_dtensors(ranks):
    costs = matrix("uniform", (90, 100))
    check(ranks.run(cases.solve_dtensor, costs), costs)
    for placement in ("columns", "all"):
        for error in ranks.run(cases.solve_dtensor, costs, placement):
            assert isinstance(error, lw.ArgumentError) and "redistribute(placements=[Shard(0)])" in str(error)
    for error in ranks.run(cases.solve_dtensor, costs, device="cpu"):
        assert isinstance(error, lw.ArgumentError) and "leave device=" in str(error)


def test_two_groups_side_by_side(ranks):
    costs = matrix("points", (200, 200))
    answers = ranks.run(cases.solve_in_half, costs)
    first, second = check(answers[:2], costs), check(answers[2:], costs)
    assert second["certificate"] == first["certificate"]
    assert all(np.array_equal(second[name], first[name]) for name in ("row_to_col", "u", "v"))


def test_options(ranks):
    costs = matrix("points", (300, 300))
    cold = check(ranks.run(cases.solve, costs), costs)
    warm = check(ranks.run(cases.solve, costs, start=(cold["u"], cold["v"])), costs)
    assert warm["statistics"]["dense_rows_read"] < cold["statistics"]["dense_rows_read"]
    for answer in ranks.run(cases.solve, costs, certify=False):
        assert answer["certificate"] is None and answer["objective"] == cold["objective"]
    for answer in ranks.run(cases.solve, costs, time_limit=0):
        assert answer["status"] == "time_limit" and answer["objective"] >= cold["objective"] >= answer["lower_bound"]
    plans = ranks.run(cases.plan, costs, memory_limit=0)
    assert "rank 2" in plans[3] and "rank 0 holds the lists" in plans[1]


def test_progress_is_seen_on_rank_0(ranks):
    seen = ranks.run(cases.count_progress, matrix("points", (600, 600)))
    assert [count for count, _ in seen[1:]] == [0, 0, 0]


def test_a_checkpoint_goes_on_with_other_ranks(ranks, tmp_path):
    costs = matrix("points", (300, 300))
    file = tmp_path / "solve.npz"
    stopped = joined(ranks.run(cases.solve, costs, checkpoint=str(file), time_limit=0.02))
    assert file.exists()
    answers = ranks.run(cases.solve_in_half, costs, checkpoint=str(tmp_path / "solve.npz"))
    check(answers[:2], costs)
    assert stopped["lower_bound"] <= answers[0]["objective"]
    for error in ranks.run(cases.solve, costs + 1, checkpoint=str(file)):
        assert isinstance(error, lw.ArgumentError) and "checkpoint of another problem" in str(error)


def test_digits_that_float64_lacks(ranks):
    costs = matrix("uniform", (40, 40))
    costs[:, ::2] += 1e18
    answer = joined(ranks.run(cases.solve, costs))
    assert answer["objective"] == pytest.approx(lw.solve(costs).objective, rel=1e-15)


def test_more_than_one_process_may_hold(tmp_path):
    require_ranks()
    n = 4000  # 64 MB
    with Ranks(4, tmp_path) as fresh:  # no memory of theirs is free already
        answers = fresh.run(cases.with_little_memory, n, 56 << 20)
    assert all(isinstance(answer, tuple) for answer in answers), answers
    answer = joined([answer for answer, _ in answers])
    assert sorted(answer["row_to_col"]) == list(range(n)) and answer["certificate"].exact
    picked = np.concatenate([picked for _, picked in answers])
    assert answer["objective"] == math.fsum(picked.tolist())


def test_groups_of_other_backends(ranks):
    costs = matrix("uniform", (60, 60))
    check(ranks.run(cases.solve_beside_another_backend, costs), costs)
    for error in ranks.run(cases.solve_without_gloo, costs):
        assert isinstance(error, lw.ArgumentError) and "no gloo" in str(error)


def test_the_example(ranks):
    example = Path(__file__).parents[2] / "examples" / "flow_matching_distributed.py"
    answers = ranks.run(cases.flow_matching, str(example))
    totals = {total for _, total in answers}
    assert len(totals) == 1 and all(len(losses) == 3 for losses, _ in answers)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_small_matrix_goes_to_rank_0(ranks, dtype, tmp_path):
    costs = matrix("points", (260, 280), dtype)
    answer = check(ranks.run(cases.solve, costs, memory_limit=None), costs)
    assert "requests" not in answer["statistics"]
    answer = check(ranks.run(cases.solve_tensor, costs, True, memory_limit=None, maximize=True), costs, maximize=True)
    assert "requests" not in answer["statistics"]
    assert "rank 0 is sent the rows" in ranks.run(cases.plan, costs)[2]
    costs = costs.astype(np.float64)
    costs[33, 5] = math.nan
    for error in ranks.run(cases.solve, costs, memory_limit=None):
        assert isinstance(error, lw.InvalidCostError) and (error.row, error.col) == (33, 5)
    costs[33] = math.inf
    for error in ranks.run(cases.solve, costs, memory_limit=None):
        assert isinstance(error, lw.InfeasibleError) and error.rows.tolist() == [33]
    costs[33] = 1.0
    file = str(tmp_path / "solve.npz")
    check(ranks.run(cases.solve, costs, memory_limit=None, checkpoint=file), costs)
    check(ranks.run(cases.solve, costs, checkpoint=file), costs)
