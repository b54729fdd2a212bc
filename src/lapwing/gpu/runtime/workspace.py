"""Scratch memory of a solve: one block, cut into typed arrays.

The block comes from the allocator of the user's library, which recycles it from solve to solve and knows how to do so
inside a graph capture, or else from the driver's stream-ordered pool. Either way it is free again, in the order of the
stream, when the workspace is closed or dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array
from lapwing.gpu.runtime.device import Context, checked

_ALIGNMENT = 256  # bytes; every array starts at a multiple

Sizes = Mapping[str, tuple[int, str]]  # name -> number of items and their dtype


class Layout(NamedTuple):
    """The offsets of arrays in a block of so many bytes."""

    nbytes: int
    offsets: Mapping[str, int]


def lay_out(sizes: Sizes) -> Layout:
    """One array behind the other."""
    offsets, end = {}, 0
    for name, (count, dtype) in sizes.items():
        offsets[name] = end
        end += -(-count * ITEM_BYTES[dtype] // _ALIGNMENT) * _ALIGNMENT
    return Layout(end, offsets)


class Workspace:
    """Arrays by name, in one block; values are whatever was there.

    Parameters
    ----------
    context : Context, entered
    layout : name -> (count, dtype), or a Layout that was made of such sizes
    array_template : GpuArray, optional
        An array of the library whose allocator is to be used.
    """

    def __init__(self, context: Context, layout: Layout | Sizes, array_template: GpuArray | None = None) -> None:
        self.nbytes: int
        self.nbytes, self._offsets = layout if isinstance(layout, Layout) else lay_out(layout)
        self._context = context
        self._block: GpuArray | None = empty_array(context, (max(self.nbytes, 1),), "uint8", array_template)
        self._begin = self._block.pointer

    def __getitem__(self, name: str) -> int:
        """The address of an array."""
        return self._begin + self._offsets[name]

    def clear(self) -> None:
        """Set every byte to 0, in the order of the stream."""
        if self._block is not None:
            handle = self._context.stream.handle
            checked(toolkit.driver().cuMemsetD8Async(self._block.pointer, 0, self.nbytes, handle))

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._block, self._offsets = None, {}


def workspace_bytes(sizes: Sizes) -> int:
    """The size of the block, for planning."""
    return lay_out(sizes).nbytes
