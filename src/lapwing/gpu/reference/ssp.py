"""Method "ssp" on a GPU (kernels/reference/ssp.cu): prices from the rows, then one cluster's shortest paths."""

from __future__ import annotations

from typing import ClassVar

from lapwing.gpu.core.solver import Report
from lapwing.gpu.reference.base import ReferenceSolve
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.programs import SSP
from lapwing.options import Ssp

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

    @property
    def _pricing(self) -> bool:
        return not isinstance(self._tuning, Ssp) or self._tuning.pricing

    @classmethod
    def extra_bytes(cls, rows: int, cols: int, dtype: str) -> int:
        """The columns of all blocks, where shared memory has no room for them."""
        return _BLOCKS * cls._column_bytes(cols, dtype)

    @classmethod
    def _column_bytes(cls, cols: int, dtype: str) -> int:
        """The memory of a block's columns: struct Columns, for whole packs of its threads."""
        item = ITEM_BYTES[dtype]
        pack = _PACK_BYTES // item
        packs = -(-cols // (_BLOCKS * cls.search_threads * pack))
        return packs * cls.search_threads * pack * (2 * item + _CONSTANTS["COLUMN_BYTES"])

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        return {"phases": float(report.phases)} | self._scans(report)

    @staticmethod
    def _scans(report: Report) -> dict[str, float]:
        return {
            "searches": float(report.searches),
            "rows_scanned_start": float(report.steps),
            "rows_scanned": float(report.scans),
        }

    def _search(self) -> None:
        self._launch_grid("survey_ssp")
        self._launch_paths("PRICES_ESTIMATED" if self._pricing else "PRICES_ZERO")
        self._follow()

    def _launch_paths(self, prices: str) -> None:
        """The phases of shortest paths, by one cluster; `prices` names where they start."""
        info, search = self.context.info, self._program_kernels["solve_ssp"]
        shared = _NEAR_BYTES + self._column_bytes(self.matrix.real_cols, self.matrix.dtype)
        fits = info.clusters and shared + _STATIC_BYTES <= info.shared_bytes
        arguments = (*self._own_arguments, _CONSTANTS[prices], 0 if fits else self._extra["extra"])
        shared = shared if fits else _NEAR_BYTES
        if info.clusters:
            search.launch_clusters(self.context, 1, _BLOCKS, self.search_threads, *arguments, shared=shared)
        else:
            search.launch_cooperative(self.context, 1, self.search_threads, *arguments, shared=shared)
