"""The methods of papers on one GPU, persistent kernels: "munkres", "hungarian-bfs", "hungarian-tree", "ssp", "auction".

A `PaperSolve` is a `CoreSolve` whose search is another: the matrix, the duals, the report, what is delivered, completed
after an interruption or named as a violator are the core method's. What a method does is told in its kernel's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lapwing.gpu.core.monitor import Watch
from lapwing.gpu.core.solver import UNFINISHED, CoreSolve, Oriented, Report
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import fetch, read
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel, kernels
from lapwing.gpu.runtime.programs import AUCTION, HUNGARIAN_BFS, HUNGARIAN_TREE, INTEGERS, MUNKRES, SSP, Program
from lapwing.gpu.runtime.workspace import Workspace
from lapwing.options import Auction, MethodOptions, Munkres, Ssp

_THREADS = MUNKRES.constants["THREADS"]
_TIGHT = 32  # kTight of reference/hungarian_state.cuh
_BOARD_BYTES, _ARRAYS, _ALIGNMENT = 4608, 16, 256  # the board of a method, and at most so many arrays
_BEGIN, _DONE = 0, 19  # of enum Task in reference/hungarian_run.cuh
_CHUNK_BYTES = 8 * 32 * 16  # of a chunk of a row
_PITCH = 16  # rows of slacks begin at a multiple of so many elements
_CLUSTER, _CLUSTER_THREADS = 8, 256  # that searches for "ssp": kBlocks and kSearchThreads of reference/ssp_state.cuh
_NEAR_BYTES = 20480  # of each of its blocks: struct Near
_STATIC_BYTES = 2048  # and what is not dynamic
_ZERO, _ESTIMATED, _GIVEN = range(3)  # enum Prices of reference/ssp_start.cuh
_FEW = 256  # with `switch`, shortest paths go on when an iteration matches fewer than one row of so many

#: The stages of "munkres" (kernels/munkres.cu), by their bits.
STAGES: Mapping[str, int] = {"reductions": 1, "fused": 2, "one_launch": 4, "registers": 8, "barrier": 16}
_REGRET = 32


@dataclass(frozen=True)
class PaperMethod:
    """A method of the table.

    Attributes
    ----------
    summary : str
    program : Program
        Which also says what dtypes it takes.
    row_bytes, col_bytes : int
        Of its workspace, exits counted as columns.
    extra_bytes : function of rows, cols and dtype
        Memory beside that, at most.
    """

    summary: str
    program: Program
    row_bytes: int
    col_bytes: int
    extra_bytes: Callable[[int, int, str], int] = lambda rows, cols, dtype: 0

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Of costs."""
        return self.program.choices["COST"]


_FOREST = (4 * _TIGHT + 2 * 8 + 6 * 4, 2 * 8 + 3 * 4)  # struct Forest, by row and by column


