"""The certificate catches a wrong assignment, a wrong dual and a wrong objective, whatever the method said."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing import _core
from lapwing.answer import Answer
from lapwing.cpu import exact
from lapwing.methods import METHODS
from support.checks import DTYPES

SHAPES = [(6, 6), (4, 9), (9, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["minimise", "maximise"])
def maximize(request):
    return request.param


@pytest.fixture(params=DTYPES, ids=lambda dtype: dtype.__name__)
def cost(request, shape):
    return (np.random.default_rng(3).random(shape) * 1000).astype(request.param)


def prove(cost, result, maximize, *, row_to_col=None, u=None, v=None):
    are_given = u is not None or v is not None or result.certificate.duals is None
    all_u, all_v = (result.u, result.v) if are_given else result.certificate.duals
    return lw.certify(
        cost,
        result.row_to_col if row_to_col is None else row_to_col,
        all_u if u is None else u,
        all_v if v is None else v,
        maximize=maximize,
    )


def test_the_right_answer(cost, maximize):
    result = lw.solve(cost, maximize=maximize)
    certificate = prove(cost, result, maximize)
    assert certificate == result.certificate
    assert certificate.complete and certificate.fault is None
    assert certificate.primal == result.objective
    assert certificate.bound <= 1e-9
    assert abs(certificate.optimum_bound - result.objective) <= 1e-9


def test_a_worse_assignment_has_a_gap(cost, maximize):
    result = lw.solve(cost, maximize=maximize)
    worse = result.row_to_col.copy()
    a, b = np.flatnonzero(worse >= 0)[:2]
    worse[[a, b]] = worse[[b, a]]
    certificate = prove(cost, result, maximize, row_to_col=worse)
    loss = abs(float(cost[a, worse[a]]) + cost[b, worse[b]] - cost[a, worse[b]] - cost[b, worse[a]])
    assert certificate.gap == pytest.approx(loss) and certificate.bound >= certificate.gap > 0
    assert not certificate.exact and certificate.fault is None


def test_a_wrong_dual_is_a_violation(cost, maximize):
    result = lw.solve(cost, maximize=maximize)
    for name in ("u", "v"):
        dual = getattr(result, name).copy()
        index = len(dual) // 2
        dual[index] += -5 if maximize else 5
        certificate = prove(cost, result, maximize, **{name: dual})
        assert certificate.violation > 0 and not certificate.exact
        assert certificate.violation_at is not None
        assert certificate.violation_at[0 if name == "u" else 1] == index
        assert certificate.gap < 0 <= certificate.bound
        other = dual.copy()
        other[index] -= -10 if maximize else 10
        assert prove(cost, result, maximize, **{name: other}).gap == pytest.approx(5)


def test_a_column_used_twice(cost, maximize):
    result = lw.solve(cost, maximize=maximize)
    wrong = result.row_to_col.copy()
    first, second = np.flatnonzero(wrong >= 0)[:2]
    wrong[second] = wrong[first]
    certificate = prove(cost, result, maximize, row_to_col=wrong)
    assert certificate.fault == f"column {wrong[first]} is assigned twice, the second time to row {second}"
    assert certificate.bound == math.inf and not certificate.exact and "invalid" in str(certificate)


@pytest.mark.parametrize("value", [-2, 100])
def test_a_column_that_does_not_exist(cost, maximize, value):
    result = lw.solve(cost, maximize=maximize)
    wrong = result.row_to_col.copy()
    wrong[1] = value
    certificate = prove(cost, result, maximize, row_to_col=wrong)
    assert certificate.fault == "row 1 is assigned to a column that does not exist"
    assert certificate.bound == math.inf


def test_an_incomplete_assignment(cost, maximize):
    result = lw.solve(cost, maximize=maximize)
    partial = result.row_to_col.copy()
    partial[np.flatnonzero(partial >= 0)[0]] = -1
    certificate = prove(cost, result, maximize, row_to_col=partial)
    assert not certificate.complete and not certificate.exact and certificate.bound == math.inf
    assert "incomplete" in str(certificate)
    assert certificate.optimum_bound == pytest.approx(result.objective)


def test_a_forbidden_pair():
    certificate = lw.certify([[np.inf, 1.0], [1.0, 2.0]], [0, 1], [0, 0], [0, 0])
    assert certificate.fault == "row 0 is assigned to column 0, which is forbidden"
    tall = lw.certify([[1.0], [np.inf]], [-1, 0], [0, 0], [0])
    assert tall.fault == "row 1 is assigned to column 0, which is forbidden"


def test_prices_of_free_rows():
    cost, prices = np.array([[5.0, 9.0], [2.0, 8.0]]), np.array([1.0, 6.0])
    right = lw.certify(cost, [-1, 0], [1.0, 2.0], [0.0, 0.0], unmatched_cost=prices)
    assert right.exact and right.primal == 3.0
    too_much = lw.certify(cost, [-1, 0], [1.5, 2.0], [0.0, 0.0], unmatched_cost=prices)
    assert too_much.violation == 0.5 and too_much.violation_at == (0, -1)
    positive = lw.certify(cost, [-1, 0], [1.0, 2.0], [0.0, 0.25], unmatched_cost=prices)
    assert positive.violation == 0.25 and positive.violation_at == (-1, 1)


def test_any_finite_duals_prove_a_bound():
    rng = np.random.default_rng(0)
    cost = rng.random((30, 30))
    optimum = lw.solve(cost).objective
    for _ in range(20):
        u, v = rng.normal(size=30), rng.normal(size=30)
        certificate = lw.certify(cost, np.arange(30), u, v)
        assert certificate.primal - optimum <= certificate.bound
        assert certificate.optimum_bound <= optimum
        assert lw.certify(-cost, np.arange(30), -u, -v, maximize=True).optimum_bound >= -optimum


def test_float_duals_of_integer_costs():
    cost = np.array([[1, 3], [2, 5]])
    assert lw.certify(cost, [1, 0], [1.5, 2.5], [-0.5, 1.5]).exact
    assert lw.certify(cost, [0, 1], [1.5, 2.5], [-0.5, 1.5]).gap == 1
    with pytest.raises(lw.RangeError, match=r"2\^53"):
        lw.certify(cost + 2**54, [1, 0], [1.5, 2.5], [-0.5, 1.5])


def test_a_cost_that_is_no_number():
    cost = np.eye(3)
    cost[2, 1] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[2, 1\] is nan"):
        lw.certify(cost, [0, 1, 2], np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], [0, 0, 0], [0, 0, 0]), r"row_to_col must have shape \(3,\).*got \(2,\)"),
        (([0.0, 1.0, 2.0], [0, 0, 0], [0, 0, 0]), "row_to_col must be integers, got dtype float64"),
        (([0, 1, 2], [0, 0], [0, 0, 0]), r"u must have shape \(3,\)"),
        (([0, 1, 2], [0, 0, 0], [0, 0, np.inf]), r"v\[2\] is not finite"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, words):
    with pytest.raises(lw.LapwingError, match=words):
        lw.certify(np.eye(3), *arguments)


def test_it_reads_for_people():
    exact = lw.solve(np.arange(9).reshape(3, 3)).certificate
    assert str(exact).startswith("optimal, proven exactly: objective 12, gap 0")
    loose = lw.certify([[0.0, 1.0], [1.0, 0.0]], [1, 0], [0.0, 0.0], [0.0, 0.0])
    assert str(loose) == "objective 2, at most 2 from the optimum: gap 2, worst dual violation 0 over all pairs"


# --- a method that errs is found out --------------------------------------------------------------


def corrupted(answer: Answer, what: str) -> Answer:
    row_to_col, u, v = answer.row_to_col.copy(), answer.u.copy(), answer.v.copy()
    if what == "assignment":
        row_to_col[[0, 1]] = row_to_col[[1, 0]]
    elif what == "duplicate":
        row_to_col[1] = row_to_col[0]
    elif what == "missing":
        row_to_col[0] = -1
    elif what == "feasible dual":
        u[0] -= 1
    else:
        v[0] += 1
    return Answer(answer.status, row_to_col, u, v, answer.statistics)


@pytest.mark.parametrize("what", ["assignment", "duplicate", "missing", "feasible dual", "infeasible dual"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", sorted(METHODS))
def test_solve_refuses_wrong_answers(monkeypatch, method, dtype, what):
    cost = np.random.default_rng(5).permutation(144).reshape(12, 12).astype(dtype)
    run = exact.run
    monkeypatch.setattr(exact, "run", lambda *arguments: corrupted(run(*arguments), what))
    with pytest.raises(lw.InternalError, match="report it"):
        lw.solve(cost, method=method)


@pytest.mark.parametrize(("rows", "cols"), [([0], []), ([0, 1], [1]), ([0], [1]), ([1, 0, 2], [0, 1])])
def test_solve_refuses_wrong_hall_violators(monkeypatch, rows, cols):
    cost = np.array([[np.inf, 1, 2, np.inf], [np.inf, 2, np.inf, 1], [1, 2, np.inf, np.inf], [1, 2, 3, 4]])
    raw = {"status": "infeasible", "hall_rows": np.array(rows), "hall_cols": np.array(cols, np.int64)}
    monkeypatch.setattr(_core, "solve", lambda *arguments: raw)
    with pytest.raises(lw.InternalError, match="without a proof"):
        lw.solve(cost, method="jv")


def test_the_objective_is_the_certificates(monkeypatch):
    """A method has no say in the objective: it is summed anew, with and without a certificate."""
    cost = np.random.default_rng(5).random((12, 12))
    expected = math.fsum(cost[np.arange(12), lw.solve(cost).row_to_col])
    assert lw.solve(cost).objective == lw.solve(cost, certify=False).objective == expected


def test_unsigned_claims_are_no_negative_numbers():
    with pytest.raises(lw.RangeError, match=r"certify: u\[0\] is 18446744073709551615, above the largest int64"):
        lw.certify([[2**59]], [0], np.array([2**64 - 1], np.uint64), [0])
    certificate = lw.certify([[1]], np.array([2**64 - 1], np.uint64), [0], [0], unmatched_cost=0)
    assert certificate.fault == "row 0 is assigned to a column that does not exist" and not certificate.exact
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    with pytest.raises(lw.ArgumentError, match=r"certify: v is masked at \(1,\)"):
        lw.certify(np.eye(2), [0, 1], [0.0, 0.0], masked)


@pytest.mark.parametrize("maximize", [False, True])
def test_what_the_duals_prove_is_rounded_in_the_safe_direction(maximize):
    """0.1 + 0.2 is no float64 number; what the certificate calls exact is their exact sum."""
    cost = np.array([[0.1, 9.0], [9.0, 0.2]]) * (-1 if maximize else 1)
    result = lw.solve(cost, maximize=maximize)
    optimum = Fraction(cost[0, 0]) + Fraction(cost[1, 1])
    assert result.certificate.exact and abs(result.lower_bound) < 0.1 + 0.2
    assert (Fraction(result.lower_bound) - optimum) * (-1 if maximize else 1) <= 0
    assert lw.solve(cost * 8, maximize=maximize).lower_bound == result.lower_bound * 8
    assert lw.solve([[1.5, 9.0], [9.0, 2.5]]).lower_bound == 4.0


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(-1074, 900)), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(-1, 1), st.integers(-1074, 900)), min_size=12, max_size=12),
)
def test_sums_are_rounded_once(costs, duals):
    """Of numbers of any magnitudes and both signs, which cancel or not."""
    x, u = (np.array([math.ldexp(*number) for number in numbers[: len(costs)]]) for numbers in (costs, duals))
    cost = np.full((len(x), len(x)), np.inf)
    np.fill_diagonal(cost, x)
    found = lw.certify(cost, np.arange(len(x)), u, np.zeros(len(x)))
    primal, dual = (sum(map(Fraction, map(float, numbers))) for numbers in (x, u))
    assert (found.primal, found.dual, found.gap) == (float(primal), float(dual), float(primal - dual))


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([3, 2**61, 2**62 - 1, 2**62, 2**63 - 1]))
def test_integers_of_any_size_are_summed_exactly(seed, maximize, size):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 5, 2)
    cost = rng.integers(-size, size, (m, n), endpoint=True)
    assignment = np.full(m, -1)
    rows = rng.permutation(m)[: min(m, n)]
    assignment[rows] = rng.permutation(n)[: len(rows)]
    most = int(rng.choice([3, size]))
    u, v = rng.integers(-most, most, m, endpoint=True), rng.integers(-most, most, n, endpoint=True)
    if m < n:
        v = np.maximum(v, 0) if maximize else np.minimum(v, 0)
    elif m > n:
        u = np.maximum(u, 0) if maximize else np.minimum(u, 0)
    proof = lw.certify(cost, assignment, u, v, maximize=maximize)
    c, x, y = cost.astype(object), u.astype(object), v.astype(object)
    sign = -1 if maximize else 1
    primal, dual = sum(c[i, assignment[i]] for i in rows), x.sum() + y.sum()
    violation = max(0, (sign * (x[:, None] + y - c)).max())
    assert proof.complete and (proof.primal, proof.dual, proof.gap) == (primal, dual, sign * (primal - dual))
    assert proof.violation == (violation if violation < 2**62 - 1 else math.inf)
    lines = [*itertools.permutations(range(int(max(m, n))), int(min(m, n)))]
    objectives = [sum(c[i, j] if m <= n else c[j, i] for i, j in enumerate(cols)) for cols in lines]
    optimum = max(objectives) if maximize else min(objectives)
    assert sign * proof.optimum_bound <= sign * optimum and sign * (primal - optimum) <= proof.bound
    assert proof.exact == (proof.gap == 0 and violation == 0)


def test_duals_whose_sum_is_beyond_the_range_of_float64():
    proof = lw.certify([[1e308], [1e300]], [-1, 0], [1e308, 1e308], [0.0])
    assert proof.dual == math.inf and proof.optimum_bound == -math.inf and proof.bound >= 1e308
    assert lw.certify([[1e308, 1e308], [1e308, 1e308]], [0, 1], [1e308, 1e308], [0.0, 0.0]).optimum_bound < math.inf
