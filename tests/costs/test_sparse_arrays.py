"""Sparse arrays of PyTorch, JAX and CuPy: the answers of SciPy's array with the same entries, and never a matrix."""

import sys
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw


@pytest.fixture
def matrix():
    rng = np.random.default_rng(5)
    n, k = 40_000, 3  # 12 GB, written out
    rows = np.r_[np.repeat(np.arange(n), k), np.arange(n)]
    cols = np.r_[rng.integers(0, n, n * k), rng.permutation(n)]
    made = sp.csr_array((rng.random(len(rows)), (rows, cols)), (n, n))
    made.sum_duplicates()
    return made


def assert_same(array, matrix, **options):
    result, expected = lw.solve(array, **options), lw.solve(matrix, **options)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.certificate.complete and result.plan.method == "sparse"
    return result


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("unmatched", [None, 0.4])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_torch(layout, unmatched, matrix):
    torch = pytest.importorskip("torch")
    coo = matrix.tocoo()
    places = torch.from_numpy(np.stack(coo.coords).astype(np.int64))
    tensor = torch.sparse_coo_tensor(places, torch.from_numpy(coo.data), matrix.shape)
    if layout != "sparse_coo":
        tensor = tensor.coalesce().to_sparse(layout=getattr(torch, layout))
    result = assert_same(tensor, matrix, unmatched_cost=unmatched)
    assert isinstance(result.row_to_col, torch.Tensor)
    lw.plan(tensor)
    assert lw.certify(tensor, result.row_to_col, result.u, result.v, unmatched_cost=unmatched).complete


@pytest.mark.filterwarnings("ignore:Sparse")
def test_torch_duplicates_dtypes_and_what_is_no_matrix():
    torch = pytest.importorskip("torch")
    tensor = torch.sparse_coo_tensor([[0, 0, 1, 1], [0, 0, 1, 0]], [1, 2, 3, 1], (2, 3))
    assert lw.solve(tensor).objective == 6
    assert isinstance(lw.solve(tensor).objective, int)
    assert lw.solve(tensor.to(torch.bfloat16)).objective == 6.0
    assert lw.solve(tensor.float().requires_grad_()).objective == 6.0
    assert lw.equilibrate(tensor.double()).structural_rank == 2
    with pytest.raises(lw.ArgumentError, match="2-D"):
        lw.solve(torch.sparse_coo_tensor([[0], [0], [0]], [1.0], (2, 2, 2)))
    with pytest.raises(lw.ArgumentError, match="hybrid"):
        lw.solve(torch.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [2.0, 1.0]], (2, 2)))
    with pytest.raises(lw.DtypeError, match="to_dense"):
        lw.solve(torch.eye(4).to_sparse_bsr((2, 2)))
    nan = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, float("nan")], (2, 2))
    with pytest.raises(lw.InvalidCostError) as failure:
        lw.solve(nan)
    assert (failure.value.row, failure.value.col) == (1, 0)


@pytest.mark.parametrize("kind", ["BCOO", "BCSR"])
@pytest.mark.filterwarnings("ignore")  # JAX warns of itself
def test_jax(kind, matrix):
    pytest.importorskip("jax")
    from jax.experimental import sparse

    matrix = matrix.astype(np.float32)
    assert_same(getattr(sparse, kind).from_scipy_sparse(matrix), matrix)


@pytest.mark.filterwarnings("ignore")
def test_padding_of_jax_is_no_pair():
    jax = pytest.importorskip("jax")
    from jax.experimental import sparse

    dense = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]], np.float32)
    for kind in (sparse.BCOO, sparse.BCSR):
        padded = kind.fromdense(jax.numpy.asarray(dense), nse=5)
        assert lw.solve(padded).row_to_col.tolist() == [1, 0]
    with pytest.raises(lw.ArgumentError, match="batched"):
        lw.solve(sparse.BCOO.fromdense(jax.numpy.asarray(dense), n_batch=1))


def test_cupy(monkeypatch, matrix):
    class OnGpu:
        """What CuPy's sparse matrices answer."""

        shape = matrix.shape

        def get(self):
            return matrix

    module = ModuleType("cupyx.scipy.sparse")
    module.issparse = lambda value: isinstance(value, OnGpu)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", module)
    result = lw.solve(OnGpu(), device="cpu")  # copied, as the user wants
    assert result.objective == lw.solve(matrix).objective
