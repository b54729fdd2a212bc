"""Exactly optimal answers: solve, prove, and solve again with more digits if the proof requires it.

A method computes with float64 duals. If they are large beside the costs that decide the optimum, rounding hides these
costs, and the certificate's bound shows it. Then duals of square problems are refined
(cpp/include/lapwing/exact/refine.hpp): each time they get sixteen digits more. Where that does not do, the exact solve
(cpp/include/lapwing/exact/solve.hpp) takes over from the prices of the method, with integer duals in which no sum is
rounded. All methods, on all devices, are held to one bound here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.answer import NO_PROOF, OUT_OF_RANGE, Answer, Duals, exact_sum, inverse, objective
from lapwing.certificate import Certificate, prove, require_matching
from lapwing.costs.dense import row_blocks
from lapwing.costs.sparse import SparseCost
from lapwing.cpu.batch import BatchAnswer
from lapwing.cpu.large_costs import are_small
from lapwing.cpu.solve import (
    FREE,
    Control,
    as_minimised,
    given_back,
    infeasible_with_proof,
    invalid_cost_found,
    largest,
    run,
)
from lapwing.errors import ArgumentError, InfeasibleError, InternalError, InvalidCostError, RangeError
from lapwing.inputs import processors
from lapwing.methods import SPARSE
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem
from lapwing.progress import Hook

if TYPE_CHECKING:
    from lapwing.cpu.rewritten import Rewritten

_ULP = 2.0**-52
_ROUNDING = 1e-9  # errors of a method over the magnitudes of all duals and of the largest cost; more is a bug
_NEAR = 2.0**-20  # a bound over the objective, up to which the exact solve has little to mend
_GAINED = 2.0**-10  # a bound over the one before, up to which a refinement of duals is worth the next one
_MUCH_BETTER = 2.0**-10  # an objective over the one before: then digits that were rounded away may matter


def solve_proven(
    problem: Problem, plan: Plan, start: Duals | None = None, control: Control = FREE, *, certify: bool = True
) -> tuple[Answer, Certificate | None]:
    """Solve by the plan's method; by the exact solve where that leaves a doubt. With a certificate if it is asked for.

    Raises
    ------
    InvalidCostError, RangeError, InfeasibleError, InternalError
    """
    if problem.has_required_columns and not problem.is_empty:
        return _solved_rewritten(problem, plan, start, control, certify=certify)
    began = time.perf_counter()
    deadline, given = began + control.time_limit, problem
    if plan.holds_matrix:
        from lapwing.cpu import held

        problem, plan, control = held.with_matrix(problem, plan, control)
    if _may_be_turned(problem) and start is None:
        found = _solved_turned(problem, plan, control, certify=certify)
        if found is not None:
            return found
        control = control._replace(time_limit=deadline - time.perf_counter())
    try:
        answer = run(problem, plan, start, control)
    except RangeError:
        if problem.is_integer or problem.is_empty:
            raise
        left = deadline - time.perf_counter()
        answer, certificate = _solved_wide(problem, plan, control._replace(time_limit=left))
        if not math.isfinite(certificate.primal):  # the optimum itself is out of range
            raise
        return answer, _with_a_bound(certificate) if certify else None
    answer.statistics["solve_seconds"] = solved = time.perf_counter() - began
    if (
        answer.status == "time_limit" and not np.isfinite(answer.u).all()
    ):  # the time limit came before every row was read
        return answer, None
    if not certify and (answer.status != "optimal" or is_trusted(problem, answer)):
        return answer, None
    if control.hook is not None:
        _show_answer(control.hook, problem, answer)
    proved = given if certify else problem  # the costs as they are defined, not as they are held
    certificate = prove(proved, answer.row_to_col, *answer.proving_duals, plan.threads, control.hook)
    require_matching(certificate)
    if answer.status == "optimal" and not is_proven(problem, answer, certificate):
        refuse_errors(problem, answer, certificate)
        remaining = deadline - time.perf_counter()
        answer, certificate = repaired(problem, plan, answer, certificate, remaining, control.hook)
        if proved is not problem:
            certificate = prove(proved, answer.row_to_col, *answer.proving_duals, plan.threads, control.hook)
    answer.statistics["certify_seconds"] = time.perf_counter() - began - solved
    if not certify:
        return answer, None
    return answer, _with_a_bound(certificate) if answer.status == "optimal" else certificate


def _with_a_bound(certificate: Certificate) -> Certificate:
    """The certificate of an optimum, if it proves anything: duals may be out of range where the costs are not."""
    if math.isinf(certificate.bound):
        raise RangeError(NO_PROOF)
    return certificate


def _show_answer(hook: Hook, problem: Problem, answer: Answer) -> None:
    """The method's answer before its proof; with the costs of pairs only where that takes no reading of rows."""
    sign = -1.0 if problem.maximize else 1.0
    reached = math.inf
    if answer.status == "optimal" and problem.cost.tier in ("dense", "sparse", "computed"):
        reached = sign * float(objective(problem, answer.row_to_col))
    hook("certify", 0, problem.rows_to_match, sign * float(exact_sum([answer.u, answer.v])), reached, 0.0)


