"""Instances made in a GPU's memory, block by block, with the bits that `lapwing.instances` gives.

For matrices that no host has room or time for. PyTorch has no unsigned 64-bit arithmetic; signed numbers wrap alike,
and shifts are masked. Costs narrower than float32 are rounded to that first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import instances

ON_GPU = ("uniform", "geometric", "disjoint")
_BLOCK_COSTS = 1 << 26  # made at once; a few times 8 bytes each

_U64 = np.uint64
_GAMMA, _MIX_1, _MIX_2 = _U64(0x9E3779B97F4A7C15), _U64(0xBF58476D1CE4E5B9), _U64(0x94D049BB133111EB)
_SEED_XOR, _FACTOR, _OFFSET = _U64(0x5851F42D4C957F2D), _U64(0xD1342543DE82EF95), _U64(0x2545F4914F6CDD1D)


def make(torch: Any, cls: str, n: int, seed: int, dtype: str) -> Any:
    """An instance, (n, n), on the current GPU; classes that are not in `ON_GPU` are made on the host."""
    if cls not in ON_GPU:
        return torch.from_numpy(instances.generate(cls, n, seed, dtype=dtype)).cuda()
    cost = torch.empty((n, n), dtype=getattr(torch, dtype), device="cuda")
    step = max(1, _BLOCK_COSTS // n)
    fill = _uniform(torch, n, seed) if cls == "uniform" else _squared_distances(torch, cls, n, seed)
    for first in range(0, n, step):
        made = fill(slice(first, min(first + step, n)))
        cost[first : first + step] = made if dtype == "float64" else made.to(torch.float32)
        del made
    torch.cuda.empty_cache()
    some = np.array([0, 1, n // 2, n - 1])
    expected = instances.block(cls, n, seed, some, np.arange(n), dtype="float64" if dtype == "float64" else "float32")
    assert np.array_equal(cost[torch.from_numpy(some).cuda()].cpu().numpy(), expected.astype(dtype)), (
        "not the instance's bits"
    )
    return cost


def _uniform(torch: Any, n: int, seed: int) -> Any:
    index = np.arange(n, dtype=_U64)
    rows = _on_gpu(torch, _mixed(_mixed(np.array([seed], _U64) ^ _SEED_XOR) + index))
    cols = _on_gpu(torch, index * _FACTOR + _OFFSET)

    def fill(some: slice) -> Any:
        h = rows[some, None] ^ cols[None, :]
        h += _signed(_GAMMA)
        for shift, factor in ((30, _MIX_1), (27, _MIX_2)):
            h ^= _shifted(h, shift)
            h *= _signed(factor)
        h ^= _shifted(h, 31)
        return _shifted(h, 11).to(torch.float64) * 2.0**-53

    return fill


def _squared_distances(torch: Any, cls: str, n: int, seed: int) -> Any:
    x, y = (torch.from_numpy(points).cuda() for points in instances.points(cls, n, seed))

    def fill(some: slice) -> Any:
        a = x[some, :1] - y[:, 0]
        b = x[some, 1:] - y[:, 1]
        return (a * a) + (b * b)

    return fill


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + _GAMMA
    z = (z ^ (z >> _U64(30))) * _MIX_1
    z = (z ^ (z >> _U64(27))) * _MIX_2
    return np.asarray(z ^ (z >> _U64(31)))


def _on_gpu(torch: Any, values: NDArray[np.uint64]) -> Any:
    return torch.from_numpy(values.view(np.int64)).cuda()


def _signed(x: np.uint64) -> int:
    return int(x.astype(np.int64))


def _shifted(h: Any, by: int) -> Any:
    """A logical shift to the right."""
    return (h >> by) & ((1 << (64 - by)) - 1)
