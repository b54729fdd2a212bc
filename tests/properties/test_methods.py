"""Every method of the table answers every problem alike, on a GPU, too: optimally, and with a proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from support.checks import (
    ALL_METHODS,
    CLASSICAL,
    HUNGARIAN,
    ON_GPU,
    assert_hall_violator,
    assert_optimal,
    assert_proven,
    scipy_objective,
    solve,
)
from support.strategies import CORE_DTYPES, KINDS, LAYOUTS, SMALL_DTYPES, make_matrix, matrices

pytestmark = pytest.mark.parametrize(
    "method", [*ALL_METHODS, *(pytest.param(name, marks=pytest.mark.gpu) for name in ON_GPU)]
)


def examples(**strategies):
    """`given`, with 500 examples; 100 for the Hungarian methods, which share most of their code, and on a GPU; there 30
    of papers' methods."""

    def decorate(test):
        many, some, few = (settings(max_examples=count)(given(**strategies)(test)) for count in (500, 100, 30))

        def run(method):
            count = few if method in ON_GPU[1:] else some if method in (*HUNGARIAN, *ON_GPU) else many
            count(method)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


@examples(cost=matrices(), maximize=st.booleans())
def test_any_matrix(method, cost, maximize):
    assert_optimal(solve(cost, maximize=maximize, method=method), cost, maximize=maximize)


@examples(cost=matrices(dtypes=CORE_DTYPES + SMALL_DTYPES, layouts=LAYOUTS, longest=9), maximize=st.booleans())
def test_any_dtype_and_layout(method, cost, maximize):
    assert_optimal(solve(cost, maximize=maximize, method=method), cost, maximize=maximize)


@examples(cost=matrices(forbid=True), maximize=st.booleans())
def test_forbidden_pairs(method, cost, maximize):
    if maximize:
        cost = -cost
    try:
        result = solve(cost, maximize=maximize, method=method)
    except lw.InfeasibleError as error:
        assert_hall_violator(error, cost, maximize=maximize)
        assert scipy_objective(cost, maximize=maximize) is None
    else:
        assert_optimal(result, cost, maximize=maximize)


@examples(
    cost=matrices(),
    maximize=st.booleans(),
    level=st.floats(-0.5, 1.5),
    by_row=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_unmatched_cost(method, cost, maximize, level, by_row, seed):
    """Against SciPy on the matrix with a private exit for each row."""
    low, high = float(cost.min()), float(cost.max())
    price = low + level * (high - low)
    if by_row:
        price = price + np.random.default_rng(seed).normal(size=cost.shape[0]) * (high - low)
    if cost.dtype.kind == "i":
        price = np.rint(price).astype(np.int64)
    result = solve(cost, maximize=maximize, unmatched_cost=price, method=method)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)


@given(cost=matrices(forbid=True), price=st.sampled_from([-1.0, 0.0, 0.25, 10.0]))
def test_unmatched_cost_with_forbidden_pairs(method, cost, price):
    result = solve(cost, unmatched_cost=price, method=method)
    assert_optimal(result, cost, unmatched_cost=price)


