"""The host's and the driver's work for one call, whatever the problem's size: counted, so that it does not creep up.

On an H200 a launch takes 7 us, an allocation 5, a wait 10 to 20 and a question for free memory 20. A solve of 64 rows
is little else.
"""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from support.emulated_toolkit import COUNTS
from support.gpu_memory import Gpu, OnGpu


def counted(call):
    """Of the second call, when programs are loaded and what is kept is there."""
    call()
    COUNTS.clear()
    call()
    return dict(COUNTS)


def draw(shape):
    return (1000 * np.random.default_rng(5).random(shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "options", "launches"),
    [
        (
            (60, 60),
            {},
            8,
        ),  # a glance, prepare, column minima, list, solve, deliver, two of the certificate
        ((60, 60), {"certify": False}, 6),
        ((140, 140), {}, 8),  # with a look for structure
        ((40, 60), {}, 8),  # no column minima
    ],
)
def test_a_solve(emulated_gpu, shape, options, launches):
    cost = OnGpu(Gpu(emulated_gpu), draw(shape))
    counts = counted(lambda: lw.solve(cost, **options))
    certified = options.get("certify", True)
    assert counts.pop("launches") == launches
    # One block for the method, one for the proof, and four arrays of the answer.
    assert counts.pop("allocations") == (6 if certified else 5)
    # Kernels write the report and the summary of the proof to pinned memory: a wait for both, which is seen to be
    # over; or the sum comes back, and prices, which tell whether rounding may matter.
    assert counts.pop("bytes back", 0) == (0 if certified else 8 * min(shape) + 8 * shape[1])
    assert counts.pop("waits") <= (1 if certified else 4)
    assert counts.pop("fills", 0) == (1 if certified else 0)
    pieces = 16 * 4 * shape[1]  # a look for large costs if the glance does not decide, and another at whole rows
    assert counts.pop("bytes aside", 0) in (0, pieces, 2 * pieces)
    assert not counts


def test_prices_and_starts(emulated_gpu):
    gpu = Gpu(emulated_gpu)
    cost = OnGpu(gpu, draw((40, 60)))
    counts = counted(lambda: lw.solve(cost, unmatched_cost=400.0))
    # one more for ties at the price
    assert counts["launches"] == 9 and counts["allocations"] == 7 and counts["copies there"] == 1
    cost = OnGpu(gpu, draw((60, 60)))
    start = np.zeros(60), np.zeros(60)
    counts = counted(lambda: lw.solve(cost, start=start))
    assert counts["launches"] == 7 and counts["copies there"] == 1


@pytest.mark.parametrize(
    ("shape", "options", "counts"),
    [
        ((9, 12, 12), {}, {"launches": 1, "allocations": 3}),
        ((9, 12, 12), {"duals": True}, {"launches": 1, "allocations": 5}),
        ((9, 12, 12), {"certify": True}, {"launches": 2, "allocations": 8}),
        ((5, 40, 40), {}, {"launches": 1, "allocations": 3}),
    ],
)
def test_a_batch(emulated_gpu, shape, options, counts):
    """Nothing waits, and nothing comes back."""
    costs = OnGpu(Gpu(emulated_gpu), draw(shape))
    assert counted(lambda: lw.solve_batch(costs, **options)) == counts


def test_a_batch_with_counts(emulated_gpu):
    gpu = Gpu(emulated_gpu)
    costs, rows = OnGpu(gpu, draw((9, 12, 12))), OnGpu(gpu, np.full(9, 7))
    assert counted(lambda: lw.solve_batch(costs, row_counts=rows)) == {"launches": 1, "allocations": 3}
