"""What is asked of a GPU: options, where the costs are or will be, and the plan."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.costs.base import CostSource
from lapwing.costs.on_device import DeviceCost
from lapwing.errors import ArgumentError, DtypeError
from lapwing.gpu.costs.computed import placed as placed_source
from lapwing.gpu.costs.host_rows import Layout, Lines
from lapwing.gpu.costs.upload import placed
from lapwing.gpu.plan import is_too_large, plan_computed, plan_on_gpu, plan_streamed
from lapwing.gpu.reference import REFERENCE_METHODS
from lapwing.gpu.runtime.arrays import GpuArray, row_major, view_if_on_gpu
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.gpu.runtime.programs import FLOATS, INTEGERS
from lapwing.options import MethodOptions, name_and_options
from lapwing.plan import Plan
from lapwing.prices import prices_in_kind
from lapwing.problem import Problem
from lapwing.result import duals_of


@dataclass(eq=False)  # not frozen, which would take four times as long to make
class Options:
    """What `lapwing.solve` takes beside the costs and the device, checked as far as that needs no costs.

    Attributes
    ----------
    maximize, certify : bool
    unmatched_cost, start : as given
    time_limit : float
        Seconds; infinite for none.
    progress : bool or function
    why : str
        Why a GPU was chosen, if the user did not.
    memory_limit : int or None
        Bytes of the GPU's memory that may be taken, if not all.
    method : str
        "core" or a name from `lapwing.gpu.reference.REFERENCE_METHODS`.
    tuning : MethodOptions or None
        Of that method.
    """

    maximize: bool = False
    unmatched_cost: Any = None
    start: Any = None
    certify: bool = True
    time_limit: float = math.inf
    progress: bool | Callable[..., object] = False
    why: str = ""
    memory_limit: int | None = None
    method: str = "core"
    tuning: MethodOptions | None = None

    @property
    def priced(self) -> bool:
        """Whether rows may stay free."""
        return self.unmatched_cost is not None

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Of costs that the method takes."""
        reference = REFERENCE_METHODS.get(self.method)
        return FLOATS + INTEGERS if reference is None else reference.dtypes()


def asked_for(method: str | MethodOptions) -> tuple[str, MethodOptions | None]:
    """The method that a GPU takes for a name or options, and its options."""
    name, tuning = name_and_options(method)
    return "core" if name == "auto" else name, tuning


def context_of(source: CostSource, device: str) -> Context:
    """The GPU that is to compute a source's costs."""
    ordinal, home = ordinal_of(device), source.home
    if home is None:
        return shared_context(ordinal, 0)
    if device not in ("cuda", f"cuda:{home.ordinal}"):
        raise ArgumentError(
            f"device={device!r}, but the points are on GPU {home.ordinal}: move them, or leave device out"
        )
    return shared_context(home.ordinal, home.stream)


def plan_of_source(context: Context, source: CostSource, options: Options) -> Plan:
    """The plan for costs that the GPU computes."""
    if options.method != "core":
        raise ArgumentError(f"method {options.method!r} reads a matrix on a GPU, not computed costs: use method='core'")
    home = source.home

    def free_bytes() -> int:
        return context.free_bytes() + (0 if home is None else home.library.kept_bytes(home.ordinal))

    return plan_computed(
        placed_source(source), options.priced, context.info, free_bytes, options.why, options.memory_limit
    )


class Placed(NamedTuple):
    """Costs on a GPU, or that will be: the context is yet to be entered.

    Attributes
    ----------
    context : Context
    given : GpuArray
        As they lie there, or will.
    host : array or None
        As they lie on the host now.
    """

    context: Context
    given: GpuArray
    host: NDArray[Any] | None