def _pitch(cols: int) -> int:
    return -(-cols // _PITCH) * _PITCH


def _chunks(cols: int, dtype: str) -> int:
    return -(-cols // (_CHUNK_BYTES // ITEM_BYTES[dtype]))


def _slacks_bytes(rows: int, cols: int, each: int) -> int:
    return rows * _pitch(cols) * each


def _column_bytes(cols: int, dtype: str) -> int:
    """What a block that searches for "ssp" knows of its columns: struct Columns, for whole packs of threads."""
    item = ITEM_BYTES[dtype]
    pack = 16 // item
    packs = -(-cols // (_CLUSTER * _CLUSTER_THREADS * pack))
    return packs * _CLUSTER_THREADS * pack * (2 * 8 + 2 * item + 3 * 4)


_SSP = (3 * 8 + 2 * 4, 16, lambda rows, cols, dtype: _CLUSTER * _column_bytes(cols, dtype))  # struct Ssp; its columns

#: On a GPU, beside "core".
PAPERS: Mapping[str, PaperMethod] = {
    "munkres": PaperMethod(
        "the classical Hungarian method on a slack matrix (Lopes and others)",
        MUNKRES,
        *_FOREST,
        lambda rows, cols, dtype: _slacks_bytes(rows, cols, 8),
    ),
    "hungarian-bfs": PaperMethod(
        "the classical Hungarian method on lists of tight pairs (Date and Nagi)",
        HUNGARIAN_BFS,
        *_FOREST,
        lambda rows, cols, dtype: rows * _chunks(cols, dtype) * 8,
    ),
    "hungarian-tree": PaperMethod(
        "the Hungarian method with alternating trees (Date and Nagi)", HUNGARIAN_TREE, *_FOREST
    ),
    "ssp": PaperMethod(
        "shortest augmenting paths with epsilon-pricing on full rows (Algorithm 1015)",
        SSP,
        *_SSP,
    ),
    "auction": PaperMethod("forward auction with epsilon scaling, exact by shortest paths at the end", AUCTION, *_SSP),
}


def _workspace_bytes(method: str, rows: int, cols: int) -> int:
    made = PAPERS[method]
    return _BOARD_BYTES + rows * made.row_bytes + cols * made.col_bytes + _ARRAYS * _ALIGNMENT


def paper_bytes(method: str, rows: int, cols: int, real_cols: int, dtype: str) -> int:
    """Memory of a method beside the core method's workspace; `cols` with exits, `real_cols` without."""
    return _workspace_bytes(method, rows, cols) + PAPERS[method].extra_bytes(rows, real_cols, dtype)


class PaperSolve(CoreSolve):
    """One solve by a method of a paper.

    Parameters
    ----------
    context, matrix, watch, like
        As for `CoreSolve`.
    method : a name from `PAPERS`
    tuning : MethodOptions, optional
        Of that method.
    """

    def __init__(
        self,
        context: Context,
        matrix: Oriented,
        watch: Watch,
        like: GpuArray | None,
        method: str,
        tuning: MethodOptions | None = None,
    ) -> None:
        super().__init__(context, matrix, watch, like)
        self.method, self._like = method, like
        self._munkres = tuning if isinstance(tuning, Munkres) else Munkres()
        self._ssp = tuning if isinstance(tuning, Ssp) else Ssp()
        self._auction = tuning if isinstance(tuning, Auction) else Auction()
        sizes = {"all": (_workspace_bytes(method, matrix.rows, matrix.cols), "uint8")}
        self._more = Workspace(context, sizes, like)
        size = PAPERS[method].extra_bytes(matrix.rows, matrix.real_cols, matrix.dtype)
        self._slack_bytes = 4 if matrix.dtype in INTEGERS else 8  # integers are tried with four first
        if method == "munkres":
            size = _slacks_bytes(matrix.rows, matrix.real_cols, self._slack_bytes)
        self._extra = self._make_extra(size)
        self._program_kernels = self._load(PAPERS[method].program, **({"WIDE": "0"} if method == "munkres" else {}))
        if method == "auction":
            self._program_kernels |= self._load(SSP)
        self._switched = False

    def _make_extra(self, size: int) -> Workspace:
        return Workspace(self.context, {"extra": (size, "uint8")}, self._like)

    def _load(self, program: Program, **choice: str) -> dict[str, Kernel]:
        return kernels(self.context, program, program.variant(COST=self.matrix.dtype, **choice))

    def run(self) -> Report:
        """Solve, and wait for the end.

        Raises
        ------
        TimeIsUpError
            If it was stopped before.
        """
        self._solved_since_listing = True
        self._watch.look_at_the_clock()
        self.prepare(zero_prices=True)
        if self.method == "hungarian-bfs":
            self._solve("solve_hungarian_bfs", self._extra["extra"])
        elif self.method == "hungarian-tree":
            self._solve("solve_hungarian_tree", 0)
        elif self.method in ("ssp", "auction"):
            self._run_ssp()
        else:
            self._run_munkres()
        report = self.report()
        if report.status == UNFINISHED and report.left:
            report = self._switch()
        elif report.status == UNFINISHED:
            report = self._widen()
        return report

    def statistics(self, report: Report) -> dict[str, float]:
        """What the method counted."""
        if self.method in ("ssp", "auction"):
            scans = {"searches": report.searches, "rows_scanned_start": report.steps, "rows_scanned": report.scans}
            last = int(self.method == "auction" and report.searches > 0)  # of shortest paths
            phases = {"phases": last, "auction_phases": report.phases - last, "rounds": report.rounds}
            bids = (
                {**phases, "bids": report.offers, "auction_left": report.left}
                if self.method == "auction"
                else {"phases": report.phases}
            )
            return {name: float(count) for name, count in (bids | scans).items()}
        counts = {
            "iterations": report.phases,
            "dual_updates": report.rounds,
            "augmentations": report.offers,
            "levels": report.steps,
            "rows_scanned": report.scans,
        }
        if self.method == "munkres":
            counts |= {"slack_bytes": self._slack_bytes, "switched": self._switched}
        return {name: float(count) for name, count in counts.items()}

    def _solve(self, name: str, *more: int) -> None:
        """The one launch, and what follows it."""
        self._program_kernels[name].launch_cooperative(self.context, 1, _THREADS, *self._own_arguments, *more)
        self._follow()

    def _follow(self) -> None:
        """As after the core method's launch."""
        fetch(self.context, self._memory["state"], self._mail.memory)
        self._watch.mark()
        self.after_launch()

    @property
    def _own_arguments(self) -> tuple[int, ...]:
        return (*self._arguments, self._more["all"], self._watch.pointer(sample=False))

    def _run_ssp(self) -> None:
        """Prices from what the rows are, or from bids; then shortest paths."""
        survey, search = self._program_kernels["survey_ssp"], self._program_kernels["solve_ssp"]
        survey.launch_cooperative(self.context, 1, _THREADS, *self._own_arguments)
        info, prices = self.context.info, _ESTIMATED if self._ssp.pricing else _ZERO
        if self.method == "auction":
            listed, prices = int(self._auction.variant == "optimised"), _GIVEN
            bid = self._program_kernels["bid_auction"]
            bid.launch_cooperative(self.context, 1, _THREADS, *self._own_arguments, listed)
        shared = _NEAR_BYTES + _column_bytes(self.matrix.real_cols, self.matrix.dtype)
        fits = info.clusters and shared + _STATIC_BYTES <= info.shared_bytes
        arguments = (*self._own_arguments, prices, 0 if fits else self._extra["extra"])
        shared = shared if fits else _NEAR_BYTES
        if info.clusters:
            search.launch_clusters(self.context, 1, _CLUSTER, _CLUSTER_THREADS, *arguments, shared=shared)
        else:
            search.launch_cooperative(self.context, 1, _CLUSTER_THREADS, *arguments, shared=shared)
        self._follow()

    # --- munkres ---

    @property
    def _munkres_arguments(self) -> tuple[int, ...]:
        few = self.matrix.rows // _FEW + 1 if self._munkres.switch else 0
        bits = sum(STAGES[name] for name in self._munkres.stages) + _REGRET * (self._munkres.start == "regret")
        return (self._extra["extra"], _pitch(self.matrix.real_cols), bits, few)

    def _run_munkres(self) -> None:
        if "one_launch" in self._munkres.stages:
            self._solve("solve_munkres", *self._munkres_arguments, 0, _BEGIN)
            return
        solver, following = self._program_kernels["solve_munkres"], self._program_kernels["munkres_next"]
        task, blocks = _BEGIN, solver.resident_blocks(_THREADS)
        while task != _DONE:  # as the paper does: the host is asked after each step
            last = (*self._munkres_arguments, 1, task)
            solver.launch(self.context, blocks, _THREADS, *self._own_arguments, *last)
            following.launch(self.context, 1, _THREADS, *self._own_arguments, *last)
            self._watch.wait()
            task = int(read(self.context, self._more["all"], 1, "uint32")[0])
        self._follow()

    def _widen(self) -> Report:
        """Again, with slacks of eight bytes."""
        matrix = self.matrix
        self._slack_bytes = 8
        with self._extra:  # is free before more is taken
            pass
        self._extra = self._make_extra(_slacks_bytes(matrix.rows, matrix.real_cols, 8))
        self.prepare(zero_prices=True)
        self._program_kernels = self._load(MUNKRES, WIDE="1")
        self._run_munkres()
        report = self.report()
        return self._switch() if report.status == UNFINISHED else report

    def _switch(self) -> Report:
        """Go on with shortest paths."""
        self._switched = True
        self._program_kernels = self._load(HUNGARIAN_TREE)
        self._solve("solve_hungarian_tree", 1)
        return self.report()
