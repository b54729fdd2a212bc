"""``invalid="forbid"``: pairs whose cost is NaN are forbidden, and listed."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.errors import ArgumentError, InfeasibleError, InvalidCostError


@st.composite
def with_nan(draw, most=7):
    m, n = draw(st.integers(0, most)), draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cost = rng.integers(-5, 6, (m, n)).astype(draw(st.sampled_from([np.float32, np.float64, np.float16])))
    cost[rng.random((m, n)) < draw(st.sampled_from([0, 0.2, 0.6]))] = np.nan
    return np.asarray(cost, order=draw(st.sampled_from(["C", "F"])))


def filled(cost, maximize=False):
    return np.where(np.isnan(cost), -np.inf if maximize else np.inf, cost)


@given(with_nan(), st.booleans())
def test_they_are_forbidden_and_listed(cost, maximize):
    given_costs = cost.copy()
    options = {"maximize": maximize, "infeasible": "partial"}
    result, other = lw.solve(cost, invalid="forbid", **options), lw.solve(filled(cost, maximize), **options)
    assert result.objective == other.objective and len(result.pairs) == len(other.pairs)
    assert np.array_equal(result.invalid_pairs, np.argwhere(np.isnan(cost)))
    assert np.array_equal(cost, given_costs, equal_nan=True)
    assert lw.certify(cost, result.row_to_col, result.u, result.v, invalid="forbid", **options).exact
    assert result.is_unique() == other.is_unique()


@given(st.lists(with_nan(5), max_size=4))
def test_batches(costs):
    batch = lw.solve_batch(costs, invalid="forbid", infeasible="partial")
    for b, cost in enumerate(costs):
        assert batch.objective[b] == lw.solve(filled(cost), infeasible="partial").objective
        assert np.array_equal(batch.invalid_pairs[b], np.argwhere(np.isnan(cost)))


def test_a_batch_in_one_array():
    costs = np.random.default_rng(0).random((3, 4, 5))
    costs[1, 2, 3] = np.nan
    batch = lw.solve_batch(costs, invalid="forbid", certify=True)
    assert batch.invalid_pairs.tolist() == [[1, 2, 3]] and batch.row_to_col[1, 2] != 3


def test_sparse_costs_and_frames():
    pandas = pytest.importorskip("pandas")
    cost = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, np.nan], [np.nan, 1.0, 1.0]])
    for kind in ("csr", "csc", "coo"):
        pairs = scipy.sparse.coo_array(cost).asformat(kind)
        result = lw.solve(pairs, invalid="forbid")
        assert result.objective == lw.solve(filled(cost)).objective
        assert result.invalid_pairs.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert lw.solve(pandas.DataFrame(cost), invalid="forbid").invalid_pairs.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert lw.solve(cost.tolist(), invalid="forbid").objective == lw.solve(filled(cost)).objective
    masked = lw.solve(np.ma.masked_greater(cost, 4), invalid="forbid")
    assert masked.objective == lw.solve(np.where(filled(cost) > 4, np.inf, cost), invalid="forbid").objective


def test_rows_formulas_and_mapped_files(tmp_path):
    x, y = np.linspace(0, 1, 20), np.linspace(0.2, 1.3, 30)
    with np.errstate(invalid="ignore"):
        matrix = np.sqrt(y[None] - x[:, None])
    rows = lw.costs.rows(lambda i, j: matrix[i:j], matrix.shape)
    np.save(tmp_path / "costs.npy", matrix)
    mapped = np.load(tmp_path / "costs.npy", mmap_mode="r")
    formula = lw.costs.expression("sqrt(y0 - x0)", x[:, None], y[:, None])
    want = lw.solve(filled(matrix))
    for cost, options in ((rows, {}), (mapped, {}), (mapped, {"memory_limit": 2000}), (formula, {})):
        result = lw.solve(cost, invalid="forbid", **options)
        assert result.objective == pytest.approx(want.objective)
        assert np.array_equal(result.invalid_pairs, np.argwhere(np.isnan(matrix)))


def test_long_formulas():
    x = np.array([[0.0, 1.0], [1.0, 0.0]])
    for text in ("x0**2+" * 30 + "1/y0*0", "+".join(["abs(x0-y0)*abs(x1-y1)"] * 40) + "+0/y0"):
        cost = lw.costs.expression(text, x, x)
        for maximize in (False, True):
            result = lw.solve(cost, maximize=maximize, invalid="forbid", infeasible="partial")
            assert result.invalid_pairs.tolist() == [[0, 0], [1, 0]] and result.col_ind.tolist() == [1]


def test_whatever_else_is_invalid_is_an_error():
    with pytest.raises(InvalidCostError, match=r"cost\[0, 1\] is -inf"):
        lw.solve([[np.nan, -np.inf]], invalid="forbid")
    with pytest.raises(InvalidCostError, match="nan"):
        lw.solve([[np.nan, 1.0]])
    with pytest.raises(InfeasibleError):
        lw.solve([[np.nan]], invalid="forbid")
    with pytest.raises(ArgumentError, match="invalid must be 'raise' or 'forbid', got 'ignore'"):
        lw.solve([[1.0]], invalid="ignore")
    assert lw.solve([[1, 2]], invalid="forbid").invalid_pairs.shape == (0, 2)
    assert lw.solve([[1, 2]]).invalid_pairs.shape == (0, 2)
