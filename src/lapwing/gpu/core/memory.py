"""The memory of one solve by the core method: the duals, and the workspace that kernels carve up.

`State::carve` of kernels/core/state.cuh lays out the workspace; its arrays are those of kernels/core/arrays.cuh.
"""

from __future__ import annotations

from functools import lru_cache

from lapwing.gpu.runtime.programs import CORE_START
from lapwing.gpu.runtime.tuning import arrays, number
from lapwing.gpu.runtime.workspace import Layout, lay_out

PARTNERS = 256  # bytes from the workspace's beginning to row_to_col
_ALIGNMENT, _HEAD_BYTES = (number("core/state.cuh", name) for name in ("kArrayAlignment", "kHeadBytes"))
_ARRAYS = arrays("core/arrays.cuh")  # of the workspace
_ITEM_BYTES = {"int32": 4, "uint32": 4, "uint64": 8, "Dual": 8, "Edge": 8}  # ListCost, ListingPrice: by the costs
_COLS_COUNTED = CORE_START.constants["THREADS"]  # columns for which blocks are counted, beside the columns' keys


@lru_cache(maxsize=256)
def workspace_bytes(rows: int, cols: int, dtype: str) -> int:
    """Memory that kernels carve up, for `rows` <= `cols`: without the duals."""
    listed = _listed_bytes(dtype)
    counts = {"rows": rows, "cols": cols, "rows + cols": rows + cols}
    parts = [rows * 4, *(factor * counts[name] * (_ITEM_BYTES.get(kind) or listed) for kind, factor, name in _ARRAYS)]
    return _HEAD_BYTES + sum(map(_aligned, parts))


def list_arrays(rows: int, dtype: str) -> list[tuple[int, int]]:
    """Of the candidate lists and tau: the offset in the state, and bytes of a row."""
    listed = _listed_bytes(dtype)
    at, found = _HEAD_BYTES + _aligned(rows * 4), []
    for kind, factor, name in _ARRAYS[:3]:
        assert name == "rows"
        found.append((at, factor * (_ITEM_BYTES.get(kind) or listed)))
        at += _aligned(rows * found[-1][1])
    return found


def _listed_bytes(dtype: str) -> int:
    """Of a cost in a list, and at most of a price for listings."""
    return 4 if dtype in ("float16", "bfloat16", "float32") else 8


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


@lru_cache(maxsize=256)
def layout(rows: int, cols: int, dtype: str, dual: str) -> Layout:
    """Of a solve's memory."""
    sizes = {
        "state": (workspace_bytes(rows, cols, dtype), "uint8"),
        "u": (rows, dual), "v": (cols, dual), "picked": (rows, dual), "keys": (key_count(cols), "int64"),
    }  # fmt: skip
    return lay_out(sizes)


def key_count(cols: int) -> int:
    """Words for column minima."""
    return cols + -(-cols // _COLS_COUNTED)
