"""The options of a solve beside its costs and device, checked once as far as this needs no costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from lapwing import inputs
from lapwing.arrays import to_host
from lapwing.options import MethodOptions, name_and_options
from lapwing.prices import is_one_price, is_pair
from lapwing.result import duals_of

if TYPE_CHECKING:
    from lapwing.checkpoint import CheckpointWriter


@dataclass(eq=False, slots=True)  # not frozen, which would take four times as long to make
class Request:
    """See the parameters of `lapwing.solve`.

    Attributes
    ----------
    maximize, certify : bool
    unmatched_cost : as given, on the host
    start : (u, v) as given, on the host; or None
    method : str
        A name from the table of methods, or "auto".
    options : MethodOptions or None
        Those of the method, if it has any.
    threads, memory_limit : int or None
    time_limit : float
        Seconds; infinite for none.
    progress : bool or function
    why : str
        Why the device was chosen, if the user left it open.
    leaves_device : bool
        Whether the user left it open, for costs that are on a GPU.
    writer : CheckpointWriter or None
    partial : bool
        Whether a problem that no assignment solves gets as many pairs as possible.
    forbid_invalid : bool
        Whether pairs whose cost is not a number are forbidden.
    """

    maximize: bool = False
    unmatched_cost: Any = None
    start: tuple[Any, Any] | None = None
    method: str = "auto"
    options: MethodOptions | None = None
    threads: int | None = None
    memory_limit: int | None = None
    certify: bool = True
    time_limit: float = math.inf
    progress: bool | Callable[..., object] = False
    why: str = ""
    leaves_device: bool = False
    writer: CheckpointWriter | None = None
    partial: bool = False
    forbid_invalid: bool = False

    @property
    def priced(self) -> bool:
        """Whether rows may stay free."""
        return self.unmatched_cost is not None

    @property
    def has_one_price(self) -> bool:
        """Whether all rows may stay free at one price: columns may stay free at it in their place."""
        return self.priced and is_one_price(self.unmatched_cost)

    @property
    def fixes_rows(self) -> bool:
        """Whether rows and columns cannot be exchanged, since rows may stay free, each at a price of its own."""
        return self.priced and not self.has_one_price


def make_request(
    maximize: bool,
    unmatched_cost: Any,
    start: Any,
    method: str | MethodOptions,
    threads: SupportsIndex | None,
    memory_limit: int | str | None,
    certify: bool = True,
    time_limit: float | None = None,
    progress: Any = False,
    infeasible: str = "raise",
    invalid: str = "raise",
) -> Request:
    """Check what `lapwing.solve` was given.

    Raises
    ------
    ArgumentError, DtypeError
    """
    name, options = name_and_options(method)
    return Request(
        inputs.check_flag(maximize, "maximize"),
        tuple(map(to_host, unmatched_cost)) if is_pair(unmatched_cost) else to_host(unmatched_cost),
        _start(start),
        name,
        options,
        inputs.check_threads(threads),
        inputs.check_memory_limit(memory_limit),
        inputs.check_flag(certify, "certify"),
        inputs.check_time_limit(time_limit),
        inputs.check_progress(progress),
        partial=inputs.check_choice(infeasible, "infeasible", ("raise", "partial")) == "partial",
        forbid_invalid=inputs.check_choice(invalid, "invalid", ("raise", "forbid")) == "forbid",
    )


def _start(given: Any) -> tuple[Any, Any] | None:
    if given is None:
        return None
    u, v = duals_of(given)
    return to_host(u), to_host(v)
