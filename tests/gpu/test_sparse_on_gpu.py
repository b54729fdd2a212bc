"""Sparse arrays of PyTorch, CuPy and JAX on a real GPU, solved where they are; and problems of thousands of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.sparse_classes import CLASSES, make

import lapwing as lw

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:Sparse")]

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")


def matrix_of(cls: str, n: int, seed: int = 1) -> tuple[Any, float | None]:
    made = make(cls, n, seed)
    price = None if np.isnan(made.price) else made.price
    return sp.csr_array((made.data, made.indices, made.indptr), shape=(n, n)), price


def as_tensor(matrix: Any, layout: str = "sparse_csr", indices: Any = np.int64) -> Any:
    torch = pytest.importorskip("torch")
    put = lambda part: torch.from_numpy(np.ascontiguousarray(part)).cuda()  # noqa: E731
    if layout == "sparse_coo":
        coo = matrix.tocoo()
        places = put(np.stack(coo.coords).astype(np.int64))
        return torch.sparse_coo_tensor(places, put(coo.data), matrix.shape, is_coalesced=True)
    lines = matrix.tocsc() if layout == "sparse_csc" else matrix.tocsr()
    parts = [put(part.astype(indices)) for part in (lines.indptr, lines.indices)]
    kind = torch.sparse_csc_tensor if layout == "sparse_csc" else torch.sparse_csr_tensor
    return kind(*parts, put(lines.data), size=matrix.shape, check_invariants=False)


def check(array: Any, matrix: Any, **options: Any) -> lw.Result:
    """Solve where the array is; the CPU certifies the answer, and finds the same optimum."""
    result = lw.solve(array, **options)
    assert result.plan.device == "cuda:0" and result.plan.tier == "sparse"
    assert result.certificate is not None and result.certificate.complete
    expected = lw.solve(matrix, **options)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12, abs=1e-12)
    answer = [part if isinstance(part, np.ndarray) else _read(part) for part in (result.row_to_col, result.u, result.v)]
    proof = lw.certify(matrix, *answer, **options)
    assert proof.complete and proof.bound <= 1e-9 * max(1, abs(expected.objective))
    return result


def _read(part: Any) -> np.ndarray:
    return part.get() if hasattr(part, "get") else np.asarray(part.cpu() if hasattr(part, "cpu") else part)


@pytest.mark.parametrize("n", [100, 3000, 20_000])
@pytest.mark.parametrize("cls", CLASSES)
def test_classes(cls: str, n: int) -> None:
    matrix, price = matrix_of(cls, n)
    result = check(as_tensor(matrix), matrix, unmatched_cost=price)
    assert result.row_to_col.is_cuda and result.u.is_cuda


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_coo"])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(900, 900), (700, 1500), (1500, 700)])
def test_layouts(layout: str, indices: Any, shape: tuple[int, int]) -> None:
    matrix = matrix_of("random:20", 1500)[0][: shape[0], : shape[1]]
    matrix = (matrix + sp.eye_array(*shape)).tocsr().astype(np.float32)
    check(as_tensor(matrix, layout, indices), matrix)
    check(as_tensor(matrix, layout, indices), matrix, maximize=True)
    check(as_tensor(matrix, layout, indices), matrix, unmatched_cost=0.1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    matrix = matrix_of("int:20", 500)[0]
    matrix.data %= 100
    tensor = as_tensor(matrix)
    torch = pytest.importorskip("torch")
    values = tensor.values().to(getattr(torch, dtype))
    given = torch.sparse_csr_tensor(tensor.crow_indices(), tensor.col_indices(), values, size=tensor.shape)
    result = lw.solve(given)
    assert result.certificate is not None and result.certificate.exact
    assert result.objective == lw.solve(matrix).objective
    assert isinstance(result.objective, float if dtype.startswith("float") else int)


@pytest.mark.parametrize("share", [0.04, 0.3])
@pytest.mark.parametrize("price", [None, 0.02])
@pytest.mark.parametrize("kind", ["uniform", "ties"])
def test_long_rows(share: float, price: float | None, kind: str) -> None:
    """Lists that hold a part of a row, which is refreshed from its entries."""
    rng = np.random.default_rng(7)
    cells = rng.random((1500, 1500)) < share
    np.fill_diagonal(cells, True)
    row, col = np.nonzero(cells)
    costs = rng.random(len(row)) if kind == "uniform" else rng.integers(0, 6, len(row)) / 4
    matrix = sp.csr_array((costs, (row, col)), cells.shape)
    check(as_tensor(matrix), matrix, unmatched_cost=price)


def test_infeasible_and_damaged() -> None:
    torch = pytest.importorskip("torch")
    matrix = matrix_of("random:5", 2000)[0].tolil()
    for row in (3, 80, 1100):
        matrix[[row]] = 0
        matrix[row, [2, 5]] = 1.0
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(as_tensor(matrix.tocsr()))
    assert sorted(caught.value.rows.tolist()) == [3, 80, 1100] and sorted(caught.value.cols.tolist()) == [2, 5]
    partial = lw.solve(as_tensor(matrix.tocsr()), infeasible="partial")
    assert partial.status == "partial"
    twice = torch.sparse_coo_tensor([[0, 0, 1, 1], [0, 0, 1, 0]], [1, 2, 3, 1], (2, 3), device="cuda")
    assert lw.solve(twice).objective == 6
    damaged = as_tensor(matrix_of("random:5", 50)[0])
    damaged.col_indices()[7] = 90
    with pytest.raises(lw.ArgumentError, match="90 of 50"):
        lw.solve(damaged)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_coo"])
def test_prices_of_columns(layout: str) -> None:
    """The host solves, and answers on the GPU."""
    torch = pytest.importorskip("torch")
    matrix = matrix_of("random:20", 700)[0][:, :500]
    rows, cols = np.full(700, 0.1), np.where(np.arange(500) % 9, 0.2, np.inf)
    for prices in ((rows, cols), tuple(torch.from_numpy(each).cuda() for each in (rows, cols)), (0.1, 0.2)):
        result = lw.solve(as_tensor(matrix, layout), unmatched_cost=prices)
        on_host = tuple(each.cpu().numpy() if isinstance(each, torch.Tensor) else each for each in prices)
        assert result.plan.device == "cpu" and result.row_to_col.is_cuda and result.u.is_cuda
        assert result.objective == pytest.approx(lw.solve(matrix, unmatched_cost=on_host).objective, rel=1e-12)
        answer = [_read(part) for part in (result.row_to_col, result.u, result.v)]
        assert lw.certify(matrix, *answer, unmatched_cost=on_host).bound <= 1e-9


def test_host_arrays_and_limits() -> None:
    matrix, _ = matrix_of("random:20", 20_000)
    result = lw.solve(matrix, device="cuda")
    assert isinstance(result.u, np.ndarray) and result.certificate is not None and result.certificate.complete
    late = lw.solve(as_tensor(matrix), time_limit=0.001)
    assert late.lower_bound <= result.objective * (1 + 1e-12)


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    from cupyx.scipy import sparse

    matrix, price = matrix_of("knn:16", 2000)
    parts = [cupy.asarray(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
    given = sparse.csr_matrix(tuple(parts), shape=matrix.shape)
    for array in (given, given.tocsc(), given.tocoo()):
        result = check(array, matrix, unmatched_cost=price)
        assert isinstance(result.u, cupy.ndarray)


def test_jax(request: pytest.FixtureRequest) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)  # for duals
    request.addfinalizer(lambda: jax.config.update("jax_enable_x64", False))
    from jax.experimental import sparse

    if jax.default_backend() not in ("gpu", "cuda"):
        pytest.skip("JAX has no GPU here")
    matrix = matrix_of("random:5", 1000)[0].astype(np.float32)
    coo = matrix.tocoo()
    places = jax.numpy.asarray(np.pad(np.stack(coo.coords, 1), ((0, 3), (0, 0)), constant_values=1000))
    padded = sparse.BCOO((jax.numpy.asarray(np.pad(coo.data, (0, 3))), places), shape=matrix.shape)
    result = check(padded, matrix)
    assert not isinstance(result.u, np.ndarray)
    parts = (jax.numpy.asarray(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    check(sparse.BCSR(tuple(parts), shape=matrix.shape), matrix)
