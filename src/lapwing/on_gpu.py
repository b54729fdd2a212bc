"""`solve` and `plan` for costs on a GPU, or to be solved there: the same flow, with the stages of `lapwing.gpu`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import exact, inputs
from lapwing.certificate import Certificate, prove, require_matching
from lapwing.checkpoint import Keeper
from lapwing.costs.base import CostSource
from lapwing.costs.function import FunctionCost
from lapwing.errors import ArgumentError, GpuError, InfeasibleError, RangeError
from lapwing.gpu.certificate.proof import (
    SUMMARY_BYTES,
    Answer,
    Proof,
    proof_of_computed,
    proof_of_host_rows,
    proof_of_matrix,
)
from lapwing.gpu.core.errors import invalid_cost, no_assignment
from lapwing.gpu.core.host_solver import HostSolve, HostStart
from lapwing.gpu.core.large_costs import find_large, without_large
from lapwing.gpu.core.monitor import TimeIsUpError, Watch
from lapwing.gpu.core.solver import (
    INFEASIBLE,
    INVALID,
    OPENING,
    OPTIMAL,
    REPORT_BYTES,
    CoreSolve,
    Outputs,
    Report,
    nothing,
)
from lapwing.gpu.core.start import Start
from lapwing.gpu.costs.canonical import View, orient, orient_host_rows
from lapwing.gpu.costs.computed import Computed
from lapwing.gpu.costs.computed import upload as upload_computed
from lapwing.gpu.costs.host_rows import HostRows, Lines, Streamed, lines_of, lines_of_source
from lapwing.gpu.costs.unmatched import Exits
from lapwing.gpu.costs.upload import Copier, upload
from lapwing.gpu.reference import REFERENCE_METHODS
from lapwing.gpu.runtime.arrays import GpuArray, empty_array
from lapwing.gpu.runtime.copies import read, read_array, write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import preload
from lapwing.gpu.runtime.programs import (
    CERTIFICATE,
    COMPUTED_CERTIFICATE,
    COMPUTED_CORE,
    COMPUTED_START,
    CORE,
    HOST_CORE,
    INTEGERS,
    TEXT,
)
from lapwing.gpu_request import (
    Options,
    checked_start,
    context_of,
    is_streamed,
    ordinal_of,
    placed_costs,
    plan_of_matrix,
    plan_of_rows,
    plan_of_source,
    problem_of,
    to_host,
)
from lapwing.methods.base import Answer as MethodAnswer
from lapwing.methods.base import answer_empty, inverse
from lapwing.plan import Plan
from lapwing.prices import prices_in_kind
from lapwing.problem import Problem
from lapwing.progress import Reporter
from lapwing.result import Result, make_result


def solve_on_gpu(cost: Any, device: str, options: Options, checkpoint: Any = None) -> Result:
    """Solve on the GPU where the costs are, or where `device` says; see `lapwing.solve`.

    Arrays come back in the library of the costs, on their GPU; as NumPy arrays if the costs were on the host.
    """
    deadline = time.perf_counter() + options.time_limit
    keeper = None if checkpoint is None else _keeper(checkpoint, cost, options)
    if keeper is not None and keeper.start is not None:
        options = replace(options, start=keeper.start)
    if isinstance(cost, CostSource) and not cost.is_computable_on_gpu:
        with Context(ordinal_of(device)) as context:
            return _solve_streamed(context, cost, *lines_of_source(cost, options.priced), options, deadline, keeper)
    if isinstance(cost, CostSource):
        with context_of(cost, device) as context:
            plan = plan_of_source(context, cost, options)
            computed = upload_computed(context, cost, cost.home)
            choice = {"COST": computed.dtype, TEXT: computed.recipe.text}
            programs = (COMPUTED_CORE, COMPUTED_START, COMPUTED_CERTIFICATE)
            preload(context, [(program, program.variant(**choice)) for program in programs])
            return _Solve(context, computed, cost.home, options, plan, deadline, keeper, given=cost).run()
    context, given, host = placed_costs(cost, device, options)
    with context:
        if is_streamed(host, context, given, options):
            return _solve_streamed(context, host, *lines_of(host, options.priced), options, deadline, keeper)
        plan = plan_of_matrix(context, given, host, options)
        if host is None:
            return _Solve(context, given, given, options, plan, deadline, keeper).run()
        given, copier = upload(context, host)
        with copier:
            return _Solve(context, given, None, options, plan, deadline, keeper, copier).run()


def solve_view(context: Context, cost: GpuArray, options: Options) -> Result:
    """Solve a matrix on the context's GPU, on its stream; what would be arrays in the answer are views of them."""
    solve = _Solve(context, cost, cost, options, plan_of_matrix(context, cost, None, options), math.inf, None)
    solve.as_views = True
    return solve.run()


