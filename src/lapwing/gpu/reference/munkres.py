"""Method "munkres" on a GPU (kernels/reference/munkres.cu), with the stages that each of its launches has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from lapwing.gpu.core.solver import UNFINISHED, Report
from lapwing.gpu.reference.hungarian import TASKS, ZEROS, HungarianSolve
from lapwing.gpu.reference.hungarian_tree import PATIENT
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.launch import Kernel
from lapwing.gpu.runtime.programs import HUNGARIAN_TREE, INTEGERS, MUNKRES
from lapwing.options import STAGES, Munkres

_PITCH = 16  # rows of slacks begin at a multiple of so many elements
_LEAST_SHARE = 256  # with `switch`, shortest paths take over when an iteration matches fewer than one row of so many
_BEGIN, _DONE = MUNKRES.constants["TASK_BEGIN"], MUNKRES.constants["TASK_DONE"]

_STAGE_BITS = {name: MUNKRES.constants[f"STAGE_{name.upper()}"] for name in STAGES}


def _pitch(cols: int) -> int:
    return -(-cols // _PITCH) * _PITCH


class MunkresSolve(HungarianSolve):
    """The classical method on a matrix of slacks; slacks of integers are tried with four bytes first."""

    method = "munkres"
    program = MUNKRES

    steps: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("begin", "reduce_rows", "reduce_cols", "set_cols", "list"), "step_1"),
        **dict.fromkeys(("bid", "award"), "step_2"),
        "gather": "step_3",
        "grow": "step_4",
        "flip": "step_5",
        **dict.fromkeys(("least", "update", "update_more"), "step_6"),
    }
    _wide = _switched = False
    _launched: dict[str, float] | None = None  # the same where the host launches each task, with the launches

    @property
    def _options(self) -> Munkres:
        return self._tuning if isinstance(self._tuning, Munkres) else Munkres()

    @classmethod
    def extra_bytes(cls, rows: int, cols: int, dtype: str) -> int:
        """The slacks, eight bytes each."""
        return rows * _pitch(cols) * 8

    @property
    def _slack_bytes(self) -> int:
        return 4 if self.matrix.dtype in INTEGERS and not self._wide else 8

    def _load_program(self) -> dict[str, Kernel]:
        return self._load(MUNKRES, WIDE=str(int(self._wide)))

    def _first_extra_bytes(self) -> int:
        return self.matrix.rows * _pitch(self.matrix.real_cols) * self._slack_bytes

    def run(self) -> Report:
        """Solve, and wait for the end; see `ReferenceSolve.run`."""
        report = super().run()
        if report.status == UNFINISHED and not report.left:  # a slack did not fit four bytes
            report = self._run_wide()
        if report.status == UNFINISHED:  # an iteration matched few rows
            report = self._switch()
        return report

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        own = {"slack_bytes": float(self._slack_bytes), "switched": float(self._switched)}
        own |= {"zeros_listed": float(self._board()[ZEROS:].view(np.uint64)[0])} | (self._launched or {})
        return super().statistics(report) | own

    @property
    def _munkres_arguments(self) -> tuple[int, ...]:
        least = self.matrix.rows // _LEAST_SHARE + 1 if self._options.switch else 0
        bits = sum(_STAGE_BITS[name] for name in self._options.stages)
        if self._options.start == "regret":
            bits += MUNKRES.constants["START_BY_REGRET"]
        return (self._extra["extra"], _pitch(self.matrix.real_cols), bits, least)

    def _search(self) -> None:
        if "one_launch" in self._options.stages:
            self._launch_grid("solve_munkres", *self._munkres_arguments, 0, _BEGIN)
        else:
            self._launch_tasks()
        self._follow()

    def _launch_tasks(self) -> None:
        """One launch for each task, as in the paper: the host asks for the next one after each."""
        solver, following = self._program_kernels["solve_munkres"], self._program_kernels["munkres_next"]
        task, blocks = _BEGIN, solver.resident_blocks(self.threads)
        seconds = dict.fromkeys((f"{step}_seconds" for step in self.steps.values()), 0.0)
        while task != _DONE:
            began = time.perf_counter()
            last = (*self._munkres_arguments, 1, task)
            solver.launch(self.context, blocks, self.threads, *self._own_arguments, *last)
            following.launch(self.context, 1, self.threads, *self._own_arguments, *last)
            self._monitor.wait()
            step = self.steps.get(TASKS[task] if task < len(TASKS) else "")
            task = int(read(self.context, self._more["all"], 1, "uint32")[0])
            if step is not None:
                seconds[f"{step}_seconds"] += time.perf_counter() - began
        self._launched = seconds

    def _run_wide(self) -> Report:
        """Solve again, with slacks of eight bytes."""
        self._wide = True
        with self._extra:  # is freed before more is allocated
            pass
        self._extra = self._make_extra(self._first_extra_bytes())
        self.prepare(zero_prices=True)
        self._program_kernels = self._load_program()
        self._search()
        return self.report()

    def _switch(self) -> Report:
        """Continue with shortest paths from the duals and the matching that there are."""
        self._switched = True
        self._program_kernels = self._load(HUNGARIAN_TREE)
        self._launch_grid("solve_hungarian_tree", 1, PATIENT, 0)
        self._follow()
        return self.report()
