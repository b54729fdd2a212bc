"""Lists of problems among which some are sparse: these are solved one by one, threads over problems, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lapwing.answer import Answer, objective
from lapwing.cpu.batch import BatchAnswer, Refuse, solve_list
from lapwing.cpu.exact import solve_in_range
from lapwing.errors import InfeasibleError, InvalidCostError, RangeError
from lapwing.plan import make_plan
from lapwing.problem import Problem


def solve_mixed_list(problems: Sequence[Problem], threads: int, duals: bool, refuse: Refuse) -> BatchAnswer:
    """`lapwing.cpu.batch.solve_list`, also of sparse problems."""
    sparse = [b for b, problem in enumerate(problems) if problem.form.tier == "sparse"]
    others = sorted({*range(len(problems))} - {*sparse})
    refuse_other = None if refuse is None else lambda b: refuse(others[b])
    dense = solve_list([problems[b] for b in others], threads, duals, refuse_other)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(_solved, (problems[b] for b in sparse)))

    count = len(problems)
    row_to_col: list[Any] = [None] * count
    objectives: list[Any] = [problem.dual_dtype.type(0) for problem in problems]
    u: list[Any] = [None] * count
    v: list[Any] = [None] * count
    status = np.zeros(count, np.int32)
    for k, b in enumerate(others):
        row_to_col[b], objectives[b], status[b] = dense.row_to_col[k], dense.objective[k], dense.status[k]
        u[b], v[b] = (None if part is None else part[k] for part in (dense.u, dense.v))
    failed = []
    for b, one in zip(sparse, found, strict=True):
        problem = problems[b]
        rows, cols = problem.shape
        row_to_col[b] = np.full(rows, -1, np.int64)
        u[b], v[b] = (np.zeros(size, problem.dual_dtype) for size in (rows, cols))
        if isinstance(one, Answer):
            row_to_col[b], u[b], v[b], objectives[b] = one.row_to_col, one.u, one.v, objective(problem, one.row_to_col)
            continue
        if refuse is not None:
            refuse(b)
        failed.append((b, one))
    answer = BatchAnswer(
        row_to_col,
        np.asarray(objectives),
        u if duals else None,
        v if duals else None,
        status,
        doubtful=frozenset(others[k] for k in dense.doubtful),
    )
    for b, error in failed:
        answer.fail(b, error)
    return answer


def _solved(problem: Problem) -> Answer | InfeasibleError | InvalidCostError | RangeError:
    """The answer, or why there is none."""
    try:
        answer, _ = solve_in_range(problem, make_plan(problem.form), certify=False)
    except (InfeasibleError, InvalidCostError, RangeError) as error:
        return error
    return answer
