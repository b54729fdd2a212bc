"""Points on the GPUs of the ranks: rank 0 is sent them all, and solves on its GPU, or on all of its host.

Points are m d numbers where their costs are m n, and a GPU computes costs faster than it is sent any. So no costs are
sent: from then on they are one process's points, which `lapwing.gpu` computes with, as with ``device=[...]`` on the
GPUs of rank 0's host that ranks have.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.coordinates import Coordinates
from lapwing.costs.points import PointCost
from lapwing.distributed.peer_memory import name_if_seen, readable_gpus
from lapwing.distributed.shard import Points, RowsOnHost
from lapwing.gpu.runtime.arrays import TORCH
from lapwing.problem import Problem


class RowsOfPoints(RowsOnHost):
    """Rows that points on a GPU define, of which there is a copy on the host."""

    def __init__(self, problem: Problem, given: PointCost) -> None:
        super().__init__(problem, given)
        self.given = given
        self.where = "points on a GPU"

    @property
    def _ordinal(self) -> int | None:
        """The GPU of tensors of PyTorch; None if the points are of another library."""
        device = self.given.device_of
        return device.ordinal if device is not None and device.library is TORCH else None

    def as_given(self, values: NDArray[Any]) -> Any:
        """Tensors where the points are tensors; else NumPy's arrays."""
        if self._ordinal is None:
            return values
        import torch

        return torch.from_numpy(np.array(values)).to(f"cuda:{self._ordinal}")

    def points(self) -> Points:
        """What rank 0 needs to compute these rows; "terms" must be the same on all ranks."""
        terms, device = self.given.terms, self.given.device_of
        gpu = None if device is None else name_if_seen(device.ordinal)
        same = [[t.metric, t.power, t.weight, t.limit, str(t.x.dtype), zlib.crc32(t.y.host.tobytes())] for t in terms]
        return {"terms": same, "largest": [term.largest for term in terms], "gpu": gpu}, [term.x.host for term in terms]


class GatheredPoints:
    """The points of all ranks, on rank 0; see `PeerMemory`, which is the like for matrices.

    Parameters
    ----------
    cost : PointCost
    gpus : list of int
        The GPUs of ranks on this host, rank 0's first, if they may read each other's memory.
    """

    def __init__(self, cost: PointCost, gpus: Sequence[int]) -> None:
        several = len(gpus) > 1
        self._cost = cost
        self.devices: list[str] = [f"cuda:{ordinal}" for ordinal in gpus] if several else []
        where = "its GPU" + (", or on all GPUs that ranks of its host have if it has no room" if several else "")
        self.why: str = f"rank 0 is sent all points, and solves on {where}"

    @staticmethod
    def of(own: Any, said: Sequence[dict[str, Any]], arrays: Sequence[Sequence[NDArray[Any]]]) -> GatheredPoints | None:
        """None unless all ranks, which have points, have them of the same kind, and the same columns."""
        assert isinstance(own, RowsOfPoints)
        known = [each["points"] for each in said]
        if any(each["terms"] != known[0]["terms"] for each in known):
            return None
        terms = []
        for k, term in enumerate(own.given.terms):
            x = Coordinates(np.concatenate([of_rank[k] for of_rank in arrays]))
            terms.append(replace(term, x=x, largest=max(each["largest"][k] for each in known)))
        names = [each["points"]["gpu"] for each in said if each["host"] == said[0]["host"]]
        return GatheredPoints(replace(own.given, terms=tuple(terms)), readable_gpus(names))

    @contextmanager
    def opened(self) -> Iterator[PointCost]:
        """The costs of all points."""
        yield self._cost
