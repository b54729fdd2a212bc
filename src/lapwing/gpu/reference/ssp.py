"""Method "ssp" on a GPU (kernels/reference/ssp.cu): prices from the rows, then one cluster's shortest paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from lapwing.gpu.core.solver import Report
from lapwing.gpu.reference.base import ReferenceSolve
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import Kernel
from lapwing.gpu.runtime.programs import SSP
from lapwing.options import MethodOptions, Ssp

_CONSTANTS = SSP.constants
_BLOCKS = _CONSTANTS["SEARCH_BLOCKS"]  # of the cluster that searches
_NEAR_BYTES = _CONSTANTS["NEAR_BYTES"]  # of shared memory of each block, beside its columns
_STATIC_BYTES = _CONSTANTS["STATIC_BYTES"]  # of shared memory that is not dynamic, at most
_PACK_BYTES = 16  # of costs that a thread reads at once


class SspSolve(ReferenceSolve):
    """Shortest augmenting paths with epsilon-pricing on full rows.

    Attributes
    ----------
    search_threads : int
        Of each block of the cluster that searches.
    """

    method = "ssp"
    program = SSP
    row_bytes: ClassVar[int] = _CONSTANTS["SSP_ROW_BYTES"]
    col_bytes: ClassVar[int] = _CONSTANTS["SSP_COL_BYTES"]
    search_threads: int = _CONSTANTS["SEARCH_THREADS"]

    @classmethod
    def extra_bytes(cls, rows: int, cols: int, dtype: str) -> int:
        """The columns of all blocks, where shared memory has no room for them."""
        return _BLOCKS * cls.column_bytes(cols, dtype)

    @classmethod
    def column_bytes(cls, cols: int, dtype: str) -> int:
        """The memory of a block's columns: struct Columns, for whole packs of its threads."""
        item = ITEM_BYTES[dtype]
        pack = _PACK_BYTES // item
        packs = -(-cols // (_BLOCKS * cls.search_threads * pack))
        return packs * cls.search_threads * pack * (2 * item + _CONSTANTS["COLUMN_BYTES"])

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        return {"phases": float(report.phases)} | scans(report)

    def _search(self) -> None:
        self._launch_grid("survey_ssp")
        self._launch_paths(first_prices(self._tuning))
        self._follow()

    def _launch_paths(self, prices: str) -> None:
        """The phases of shortest paths, by one cluster; `prices` names where they start."""
        columns = self.column_bytes(self.matrix.real_cols, self.matrix.dtype)
        kernel = self._program_kernels["solve_ssp"]
        launch_cluster(self.context, kernel, columns, self._extra["extra"], (*self._own_arguments, _CONSTANTS[prices]))


def first_prices(tuning: MethodOptions | None) -> str:
    """The name of where the phases start."""
    pricing = not isinstance(tuning, Ssp) or tuning.pricing
    return "PRICES_ESTIMATED" if pricing else "PRICES_ZERO"


def scans(report: Report) -> dict[str, float]:
    """Searches, and rows that were read."""
    return {
        "searches": float(report.searches),
        "rows_scanned_start": float(report.steps),
        "rows_scanned": float(report.scans),
    }


def launch_cluster(
    context: Context, kernel: Kernel, columns: int, far: int, before: Sequence[int], behind: Sequence[int] = ()
) -> None:
    """Launch `solve_ssp` with these arguments before and behind the address of columns that are not in shared memory.

    Parameters
    ----------
    context : Context, entered
    kernel : Kernel
    columns : int
        Bytes of a block's columns.
    far : int
        Memory for those of all blocks.
    before, behind : sequence of int
    """
    info, threads = context.info, SspSolve.search_threads
    shared = _NEAR_BYTES + columns
    fits = info.clusters and shared + _STATIC_BYTES <= info.shared_bytes
    arguments = (*before, 0 if fits else far, *behind)
    shared = shared if fits else _NEAR_BYTES
    if info.clusters:
        kernel.launch_clusters(context, 1, _BLOCKS, threads, *arguments, shared=shared)
    else:
        kernel.launch_cooperative(context, 1, threads, *arguments, shared=shared)
