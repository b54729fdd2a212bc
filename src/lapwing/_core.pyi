"""The compiled core (cpp/bindings). Private."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

SSP_COLUMNS_PER_THREAD: int
DIRECT_MAX_ROWS: int
JV_OR_CORE_MAX_ROWS: int
ABSENT: int
TRUSTED_RATIO: float
MOST_DUAL_PARTS: int
LIST_CAPACITY: int

class InvalidCost(ValueError): ...

class CostSource:
    @overload
    def read(self, begin: int, end: int) -> NDArray[Any]: ...
    @overload
    def read(
        self, begin: int, end: int, threads: int, time_limit: float, hook: Callable[..., object] | None
    ) -> NDArray[Any] | None: ...
    def pairs(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]: ...
    def in_order(self, rows: bool, group: int = 0, threads: int = 1) -> NDArray[np.int32]: ...
    def counters(self) -> dict[str, float]: ...

class SparseCosts:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        data: NDArray[Any],
        rows: int,
        cols: int,
        transposed: bool,
    ) -> None: ...
    def has_duplicates(self) -> bool: ...

_Term = tuple[str, NDArray[Any], NDArray[Any], float, float, float, float]

class Neighbours:
    def __init__(self, points: NDArray[np.float32], group: int, threads: int = 1) -> None: ...
    def order(self) -> NDArray[np.int32]: ...

def in_groups_float32(
    points: NDArray[np.float32], order: NDArray[np.int32], group: int, threads: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
def in_groups_float64(
    points: NDArray[np.float64], order: NDArray[np.int32], group: int, threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def point_costs_float32(terms: list[_Term]) -> CostSource: ...
def point_costs_float64(terms: list[_Term]) -> CostSource: ...

_Supply = Callable[[int, int], NDArray[Any]]

# rows, cols, cache_bytes, file, position, stride, size, changed, supply
_FileCosts = Callable[[int, int, int, int, int, int, int, int, _Supply], CostSource]

file_costs_float32: _FileCosts
file_costs_float64: _FileCosts
file_costs_int32: _FileCosts
file_costs_int64: _FileCosts

def supplied_costs_float32(rows: int, cols: int, cache_bytes: int, supply: _Supply) -> CostSource: ...
def supplied_costs_float64(rows: int, cols: int, cache_bytes: int, supply: _Supply) -> CostSource: ...
def supplied_costs_int32(rows: int, cols: int, cache_bytes: int, supply: _Supply) -> CostSource: ...
def supplied_costs_int64(rows: int, cols: int, cache_bytes: int, supply: _Supply) -> CostSource: ...
def features() -> dict[str, Any]: ...
def solve(
    method: str,
    options: dict[str, bool],
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    start_v: NDArray[Any] | None,
    threads: int,
    time_limit: float,
    hook: Callable[[str, int, int, float], object] | None,
    keep: Callable[[NDArray[Any], NDArray[Any], NDArray[np.int64]], object] | None = None,
    keep_every: float = 0.0,
) -> dict[str, Any]: ...
def check_range(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    threads: int,
) -> tuple[int | float, int | float, int, int] | None: ...
def certify(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    row_to_col: NDArray[np.int64],
    u: NDArray[Any],
    v: NDArray[Any],
    parts: int,
    threads: int,
    hook: Callable[..., object] | None = None,
) -> dict[str, Any]: ...
def certify_rows(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    row_to_col: NDArray[np.int64],
    u: NDArray[Any],
    v: NDArray[Any],
    parts: int,
    threads: int,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]: ...
def certify_from_rows(
    rows: int,
    cols: int,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    row_to_col: NDArray[np.int64],
    u: NDArray[Any],
    v: NDArray[Any],
    parts: int,
    found: tuple[NDArray[Any], ...],
) -> dict[str, Any]: ...
def owned_costs_float32(rows: int, cols: int, cache_bytes: int, supply: Callable[[int, int], Any]) -> CostSource: ...
def owned_costs_float64(rows: int, cols: int, cache_bytes: int, supply: Callable[[int, int], Any]) -> CostSource: ...
def owned_costs_int32(rows: int, cols: int, cache_bytes: int, supply: Callable[[int, int], Any]) -> CostSource: ...
def owned_costs_int64(rows: int, cols: int, cache_bytes: int, supply: Callable[[int, int], Any]) -> CostSource: ...
def list_rows(
    cost: NDArray[Any] | CostSource,
    maximize: bool,
    first: int,
    rows_of_problem: int,
    rows: NDArray[np.int32],
    limits: NDArray[Any] | None,
    v: NDArray[Any],
    threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any], NDArray[Any]] | None: ...
def column_minima(
    cost: NDArray[Any] | CostSource, maximize: bool, rows: NDArray[np.int32], u: NDArray[Any]
) -> NDArray[Any]: ...
def extreme_cost(cost: NDArray[Any] | CostSource, threads: int) -> tuple[int | float, int, int]: ...
def find_shortage(
    cost: NDArray[Any] | CostSource | SparseCosts, maximize: bool, wanted: NDArray[np.bool_], minimal: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def match_ties(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any],
    row_to_col: NDArray[np.int64],
    v: NDArray[Any],
    unmatched_cols: NDArray[Any] | None = None,
) -> NDArray[np.int64]: ...
def find_large_costs(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    rows: int,
    pairs: int = 0,
) -> tuple[float, float, bool] | None: ...
def small_costs(cost: NDArray[Any] | CostSource | SparseCosts, maximize: bool, above: float) -> CostSource: ...
def solve_capped(
    cost: NDArray[Any] | CostSource, maximize: bool, time_limit: float, hook: Callable[..., object] | None
) -> dict[str, Any] | None: ...
def refine(
    cost: NDArray[Any] | CostSource,
    maximize: bool,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    start_rows: NDArray[np.int64],
    threads: int,
    time_limit: float,
    hook: Callable[..., object] | None,
) -> dict[str, Any]: ...
def solve_exact(
    cost: NDArray[Any] | CostSource | SparseCosts,
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    start_v: NDArray[np.float64] | None,
    start_rows: NDArray[np.int64] | None,
    most: float,
    precision: float,
    threads: int,
    time_limit: float,
    hook: Callable[..., object] | None,
) -> dict[str, Any]: ...
def trace_ssp(cost: NDArray[np.float64], options: dict[str, bool]) -> dict[str, Any]: ...
def tells_small_costs(error: float, costs: NDArray[np.float64], share: float = ...) -> bool: ...
def solve_proven(
    cost: object, maximize: bool, unmatched_cost: float | None, certify: bool
) -> tuple[Any, ...] | None: ...
def make_linear_sum_assignment(home: ModuleType) -> Callable[..., tuple[NDArray[np.int64], NDArray[np.int64]]]: ...
@overload
def partners(
    cost: object, unmatched_cost: float, with_duals: Literal[False] = False
) -> tuple[NDArray[np.int32], NDArray[np.int32], float] | None: ...
@overload
def partners(
    cost: object, unmatched_cost: float, with_duals: Literal[True]
) -> tuple[NDArray[np.int32], NDArray[np.int32], float, NDArray[Any], NDArray[Any]] | None: ...
def solve_batch(
    costs: NDArray[Any] | list[NDArray[Any]],
    maximize: bool,
    unmatched_cost: NDArray[Any] | None,
    unmatched_cols: NDArray[Any] | None,
    threads: int,
    with_duals: bool,
) -> dict[str, Any]: ...