def plan_on_gpu(cost: Any, device: str, options: Options) -> Plan:
    """What `solve_on_gpu` would do."""
    if isinstance(cost, CostSource) and not cost.is_computable_on_gpu:
        with Context(ordinal_of(device)) as context:
            return plan_of_rows(context, *lines_of_source(cost, options.priced), options)[0]
    if isinstance(cost, CostSource):
        if options.start is not None:
            checked_start(options.start, cost.shape)
        with context_of(cost, device) as context:
            return plan_of_source(context, cost, options)
    context, given, host = placed_costs(cost, device, options)
    with context:
        if options.start is not None:
            checked_start(options.start, given.shape)
        if is_streamed(host, context, given, options):
            return plan_of_rows(context, *lines_of(host, options.priced), options)[0]
        return plan_of_matrix(context, given, host, options)


def _solve_streamed(
    context: Context,
    given: Any,
    lines: Lines,
    transposed: bool,
    options: Options,
    deadline: float,
    keeper: Keeper | None,
) -> Result:
    plan, layout = plan_of_rows(context, lines, transposed, options)
    preload(context, [(program, program.variant(COST=plan.dtype)) for program in (HOST_CORE, CERTIFICATE)])
    cost = Streamed(plan.shape, plan.dtype, lines, transposed, layout)
    return _Solve(context, cost, None, options, plan, deadline, keeper, given=given).run()


