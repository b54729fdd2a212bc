"""Small plain matrices, which one compiled call solves and proves: the same answers as by the flow of all others."""

from __future__ import annotations

import signal
import threading
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.cpu.small import solve_small

FLOW = {"time_limit": 1e6}  # an option that the compiled call does not take


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 24)))
    dtype = draw(st.sampled_from(["float64", "float32", "int32", "int64"]))
    cost = rng.random(shape) * draw(st.sampled_from([1e-30, 1.0, 30.0, 1e12]))
    if draw(st.booleans()):
        cost = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), shape)
    cost = (cost * draw(st.sampled_from([1, -1]))).astype(dtype)
    maximize = draw(st.booleans())
    if dtype[0] == "f":
        cost[rng.random(shape) < draw(st.sampled_from([0, 0.1, 0.6]))] = draw(
            st.sampled_from([-np.inf if maximize else np.inf, 1e15])
        )
    price = draw(st.sampled_from([None, 0, 1, 2.5, -1.0, 1e15]))
    cost = np.asfortranarray(cost) if draw(st.booleans()) else cost
    return cost[:: draw(st.sampled_from([1, 2]))], maximize, price


@given(problems(), st.booleans())
def test_the_answer_is_that_of_the_flow(problem, certify):
    cost, maximize, price = problem
    small = solve_small(cost, maximize, price, certify)
    try:
        flow = lw.solve(cost, maximize=maximize, unmatched_cost=price, certify=certify, **FLOW)
    except lw.LapwingError:
        assert small is None
        return
    if small is None:
        return
    assert small.objective == flow.objective and type(small.objective) is type(flow.objective)
    assert (small.row_to_col >= 0).sum() == (flow.row_to_col >= 0).sum()
    assert small.status == flow.status and min(small.statistics.values()) >= 0
    assert (small.u.dtype, small.row_to_col.dtype) == (flow.u.dtype, flow.row_to_col.dtype)
    assert (small.plan.method, small.plan.transposed) == (flow.plan.method, flow.plan.transposed)
    assert np.array_equal(small.row_ind, np.flatnonzero(small.row_to_col >= 0))
    assert np.array_equal(small.col_ind, small.row_to_col[small.row_ind])
    assert (small.pair_costs == cost[small.row_ind, small.col_ind]).all()
    if not certify:
        assert small.certificate is None
        return
    proof, error = small.certificate, max(small.certificate.bound, small.certificate.violation)
    assert proof == lw.certify(cost, small.row_to_col, small.u, small.v, maximize=maximize, unmatched_cost=price)
    assert proof.exact or error <= max(cost.shape) * 2.0**-52 * abs(small.objective)
    assert small.lower_bound == proof.optimum_bound


MIDDLE = {
    "uniform": lambda rng: rng.random((400, 400)),
    "integers": lambda rng: rng.integers(0, 1000, (390, 420)).astype(np.int32),
    "tall": lambda rng: rng.random((500, 390)).astype(np.float32),
    "capped": lambda rng: np.minimum(rng.random((400, 400)), 0.01),
    "products": lambda rng: rng.random((420, 1)) * rng.random((1, 420)),
    "columns": lambda rng: np.asfortranarray(rng.random((390, 400))),
    "forbidden": lambda rng: np.where(rng.random((400, 400)) < 0.5, np.inf, rng.random((400, 400))),
}


@pytest.mark.parametrize("price", [None, 0.002])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name", MIDDLE)
def test_more_rows_than_the_direct_path_takes(name, maximize, price):
    cost = MIDDLE[name](np.random.default_rng(3))
    cost = np.where(np.isinf(cost), -cost, cost) if maximize else cost
    price = price if price is None or cost.dtype.kind == "f" else 3
    small = solve_small(cost, maximize, price, True, 1)
    flow = lw.solve(cost, maximize=maximize, unmatched_cost=price, threads=1, **FLOW)
    assert small.objective == pytest.approx(flow.objective, rel=1e-12, abs=0)
    assert small.plan == flow.plan
    assert set(small.statistics) == set(flow.statistics)
    assert small.certificate == lw.certify(
        cost, small.row_to_col, small.u, small.v, maximize=maximize, unmatched_cost=price
    )
    if price is None:
        rows, cols = lw.linear_sum_assignment(cost, maximize)
        assert cost[rows, cols].sum() == pytest.approx(flow.objective, rel=1e-12 if cost.dtype.itemsize == 8 else 1e-5)


