"""The grids of row_bounds and column_bounds (kernels/core/start/matrix.cuh)."""

from __future__ import annotations

from lapwing.gpu.runtime.programs import CORE_START
from lapwing.gpu.runtime.tuning import BOUND_COLS, BOUND_ROWS

_THREADS = CORE_START.constants["THREADS"]
_WARP = 32
_ROW_BLOCKS, _COLUMN_BLOCKS = 64, 16  # a processor


def row_grid(rows: int, processors: int) -> int:
    """Blocks of row_bounds over so many rows."""
    return min(-(-rows // (BOUND_ROWS * _THREADS // _WARP)), _ROW_BLOCKS * processors)


def column_grid(rows: int, cols: int, processors: int) -> tuple[int, int]:
    """Chunks of columns, each with a word behind the keys, and bands of rows, of column_bounds."""
    chunks = -(-cols // (BOUND_COLS * _THREADS))
    return chunks, max(1, min(rows, _COLUMN_BLOCKS * processors // chunks))
