"""`min_weight_full_bipartite_matching` against SciPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import min_weight_full_bipartite_matching as scipy_matching

import lapwing as lw


@given(
    seed=st.integers(0, 2**32),
    m=st.integers(0, 9),
    n=st.integers(0, 9),
    density=st.floats(0, 1),
    maximize=st.booleans(),
    format=st.sampled_from(["csr", "csc", "coo"]),
    dtype=st.sampled_from([np.float64, np.float32, np.int32, np.int64, np.uint8]),
)
def test_as_scipy(seed, m, n, density, maximize, format, dtype):
    rng = np.random.default_rng(seed)
    matrix = (rng.integers(1, 20, (m, n)) * (rng.random((m, n)) < density)).astype(dtype)
    graph = sp.coo_array(matrix).asformat(format)
    try:
        want = scipy_matching(graph, maximize)
    except ValueError as error:
        with pytest.raises(ValueError, match=f"^{error}$"):
            lw.min_weight_full_bipartite_matching(graph, maximize)
        return
    got = lw.min_weight_full_bipartite_matching(graph, maximize)
    assert matrix[got].sum() == matrix[want].sum()
    assert [x.dtype for x in got] == [x.dtype for x in want] and [len(x) for x in got] == [len(x) for x in want]
    assert (np.diff(got[0]) > 0).all()


def test_zeros_and_infinities_are_no_edges():
    graph = sp.csr_array(([0.0, 2.0, np.inf, 1.0], [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
    with pytest.warns(UserWarning, match="explicit zero weights"), pytest.raises(ValueError, match="no full matching"):
        lw.min_weight_full_bipartite_matching(graph)
    big = sp.csr_array(np.array([[2**57 + 1, 2**57], [2**57, 2**57]]))
    assert lw.min_weight_full_bipartite_matching(big)[1].tolist() == [1, 0]


def test_duplicates_are_added_before_weights_are_looked_at():
    with pytest.warns(UserWarning, match="explicit zero"), pytest.raises(ValueError, match="no full matching"):
        lw.min_weight_full_bipartite_matching(sp.coo_matrix((np.array([4, -4]), ([0, 0], [0, 0])), shape=(1, 1)))
    graph = sp.coo_matrix(([np.inf, 1, 5, 1, 1], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1])), shape=(2, 2))
    assert lw.min_weight_full_bipartite_matching(graph)[1].tolist() == [1, 0]


def test_room_for_more_entries_holds_none():
    graph = sp.csr_matrix(np.array([[3.0, 1.0], [1.0, 2.0]]))
    graph.data, graph.indices = np.append(graph.data, [0.0, 5.0]), np.append(graph.indices, [0, 1]).astype(np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.min_weight_full_bipartite_matching(graph)[1].tolist() == [1, 0]
    graph.data[1] = np.inf
    with pytest.raises(ValueError, match="no full matching exists"):
        lw.min_weight_full_bipartite_matching(sp.csr_matrix(np.array([[np.inf, 1.0], [np.inf, 2.0]])))
    assert lw.min_weight_full_bipartite_matching(graph)[1].tolist() == [0, 1]


def test_damaged_matrices():
    graph = sp.csr_matrix(np.eye(3))
    graph.indptr[1] = 50_000_000  # SciPy's conversions would read there
    with pytest.raises(ValueError, match="damaged indptr"):
        lw.min_weight_full_bipartite_matching(graph)
    graph = sp.coo_matrix(np.eye(3))
    graph.data = graph.data[:-1]
    with pytest.raises(ValueError, match="damaged indices: 3 rows, 3 columns and 2 costs"):
        lw.min_weight_full_bipartite_matching(graph)
    graph = sp.coo_matrix(np.eye(3))
    graph.row[0] = -1
    with pytest.raises(ValueError, match="entry in row -1 of 3"):
        lw.min_weight_full_bipartite_matching(graph)


def test_errors_are_scipys():
    with pytest.raises(TypeError, match="graph must be sparse"):
        lw.min_weight_full_bipartite_matching(np.eye(2))
    with pytest.raises(TypeError, match="CSC, CSR, or COO"):
        lw.min_weight_full_bipartite_matching(sp.lil_array(np.eye(2)))
    with pytest.raises(ValueError, match="invalid numeric entries"):
        lw.min_weight_full_bipartite_matching(sp.csr_array([[np.nan, 1.0]]))
