"""Shared by the Hungarian methods: the workspace of kernels/reference/hungarian_state.cuh, and the counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lapwing.gpu.core.solver import Report
from lapwing.gpu.reference.base import ReferenceSolve
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.programs import HUNGARIAN_BFS

#: The tasks of kernels/reference/hungarian_run.cuh that are timed, in their order.
TASKS = (
    *("begin", "reduce_rows", "reduce_cols", "set_cols", "list", "bid", "award", "gather"),
    *("grow", "least", "update", "update_more", "flip", "polish"),
)
START = dict.fromkeys(("begin", "reduce_rows", "reduce_cols", "set_cols", "bid", "award"), "reduction")
_GROUPS = 7  # of five iterations
_TIMES = 3 + _GROUPS  # where they begin in the board, in words of four bytes
ZEROS = _TIMES + 2 * HUNGARIAN_BFS.constants["TASK_DONE"]


class HungarianSolve(ReferenceSolve):
    """A Hungarian method: an alternating forest from all free rows at once.

    Attributes
    ----------
    steps : {task: step}
        The steps whose times the statistics have, by the names of the CPU's.
    """

    steps: ClassVar[Mapping[str, str]] = {}

    row_bytes: ClassVar[int] = HUNGARIAN_BFS.constants["FOREST_ROW_BYTES"]
    col_bytes: ClassVar[int] = HUNGARIAN_BFS.constants["FOREST_COL_BYTES"]

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts and times."""
        board = self._board()
        early = report.bids if not report.rounds else int(board[1])
        matched = self.matrix.rows - report.bids + early
        groups = {f"matched_by_{5 * k + 5}": float(count) for k, count in enumerate(board[3:_TIMES]) if count}
        return self._step_seconds() | {
            "matched_before_update": float(matched),
            **groups,
            "iterations": float(report.phases),
            "dual_updates": float(report.rounds),
            "augmentations": float(report.bids),
            "levels": float(report.steps),
            "rows_scanned": float(report.scans),
        }

    def _board(self) -> Any:
        """The counts and times of the kernels: struct Board, as words of four bytes."""
        return read(self.context, self._more["all"], ZEROS + 2, "uint32")

    def _step_seconds(self) -> dict[str, float]:
        """The time of each step, where one launch performs all."""
        times = self._board()[_TIMES:ZEROS].view(np.uint64)
        seconds: dict[str, float] = {}
        for task, step in self.steps.items():
            name = f"{step}_seconds"
            seconds[name] = seconds.get(name, 0.0) + float(times[TASKS.index(task)]) * 1e-9
        return seconds
