"""A program for a few ranks, each with a GPU: every way in which rows on GPUs are solved over a group.

torchrun --standalone --nproc-per-node=2 tests/support/ranks_on_gpus.py [nccl|gloo] [peers|messages]

messages: as if the GPUs could not read each other's memory.
"""

from __future__ import annotations

import math
import os
import sys

import torch
import torch.distributed as dist

import lapwing as lw


def main() -> None:
    """Solve, and compare with one process."""
    rank, by_messages = int(os.environ["RANK"]), sys.argv[2:] == ["messages"]
    if by_messages:
        os.environ["LAPWING_PEER_MEMORY"] = "0"
    torch.cuda.set_device(rank)
    dist.init_process_group(sys.argv[1])
    size, n = dist.get_world_size(), 900
    own = slice(n * rank // size, n * (rank + 1) // size)
    random = torch.Generator().manual_seed(1)
    whole = torch.rand(n, n, generator=random)
    rows = whole[own].cuda()

    def solve(given, **options):
        result = lw.distributed.solve(given, **options)
        assert result.certificate.complete and result.row_to_col.is_cuda and result.v.device.index == rank
        return result

    expected = lw.solve(whole).objective
    assert solve(rows).objective == expected  # at rank 0
    opened = solve(rows, memory_limit=0)  # by all GPUs, where memory can be opened
    assert opened.objective == expected
    expected_way = "rank 0 solves on GPU" if by_messages else "rank 0 opens the memory of all ranks"
    assert expected_way in str(opened.plan), opened.plan
    assert expected_way in str(lw.distributed.plan(rows, memory_limit=0))
    assert solve(rows, start=opened, memory_limit=0).objective == expected
    assert solve(rows, maximize=True, memory_limit=0).objective == lw.solve(whole, maximize=True).objective

    broken = whole.clone()
    broken[100, 7] = math.nan
    try:
        solve(broken[own].cuda(), memory_limit=0)
    except lw.InvalidCostError as error:
        assert (error.row, error.col) == (100, 7)
    else:
        raise AssertionError("no error")
    held = broken[own].cuda()
    pairs = solve(held, invalid="forbid", memory_limit=0).invalid_pairs
    assert pairs.tolist() == ([[100, 7]] if rank == 0 else [])

    points = torch.rand(2, 2000, 3, generator=random)
    far = torch.cdist(points[0], points[1])  # of which lists do not suffice
    own_far = slice(2000 * rank // size, 2000 * (rank + 1) // size)
    for options in ({}, {"maximize": True}, {"unmatched_cost": 0.0625}):
        assert solve(far[own_far].cuda(), memory_limit=0, **options).objective == lw.solve(far, **options).objective
    blocked = whole.clone()
    blocked[[5, 800]] = math.inf
    try:
        solve(blocked[own].cuda(), memory_limit=0)
    except lw.InfeasibleError as error:
        assert set(error.rows.tolist()) <= {5, 800}
    else:
        raise AssertionError("no error")
    assert solve(rows, time_limit=0.0, memory_limit=0).lower_bound <= expected

    x, y = torch.rand(2, n, 2, generator=random)
    source = lw.costs.squared_euclidean(x[own].cuda(), y.cuda())
    result = solve(source)
    assert "rank 0 is sent all points" in str(result.plan), result.plan
    assert result.objective == lw.solve(lw.costs.squared_euclidean(x, y)).objective

    whole = (whole[:300, :300] * 3000).to(torch.int32)
    own = slice(300 * rank // size, 300 * (rank + 1) // size)
    for method in ("hungarian-bfs", "hungarian-tree", "ssp"):
        assert solve(whole[own].cuda(), method=method).objective == lw.solve(whole).objective
    print(f"rank {rank}: fine", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
