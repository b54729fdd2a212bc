"""The devices as the flow sees them: one contract, and the choice between them; batches on the one that is chosen.

Nothing of the GPU is loaded before a problem is solved there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, SupportsIndex, cast

from lapwing import inputs
from lapwing.answer import Answer
from lapwing.arrays import is_gpu_array
from lapwing.certificate import Certificate
from lapwing.costs.base import CostSource
from lapwing.costs.function import ON_GPU_ONLY, FunctionCost
from lapwing.costs.sparse import is_sparse
from lapwing.cpu.backend import Cpu
from lapwing.cpu.backend import solve_batch as solve_on_cpu
from lapwing.errors import ArgumentError, DtypeError, GpuError
from lapwing.methods import METHODS, methods_on
from lapwing.plan import Plan, choose_device
from lapwing.prices import is_pair
from lapwing.problem import Problem, Stack
from lapwing.request import Request
from lapwing.result import BatchResult, ListResult, StackResult
from lapwing.tensors import like

Device = str | Sequence[str] | None  #: as the user names it: several GPUs of one host are a list


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


def choose_backend(cost: Any, device: Device, request: Request) -> Backend:
    """Choose the device; add the reason to `request.why` if the user left the choice open.

    Raises
    ------
    ArgumentError, DtypeError
    """
    if isinstance(device, (list, tuple)):
        if len(device) != 1:
            return _several_gpus(device, request)
        device = device[0]
    if device is not None and not isinstance(device, str):
        raise DtypeError(f"device must be a string such as 'cuda:0', or a list of them, got {device!r}")
    if device == "cpu":
        if isinstance(cost, FunctionCost):
            raise ArgumentError(ON_GPU_ONLY)
        return CPU
    if device in (None, "auto") and is_sparse(cost):
        if not is_on_gpu(cost):
            request.why = "CPU: sparse costs that lie there are solved there"
            return CPU
        if request.method not in ("auto", "core"):
            request.why = "CPU: such sparse costs are solved there, and copied from the GPU"
            return CPU
        request.leaves_device, device = True, "cuda"
    if device == "auto" and isinstance(cost, CostSource) and not cost.is_computable_on_gpu:
        request.why = "CPU: what supplies these costs is there"
        return CPU
    if device in (None, "auto") and is_on_gpu(cost):
        request.leaves_device, device = True, "cuda"
    elif device == "auto":
        device, request.why = choose_device(inputs.shape_of(cost), request.method, _usable_gpus())
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


def _several_gpus(devices: Sequence[Any], request: Request) -> Backend:
    if not devices or not all(isinstance(device, str) and device.startswith("cuda") for device in devices):
        raise ArgumentError(f"device=[...] names GPUs, such as ['cuda:0', 'cuda:1'], got {list(devices)!r}")
    if is_pair(request.unmatched_cost):
        raise ArgumentError("prices of columns are solved on the CPU: leave device= out")
    from lapwing.gpu.backend import SeveralGpus

    return SeveralGpus(devices)


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
        return choose_device(inputs.shape_of(costs)[1:], "auto", _usable_gpus())[0]
    return "cpu" if device in (None, "auto") else device


def solve_batch_at_once(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: str = "raise",
    row_counts: Any = None,
    col_counts: Any = None,
    threads: SupportsIndex | None = None,
    duals: bool = False,
    certify: bool = False,
    check: bool | None = None,
    device: str | None = None,
) -> BatchResult:
    """`lapwing.solve_batch`, with its parameters and errors, of costs that are numbers, outside of any compiler."""
    where = choose_batch_device(costs, device)
    if where != "cpu" and is_on_gpu(costs):
        from lapwing.gpu.batch.api import solve_batch as solve_on_gpu

        answer: Any = solve_on_gpu(
            costs,
            maximize=maximize,
            unmatched_cost=unmatched_cost,
            infeasible=infeasible,
            row_counts=row_counts,
            col_counts=col_counts,
            duals=duals,
            certify=certify,
            check=False if check is None else check,
            device=where,
        )
        return cast(BatchResult, answer)
    partial = inputs.check_choice(infeasible, "infeasible", ("raise", "partial")) == "partial"
    options = maximize, unmatched_cost, row_counts, col_counts, partial
    return _solve_from_host(costs, where, *options, threads=threads, duals=duals, certify=certify, check=check)


def _solve_from_host(
    costs: Any,
    where: str,
    maximize: bool,
    unmatched_cost: Any,
    row_counts: Any,
    col_counts: Any,
    partial: bool,
    *,
    threads: SupportsIndex | None,
    duals: bool,
    certify: bool,
    check: bool | None,
) -> BatchResult:
    check = check is None or inputs.check_flag(check, "check")
    certify = inputs.check_flag(certify, "certify")
    duals = inputs.check_flag(duals, "duals") or certify
    maximize = inputs.check_flag(maximize, "maximize")
    count = inputs.check_threads(threads) or inputs.processors()
    problems: Stack | list[Problem]
    if isinstance(costs, (list, tuple)):
        if row_counts is not None or col_counts is not None:
            raise ArgumentError(
                "row_counts and col_counts are for an array (B, m, n): the matrices of a list have shapes"
            )
        if where != "cpu":
            raise ArgumentError("a list is solved on the CPU: pass an array (B, m, n), with row_counts and col_counts")
        problems = inputs.make_problems(costs, maximize, unmatched_cost)
    else:
        problems = inputs.make_stack(costs, maximize, unmatched_cost, row_counts, col_counts)
        if where != "cpu" and problems.unmatched_cols is None:
            from lapwing.gpu.batch.host import solve_host_stack

            asked = {"duals": duals, "certify": certify, "check": check, "partial": partial}
            return cast(BatchResult, solve_host_stack(problems, where, costs, **asked))

    answer, certificates = solve_on_cpu(problems, count, duals=duals, certify=certify, check=check, partial=partial)
    template = costs[0] if isinstance(problems, list) and problems else costs
    row_to_col, objective, u, v, status = (
        like(part, template) for part in (answer.row_to_col, answer.objective, answer.u, answer.v, answer.status)
    )
    if isinstance(problems, list):
        widths = [problem.shape[1] for problem in problems]
        return ListResult(row_to_col, objective, u, v, status, certificates, widths)
    return StackResult(row_to_col, objective, u, v, status, certificates, problems.costs.shape[2])


def is_on_gpu(cost: Any) -> bool:
    """Whether costs are in a GPU's memory, or are computed there from what is."""
    if isinstance(cost, CostSource):
        return cost.device_of is not None or isinstance(cost, FunctionCost)
    if is_sparse(cost):
        from lapwing.costs.sparse_arrays import is_sparse_on_gpu

        return is_sparse_on_gpu(cost)
    return is_gpu_array(cost)


def _usable_gpus() -> int:
    from lapwing.gpu.runtime.device import device_count

    try:
        return device_count()
    except GpuError:
        return 0