def solve_in_range(
    problem: Problem, plan: Plan, start: Duals | None = None, control: Control = FREE, *, certify: bool = True
) -> tuple[Answer, Certificate | None]:
    """`solve_proven`; less a constant, where sums of integers are out of range and that helps.

    Raises
    ------
    InvalidCostError, RangeError, InfeasibleError, InternalError
    """
    try:
        return solve_proven(problem, plan, start, control, certify=certify)
    except RangeError:
        from lapwing.shifted import shifted

        less = shifted(problem)
        if less is None:
            raise
        try:
            return less.given_back(*solve_proven(less.problem, plan, None, control, certify=certify))
        except OverflowError:  # a RangeError is one, too
            pass
        raise


def _solved_in_form(
    other: Rewritten, problem: Problem, plan: Plan, start: Duals | None, control: Control, *, certify: bool
) -> tuple[Answer, Certificate | None]:
    """Solve a problem in another form; the certificate, if it is asked for, is that of the problem as given."""
    began = time.perf_counter()
    from_duals = None if start is None or other.start is None else other.start(start)
    other_plan = other.plan(plan, from_duals is not None)
    answer, _ = solve_proven(other.problem, other_plan, from_duals, other.control(control), certify=False)
    answer = other.given_back(answer)
    answer.statistics["solve_seconds"] = solved = time.perf_counter() - began
    if not certify or not np.isfinite(answer.u).all():
        return answer, None
    certificate = prove(problem, answer.row_to_col, *answer.proving_duals, plan.threads, control.hook)
    require_matching(certificate)
    answer.statistics["certify_seconds"] = time.perf_counter() - began - solved
    return answer, certificate


def _solved_rewritten(
    problem: Problem, plan: Plan, start: Duals | None, control: Control, *, certify: bool
) -> tuple[Answer, Certificate | None]:
    """Solve a problem with columns that must be matched in another form."""
    from lapwing.cpu.required_columns import rewritten

    deadline, other = time.perf_counter() + control.time_limit, rewritten(problem)
    try:
        answer, certificate = _solved_in_form(other, problem, plan, start, control, certify=certify)
    except InfeasibleError as error:
        assert other.refuse is not None
        other.refuse(error)
    if certificate is None or answer.status != "optimal" or is_proven(problem, answer, certificate):
        return answer, certificate
    refuse_errors(problem, answer, certificate)
    left, other_plan = deadline - time.perf_counter(), other.plan(plan, False)
    exact = _solved(other.problem, other_plan, None, math.inf, 0.0, left, control.hook)
    if exact is None:
        return replace(answer, status="time_limit"), certificate
    exact.statistics |= answer.statistics | {"exact_solves": 1.0}
    answer = other.given_back(exact)
    certificate = prove(problem, answer.row_to_col, *answer.proving_duals, plan.threads, control.hook)
    if not math.isfinite(certificate.primal):
        raise RangeError(OUT_OF_RANGE)
    if not is_proven(problem, answer, certificate):
        _refuse(problem, certificate)
    return answer, certificate


def _may_be_turned(problem: Problem) -> bool:
    rows, cols = problem.shape
    return rows > cols > 0 and problem.unmatched_cost is not None and problem.cost.tier in ("sparse", "computed")


