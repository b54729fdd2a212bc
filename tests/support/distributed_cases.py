"""The functions that the ranks of tests/distributed run: each is called on every rank with its number first."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import lapwing as lw


def rows_of(rank, size, m):
    """The rows of a rank: as many as the others, nearly."""
    return slice(m * rank // size, m * (rank + 1) // size)


def told(result):
    """The parts of a result that can be sent to the test."""
    names = ("objective", "lower_bound", "status", "certificate", "statistics", "first_row", "shape")
    arrays = {name: np.asarray(getattr(result, name)) for name in ("row_to_col", "u", "v")}
    return {name: getattr(result, name) for name in names} | arrays


def solve(rank, matrix, size=4, own=rows_of, **options):
    """Solve a matrix of which each rank takes its own rows; nothing is gathered unless the options say so."""
    options = {"memory_limit": 0} | options
    rows = own(rank, size, len(matrix))
    prices = options.get("unmatched_cost")
    if isinstance(prices, np.ndarray):
        options["unmatched_cost"] = prices[rows]
    if isinstance(prices, tuple) and isinstance(prices[0], np.ndarray):
        options["unmatched_cost"] = prices[0][rows], prices[1]
    if "start" in options:
        u, v = options["start"]
        options["start"] = u[rows], v
    return told(lw.distributed.solve(matrix[rows], **options))


def uneven(rank, size, m):
    """Rank 1 has nothing, rank 2 most."""
    ends = [0, m // 8, m // 8, m - m // 16, m]
    return slice(ends[rank], ends[rank + 1])


def solve_points(rank, x, y, size=4):
    costs = lw.costs.squared_euclidean(x[rows_of(rank, size, len(x))], y)
    return told(lw.distributed.solve(costs, memory_limit=0))


def solve_points_of_which_some_are_on_a_gpu(rank, x, y, size=4):
    """As if all ranks but the last had theirs there, in another library than PyTorch."""
    from lapwing.gpu.runtime.arrays import ANY, GpuArray

    costs = lw.costs.squared_euclidean(x[rows_of(rank, size, len(x))], y)
    if rank < size - 1:
        costs = replace(costs, device_of=GpuArray(None, 0, y.shape, (2, 1), "float64", 0, 0, ANY))
    return told(lw.distributed.solve(costs, memory_limit=0))


def solve_without_invalid(rank, matrix, kind="array", **options):
    """Pairs whose cost is NaN are forbidden; with the answer, those of the rank."""
    own = matrix[rows_of(rank, 4, len(matrix))]
    if kind == "array":
        result = lw.distributed.solve(own, invalid="forbid", **options)
    else:
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Shard

        rows = torch.from_numpy(own)
        if kind == "tensor":
            result = lw.distributed.solve(rows, invalid="forbid", **options)
        else:
            result = lw.solve(DTensor.from_local(rows, init_device_mesh("cpu", (4,)), [Shard(0)]), invalid="forbid")
    return told(result), np.asarray(result.invalid_pairs)


def solve_tensor(rank, matrix, on_device=False, size=4, **options):
    """The same of a tensor; `on_device`: by the code for GPUs."""
    import torch

    from lapwing.distributed import member
    from lapwing.distributed.device_shard import rows_on_device

    kept, options = member._shard, {"memory_limit": 0} | options
    if on_device:
        member._shard = rows_on_device
    try:
        result = lw.distributed.solve(torch.from_numpy(matrix[rows_of(rank, size, len(matrix))]), **options)
    finally:
        member._shard = kept
    assert all(isinstance(each, torch.Tensor) for each in (result.row_to_col, result.u, result.v))
    return told(result)


def solve_dtensor(rank, matrix, placement="rows", **options):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    placements = {"rows": Shard(0), "columns": Shard(1), "all": Replicate()}
    mesh = init_device_mesh("cpu", (4,))
    shared = distribute_tensor(torch.from_numpy(matrix), mesh, [placements[placement]])
    return told(lw.solve(shared, **options))


def solve_in_half(rank, matrix, **options):
    """Two ranks solve, and two others."""
    import torch.distributed as dist

    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    group = halves[rank // 2]
    answer = solve(rank % 2, matrix, size=2, group=group, **options)
    for half in halves:
        dist.barrier(half) if half is group else None
    return answer


def plan(rank, matrix, **options):
    return str(lw.distributed.plan(matrix[rows_of(rank, 4, len(matrix))], **options))


def differ(rank, which, on):
    """One rank passes something else."""
    here = rank == on
    options = {"maximize": here} if which == "maximize" else {}
    rows = np.ones((3, 7 if here and which == "columns" else 12), np.float32)
    if here and which == "dtype":
        rows = rows.astype(np.float64)
    if here and which == "vector":
        rows = rows[0]
    if which == "invalid" and here:
        options["invalid"] = "forbid"
    if which == "method" and here:
        options["method"] = "jv"
    if which == "time_limit":
        options["time_limit"] = 5.0 + here
    if which == "unmatched" and here:
        options["unmatched_cost"] = 1.0
    if which == "start":
        options["start"] = np.zeros(3), np.full(12, float(here))
    return told(lw.distributed.solve(rows, **options))


def fail_in_progress(rank, matrix):
    def progress(_):
        raise ZeroDivisionError("on purpose")

    return solve(rank, matrix, progress=progress if rank == 0 else False)


def count_progress(rank, matrix):
    seen = []
    solve(rank, matrix, progress=seen.append)
    return len(seen), seen[-1].rows if seen else 0


def interrupt(rank, matrix, on, after):
    """One rank gets Ctrl-C."""
    if rank == on:
        import threading

        threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    return solve_slowly(rank, matrix, after + 3)


def solve_slowly(rank, matrix, seconds):
    """A solve that takes a while: rank 0 waits whenever it is told of progress."""

    def progress(_):
        time.sleep(0.05)
        if time.monotonic() > until:
            raise TimeoutError("nothing ended the solve")

    until = time.monotonic() + seconds
    return solve(rank, matrix, progress=progress)


def die(rank, matrix, victim, moment, **options):
    """One rank is killed at a moment of a solve: before it, or when it follows its n-th order of a kind."""
    from lapwing.distributed import coordinator
    from lapwing.distributed.shard import Shard

    coordinator._PING_SECONDS = 0.0
    if moment == "before" and rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    follow = Shard.follow
    seen = []

    def counted(shard, order):
        kind, _, number = moment.rpartition(" ")
        if rank == victim and order.kind == kind:
            seen.append(order)
            if len(seen) == int(number):
                os.kill(os.getpid(), signal.SIGKILL)
        return follow(shard, order)

    Shard.follow = counted
    began = time.monotonic()
    try:
        answer = solve(rank, matrix, **options)
    except lw.GroupError as error:
        return str(error), time.monotonic() - began
    return answer


def with_little_memory(rank, n, most, size=4):
    """A matrix that no rank can hold: memory is limited to what there is now and `most` bytes."""
    import resource

    with open("/proc/self/status") as status:
        now = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmSize"))
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + most, limits[1]))
    try:
        try:
            np.ones((n, n), np.float32)
        except MemoryError:
            pass
        else:
            raise AssertionError("the whole matrix fits")
        rows = rows_of(rank, size, n)
        own = np.empty((rows.stop - rows.start, n), np.float32)
        for k in range(len(own)):
            own[k] = np.random.default_rng((7, rows.start + k)).random(n, np.float32)
        result = lw.distributed.solve(own, memory_limit="2MB")
        return told(result), own[np.arange(len(own)), result.row_to_col]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def solve_beside_another_backend(rank, matrix):
    """As if the group were NCCL's: messages go over a companion."""
    from lapwing.distributed import channel

    kept = channel.dist.get_backend
    group = channel.dist.group.WORLD
    channel.dist.get_backend = lambda asked=None: "nccl" if asked is group else kept(asked)
    try:
        before = len(channel._companions)
        answers = [solve(rank, matrix), solve(rank, matrix)]
        assert len(channel._companions) == before + 1
    finally:
        channel.dist.get_backend = kept
    assert answers[0]["objective"] == answers[1]["objective"]
    return answers[0]


