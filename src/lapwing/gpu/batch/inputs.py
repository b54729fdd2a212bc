"""Checks the arguments of a batch on a GPU and makes a `BatchRequest`: every argument error is raised here.

No value on the GPU is read, so nothing waits: invalid costs, prices and counts there show in the status of their
problem. Values on the host (a price, lists of counts) are checked here and copied.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing._core import ABSENT
from lapwing.errors import ArgumentError, DtypeError
from lapwing.gpu.batch.plan import BatchForm
from lapwing.gpu.runtime.arrays import TORCH, GpuArray, empty_array, row_major, view_array, view_if_on_gpu
from lapwing.gpu.runtime.copies import write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.programs import INTEGERS

_COUNT_TYPES = ("int32", "int64")


@dataclass(eq=False, slots=True)  # the cheapest to make: a call takes 16 us in all
class BatchOptions:
    """The arguments of `gpu.batch.solve_batch` beside the costs, as given; `check_flags` makes the flags bools."""

    maximize: Any = False
    unmatched_cost: Any = None
    row_counts: Any = None
    col_counts: Any = None
    duals: Any = False
    certify: Any = False
    check: Any = False
    infeasible: Any = "raise"

    @property
    def is_partial(self) -> bool:
        """Whether problems that no assignment solves get as many pairs as possible."""
        return bool(self.infeasible == "partial")

    def check_flags(self) -> None:
        """Check the flags, and want duals for a proof.

        Raises
        ------
        ArgumentError
        """
        if not type(self.maximize) is type(self.duals) is type(self.certify) is type(self.check) is bool:  # seldom
            self.maximize = inputs.check_flag(self.maximize, "maximize")
            self.duals = inputs.check_flag(self.duals, "duals")
            self.certify = inputs.check_flag(self.certify, "certify")
            self.check = inputs.check_flag(self.check, "check")
        if self.infeasible != "raise":
            inputs.check_choice(self.infeasible, "infeasible", ("raise", "partial"))
        if self.certify:
            self.duals = True


@dataclass(frozen=True, eq=False)
class Prices:
    """The prices at which rows stay unmatched, in the user's sense.

    Attributes
    ----------
    scalar : int or float
        Of every row, if `array` is None.
    array : GpuArray or None
        (m,) or (B, m), of the duals' dtype.
    """

    scalar: int | float
    array: GpuArray | None

    @property
    def strides(self) -> tuple[int, int]:
        """From problem to problem, and from row to row, in elements."""
        if self.array is None or not self.array.strides:
            return 0, 0
        return (0, *self.array.strides)[-2:]  # type: ignore[return-value]


@dataclass(eq=False, slots=True)
class BatchRequest:
    """A batch on a GPU, checked.

    Attributes
    ----------
    costs : GpuArray, (B, m, n)
    maximize : bool
    prices : Prices or None
    row_counts, col_counts : GpuArray or None
        (B,) int32 or int64, contiguous: the rows and columns of each problem.
    """

    costs: GpuArray
    maximize: bool
    prices: Prices | None
    row_counts: GpuArray | None
    col_counts: GpuArray | None

    @property
    def form(self) -> BatchForm:
        ragged = self.row_counts is not None or self.col_counts is not None
        return form_of(self.costs, self.costs.dtype, self.maximize, priced=self.prices is not None, ragged=ragged)


def form_of(costs: GpuArray, dtype: str, maximize: bool, *, priced: bool, ragged: bool) -> BatchForm:
    """All but the numbers of costs (B, m, n), taken as of a dtype."""
    strides: tuple[int, int, int] = costs.strides  # type: ignore[assignment]
    count, rows, cols = costs.shape
    return BatchForm(count, rows, cols, strides, dtype, maximize, priced, ragged)


def make_request(context: Context, costs: GpuArray, options: BatchOptions) -> BatchRequest:
    """Check and view prices and counts, on the host or the GPU.

    Parameters
    ----------
    context : Context, entered
    costs : GpuArray
    options : BatchOptions, with checked flags

    Raises
    ------
    ArgumentError, DtypeError
    """
    maximize, unmatched_cost = options.maximize, options.unmatched_cost
    row_counts, col_counts = options.row_counts, options.col_counts
    return BatchRequest(
        costs,
        maximize,
        None if unmatched_cost is None else _prices(context, unmatched_cost, costs, maximize),
        None if row_counts is None else _counts(context, row_counts, costs, 1, "row_counts"),
        None if col_counts is None else _counts(context, col_counts, costs, 2, "col_counts"),
    )


def check_stack(costs: GpuArray) -> None:
    """Whether these are problems of one shape."""
    if len(costs.shape) != 3:
        raise ArgumentError(f"costs must be (B, m, n) on a GPU, got shape {costs.shape}")


# --- counts -------------------------------------------------------------------------------------------------------


def _counts(context: Context, given: Any, costs: GpuArray, axis: int, name: str) -> GpuArray:
    size = costs.shape[0]
    view = _view(given, costs, name)
    if view is not None:
        if view.strides == (1,) and view.dtype in _COUNT_TYPES and view.shape == (size,):  # mostly
            return view
        if view.shape != (size,):
            raise ArgumentError(f"{name} must be of shape ({size},), one for each problem, got {view.shape}")
        if view.dtype not in INTEGERS:
            raise DtypeError(f"{name} must be integers, got dtype {view.dtype}")
        return _converted(view, "int64", name)
    return _sent(context, inputs.check_counts(given, size, costs.shape[axis], name), costs)


# --- prices -------------------------------------------------------------------------------------------------------


def _prices(context: Context, given: Any, costs: GpuArray, maximize: bool) -> Prices:
    count, rows = costs.shape[:2]
    integer = costs.dtype in INTEGERS
    view = _view(given, costs, "unmatched_cost")
    values = np.asarray(given) if view is None else view
    if tuple(values.shape) not in ((), (rows,), (count, rows)):
        raise ArgumentError(
            f"unmatched_cost must be a scalar, or of shape ({rows},) or {(count, rows)}, got {tuple(values.shape)}"
        )
    if isinstance(values, GpuArray):
        if integer and values.dtype not in INTEGERS:
            raise DtypeError(
                f"unmatched_cost has dtype {values.dtype}, but costs are integers ({costs.dtype}): pass integers, or "
                "costs as float64"
            )
        dtype = "int64" if integer else "float64"
        return Prices(0, values if values.dtype == dtype else _converted(values, dtype, "unmatched_cost"))
    host = _checked_prices(values, integer, maximize)
    if host.ndim == 0:
        return Prices(host.item(), None)
    return Prices(0, _sent(context, host, costs))


def _checked_prices(values: NDArray[Any], integer: bool, maximize: bool) -> NDArray[Any]:
    """In the duals' dtype; infinities of the right sign mean that the row must be matched."""
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        raise DtypeError(f"unmatched_cost must be real numbers, got dtype {values.dtype}; convert it with float()")
    wrong = np.isnan(values) | (values == (math.inf if maximize else -math.inf))
    if wrong.any():
        raise ArgumentError(
            f"unmatched_cost is {values[wrong].flat[0]} somewhere: use finite numbers, or "
            f"{'-inf' if maximize else '+inf'} where a row must be matched"
        )
    if not integer:
        return values.astype(np.float64)
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    finite = np.isfinite(values)
    whole = np.where(finite, values, 0)
    if (whole != np.rint(whole)).any():
        raise ArgumentError(
            f"unmatched_cost {whole[whole != np.rint(whole)].flat[0]} is not whole, but costs are integers: pass costs "
            "as float64"
        )
    return np.where(finite, whole.astype(np.int64), -ABSENT if maximize else ABSENT)


