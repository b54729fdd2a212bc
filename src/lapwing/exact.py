"""Answers that are optimal to the last digit: solve, prove, and solve without rounding where the proof says so.

A method computes with float64 duals. Where they are large beside the costs that matter, rounding hides these costs, and
the certificate's bound shows it. Then the exact solve (cpp/include/lapwing/exact/solve.hpp) takes over from the method's
prices, with integer duals in which no sum is rounded. All methods, on all devices, are held to the same bound here.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.certificate import Certificate, prove, require_matching
from lapwing.errors import InternalError, RangeError
from lapwing.methods import Answer, BatchAnswer, Hook, Keep, Start, run
from lapwing.methods.base import as_minimised, given_back
from lapwing.plan import Plan
from lapwing.problem import Problem

_ULP = 2.0**-52


@dataclass(frozen=True)
class Request:
    """What a solve is asked for beside its problem and plan."""

    start: Start | None = None
    time_limit: float = math.inf
    hook: Hook | None = None
    keep: Keep | None = None
    keep_every: float = 0.0
    certify: bool = True


def solve_proven(problem: Problem, plan: Plan, request: Request) -> tuple[Answer, Certificate | None]:
    """Solve by the plan's method; by the exact solve where that leaves a doubt. With a certificate if it is asked for.

    Raises
    ------
    InvalidCostError, RangeError, InfeasibleError, InternalError
    """
    began = time.perf_counter()
    try:
        answer = run(problem, plan, request.start, request.time_limit, request.hook, request.keep, request.keep_every)
    except RangeError:
        if problem.is_integer:
            raise
        answer, certificate = _solved_wide(problem, plan, request)
        if not math.isfinite(certificate.primal):  # the optimum itself is out of range
            raise
        return answer, certificate if request.certify else None
    answer.statistics["solve_seconds"] = solved = time.perf_counter() - began
    if not request.certify and (answer.status != "optimal" or is_trusted(problem, answer)):
        return answer, None
    certificate = prove(problem, answer.row_to_col, *answer.proving_duals, plan.threads)
    require_matching(certificate)
    if answer.status == "optimal" and not is_proven(problem, answer, certificate):
        remaining = request.time_limit - (time.perf_counter() - began)
        answer, certificate = repaired(problem, plan, answer, certificate, remaining, request.hook)
    answer.statistics["certify_seconds"] = time.perf_counter() - began - solved
    return answer, certificate if request.certify else None


def prove_in_batch(answer: BatchAnswer, b: int, problem: Problem, plan: Plan, certify: bool) -> Certificate | None:
    """The certificate of problem b of a batch, if it is asked for; solves again where the answer leaves a doubt."""
    if certify:
        one = answer[b]
        certificate = prove(problem, one.row_to_col, one.u, one.v, plan.threads)
        if is_proven(problem, one, certificate):
            return certificate
    better, proof = solve_proven(problem, plan, Request(certify=True))
    assert proof is not None
    answer.replace(b, better, proof.primal)
    return proof


def is_trusted(problem: Problem, answer: Answer) -> bool:
    """Whether the duals are so small beside the objective that rounding cannot matter: then nobody need look at all pairs."""
    if problem.is_integer:
        return True
    objective = float(problem.cost.picked(answer.row_to_col).sum(dtype=np.float64))
    if problem.unmatched_cost is not None:
        objective += float(problem.unmatched_cost[answer.row_to_col < 0].sum())
    return max(_largest(answer.u), _largest(answer.v)) <= _core.TRUSTED_RATIO * abs(objective)


def is_proven(problem: Problem, answer: Answer, certificate: Certificate) -> bool:
    """Whether the answer is optimal up to the rounding of the objective itself.

    The bound must be at most n ulps of the objective, n pairs. If small costs are summed with much larger ones (some
    pairs at a large number M were needed), it must be small beside the sum of the small ones, too, unless it is at most
    one ulp.
    """
    require_matching(certificate)
    if certificate.exact:
        return True
    if problem.is_integer or not certificate.complete:
        return False
    ulp = _ULP * abs(certificate.primal)
    if certificate.bound <= ulp:
        return True
    if certificate.bound > problem.rows_to_match * ulp:
        return False
    matched = np.abs(problem.cost.picked(answer.row_to_col).astype(np.float64))
    small = float(matched[matched < 2.0**-20 * matched.max(initial=0.0)].sum())
    return small == 0 or certificate.bound <= 2.0**-10 * small


def repaired(
    problem: Problem, plan: Plan, answer: Answer, certificate: Certificate, time_limit: float, hook: Hook | None
) -> tuple[Answer, Certificate]:
    """The exact solve from the duals of an answer whose proof leaves a doubt.

    First without the pairs that cost more than all others together can make up for, and with costs rounded down where
    that is certain to be finer than the last digit of the objective; then, if the proof still leaves a doubt, with all
    digits. A time limit keeps the answer, with its proof and that status.

    Raises
    ------
    InternalError
        If integers are in doubt: they have no rounding, so that is a bug.
    """
    if problem.is_integer:
        raise InternalError(f"the certificate refuses the method's answer: {certificate}")
    deadline = time.perf_counter() + time_limit
    matched = np.abs(problem.cost.picked(answer.row_to_col).astype(np.float64))
    prices = 0.0 if problem.unmatched_cost is None else _largest(problem.unmatched_cost[answer.row_to_col < 0])
    largest = max(float(matched.max(initial=0.0)), prices)
    most = 8.0 * problem.rows_to_match * largest
    precision = problem.rows_to_match * _ULP / 4 * abs(certificate.primal)
    start = answer.proving_duals
    for limit, rounding in ((most, precision), (math.inf, precision), (math.inf, 0.0)):
        found = _solved(problem, plan, start, limit, rounding, deadline - time.perf_counter(), hook)
        if found is None:
            return replace(answer, status="time_limit"), certificate
        proof = prove(problem, found.row_to_col, *found.proving_duals, plan.threads)
        if is_proven(problem, found, proof):
            found.statistics.update(answer.statistics | {"exact_solves": found.statistics["exact_solves"]})
            return found, proof
    raise InternalError(f"the certificate refuses the exact answer: {proof}")


def _solved_wide(problem: Problem, plan: Plan, request: Request) -> tuple[Answer, Certificate]:
    """Solve what is out of range for float64 sums, from nothing."""
    answer = _solved(problem, plan, None, math.inf, 0.0, request.time_limit, request.hook)
    if answer is None:
        raise RangeError("the time limit ended the solve of costs that are too large for sums in float64")
    return answer, prove(problem, answer.row_to_col, *answer.proving_duals, plan.threads)


def _solved(
    problem: Problem,
    plan: Plan,
    start: tuple[NDArray[Any], NDArray[Any]] | None,
    most: float,
    precision: float,
    time_limit: float,
    hook: Hook | None,
) -> Answer | None:
    """One exact solve; None at the time limit."""
    start_v = None
    if start is not None:
        side = np.atleast_2d(start[0] if plan.transposed else start[1])
        start_v = np.ascontiguousarray(-side if problem.maximize else side)
    cost = problem.cost.compiled(plan.transposed)
    prices = as_minimised(problem, problem.unmatched_cost)
    raw = _core.solve_exact(
        cost, problem.maximize, prices, start_v, most, precision, plan.threads, max(0.0, time_limit), hook
    )
    if raw["status"] == "time_limit":
        return None
    if raw["status"] == "infeasible":
        raise InternalError("the exact solve found a problem infeasible that has an answer")
    raw["statistics"]["exact_solves"] = 1.0
    return given_back(problem, plan, raw)


def _largest(values: NDArray[Any]) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
