"""Batches as an operator of PyTorch, `torch.ops.lapwing.solve_batch`, for `torch.compile` and `torch.export`.

A compiler sees one operator with known output shapes, where tracing through `solve_batch` would break the graph; so
`solve_batch` calls it while one traces. On the host and on a GPU its kernel is what `solve_batch` does otherwise. The
operator is registered when it is first asked for, with a tensor at hand; importing Lapwing imports no PyTorch.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from lapwing.arrays import is_gpu_array
from lapwing.backend import solve_batch_at_once
from lapwing.errors import ArgumentError, MissingPackageError
from lapwing.prices import of_rows_and_columns

_SCHEMA = (
    "(Tensor costs, bool maximize=False, Tensor? unmatched_cost=None, Tensor? row_counts=None, "
    "Tensor? col_counts=None, bool duals=False, bool check=False, Tensor? unmatched_cols=None) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_ARGUMENTS = 8


def register_torch_operator() -> Any:
    """Register `torch.ops.lapwing.solve_batch`, which an exported graph needs before it is loaded, and return it.

    `solve_batch` registers it by itself when PyTorch's compiler traces the call. The operator returns row_to_col,
    objective, status, u and v; the last two are empty without `duals`.

    Raises
    ------
    MissingPackageError
        If PyTorch is not installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingPackageError("register_torch_operator needs PyTorch: pip install torch") from error
    return operator()


@cache
def operator() -> Any:
    """The operator, registered."""
    library = sys.modules["torch"].library
    made = library.custom_op(
        "lapwing::solve_batch", _solve, mutates_args=(), device_types=("cpu", "cuda"), schema=_SCHEMA
    )
    made.register_fake(_fake)
    made.register_autograd(lambda context, *_: (None,) * _ARGUMENTS)  # assignments are piecewise constant in the costs
    return made


def _solve(
    costs: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
    unmatched_cols: Any = None,
) -> tuple[Any, ...]:
    answer = solve_batch_at_once(
        costs.detach(),
        maximize=maximize,
        unmatched_cost=unmatched_cost if unmatched_cols is None else (unmatched_cost, unmatched_cols),
        row_counts=row_counts,
        col_counts=col_counts,
        duals=duals,
        check=check,
    )
    return _with_empty_duals((answer.row_to_col, answer.objective, answer.status, answer.u, answer.v))


def _with_empty_duals(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An operator always returns tensors: empty ones for duals that were not requested."""
    *solved, u, v = parts
    return (*solved, u, v) if u is not None else (*solved, *(solved[1].new_empty((0,)) for _ in range(2)))


def _fake(
    costs: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
    unmatched_cols: Any = None,
) -> tuple[Any, ...]:
    """Tensors of the answer's shapes and dtypes."""
    torch = sys.modules["torch"]
    count, rows, cols = costs.shape
    dtype = torch.float64 if costs.dtype.is_floating_point else torch.int64
    u, v = ((count, rows), (count, cols)) if duals else ((0,), (0,))
    return (
        costs.new_empty((count, rows), dtype=torch.int64),
        costs.new_empty((count,), dtype=dtype),
        costs.new_empty((count,), dtype=torch.int32),
        costs.new_empty(u, dtype=dtype),
        costs.new_empty(v, dtype=dtype),
    )


def solve_with_operator(
    costs: Any,
    maximize: bool,
    unmatched_cost: Any,
    row_counts: Any,
    col_counts: Any,
    duals: bool,
    certify: bool,
    check: bool | None,
) -> tuple[Any, ...]:
    """The answer of the operator, as `StackResult` has it: row_to_col, objective, u, v (or None for these) and status.

    Raises
    ------
    ArgumentError
        If costs are integers and prices are floats, or for what the operator cannot do.
    """
    on_gpu = is_gpu_array(costs)
    if certify or (check and on_gpu):
        raise ArgumentError("certify and check are not for code that PyTorch compiles: call solve_batch outside it")
    if costs.ndim != 3:
        raise ArgumentError(f"costs must be (B, m, n) in code that PyTorch compiles, got shape {tuple(costs.shape)}")
    _register()
    import torch  # which is there: the compiler can follow an import, not a look at sys.modules

    prices, of_cols = (_prices(given, costs) for given in of_rows_and_columns(unmatched_cost))
    rows, cols = (_tensor(counts, torch.int64, costs) for counts in (row_counts, col_counts))
    raises = not on_gpu if check is None else check
    row_to_col, objective, status, u, v = torch.ops.lapwing.solve_batch(
        costs.detach(), maximize, prices, rows, cols, duals, raises, of_cols
    )
    return (row_to_col, objective, u, v, status) if duals else (row_to_col, objective, None, None, status)


def _prices(given: Any, costs: Any) -> Any:
    """Prices in the arithmetic of the costs, which decides the dtype of the answer."""
    import torch

    if costs.dtype.is_floating_point:
        return _tensor(given, torch.float64, costs)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    prices = _tensor(given, None, costs)
    if prices is not None and prices.dtype.is_floating_point:
        raise ArgumentError("unmatched_cost has floats, but costs are integers: pass whole numbers, or costs as floats")
    return prices


def _tensor(values: Any, dtype: Any, costs: Any) -> Any:
    """Prices or counts as a tensor, where the costs are; None as it is."""
    import torch

    if isinstance(values, torch.Tensor):
        return values.detach()
    return None if values is None else torch.as_tensor(values, dtype=dtype, device=costs.device)


def _register() -> bool:
    operator()
    return True


# The compiler calls it while it traces, and takes what it returns for a constant: what
# torch.compiler.assume_constant_result does, which would import PyTorch.
_register._dynamo_marked_constant = True  # type: ignore[attr-defined]