def solve_without_gloo(rank, matrix):
    from lapwing.distributed import channel

    kept = channel.dist.get_backend, channel.dist.is_gloo_available
    channel.dist.get_backend, channel.dist.is_gloo_available = lambda _=None: "nccl", lambda: False
    try:
        return solve(rank, matrix)
    finally:
        channel.dist.get_backend, channel.dist.is_gloo_available = kept


def flow_matching(_rank, path):
    """The example, for three steps."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("flow_matching_distributed", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example.train(3, 40)


def solve_on_gpus(rank, matrix, size=4, moment="", victim=None, interrupted=None, gpu=None, **options):
    """The same of tensors on emulated GPUs, which cannot read each other's memory; the plan, too.

    `victim` is killed when it follows the first order of a kind; `interrupted` gets Ctrl-C then. `gpu`: all have one.
    """
    import pytest
    import torch

    from lapwing.distributed import member
    from lapwing.distributed.device_shard import RowsOnDevice, rows_on_device
    from lapwing.gpu.costs import host_rows
    from lapwing.gpu.runtime.arrays import ANY, GpuArray
    from support import emulated_toolkit

    def view(shard):
        tensor = shard.tensor
        place = tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), str(tensor.dtype).removeprefix("torch.")
        return GpuArray(tensor, *place, 0, 1, ANY) if tensor.numel() else None

    follow = RowsOnDevice.follow

    def struck(shard, order):
        if order.kind == moment and rank in (victim, interrupted):
            os.kill(os.getpid(), signal.SIGKILL if rank == victim else signal.SIGINT)
        return follow(shard, order)

    rows = rows_of(rank, size, len(matrix))
    began = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        emulated_toolkit.install(patch)
        patch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
        patch.setattr(
            emulated_toolkit.DRIVER, "cuDeviceGetUuid", lambda _: (0, SimpleNamespace(bytes=bytes([gpu or rank])))
        )
        patch.setattr(member, "_shard", rows_on_device)
        patch.setattr(RowsOnDevice, "view", property(view))
        patch.setattr(RowsOnDevice, "follow", struck)
        patch.setattr(host_rows, "_RANKS_DEPTH", 40)
        try:
            result = lw.distributed.solve(torch.from_numpy(matrix[rows]), **{"memory_limit": 0} | options)
        except lw.GroupError as error:
            return str(error), time.monotonic() - began
        assert not emulated_toolkit.DRIVER.contexts
    return told(result) | {"plan": str(result.plan)}
