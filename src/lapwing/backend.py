"""The devices as the flow sees them: one contract, and the choice between them.

Nothing of the GPU is loaded before a problem is solved there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from lapwing.answer import Answer
from lapwing.arrays import is_gpu_array
from lapwing.certificate import Certificate
from lapwing.costs.base import CostSource
from lapwing.costs.function import ON_GPU_ONLY, FunctionCost
from lapwing.costs.sparse import is_sparse
from lapwing.cpu.backend import Cpu
from lapwing.errors import ArgumentError, DtypeError, GpuError
from lapwing.inputs import shape_of
from lapwing.methods import METHODS, methods_on
from lapwing.plan import Plan, choose_device
from lapwing.prices import is_pair
from lapwing.problem import Problem
from lapwing.request import Request


class Backend(Protocol):
    """One device. The flow calls these in their order, all but the first inside ``with problem``."""

    def problem(self, cost: Any, request: Request) -> AbstractContextManager[Any]:
        """The costs, checked, as this device sees them."""
        ...

    def identified(self, problem: Any, request: Request) -> Problem:
        """The problem that a checkpoint is of: the same on every device."""
        ...

    def plan(self, problem: Any, request: Request) -> Plan:
        """How it is solved."""
        ...

    def solve(self, problem: Any, plan: Plan, request: Request) -> tuple[Answer, Certificate | None]:
        """The answer, and its certificate if it is asked for; without one the answer has its objective and bound."""
        ...


CPU: Backend = Cpu()


def choose_backend(cost: Any, device: str | None, request: Request) -> Backend:
    """Choose the device; add the reason to `request.why` if the user left the choice open.

    Raises
    ------
    ArgumentError, DtypeError
    """
    if device is not None and not isinstance(device, str):
        raise DtypeError(f"device must be a string such as 'cuda:0', got {device!r}")
    if device == "cpu":
        if isinstance(cost, FunctionCost):
            raise ArgumentError(ON_GPU_ONLY)
        return CPU
    if device in (None, "auto") and is_sparse(cost):
        from lapwing.costs.sparse_arrays import is_sparse_on_gpu

        if not is_sparse_on_gpu(cost):
            request.why = "CPU: sparse costs that lie there are solved there"
            return CPU
        if is_pair(request.unmatched_cost) or request.method not in ("auto", "core"):
            request.why = "CPU: such sparse costs are solved there, and copied from the GPU"
            return CPU
        device = "cuda"
    if device == "auto" and isinstance(cost, CostSource) and not cost.is_computable_on_gpu:
        request.why = "CPU: what supplies these costs is there"
        return CPU
    if is_on_gpu(cost):
        request.leaves_device = device in (None, "auto")
        device = "cuda" if device in (None, "auto") else device
    elif device == "auto":
        device, request.why = choose_device(shape_of(cost), request.method, _usable_gpus())
    if device in (None, "cpu"):
        return CPU
    if is_pair(request.unmatched_cost):
        request.why = "CPU: prices of columns are solved there"
        if isinstance(cost, FunctionCost):
            raise ArgumentError(f"prices of columns are solved on the CPU: {ON_GPU_ONLY}")
        if not is_on_gpu(cost):
            return CPU
        from lapwing.gpu.on_host import OnHost

        return OnHost(device)
    if request.method != "auto" and "cuda" not in getattr(METHODS.get(request.method), "devices", ()):
        core, *others = map(repr, methods_on("cuda"))
        raise ArgumentError(
            f"method={request.method!r} is not supported on a GPU, which has {core}, {', '.join(others)}: leave it "
            "out, or pass device='cpu'"
        )
    from lapwing.gpu.backend import Gpu

    return Gpu(device)


def choose_batch_device(costs: Any, device: str | None) -> str:
    """The device of a batch: "cpu", or a GPU by its name; "cuda" is the GPU of costs that are on one.

    Raises
    ------
    DtypeError
    """
    if device is not None and not isinstance(device, str):
        raise DtypeError(f"device must be a string such as 'cuda:0', got {device!r}")
    if is_on_gpu(costs):
        return "cuda" if device in (None, "auto") else device
    if device == "auto" and not isinstance(costs, (list, tuple)):
        return choose_device(shape_of(costs)[1:], "auto", _usable_gpus())[0]
    return "cpu" if device in (None, "auto") else device


def is_on_gpu(cost: Any) -> bool:
    """Whether costs are in a GPU's memory, or are computed there from what is."""
    if isinstance(cost, CostSource):
        return cost.device_of is not None or isinstance(cost, FunctionCost)
    return is_gpu_array(cost)


def _usable_gpus() -> int:
    from lapwing.gpu.runtime.device import device_count

    try:
        return device_count()
    except GpuError:
        return 0
