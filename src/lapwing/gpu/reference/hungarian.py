"""Shared by the Hungarian methods: the workspace of kernels/reference/hungarian_state.cuh, and the counts."""

from __future__ import annotations

from typing import ClassVar

from lapwing.gpu.core.solver import Report
from lapwing.gpu.reference.base import ReferenceSolve
from lapwing.gpu.runtime.programs import HUNGARIAN_BFS


class HungarianSolve(ReferenceSolve):
    """A Hungarian method: an alternating forest from all free rows at once."""

    row_bytes: ClassVar[int] = HUNGARIAN_BFS.constants["FOREST_ROW_BYTES"]
    col_bytes: ClassVar[int] = HUNGARIAN_BFS.constants["FOREST_COL_BYTES"]

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        return {
            "iterations": float(report.phases),
            "dual_updates": float(report.rounds),
            "augmentations": float(report.bids),
            "levels": float(report.steps),
            "rows_scanned": float(report.scans),
        }
