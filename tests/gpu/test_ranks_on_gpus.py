"""Rows on GPUs that cannot read each other's memory: emulated ones, whose ranks are objects of this process."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import host_solver
from lapwing.gpu.core import start as core_start
from lapwing.gpu.core.solver import EXPLORING
from lapwing.gpu.costs import host_rows
from lapwing.problem import Problem
from lapwing.request import Request
from support.emulated_solves import draw
from support.gpu_memory import Gpu, OnGpu

pytest.importorskip("torch")

from lapwing.arrays import view_if_on_gpu
from lapwing.distributed import gpu_solver
from lapwing.distributed.gpu_costs import planned_over_gpus, solve_over_gpus
from lapwing.distributed.gpu_rows import Follower
from lapwing.distributed.messages import HEAD_BYTES, body_bytes, decoded, error_of, failure
from lapwing.distributed.shard import RowsOnHost
from lapwing.distributed.source import ShardedCost
from lapwing.inputs import make_problem
from lapwing.prices import prices_in_kind

pytestmark = pytest.mark.usefixtures("meanwhile")


def sent(message):
    """A message as it arrives."""
    head, *body = message.encoded()
    assert len(head) == HEAD_BYTES and body_bytes(head) == sum(map(len, body))
    return decoded(head, body[0] if body else np.empty(0, np.uint8))


class Ranks:
    """The coordinator of ranks that are not processes."""

    lost = None

    def __init__(self, gpu, cost, ends, maximize=False):
        parts = np.split(cost, ends)
        self.size, self.begins = len(parts), np.array([0, *ends, len(cost)])
        self.views = [view_if_on_gpu(OnGpu(gpu, part)) if part.size else None for part in parts]
        self.shards = [RowsOnHost(make_problem(part, maximize), part) for part in parts]
        for shard, first in zip(self.shards, self.begins, strict=False):
            shard.first, shard.rows_of_problem = int(first), len(cost)
        self.followers = [view and Follower(view) for view in self.views]
        self.orders, self.gone, self._kept = [], None, gpu

    def owners_of(self, rows):
        return np.searchsorted(self.begins, rows, side="right") - 1

    def look_after(self):
        if self.gone:
            raise lw.GroupError(self.gone)

    def ask(self, orders, meanwhile=None):
        if meanwhile is not None:
            meanwhile()
        answers = {}
        for rank, order in orders.items():
            self.orders.append(order.kind)
            self.look_after()
            try:
                on_gpu = order.kind.startswith("gpu ")
                assert rank or not on_gpu
                answers[rank] = sent((self.followers if on_gpu else self.shards)[rank].follow(sent(order)))
            except lw.LapwingError as error:
                answers[rank] = sent(failure(error, rank))
        for answer in answers.values():
            if answer.kind == "failure":
                raise error_of(answer)
        return answers


@pytest.fixture
def solve_over(emulated_gpu):
    """Solves rows that ranks have from some row on each."""

    def solve(cost, ends, maximize=False, price=None, prepare=None, **options):
        ranks = Ranks(Gpu(emulated_gpu), cost, ends, maximize)
        if prepare is not None:
            prepare(ranks)
        source = ShardedCost(ranks, cost.shape, ranks.shards[0].dtype, 1 << 20)
        prices = None if price is None else prices_in_kind(price, len(cost), maximize, cost.dtype.kind == "i")
        problem = Problem(source, maximize, prices)
        request = Request(maximize=maximize, unmatched_cost=price, **options)
        plan = planned_over_gpus(ranks.views[0], problem, request, ranks)
        answer, certificate, chosen = solve_over_gpus(ranks.views[0], problem, request, ranks)
        assert chosen == plan and plan.device == "cuda:0" and plan.tier == "sharded"
        return answer, certificate, ranks

    return solve


def check(answer, certificate, cost, maximize=False, price=None):
    own = lw.certify(cost, answer.row_to_col, answer.u, answer.v, maximize=maximize, unmatched_cost=price)
    expected = lw.solve(cost, maximize=maximize, unmatched_cost=price)
    assert certificate.complete and certificate.fault is None
    assert (certificate.primal, certificate.gap, certificate.violation) == (own.primal, own.gap, own.violation)
    assert certificate.primal == pytest.approx(expected.objective, rel=1e-14 if cost.dtype == np.float64 else 0)
    assert certificate.exact or cost.dtype == np.float64
    assert answer.status == "optimal"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
@pytest.mark.parametrize("maximize", [False, True])
def test_square_problems(solve_over, dtype, kind, maximize):
    cost = draw((60, 60), dtype, 3, kind)
    answer, certificate, ranks = solve_over(cost, [20, 45], maximize)
    check(answer, certificate, cost, maximize)
    assert ranks.orders.count("gpu end") == 2


@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (40, 61), (61, 61)])
def test_the_answer_does_not_depend_on_the_ranks(solve_over, shape):
    """Rows of any alignment; a rank without rows."""
    cost = draw(shape, "float32", 5)
    answers = []
    for ends in ([], [1, 1], [shape[0] // 2], [shape[0] // 3 or 1, shape[0] - 1]):
        answer, certificate, _ = solve_over(cost, [end for end in ends if 0 < end <= shape[0]])
        check(answer, certificate, cost)
        answers.append(answer)
    for other in answers[1:]:
        for name in ("row_to_col", "u", "v"):
            assert np.array_equal(getattr(other, name), getattr(answers[0], name)), name


def test_as_one_gpu_has_it(solve_over):
    """Where no list is renewed: with the same bits."""
    cost = draw((90, 90), "float32", 2)
    answer, certificate, _ = solve_over(cost, [30, 50])
    one = lw.solve(cost, device="cuda")
    assert certificate.exact and (answer.row_to_col == one.row_to_col).all() and (answer.v == one.v).all()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_rows_that_may_stay_free(solve_over, dtype, maximize):
    cost = draw((30, 20), dtype, kind="points")
    for price in (100, draw((30, 1), dtype, 1)[:, 0]):
        answer, certificate, _ = solve_over(cost, [11, 19], maximize, price)
        check(answer, certificate, cost, maximize, price)


def test_rows_that_lists_do_not_decide(solve_over, monkeypatch):
    """They are sent, and looked at in full."""
    monkeypatch.setattr(host_rows, "_RANKS_DEPTH", 40)
    random = np.random.default_rng(7)
    cost = np.round(8 * (random.random((80, 1)) + random.random((1, 80)))).astype(np.float32)
    answer, certificate, ranks = solve_over(cost, [30, 70])
    check(answer, certificate, cost)
    assert answer.statistics["rows_read"] > 0 and "gpu rows" in ranks.orders


@pytest.mark.parametrize("maximize", [False, True])
def test_samples(solve_over, monkeypatch, maximize):
    monkeypatch.setattr(host_rows, "_LEAST_SAMPLE", 40)
    monkeypatch.setattr(host_solver, "LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "LEAST_ROWS", 20)
    monkeypatch.setattr(host_solver, "EXPLORING", replace(EXPLORING, warm_up=0, structure_threshold=-1.0))
    cost = draw((90, 90), "float32", 3, "points")
    answer, certificate, ranks = solve_over(cost, [30, 31], maximize)
    check(answer, certificate, cost, maximize)
    assert answer.statistics["levels"] >= 1 and "gpu bounds" in ranks.orders


def test_a_start(solve_over):
    cost = draw((50, 50), "float32", kind="points")
    first, *_ = solve_over(cost, [20])
    again, certificate, ranks = solve_over(cost, [20], start=(np.zeros(50), first.v))
    check(again, certificate, cost)
    assert "gpu minima" not in ranks.orders


def test_without_a_certificate(solve_over):
    cost = draw((50, 50), "float32")
    answer, certificate, ranks = solve_over(cost, [20], certify=False)
    assert certificate is None and "gpu prove" not in ranks.orders
    assert answer.objective == lw.solve(cost).objective


@pytest.mark.parametrize("row", [3, 25, 49])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_invalid_costs(solve_over, row, value):
    cost = draw((50, 50), "float32")
    cost[row, 7] = value
    with pytest.raises(lw.InvalidCostError) as raised:
        solve_over(cost, [20, 40])
    assert (raised.value.row, raised.value.col) == (row, 7)


def test_no_assignment(solve_over):
    cost = draw((40, 40), "float32")
    cost[[3, 25, 38]] = np.inf
    cost[[3, 25, 38], 4] = 1.0
    cost[[3, 25], 5] = 1.0
    with pytest.raises(lw.InfeasibleError) as raised:
        solve_over(cost, [20, 30])
    assert raised.value.rows.tolist() == [3, 25, 38] and raised.value.cols.tolist() == [4, 5]
    answer, certificate, _ = solve_over(cost, [20, 30], partial=True)
    assert answer.status == "partial" and certificate.primal == lw.solve(cost, infeasible="partial").objective


def test_sums_out_of_range(solve_over):
    """The host answers, from the same rows."""
    cost = draw((30, 30), "float64") * 1e305
    _, certificate, ranks = solve_over(cost, [10])
    assert certificate.primal == lw.solve(cost).objective and "list" in ranks.orders


def test_no_time(solve_over):
    cost = draw((40, 40), "float32", kind="points")
    answer, certificate, _ = solve_over(cost, [20, 30], time_limit=0.0)
    optimum = lw.solve(cost).objective
    assert certificate.complete and answer.bound <= optimum <= answer.objective


def test_a_rank_that_is_gone(solve_over):
    def prepare(ranks):
        def follow(_):
            ranks.gone = "rank 1 is gone"
            raise lw.GroupError(ranks.gone)

        ranks.followers[1].follow = follow

    with pytest.raises(lw.GroupError, match="rank 1 is gone"):
        solve_over(draw((40, 40), "float32"), [20], prepare=prepare)


def test_a_violation_is_found_where_it_is(solve_over, monkeypatch):
    """In another rank's row."""
    cost = draw((40, 40), "float32")
    found = []
    proof = gpu_solver.RankPass.launch_lines

    def spoiled(self, at):
        host_rows.write(self.context, at.u + 8 * 33, np.array([1e6]))
        proof(self, at)
        found.append(self)

    monkeypatch.setattr(gpu_solver.RankPass, "launch_lines", spoiled)
    with pytest.raises(lw.ArgumentError, match=r"dual violation 1e\+06 at \(33, "):
        solve_over(cost, [20, 30])
    assert found
