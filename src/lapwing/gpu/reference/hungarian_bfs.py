"""Method "hungarian-bfs" on a GPU (kernels/reference/hungarian_bfs.cu)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from lapwing.gpu.reference.hungarian import START, HungarianSolve
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.programs import HUNGARIAN_BFS

_DUAL_BYTES = 8


class HungarianBfsSolve(HungarianSolve):
    """The classical variant: lists of tight pairs, and dual updates in two passes over the forest's rows."""

    method = "hungarian-bfs"
    program = HUNGARIAN_BFS
    steps: ClassVar[Mapping[str, str]] = START | {
        "list": "compression",
        "gather": "forward",
        "grow": "forward",
        "least": "dual_update",
        "update": "dual_update",
        "flip": "augmentation",
    }

    @classmethod
    def extra_bytes(cls, rows: int, cols: int, dtype: str) -> int:
        """The least slack of each chunk of a row."""
        chunks = -(-cols // (cls.program.constants["CHUNK_BYTES"] // ITEM_BYTES[dtype]))
        return rows * chunks * _DUAL_BYTES

    def _search(self) -> None:
        self._launch_grid("solve_hungarian_bfs", self._extra["extra"])
        self._follow()
