"""One large number in place of forbidden pairs, some of which are needed: digits of the other costs are kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.everyday import changing_frames
from benchmarks.everyday import groups as groups_apart
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from lapwing import _core


def frames(n, seed, large, share=0.1):
    """Points of which many have several others within the gate."""
    return changing_frames(np.random.default_rng(seed), n, large, gate=1.0, share=share)


def groups(n, seed, large):
    return groups_apart(np.random.default_rng(seed), n, large)


def assert_right(cost, large, maximize=False):
    """The pairs are those that a moderate number gives: SciPy tells these apart in float64."""
    moderate = np.where(cost == large, 4.0 * len(cost), cost)
    rows, cols = linear_sum_assignment(moderate)
    needed = int((cost[rows, cols] == large).sum())
    small = moderate[rows, cols].sum() - needed * 4.0 * len(cost)
    given = -cost if maximize else cost
    result = lw.solve(given, maximize=maximize)
    for chosen in (
        cost[np.arange(len(cost)), result.row_to_col],
        cost[lw.linear_sum_assignment(given, maximize)],
    ):
        assert (chosen == large).sum() == needed
        assert chosen[chosen != large].sum() == pytest.approx(small, rel=1e-6 if large <= 1e9 else 1e-9)
    assert result.certificate.bound <= len(cost) * 2.0**-52 * abs(result.objective)
    return result


@pytest.mark.parametrize("large", [1e5, 1e7, 1e12, 1e18])
@pytest.mark.parametrize("n", [420, 1100])
@pytest.mark.parametrize("maximize", [False, True])
def test_points_that_come_and_go(n, large, maximize):
    assert_right(frames(n, n, large), large, maximize)


@pytest.mark.parametrize("large", [1e6, 1e9])
@pytest.mark.parametrize("n", [420, 1100])
def test_groups_that_are_not_equally_many(n, large):
    assert_right(groups(n, n, large), large)


@pytest.mark.parametrize("make", [frames, groups])
@pytest.mark.parametrize("n", [20, 60, 200, 420])
@pytest.mark.parametrize("large", [1e12, 1e15, 1e18, 1e30])
@pytest.mark.parametrize("seed", range(4))
def test_small_costs_beside_numbers_that_round_them_away(make, n, large, seed):
    assert_right(make(n, seed, large), large)


@pytest.mark.parametrize("shape", [(400, 500), (500, 400), (1100, 1200), (1200, 1100)])
def test_rectangles(shape):
    cost = frames(max(shape), 1, 1e6)[: shape[0], : shape[1]]
    for costs in (cost, np.asfortranarray(cost), cost.astype(np.float32)):
        result = lw.solve(costs)
        best = costs[linear_sum_assignment(costs)].sum(dtype=np.float64)
        assert result.objective == pytest.approx(best, rel=1e-12)
        assert costs[lw.linear_sum_assignment(costs)].sum(dtype=np.float64) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("n", [420, 1100])
def test_large_costs_that_differ(n):
    rng = np.random.default_rng(n)
    cost = np.where(groups(n, n, 1.0) == 1, 1e6 * (1 + rng.random((n, n))), rng.random((n, n)))
    assert lw.solve(cost).objective == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(2, 3) | st.integers(2, 40),
    st.integers(0, 1000),
    st.floats(0.2, 1),
    st.sampled_from([1.5, 3, 100]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_large_costs_of_which_some_are_equal(n, seed, share, most, whole, maximize, dtype):
    rng = np.random.default_rng(seed)
    large = rng.uniform(1, most, (n, n))
    if whole:
        large = np.ceil(large)
    large[rng.random((n, n)) < 0.5] = 1
    cost = np.where(rng.random((n, n)) < share, large, rng.random((n, n)) * 1e-20).astype(dtype)
    given_cost = -cost if maximize else cost
    best = cost[linear_sum_assignment(cost)].astype(float).sum()
    result = lw.solve(given_cost, maximize=maximize)
    assert result.certificate.bound <= n * 2.0**-52 * abs(result.objective)
    for cols in (result.row_to_col, lw.solve(given_cost, maximize=maximize, certify=False).row_to_col):
        assert cost[np.arange(n), cols].astype(float).sum() == pytest.approx(best, rel=1e-14)


def penalised(n, seed, penalty, classes=5):
    """Whole numbers of 2^-10, and a penalty where classes differ; of some classes there are more rows than columns."""
    rng = np.random.default_rng(seed)
    own, other = rng.integers(classes, size=(2, n))
    small = rng.integers(0, 1024, (n, n))
    differ = (own[:, None] != other).astype(np.int64)
    return small, differ, small / 1024 + penalty * differ


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 40) | st.sampled_from([130, 420, 1100]),
    st.integers(0, 1000),
    st.sampled_from([2**k for k in (10, 27, 30, 38, 40)]),
    st.booleans(),
    st.booleans(),
)
def test_penalties_beside_which_digits_of_duals_are_lost(n, seed, penalty, maximize, by_columns):
    """The same problem in integers says what is right to the last digit."""
    small, differ, cost = penalised(n, seed, penalty)
    whole = small + differ * (penalty * 1024)
    best = lw.solve(whole).objective
    if by_columns:
        cost = np.asfortranarray(cost)
    given_cost = -cost if maximize else cost
    result = lw.solve(given_cost, maximize=maximize)
    assert result.certificate.bound <= n * 2.0**-52 * abs(result.objective)
    for cols in (result.row_to_col, lw.solve(given_cost, maximize=maximize, certify=False).row_to_col):
        assert whole[np.arange(n), cols].sum() == best


@pytest.mark.parametrize("n", [30, 300, 1100])
@pytest.mark.parametrize("penalty", [1e12, 1e17, 1e30, 1e200])
@pytest.mark.parametrize("method", ["auto", "core", "jv", "ssp"])
def test_penalties_of_any_size_that_differ(n, penalty, method):
    rng = np.random.default_rng(n)
    _, differ, _ = penalised(n, n, 1.0)
    cost = np.where(differ > 0, penalty * (1 + rng.random((n, n))), rng.random((n, n)))
    result = lw.solve(cost, method=method)
    chosen = cost[np.arange(n), result.row_to_col]
    moderate = np.where(differ > 0, 1e6 * cost / penalty, cost)
    want = moderate[linear_sum_assignment(moderate)]
    assert (chosen >= penalty).sum() == (want >= 1e6).sum()
    assert chosen[chosen >= penalty].sum() == pytest.approx(want[want >= 1e6].sum() * (penalty / 1e6), rel=1e-9)


def test_refinement_takes_square_problems():
    cost, zeros = np.ones((3, 4)), np.zeros((1, 4))
    with pytest.raises(ValueError, match="square"):
        _core.refine(cost, False, zeros, zeros, np.arange(4), 1, 1.0, None)
    with pytest.raises(ValueError, match="all rows"):
        _core.refine(np.ones((4, 4)), False, zeros, zeros, np.arange(3), 1, 1.0, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_refined_duals(dtype, threads):
    """From duals with errors: what is added to them proves an optimum of the costs to the last digit."""
    n = 300
    rng = np.random.default_rng(4)
    cost = (rng.random((n, n)) + 2.0**20 * (rng.integers(3, size=n)[:, None] != rng.integers(3, size=n))).astype(dtype)
    exact = lw.solve(cost)
    u, v = (d + rng.uniform(-1e-3, 1e-3, n) for d in (exact.u, exact.v))
    raw = _core.refine(cost, False, u[None], v[None], exact.row_to_col, threads, 10.0, None)
    assert np.abs(raw["u"]).max() < 0.1 and np.abs(raw["v"]).max() < 0.1
    proof = lw.certify(cost, raw["row_to_col"].view(np.int64), np.stack([u, raw["u"]]), np.stack([v, raw["v"]]))
    assert proof.bound <= n * 2.0**-52


def test_invalid_costs_beside_large_ones():
    cost = frames(420, 0, 1e6)
    cost[7, 9] = np.nan
    with pytest.raises(lw.InvalidCostError, match="7"):
        lw.solve(cost)


@settings(max_examples=60, deadline=None)
@given(st.integers(33, 90), st.integers(0, 1000), st.sampled_from([1e6, 1e10, 1e15]), st.floats(0, 1), st.booleans())
def test_the_multiples_of_a_capped_answer_prove_it(n, seed, large, lost, whole):
    cost = frames(n, seed, large, lost)
    if whole:
        cost = np.where(cost == large, large, np.rint(1000 * cost))
    raw = _core.solve_capped(cost, False, 10.0, None)
    if raw is None:
        return
    u, v, row_to_col = raw["u"], raw["v"], raw["row_to_col"].view(np.int64)
    assert sorted(row_to_col) == list(range(n))
    scale = cost[cost != large].max(initial=0)
    multiples = (u[0] / large)[:, None] + (v[0] / large)[None]
    rest = np.where(cost == large, 0, cost) - u[1][:, None] - v[1][None]
    slack = (cost == large) - multiples
    assert (slack >= 0).all()
    assert (rest[slack == 0] >= -1e-9 * scale).all()
    assert (slack[np.arange(n), row_to_col] == 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(0, 1000), st.integers(2, 3), st.booleans())
def test_a_certificate_of_several_parts_tells_every_sign(n, seed, parts, maximize):
    """Against fractions, with ties and violations far below an ulp of the first parts."""
    rng = np.random.default_rng(seed)
    scales = np.array([1e12, 1.0, 1e-20])[:parts, None]
    u, v = (rng.integers(-2, 3, (parts, n)) * scales for _ in range(2))
    of_rows, of_cols = ([sum(map(Fraction, line), Fraction(0)) for line in duals.T] for duals in (u, v))
    cost = np.array([[float(a + b) for b in of_cols] for a in of_rows]) + rng.choice([0.0, 1.0, 1e-3], (n, n))
    worst = max(of_rows[i] + of_cols[j] - Fraction(cost[i, j]) for i in range(n) for j in range(n))
    given_cost = -cost if maximize else cost
    raw = _core.certify(given_cost, maximize, None, None, np.arange(n), u.ravel(), v.ravel(), parts, 1, None)
    assert raw["violation"] == pytest.approx(float(max(worst, 0)), rel=1e-15)
    assert (raw["violation"] > 0) == (worst > 0)
