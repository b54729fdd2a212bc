"""SciPy's function: the same signature, results, exception types and texts."""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment as scipy_assignment

import lapwing as lw
from lapwing import _core

LARGE = _core.DIRECT_MAX_ROWS + 1  # beyond the compiled fast path


def outcome(function, *arguments, **options):
    """The value of a call, or the type and text of its error."""
    try:
        return [part.tolist() for part in function(*arguments, **options)]
    except Exception as error:
        kind = next(kind for kind in (TypeError, ValueError) if isinstance(error, kind))
        return kind, str(error)


def unique_optimum(m, n, seed=0):
    """Random costs, whose optimum is unique."""
    return np.random.default_rng(seed).random((m, n))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 3), (4, 7), (7, 4), (1, 9), (9, 1), (60, 60), (LARGE, LARGE), (3, LARGE)]
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_results(shape, order, dtype, maximize):
    cost = np.asarray(unique_optimum(*shape), dtype=dtype, order=order)
    rows, cols = lw.linear_sum_assignment(cost, maximize)
    assert rows.dtype == cols.dtype == np.int64
    assert (rows.tolist(), cols.tolist()) == tuple(part.tolist() for part in scipy_assignment(cost, maximize))


@pytest.mark.parametrize(
    "cost",
    [
        [[400, 150, 400], [400, 450, 600], [300, 225, 300]],
        [[400, 150, 400, 1], [400, 450, 600, 2], [300, 225, 300, 3]],
        [[10, 10, 8], [9, 8, 1], [9, 7, 4]],
        [[10, 10, 8, 11], [9, 8, 1, 1], [9, 7, 4, 10]],
        [[10, np.inf, np.inf], [np.inf, np.inf, 1], [np.inf, 7, np.inf]],
        [[1, 2, 3, 4], [2, 4, 6, 8], [3, 6, 9, 12]],
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("transposed", [False, True])
def test_textbook_matrices(cost, sign, transposed):
    cost = sign * np.array(cost)
    cost = cost.T if transposed else cost
    rows, cols = lw.linear_sum_assignment(cost, maximize=sign == -1)
    expected = scipy_assignment(cost, maximize=sign == -1)
    assert (np.diff(rows) > 0).all() and len(set(cols)) == len(rows) == min(cost.shape)
    assert cost[rows, cols].sum() == cost[expected].sum()


@pytest.mark.parametrize("n", [1, 8, 30])
def test_a_constant_matrix_gives_the_identity(n):
    rows, cols = lw.linear_sum_assignment(np.ones((n, n)))
    assert rows.tolist() == cols.tolist() == list(range(n))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_nothing_to_match(shape):
    for part in lw.linear_sum_assignment(np.empty(shape)):
        assert part.shape == (0,) and part.dtype == np.int64


@pytest.mark.parametrize("n", [3, LARGE])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_same_errors(n, maximize):
    base = np.random.default_rng(0).random((n, n))
    for value in (np.nan, np.inf, -np.inf):
        for where in ((1, 1), (slice(None), 0), slice(None)):
            cost = base.copy()
            cost[where] = value
            ours, theirs = outcome(lw.linear_sum_assignment, cost, maximize), outcome(scipy_assignment, cost, maximize)
            assert ours == theirs


@pytest.mark.parametrize(
    "cost",
    [
        [1, 2, 3],
        5,
        None,
        "ab",
        {1, 2},
        {1: 2},
        int,
        np.float64(3),
        np.zeros((2, 2, 2)),
        np.eye(3).astype(str),
        np.eye(3) * 1j,
        np.eye(3).astype(object),
        np.zeros((2, 2), "M8[D]"),
        np.full((3, 3), np.nan),
        np.full((3, 3), np.inf),
        [[1, 2], [3]],
        [["a", "b"], ["c", "d"]],
        [[None, 2], [3, 1]],
        [[1j, 2], [3, 1]],
        [[{}, 2], [3, 1]],
    ],
    ids=repr,
)
def test_the_same_refusals(cost):
    assert outcome(lw.linear_sum_assignment, cost) == outcome(scipy_assignment, cost)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is double here")
def test_long_double_is_refused_alike():
    cost = np.eye(3, dtype=np.longdouble)
    assert outcome(lw.linear_sum_assignment, cost) == outcome(scipy_assignment, cost)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "form",
    [
        lambda c: c.tolist(),
        np.matrix,
        np.asfortranarray,
        pd.DataFrame,
        lambda c: c.astype(np.int8),
        lambda c: c.astype(">f8"),
        lambda c: np.repeat(np.repeat(c, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda c: c[::-1, ::-1].copy()[::-1, ::-1],
        lambda c: np.ma.masked_array(c),
        lambda c: c.astype(bool),
    ],
    ids=["list", "matrix", "F", "frame", "int8", "big-endian", "strided", "reversed", "masked", "bool"],
)
def test_matrices_of_any_kind(form):
    cost = form(np.array([[4, 1, 3, 0], [2, 0, 5, 5], [3, 2, 2, 9], [1, 0, 0, 1]]))
    dense = np.asarray(cost)
    rows, cols = lw.linear_sum_assignment(cost)
    assert dense[rows, cols].sum() == dense[scipy_assignment(dense)].sum()


def test_the_signature():
    cost = unique_optimum(4, 6)
    expected = outcome(scipy_assignment, cost, True)
    assert outcome(lw.linear_sum_assignment, cost, True) == expected
    assert outcome(lw.linear_sum_assignment, cost, maximize=True) == expected
    assert outcome(lw.linear_sum_assignment, cost_matrix=cost, maximize=True) == expected
    assert outcome(lw.linear_sum_assignment, cost, np.True_) == expected
    assert outcome(lw.linear_sum_assignment, cost, 1) == expected
    assert inspect.signature(lw.linear_sum_assignment) == inspect.signature(lambda cost_matrix, maximize=False: None)
    for arguments, options in [((), {}), ((cost, True, 3), {}), ((cost,), {"minimize": True})]:
        with pytest.raises(TypeError, match=r"^linear_sum_assignment\(\)"):
            lw.linear_sum_assignment(*arguments, **options)


@settings(max_examples=300)
@given(
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    levels=st.integers(1, 6),
    share=st.sampled_from([0.0, 0.0, 0.3, 0.7, 0.9]),
    maximize=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_the_same_objective_and_the_same_errors(m, n, levels, share, maximize, seed):
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, levels, (m, n)).astype(np.float64)
    cost[rng.random((m, n)) < share] = -np.inf if maximize else np.inf
    ours, theirs = outcome(lw.linear_sum_assignment, cost, maximize), outcome(scipy_assignment, cost, maximize)
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        assert ours[0] == sorted(set(ours[0])) and len(set(ours[1])) == len(ours[0]) == min(m, n)
        assert cost[ours[0], ours[1]].sum() == cost[theirs[0], theirs[1]].sum()


def test_sparse_instances_with_many_infeasible_ones():
    """As often as SciPy's sparse matching does, and no more: 6 % of 100 x 100 pairs."""
    rng = np.random.default_rng(12342309)
    feasible = 0
    for _ in range(40):
        matrix = sparse.random_array(
            (100, 100), density=0.06, rng=rng, data_sampler=lambda size: rng.integers(1, 100, size=size)
        )
        dense = np.full(matrix.shape, np.inf)
        dense[matrix.row, matrix.col] = matrix.data
        ours, theirs = outcome(lw.linear_sum_assignment, dense), outcome(scipy_assignment, dense)
        if isinstance(theirs, tuple):
            assert ours == theirs
        else:
            feasible += 1
            assert dense[ours[0], ours[1]].sum() == dense[theirs[0], theirs[1]].sum()
    assert 0 < feasible < 40


@pytest.mark.parametrize(
    "cost",
    [
        [[Decimal("4.5"), Decimal(1)], [Decimal(2), Decimal(0)]],
        [[Fraction(1, 3), 1], [2, Fraction(9, 2)]],
        [["4", "1.5"], ["2", "1e3"]],
        [[2**70, 1], [2, 2**80]],
        [[2**63, 1.5], [2, 2**80]],
        pd.DataFrame({"a": [4.0, 2.0], "b": [1.0, 0.0]}, dtype="Float64"),
        pd.DataFrame({"a": [4.0, None], "b": [1.0, 0.0]}, dtype="Float64"),
        pd.DataFrame({"a": [Decimal(4), 2], "b": [1, 0]}),
    ],
    ids=["decimal", "fraction", "text", "large", "large-mixed", "Float64", "missing", "frame"],
)
def test_what_scipy_converts(cost):
    assert outcome(lw.linear_sum_assignment, cost) == outcome(scipy_assignment, cost)


def test_jax_bfloat16():
    jax = pytest.importorskip("jax")
    cost = jax.numpy.asarray([[4, 1], [2, 0]], "bfloat16")
    assert outcome(lw.linear_sum_assignment, cost) == [[0, 1], [1, 0]]


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(lw.linear_sum_assignment)) is lw.linear_sum_assignment
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (pair,) = pool.map(lw.linear_sum_assignment, [np.eye(3)[::-1]])
    assert [part.tolist() for part in pair] == [part.tolist() for part in lw.linear_sum_assignment(np.eye(3)[::-1])]