class _Solve:
    """One solve."""

    def __init__(
        self,
        context: Context,
        cost: GpuArray | Computed | Streamed,
        like: GpuArray | None,
        options: Options,
        plan: Plan,
        deadline: float,
        keeper: Keeper | None,
        copier: Copier | None = None,
        given: Any = None,
    ) -> None:
        self.given = given  # the costs as the user gave them, if they are no array on a GPU
        self.context, self.cost, self.like = context, cost, like  # like: in whose library the answer is given
        self.copier = copier  # which brings the matrix
        self.options, self.plan, self.deadline = options, plan, deadline
        self.maximize, self.keeper = options.maximize, keeper
        self.as_views = False  # whether the answer's arrays stay views
        self.prices: NDArray[Any] | None = None  # unmatched costs, as minimised
        self.integer = cost.dtype in INTEGERS

    def run(self) -> Result:
        if 0 in self.cost.shape:
            return self._empty()
        try:
            return self._solved()
        except RangeError:  # for sums in float64: perhaps the optimum itself is within its range
            if self.integer or isinstance(self.cost, Computed):
                raise
            return self._solved_on_cpu()

    def _solved(self) -> Result:
        rows, options = self.cost.shape[0], self.options
        exits = None
        if options.unmatched_cost is not None:
            prices = prices_in_kind(to_host(options.unmatched_cost), rows, self.maximize, self.integer)
            self.prices = -prices if self.maximize else prices
            exits = Exits(self.context, self.prices, self.cost.dtype, self.like)
        interval = math.inf if self.keeper is None else self.keeper.interval
        to_match = min(self.cost.shape) if exits is None else rows
        with (
            Reporter(options.progress, to_match, self.maximize) as reporter,
            Watch(self.context, self.deadline, reporter.hook, interval) as watch,
        ):
            return self._run(exits, watch)

    def _run(self, exits: Exits | None, watch: Watch) -> Result:
        began = time.perf_counter()
        self._wait_for_costs()
        view = self._oriented(exits, watch)
        solve, find, statistics = self._method(view, watch, exits)
        if self.keeper is not None:
            solve.keep = partial(self._keep, self.keeper, view, solve)
        concluded: list[tuple[Outputs, Proof | None]] = []

        def conclude() -> None:
            if not concluded:
                outputs = self._outputs(view)
                proof = self._proof(view, outputs, exits, watch) if self.options.certify else None
                concluded.append((outputs, proof))
            outputs, proof = concluded[0]
            solve.deliver(outputs, always=False)
            if proof is not None:
                proof.start()

        if isinstance(self.cost, GpuArray):  # while the GPU solves; in vain, but soon over, if that does not end well
            solve.after_launch = conclude
        try:
            report = find()
        except TimeIsUpError:
            report = solve.interrupted()
        finally:
            solve.after_launch, solve.keep = nothing, None  # no cycle that holds memory until it is collected
        if report.status == INVALID:
            raise invalid_cost(view, solve, report.invalid_row)
        if report.status == INFEASIBLE:
            raise no_assignment(view, solve)
        optimal, sign = report.status == OPTIMAL, -1 if self.maximize else 1
        matched_cost: float | None = None
        if not optimal:
            outputs, proof, matched_cost = self._interrupted(view, solve, report, exits, watch)
        else:
            if not concluded:
                conclude()
            outputs, proof = concluded[0]
        if self.keeper is not None:
            self._keep_outputs(self.keeper, view, outputs, "optimal" if optimal else "time_limit")
        solved = time.perf_counter()
        if optimal:
            watch.finish(view.matrix.rows, lambda: sign * self._picked_sum(solve, outputs))
        counted = statistics(report)  # this, too, while the GPU proves
        u, v, row_to_col, col_to_row = map(self._given_back, outputs.oriented(view.transposed))
        certificate = None
        if proof is not None:
            certificate = proof.finish()
            require_matching(certificate)
        bound: float
        if certificate is not None:
            objective, bound = certificate.primal, certificate.optimum_bound
        else:
            objective = self._picked_sum(solve, outputs) if matched_cost is None else matched_cost
            bound = objective if optimal else sign * watch.bound
        if optimal and not self._is_proven(certificate, objective, solve, outputs):
            better = self._without_large(solve, exits, began)
            return better or self._proven_on_cpu(view, solve, outputs, counted, solved - began, watch)
        timed = {"solve_seconds": solved - began, "certify_seconds": time.perf_counter() - solved}
        return Result(
            row_to_col=row_to_col,
            objective=objective,
            u=u,
            v=v,
            certificate=certificate,
            statistics=counted | timed,
            status="optimal" if optimal else "time_limit",
            plan=self.plan,
            lower_bound=bound,
            _col_to_row=col_to_row,
        )

    def _wait_for_costs(self) -> None:
        """Unless the solve can begin with the rows that come first."""
        rows, cols = self.cost.shape
        by_minima = rows == cols and self.plan.method not in REFERENCE_METHODS
        if self.copier is not None and (not by_minima or self.options.priced or self.options.start is not None):
            self.copier.finish()

    def _keep(self, keeper: Keeper, view: View, solve: CoreSolve) -> None:
        """Write what there is while the kernel runs."""
        u, v, row_to_col = solve.snapshot()
        if view.transposed:
            u, v, row_to_col = v, u, inverse(row_to_col, len(v))
        sign = -1 if self.maximize else 1
        keeper.keep(MethodAnswer("running", row_to_col, sign * u, sign * v, {}))

    def _keep_outputs(self, keeper: Keeper, view: View, outputs: Outputs, status: str) -> None:
        u, v, row_to_col, _ = (self._host(array) for array in outputs.oriented(view.transposed))
        keeper.keep(MethodAnswer(status, row_to_col, u, v, {}))

    def _oriented(self, exits: Exits | None, watch: Watch) -> View:
        if not isinstance(self.cost, Streamed):
            return orient(self.context, self.cost, self.maximize, exits)
        return orient_host_rows(self.cost, HostRows(self.context, self.cost, watch.stream), self.maximize, exits)

    def _method(
        self, view: View, watch: Watch, exits: Exits | None
    ) -> tuple[CoreSolve, Callable[[], Report], Callable[[Report], dict[str, float]]]:
        """The solve, what runs it, and what says what it counted."""
        reference = REFERENCE_METHODS.get(self.plan.method)
        if reference is not None:
            method = reference(self.context, view.matrix, watch, self.like, self.options.tuning)
            return method, method.run, method.statistics
        solve: CoreSolve
        if isinstance(self.cost, Streamed):
            assert isinstance(view.owner, HostRows)
            solve = HostSolve(self.context, view.matrix, watch, view.owner, self.cost.lines)
            starter: Start = HostStart(self.context, watch)
        else:
            if isinstance(self.cost, GpuArray) and self.options.certify:  # compiled side by side at their first use
                dtype = self.cost.dtype
                preload(self.context, [(CORE, CORE.of_cost(dtype)), (CERTIFICATE, CERTIFICATE.of_cost(dtype))])
            solve = CoreSolve(self.context, view.matrix, watch, self.like)
            starter = Start(self.context, watch, self.like, self.copier)
        watch.bound_shift = 0.0 if exits is None else exits.bound_shift

        def find() -> Report:
            return starter.run_from(solve, OPENING) if self._fill_start(solve, view) else starter.run(solve)

        return solve, find, lambda report: _statistics(report, starter, solve)

    def _fill_start(self, solve: CoreSolve, view: View) -> bool:
        """Prices from the user's duals, for square problems; False if there are none."""
        if self.options.start is None:
            return False
        u, v = checked_start(self.options.start, view.shape)
        matrix = view.matrix
        if matrix.rows != matrix.cols:
            return False

        def largest(_: bool) -> int | float:  # of some rows: what is cut off too early helps less, and harms nothing
            step = max(1, matrix.rows // 16)
            return max(inputs.largest_magnitude(solve.read_row(i)) for i in range(0, matrix.rows, step))

        prices = inputs.start_duals(u if view.transposed else v, self.integer, largest, shiftable=True)
        solve.prepare()
        write(self.context, solve.v, -prices if self.maximize else prices)
        return True

    def _outputs(self, view: View) -> Outputs:
        rows, cols, dual = view.matrix.rows, view.matrix.real_cols, view.matrix.dual_dtype
        empty = partial(empty_array, self.context, like=self.like)
        return Outputs(empty((rows,), "int64"), empty((cols,), "int64"), empty((rows,), dual), empty((cols,), dual))

    def _proof(self, view: View, outputs: Outputs, exits: Exits | None, watch: Watch) -> Proof:
        u, v, row_to_col, _ = outputs.oriented(view.transposed)
        answer = Answer(row_to_col.pointer, u.pointer, v.pointer, 0 if exits is None else exits.pointer)
        mail = watch.mail(REPORT_BYTES, SUMMARY_BYTES)
        if isinstance(self.cost, GpuArray):
            return proof_of_matrix(self.context, self.cost, answer, self.maximize, mail)
        if isinstance(self.cost, Streamed):
            assert isinstance(view.owner, HostRows)
            return proof_of_host_rows(self.context, self.cost, view.owner, answer, self.maximize, watch.wait, mail)
        return proof_of_computed(self.context, self.cost, answer, self.maximize, self.like, watch.wait, mail)

    def _interrupted(
        self, view: View, solve: CoreSolve, report: Report, exits: Exits | None, watch: Watch
    ) -> tuple[Outputs, Proof | None, float | None]:
        """The matching that there is, with the duals of the best bound; and what it costs, if no proof will say so."""
        outputs = self._outputs(view)
        solve.deliver(outputs)
        # Asked before another matching is delivered with the duals.
        matched_cost = None if self.options.certify else self._picked_sum(solve, outputs)
        if solve.improve_duals(report):
            better = self._outputs(view)
            solve.deliver(better)
            outputs = replace(outputs, u=better.u, v=better.v)
        if not self.options.certify:
            return outputs, None, matched_cost
        proof = self._proof(view, outputs, exits, watch)
        proof.start()
        return outputs, proof, matched_cost

    def _is_proven(self, certificate: Certificate | None, objective: float, solve: CoreSolve, outputs: Outputs) -> bool:
        """Whether the answer is optimal to the last digits; without a certificate, whether rounding cannot matter."""
        if certificate is not None:
            if certificate.exact or not exact.is_tight(certificate, self.integer, self._pairs):
                return certificate.exact
            return exact.tells_small_costs(certificate, solve.picked_values(outputs))
        if self.integer:
            return True
        largest = float(np.abs(self._host(outputs.v)).max(initial=0.0))
        return exact.are_small(largest, abs(objective))

    def _without_large(self, solve: CoreSolve, exits: Exits | None, began: float) -> Result | None:
        """The answer to the matrix without costs far above all others, if it is proven for the whole matrix."""
        above = None
        if isinstance(self.cost, GpuArray) and not self.integer:
            above = find_large(solve, self.prices)
        if above is None:
            return None
        assert isinstance(self.cost, GpuArray)
        prices = None
        if self.prices is not None:
            prices = np.where(self.prices > above, math.inf, self.prices) * (-1 if self.maximize else 1)
        options = replace(self.options, certify=False, start=None, progress=False, unmatched_cost=prices)
        try:
            small = without_large(self.context, self.cost, above, self.maximize)
            one = _Solve(self.context, small, self.like, options, self.plan, self.deadline, None)
            one.as_views = True
            found: Any = one.run()
        except (InfeasibleError, GpuError):  # large costs are needed, or there is no memory for a copy
            return None
        if found.status != "optimal" or not isinstance(found.u, GpuArray):
            return None
        solved = time.perf_counter()
        answer = Answer(found.row_to_col.pointer, found.u.pointer, found.v.pointer, exits.pointer if exits else 0)
        proof = proof_of_matrix(self.context, self.cost, answer, self.maximize)
        proof.start()
        certificate = proof.finish()
        require_matching(certificate)
        if not exact.is_tight(certificate, False, self._pairs):
            return None
        if self.keeper is not None:
            row_to_col, u, v = (self._host(array) for array in (found.row_to_col, found.u, found.v))
            self.keeper.keep(MethodAnswer("optimal", row_to_col, u, v, found.statistics))
        timed = {"solve_seconds": solved - began, "certify_seconds": time.perf_counter() - solved}
        return Result(
            row_to_col=self._given_back(found.row_to_col),
            objective=certificate.primal,
            u=self._given_back(found.u),
            v=self._given_back(found.v),
            certificate=certificate if self.options.certify else None,
            statistics=found.statistics | timed,
            status="optimal",
            plan=self.plan,
            lower_bound=certificate.optimum_bound,
            _col_to_row=self._given_back(found._col_to_row),
        )

    @property
    def _pairs(self) -> int:
        """How many pairs, or rows left free, an assignment has."""
        return min(self.cost.shape) if self.options.unmatched_cost is None else self.cost.shape[0]

    def _proven_on_cpu(
        self,
        view: View,
        solve: CoreSolve,
        outputs: Outputs,
        counted: dict[str, float],
        seconds: float,
        watch: Watch,
    ) -> Result:
        """The answer of the exact solve on the host, for costs whose digits float64 duals cannot hold."""
        u, v, row_to_col, _ = (self._host(array) for array in outputs.oriented(view.transposed))
        problem = self._host_problem(view, solve)
        answer = MethodAnswer("optimal", row_to_col, u, v, counted | {"solve_seconds": seconds})
        answer, certificate = exact.proven_on_cpu(problem, answer, self.deadline - time.perf_counter())
        watch.finish(problem.rows_to_match, lambda: float(certificate.primal))
        if self.keeper is not None:
            self.keeper.keep(answer)
        return self._as_result(make_result(problem, self.plan, answer, certificate), self.options.certify)

    def _solved_on_cpu(self) -> Result:
        """The answer of the host, where sums that leave the range of float64 are held in wide integers."""
        if self.copier is not None:
            self.copier.finish()
        costs = read_array(self.cost) if isinstance(self.cost, GpuArray) else self.given
        problem = inputs.make_problem(costs, self.maximize, to_host(self.options.unmatched_cost))
        limit = self.deadline - time.perf_counter()
        answer, certificate = exact.solved_on_cpu(problem, limit, self.options.certify)
        if self.keeper is not None:
            self.keeper.keep(answer)
        return self._as_result(make_result(problem, self.plan, answer, certificate), self.options.certify)

    def _host_problem(self, view: View, solve: CoreSolve) -> Problem:
        """The problem with its costs in the host's memory, or computed there."""
        costs = self.given
        if isinstance(self.cost, GpuArray):
            costs = read_array(self.cost)
        elif isinstance(costs, FunctionCost):  # which only a GPU computes
            rows = np.stack([solve.read_row(i) for i in range(view.matrix.rows)])
            costs = rows.T if view.transposed else rows
        return inputs.make_problem(costs, self.maximize, to_host(self.options.unmatched_cost))

    def _empty(self) -> Result:
        """Nothing to match: as the CPU says."""
        options = self.options
        dtype = np.int64 if self.integer else np.float64
        problem = inputs.make_problem(np.zeros(self.cost.shape, dtype), self.maximize, to_host(options.unmatched_cost))
        answer = answer_empty(problem)
        certificate = prove(problem, answer.row_to_col, answer.u, answer.v, 1) if options.certify else None
        result = make_result(problem, self.plan, answer, certificate)
        return self._as_result(result, options.certify)

    def _as_result(self, result: Result, certify: bool) -> Result:
        """A result of the host with its arrays where the costs are."""
        result = replace(result, certificate=result.certificate if certify else None)
        if self.like is None:
            return result
        return replace(
            result,
            row_to_col=self._uploaded(result.row_to_col),
            u=self._uploaded(result.u),
            v=self._uploaded(result.v),
            _col_to_row=self._uploaded(inverse(result.row_to_col, self.cost.shape[1])),
        )

    def _uploaded(self, values: NDArray[Any]) -> Any:
        array = empty_array(self.context, values.shape, values.dtype.name, self.like)
        write(self.context, array.pointer, values)
        return self._given_back(array)

    def _picked_sum(self, solve: CoreSolve, outputs: Outputs) -> int | float:
        values = solve.picked_values(outputs)
        return int(values.sum()) if self.integer else math.fsum(values.tolist())

    def _host(self, array: GpuArray) -> NDArray[Any]:
        return read(self.context, array.pointer, math.prod(array.shape), array.dtype)

    def _given_back(self, array: GpuArray) -> Any:
        if self.as_views:
            return array
        return array.library.handed_over(self.context, array) if self.like is not None else self._host(array)


def _keeper(checkpoint: Any, cost: Any, options: Options) -> Keeper:
    if options.method != "core":
        raise ArgumentError(f"method {options.method!r} writes no checkpoints on a GPU: use method='core'")
    return Keeper(checkpoint, problem_of(cost, options))


def _statistics(report: Report, start: Start, solve: CoreSolve) -> dict[str, float]:
    names = ("phases", "rounds", "offers", "searches", "steps", "scans", "refreshes", "full_rows", "left")
    counted = {"levels": float(start.levels), "listings": float(solve.listings)}
    if isinstance(solve, HostSolve):
        counted["rows_read"] = float(solve.rows.rows_read)
    return {name: float(getattr(report, name)) for name in names} | counted
