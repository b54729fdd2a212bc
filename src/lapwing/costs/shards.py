"""A matrix whose rows are shared out among several GPUs of one host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.arrays import read_view, view_if_on_gpu
from lapwing.costs.base import CostArray, CostSource, Tier
from lapwing.costs.dtypes import core_dtype
from lapwing.errors import ArgumentError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray


@dataclass(frozen=True, eq=False)
class ShardedMatrix(CostSource):
    """See `sharded`; `parts` are views of the shards.

    `seen`: their addresses on the GPU of the first, if these are others.
    """

    tier: ClassVar[Tier] = "sharded"
    parts: tuple[GpuArray, ...]
    seen: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        given = self.parts[0].dtype
        return core_dtype(np.dtype("float32" if given == "bfloat16" else given))

    @property
    def device_of(self) -> GpuArray | None:
        return self.parts[0]

    def read(self, rows: slice) -> CostArray:
        """Some rows, copied from the GPUs."""
        wanted = np.arange(self.shape[0])[rows]
        found, first = [np.empty((0, self.shape[1]), self.dtype)], 0
        for part in self.parts:
            last = first + part.shape[0]
            own = wanted[(wanted >= first) & (wanted < last)] - first
            if len(own):
                begin, end = int(own.min()), int(own.max()) + 1
                block = read_view(_block_of(part, range(begin, end), range(part.shape[1])))
                found.append(block[own - begin].astype(self.dtype, copy=False))
            first = last
        return np.concatenate(found if len(wanted) < 2 or wanted[0] < wanted[1] else found[::-1])

    def compiled(self, transposed: bool) -> Any:
        matrix = np.asarray(self)
        return np.ascontiguousarray(matrix.T) if transposed else matrix

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        found, first = [], 0
        for part in self.parts:
            own = row_to_col[first : first + part.shape[0]].tolist()
            pairs = (_block_of(part, range(i, i + 1), range(j, j + 1)) for i, j in enumerate(own) if j >= 0)
            found += [read_view(pair)[0, 0] for pair in pairs]
            first += part.shape[0]
        return np.array(found, self.dtype)


def sharded(parts: Sequence[Any]) -> ShardedMatrix:
    """A matrix whose rows are shared out among GPUs of one host: the blocks of rows, one behind the other.

    The solve runs on the GPU of the first block, and its answer is there. Every GPU reads its own rows; the first one
    also reads single rows of the others, which needs peer access (NVLink, or PCI Express where the host allows it).

    Parameters
    ----------
    parts : sequence of arrays on GPUs
        At most 8 blocks (m_k, n) of one dtype, with all columns; their rows contiguous, and laid out alike.

    Raises
    ------
    ArgumentError
        If they are not blocks of rows of one matrix on GPUs.

    Examples
    --------
    >>> rows = torch.rand(8, 16).chunk(2)
    >>> blocks = [part.to(f"cuda:{k}") for k, part in enumerate(rows)]  # doctest: +SKIP
    >>> lapwing.solve(lapwing.costs.sharded(blocks)).objective  # doctest: +SKIP
    """
    views = []
    for k, part in enumerate(parts):
        view = view_if_on_gpu(part)
        if view is None:
            raise ArgumentError(
                f"shard {k} is not on a GPU: move it there, or pass the whole matrix to solve with device=[...]"
            )
        views.append(view)
    _check(views)
    return ShardedMatrix(tuple(views))


def _block_of(part: GpuArray, rows: range, cols: range) -> GpuArray:
    from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray

    at = part.pointer + (rows.start * part.strides[0] + cols.start * part.strides[1]) * ITEM_BYTES[part.dtype]
    shape = (len(rows), len(cols))
    return GpuArray(part.owner, at, shape, part.strides, part.dtype, part.ordinal, part.stream, part.library)


def _check(views: Sequence[GpuArray]) -> None:
    """Check that matrices on GPUs are blocks of rows of one matrix, which kernels can read as they are.

    Raises
    ------
    ArgumentError
    """
    from lapwing.gpu.runtime.tuning import MOST_SHARDS

    if not 1 <= len(views) <= MOST_SHARDS:
        raise ArgumentError(f"costs.sharded takes 1 to {MOST_SHARDS} shards, got {len(views)}: join some of them")
    first = views[0]
    for k, view in enumerate(views):
        if len(view.shape) != 2:
            raise ArgumentError(f"shard {k} must be a matrix (2-D), got {len(view.shape)}-D of shape {view.shape}")
        if view.shape[1] != first.shape[1]:
            raise ArgumentError(
                f"shard {k} has {view.shape[1]} columns and shard 0 has {first.shape[1]}: shards are blocks of rows of "
                "one matrix, with all of its columns"
            )
        if view.dtype != first.dtype:
            raise ArgumentError(f"shard {k} is of dtype {view.dtype} and shard 0 of {first.dtype}: convert one of them")
        if view.shape[0] == 0:
            raise ArgumentError(f"shard {k} has no rows: leave it out")
    pitches = {view.strides[0] for view in views if view.shape[0] > 1}
    if len(pitches) > 1 or min(pitches, default=first.shape[1]) < first.shape[1]:
        raise ArgumentError(
            f"shards must be laid out alike, their rows one behind the other, got strides "
            f"{[view.strides for view in views]}: copy them in C order"
        )
    for k, view in enumerate(views):
        if view.strides[1] != 1 and view.shape[1] > 1:
            raise ArgumentError(
                f"the rows of shard {k} are not contiguous (strides {view.strides}): copy it in C order"
            )
