"""`solve` for costs on a GPU, or to be solved there: the same flow, with the stages of `lapwing.gpu`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.certificate import Certificate
from lapwing.errors import ArgumentError, InfeasibleError, InternalError, InvalidCostError, RangeError
from lapwing.gpu.arrays import ITEM_BYTES, GpuArray, empty_array, is_gpu_array, row_major, view_array
from lapwing.gpu.certify import Answer, prove_on_gpu
from lapwing.gpu.copies import fill_bytes, read, write
from lapwing.gpu.core import INFEASIBLE, INVALID, OPENING, CoreSolve, Report, workspace_bytes
from lapwing.gpu.core_start import Start
from lapwing.gpu.device import Context
from lapwing.gpu.orient import View, orient
from lapwing.gpu.workspace import Workspace
from lapwing.plan import Plan
from lapwing.result import Result

_ROUNDING = 1e-9  # of an optimal answer, over the magnitudes of all duals and the largest cost


def solve_on_gpu(cost: Any, device: str | None, maximize: bool, start: Any, certify: bool) -> Result:
    """Solve on the GPU where the costs are, or where `device` says; see `lapwing.solve`.

    Arrays come back in the library of the costs, on their GPU; as NumPy arrays if the costs were on the host.
    """
    if is_gpu_array(cost):
        given = view_array(cost)
        if device not in (None, "cuda", f"cuda:{given.ordinal}"):
            raise ArgumentError(f"device={device!r}, but cost is on GPU {given.ordinal}: move it, or leave device out")
        with Context(given.ordinal, given.stream) as context:
            return _Solve(context, given, True, maximize, start, certify).run()
    matrix = np.ascontiguousarray(inputs.as_matrix(cost, maximize))
    with Context(_ordinal(device)) as context:
        given = empty_array(context, matrix.shape, matrix.dtype.name)
        write(context, given.pointer, matrix)
        return _Solve(context, given, False, maximize, start, certify).run()


def _ordinal(device: str | None) -> int:
    name, _, number = (device or "cuda").partition(":")
    if name != "cuda" or not (number or "0").isdigit():
        raise ArgumentError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}")
    return int(number or 0)


@dataclass(frozen=True)
class _Outputs:
    """Arrays on the GPU, of the problem as oriented."""

    row_to_col: GpuArray
    col_to_row: GpuArray
    picked: GpuArray


class _Solve:
    """One solve."""

    def __init__(self, context: Context, cost: GpuArray, stay: bool, maximize: bool, start: Any, certify: bool) -> None:
        if len(cost.shape) != 2:
            raise ArgumentError(f"cost must be a matrix (2-D), got {len(cost.shape)}-D of shape {cost.shape}")
        self.context, self.cost, self.stay = context, cost, stay
        self.maximize, self.start, self.certify = maximize, start, certify
        self.like = cost if stay else None

    def run(self) -> Result:
        began = time.perf_counter()
        if 0 in self.cost.shape:
            return self._empty()
        self._check_memory()
        view = orient(self.context, self.cost, self.maximize)
        solve = CoreSolve(self.context, view.matrix, self.like)
        starter = Start(self.context, self.like)
        report = starter.run_from(solve, OPENING) if self._fill_start(solve, view) else starter.run(solve)
        if report.status == INVALID:
            self._refuse(view, report)
        if report.status == INFEASIBLE:
            self._explain(view, solve)
        outputs = self._deliver(view, solve)
        solved = time.perf_counter()
        u, v = (solve.v, solve.u) if view.transposed else (solve.u, solve.v)
        partner = outputs.col_to_row if view.transposed else outputs.row_to_col
        certificate = None
        if self.certify:
            answer = Answer(partner.pointer, u.pointer, v.pointer)
            certificate = prove_on_gpu(self.context, self.cost, answer, self.maximize)
            self._accept(certificate, u, v)
        statistics = _statistics(report, starter)
        statistics |= {"solve_seconds": solved - began, "certify_seconds": time.perf_counter() - solved}
        return self._result(view, outputs, (u, v), certificate, statistics, report)

    def _check_memory(self) -> None:
        rows, cols = sorted(self.cost.shape)
        needed = workspace_bytes(rows, cols, self.cost.dtype)
        free = self.context.free_bytes()
        if needed > free:
            raise ArgumentError(
                f"solving {self.cost.shape[0]} x {self.cost.shape[1]} costs takes {needed} bytes of GPU memory beside "
                f"the matrix, and {free} are free: free some, or solve on the CPU"
            )

    def _fill_start(self, solve: CoreSolve, view: View) -> bool:
        """Prices from the user's duals, for square problems; False if there are none."""
        matrix = view.matrix
        if self.start is None or matrix.rows != matrix.cols:
            return False
        u, v = (self.start.u, self.start.v) if isinstance(self.start, Result) else self.start
        prices = _to_host(u if view.transposed else v).astype(matrix.dual_dtype)
        if prices.shape != (matrix.cols,) or not np.isfinite(prices).all():
            raise ArgumentError(
                f"start needs finite duals u (m,) and v (n,), got shapes {np.shape(u)} and {np.shape(v)}"
            )
        write(self.context, solve.v.pointer, -prices if self.maximize else prices)
        return True

    def _deliver(self, view: View, solve: CoreSolve) -> _Outputs:
        matrix = view.matrix
        outputs = _Outputs(
            empty_array(self.context, (matrix.rows,), "int64", self.like),
            empty_array(self.context, (matrix.cols,), "int64", self.like),
            empty_array(self.context, (matrix.rows,), matrix.dual_dtype, self.like),
        )
        solve.deliver(outputs.row_to_col, outputs.col_to_row, outputs.picked)
        return outputs

    def _refuse(self, view: View, report: Report) -> None:
        """Name the first invalid cost of the row that has one."""
        matrix, i = view.matrix, report.invalid_row
        line = read(
            self.context, matrix.pointer + i * matrix.row_stride * ITEM_BYTES[matrix.dtype], matrix.cols, matrix.dtype
        )
        wrong = np.isnan(line) | (line == (np.inf if self.maximize else -np.inf)) if line.dtype.kind == "f" else None
        if wrong is not None and wrong.any():
            j = int(wrong.argmax())
            row, col = (j, i) if view.transposed else (i, j)
            raise InvalidCostError(row, col, float(line[j]), self.maximize)
        finite = np.where(np.isfinite(line), line, 0)
        j = int(np.argmax(np.abs(finite.astype(np.float64))))
        row, col = (j, i) if view.transposed else (i, j)
        raise RangeError(
            f"cost[{row}, {col}] is {line[j]}: for this shape, sums of such costs do not stay exact; subtract a "
            "constant from all costs, or divide them"
        )

    def _explain(self, view: View, solve: CoreSolve) -> None:
        """Raise with the Hall violator."""
        matrix = view.matrix
        with Workspace(self.context, {"rows": (matrix.rows, "uint8"), "cols": (matrix.cols, "uint8")}) as memory:
            fill_bytes(self.context, memory["rows"], 0, matrix.rows)
            fill_bytes(self.context, memory["cols"], 0, matrix.cols)
            solve.name_violator(memory["rows"], memory["cols"])
            rows = np.flatnonzero(read(self.context, memory["rows"], matrix.rows, "uint8")).astype(np.int64)
            cols = np.flatnonzero(read(self.context, memory["cols"], matrix.cols, "uint8")).astype(np.int64)
        if not view.transposed:
            raise InfeasibleError(rows, cols)
        if matrix.rows < matrix.cols:
            raise InfeasibleError(cols, rows, by_cols=True)
        # Square: the rows out of reach have all their columns outside the violators, and there are more of them.
        every = np.arange(matrix.rows)
        raise InfeasibleError(np.setdiff1d(every, cols), np.setdiff1d(every, rows))

    def _accept(self, certificate: Certificate, u: GpuArray, v: GpuArray) -> None:
        """An optimal answer must be proven: exactly for integers, up to rounding for floats."""
        if certificate.fault is None and certificate.exact:
            return
        duals = sum(float(np.abs(self._host(array)).sum()) for array in (u, v))
        error = max(certificate.bound, certificate.violation)
        proven = certificate.fault is None and certificate.complete and u.dtype == "float64"
        if not (proven and error <= _ROUNDING * (duals + abs(certificate.primal))):
            raise InternalError(f"the certificate refuses the method's answer: {certificate}")

    def _result(
        self,
        view: View,
        outputs: _Outputs,
        duals: tuple[GpuArray, GpuArray],
        certificate: Certificate | None,
        statistics: dict[str, float],
        report: Report,
    ) -> Result:
        forward, back = outputs.row_to_col, outputs.col_to_row
        if view.transposed:
            forward, back = back, forward
        objective: int | float
        if certificate is not None:
            objective, bound = certificate.primal, certificate.optimum_bound
        else:
            picked = self._host(outputs.picked)
            objective = int(picked.sum()) if picked.dtype.kind == "i" else math.fsum(picked.tolist())
            bound = -report.bound if self.maximize else report.bound
        result = Result(
            row_to_col=self._given_back(forward),
            objective=objective,
            u=self._given_back(duals[0]),
            v=self._given_back(duals[1]),
            certificate=certificate,
            statistics=statistics,
            status="optimal",
            plan=self._plan(view),
            lower_bound=bound,
        )
        result.__dict__["col_to_row"] = self._given_back(back)
        return result

    def _plan(self, view: View | None) -> Plan:
        info = self.context.info
        rows, cols = sorted(self.cost.shape)
        reasons = [f"solved on GPU {info.ordinal} ({info.name})"]
        if view is not None and view.transposed:
            reasons.append("the matrix is solved as its transposed view")
        if view is not None and view.owner is not self.cost:
            reasons.append("the matrix is copied, since neither its rows nor its columns are contiguous")
        return Plan(
            method="core",
            fallback=None,
            threads=1,
            transposed=view is not None and view.transposed,
            memory_bytes=workspace_bytes(rows, cols, self.cost.dtype) if rows else 0,
            shape=(self.cost.shape[0], self.cost.shape[1]),
            dtype=self.cost.dtype,
            reasons=tuple(reasons),
            device=f"cuda:{info.ordinal}",
        )

    def _empty(self) -> Result:
        """Nothing to match: every row and column stays free."""
        rows, cols = self.cost.shape
        dual = "int64" if "int" in self.cost.dtype else "float64"
        arrays = []
        for count, dtype, byte in ((rows, "int64", 0xFF), (cols, "int64", 0xFF), (rows, dual, 0), (cols, dual, 0)):
            array = empty_array(self.context, (count,), dtype, self.like)
            fill_bytes(self.context, array.pointer, byte, count * ITEM_BYTES[dtype])
            arrays.append(self._given_back(array))
        zero = 0 if dual == "int64" else 0.0
        certificate = Certificate(zero, zero, zero, zero, None, True, True, zero, zero, None) if self.certify else None
        result = Result(arrays[0], zero, arrays[2], arrays[3], certificate, {}, "optimal", self._plan(None), zero)
        result.__dict__["col_to_row"] = arrays[1]
        return result

    def _host(self, array: GpuArray) -> NDArray[Any]:
        return read(self.context, array.pointer, math.prod(array.shape), array.dtype)

    def _given_back(self, array: GpuArray) -> Any:
        return array.library.handed_over(self.context, array) if self.stay else self._host(array)


def _statistics(report: Report, start: Start) -> dict[str, float]:
    names = ("phases", "rounds", "offers", "searches", "steps", "scans", "refreshes", "full_rows", "left")
    return {name: float(getattr(report, name)) for name in names} | {"levels": float(start.levels)}


def _to_host(values: Any) -> NDArray[Any]:
    if not is_gpu_array(values):
        return np.asarray(values)
    array = view_array(values)
    if array.strides != row_major(array.shape):
        raise ArgumentError("start must hold contiguous arrays")
    with Context(array.ordinal, array.stream) as context:
        return read(context, array.pointer, math.prod(array.shape), array.dtype)
