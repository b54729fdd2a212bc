"""Names of other libraries: their results and corner cases, against the libraries where they are installed."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.csgraph as csgraph
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.compat import lap, lapjv, lapsolver, munkres, ortools, ot
from lapwing.compat import scipy as compat_scipy


def least(cost, count=None):
    """The least sum of finite costs of as many pairs as there can be, by enumeration; and their number."""
    if cost.shape[0] > cost.shape[1]:
        return least(cost.T)
    m, n = cost.shape
    found = {}
    for cols in itertools.product([-1, *range(n)], repeat=m):
        used = [(i, j) for i, j in enumerate(cols) if j >= 0]
        if len({j for _, j in used}) == len(used) and all(np.isfinite(cost[pair]) for pair in used):
            total = sum(cost[pair] for pair in used)
            found[len(used)] = min(total, found.get(len(used), math.inf))
    return max(found), found[max(found)]


def forbidding(m, n, seed, share):
    rng = np.random.default_rng(seed)
    cost = rng.integers(-9, 10, (m, n)).astype(float)
    cost[rng.random((m, n)) < share] = rng.choice([np.inf, np.nan])
    return cost


def is_matching(x, y):
    rows = np.flatnonzero(x >= 0)
    return (y[x[rows]] == rows).all() and (y >= 0).sum() == len(rows)


@settings(max_examples=100)
@given(m=st.integers(1, 4), n=st.integers(1, 4), seed=st.integers(0, 2**32), share=st.sampled_from([0, 0.3, 0.7, 1]))
def test_as_many_pairs_as_there_can_be(m, n, seed, share):
    cost = forbidding(m, n, seed, share)
    count, total = least(cost)
    rows, cols = lapsolver.solve_dense(cost)
    assert len(rows) == count and math.fsum(cost[rows, cols]) == total
    found, rows, cols = lap.lapjvc(cost)
    assert len(rows) == count and found == total and rows.dtype == cols.dtype == np.int32


@settings(max_examples=100)
@given(
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    limit=st.sampled_from([0.2, 0.5, 3.0, np.inf]),
    dtype=st.sampled_from([np.float64, np.float32, np.int64, np.float16]),
    seed=st.integers(0, 2**32),
)
def test_lapjv_with_a_limit(m, n, limit, dtype, seed):
    cost = (np.random.default_rng(seed).random((m, n)) * (5 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)
    total, x, y = lap.lapjv(cost, extend_cost=True, cost_limit=limit)
    assert x.dtype == y.dtype == np.int32 and x.shape == (m,) and y.shape == (n,) and is_matching(x, y)
    expected = lw.solve(cost, unmatched_cost=None if limit == np.inf else limit)
    free = 0 if limit == np.inf else limit * (x < 0).sum()
    assert expected.certificate.bound < 1e-12 and total + free == pytest.approx(float(expected.objective), abs=1e-12)
    rows = np.flatnonzero(x >= 0)
    assert total == pytest.approx(float(cost[rows, x[rows]].astype(np.float64).sum()), abs=1e-12)


def test_lapjv_against_lap():
    peer = pytest.importorskip("lap")
    rng = np.random.default_rng(0)
    for m, n, limit in ((1, 1, 0.5), (10, 12, 0.1), (12, 10, 0.3), (60, 60, np.inf), (400, 410, 0.002)):
        cost = rng.random((m, n))
        ours, theirs = (f(cost, extend_cost=True, cost_limit=limit) for f in (lap.lapjv, peer.lapjv))
        assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(ours[1:], theirs[1:], strict=True))


def test_lap_corner_cases():
    cost = np.array([[1.0, np.inf, 2.0], [np.inf] * 3, [0.0, 5.0, 9.0]])
    total, x, y = lap.lapjv(cost)
    assert total == np.inf and sorted(x) == sorted(y) == [0, 1, 2] and is_matching(x, y)
    assert lap.lapjv(np.eye(2), return_cost=False)[0].tolist() == [1, 0]
    for call, words in (
        (lambda: lap.lapjv(np.ones((2, 3))), "Square cost array expected"),
        (lambda: lap.lapjvx(np.ones((2, 3))), "Square cost array expected"),
        (lambda: lap.lapjv(np.ones(3)), "2-dimensional array expected"),
        (lambda: lap.lapjvs(cost), "infeasible"),
        (lambda: lap.lapjvr(cost), "infeasible"),
        (lambda: lap.lapmod(1, [np.inf], [0, 1], [0]), "finite costs"),
        (lambda: lap.lapjvx_batch(cost), "3-dimensional array"),
        (lambda: lap.lapjvr(np.eye(2), output="both"), "output must be"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    total, x, y = lap.lapmod(3, [1.0, 2.0, 0.0, 5.0], [0, 2, 2, 4], [0, 2, 0, 1])
    assert total == np.inf and sorted(x) == [0, 1, 2]


def test_all_of_lapx():
    costs = np.random.default_rng(1).random((4, 5, 7))
    for cost in costs:
        rows, cols = scipy.optimize.linear_sum_assignment(cost)
        total, pairs = cost[rows, cols].sum(), np.stack((rows, cols), 1)
        for found in (lap.lapjvx(cost, True), lap.lapjvs(cost), lap.lapjvr(cost, True), lap.lapjvc(cost)):
            assert found[0] == pytest.approx(total) and np.array_equal(np.stack(found[1:], 1), pairs)
        for found in (lap.lapjvxa(cost, True), lap.lapjvsa(cost), lap.lapjvh(cost, True, output="pairs")):
            assert found[0] == pytest.approx(total) and np.array_equal(found[1], pairs)
        assert np.array_equal(lap.lapjvsa(cost, return_cost=False), pairs)
        assert lap.lapjvs(cost, jvx_like=False)[1].tolist() == cols.tolist()
    for batch in (lap.lapjvx_batch, lap.lapjvs_batch, lap.lapjvr_batch, lap.lapjvh_batch):
        totals, rows, cols = batch(costs, extend_cost=True, n_threads=2)
        assert totals.shape == (4,) and np.array_equal(cols[2], scipy.optimize.linear_sum_assignment(costs[2])[1])
        assert len(batch(costs, extend_cost=True, return_cost=False)) == 2
        assert batch(costs[:0], return_cost=False) == ([], [])
    for batch in (lap.lapjvxa_batch, lap.lapjvsa_batch):
        assert batch(costs, extend_cost=True, return_cost=False)[0].shape == (5, 2)
    n, cc, ii, kk = 3, [1.0, 2, 3, 4], [0, 2, 3, 4], [0, 1, 1, 2]
    assert lap.lapmod(n, cc, ii, kk)[0] == 8
    assert lap.lapmod_batch([(n, cc, ii, kk)] * 2)[0].tolist() == [8, 8]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lapjv_package(dtype):
    cost = np.random.default_rng(2).random((30, 30)).astype(dtype)
    rows, cols, (total, u, v) = lapjv.lapjv(cost, verbose=True)
    expected = scipy.optimize.linear_sum_assignment(cost)
    assert rows.tolist() == expected[1].tolist() and cols[rows].tolist() == [*range(30)] and u.dtype == v.dtype == dtype
    assert total == pytest.approx(cost[expected].sum()) and u.sum() + v.sum() == pytest.approx(total, rel=1e-5)
    with pytest.raises(ValueError, match="square"):
        lapjv.lapjv(cost[:3])


def test_sums_beyond_float64_on_the_way():
    cost = np.full((3, 3), np.inf)
    np.fill_diagonal(cost, [1.5e308, 1.5e308, -1.5e308])
    assert lw.solve(cost).matched_cost == 1.5e308
    assert lapjv.lapjv(cost)[2][0] == lap.lapjv(cost)[0] == 1.5e308
    assert lapsolver.solve_dense(cost)[1].tolist() == [0, 1, 2]


def test_munkres():
    matrix = [[5, 9, 1], [10, 3, 2], [8, 7, 4]]
    assert munkres.Munkres().compute(matrix) == [(0, 0), (1, 1), (2, 2)]
    assert munkres.Munkres().compute([[400, 150, 400, 1], [400, 450, 600, 2]]) == [(0, 1), (1, 3)]
    assert munkres.Munkres().compute([]) == []
    allowed = [[5, munkres.DISALLOWED], [munkres.DISALLOWED, 1.5]]
    assert munkres.Munkres().compute(allowed) == [(0, 0), (1, 1)]
    with pytest.raises(munkres.UnsolvableMatrix):
        munkres.Munkres().compute([[5, munkres.DISALLOWED], [4, munkres.DISALLOWED]])
    assert munkres.make_cost_matrix([[1, munkres.DISALLOWED], [3, 2]]) == [[2, munkres.DISALLOWED], [0, 1]]
    assert munkres.make_cost_matrix([[1, 2]], lambda profit: -profit) == [[-1, -2]]
    assert len(munkres.Munkres().compute([[1, 2, 3], [4, 5], [6]])) == 3


def test_print_matrix(capsys):
    munkres.print_matrix([[1, 20]], "costs:")
    assert capsys.readouterr().out == "costs:\n[ 1, 20]\n"


def test_ortools():
    problem = ortools.SimpleLinearSumAssignment()
    assert problem.solve() == problem.OPTIMAL and problem.optimal_cost() == 0
    assert problem.add_arc_with_cost(0, 1, 7) == 0
    assert problem.add_arcs_with_cost([0, 1, 0], [1, 0, 0], [5, 4, 1]).tolist() == [1, 2, 3]
    assert problem.solve() == problem.OPTIMAL and problem.optimal_cost() == 9  # of parallel arcs the cheaper
    assert (problem.right_mate(0), problem.assignment_cost(1), problem.num_nodes(), problem.num_arcs()) == (1, 4, 2, 4)
    assert (problem.left_node(1), problem.right_node(1), problem.cost(1)) == (0, 1, 5)
    problem.add_arc_with_cost(2, 0, 1)
    assert problem.solve() == problem.Status.INFEASIBLE
    overflowing = ortools.SimpleLinearSumAssignment()
    overflowing.add_arcs_with_cost([0, 1], [0, 1], [2**62, 2**62])
    assert overflowing.solve() == problem.POSSIBLE_OVERFLOW


@pytest.mark.parametrize("shape", [(6, 6), (4, 6), (6, 4), (3, 7)])
def test_ot(shape):
    costs = np.random.default_rng(3).random(shape)
    plan, log = ot.emd([], np.full(shape[1], 1 / shape[1]), costs, log=True)
    assert plan.sum(1) == pytest.approx(1 / shape[0]) and plan.sum(0) == pytest.approx(1 / shape[1])
    assert (costs - log["u"][:, None] - log["v"] >= -1e-12).all()
    assert log["u"].mean() + log["v"].mean() == pytest.approx(log["cost"]) and log["cost"] == (plan * costs).sum()
    with pytest.raises(lw.ArgumentError, match="not uniform"):
        ot.emd(np.arange(shape[0]), [], costs)
    for weight in (np.inf, -0.5):
        with pytest.raises(lw.ArgumentError, match="positive"):
            ot.emd(np.full(shape[0], weight), np.full(shape[1], weight), costs)
    with pytest.raises(lw.ArgumentError, match="copies"):
        ot.emd([], [], np.zeros((1009, 1013)))


def test_patch_scipy(monkeypatch):
    module = type(sys)("a_users_module")
    original = module.assign = scipy.optimize.linear_sum_assignment
    monkeypatch.setitem(sys.modules, "a_users_module", module)
    restore = compat_scipy.patch_scipy()
    assert module.assign is scipy.optimize.linear_sum_assignment is lw.linear_sum_assignment
    restore()
    assert module.assign is scipy.optimize.linear_sum_assignment is original


def test_patch_scipy_for_sparse_matrices(monkeypatch):
    module = type(sys)("a_users_module")
    original = module.match = csgraph.min_weight_full_bipartite_matching
    monkeypatch.setitem(sys.modules, "a_users_module", module)
    restore = compat_scipy.patch_scipy()
    assert module.match is csgraph.min_weight_full_bipartite_matching is lw.min_weight_full_bipartite_matching
    assert compat_scipy.min_weight_full_bipartite_matching is lw.min_weight_full_bipartite_matching
    restore()
    assert module.match is csgraph.min_weight_full_bipartite_matching is original


def test_torch():
    torch = pytest.importorskip("torch")
    from lapwing.compat.torch_linear_assignment import assignment_to_indices, batch_linear_assignment

    cost = torch.rand(3, 4, 6)
    found = batch_linear_assignment(cost)
    assert found.dtype == torch.int64 and found.shape == (3, 4)
    rows, cols = assignment_to_indices(found)
    for b in range(3):
        expected = scipy.optimize.linear_sum_assignment(cost[b].numpy())
        assert rows[b].tolist() == expected[0].tolist() and cols[b].tolist() == expected[1].tolist()
    assert (batch_linear_assignment(cost.transpose(1, 2)) >= 0).sum() == 12
    with pytest.raises(ValueError, match="3-dimensional"):
        batch_linear_assignment(cost[0])
    with pytest.raises(ValueError, match="Inconsistent"):
        assignment_to_indices(torch.tensor([[0, -1], [0, 1]]))
    assert assignment_to_indices(torch.zeros((0, 4), dtype=torch.int64))[0].shape == (0, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64])
def test_lapjv_matches_pairs_at_the_limit(dtype):
    assert lap.lapjv(np.array([[1]], dtype), cost_limit=1.0)[0] == 1.0
    rng = np.random.default_rng(0)
    for _ in range(300):
        m, n = rng.integers(1, 7, 2)
        cost = rng.integers(0, 4, (m, n)).astype(dtype)
        total, row_to_col, col_to_row = lap.lapjv(cost, extend_cost=True, cost_limit=2.0)
        most = lw.solve(cost, unmatched_cost=2)  # one of two lines that a pair joins pays the limit
        assert total + 2.0 * (row_to_col < 0).sum() == most.objective
        assert (row_to_col >= 0).sum() == (col_to_row >= 0).sum() == len(most.pairs)


def test_munkres_of_large_integers_and_fractions():
    with pytest.raises(lw.RangeError, match="one dtype must hold all"):
        munkres.Munkres().compute([[2**63, 2**63 + 3], [-1, -1]])
    with pytest.raises(lw.RangeError, match="beyond 64 bits"):
        munkres.Munkres().compute([[10**30, 1], [2, 3]])
    assert munkres.Munkres().compute([[Fraction(1, 3), 1], [2, 3]]) == [(0, 1), (1, 0)]


def test_ot_of_forbidden_pairs_and_of_nothing():
    plan, log = ot.emd([], [], np.array([[1, np.inf], [np.inf, 2]]), log=True)
    assert log["cost"] == 1.5 and plan.tolist() == [[0.5, 0], [0, 0.5]]
    for costs in (np.zeros((0, 3)), None, [1.0, 2.0]):
        with pytest.raises(lw.ArgumentError, match="M "):
            ot.emd([], [], costs)