@pytest.mark.parametrize("problem", ["invalid", "infeasible", "large"])
def test_what_the_flow_answers_of_so_many_rows(problem):
    cost = np.random.default_rng(4).random((400, 400))
    where = {"invalid": (7, 9), "infeasible": 7, "large": cost > 0.5}[problem]
    cost[where] = {"invalid": np.nan, "infeasible": np.inf, "large": 1e12}[problem]
    assert solve_small(cost, False, None, True) is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer on this system")
@pytest.mark.parametrize("call", [lw.linear_sum_assignment, lw.solve])
def test_an_exception_of_a_signal_ends_the_solve(call):
    class TimeIsUpError(Exception):
        pass

    def stop(*_):
        raise TimeIsUpError

    cost = np.random.default_rng(5).random((1000, 1)) * np.random.default_rng(6).random((1, 1000))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(TimeIsUpError):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            for _ in range(10_000):
                call(cost)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("cost", "options"),
    [
        ([[1.0]], {}),
        (np.ones((2, 2), bool), {}),
        (np.ones((2, 2), ">f8"), {}),
        (np.ma.masked_array(np.ones((2, 2))), {}),
        (np.ones((0, 3)), {}),
        (np.ones(3), {}),
        (np.full((2, 2), np.inf), {}),
        (np.array([[1, np.nan], [1, 2]]), {}),
        (np.ones((300, 4000)), {}),
        (np.ones((1025, 1030)), {}),
        (np.ones((2, 2)), {"price": np.inf}),
        (np.ones((2, 2)), {"price": np.nan}),
        (np.ones((2, 2)), {"price": 10**400}),
        (np.ones((2, 2)), {"price": True}),
        (np.ones((2, 2)), {"price": np.ones(2)}),
        (np.ones((2, 2), np.int64), {"price": 0.5}),
        (np.ones((2, 2), np.int64), {"price": 10**16}),
        (np.full((2, 2), 2**62), {}),
        (np.full((2, 2), 1e308), {}),
        (np.ones((2, 2)), {"maximize": 1}),
        (np.ones((2, 2)), {"certify": 1}),
        (np.ones((2, 2)), {"threads": 2}),
        (np.ones((2, 2)), {"threads": True}),
    ],
)
def test_what_wants_a_closer_look(cost, options):
    options = {"maximize": False, "price": None, "certify": True, "threads": None} | options
    assert solve_small(cost, *options.values()) is None


def test_an_answer_keeps_no_view_of_the_costs():
    cost = np.random.default_rng(1).random((7, 9))
    result = lw.solve(cost)
    pairs = result.row_ind.copy(), result.col_ind.copy()
    assert np.shares_memory(result.u, cost) is False
    assert result.is_unique() and (result.pair_costs == cost[pairs]).all()


def test_many_threads_solve_small_problems():
    costs = np.random.default_rng(2).random((8, 80, 90))
    wanted = [lw.solve(cost, **FLOW).objective for cost in costs]
    found: list[list[float]] = [[] for _ in range(4)]

    def work(objectives: list[float]) -> None:
        objectives += [lw.solve(cost).objective for cost in costs]

    threads = [threading.Thread(target=work, args=(objectives,)) for objectives in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(objectives == wanted for objectives in found)


@pytest.mark.parametrize("certify", [False, True])
def test_results_have_every_field(certify):
    """They are made without the constructors of their classes."""
    small = lw.solve(np.eye(3), certify=certify)
    usual = lw.solve(np.eye(3), certify=certify, time_limit=9)
    assert type(small) is type(usual)
    for made, other in ((small, usual), *([(small.certificate, usual.certificate)] if certify else [])):
        for field in fields(other):
            if field.name != "_costs":
                assert type(getattr(made, field.name)) is type(getattr(other, field.name)), field.name
        assert vars(made).keys() <= {field.name for field in fields(other)} | {"row_ind", "col_ind"}
