"""Costs without some pairs: masked arrays, and sparse matrices without some entries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import lapwing as lw
from support.checks import assert_optimal

SQUARE = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("maximize", [False, True])
def test_masked_pairs_are_forbidden(dtype, maximize):
    cost = np.ma.masked_array(SQUARE.astype(dtype), mask=np.eye(3, dtype=bool))
    result = lw.solve(cost, maximize=maximize)
    dense = np.where(np.eye(3, dtype=bool), -np.inf if maximize else np.inf, SQUARE)
    assert_optimal(result, dense, maximize=maximize)


def test_what_is_masked_does_not_matter():
    cost = np.ma.masked_array([[np.nan, 1.0], [2.0, -np.inf]], mask=[[True, False], [False, True]])
    assert lw.solve(cost).objective == 3.0
    huge = np.ma.masked_array([[2**60, 1], [2, 2**60]], mask=[[True, False], [False, True]])
    assert lw.solve(huge).objective == 3


def test_masked_integers_of_a_method_that_reads_a_matrix():
    """A large number in place of a masked pair must be in range; else they must be exact in float64."""
    cost = np.ma.masked_array([[2**53 + 1, 1], [2, 3]], mask=[[False, False], [False, True]])
    assert lw.solve(cost).objective == lw.solve(cost, method="jv").objective == 3
    cost[0, 0] = 2**57 + 1
    with pytest.raises(lw.RangeError, match=r"144115188075855873.*2\^53"):
        lw.solve(cost, method="jv")
    assert lw.solve(cost).objective == 3


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix])
@pytest.mark.parametrize("maximize", [False, True])
def test_missing_entries_are_forbidden(form, maximize):
    dense = np.where(np.eye(3, dtype=bool), 0, SQUARE + 1)
    result = lw.solve(form(dense), maximize=maximize)
    assert_optimal(result, np.where(dense == 0, -np.inf if maximize else np.inf, dense), maximize=maximize)


def test_sparse_zeros_and_duplicates():
    matrix = sparse.coo_array(([0.0, 1.0, 2.0, 5.0], ([0, 1, 1, 0], [0, 1, 1, 1])), shape=(2, 2))
    result = lw.solve(matrix)
    assert result.row_to_col.tolist() == [0, 1] and result.objective == 3.0


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_room_for_more_entries_holds_none(make):
    matrix = make(np.array([[3.0, 1.0], [1.0, 2.0]]))
    matrix.data = np.append(matrix.data, [-9.0, 5.0])
    matrix.indices = np.append(matrix.indices, [0, 1]).astype(np.int32)
    for certify in (True, False):
        result = lw.solve(matrix, certify=certify)
        assert result.objective == result.matched_cost == 2 and result.is_unique()


def test_sparse_duplicates_are_summed_without_wrapping_around():
    matrix = sparse.coo_matrix((np.array([100, 100, 1], np.int8), ([0, 0, 1], [0, 0, 1])), (2, 2))
    assert lw.solve(matrix).objective == 201
    assert lw.solve(sparse.bsr_matrix(np.array([[100, 2], [3, 100]], np.int8))).objective == 5
    with pytest.raises(lw.RangeError, match="18446744073709551607, above the largest int64"):
        lw.solve(sparse.bsr_matrix(np.array([[2**64 - 9, 3], [3, 4]], np.uint64)))


def damaged(form, **changes):
    """A sparse matrix in whose arrays somebody wrote."""
    matrix = sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 1, 1], [0, 1, 0])), (2, 2)).asformat(form)
    for name, (at, value) in changes.items():
        getattr(matrix, name)[at] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (damaged("coo", row=(0, 10**8)), "entry in row 100000000 of 2"),
        (damaged("coo", col=(1, -1)), "entry in column -1 of 2"),
        (damaged("csr", indices=(0, 7)), "entry in column 7 of 2"),
        (damaged("csc", indices=(0, 7)), "entry in row 7 of 2"),
        (damaged("csr", indptr=(1, 50_000)), "damaged indptr: it must rise from 0 to the number of entries, 3"),
        (damaged("csr", indptr=(2, 4)), "damaged indptr"),
        (damaged("csc", indptr=(0, -1)), "damaged indptr"),
        (damaged("bsr", indices=(0, 9)), "entry in column 9"),
    ],
)
def test_sparse_indices_that_lead_out_of_the_matrix(matrix, words):
    with pytest.raises(lw.ArgumentError, match=words):
        lw.solve(matrix)


def test_sparse_matrices_beyond_memory():
    with pytest.raises(lw.ArgumentError, match=r"74505.8 GiB.*leave method= out"):
        lw.solve(sparse.coo_array((100_000_000, 100_000)), method="core")
