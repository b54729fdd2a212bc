"""Integers with pairs left out stay integers: masked arrays, sparse matrices, pandas' nullable frames."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw

pandas = pytest.importorskip("pandas")


@st.composite
def masked(draw):
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from([np.int64, np.int32, np.uint8, np.bool_, np.uint64]))
    values = rng.integers(0, 2 if kind is np.bool_ else 100, (m, n)).astype(kind)
    return np.ma.MaskedArray(values, rng.random((m, n)) < draw(st.sampled_from([0.1, 0.5, 1])))


@given(masked(), st.booleans())
def test_masked_arrays(cost, maximize):
    floats = np.where(np.ma.getmaskarray(cost), -np.inf if maximize else np.inf, np.asarray(cost.data, float))
    options = {"maximize": maximize, "infeasible": "partial"}
    result, other = lw.solve(cost, **options), lw.solve(floats, **options)
    assert isinstance(result.objective, int) and result.objective == other.objective
    assert result.u.dtype == np.int64 and result.certificate.exact and result.status == other.status
    priced = lw.solve(cost, unmatched_cost=7, maximize=maximize)
    assert isinstance(priced.objective, int)
    assert priced.objective == lw.solve(floats, unmatched_cost=7, maximize=maximize).objective


def test_beyond_floats():
    cost = np.ma.MaskedArray([[2**60 + 1, 5], [3, 2**60 + 3]], [[False, True], [True, False]])
    assert lw.solve(cost).objective == 2**61 + 4


def test_frames():
    frame = pandas.DataFrame({"a": [2**55 + 1, 7], "b": [4, 2**55 + 3]}, dtype="Int64")
    assert lw.solve(frame).objective == 11 and isinstance(lw.solve(frame).objective, int)
    assert lw.solve(frame, maximize=True).objective == 2**56 + 4
    frame.loc[0, "a"] = pandas.NA
    result = lw.solve(frame, invalid="forbid")
    assert result.objective == 11 and isinstance(result.objective, int) and result.invalid_pairs.tolist() == [[0, 0]]
    with pytest.raises(lw.DtypeError, match="missing values become NaN"):
        lw.solve(frame)
    floats = pandas.DataFrame({"a": [1.5, None], "b": [2.0, 3.0]}, dtype="Float64")
    assert lw.solve(floats, invalid="forbid").objective == 4.5
    assert lw.solve(pandas.DataFrame({"a": [1.5]}, dtype="Float64")).objective == 1.5


def test_sparse_matrices():
    pairs = scipy.sparse.csr_array(np.array([[2**57 + 1, 0], [5, 2**57 + 3]]))
    assert lw.solve(pairs).objective == 2**58 + 4


@given(masked(), st.booleans(), st.sampled_from(["jv", "core", "ssp", "auction", "munkres", "hungarian-bfs"]))
def test_named_methods_and_batches(cost, maximize, method):
    """These read a matrix, in which a large number stands for what is left out."""
    for options in ({"infeasible": "partial"}, {"unmatched_cost": 7}):
        asked = {"maximize": maximize, **options}
        want = lw.solve(cost, **asked)
        result = lw.solve(cost, method=method, **asked)
        assert isinstance(result.objective, int) and result.u.dtype == np.int64
        assert (result.objective, result.status) == (want.objective, want.status)
        assert result.certificate.exact or method == "auction"
        assert not np.ma.getmaskarray(cost)[result.row_ind, result.col_ind].any()
        batch = lw.solve_batch([cost, cost], certify=True, **asked)
        assert batch.objective.dtype == np.int64 and batch.objective.tolist() == [want.objective] * 2
        assert batch.status.tolist() == [6 if want.status == "partial" else 0] * 2
        assert all(proof.exact for proof in batch.certificates)


def test_no_assignment_is_refused_by_named_methods_and_batches():
    cost = np.ma.MaskedArray(np.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3) % 3 == 1)
    for solve in (lambda: lw.solve(cost, method="jv"), lambda: lw.solve_batch([np.eye(2, dtype=int), cost])):
        with pytest.raises(lw.InfeasibleError) as caught:
            solve()
        assert caught.value.cols.tolist() == [1]
    assert lw.solve_batch([cost], check=False).status.tolist() == [1]


def test_sparse_integers_by_named_methods():
    pairs = scipy.sparse.csr_array(np.array([[2**45 + 1, 0, 3], [5, 2**45 + 3, 0], [0, 9, 2**45]]))
    for method in ("jv", "core", "munkres"):
        result = lw.solve(pairs, method=method)
        assert result.objective == lw.solve(pairs).objective and isinstance(result.objective, int)
    assert lw.solve_batch([pairs]).objective.dtype == np.int64
