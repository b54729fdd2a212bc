"""The rows of a rank in its GPU's memory: a tensor, passed over by PyTorch where it lies.

Listing is a selection of the least c - v of each row (`torch.topk`), in float64 or int64 as on the host, so that a
list's tau means the same. The certificate's pass only sorts out pairs whose c - u - v is certainly not negative, by the
test of cpp/include/lapwing/certificate/certificate.inc.hpp; the few that remain, and the matched ones, go to the host
as sparse costs, where the certificate's own code examines them without rounding.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from lapwing import _core
from lapwing.arrays import view_if_on_gpu
from lapwing.costs.base import CostArray
from lapwing.distributed.messages import Message
from lapwing.distributed.shard import Found, Indices, Lists, Shard
from lapwing.errors import ArgumentError, DtypeError, LapwingError
from lapwing.prices import of_rows_and_columns, prices_in_kind, without_zeros
from lapwing.request import Request

if TYPE_CHECKING:
    from lapwing.distributed.gpu_rows import Follower
    from lapwing.gpu.runtime.arrays import GpuArray

_KINDS: Final[dict[Any, tuple[type, Any]]] = {
    torch.float16: (np.float32, torch.float64),
    torch.bfloat16: (np.float32, torch.float64),
    torch.float32: (np.float32, torch.float64),
    torch.float64: (np.float64, torch.float64),
    torch.int8: (np.int32, torch.int64),
    torch.uint8: (np.int32, torch.int64),
    torch.int16: (np.int32, torch.int64),
    torch.int32: (np.int32, torch.int64),
    torch.int64: (np.int64, torch.int64),
}
_SAFE_DUAL: Final = 1 << 61  # of integers: sums of two duals and a cost below it cannot overflow
_ULP: Final = 2.0**-52


def rows_on_device(tensor: Any, request: Request) -> RowsOnDevice:
    """The rows of this rank, checked for all but their values.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    if tensor.ndim != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got {tensor.ndim}-D of shape {tuple(tensor.shape)}")
    if tensor.dtype not in _KINDS or tensor.layout is not torch.strided:
        raise DtypeError(f"rows on a GPU are a dense tensor of floats or integers, got {tensor.dtype}, {tensor.layout}")
    return RowsOnDevice(tensor.detach(), request)


