"""``infeasible="partial"``: as many pairs as possible, at the least cost among these, proven."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from lapwing.errors import ArgumentError, DtypeError, InfeasibleError, RangeError
from support.checks import ALL_METHODS

_LARGE = 1e6  # more than all costs below together


def largest_by_scipy(cost, maximize=False):
    """The number of pairs and the objective: forbidden pairs cost more than all others."""
    signed = -cost if maximize else cost
    padded = np.where(np.isinf(signed), _LARGE, signed)
    rows, cols = linear_sum_assignment(padded)
    kept = np.isfinite(cost[rows, cols])
    return int(kept.sum()), float(cost[rows, cols][kept].sum())


def by_hand(cost, of_rows, of_cols):
    """The fewest required lines left free, and the least cost with so few, over all matchings."""
    best = None
    m, n = cost.shape
    for chosen in itertools.product(range(-1, n), repeat=m):
        taken = [j for j in chosen if j >= 0]
        if len(set(taken)) < len(taken) or any(np.isinf(cost[i, j]) for i, j in enumerate(chosen) if j >= 0):
            continue
        prices = [of_rows[i] for i in range(m) if chosen[i] < 0] + [of_cols[j] for j in range(n) if j not in taken]
        short = sum(map(np.isinf, prices))
        total = sum(cost[i, j] for i, j in enumerate(chosen) if j >= 0) + sum(p for p in prices if np.isfinite(p))
        best = (short, total) if best is None else min(best, (short, total))
    return best


def assert_proven(cost, result, **options):
    """The certificate proves the answer, when it is asked anew, too."""
    for proof in (result.certificate, lw.certify(cost, result.row_to_col, result.u, result.v, **options)):
        assert proof.exact and proof.fault is None and proof.gap == 0 and proof.violation == 0
        assert proof.primal == result.objective == result.lower_bound
    again = lw.solve(cost, certify=False, **options)
    assert again.objective == result.objective and again.status == result.status


@st.composite
def gated(draw, most=7):
    """Small whole costs, many pairs forbidden."""
    m, n = draw(st.integers(0, most)), draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cost = rng.integers(-3, 6, (m, n)).astype(np.float64)
    cost[rng.random((m, n)) < draw(st.floats(0, 1))] = np.inf
    return cost


@given(gated(), st.booleans(), st.sampled_from(["C", "F"]), st.sampled_from([np.float32, np.float64]))
def test_dense(cost, maximize, order, dtype):
    cost = np.asarray(-cost if maximize else cost, dtype, order=order)
    options = {"maximize": maximize, "infeasible": "partial"}
    result = lw.solve(cost, **options)
    assert (len(result.pairs), result.objective) == largest_by_scipy(cost, maximize)
    assert result.status == ("optimal" if len(result.pairs) == min(cost.shape) else "partial")
    assert_proven(cost, result, **options)


@given(gated(), st.sampled_from(["csr", "csc", "coo"]), st.booleans())
def test_sparse_integers_stay_integers(cost, kind, maximize):
    cost = -cost if maximize else cost
    row, col = np.nonzero(np.isfinite(cost))
    pairs = scipy.sparse.coo_array((cost[row, col].astype(np.int64), (row, col)), cost.shape).asformat(kind)
    result = lw.solve(pairs, maximize=maximize, infeasible="partial")
    assert isinstance(result.objective, int)
    assert (len(result.pairs), result.objective) == largest_by_scipy(cost, maximize)
    assert_proven(pairs, result, maximize=maximize, infeasible="partial")


@given(gated(4), st.data())
def test_with_prices_as_many_as_possible_of_those_that_must_be_matched(cost, data):
    price = st.sampled_from([0.0, 1.0, 2.0, np.inf])
    of_rows, of_cols = (np.array(data.draw(st.lists(price, min_size=k, max_size=k)), float) for k in cost.shape)
    options = {"unmatched_cost": (of_rows, of_cols), "infeasible": "partial"}
    result = lw.solve(cost, **options)
    short, total = by_hand(cost, of_rows, of_cols)
    free = np.isinf(of_rows[result.free_rows]).sum() + np.isinf(of_cols[result.free_cols]).sum()
    assert (free, result.objective) == (short, total)
    assert (result.status == "partial") == (short > 0)
    assert_proven(cost, result, **options)


@given(gated(), st.booleans())
def test_the_shortages_prove_that_there_are_no_more_pairs(cost, tall):
    cost = cost.T if tall else cost
    result = lw.solve(cost, infeasible="partial")
    for one in result.certificate.shortages:
        assert one.count == min(cost.shape) - len(result.pairs)
        lines, across = (one.cols, one.rows) if one.of_cols else (one.rows, one.cols)
        matrix = cost.T if one.of_cols else cost
        assert len(lines) == len(across) + one.count
        assert np.isinf(np.delete(matrix[lines], across, axis=1)).all()
        assert "must stay free" in str(result.certificate)


@given(st.lists(gated(5), max_size=5), st.booleans())
def test_a_batch_is_its_problems(costs, certify):
    batch = lw.solve_batch(costs, infeasible="partial", certify=certify, duals=True)
    for b, cost in enumerate(costs):
        alone = lw.solve(cost, infeasible="partial")
        assert batch.objective[b] == alone.objective and len(batch[b].pairs) == len(alone.pairs)
        assert batch.status[b] == (6 if alone.status == "partial" else 0)
        assert not certify or batch.certificates[b].exact


def test_a_batch_in_one_array_raises_for_other_faults_only():
    costs = np.zeros((3, 2, 2))
    costs[1, :, 0] = np.inf
    batch = lw.solve_batch(costs, infeasible="partial")
    assert batch.status.tolist() == [0, 6, 0] and batch[1].free_cols.tolist() == [0]
    costs[2, 0, 0] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[0, 0\] is nan"):
        lw.solve_batch(costs, infeasible="partial")
    assert lw.solve_batch(costs, infeasible="partial", check=False).status.tolist() == [0, 6, 2]


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0, 3), (3, 0), (0, 0)])
def test_all_pairs_forbidden(shape):
    result = lw.solve(np.full(shape, np.inf), infeasible="partial")
    assert len(result.pairs) == 0 and result.objective == 0 and result.certificate.exact


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("shape", [(40, 40), (30, 50), (50, 30)])
def test_every_method(method, shape):
    rng = np.random.default_rng(shape[0])
    cost = np.where(rng.random(shape) < 0.03, rng.integers(0, 50, shape), np.inf)
    result = lw.solve(cost, method=method, infeasible="partial")
    assert (len(result.pairs), result.objective) == largest_by_scipy(cost) and result.status == "partial"
    assert_proven(cost, result, infeasible="partial")


def test_stops_and_goes_on(tmp_path):
    rng = np.random.default_rng(9)
    cost = np.where(rng.random((200, 200)) < 0.006, rng.random((200, 200)), np.inf)
    whole = lw.solve(cost, infeasible="partial", progress=lambda _: None)
    for options in ({"checkpoint": tmp_path / "a.npz"}, {"checkpoint": tmp_path / "a.npz"}, {"start": whole}):
        again = lw.solve(cost, infeasible="partial", **options)
        assert again.status == "partial" and again.objective == pytest.approx(whole.objective, rel=1e-12)


def test_larger_against_scipy():
    rng = np.random.default_rng(3)
    for m, n, share in [(300, 300, 0.003), (200, 400, 0.002), (400, 150, 0.01)]:
        cost = np.where(rng.random((m, n)) < share, rng.integers(0, 1000, (m, n)), np.inf)
        result = lw.solve(cost, infeasible="partial")
        assert (len(result.pairs), result.objective) == largest_by_scipy(cost)
        assert_proven(cost, result, infeasible="partial")


def test_fractions_are_proven_up_to_rounding():
    rng = np.random.default_rng(4)
    cost = np.where(rng.random((80, 90)) < 0.02, rng.random((80, 90)), np.inf)
    result = lw.solve(cost, infeasible="partial")
    pairs, total = largest_by_scipy(cost)
    assert len(result.pairs) == pairs and result.objective == pytest.approx(total, abs=1e-8)
    assert result.certificate.complete and result.certificate.bound <= 1e-12


def test_points_formulas_and_callbacks():
    rng = np.random.default_rng(5)
    x = rng.random((30, 2))
    formula = lw.costs.expression("where(abs(x0 - y0) < 0.02, abs(x0 - y0), inf)", x[:, :1], rng.random((40, 1)))
    rows = lw.costs.rows(lambda i, j: np.asarray(formula)[i:j], formula.shape, np.float64)
    wanted = largest_by_scipy(np.asarray(formula))
    for source in (formula, rows):
        result = lw.solve(source, infeasible="partial")
        assert len(result.pairs) == wanted[0] and result.objective == pytest.approx(wanted[1], abs=1e-8)


def test_unique_or_not():
    assert lw.solve([[1, np.inf], [2, np.inf]], infeasible="partial").is_unique()
    assert not lw.solve([[1, np.inf], [1, np.inf]], infeasible="partial").is_unique()


def test_certify_tells_what_is_not_the_least_cost_or_has_too_few_pairs():
    cost = np.array([[1.0, np.inf], [2.0, np.inf]])
    result = lw.solve(cost, infeasible="partial")
    worse = lw.certify(cost, [-1, 0], result.u, result.v, infeasible="partial")
    assert worse.complete and not worse.exact and worse.bound >= 1
    fewer = lw.certify(cost, [-1, -1], result.u, result.v, infeasible="partial")
    assert not fewer.complete and not fewer.exact
    assert lw.certify(cost, [0, -1], infeasible="partial").exact
    assert lw.certify(cost, [1, 0], result.u, result.v, infeasible="partial").fault is not None


def test_the_option_is_checked():
    with pytest.raises(ArgumentError, match="infeasible must be 'raise' or 'partial', got 'ignore'"):
        lw.solve([[1.0]], infeasible="ignore")
    with pytest.raises(DtypeError, match="infeasible must be 'raise' or 'partial', got True"):
        lw.solve([[1.0]], infeasible=True)
    with pytest.raises(InfeasibleError, match="infeasible='partial'"):
        lw.solve([[np.inf]])


def test_an_objective_out_of_range():
    inf, most = np.inf, 1e308
    cost = [[inf, inf, most, inf], [inf, -most, inf, inf], [inf] * 4, [inf, inf, -most, inf]]
    with pytest.raises(RangeError, match="out of the range of float64"):
        lw.solve(cost, infeasible="partial")
