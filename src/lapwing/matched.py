"""Matched costs with gradients, and pairs as SciPy's, from an answer in any array library and on any device.

An assignment is piecewise constant in the costs, so it carries no gradient; the matched costs do, each to its own
pair. Only indexing is used, which every library runs, and PyTorch and JAX differentiate; nothing waits for the GPU.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lapwing.tensors import is_tensor, loaded_torch


def matched_costs(costs: Any, row_to_col: Any) -> Any:
    """The cost of each row's pair, 0 where the row is free.

    Parameters
    ----------
    costs : (B, m, n) or (m, n) array
    row_to_col : (B, m) or (m,) integers of the same library and device, -1 where a row is free

    Returns
    -------
    (B, m) or (m,) array
        With the gradient to the matched pairs, if `costs` asks for one. Forbidden pairs and NaN beyond a problem's rows
        and columns do not come into it.
    """
    library = library_of(costs)
    if costs.shape[-1] == 0:
        return costs.sum(-1)
    free = row_to_col < 0
    cols = library.where(free, 0, row_to_col)
    if library.__name__ == "torch":
        bits = _as_signed(costs, library)
        matched = bits.gather(-1, cols.unsqueeze(-1)).squeeze(-1)
        matched = library.where(free, matched.new_zeros(()), matched)
        return matched if bits is costs else matched.view(costs.dtype)
    return library.where(free, 0, library.take_along_axis(costs, cols[..., None], -1)[..., 0])


def _as_signed(costs: Any, torch: Any) -> Any:
    """Unsigned integers as signed ones of the same bits, where `gather` of PyTorch 2.11 does not take them."""
    name = str(costs.dtype)
    if name not in ("torch.uint16", "torch.uint32", "torch.uint64"):  # which old versions do not have
        return costs
    return costs.view(getattr(torch, name.replace("torch.u", "")))


def matched_pairs(row_to_col: Any, cols: int) -> tuple[Any, Any]:
    """The matched rows in increasing order and their columns, as `scipy.optimize.linear_sum_assignment` returns them.

    Parameters
    ----------
    row_to_col : (B, m) integers, -1 where a row is free
    cols : int
        Columns of a problem.

    Returns
    -------
    row_ind, col_ind : (B, min(m, cols)) int64
        At the end -1 where a problem has fewer pairs: with counts, unmatched costs, or without an answer.
    """
    library = library_of(row_to_col)
    rows = row_to_col.shape[-1]
    index = library.arange(rows, **({"device": row_to_col.device} if library.__name__ == "torch" else {}))
    order = library.argsort(library.where(row_to_col < 0, index + rows, index), -1)[..., :cols]
    chosen = (
        row_to_col.gather(-1, order) if library.__name__ == "torch" else library.take_along_axis(row_to_col, order, -1)
    )
    return library.where(chosen < 0, -1, order), chosen


def col_to_row(row_to_col: Any, cols: int) -> Any:
    """The row of each column, -1 where the column is free.

    Parameters
    ----------
    row_to_col : (B, m) integers, -1 where a row is free
    cols : int

    Returns
    -------
    (B, cols) int64
    """
    library = library_of(row_to_col)
    count, rows = row_to_col.shape
    chosen = library.where(row_to_col < 0, cols, row_to_col)  # free rows share a column beyond, cut off below
    if library.__name__ == "torch":
        index = library.arange(rows, device=row_to_col.device).expand(count, rows)
        return row_to_col.new_full((count, cols + 1), -1).scatter_(1, chosen, index)[:, :cols]
    lines = library.arange(count)[:, None]
    answer = library.full((count, cols + 1), -1, row_to_col.dtype)
    if library.__name__ == "jax.numpy":
        return answer.at[lines, chosen].set(library.arange(rows))[:, :cols]
    answer[lines, chosen] = library.arange(rows)
    return answer[:, :cols]


def library_of(array: Any) -> Any:
    """The module whose functions take this array."""
    if is_tensor(array):
        return loaded_torch()
    for name, module, kind in (("cupy", "cupy", "ndarray"), ("jax", "jax.numpy", "Array")):
        loaded = sys.modules.get(name)
        if loaded is not None and isinstance(array, getattr(loaded, kind)):
            return sys.modules[module]
    return np