@given(cost=matrices(), price=st.floats(0, 1), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_rows_that_must_be_matched_among_others(method, cost, price, share, seed):
    """An infinite price means that the row may not stay free."""
    prices = np.full(cost.shape[0], np.rint(1000 * price))
    prices[np.random.default_rng(seed).random(len(prices)) < share] = np.inf
    expected = scipy_objective(cost, unmatched_cost=prices)
    try:
        result = solve(cost, unmatched_cost=prices, method=method)
    except lw.InfeasibleError as error:
        assert expected is None
        assert np.isinf(prices[error.rows]).all() and len(error.rows) > cost.shape[1]
    else:
        assert_optimal(result, cost, unmatched_cost=prices)


@examples(
    cost=matrices(dtypes=[np.float64]),
    exponent=st.one_of(st.integers(-300, 290), st.sampled_from([-323, -318, -310, -308, 290])),
    maximize=st.booleans(),
)
def test_scales(method, cost, exponent, maximize):
    """From subnormal numbers to 1e300."""
    with np.errstate(under="ignore"):
        scaled = cost * 10.0 ** max(exponent, -300) * 10.0 ** min(exponent + 300, 0)
    assert_optimal(solve(scaled, maximize=maximize, method=method), scaled, maximize=maximize)


@given(seed=st.integers(0, 2**32), m=st.integers(1, 12), n=st.integers(1, 12), maximize=st.booleans())
def test_subnormals(method, seed, m, n, maximize):
    cost = np.random.default_rng(seed).integers(-50, 50, (m, n)) * 5e-324
    result = solve(cost, maximize=maximize, method=method)
    assert_optimal(result, cost, maximize=maximize)
    assert result.certificate.exact


@given(seed=st.integers(0, 2**32), m=st.integers(1, 10), n=st.integers(1, 10), maximize=st.booleans())
def test_int64_beyond_float64(method, seed, m, n, maximize):
    """Costs that float64 cannot tell apart: against Python's integers, shifted into range."""
    base = 2**57
    small = np.random.default_rng(seed).integers(0, 100, (m, n))
    result = solve(small + base, maximize=maximize, method=method)
    assert result.certificate.exact
    assert result.objective - base * min(m, n) == solve(small, maximize=maximize, method=method).objective


@given(seed=st.integers(0, 2**32), n=st.integers(1, 12), maximize=st.booleans())
def test_int32_extremes(method, seed, n, maximize):
    limits = np.iinfo(np.int32)
    cost = np.random.default_rng(seed).choice(np.array([limits.min, limits.max, 0, -1], np.int32), (n, n))
    assert_optimal(solve(cost, maximize=maximize, method=method), cost, maximize=maximize)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", CORE_DTYPES)
@pytest.mark.parametrize("n", [65, 70, 100, 129, 200])
def test_ties_side_by_side(method, n, dtype, maximize):
    """A row's cheapest columns are all alike, and stand together before its own."""
    row, col = np.ogrid[:n, :n]
    tied = (row % 64 < 40) | ((row // 64 == col // 64) & (col < row))
    cost = (10 * row + np.where(tied, 0, 1)).astype(dtype) * (-1 if maximize else 1)
    assert_optimal(solve(cost, method=method, maximize=maximize), cost, maximize=maximize)


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(30, 90),
    values=st.integers(1, 4),
    each=st.floats(0.5, 12),
    empty=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_few_distinct_costs_and_forbidden_pairs(method, seed, n, values, each, empty, dtype):
    """About `each` of the least costs in a line; a column that nobody can have."""
    rng = np.random.default_rng(seed)
    cost = rng.choice(np.arange(values, dtype=dtype), (n, n))
    cost[rng.random((n, n)) > each / n] += values
    cost[rng.random((n, n)) > 2 * each / n] = np.inf
    if empty:
        cost[:, rng.integers(n)] = np.inf
    try:
        result = solve(cost, method=method)
    except lw.InfeasibleError as error:
        assert_hall_violator(error, cost)
        assert scipy_objective(cost) is None
    else:
        assert_optimal(result, cost)


@pytest.mark.parametrize("dtype", CORE_DTYPES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
@pytest.mark.parametrize("shape", [(65, 65), (130, 200), (300, 300), (200, 120)])
def test_hundreds_of_rows(method, kind, shape, dtype):
    if method in CLASSICAL:
        shape = (shape[0] // 2, shape[1] // 2)
    cost = make_matrix(kind, np.random.default_rng(sum(shape)), *shape, dtype)
    assert_optimal(solve(cost, method=method), cost)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_hundreds_of_rows_with_unmatched_costs(method, kind, order, maximize):
    cost = np.asarray(make_matrix(kind, np.random.default_rng(7), 150, 110, np.float64), order=order)
    price = float(np.quantile(cost, 0.9 if maximize else 0.1))
    result = solve(cost, maximize=maximize, unmatched_cost=price, method=method)
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97, 0.99])
def test_hundreds_of_rows_with_forbidden_pairs(method, share):
    rng = np.random.default_rng(int(share * 100))
    cost = rng.random((250, 250))
    cost[rng.random(cost.shape) < share] = np.inf
    if scipy_objective(cost) is None:
        with pytest.raises(lw.InfeasibleError) as caught:
            solve(cost, method=method)
        assert_hall_violator(caught.value, cost)
    else:
        assert_optimal(solve(cost, method=method), cost)


@pytest.mark.parametrize(
    "cls", ["uniform", "int:0.1", "int:1", "int:100", "geometric", "disjoint", "lowrank:2", "sanity"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_a_thousand_rows_are_certified(method, cls, dtype):
    """Fewer, where a method takes up to n^4 steps."""
    cost = lw.instances.generate(cls, 250 if method in CLASSICAL else 1000, 1)
    cost = (
        np.rint(cost * (1 if cls.startswith("int") else 10_000)).astype(dtype)
        if dtype == np.int32
        else cost.astype(dtype)
    )
    assert_proven(solve(cost, method=method), cost)


@pytest.mark.slow
@pytest.mark.parametrize("cls", ["uniform", "int:1", "geometric", "disjoint", "lowrank:1", "lowrank:8", "sanity"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_four_thousand_rows_are_certified(method, cls, dtype):
    if method in CLASSICAL or (method.startswith(("jv", "hungarian-tree")) and cls == "lowrank:1"):
        pytest.skip("these costs take this method minutes")
    cost = lw.instances.generate(cls, 4000, 1).astype(dtype)
    assert_proven(solve(cost, method=method), cost)