def _solved_turned(
    problem: Problem, plan: Plan, control: Control, *, certify: bool
) -> tuple[Answer, Certificate | None] | None:
    """Solve a problem with its columns as rows; None if it is not one for that, or has an error, or leaves a doubt."""
    from lapwing.cpu.turned import turned

    other = turned(problem)
    if other is None:
        return None
    try:
        answer, certificate = _solved_in_form(other, problem, plan, None, control, certify=certify)
    except (RangeError, InvalidCostError):
        return None
    if certificate is not None and answer.status == "optimal" and not is_proven(problem, answer, certificate):
        return None
    return answer, certificate


def prove_in_batch(
    answer: BatchAnswer, b: int, problem: Problem, plan: Plan, certify: bool, check: bool
) -> Certificate | None:
    """The certificate of problem b of a batch, if it is asked for; solves again where the answer leaves a doubt.

    Raises
    ------
    InvalidCostError, RangeError, InfeasibleError
        If `check`, for a problem whose sums are out of range; if not, its status tells.
    """
    if certify and answer.status[b] == 0:
        one = answer[b]
        certificate = prove(problem, one.row_to_col, one.u, one.v, plan.threads)
        if is_proven(problem, one, certificate):
            answer.objective[b] = certificate.primal  # rounded once
            return certificate
    try:
        better, proof = solve_proven(problem, plan)
    except (InvalidCostError, RangeError, InfeasibleError) as error:
        if check:
            error.add_note(f"in problem {b} of the batch")
            raise
        answer.fail(b, error)
        return None
    assert proof is not None
    answer.replace(b, better, proof.primal)
    return proof


def is_trusted(problem: Problem, answer: Answer) -> bool:
    """Whether the duals are so small beside the objective that their rounding cannot matter."""
    if problem.is_integer:
        return True
    with np.errstate(over="ignore"):
        objective = abs(float(_costs(problem, answer).sum(dtype=np.float64)))
    if answer.provisional or not math.isfinite(objective):
        return False
    return are_small(max(largest(answer.v), answer.shift), objective)


def is_proven(problem: Problem, answer: Answer, certificate: Certificate) -> bool:
    """Whether the answer is optimal up to the rounding of the objective itself: see `is_tight`."""
    require_matching(certificate)
    if not math.isfinite(certificate.primal) or not is_tight(certificate, problem.is_integer, problem.rows_to_match):
        return False
    if answer.provisional:  # its small costs must be as right as the objective of an answer without large ones
        share = problem.rows_to_match * _ULP
        return certificate.exact or _core.tells_small_costs(_error(certificate), _matched(problem, answer), share)
    if problem.rows_to_match > _core.DIRECT_MAX_ROWS:  # of so many the exact solve takes long
        return True
    return tells_small_costs(certificate, lambda: _matched(problem, answer))


def is_tight(certificate: Certificate, integer: bool, pairs: int) -> bool:
    """Whether integers are proven exactly, floats up to as many ulps of the objective as an assignment has pairs."""
    if certificate.exact:
        return True
    if integer or not certificate.complete:
        return False
    return _error(certificate) <= pairs * _ULP * abs(certificate.primal)


def tells_small_costs(certificate: Certificate, matched: Callable[[], NDArray[Any]]) -> bool:
    """Whether a tight bound is an ulp of the objective, or small beside the sum of the small costs, too."""
    if _error(certificate) <= _ULP * abs(certificate.primal):
        return True
    return _core.tells_small_costs(_error(certificate), matched().astype(np.float64, copy=False))


def _error(certificate: Certificate) -> float:
    return float(max(certificate.bound, certificate.violation))


def _matched(problem: Problem, answer: Answer) -> NDArray[np.float64]:
    return _costs(problem, answer).astype(np.float64, copy=False)


def proven_on_cpu(
    problem: Problem, answer: Answer, time_limit: float, hook: Hook | None = None
) -> tuple[Answer, Certificate]:
    """Solve here what another device answered but could not prove: from its duals, unless they are far off."""
    method = SPARSE.name if problem.form.tier == "sparse" else "core"
    plan = make_plan(problem.form, method, warm_start=True, processors=processors())
    certificate = prove(problem, answer.row_to_col, answer.u, answer.v, plan.threads)
    if is_proven(problem, answer, certificate):
        return answer, certificate
    refuse_errors(problem, answer, certificate)
    if certificate.bound <= _NEAR * abs(certificate.primal):
        return repaired(problem, plan, answer, certificate, time_limit, hook)
    again, proof = solve_proven(problem, plan, control=Control(time_limit, hook))
    assert proof is not None
    return again, proof


