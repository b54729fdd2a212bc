"""The backend of a GPU: the flow calls it to solve costs of any kind there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import inputs
from lapwing.answer import Answer, inverse
from lapwing.certificate import Certificate, Number, require_matching
from lapwing.checkpoint import CheckpointWriter
from lapwing.costs.function import FunctionCost
from lapwing.cpu import exact
from lapwing.cpu.large_costs import are_small
from lapwing.cpu.solve import require_pairs
from lapwing.errors import ArgumentError, GpuError, InfeasibleError, RangeError
from lapwing.gpu.certificate.proof import SUMMARY_BYTES, Candidate, Proof
from lapwing.gpu.core.errors import invalid_cost
from lapwing.gpu.core.glance import Glance
from lapwing.gpu.core.large_costs import SMALL
from lapwing.gpu.core.monitor import Monitor, TimeIsUpError
from lapwing.gpu.core.solver import (
    INFEASIBLE,
    INVALID,
    OPTIMAL,
    REPORT_BYTES,
    WARM_UP,
    CoreSolve,
    Outputs,
    Report,
    nothing,
)
from lapwing.gpu.costs.canonical import CanonicalForm, CanonicalMatrix
from lapwing.gpu.costs.unmatched import UnmatchedColumns
from lapwing.gpu.early_end import EarlyEnd, Part
from lapwing.gpu.given_back import given_back, host_array
from lapwing.gpu.kinds.base import CostKind, Search
from lapwing.gpu.kinds.choose import choose_kind, choose_sharded, ordinal_of
from lapwing.gpu.on_host import concluded, empty_on_host, partial_on_host, solved_on_host
from lapwing.gpu.reference import ReferenceMethod
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.copies import OwnStream, write
from lapwing.gpu.runtime.device import Context
from lapwing.plan import Plan
from lapwing.prices import minimised_prices
from lapwing.problem import Problem
from lapwing.progress import Reporter
from lapwing.request import Request

_OVERLAPPED = 1 << 28  # pairs: to prove more of them takes longer than to launch that
_MUCH_NEARER = 16  # another solve must begin so many times nearer to zero: then it loses four bits less


class Gpu:
    """The backend of one GPU; see `lapwing.backend.Backend`."""

    def __init__(self, device: str) -> None:
        self.device: str = device
        self._began = time.perf_counter()

    def problem(self, cost: Any, request: Request) -> CostKind:
        return choose_kind(cost, self.device, request)

    def identified(self, costs: CostKind, request: Request) -> Problem:
        if request.method not in ("auto", "core"):
            raise ArgumentError(f"method {request.method!r} writes no checkpoints on a GPU: use method='core'")
        return costs.identified(request)

    def plan(self, costs: CostKind, request: Request) -> Plan:
        if request.start is not None:
            inputs.check_duals(*request.start, costs.shape, "start")
        return costs.plan(request)

    def solve(self, costs: CostKind, plan: Plan, request: Request) -> tuple[Answer, Certificate | None]:
        solve = Solve(costs, plan, request, self._began + request.time_limit)
        answer, certificate = solve.run()
        return given_back(answer, costs.context, costs.array_template, costs.shape[1]), certificate


class SeveralGpus(Gpu):
    """The backend of several GPUs of one host."""

    def __init__(self, devices: Sequence[str]) -> None:
        super().__init__(devices[0])
        self._ordinals = [ordinal_of(device) for device in devices]

    def problem(self, cost: Any, request: Request) -> CostKind:
        return choose_sharded(cost, self._ordinals, request)


class _ReducibleError(Exception):
    """A solve ended, since some pairs can be left out.

    `solve`: solves without them; None is no answer, and the whole is to be solved.
    """

    def __init__(self, solve: Callable[[], tuple[Answer, Certificate | None] | None]) -> None:
        super().__init__()
        self.solve = solve


class _UnprovenError(Exception):
    """A solve without some pairs has an answer that is not proven with them."""


class Solve:
    """One solve of costs whose context is entered and stays so.

    `whole`: the solve of these costs and others, which this one leaves out; an answer is proven for that.

    The arrays of an answer are views of GPU memory, or NumPy's where the CPU had the last word.
    """

    def __init__(
        self, costs: CostKind, plan: Plan, request: Request, deadline: float = math.inf, whole: Solve | None = None
    ) -> None:
        self.costs: CostKind = costs
        self.plan: Plan = plan
        self.request: Request = request
        self._whole = whole
        self.context: Context = costs.context
        self.array_template: GpuArray | None = costs.array_template
        self.maximize: bool = request.maximize
        self.deadline = deadline  # by time.perf_counter
        self._began = time.perf_counter()
        self._large_from: float | None = None  # what costs of the kind show; see CostKind.large_from
        self._early = EarlyEnd(costs, request)
        self.unmatched: UnmatchedColumns | None = None
        self.prices: NDArray[Any] | None = None  # unmatched costs, as minimised

    def run(self) -> tuple[Answer, Certificate | None]:
        """The answer, and its certificate if it is asked for.

        Raises
        ------
        InvalidCostError, RangeError, InfeasibleError
        """
        try:
            return empty_on_host(self.costs, self.request) if 0 in self.costs.shape else self._loaded()
        except InfeasibleError:
            if not self.request.partial or isinstance(self.costs.given, FunctionCost):
                raise
            return partial_on_host(self.costs, self.request, self.deadline)
        except RangeError:  # for sums in float64: perhaps the optimum itself is within its range
            if self._whole is not None:
                raise _UnprovenError from None
            if self.costs.is_integer or not self.costs.is_readable_on_host:
                raise
            return solved_on_host(self.costs, self.request, self.deadline)

    def _loaded(self) -> tuple[Answer, Certificate | None]:
        costs, request = self.costs, self.request
        if self.plan.device == "cpu":
            return solved_on_host(self.costs, self.request, self.deadline)
        if request.priced:
            prices = request.unmatched_cost
            self.prices = minimised_prices(prices, costs.shape[0], self.maximize, costs.is_integer)
        has_large = self._can_begin_again and self._has_large()
        if has_large and self._is_small:
            return solved_on_host(self.costs, self.request, self.deadline)
        with costs.loaded():
            self._began = time.perf_counter()
            if self.prices is not None:
                is_turned = self.plan.transposed and costs.can_turn and request.has_one_price
                cols = costs.shape[1] if is_turned else None
                self.unmatched = UnmatchedColumns(self.context, self.prices, costs.dtype, self.array_template, cols)
            return (self._without_large() if has_large else None) or self._watched()

    def _watched(self) -> tuple[Answer, Certificate | None]:
        """The answer to the whole matrix; to a part of it, where that is seen to do."""
        request = self.request
        interval = math.inf if request.writer is None else request.writer.interval
        with Reporter(request.progress, self._pairs, self.maximize) as reporter:
            with Monitor(self.context, self.deadline, reporter.hook, interval) as monitor:
                try:
                    return self._run(monitor)
                except _ReducibleError as found:
                    answer = found.solve()  # by kernels that follow those that were launched
            return answer or self._watched()

    def _run(self, monitor: Monitor) -> tuple[Answer, Certificate | None]:
        costs, request, writer = self.costs, self.request, self.request.writer
        rows, cols = costs.shape
        if rows != cols or self.plan.method != "core" or request.priced or request.start is not None:
            costs.wait_for_all()
        view = costs.canonical(self.maximize, self.unmatched, monitor)
        search = costs.search(view, monitor, self.plan, request)
        solve = search.solve
        looks = self._can_begin_again and costs.has_glance and (self._large_from is None or self._early.may_be_capped)
        glance = Glance(solve, monitor.glance) if looks else None
        if self.unmatched is not None and view.matrix.prices and search.start is not None:
            monitor.bound_shift = self.unmatched.bound_shift
        if view.turned:
            monitor.bound_shift += float(self._price) * (rows - cols)
        if writer is not None:
            solve.keep = partial(self._keep, writer, view, solve)
        concluded: list[tuple[Outputs, Proof | None]] = []

        def conclude() -> None:
            if not concluded:
                outputs = self._outputs(view)
                concluded.append((outputs, self._proof(view, outputs, monitor) if request.certify else None))
            outputs, proof = concluded[0]
            solve.deliver(outputs, always=False)
            if proof is not None:
                proof.start()

        def look() -> None:
            nonlocal glance
            if glance is None:
                return
            seen, glance = glance, None
            monitor.wait_for(seen)
            if not seen.is_over:
                return
            has_gap = self._large_from is None and not costs.is_integer and seen.shows_gap(self.prices)
            if has_gap and self._has_large((view.matrix, monitor.stream)):
                raise _ReducibleError(self._without_large)
            self._early.see_cap(seen.cap())

        if self._can_begin_again:
            self._early.watch(solve, self.prices)
        solve.before_launch = look
        if costs.can_overlap and rows * cols <= _OVERLAPPED:  # launched behind the search, and discarded if it fails
            solve.after_launch = conclude
        try:
            report = self._found(search, view)
        except TimeIsUpError:
            report = solve.interrupted()
        finally:
            solve.before_launch = solve.after_launch = nothing
            solve.keep = None  # no cycle that holds memory until it is collected
        part = self._early.part(report)
        if part is not None:
            raise _ReducibleError(partial(self._from_part, part))
        if report.status == INVALID:
            raise invalid_cost(view, solve, report.invalid_row)
        if report.status == INFEASIBLE:
            raise costs.no_assignment(view, solve, request)
        optimal, sign = report.status == OPTIMAL, -1 if self.maximize else 1
        matched_cost: Number | None = None
        if not optimal:
            outputs, proof, matched_cost = self._interrupted(view, solve, report, monitor)
        else:
            if not concluded:
                conclude()
            outputs, proof = concluded[0]
        status = "optimal" if optimal else "time_limit"
        u, v, row_to_col, col_to_row = outputs.as_given(view.transposed)
        if costs.filled is not None and len(costs.filled.fills(host_array(self.context, row_to_col))):
            if optimal:
                require_pairs(inputs.make_problem(costs.given, self.maximize, request.unmatched_cost))
            return solved_on_host(self.costs, self.request, self.deadline)
        if writer is not None:
            rows_kept, u_kept, v_kept = (host_array(self.context, array) for array in (row_to_col, u, v))
            writer.keep(Answer(status, rows_kept, u_kept, v_kept, {}))
        solved = time.perf_counter()
        if optimal:
            monitor.finish(self._pairs, lambda: sign * self._picked_sum(solve, outputs))
        counted = search.statistics(report)  # this, too, while the GPU proves
        answer = Answer(status, row_to_col, u, v, counted, col_to_row=col_to_row)
        certificate = None
        if proof is not None:
            certificate = proof.finish()
            require_matching(certificate)
            answer.objective, answer.bound = certificate.primal, certificate.optimum_bound
        else:
            answer.objective = self._picked_sum(solve, outputs) if matched_cost is None else matched_cost
            answer.bound = answer.objective if optimal else sign * monitor.bound
        if optimal and not self._is_proven(certificate, answer, solve, outputs):
            better = self._without_large() if self._has_large((view.matrix, monitor.stream)) else None
            better = better or self._nearer_zero(answer)
            if better is None and self._whole is not None:
                raise _UnprovenError
            return better or self._proven_on_cpu(view, solve, answer, solved - self._began, monitor)
        answer.statistics |= {"solve_seconds": solved - self._began, "certify_seconds": time.perf_counter() - solved}
        return answer, certificate

    def _found(self, search: Search, view: CanonicalForm) -> Report:
        """Run the search to its end."""
        if search.start is None:
            assert isinstance(search.solve, ReferenceMethod)
            return search.solve.run()
        if self._fill_start(search.solve, view):
            return search.start.run_from(search.solve, WARM_UP)
        return search.start.run(search.solve)

    def _fill_start(self, solve: CoreSolve, view: CanonicalForm) -> bool:
        """Prices from the user's duals, for square problems; False if there are none."""
        if self.request.start is None:
            return False
        u, v = inputs.check_duals(*self.request.start, view.shape, "start")
        matrix = view.matrix
        if matrix.rows != matrix.cols:
            return False

        def largest(_: bool) -> int | float:  # of some rows: what is cut off too early helps less, and harms nothing
            step = max(1, matrix.rows // 16)
            return max(inputs.largest_magnitude(solve.read_row(i)) for i in range(0, matrix.rows, step))

        prices = inputs.start_duals(u if view.transposed else v, self.costs.is_integer, largest, shiftable=True)
        solve.prepare()
        write(self.context, solve.v, -prices if self.maximize else prices)
        return True

    def _keep(self, writer: CheckpointWriter, view: CanonicalForm, solve: CoreSolve) -> None:
        """Write what there is while the kernel runs."""
        u, v, row_to_col = solve.snapshot()
        if view.turned:
            u, v = u - self._price, v + self._price
        if view.transposed:
            u, v, row_to_col = v, u, inverse(row_to_col, len(v))
        sign = -1 if self.maximize else 1
        writer.keep(Answer("running", row_to_col, sign * u, sign * v, {}))

    def _outputs(self, view: CanonicalForm) -> Outputs:
        rows, cols, dual = view.matrix.rows, view.matrix.real_cols, view.matrix.dual_dtype
        empty = partial(empty_array, self.context, array_template=self.array_template)
        (row_to_col, u), (col_to_row, v) = ((empty((n,), "int64"), empty((n,), dual)) for n in (rows, cols))
        return Outputs(row_to_col, col_to_row, u, v, view.turned)

    @property
    def _price(self) -> Any:
        """The one price at which rows may stay free, as minimised."""
        assert self.prices is not None
        return self.prices[0]

    def _proof(self, view: CanonicalForm, outputs: Outputs, monitor: Monitor) -> Proof:
        u, v, row_to_col, _ = outputs.as_given(view.transposed)
        candidate = Candidate(row_to_col.pointer, u.pointer, v.pointer, self.whole._price_pointer)
        mail = monitor.mail(REPORT_BYTES, SUMMARY_BYTES)
        return self.whole.costs.proof(candidate, self.maximize, partial(monitor.wait_in_pass, "certify"), mail)

    @property
    def _price_pointer(self) -> int:
        return 0 if self.unmatched is None else self.unmatched.pointer

    def _interrupted(
        self, view: CanonicalForm, solve: CoreSolve, report: Report, monitor: Monitor
    ) -> tuple[Outputs, Proof | None, Number | None]:
        """The matching that there is, with the duals of the best bound; and what it costs, if no proof will say so."""
        outputs = self._outputs(view)
        solve.deliver(outputs)
        # Asked before another matching is delivered with the duals.
        matched_cost = None if self.request.certify else self._picked_sum(solve, outputs)
        if solve.improve_duals(report):
            better = self._outputs(view)
            solve.deliver(better)
            outputs = replace(outputs, u=better.u, v=better.v)
        if not self.request.certify:
            return outputs, None, matched_cost
        proof = self._proof(view, outputs, monitor)
        proof.start()
        return outputs, proof, matched_cost

    @property
    def _pairs(self) -> int:
        """How many pairs, or rows left free, an assignment has."""
        return self.costs.shape[0] if self.request.priced else min(self.costs.shape)

    @property
    def whole(self) -> Solve:
        return self if self._whole is None else self._whole

    # --- where rounding leaves a doubt ---

    def _is_proven(self, certificate: Certificate | None, answer: Answer, solve: CoreSolve, outputs: Outputs) -> bool:
        """Whether the answer is optimal to the last digits; without a certificate, whether rounding cannot matter."""
        integer = self.costs.is_integer
        if certificate is not None:
            if certificate.exact or not exact.is_tight(certificate, integer, self._pairs):
                return certificate.exact
            return exact.tells_small_costs(certificate, lambda: solve.picked_values(outputs))
        if integer:
            return True
        largest = float(np.abs(host_array(self.context, outputs.v)).max(initial=0.0))
        assert answer.objective is not None
        return are_small(largest, abs(answer.objective))

    @property
    def _is_small(self) -> bool:
        return math.prod(self.costs.shape) <= SMALL

    @property
    def _can_begin_again(self) -> bool:
        """Whether nothing is lost if a solve that has begun is stopped."""
        return self.plan.method == "core" and self.request.start is None and self.request.writer is None

    def _has_large(self, on_gpu: tuple[CanonicalMatrix, OwnStream] | None = None) -> bool:
        """Whether costs far above all others are known, or seen now, and no solve without them has failed."""
        if self._large_from is None:
            self._large_from = self.costs.large_from(self.maximize, self.prices, on_gpu)
        return self._large_from is not None and self._large_from < math.inf

    def _without_large(self) -> tuple[Answer, Certificate | None] | None:
        """The answer to the matrix without large costs, if it is proven for the whole matrix; a small one's anyway."""
        above = self._large_from
        assert above is not None
        self._large_from = math.inf
        if math.prod(self.costs.shape) <= SMALL // 2:  # of more, the copy to the host counts
            return solved_on_host(self.costs, self.request, self.deadline)
        self.costs.wait_for_all()
        prices = None
        if self.prices is not None:
            prices = np.where(self.prices > above, math.inf, self.prices) * (-1 if self.maximize else 1)
        asked = replace(self.request, unmatched_cost=prices)
        return self._from_part(lambda: (self.costs.without_large(above, self.maximize), asked))

    def _from_part(self, make: Part) -> tuple[Answer, Certificate | None] | None:
        """The answer to some pairs, or to a square copy, if it is proven for the whole.

        If the time is up meanwhile: what there is, if all rows have a column.
        """

        def solved() -> tuple[Answer, Certificate | None]:
            made = make()
            if made is None:
                raise _UnprovenError
            small, asked = made
            asked = replace(asked, certify=True, start=None, writer=None)
            return Solve(small, self.plan, asked, self.deadline, self.whole).run()

        return self._if_proven(solved, or_complete=True)

    def _nearer_zero(self, found: Answer) -> tuple[Answer, Certificate | None] | None:
        """The answer from the same prices without a common offset, which took their last digits, if that is proven.

        Where costs that decide are far below others (u^8), prices fall together, by far more than they differ.
        """
        rows, cols = self.costs.shape
        is_free = self.request.memory_limit is None and self.costs.is_quick_to_read
        if not (is_free and self._can_begin_again) or self.costs.is_integer or rows != cols or self.request.priced:
            return None
        u, v = (host_array(self.context, array) for array in (found.u, found.v))
        offset = (v.max() + v.min()) / 2
        shifted = u + offset, v - offset
        if not _MUCH_NEARER * max(np.abs(x).max() for x in shifted) < max(np.abs(u).max(), np.abs(v).max()):
            return None
        asked = replace(self.request, certify=True, start=shifted, progress=False)
        again = Solve(self.costs, self.plan, asked, self.deadline, self.whole)
        again._large_from = math.inf
        better = self._if_proven(again._watched)
        if better is not None:  # the counts are those of the first solve, which found what there is to find
            better[0].statistics |= found.statistics
        return better

    def _if_proven(
        self, solved: Callable[[], tuple[Answer, Certificate | None]], or_complete: bool = False
    ) -> tuple[Answer, Certificate | None] | None:
        """The answer of another solve, if it is proven for the whole; or complete, if the time was up."""
        try:
            answer, certificate = solved()
        except (InfeasibleError, GpuError, _UnprovenError):  # other pairs are needed, or there is no memory for a copy
            return None
        if certificate is None:
            return None
        is_complete = or_complete and certificate.complete and certificate.fault is None
        if answer.status != "optimal" and not is_complete:
            return None
        writer = self.request.writer
        if writer is not None:
            row_to_col, u, v = (host_array(self.context, array) for array in (answer.row_to_col, answer.u, answer.v))
            writer.keep(Answer(answer.status, row_to_col, u, v, answer.statistics))
        elapsed = time.perf_counter() - self._began
        answer.statistics["solve_seconds"] = elapsed - answer.statistics["certify_seconds"]
        return answer, certificate if self.request.certify else None

    def _proven_on_cpu(
        self, view: CanonicalForm, solve: CoreSolve, found: Answer, seconds: float, monitor: Monitor
    ) -> tuple[Answer, Certificate | None]:
        """The answer of the exact solve on the host, for costs whose digits float64 duals cannot hold."""
        problem = inputs.make_problem(self.costs.on_host((view, solve)), self.maximize, self.request.unmatched_cost)
        u, v, row_to_col = (host_array(self.context, array) for array in (found.u, found.v, found.row_to_col))
        answer = Answer("optimal", row_to_col, u, v, found.statistics | {"solve_seconds": seconds})
        answer, certificate = exact.proven_on_cpu(problem, answer, self.deadline - time.perf_counter())
        monitor.finish(problem.rows_to_match, lambda: float(certificate.primal))
        if self.request.writer is not None:
            self.request.writer.keep(answer)
        return concluded(answer, certificate, self.request.certify)

    def _picked_sum(self, solve: CoreSolve, outputs: Outputs) -> Number:
        values = solve.picked_values(outputs)
        if outputs.turned:  # beside the columns, rows that stay free
            rows, cols = self.costs.shape
            values = np.append(values, np.full(rows - cols, -self._price if self.maximize else self._price))
        return int(values.sum()) if self.costs.is_integer else math.fsum(values.tolist())