def placed_costs(cost: Any, device: str, options: Options) -> Placed:
    """A matrix, where it is or will be."""
    given = view_if_on_gpu(cost)
    if given is None:
        prices = to_host(options.unmatched_cost)
        matrix = inputs.as_matrix_of(cost, options.maximize, prices, options.dtypes)
        context = Context(ordinal_of(device))
        return Placed(context, placed(context, matrix), matrix)
    if device not in ("cuda", f"cuda:{given.ordinal}"):
        raise ArgumentError(f"device={device!r}, but cost is on GPU {given.ordinal}: move it, or leave device out")
    if len(given.shape) != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got {len(given.shape)}-D of shape {given.shape}")
    if given.dtype not in options.dtypes:
        raise DtypeError(
            f"method={options.method!r} takes costs of {', '.join(options.dtypes)} on a GPU, got {given.dtype}: "
            "convert them, or use method='core'"
        )
    return Placed(shared_context(given.ordinal, given.stream), given, None)


def ordinal_of(device: str) -> int:
    """Which GPU is meant."""
    name, _, number = device.partition(":")
    if name != "cuda" or not (number or "0").isdigit():
        raise ArgumentError(f"device must be 'cpu', 'cuda', 'cuda:N' or 'auto', got {device!r}")
    return int(number or 0)


def plan_of_matrix(context: Context, given: GpuArray, host: NDArray[Any] | None, options: Options) -> Plan:
    """The plan for a matrix that is on the GPU, or will be."""

    def free_bytes() -> int:
        return context.free_bytes() + given.library.kept_bytes(given.ordinal)

    if options.start is not None and options.method != "core":
        raise ArgumentError(f"method {options.method!r} cannot use start=; use method='core', or leave start out")
    return plan_on_gpu(
        given,
        options.priced,
        host is not None,
        context.info,
        free_bytes,
        options.why,
        options.memory_limit,
        options.method,
    )


def is_streamed(
    host: NDArray[Any] | None, context: Context, given: GpuArray, options: Options
) -> TypeGuard[NDArray[Any]]:
    """Whether a matrix stays on the host: the core method can do without a copy of it."""
    if host is None or options.method != "core" or 0 in given.shape:
        return False
    return is_too_large(given, options.priced, context.info, context.free_bytes, options.memory_limit)


def plan_of_rows(context: Context, lines: Lines, transposed: bool, options: Options) -> tuple[Plan, Layout]:
    """The plan for costs that stay on the host."""
    if options.method != "core":
        raise ArgumentError(f"method {options.method!r} reads a whole matrix on a GPU: use method='core'")
    return plan_streamed(
        lines, transposed, options.priced, context.info, context.free_bytes, options.why, options.memory_limit
    )


def checked_start(start: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Duals that the user gave."""
    u, v = (to_host(values) for values in duals_of(start))
    return inputs.check_duals(u, v, (shape[0], shape[1]), "start")


def problem_of(cost: Any, options: Options) -> Problem:
    """What a checkpoint is of: the same as on a CPU."""
    matrix = view_if_on_gpu(cost)
    if matrix is None:
        return inputs.make_problem(cost, options.maximize, to_host(options.unmatched_cost))
    if matrix.strides[1] != 1 and matrix.shape[1] > 1:
        raise ArgumentError(
            "checkpoint= takes a matrix on a GPU if its rows are contiguous, as some of them tell it from others: copy "
            f"it in C order, or leave checkpoint= out (got strides {matrix.strides})"
        )
    source = DeviceCost(matrix)
    prices = to_host(options.unmatched_cost)
    if prices is not None:
        prices = prices_in_kind(prices, source.shape[0], options.maximize, source.is_integer)
    return Problem(source, options.maximize, prices)


def to_host(values: Any) -> Any:
    """A vector that may be on a GPU, as NumPy's; anything else as it is."""
    if values is None or isinstance(values, (int, float, list, tuple, np.ndarray)):
        return values
    array = view_if_on_gpu(values)
    if array is None:
        return values
    if array.strides != row_major(array.shape):
        raise ArgumentError("start and unmatched_cost must be contiguous where they are on a GPU")
    with Context(array.ordinal, array.stream) as context:
        return read(context, array.pointer, math.prod(array.shape), array.dtype).reshape(array.shape)