def solved_on_cpu(problem: Problem, time_limit: float, certify: bool) -> tuple[Answer, Certificate | None]:
    """Solve here what is out of another device's range: see `solve_proven`."""
    plan = make_plan(problem.form, processors=processors())
    return solve_proven(problem, plan, control=Control(time_limit), certify=certify)


def refuse_errors(problem: Problem, answer: Answer, certificate: Certificate) -> None:
    """Refuse an answer that is farther from its proof than rounding can explain.

    Raises
    ------
    InternalError
    ArgumentError
        If the costs come from a callback or a file, which may not give the same costs each time.
    """
    if certificate.complete and (answer.provisional or not math.isfinite(certificate.primal)):
        return
    error = _error(certificate)
    if certificate.complete and not problem.is_integer:
        scale = float(np.abs(answer.u).sum() + np.abs(answer.v).sum())
        if error <= _ROUNDING * scale or error <= _ROUNDING * (scale + _largest_cost(problem)):
            return
    _refuse(problem, certificate)


def _refuse(problem: Problem, certificate: Certificate) -> NoReturn:
    if problem.cost.tier in ("rows", "streamed", "sharded"):
        raise ArgumentError(
            f"the certificate refuses the answer: {certificate}; does the callback, the file or the rank give the same "
            "costs for a row each time, as it must?"
        )
    raise InternalError(f"the certificate refuses the method's answer: {certificate}")


def _largest_cost(problem: Problem) -> float:
    """The largest magnitude of a cost or price that is finite: a pass over the costs, which is seldom needed."""
    prices = [largest(side) for side in (problem.unmatched_cost, problem.unmatched_cols) if side is not None]
    if isinstance(problem.cost, SparseCost):
        return max(largest(problem.cost.data), *prices, 0.0)
    return max([*(largest(problem.cost.read(rows)) for rows in row_blocks(problem.cost)), *prices], default=0.0)


def repaired(
    problem: Problem, plan: Plan, answer: Answer, certificate: Certificate, time_limit: float, hook: Hook | None
) -> tuple[Answer, Certificate]:
    """More digits for the duals of an answer whose proof leaves a doubt; the exact solve where that does not do.

    The exact solve is first without the pairs that cost more than all others together can make up for, and with costs
    rounded down where that is certainly finer than the last digit of the objective; again where a much better answer
    moves both limits. If the proof still leaves a doubt, with all pairs, then with all digits. A time limit keeps the
    best answer, with its proof and that status.
    """
    deadline = time.perf_counter() + time_limit
    best, certificate = _refined(problem, plan, answer, certificate, deadline, hook)
    if is_proven(problem, best, certificate):
        return replace(best, provisional=False), certificate
    counted, solves = best.statistics, 0
    all_pairs = all_digits = False
    while True:
        if not math.isfinite(certificate.primal):  # of the best answer, perhaps of the optimum
            rest = Control(deadline - time.perf_counter(), hook)
            best, certificate = _solved_wide(problem, plan, rest)
            if not math.isfinite(certificate.primal):
                raise RangeError(OUT_OF_RANGE)
            return replace(best, statistics=counted | {"exact_solves": solves + 1.0}), certificate
        precision = problem.rows_to_match * _ULP / 4 * abs(certificate.primal)
        limit = math.inf if all_pairs else 8.0 * problem.rows_to_match * largest(_costs(problem, best))
        found = _solved(
            problem, plan, best, limit, 0.0 if all_digits else precision, deadline - time.perf_counter(), hook
        )
        if found is None:
            return replace(best, status="time_limit", statistics=counted), certificate
        solves += 1
        counted = counted | {"exact_solves": float(solves)}
        before = certificate.primal
        best, certificate = found, prove(problem, found.row_to_col, *found.proving_duals, plan.threads, hook)
        if is_proven(problem, found, certificate):
            return replace(found, statistics=counted), certificate
        if abs(certificate.primal) >= _MUCH_BETTER * abs(before):  # also where both are zero
            if all_digits and all_pairs:
                _refuse(problem, certificate)
            all_pairs, all_digits = True, all_pairs


