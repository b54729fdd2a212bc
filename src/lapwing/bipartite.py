"""`scipy.sparse.csgraph.min_weight_full_bipartite_matching` under its own name."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.api import solve
from lapwing.costs.scipy_matrices import from_scipy
from lapwing.costs.sparse import SparseCost
from lapwing.errors import InfeasibleError, InvalidCostError


def min_weight_full_bipartite_matching(
    biadjacency: Any, maximize: bool = False
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """`scipy.sparse.csgraph.min_weight_full_bipartite_matching`: its signature, results, exception types and texts.

    Parameters
    ----------
    biadjacency : (m, n) SciPy sparse matrix or array of format CSR, CSC or COO, real
        Missing pairs are no edges. Explicit zeros are none either, as in SciPy, with its warning, and pairs of weight
        +inf (-inf when maximising). Of a pair that is given twice the sum counts. Integers are matched exactly.
    maximize : bool

    Returns
    -------
    row_ind, col_ind : (min(m, n),) int64 and int32; of a tall matrix int32 and int64
        The matched rows and columns, the rows in increasing order.

    Raises
    ------
    TypeError
        "graph must be sparse", "graph must be in CSC, CSR, or COO format."
    ValueError
        "expected a matrix containing numerical entries, got ...", "no full matching exists", "matrix contains invalid
        numeric entries" (NaN, and infinities of the wrong sign, for which SciPy has answers of no meaning).
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is None or not sparse.issparse(biadjacency):
        raise TypeError("graph must be sparse")
    if biadjacency.format not in ("csr", "csc", "coo"):
        raise TypeError("graph must be in CSC, CSR, or COO format.")
    if not (np.issubdtype(biadjacency.dtype, np.number) or biadjacency.dtype == np.bool_):
        raise ValueError(f"expected a matrix containing numerical entries, got {biadjacency.dtype}")
    if biadjacency.dtype.kind == "c" or biadjacency.dtype.itemsize > 8:
        biadjacency = biadjacency.astype(np.float64)
    pairs = from_scipy(biadjacency)
    weights = pairs.data
    if not np.all(weights):
        warnings.warn("explicit zero weights are removed before matching", stacklevel=2)
    kept = weights != 0
    if weights.dtype.kind == "f":
        kept &= weights != (-np.inf if maximize else np.inf)
    try:
        answer = solve(_only(pairs, kept), maximize=bool(maximize), certify=False)
    except InfeasibleError as error:
        raise ValueError("no full matching exists") from error
    except InvalidCostError as error:
        raise ValueError("matrix contains invalid numeric entries") from error
    rows, cols = answer.row_ind, answer.col_ind
    narrow = np.int32
    return (rows.astype(narrow), cols) if pairs.shape[1] < pairs.shape[0] else (rows, cols.astype(narrow))


def _only(pairs: SparseCost, kept: NDArray[np.bool_]) -> SparseCost:
    """Some of the pairs."""
    if kept.all():
        return pairs
    before = np.concatenate([[0], np.cumsum(kept)])
    return replace(pairs, indptr=before[pairs.indptr], indices=pairs.indices[kept], data=pairs.data[kept])
