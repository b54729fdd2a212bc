"""Method "auction" on a GPU (kernels/reference/auction.cu): bids of all free rows, then the last phase of "ssp"."""

from __future__ import annotations

from lapwing.gpu.core.solver import Report
from lapwing.gpu.reference.ssp import SspSolve, scans
from lapwing.gpu.runtime.launch import Kernel
from lapwing.gpu.runtime.programs import AUCTION, SSP
from lapwing.options import Auction


class AuctionSolve(SspSolve):
    """Forward auction with epsilon scaling, made exact by shortest paths."""

    method = "auction"
    program = AUCTION

    def _load_program(self) -> dict[str, Kernel]:
        return self._load(AUCTION) | self._load(SSP)

    def statistics(self, report: Report) -> dict[str, float]:
        """The method's counts."""
        last = int(report.searches > 0)  # phases of shortest paths
        counts = {
            "phases": last,
            "auction_phases": report.phases - last,
            "rounds": report.rounds,
            "bids": report.bids,
            "auction_left": report.left,
        }
        return {name: float(count) for name, count in counts.items()} | scans(report)

    def _search(self) -> None:
        self._launch_grid("survey_ssp")
        listed = not isinstance(self._tuning, Auction) or self._tuning.variant == "optimised"
        self._launch_grid("bid_auction", int(listed))
        self._launch_paths("PRICES_GIVEN")
        self._follow()