# --- arrays -------------------------------------------------------------------------------------------------------


def _view(given: Any, costs: GpuArray, name: str) -> GpuArray | None:
    """A view of what is on the GPU of the costs; None for what is on the host."""
    view = given if isinstance(given, GpuArray) else view_if_on_gpu(given)
    if view is None:
        return None
    if view.ordinal != costs.ordinal:
        raise ArgumentError(f"{name} is on GPU {view.ordinal}, but costs on GPU {costs.ordinal}; move one to the other")
    return view


def _converted(view: GpuArray, dtype: str, name: str) -> GpuArray:
    """A contiguous copy in another dtype, made by the array's library in the order of its stream."""
    array = view.owner
    if view.library is TORCH:
        return view_array(array.to(getattr(sys.modules["torch"], dtype)).contiguous())
    if hasattr(array, "astype"):
        converted = view_array(array.astype(dtype))
        if converted.strides == row_major(converted.shape):
            return converted
    raise DtypeError(f"{name} has dtype {view.dtype}; pass a contiguous array of dtype {dtype}")


def _sent(context: Context, values: NDArray[Any], array_template: GpuArray) -> GpuArray:
    """A copy of host values on the GPU. With PyTorch nothing waits for it; else the stream does."""
    values = np.ascontiguousarray(values)
    if array_template.library is TORCH:
        pinned = sys.modules["torch"].from_numpy(values).pin_memory()
        return view_array(pinned.to(array_template.owner.device, non_blocking=True))
    target = empty_array(context, values.shape, values.dtype.name, array_template)
    write(context, target.pointer, values)
    return target
