"""Rows in GPUs of one host: rank 0 opens the memory of the other ranks (CUDA IPC), and solves with all GPUs.

Every rank exports a handle of its tensor's memory. Rank 0 opens each twice: on the GPU that has it, whose passes it
launches itself, and on its own GPU, which reads single rows. From then on this is one matrix on several GPUs
(`lapwing.costs.sharded`); the other ranks wait, and keep their rows as they are. Where a memory cannot be exported
(that of a pool, or of expandable segments), or rank 0 does not see all GPUs or may not read their memory, rows stay
with their ranks (gpu_costs.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import permutations
from typing import Any, Final

from lapwing.answer import Answer
from lapwing.arrays import to_host, view_if_on_gpu
from lapwing.certificate import Certificate
from lapwing.costs.points import PointCost
from lapwing.costs.shards import ShardedMatrix
from lapwing.errors import ArgumentError, GpuError, InvalidCostError, LapwingError
from lapwing.gpu.backend import Gpu, SeveralGpus
from lapwing.gpu.kinds.choose import ordinal_of
from lapwing.gpu.kinds.slab_points import SlabPoints
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import ANY, GpuArray
from lapwing.gpu.runtime.device import LEGACY_STREAM, Context, checked, device_count
from lapwing.gpu.runtime.tuning import MOST_SHARDS
from lapwing.plan import Plan
from lapwing.problem import Problem
from lapwing.progress import Progress, ProgressLine
from lapwing.request import Request

_SWITCH: Final = "LAPWING_PEER_MEMORY"  # "0" in the environment of rank 0: as if no memory could be opened
_HANDLE_BYTES: Final = 64
_LAZY_PEER_ACCESS: Final = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

Told = dict[str, Any]  # of a memory, as JSON


def exported(tensor: Any) -> Told | None:
    """The handle by which another process of this host opens a tensor's memory, after all work on it; None if none can.

    The tensor must stay as it is until that process is done.
    """
    try:
        view = view_if_on_gpu(tensor)
        if view is None or 0 in view.shape or view.strides[1] != 1:
            return None
        with Context(view.ordinal, view.stream) as context:
            context.synchronize()
            driver = toolkit.driver()
            base, _ = checked(driver.cuMemGetAddressRange(view.pointer))
            handle = checked(driver.cuIpcGetMemHandle(base))
            return {
                "gpu": name_of(view.ordinal),
                "handle": ctypes.string_at(handle.getPtr(), _HANDLE_BYTES).hex(),
                "offset": view.pointer - int(base),
                "shape": list(view.shape),
                "strides": list(view.strides),
                "dtype": view.dtype,
            }
    except LapwingError:
        return None


class PeerMemory:
    """The memories of all ranks, as rank 0 sees them.

    Parameters
    ----------
    own : torch.Tensor
        Rank 0's rows.
    told : list of what `exported` said, of every rank
    """

    devices = ()
    why = "rank 0 opens the memory of all ranks on this host, and has every GPU pass over its own rows"

    def __init__(self, own: Any, told: Sequence[Told]) -> None:
        self._own, self._told = own, told

    @staticmethod
    def of(own: Any, told: Sequence[Told | None], hosts: Sequence[str]) -> PeerMemory | None:
        """None unless rank 0 can open the memory of every rank."""
        known = [each for each in told if each is not None]
        if len(known) < len(told) or len(set(hosts)) > 1 or not 2 <= len(told) <= MOST_SHARDS:
            return None
        seen = {name_of(ordinal) for ordinal in range(device_count())}
        strides = {tuple(each["strides"]) for each in known if each["shape"][0] > 1}
        if not {each["gpu"] for each in known} <= seen or len(strides) > 1:
            return None
        if os.environ.get(_SWITCH) == "0" or not _reads_all(known):
            return None
        return PeerMemory(own, known)

    @contextmanager
    def opened(self) -> Iterator[ShardedMatrix]:
        """One matrix in all memories, for a ``with`` block.

        Raises
        ------
        GpuError
            If the driver refuses.
        """
        first = view_if_on_gpu(self._own)
        assert first is not None
        ordinals = {name_of(ordinal): ordinal for ordinal in range(device_count())}
        with ExitStack() as held:
            parts, seen = [first], [first.pointer]
            for told in self._told[1:]:
                there = Context(ordinals[told["gpu"]])
                pointer = held.enter_context(_opened(there, told))
                near = pointer
                if there.info.ordinal != first.ordinal:
                    near = held.enter_context(_opened(Context(first.ordinal), told))
                shape, strides = tuple(told["shape"]), tuple(told["strides"])
                place = there.info.ordinal, LEGACY_STREAM
                parts.append(GpuArray(None, pointer, shape, strides, told["dtype"], *place, ANY))
                seen.append(near)
            yield ShardedMatrix(tuple(parts), tuple(seen))


@contextmanager
def _opened(context: Context, told: Told) -> Iterator[int]:
    """The address of a rank's first row, in this process on one GPU."""
    driver = toolkit.driver()
    handle = driver.CUipcMemHandle()
    ctypes.memmove(handle.getPtr(), bytes.fromhex(told["handle"]), _HANDLE_BYTES)
    with context:
        base = int(checked(driver.cuIpcOpenMemHandle(handle, _LAZY_PEER_ACCESS)))
    try:
        yield base + told["offset"]
    finally:
        with context, contextlib.suppress(GpuError):  # after a fault nothing can be closed
            context.synchronize()
            checked(driver.cuIpcCloseMemHandle(base))


def _reads_all(told: Sequence[Told]) -> bool:
    """Whether the GPUs of all ranks may read each other's memory."""
    ordinals = {name_of(ordinal): ordinal for ordinal in range(device_count())}
    return _reads([ordinals[each["gpu"]] for each in told])


