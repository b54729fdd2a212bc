"""Columns that stay free at a price, `unmatched_cost=(rows, columns)`: every method and batch, against SciPy."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from support.checks import ALL_METHODS, scipy_objective
from support.strategies import matrices


def doubled(cost, prices, of_cols, maximize):
    """The matrix in which each row and column has a partner of its own at its price."""
    cost = np.asarray(cost, np.float64)
    (m, n), forbidden = cost.shape, -np.inf if maximize else np.inf
    matrix = np.full((m + n, n + m), forbidden)
    matrix[:m, :n] = cost
    matrix[np.arange(m), n + np.arange(m)] = prices
    matrix[m + np.arange(n), np.arange(n)] = of_cols
    matrix[m:, n:] = np.where(forbidden == cost.T, forbidden, 0)
    return matrix


def expected(cost, prices, of_cols, maximize=False):
    return scipy_objective(doubled(cost, prices, of_cols, maximize), maximize=maximize)


def assert_right(cost, prices, of_cols, result, want, maximize=False):
    free_rows, free_cols = result.row_to_col < 0, result.col_to_row < 0
    dense = np.asarray(cost.toarray() if sp.issparse(cost) else cost, np.float64)
    matched = np.flatnonzero(~free_rows)
    parts = [*dense[matched, result.row_to_col[matched]], *prices[free_rows], *of_cols[free_cols]]
    assert result.objective == float(sum(map(Fraction, parts)))
    assert abs(result.objective - want) <= 1e-9 * max(1, abs(want), np.abs(parts).max(initial=0))
    again = lw.certify(cost, result.row_to_col, result.u, result.v, maximize=maximize, unmatched_cost=(prices, of_cols))
    assert again.complete and again.fault is None and again.primal == result.objective
    assert result.certificate.complete and result.certificate.bound <= 1e-12 * (1 + np.abs(parts).sum())


@pytest.mark.parametrize("method", ALL_METHODS)
@given(data=st.data(), cost=matrices(forbid=True, longest=7), maximize=st.booleans(), required=st.booleans())
def test_any_matrix(method, data, cost, maximize, required):
    if maximize:
        cost = -cost
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    finite = cost[np.isfinite(cost)]
    scale = np.abs(finite).max(initial=1)
    prices, of_cols = (np.rint(rng.normal(size=size) * scale) for size in cost.shape)
    if required:
        for each in (prices, of_cols):
            each[rng.random(each.size) < data.draw(st.sampled_from([0, 0.3]))] = -np.inf if maximize else np.inf
    want = expected(cost, prices, of_cols, maximize)
    try:
        result = lw.solve(cost, maximize=maximize, unmatched_cost=(prices, of_cols), method=method)
    except lw.InfeasibleError as error:
        assert want is None
        many, few = (error.rows, error.cols) if len(error.rows) > len(error.cols) else (error.cols, error.rows)
        assert len(many) > len(few)
        of_many = prices if many is error.rows else of_cols
        assert np.isinf(of_many[many]).all()
    else:
        assert_right(cost, prices, of_cols, result, want, maximize)


@given(cost=matrices(forbid=True, longest=7), seed=st.integers(0, 1000), share=st.sampled_from([0, 0.3]))
def test_sparse_costs(cost, seed, share):
    rng = np.random.default_rng(seed)
    prices, of_cols = (rng.normal(size=size) * np.abs(cost[np.isfinite(cost)]).max(initial=1) for size in cost.shape)
    of_cols[rng.random(of_cols.size) < share] = np.inf
    row, col = np.nonzero(np.isfinite(cost))
    pairs = sp.coo_array((cost[row, col], (row, col)), shape=cost.shape)
    want = expected(cost, prices, of_cols)
    try:
        result = lw.solve(pairs, unmatched_cost=(prices, of_cols))
    except lw.InfeasibleError:
        assert want is None
    else:
        assert_right(pairs, prices, of_cols, result, want)


@given(cost=matrices(longest=7), seed=st.integers(0, 1000), maximize=st.booleans(), required=st.booleans())
def test_batches(cost, seed, maximize, required):
    rng = np.random.default_rng(seed)
    prices, of_cols = (np.rint(rng.normal(size=(2, size)) * 9) for size in cost.shape)
    if required:
        of_cols[0, 0] = -np.inf if maximize else np.inf
    batch = lw.solve_batch(
        np.stack([cost, cost[::-1]]), maximize=maximize, unmatched_cost=(prices, of_cols), certify=True
    )
    listed = lw.solve_batch(
        [cost, cost[::-1]], maximize=maximize, unmatched_cost=list(zip(prices, of_cols, strict=True)), certify=True
    )
    for b, each in enumerate([cost, cost[::-1]]):
        single = lw.solve(each, maximize=maximize, unmatched_cost=(prices[b], of_cols[b]))
        assert batch.objective[b] == pytest.approx(single.objective, rel=1e-12, abs=1e-12)
        assert listed.objective[b] == pytest.approx(single.objective, rel=1e-12, abs=1e-12)
        assert batch.certificates[b].complete and listed.certificates[b].complete


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_that_floats_round_are_solved_without_rounding(method, dtype):
    """Costs less the prices agree in float64; the costs and prices themselves tell which pair is cheaper."""
    cost = np.array([[2.0**-30, 0], [0, 0]], dtype)
    prices, of_cols = np.full(2, np.inf), np.array([2.0**40, 2.0**40])
    result = lw.solve(cost, unmatched_cost=(prices, of_cols), method=method)
    assert result.objective == 0 and result.certificate.bound == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_a_common_price_of_columns_changes_nothing_but_the_objective(sparse):
    rng = np.random.default_rng(3)
    cost = rng.integers(0, 100, (40, 30)).astype(np.int64) + 1
    row, col = np.indices(cost.shape).reshape(2, -1)

    def given(matrix):
        return lw.costs.edges(row, col, matrix.ravel(), matrix.shape) if sparse else matrix

    plain, priced = lw.solve(given(cost), unmatched_cost=20), lw.solve(given(cost), unmatched_cost=(20, 0))
    assert priced.objective == plain.objective and isinstance(priced.objective, int)
    less = lw.solve(given(cost - 7), unmatched_cost=20)
    assert lw.solve(given(cost), unmatched_cost=(20, 7)).objective == less.objective + 7 * 30


@pytest.mark.parametrize("shape", [(4, 20), (20, 4)])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_sparse_prices_are_read_in_the_problems_orientation(shape, form, dtype):
    cost = form(np.ones(shape, dtype))
    for prices, many, few in (((1, np.inf), "columns", "rows"), ((np.inf, 1), "rows", "columns")):
        if (shape[1] > shape[0]) == (many == "columns"):
            with pytest.raises(lw.InfeasibleError, match=f"these 5 {many} .* have only these 4 {few}"):
                lw.solve(cost, unmatched_cost=prices)
        else:
            assert lw.solve(cost, unmatched_cost=prices).objective == 20
    of_cols = np.zeros(shape[1], dtype)
    assert lw.solve(cost, unmatched_cost=(0, of_cols)).objective == 0
    if dtype is np.float64:  # which are solved without rounding in that case
        return
    of_cols[-1] = 2**60
    with pytest.raises(lw.RangeError, match=rf"unmatched_cost\[1\]\[{shape[1] - 1}\] is"):
        lw.solve(cost, unmatched_cost=(1, of_cols))


def test_sources_take_prices_of_columns():
    rng = np.random.default_rng(4)
    x, y = rng.random((60, 2)), rng.random((50, 2))
    source = lw.costs.squared_euclidean(x, y)
    matrix = ((x[:, None] - y) ** 2).sum(2)
    of_cols = rng.random(50) * 0.01
    want = lw.solve(matrix, unmatched_cost=(0.01, of_cols)).objective
    assert lw.solve(source, unmatched_cost=(0.01, of_cols)).objective == pytest.approx(want, rel=1e-9)
    with pytest.raises(lw.ArgumentError, match="exchange rows and columns"):
        lw.solve(source, unmatched_cost=(0.01, np.inf))


def test_starts_time_limits_and_empties():
    rng = np.random.default_rng(5)
    cost, of_cols = rng.random((50, 60)), rng.random(60) / 10
    first = lw.solve(cost, unmatched_cost=(0.1, of_cols))
    again = lw.solve(cost, unmatched_cost=(0.1, of_cols), start=first, method="core")
    assert again.objective == first.objective
    early = lw.solve(cost, unmatched_cost=(0.1, of_cols), time_limit=0, method="core")
    assert early.lower_bound <= first.objective <= early.objective
    sparse = lw.costs.edges(*np.nonzero(cost < 0.3), cost[cost < 0.3], cost.shape)
    for options in ({}, {"time_limit": 0}, {"start": first}):
        assert lw.solve(sparse, unmatched_cost=(0.1, of_cols), **options).lower_bound <= first.objective + 1e-12
    nobody = lw.solve(np.zeros((0, 3)), unmatched_cost=(1.0, [1, 2, 3]))
    assert nobody.objective == 6 and nobody.certificate.exact
    with pytest.raises(lw.InfeasibleError, match="column"):
        lw.solve(np.zeros((0, 3)), unmatched_cost=(1.0, np.inf))


def test_bad_prices_are_named():
    cost = np.ones((2, 3))
    with pytest.raises(lw.ArgumentError, match="None in it"):
        lw.solve(cost, unmatched_cost=(1, None))
    with pytest.raises(lw.ArgumentError, match="3 columns"):
        lw.solve(cost, unmatched_cost=(1, [1, 2]))
    with pytest.raises(lw.ArgumentError, match=r"unmatched_cost\[1\]\[2\] is nan"):
        lw.solve(cost, unmatched_cost=(1, [1, 2, np.nan]))
    with pytest.raises(lw.RangeError, match=r"unmatched_cost\[1\]\[1\]"):
        lw.solve(cost.astype(np.int64), unmatched_cost=(1, [1, 2**60, 0]))


@given(seed=st.integers(0, 2**32), m=st.integers(1, 3), n=st.integers(1, 3), required=st.booleans())
def test_whether_the_optimum_is_the_only_one(seed, m, n, required):
    rng = np.random.default_rng(seed)
    cost, prices, of_cols = (rng.integers(0, 5, size).astype(float) for size in ((m, n), m, n))
    if required:
        of_cols[0] = np.inf
    totals = []
    for answer in itertools.product(range(-1, n), repeat=m):
        taken = [j for j in answer if j >= 0]
        if len(set(taken)) == len(taken):
            pairs = [cost[i, j] if j >= 0 else prices[i] for i, j in enumerate(answer)]
            totals.append(sum(pairs) + sum(of_cols[j] for j in range(n) if j not in taken))
    result = lw.solve(cost, unmatched_cost=(prices, of_cols))
    assert result.objective == min(totals)
    assert result.is_unique() == (totals.count(min(totals)) == 1)


# --- prices far above the costs ---

LARGE = (
    ([[0.5, 0.4], [0.1, 0]], ([1e8, 0.5], [0.5, 1e8]), 0.5),
    ([[0.72, 0.63], [0.80, 0.40]], ([0.7, 1e20], [0.9, 1e20]), 1.12),
    ([[0.7], [0.6], [0.009]], ([0.26, 0.35, 0.29], [1e20]), 0.619),
    # the optimum is zero, and pairs that pay must be told from others
    (
        [[3, 0, 1, 0], [2, 3, 0, 2], [3, 0, 3, 1], [0, 0, 2, 3]],
        ([1e17, 0.22102564362437993, 1e17, 0.7882858464508872], [1e8, 0.7015619546039893, 1e8, 1e8]),
        0,
    ),
    # a column must be matched
    ([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1e20, 0, 0]], ([1e28, 1e20, 0], [np.inf, 1, 0, 0]), 0),
    ([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1e20, 0, 0]], ([1e17, 1e17, 0], [np.inf, 1, 0, 0]), 0),
    # duals of many magnitudes
    (
        [[0, 0, 0], [0, 0, np.inf], [5e-324, 1e308, np.inf]],
        ([np.inf, np.inf, np.inf], [np.inf, np.inf, 0]),
        5e-324,
    ),
)


@pytest.mark.parametrize(("cost", "prices", "want"), LARGE)
@pytest.mark.parametrize("certify", [True, False])
def test_prices_far_above_the_costs(cost, prices, want, certify):
    cost = np.array(cost, np.float64)
    result = lw.solve(cost, unmatched_cost=prices, certify=certify)
    assert result.status == "optimal"
    assert result.objective == want
    most = lw.solve(-cost, maximize=True, unmatched_cost=tuple(-np.array(side) for side in prices), certify=certify)
    assert most.objective == -want
    assert lw.solve_batch(cost[None], unmatched_cost=tuple(np.array([side]) for side in prices)).objective[0] == want


@pytest.mark.parametrize("large", [1e9, 1e15, 1e22])
def test_prices_of_any_size_are_proven(large):
    random = np.random.default_rng(1)
    for _ in range(60):
        m, n = random.integers(1, 6, 2)
        cost = random.random((m, n)) * np.where(random.random((m, n)) < 0.2, large, 1)
        sides = [np.where(random.random(size) < 0.4, large, random.random(size)) for size in (m, n)]
        if random.random() < 0.5:
            sides[1] = np.where(random.random(n) < 0.3, np.inf, sides[1])
        try:
            result = lw.solve(cost, unmatched_cost=tuple(sides))
        except lw.InfeasibleError:
            continue
        assert result.certificate.bound <= (m + n) * 2.0**-52 * abs(result.objective)
        unproven = lw.solve(cost, unmatched_cost=tuple(sides), certify=False)
        assert unproven.objective == pytest.approx(result.objective, rel=1e-12)


def test_many_rows_beside_large_prices():
    random = np.random.default_rng(0)
    cost, of_cols = random.random((300, 300)), np.where(random.random(300) < 0.3, 1e9, 0.01)
    result = lw.solve(cost, unmatched_cost=(0.01, of_cols))
    assert result.certificate.bound <= 300 * 2.0**-52 * result.objective


def test_sums_of_column_prices_are_in_range():
    cost, price = np.zeros((1, 100), np.int64), 2 * 10**17
    for ask in (
        lambda: lw.solve(cost, unmatched_cost=(price, price)),
        lambda: lw.solve(cost.T, unmatched_cost=(price, price)),
        lambda: lw.solve(cost, unmatched_cost=(price, price), certify=False),
        lambda: lw.solve_batch(cost[None], unmatched_cost=(price, price)),
    ):
        with pytest.raises(lw.RangeError, match="sums stay exact in int64 only up to"):
            ask()
