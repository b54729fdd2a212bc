"""Shared by the reference methods: the launches before and after the search, and the workspace beside the core's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from lapwing.gpu.core.monitor import Monitor
from lapwing.gpu.core.solver import CoreSolve, Report
from lapwing.gpu.costs.canonical import CanonicalMatrix
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import fetch
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import REFERENCE_THREADS, Program
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.options import MethodOptions

_ARRAYS, _ALIGNMENT = 16, 256  # at most so many arrays of a workspace, each at such an address


class ReferenceMethod(ABC):
    """A solve by a method of a paper."""

    @abstractmethod
    def run(self) -> Report:
        """Solve, and wait for the end.

        Raises
        ------
        TimeIsUpError
            If it was stopped before.
        """

    @abstractmethod
    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""


class ReferenceSolve(CoreSolve, ReferenceMethod):
    """One solve of a matrix on one GPU; a subclass is one method.

    The matrix, the duals, the report, the delivery of the answer, the completion after an interruption and the
    violator of an infeasible problem are the core method's.

    Parameters
    ----------
    context, matrix, monitor, array_template
        As for `CoreSolve`.
    tuning : MethodOptions, optional
        Options of the method.

    Attributes
    ----------
    method : str
        Its name in the table of methods.
    program : Program
        The method's kernels; it names the dtypes of costs that the method takes.
    row_bytes, col_bytes : int
        Bytes of the workspace for each row and each column, unmatched columns included.
    threads : int
        Of a block.
    """

    method: ClassVar[str]
    program: ClassVar[Program]
    row_bytes: ClassVar[int]
    col_bytes: ClassVar[int]
    threads: ClassVar[int] = REFERENCE_THREADS
    keeps_lists = False

    def __init__(
        self,
        context: Context,
        matrix: CanonicalMatrix,
        monitor: Monitor,
        array_template: GpuArray | None,
        tuning: MethodOptions | None = None,
    ) -> None:
        super().__init__(context, matrix, monitor, array_template)
        self._tuning = tuning
        self._array_template = array_template
        self._more = Workspace(
            context, {"all": (self.workspace_bytes(matrix.rows, matrix.cols), "uint8")}, array_template
        )
        self._extra = self._make_extra(self._first_extra_bytes())
        self._program_kernels = self._load_program()

    # --- what a method is ---------------------------------------------------------------------------------------------

    @classmethod
    def dtypes(cls) -> tuple[str, ...]:
        """Of costs that the method takes."""
        return cls.program.choices["COST"]

    @classmethod
    def extra_bytes(cls, rows: int, cols: int, dtype: str) -> int:
        """Memory beside the workspace, at most; `cols` without unmatched columns."""
        return 0

    @classmethod
    def memory_bytes(cls, rows: int, cols: int, real_cols: int, dtype: str) -> int:
        """Memory beside the core method's workspace; `cols` with unmatched columns, `real_cols` without."""
        return cls.workspace_bytes(rows, cols) + cls.extra_bytes(rows, real_cols, dtype)

    @abstractmethod
    def _search(self) -> None:
        """Launch the method, and `_follow` it."""

    # --- the solve ----------------------------------------------------------------------------------------------------

    def run(self) -> Report:
        """See `ReferenceMethod`."""
        self._solved_since_listing = True
        self._monitor.look_at_the_clock()
        self.prepare(zero_prices=True)
        self._search()
        return self.report()

    @classmethod
    def workspace_bytes(cls, rows: int, cols: int) -> int:
        board = cls.program.constants["BOARD_BYTES"]
        return board + rows * cls.row_bytes + cols * cls.col_bytes + _ARRAYS * _ALIGNMENT

    def _first_extra_bytes(self) -> int:
        """The part of `extra_bytes` that is allocated before the search."""
        return self.extra_bytes(self.matrix.rows, self.matrix.real_cols, self.matrix.dtype)

    def _make_extra(self, size: int) -> Workspace:
        return Workspace(self.context, {"extra": (size, "uint8")}, self._array_template)

    def _load_program(self) -> dict[str, Kernel]:
        return self._load(self.program)

    def _load(self, program: Program, **choice: str) -> dict[str, Kernel]:
        return kernels(self.context, program, program.variant(COST=self.matrix.dtype, **choice))

    @property
    def _own_arguments(self) -> tuple[int, ...]:
        return (*self._arguments, self._more["all"], self._monitor.pointer(sample=False))

    def _launch_grid(self, name: str, *more: int | float) -> None:
        """One kernel on the whole grid, cooperatively."""
        self._program_kernels[name].launch_cooperative(self.context, 1, self.threads, *self._own_arguments, *more)

    def _follow(self) -> None:
        """Queue what follows the last launch of a search, as after the core method's."""
        fetch(self.context, self._memory["state"], self._mail.memory)
        self._monitor.mark()
        self.after_launch()
