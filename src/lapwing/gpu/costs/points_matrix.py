"""The matrix of the costs of points, held in a GPU's memory, where a cost is read sooner than it is computed again.

To compute a cost again takes as many coordinates as there are dimensions; to read it from a matrix takes one number.
Boxes (spatial_order.py) spare most pairs in few dimensions, but in many dimensions hardly any, and few points have
none. So the matrix of points of at least LEAST_DIMS dimensions, or of fewer than LEAST_COMPUTED points, is written
once, if there is room for it (kernels/costs/points_matrix.cu). The solve is then that of any matrix in the GPU's
memory. The certificate computes the costs again (kernels/certificate/point_tiles.cuh), since it has to prove the costs
as they are defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lapwing.costs.points import PointCost
from lapwing.gpu.costs.computed import ComputedCosts
from lapwing.gpu.runtime.arrays import ANY, ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import POINTS_MATRIX
from lapwing.gpu.runtime.tuning import OWN_LINES, OWN_POSITIONS, TILE_SIDE

LEAST_DIMS = 4
LEAST_COMPUTED = 1 << 14  # points of the larger side
_PACK = 16  # bytes that are written at once, and at a multiple of which each row begins
_THREADS = POINTS_MATRIX.constants["THREADS"]


def is_read_sooner(source: PointCost) -> bool:
    """Whether costs are read sooner from a matrix than they are computed again."""
    return source.dims >= LEAST_DIMS or max(source.shape) < LEAST_COMPUTED


def planned_points_matrix(shape: tuple[int, int], dtype: str, fixed: bool) -> GpuArray:
    """A matrix as it will lie on the GPU, without memory yet: by columns if those are solved as rows.

    `fixed`: rows are solved as they are.
    """
    transposed = not fixed and shape[0] > shape[1]
    pack = _PACK // ITEM_BYTES[dtype]
    pitch = -(-(shape[0] if transposed else shape[1]) // pack) * pack
    return GpuArray(None, 0, shape, (1, pitch) if transposed else (pitch, 1), dtype, 0, 0, ANY)


def bytes_of(matrix: GpuArray) -> int:
    """Of its memory."""
    pitch = max(matrix.strides)
    return pitch * (matrix.shape[1] if matrix.strides[1] == pitch else matrix.shape[0]) * ITEM_BYTES[matrix.dtype]


def write_points_matrix(
    context: Context, cost: ComputedCosts, fixed: bool, array_template: GpuArray | None, wait: Callable[[], None]
) -> GpuArray:
    """Write the costs of points that were uploaded for tiles; `wait` is called between the parts of a long pass."""
    view = planned_points_matrix(cost.shape, cost.dtype, fixed)
    memory = empty_array(context, (bytes_of(view) // ITEM_BYTES[cost.dtype],), cost.dtype, array_template)
    transposed = view.strides[0] == 1
    for part in cost.cost_program.parts_by_tiles(*(cost.shape[::-1] if transposed else cost.shape)):
        if part.start:
            wait()
        write_lines(context, cost, transposed, part, max(view.strides), memory.pointer)
    return replace(memory, shape=view.shape, strides=view.strides)


def write_lines(
    context: Context, cost: ComputedCosts, transposed: bool, lines: range, pitch: int, pointer: int
) -> None:
    """Write some rows, or columns if `transposed`, `pitch` elements apart; line 0 lies, or would lie, at `pointer`."""
    positions = cost.shape[0] if transposed else cost.shape[1]
    block = cost.cost_program.exchanged if transposed else cost.block
    variant = POINTS_MATRIX.variant(COST=cost.dtype, TEXT=cost.cost_program.text)
    down = TILE_SIDE * OWN_LINES * 4 // ITEM_BYTES[cost.dtype]
    grid = -(-len(lines) // down) * -(-positions // (TILE_SIDE * OWN_POSITIONS))
    ends = lines.start, lines.stop, positions, pitch
    kernels(context, POINTS_MATRIX, variant)["write_matrix"].launch(context, grid, _THREADS, block, *ends, pointer)
