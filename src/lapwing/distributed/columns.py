"""One rank's share in a method of the papers (reference.py): some columns of a matrix, and what it keeps of each.

The rows of a rank are columns of the transposed matrix, which is what these methods solve: Date and Nagi split columns
for alternating trees, and Algorithm 1015 does for its scans. So "row" here means a row of the transposed matrix, which
all ranks have, and "column" one of this rank's. PyTorch does the passes, where the costs are: on a CPU or a GPU. Costs
are as minimised, in int64 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from lapwing.distributed.messages import Message
from lapwing.errors import InvalidCostError

if TYPE_CHECKING:
    from lapwing.distributed.shard import Shard

PREFIX: Final = "columns "  # of the orders
NONE: Final = -1
FAR: Final = 1 << 62  # of integers: no slack is so large
_BLOCK_BYTES: Final = 64 << 20
_ROUNDING: Final = 2.0**-44  # of the largest cost: slacks of floats up to that are zero


class Columns:
    """The columns of a rank.

    Parameters
    ----------
    shard : Shard
        Its rows of the matrix as it is given.
    """

    def __init__(self, shard: Shard) -> None:
        given = shard.tensor
        if given is None:
            given = torch.from_numpy(np.ascontiguousarray(shard.rows(0, shard.shape[0])))
        self._shard = shard
        self._integer = shard.dtype.kind == "i"
        self._wide: Any = torch.int64 if self._integer else torch.float64
        self._costs: Any = given.T.contiguous()
        self._count: int = given.shape[0]
        self.far: int | float = FAR if self._integer else math.inf
        self._zero: int | float = 0
        self._v: Any = self._filled(0)
        self._least: Any = self._filled(self.far)  # slack of each column, or its distance
        self._from: Any = self._indices([])  # the row that gives it
        self._done: Any = self._indices([])  # whether the column is in the forest, or settled
        self._orders: dict[str, Callable[..., list[Any]]] = {
            "row minima": self.row_minima,
            "reduce": self.reduce,
            "tight": self.tight,
            "least": self.least,
            "forget": self.forget,
            "grow": self.grow,
            "least slack": self.least_slack,
            "shift": self.shift,
            "scan": self.scan,
            "settle": self.settle,
        }

    def follow(self, order: Message) -> Message:
        """Do as ordered."""
        found = self._orders[order.kind.removeprefix(PREFIX)](*map(self._tensor, order.arrays))
        return Message("done", {}, [each.cpu().numpy() for each in found])

    # --- passes over all pairs ---

    def row_minima(self) -> list[Any]:
        """The least cost of each row, and the largest magnitude of all costs."""
        minima, largest = [], 0.0
        for _, block in self._blocks():
            self._check(block)
            minima.append(block.amin(dim=1) if self._count else self._filled(self.far, len(block)))
            if self._count and not self._integer:
                largest = max(largest, float(torch.where(block.isfinite(), block.abs(), 0.0).max()))
        self._zero = largest * _ROUNDING
        return [torch.cat(minima)]

    def reduce(self, u: Any) -> list[Any]:
        """Set v to the column minima of c - u."""
        self._v = self._filled(self.far)
        for rows, block in self._blocks():
            self._v = torch.minimum(self._v, (block - u[rows, None]).amin(dim=0))
        return [self._v]

    def tight(self, u: Any, v: Any) -> list[Any]:
        """All pairs without slack under u and v."""
        self._v = v
        found = []
        for rows, block in self._blocks():
            pairs = torch.nonzero(block - u[rows, None] - v <= self._zero)
            found.append(pairs + torch.tensor([rows.start, 0], device=pairs.device))
        return [torch.cat(found).to(torch.int32)]

    def least(self, u: Any, is_reached: Any, is_covered: Any) -> list[Any]:
        """The least slack between rows that are reached and columns that are not covered."""
        best = self._filled(self.far, 1)
        open_cols = torch.nonzero(is_covered == 0)[:, 0]
        for rows, block in self._blocks():
            own = torch.nonzero(is_reached[rows])[:, 0]
            slack = block[own][:, open_cols] - u[rows][own, None] - self._v[open_cols]
            if slack.numel():
                best = torch.minimum(best, slack.amin())
        return [best]

    # --- alternating trees, and shortest paths ---

    def forget(self) -> list[Any]:
        """No column is in a tree, or has a distance."""
        self._least = self._filled(self.far)
        self._from = torch.full((self._count,), NONE, dtype=torch.int32, device=self._v.device)
        self._done = torch.zeros(self._count, dtype=torch.bool, device=self._v.device)
        return []

    def grow(self, rows: Any, u: Any) -> list[Any]:
        """Rows enter the forest: the columns that are tight now enter, too; these and the rows that reached them."""
        for begin in range(0, len(rows), self._step):
            own = rows[begin : begin + self._step].to(torch.int64)
            slack = self._minimised(self._costs[own]) - u[begin : begin + self._step, None] - self._v
            if self._count:
                lowest = slack.min(dim=0)
                self._lower(lowest.values, lowest.indices, own)
        return self._entered()

    def least_slack(self) -> list[Any]:
        """Of the columns outside."""
        outside = self._least[~self._done]
        return [outside.amin()[None] if outside.numel() else self._filled(self.far, 1)]

    def shift(self, theta: Any) -> list[Any]:
        """The duals move by theta, after which columns enter."""
        self._v = torch.where(self._done, self._v - theta, self._v)
        self._least = torch.where(self._done, self._least, self._least - theta)
        return self._entered()

    def scan(self, offset: Any, place: Any) -> list[Any]:
        """Settle a column, if any; scan a row at a distance: the least distance, of which column, by which row.

        `place`: the row, and the column or -1. `offset`: what is to be added to c - v of the row.
        """
        row, settled = place.tolist()
        if settled >= 0:
            self._done[settled] = True
        if not self._count:
            return [self._filled(self.far, 1), self._indices([NONE, NONE])]
        own = self._indices([row])
        distance = self._minimised(self._costs[row]) - self._v + offset
        self._lower(distance, torch.zeros_like(self._from, dtype=torch.int64), own)
        open_least = torch.where(self._done, self.far, self._least)
        col = open_least.argmin()
        return [open_least[col][None], torch.stack([col.to(torch.int32), self._from[col]])]

    def settle(self, end: Any) -> list[Any]:
        """The end of a search, at this distance."""
        self._v = torch.where(self._done, self._v + self._least - end, self._v)
        return []

    def _lower(self, candidate: Any, at: Any, rows: Any) -> None:
        lower = (candidate < self._least) & ~self._done
        self._least = torch.where(lower, candidate, self._least)
        self._from = torch.where(lower, rows[at].to(torch.int32), self._from)

    def _entered(self) -> list[Any]:
        new = torch.nonzero((self._least <= self._zero) & ~self._done)[:, 0]
        self._done[new] = True
        return [new.to(torch.int32), self._from[new]]

    # --- costs ---

    @property
    def _step(self) -> int:
        return max(1, _BLOCK_BYTES // (8 * max(1, self._count)))

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        for begin in range(0, len(self._costs), self._step):
            rows = slice(begin, min(begin + self._step, len(self._costs)))
            yield rows, self._minimised(self._costs[rows])
            self._shard.interrupts.raise_if_pending()

    def _minimised(self, block: Any) -> Any:
        wide = block.to(self._wide)
        return -wide if self._shard.maximize else wide

    def _check(self, block: Any) -> None:
        if not self._integer and bool((bad := ~(block > -math.inf)).any()):
            row, col = torch.nonzero(bad)[0].tolist()  # of the given matrix: column and row
            value = float(block[row, col])
            value = -value if self._shard.maximize else value
            raise InvalidCostError(self._shard.first + col, row, value, self._shard.maximize)

    def _filled(self, value: float, count: int | None = None) -> Any:
        size = self._count if count is None else count
        return torch.full((size,), value, dtype=self._wide, device=self._costs.device)

    def _indices(self, values: list[int]) -> Any:
        return torch.tensor(values, dtype=torch.int32, device=self._costs.device)

    def _tensor(self, array: Any) -> Any:
        return torch.from_numpy(np.array(array)).to(self._costs.device)
