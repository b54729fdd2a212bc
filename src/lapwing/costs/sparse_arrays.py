"""Sparse arrays of SciPy, PyTorch, JAX and CuPy as sparse costs on the host. None of these libraries is imported here.

Arrays in a GPU's memory are copied to the host; `lapwing.gpu.costs.sparse` reads them where they are.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.arrays import is_gpu_array
from lapwing.costs.scipy_matrices import from_scipy
from lapwing.costs.sparse import SparseCost, edges, is_cupy_sparse, is_scipy_sparse, is_sparse_tensor, sparse
from lapwing.errors import ArgumentError
from lapwing.tensors import read_tensor


def as_sparse_cost(value: Any) -> SparseCost:
    """Whatever `costs.sparse.is_sparse` accepts, as sparse costs: explicit zeros are costs, duplicates are summed.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
        If it is no matrix, or its indices lead out of it, or its numbers are none that the core reads.
    """
    if isinstance(value, SparseCost):
        return value
    if len(value.shape) != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got a sparse array of shape {tuple(value.shape)}")
    if is_scipy_sparse(value):
        return from_scipy(value)
    if is_sparse_tensor(value):
        return _from_tensor(value)
    return from_scipy(value.get()) if is_cupy_sparse(value) else _from_jax(value)


def is_sparse_on_gpu(array: Any) -> bool:
    """Whether an array that `lapwing.costs.sparse.is_sparse` accepts is in a GPU's memory."""
    if is_sparse_tensor(array):
        return bool(array.is_cuda)
    if is_cupy_sparse(array):
        return True
    jax = sys.modules.get("jax.experimental.sparse")
    return jax is not None and isinstance(array, (jax.BCOO, jax.BCSR)) and is_gpu_array(array.data)


def _from_tensor(tensor: Any) -> SparseCost:
    """Gradients do not come into it."""
    torch = sys.modules["torch"]
    if tensor.dense_dim():
        raise ArgumentError("cost is a hybrid sparse tensor, whose entries are no numbers: pass a matrix of numbers")
    tensor = tensor.detach().cpu()
    rows, cols = (int(size) for size in tensor.shape)
    if tensor.layout == torch.sparse_coo:
        places = read_tensor(tensor._indices(), "indices")  # of a tensor that is not coalesced, too
        return edges(places[0], places[1], read_tensor(tensor._values(), "cost"), (rows, cols))
    data = read_tensor(tensor.values(), "cost")
    by_columns = tensor.layout == torch.sparse_csc
    ends, across = (
        (tensor.ccol_indices(), tensor.row_indices()) if by_columns else (tensor.crow_indices(), tensor.col_indices())
    )
    return sparse(read_tensor(ends, "indptr"), read_tensor(across, "indices"), data, (rows, cols), by_columns)


def _from_jax(array: Any) -> SparseCost:
    """JAX pads its arrays with entries whose indices lie just beyond the matrix: these are none."""
    if array.n_batch or array.n_dense:
        raise ArgumentError("cost is a batched or hybrid sparse array of JAX: pass a matrix of numbers")
    rows, cols = (int(size) for size in array.shape)
    data, indices = _on_host(array.data), _on_host(array.indices)
    if not hasattr(array, "indptr"):
        padding = (indices[:, 0] == rows) | (indices[:, 1] == cols)
        row, col = indices[~padding].T
        return edges(row, col, data[~padding], (rows, cols))
    ends = _on_host(array.indptr)
    count = int(ends[-1]) if len(ends) else 0
    return sparse(ends, indices[:count], data[:count], (rows, cols))


def _on_host(array: Any) -> NDArray[Any]:
    values: NDArray[Any] = np.asarray(array)
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values