class RowsOnDevice(Shard):
    """Rows of a tensor (rows, cols) on a GPU."""

    def __init__(self, tensor: Any, request: Request) -> None:
        kind, self._wide = _KINDS[tensor.dtype]
        rows, cols = tensor.shape
        dtype = np.dtype(kind)
        integer, maximize = dtype.kind == "i", request.maximize
        prices = of_cols = None
        if request.unmatched_cost is not None:
            for_rows, for_cols = of_rows_and_columns(request.unmatched_cost)
            prices = prices_in_kind(for_rows, rows, maximize, integer)
            if for_cols is not None:
                of_cols = without_zeros(prices_in_kind(for_cols, cols, maximize, integer, "column"))
        super().__init__((rows, cols), dtype, maximize, prices, of_cols)
        self._tensor = tensor
        self._follower: Follower | None = None
        self.where: str = str(tensor.device)

    def follow(self, order: Message) -> Message:
        if not order.kind.startswith("gpu "):
            return super().follow(order)
        self.interrupts.raise_if_pending()
        view = self.view
        assert view is not None
        if self._follower is None:
            from lapwing.distributed.gpu_rows import Follower

            self._follower = Follower(view)
        return self._follower.follow(order)

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()

    def _on_device(self, values: NDArray[Any]) -> Any:
        return torch.from_numpy(np.array(values)).to(self._tensor.device)

    def _host(self, tensor: Any) -> NDArray[Any]:
        """Costs as the core has them."""
        wide = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        array: NDArray[Any] = wide.cpu().numpy().astype(self.dtype, copy=False)
        return np.ascontiguousarray(array)

    def _minimised(self, rows: Indices) -> Any:
        """Costs of some rows as the kernels minimise them: negated floats, and for integers -c - 1."""
        costs = self._tensor[self._on_device(rows.astype(np.int64))].to(self._wide)
        if not self.maximize:
            return costs
        return ~costs if self.dtype.kind == "i" else -costs

    def rows(self, begin: int, end: int) -> CostArray:
        return self._host(self._tensor[begin:end])

    def pairs(self, rows: Indices, cols: Indices) -> CostArray:
        at = self._on_device(rows.astype(np.int64)), self._on_device(cols.astype(np.int64))
        return self._host(self._tensor[at])

    def part(self, rows: Indices, cols: Indices) -> CostArray:
        chosen = self._tensor[self._on_device(rows.astype(np.int64))]
        return self._host(chosen[:, self._on_device(cols.astype(np.int64))])

    def list(self, rows: Indices, _limits: NDArray[Any] | None, v: NDArray[Any]) -> Lists | None:
        costs = self._minimised(rows)
        if self.dtype.kind == "f":
            self._check_costs(rows, costs)
            if self.dtype == np.float64 and self._is_too_large(costs):
                return None
        reduced = costs - self._on_device(v)
        cols = self.shape[1]
        length = min(cols, _core.LIST_CAPACITY)
        values, found = torch.topk(reduced, min(cols, length + 1), dim=1, largest=False, sorted=True)
        tau = values[:, length].cpu().numpy() if cols > length else np.full(len(rows), _infinity(self.dtype))
        values, found = values[:, :length], found[:, :length]
        allowed = (values < np.inf) if self.dtype.kind == "f" else torch.ones_like(values, dtype=torch.bool)
        counts = allowed.sum(dim=1).cpu().numpy().astype(np.int32)
        listed = torch.gather(costs, 1, found)[allowed].cpu().numpy().astype(self.dtype)
        return counts, found[allowed].cpu().numpy().astype(np.int32), listed, tau

    def _check_costs(self, rows: Indices, costs: Any) -> None:
        bad = ~(costs > -np.inf)
        if bool(bad.any()):
            k, col = torch.nonzero(bad)[0].tolist()
            raise _core.InvalidCost(int(rows[k]), col)

    def _is_too_large(self, costs: Any) -> bool:
        limit = np.finfo(np.float64).max / (2.0 * min(self.rows_of_problem, self.shape[1]) + 4.0)
        return bool(((costs.abs() > limit) & torch.isfinite(costs)).any())

    def lower(self, rows: Indices, u: NDArray[Any]) -> NDArray[Any]:
        minima = np.full(self.shape[1], _infinity(self.dtype))
        finite = u < _infinity(self.dtype)
        for some in self.blocks(np.flatnonzero(finite).astype(np.int32)):
            reduced = self._minimised(rows[some]) - self._on_device(u[some]).unsqueeze(1)
            minima = np.minimum(minima, reduced.amin(dim=0).cpu().numpy())
        return minima

    def extreme(self) -> tuple[int | float, int, int]:
        best: tuple[int | float, int, int] = (0, 0, 0)
        for some in self.blocks(self._all_rows()):
            costs = self._tensor[int(some[0]) : int(some[-1]) + 1].to(self._wide)
            sizes = costs.abs() if self.dtype.kind == "i" else torch.where(costs.isfinite(), costs.abs(), 0.0)
            if self.dtype.kind == "i":  # the least int64 has no magnitude there
                sizes = torch.where(sizes < 0, torch.iinfo(torch.int64).max, sizes)
            at = int(sizes.argmax())
            row, col = divmod(at, self.shape[1])
            value = costs[row, col].item()
            if abs(value) > abs(best[0]):
                best = value, int(some[0]) + row, col
        return best

    def prove(self, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any], parts: int) -> Found:
        found: list[Found] = []
        of_rows, of_cols = u.reshape(parts, -1), v.reshape(parts, -1)
        is_simple = parts == 1 and (self.dtype.kind == "f" or max(_largest(u), _largest(v)) <= _SAFE_DUAL)
        for some in self.blocks(self._all_rows()):
            own = slice(int(some[0]), int(some[-1]) + 1)
            costs: Any = self._host(self._tensor[own])
            if is_simple:
                costs = self._doubtful(own, row_to_col[own], of_rows[0, own], of_cols[0])
            asked = row_to_col[own], np.ascontiguousarray(of_rows[:, own]).ravel(), of_cols.ravel()
            found.append(_core.certify_rows(costs, self.maximize, *asked, parts, self.threads))
        kinds: tuple[Any, ...] = (of_rows.dtype, np.int32, np.int32, self.dtype)
        parts_of = zip(*found, strict=True) if found else ((), (), (), ())
        joined = [np.concatenate([np.zeros(0, kind), *part]) for kind, part in zip(kinds, parts_of, strict=True)]
        return joined[0], joined[1], joined[2], joined[3]

    def _doubtful(self, own: slice, row_to_col: NDArray[np.int64], u: NDArray[Any], v: NDArray[Any]) -> Any:
        """The pairs that are matched, or not certainly feasible, as sparse costs."""
        costs = self._tensor[own].to(self._wide)
        signed = -costs if self.maximize else costs
        first = signed - self._on_device(u).unsqueeze(1)
        slack = first - self._on_device(v)
        if self.dtype.kind == "i":
            doubtful = (slack < 0) | (costs.abs() > _SAFE_DUAL) | (costs == torch.iinfo(torch.int64).min)
        else:
            doubtful = ~(slack >= first.abs() * _ULP)
        rows = np.flatnonzero((row_to_col >= 0) & (row_to_col < self.shape[1]))
        doubtful[self._on_device(rows), self._on_device(row_to_col[rows])] = True
        at = torch.nonzero(doubtful)
        counts = doubtful.sum(dim=1).cpu().numpy()
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        data = self._host(self._tensor[own][doubtful])
        indices = at[:, 1].cpu().numpy().astype(np.int32)
        return _core.SparseCosts(indptr, indices, data, own.stop - own.start, self.shape[1], False)

    def as_given(self, values: NDArray[Any]) -> Any:
        return self._on_device(values)

    @property
    def tensor(self) -> Any:
        return self._tensor

    @cached_property
    def view(self) -> GpuArray | None:
        try:
            view = view_if_on_gpu(self._tensor)
        except LapwingError:
            return None
        return None if view is None or 0 in view.shape or view.strides[1] != 1 or view.strides[0] < 0 else view

    @property
    def gpu(self) -> tuple[str, str] | None:
        view = self.view
        if view is None:
            return None
        from lapwing.distributed.peer_memory import name_of

        return view.dtype, name_of(view.ordinal)

    def exported(self) -> dict[str, Any] | None:
        from lapwing.distributed.peer_memory import exported

        return exported(self._tensor)


def _infinity(dtype: np.dtype[Any]) -> Any:
    """The value that means no bound, for the duals of such costs."""
    return np.int64(_core.ABSENT) if dtype.kind == "i" else np.inf


def _largest(values: NDArray[Any]) -> int:
    return max(-int(values.min()), int(values.max())) if values.size else 0
