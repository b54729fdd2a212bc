"""equilibrate: magnitudes at most 1, 1 on a transversal of the largest product, also where none is complete."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import structural_rank

import lapwing as lw


def random_matrix(rng, shape, density, dtype, decades=3.0):
    """Magnitudes over some decades, signs or phases at random."""
    there = rng.random(shape) < density
    values = 10 ** (decades * (2 * rng.random(shape) - 1)) * np.where(rng.random(shape) < 0.5, -1, 1)
    if np.dtype(dtype).kind == "c":
        values = values * np.exp(2j * np.pi * rng.random(shape))
    elif np.dtype(dtype).kind in "iu":
        values = np.rint(np.clip(np.abs(values), 1, 100))
    return np.where(there, values, 0).astype(dtype)


def assert_scaled(matrix, found):
    """1 on the chosen entries, at most 1 elsewhere; returns the sum of log|a| over the chosen ones."""
    scaled = np.abs(found.row_scale[:, None] * matrix.astype(complex) * found.col_scale)
    rows = np.flatnonzero(found.row_to_col >= 0)
    cols = found.row_to_col[rows]
    assert len(set(cols.tolist())) == len(cols) == found.structural_rank
    assert scaled[rows, cols] == pytest.approx(1, abs=1e-10)
    assert not scaled.size or scaled.max() <= 1 + 1e-10
    return np.log(np.abs(matrix[rows, cols].astype(complex))).sum()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(-3, 3),
    st.sampled_from(["float64", "float32", "complex128", "int32"]),
)  # fmt: skip
def test_complete_transversals(seed, m, more, dtype):
    rng = np.random.default_rng(seed)
    n = max(1, m + more)
    matrix = random_matrix(rng, (m, n), 1.0 if seed % 3 == 0 else 0.5, dtype)
    k = min(m, n)
    matrix[rng.permutation(m)[:k], rng.permutation(n)[:k]] = 2
    expected = np.full((m, n), 1e6)
    there = matrix != 0
    expected[there] = -np.log(np.abs(matrix[there]))
    best = -expected[linear_sum_assignment(expected)].sum()
    for given_matrix in (matrix, sp.csr_array(matrix), sp.csc_array(matrix), sp.coo_array(matrix)):
        found = lw.equilibrate(given_matrix)
        assert found.structural_rank == k
        assert assert_scaled(matrix, found) == pytest.approx(best, abs=1e-6)
    if m <= n:
        order = found.permutation
        assert sorted(order) == list(range(n))
        assert (matrix[:, order].diagonal() != 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 12), st.floats(0, 0.3))
def test_structurally_singular_matrices(seed, m, n, density):
    matrix = random_matrix(np.random.default_rng(seed), (m, n), density, "float64")
    rank = structural_rank(sp.csr_array(matrix)) if m and n else 0
    if rank == min(m, n):
        found = lw.equilibrate(matrix)
    else:
        with pytest.warns(RuntimeWarning, match=f"structurally singular: at most {rank} entries"):
            found = lw.equilibrate(sp.csr_array(matrix))
    assert found.structural_rank == rank
    assert_scaled(matrix, found)
    if m <= n:
        assert sorted(found.permutation) == list(range(n))


def test_the_largest_product_among_the_largest_transversals():
    matrix = np.array([[1.0, 8.0, 0.0], [4.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    with pytest.warns(RuntimeWarning, match="structurally singular"):
        found = lw.equilibrate(matrix)
    assert found.row_to_col.tolist() == [1, 0, -1]
    assert found.permutation.tolist() == [1, 0, 2]


def test_magnitudes_beyond_float64():
    matrix = np.array([[1e300, 1e-300], [1e-300, 1e-300]])
    found = lw.equilibrate(matrix)
    assert found.row_to_col.tolist() == [0, 1]
    assert assert_scaled(matrix, found) == pytest.approx(0, abs=1e-9)
    complex_matrix = np.array([[1.5e308 * (1 + 1j)]])
    assert lw.equilibrate(complex_matrix).row_to_col.tolist() == [0]
    chain = np.array([[1e300, 1e-300, 0.0], [0.0, 1e300, 1e-300], [1e-300, 0.0, 1e-320]])
    found = lw.equilibrate(chain)
    assert found.structural_rank == 3 and np.isfinite(found.log_row_scale).all()


def test_scales_out_of_range_are_named():
    found = lw.Equilibration(np.array([0]), 1, np.array([800.0]), np.array([-800.0]))
    with pytest.raises(lw.RangeError, match="scale of row 0 is exp"):
        _ = found.row_scale
    with pytest.raises(lw.RangeError, match="scale of column 0 .* log_col_scale"):
        _ = found.col_scale


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (np.ones(3), lw.ArgumentError, "2-D"),
        (np.array([["a"]]), lw.DtypeError, "numbers"),
        (np.array([[1.0, np.nan]]), lw.ArgumentError, r"entry \(0, 1\) is nan"),
        (sp.csr_array(np.array([[1.0, 2.0], [np.inf, 1.0]])), lw.ArgumentError, r"entry \(1, 0\) is inf"),
    ],
)
def test_bad_input(matrix, error, words):
    with pytest.raises(error, match=words):
        lw.equilibrate(matrix)


def test_damaged_and_masked_matrices():
    for matrix in (sp.csr_array(np.eye(3)), sp.csc_array(np.eye(3))):
        matrix.indptr[1] = 50_000_000  # SciPy's conversions would read there
        with pytest.raises(lw.ArgumentError, match="damaged indptr"):
            lw.equilibrate(matrix)
    masked = np.ma.MaskedArray([[1.0, 5.0], [2.0, 3.0]], [[False, True], [False, False]])
    assert lw.equilibrate(masked).row_to_col.tolist() == [0, 1]


def test_small_integers_do_not_wrap_around():
    matrix = sp.coo_array((np.array([100, 100, 1, 1], np.int8), ([0, 0, 0, 1], [0, 0, 1, 1])), (2, 2))
    found = lw.equilibrate(matrix)
    assert found.log_row_scale[0] + found.log_col_scale[0] == pytest.approx(-np.log(200))


def test_a_tall_matrix_has_no_order_of_columns():
    with pytest.raises(lw.ArgumentError, match="transpose"):
        _ = lw.equilibrate(np.ones((3, 2))).permutation


def test_explicit_zeros_and_duplicates():
    matrix = sp.coo_array((np.array([0.0, 3.0, 2.0, 2.0, -2.0, 1.0]), ([0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 1, 1])), (2, 2))
    found = lw.equilibrate(matrix)
    assert found.row_to_col.tolist() == [1, 0]
    assert_scaled(matrix.toarray(), found)
