"""The plan of a batch on a GPU: the engine, its threads and its memory. Pure functions.

Two engines (kernels/batch): a few lanes of a warp a problem; a block a problem, with the matrix in shared memory
or where it lies. Few large problems have the whole GPU in turn (gpu/batch/single.py). `CROSSOVERS` is where one engine
takes over from another, tuned on an H200 by ``python -m benchmarks.gpu_batches --tune``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from lapwing.errors import ArgumentError
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.programs import (
    BATCH_LANES,
    BATCH_MEMORY,
    BATCH_SHARED,
    BATCH_STAGE,
    BATCH_THIN,
    FLOATS,
    STORED,
    Program,
    Variant,
)
from lapwing.gpu.runtime.tuning import arrays, number

WARP = 32
_ARRAYS = arrays("batch/arrays.cuh")  # of a block's state
_ITEM_BYTES = {"int32": 4, "uint32": 4, "Dual": 8, "FrontierRow": 32}
_MOST_THREADS = number("batch/tuning.cuh", "most_threads")  # of a block


@dataclass(frozen=True, eq=False)  # a key of caches, by identity
class Crossovers:
    """Sizes up to which an engine is used, both sides of a problem counted.

    Attributes
    ----------
    lanes : (longest side, ...)
        Lanes that solve a problem, by size: one kernel for each.
    shared_bytes : int
        A block that needs no more of it has its matrix in shared memory. More would leave a multiprocessor few blocks;
        then L1 and L2 had better keep the matrices of many. Matrices that cannot be used as they lie go to shared
        memory wherever they fit.
    whole_gpu : int
        Rows and columns from which the whole GPU solves one problem sooner than a block does. It solves k problems one
        after the other sooner than k blocks side by side if each has k times as many pairs.
    """

    lanes: tuple[int, ...] = (8, 16, 32)
    shared_bytes: int = 28 * 1024
    whole_gpu: int = 1024

    def are_sooner_singly(self, problems: int, rows: int, cols: int) -> bool:
        """Whether so many problems of this size had better be solved one after the other, the whole GPU each."""
        return 0 < problems * self.whole_gpu**2 <= rows * cols


CROSSOVERS = Crossovers()
MOST_COLUMNS = int(BATCH_MEMORY.choices["COLUMNS"][-1])


class TooLargeError(ArgumentError):
    """Problems beyond what a block solves."""


class BatchForm(NamedTuple):
    """All of a batch but its numbers: what a plan depends on.

    Attributes
    ----------
    problems, rows, cols : int
    strides : of problems, rows and columns, in elements
    dtype : str
    maximize : bool
    priced : bool
        Whether rows may stay free at a price; then no problem is transposed.
    ragged : bool
        Whether each problem has its own numbers of rows and columns.
    """

    problems: int
    rows: int
    cols: int
    strides: tuple[int, int, int]
    dtype: str
    maximize: bool
    priced: bool
    ragged: bool

    @property
    def solved_shape(self) -> tuple[int, int]:
        """The most rows and columns that a problem has as it is solved."""
        if self.priced:
            return self.rows, self.cols
        return min(self.rows, self.cols), max(self.rows, self.cols)

    @property
    def dual_dtype(self) -> str:
        return "float64" if self.dtype in FLOATS else "int64"


@dataclass(frozen=True)
class BatchPlan:
    """The launch of a batch.

    Attributes
    ----------
    program, variant, kernel
    grid, threads, shared_bytes : int
    stage : Variant or None
        Of the program that first copies matrices as they are solved, where their type, sign, layout or orientation
        asks for it.
    """

    program: Program
    variant: Variant
    kernel: str
    grid: int
    threads: int
    shared_bytes: int
    stage: Variant | None = None


@lru_cache(maxsize=1024)
def plan_batch(form: BatchForm, block_shared_bytes: int, crossovers: Crossovers = CROSSOVERS) -> BatchPlan:
    """Choose the engine.

    Parameters
    ----------
    form : BatchForm
    block_shared_bytes : int
        The most shared memory that a block of the GPU may have.
    crossovers : Crossovers

    Raises
    ------
    TooLargeError
        If a block cannot solve problems of this size.
    """
    longest = max(form.rows, form.cols)
    for lanes in crossovers.lanes:
        if longest <= lanes:
            return _in_lanes(form, lanes)
    rows, cols = form.solved_shape
    state = state_bytes(rows, cols)
    shared = state + rows * (cols | 1) * ITEM_BYTES[STORED[form.dtype]]
    fits = cols <= int(BATCH_SHARED.choices["COLUMNS"][-1]) and shared <= block_shared_bytes
    if fits and (shared <= crossovers.shared_bytes or not _is_ready(form)):
        thin = cols >= 2 * rows and cols <= int(BATCH_THIN.choices["COLUMNS"][-1])
        program = BATCH_THIN if thin else BATCH_SHARED
        columns = _columns(program, cols)
        variant = program.variant(COST=form.dtype, COLUMNS=columns)
        return BatchPlan(program, variant, "solve_in_shared", form.problems, _threads(program, columns), shared)
    if longest > MOST_COLUMNS or state > block_shared_bytes:
        raise TooLargeError(
            f"costs has problems of {form.rows} x {form.cols}; batches on a GPU take at most {MOST_COLUMNS} rows and "
            "columns: solve larger problems one after the other with lapwing.solve"
        )
    columns = _columns(BATCH_MEMORY, cols)
    variant = BATCH_MEMORY.variant(COST=STORED[form.dtype], COLUMNS=columns)
    stage = None if _is_ready(form) else BATCH_STAGE.variant(COST=form.dtype)
    threads = _threads(BATCH_MEMORY, columns)
    return BatchPlan(BATCH_MEMORY, variant, "solve_in_memory", form.problems, threads, state, stage)


def state_bytes(rows: int, cols: int) -> int:
    """Shared memory of a block beside the matrix, for a problem as it is solved."""
    ring = 1 << (max(rows, 2) - 1).bit_length()
    counts = {"1": 1, "rows": rows, "cols": cols, "ring": ring, "words": -(-rows // WARP)}
    parts = (factor * counts[name] * _ITEM_BYTES[kind] for kind, factor, name in _ARRAYS)
    return sum(-(-part // 16) * 16 for part in parts)


def _in_lanes(form: BatchForm, lanes: int) -> BatchPlan:
    threads = WARP * BATCH_LANES.constants["WARPS"]
    grid = -(-form.problems * lanes // threads)
    variant = BATCH_LANES.variant(COST=form.dtype)
    return BatchPlan(BATCH_LANES, variant, f"solve_in_{lanes}_lanes", grid, threads, 0)


def _columns(program: Program, cols: int) -> str:
    """The program's smallest size for so many columns."""
    return next(size for size in program.choices["COLUMNS"] if cols <= int(size))


def _threads(program: Program, columns: str) -> int:
    """Of a block (BlockForm in kernels/batch/block.cuh)."""
    return min(int(columns) // program.constants["COLUMNS_A_THREAD"], _MOST_THREADS)


def _is_ready(form: BatchForm) -> bool:
    """Whether all matrices can be used as they lie: kept in their own type and sign, row after row as solved."""
    tall = not form.priced and form.rows > form.cols
    mixed = form.ragged and not form.priced  # each problem may be tall or not
    unit_stride = form.strides[1] if tall else form.strides[2]
    return STORED[form.dtype] == form.dtype and not form.maximize and not mixed and unit_stride == 1