def _refined(
    problem: Problem, plan: Plan, answer: Answer, certificate: Certificate, deadline: float, hook: Hook | None
) -> tuple[Answer, Certificate]:
    """The answer to a square problem, with duals refined as long as each time gains digits, and its proof."""
    rows, cols = problem.shape
    is_plain = problem.unmatched_cost is None and problem.unmatched_cols is None and problem.form.tier != "sparse"
    if rows != cols or problem.is_integer or not is_plain or not math.isfinite(certificate.primal):
        return answer, certificate
    refinements, gains = 0, True
    while gains and not is_proven(problem, answer, certificate):
        found = _once_refined(problem, plan, answer, deadline - time.perf_counter(), hook)
        if found is None:
            break
        refinements += 1
        found.statistics["refinements"] = float(refinements)
        proof = prove(problem, found.row_to_col, *found.proving_duals, plan.threads, hook)
        gains = _error(proof) <= _GAINED * _error(certificate)
        if _error(proof) < _error(certificate):
            answer, certificate = found, proof
    return answer, certificate


def _once_refined(problem: Problem, plan: Plan, answer: Answer, time_limit: float, hook: Hook | None) -> Answer | None:
    """The answer whose duals have more digits (cpp/include/lapwing/exact/refine.hpp); None if there is none."""
    sign = -1 if problem.maximize else 1
    u, v = (np.atleast_2d(sign * side) for side in answer.proving_duals)
    row_to_col = answer.row_to_col
    if plan.transposed:
        u, v, row_to_col = v, u, inverse(row_to_col, len(row_to_col))
    cost = problem.cost.compiled(plan.transposed)
    raw = _core.refine(cost, problem.maximize, u, v, row_to_col, plan.threads, max(0.0, time_limit), hook)
    if raw is None or raw["status"] != "optimal":
        return None
    raw |= {"u": np.vstack([u, raw["u"]]), "v": np.vstack([v, raw["v"]])}
    raw |= {"provisional": answer.provisional, "statistics": answer.statistics}
    return given_back(problem, plan, raw)


def _costs(problem: Problem, answer: Answer) -> NDArray[Any]:
    """The costs of an answer's rows, matched or free, and of its free columns."""
    parts = [problem.cost.picked(answer.row_to_col)]
    if problem.unmatched_cost is not None:
        parts.append(problem.unmatched_cost[answer.row_to_col < 0])
    if problem.unmatched_cols is not None:
        parts.append(problem.unmatched_cols[inverse(answer.row_to_col, problem.shape[1]) < 0])
    return np.concatenate(parts)


def _solved_wide(problem: Problem, plan: Plan, control: Control) -> tuple[Answer, Certificate]:
    """Solve what is out of range for float64 sums, from nothing."""
    answer = _solved(problem, plan, None, math.inf, 0.0, control.time_limit, control.hook)
    if answer is None:
        raise RangeError("the time limit ended the solve of costs that are too large for sums in float64")
    return answer, prove(problem, answer.row_to_col, *answer.proving_duals, plan.threads, control.hook)


def _solved(
    problem: Problem,
    plan: Plan,
    start: Answer | None,
    most: float,
    precision: float,
    time_limit: float,
    hook: Hook | None,
) -> Answer | None:
    """One exact solve; None at the time limit."""
    start_v = start_rows = None
    if start is not None:
        side = np.atleast_2d(start.proving_duals[0 if plan.transposed else 1])
        start_v = np.ascontiguousarray(-side if problem.maximize else side)
        start_rows = inverse(start.row_to_col, problem.shape[1]) if plan.transposed else start.row_to_col
    cost = problem.cost.compiled(plan.transposed)
    prices = as_minimised(problem, problem.unmatched_cost)
    of_cols = as_minimised(problem, problem.unmatched_cols)
    left = max(0.0, time_limit)
    try:
        raw = _core.solve_exact(
            cost, problem.maximize, prices, of_cols, start_v, start_rows, most, precision, plan.threads, left, hook
        )
    except _core.InvalidCost as error:
        raise invalid_cost_found(problem, plan, error) from None
    if raw["status"] == "time_limit":
        return None
    if raw["status"] == "infeasible":
        if start is None:
            raise infeasible_with_proof(problem, plan, cost, prices, raw)
        if problem.cost.tier in ("rows", "streamed", "sharded"):
            raise ArgumentError("a row has no allowed pair any more: a callback must give the same costs each time")
        raise InternalError("the exact solve found a problem infeasible that has an answer")
    return given_back(problem, plan, raw)
