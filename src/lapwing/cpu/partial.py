"""Problems that no assignment solves, by ``infeasible="partial"``: in parts, as `lapwing.shortage` explains."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from lapwing.answer import Answer, Duals
from lapwing.certificate import Certificate
from lapwing.cpu.exact import solve_in_range
from lapwing.cpu.solve import FREE, Control, without_filling
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem
from lapwing.shortage import Part, find_shortages, joined, parts_of


def solve_partial(
    problem: Problem, plan: Plan, control: Control = FREE, *, certify: bool = True
) -> tuple[Answer, Certificate | None]:
    """As many pairs as possible at the least cost among these, for a problem that no assignment solves.

    Raises
    ------
    InvalidCostError, RangeError, InternalError
    """
    began, problem = time.perf_counter(), without_filling(problem)
    shortages = find_shortages(problem)
    parts = parts_of(problem, shortages)
    answers, proofs = [], []
    for each in parts:
        left = control._replace(time_limit=max(0.0, control.time_limit - (time.perf_counter() - began)))
        answer, proof = solve_in_range(each.problem, _plan_of(each.problem, plan), None, left, certify=certify)
        answers.append(answer)
        proofs.append(proof)
    answer = _together(problem, parts, answers)
    proven = [proof for proof in proofs if proof is not None]
    if len(proven) < len(parts):
        return answer, None
    return answer, replace(joined(problem, shortages, parts, proven, answer.row_to_col), duals=answer.parts)


def _plan_of(problem: Problem, given: Plan) -> Plan:
    """The given plan's method, where it can be used."""
    usable = problem.cost.tier == given.tier and given.fallback is None and given.method != "none"
    method, options = (given.method, given.options) if usable else ("auto", None)
    return make_plan(problem.form, method, options, given.threads, False, given.threads)


def _together(problem: Problem, parts: list[Part], answers: list[Answer]) -> Answer:
    rows, cols = problem.shape
    row_to_col = np.full(rows, -1, np.int64)
    u, v = np.zeros(rows, problem.dual_dtype), np.zeros(cols, problem.dual_dtype)
    statistics: dict[str, float] = {"parts": float(len(parts))}
    for each, answer in zip(parts, answers, strict=True):
        matched = answer.row_to_col >= 0
        row_to_col[each.rows[matched]] = each.cols[answer.row_to_col[matched]]
        u[each.rows], v[each.cols] = answer.u, answer.v
        for name, value in answer.statistics.items():
            statistics[name] = statistics.get(name, 0.0) + value
    late = any(answer.status == "time_limit" for answer in answers)
    return Answer(
        "time_limit" if late else "partial", row_to_col, u, v, statistics, parts=_digits(parts, answers, u, v)
    )


def _digits(parts: list[Part], answers: list[Answer], u: Any, v: Any) -> Duals | None:
    """The duals as sums, if they are sums in any part."""
    count = max((1 if answer.parts is None else len(answer.parts[0])) for answer in answers)
    if count == 1:
        return None
    sums = np.zeros((count, len(u))), np.zeros((count, len(v)))
    for each, answer in zip(parts, answers, strict=True):
        for whole, lines, own in zip(sums, (each.rows, each.cols), answer.proving_duals, strict=True):
            own = np.atleast_2d(own)
            whole[: len(own), lines] = own
    return sums
