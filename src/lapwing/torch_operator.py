"""Batches as an operator of PyTorch, `torch.ops.lapwing.solve_batch`, for `torch.compile` and `torch.export`.

A compiler sees one operator with known output shapes, where tracing through `solve_batch` would break the graph; so
`solve_batch` calls it while one traces. It has a kernel for tensors on the host and one for those on a GPU. The
operator is registered when it is first asked for, with a tensor at hand; importing Lapwing imports no PyTorch.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from lapwing import inputs
from lapwing.arrays import is_gpu_array
from lapwing.cpu.backend import solve_batch as solve_batch_on_cpu
from lapwing.errors import ArgumentError, MissingPackageError
from lapwing.prices import is_pair
from lapwing.tensors import like

_SCHEMA = (
    "(Tensor costs, bool maximize=False, Tensor? unmatched_cost=None, Tensor? row_counts=None, "
    "Tensor? col_counts=None, bool duals=False, bool check=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_ARGUMENTS = 7


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
        "lapwing::solve_batch", _solve_on_host, mutates_args=(), device_types="cpu", schema=_SCHEMA
    )
    made.register_kernel("cuda")(_solve_on_gpu)
    made.register_fake(_fake)
    made.register_autograd(lambda context, *_: (None,) * _ARGUMENTS)  # assignments are piecewise constant in the costs
    return made


def _solve_on_host(
    costs: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
) -> tuple[Any, ...]:
    stack = inputs.make_stack(costs, maximize, unmatched_cost, row_counts, col_counts)
    answer, _ = solve_batch_on_cpu(stack, inputs.processors(), duals=duals, certify=False, check=check, partial=False)
    parts = (answer.row_to_col, answer.objective, answer.status, answer.u, answer.v)
    return _with_empty_duals(tuple(like(part, costs) for part in parts))


def _solve_on_gpu(
    costs: Any,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    duals: bool = False,
    check: bool = False,
) -> tuple[Any, ...]:
    from lapwing.gpu.batch.inputs import BatchOptions
    from lapwing.gpu.batch.solve import solve_arrays

    options = BatchOptions(maximize, unmatched_cost, row_counts, col_counts, duals, check=check)
    answer = solve_arrays(costs.detach(), options)
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
        If costs are integers and a price is not, or for what the operator cannot do.
    """
    on_gpu = is_gpu_array(costs)
    if certify or (check and on_gpu):
        raise ArgumentError("certify and check are not for code that PyTorch compiles: call solve_batch outside it")
    if is_pair(unmatched_cost):
        raise ArgumentError("prices of columns are not for code that PyTorch compiles: call solve_batch outside it")
    if costs.ndim != 3:
        raise ArgumentError(f"costs must be (B, m, n) in code that PyTorch compiles, got shape {tuple(costs.shape)}")
    _register()
    import torch  # which is there: the compiler can follow an import, not a look at sys.modules

    dtype = torch.float64 if costs.dtype.is_floating_point else torch.int64
    if isinstance(unmatched_cost, float) and dtype is torch.int64 and not unmatched_cost.is_integer():
        raise ArgumentError(f"unmatched_cost {unmatched_cost} is not whole, but costs are integers")
    prices = _tensor(unmatched_cost, dtype, costs)
    rows, cols = (_tensor(counts, torch.int64, costs) for counts in (row_counts, col_counts))
    raises = not on_gpu if check is None else check
    row_to_col, objective, status, u, v = torch.ops.lapwing.solve_batch(
        costs.detach(), maximize, prices, rows, cols, duals, raises
    )
    return (row_to_col, objective, u, v, status) if duals else (row_to_col, objective, None, None, status)


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