def _reads(ordinals: Sequence[int]) -> bool:
    """Whether each of these GPUs may read the memory of all others, as `connect` (gpu/runtime/peers.py) has them do."""
    driver = toolkit.driver()
    pairs = permutations(dict.fromkeys(ordinals), 2)
    return all(int(checked(driver.cuDeviceCanAccessPeer(*pair))) for pair in pairs)


def readable_gpus(names: Sequence[str | None]) -> list[int]:
    """GPUs that this process sees by these names, if they may read each other's memory; else none."""
    if names[0] is None or os.environ.get(_SWITCH) == "0":
        return []
    try:
        ordinals = {name_of(ordinal): ordinal for ordinal in range(device_count())}
        found = [ordinals[name] for name in dict.fromkeys(names) if name is not None and name in ordinals][:MOST_SHARDS]
        return found if names[0] in ordinals and _reads(found) else []
    except LapwingError:
        return []


def name_of(ordinal: int) -> str:
    """A GPU's name that all processes of a host have for it."""
    return bytes(checked(toolkit.driver().cuDeviceGetUuid(ordinal)).bytes).hex()


def name_if_seen(ordinal: int) -> str | None:
    """The same; None if this process has no driver, or does not see that GPU."""
    try:
        return name_of(ordinal) if ordinal < device_count() else None
    except LapwingError:
        return None


def solve_on_gpus(
    costs_of_all: ShardedMatrix | PointCost,
    problem: Problem,
    request: Request,
    look_after: Callable[[], None],
    devices: Sequence[str] = (),
) -> tuple[Answer, Certificate | None, Plan]:
    """Solve where these costs are, or on some GPUs; what `look_after` raises, called now and then, ends the solve.

    Parameters
    ----------
    devices : sequence of str
        Of other processes, too, but for the first: the costs are solved where they are if these are of no use, or fail.
    """
    line = ProgressLine(sys.stderr) if request.progress is True else None
    told = line or (request.progress if callable(request.progress) else None)

    def watch(progress: Progress) -> None:
        look_after()
        if told is not None:
            told(progress)

    asked = replace(_asked(problem, request), progress=watch)
    try:
        answer, certificate, plan = _solved_by_several(costs_of_all, asked, devices) or _solved(
            Gpu("cuda"), costs_of_all, asked
        )
    finally:
        if line is not None:
            line.close()
    answer.row_to_col, answer.u, answer.v = (to_host(x) for x in (answer.row_to_col, answer.u, answer.v))
    return answer, certificate, plan


_Solved = tuple[Answer, Certificate | None, Plan]


def _solved(backend: Gpu, costs_of_all: ShardedMatrix | PointCost, asked: Request) -> _Solved:
    with backend.problem(costs_of_all, asked) as costs:
        plan = backend.plan(costs, asked)
        return *backend.solve(costs, plan, asked), plan


def _solved_by_several(
    costs_of_all: ShardedMatrix | PointCost, asked: Request, devices: Sequence[str]
) -> _Solved | None:
    """None if that is not better than one GPU, or not possible: other processes may have the memory, or the GPU."""
    if len(devices) < 2:
        return None
    began = time.perf_counter()
    try:
        if _planned_by_several(costs_of_all, asked, devices) is None:
            return None
        return _solved(SeveralGpus(devices), _anywhere(costs_of_all), replace(asked))
    except InvalidCostError:
        raise
    except (ArgumentError, GpuError):  # which one GPU raises, too, if they are the problem's
        asked.time_limit = max(0.0, asked.time_limit - (time.perf_counter() - began))
        return None
    finally:
        _give_back(devices[1:])


def _planned_by_several(costs_of_all: ShardedMatrix | PointCost, asked: Request, devices: Sequence[str]) -> Plan | None:
    """None if one GPU does as well."""
    backend, asked = SeveralGpus(devices), replace(asked)  # into which reasons are written
    with backend.problem(_anywhere(costs_of_all), asked) as costs:
        plan = backend.plan(costs, asked)
        has_no_room = isinstance(costs, SlabPoints) and costs.is_slow
    return plan if plan.tier == "sharded" and not has_no_room else None


def _anywhere(costs_of_all: ShardedMatrix | PointCost) -> ShardedMatrix | PointCost:
    """Points that need not be computed with on the GPU of their tensors."""
    return replace(costs_of_all, device_of=None) if isinstance(costs_of_all, PointCost) else costs_of_all


def _give_back(devices: Sequence[str]) -> None:
    """Leave no free memory with this process on other processes' GPUs: the driver's pool would keep it."""
    with contextlib.suppress(LapwingError):
        for device in devices:
            with Context(ordinal_of(device)) as context:
                context.synchronize()
                checked(toolkit.driver().cuMemPoolTrimTo(context.pool.handle, 0))


def planned_on_gpus(
    costs_of_all: ShardedMatrix | PointCost, problem: Problem, request: Request, devices: Sequence[str] = ()
) -> Plan:
    """How `solve_on_gpus` would solve."""
    asked = _asked(problem, request)
    if len(devices) > 1:
        with contextlib.suppress(ArgumentError, GpuError):
            if (plan := _planned_by_several(costs_of_all, asked, devices)) is not None:
                return plan
    backend = Gpu("cuda")
    with backend.problem(costs_of_all, asked) as costs:
        return backend.plan(costs, asked)


def _asked(problem: Problem, request: Request) -> Request:
    """The request for all rows; what rank 0 may keep of other ranks' rows is no limit of a GPU."""
    return replace(request, unmatched_cost=problem.unmatched_cost, memory_limit=None)
