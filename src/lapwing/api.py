"""The public functions: inputs -> Problem -> Plan -> method -> Certificate -> Result."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from lapwing import _core, exact, inputs
from lapwing.arrays import is_gpu_array
from lapwing.certificate import Certificate, prove
from lapwing.costs.base import CostSource
from lapwing.costs.function import ON_GPU_ONLY, FunctionCost
from lapwing.errors import (
    ArgumentError,
    DtypeError,
    GpuError,
    InfeasibleError,
    InvalidCostError,
    LapwingError,
)
from lapwing.methods import METHODS, Hook, Start, run, solve_list, solve_stack
from lapwing.options import MethodOptions, name_and_options
from lapwing.plan import Plan, choose_device, make_plan
from lapwing.problem import Form, Problem, Stack
from lapwing.progress import Progress, Reporter
from lapwing.result import BatchResult, IndexArray, Result, duals_of, make_result, matched_pairs

if TYPE_CHECKING:
    from lapwing.checkpoint import Checkpoint, Keeper

_TRAITS = {name: method.traits for name, method in METHODS.items()}


def solve(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[Progress], object] = False,
    certify: bool = True,
    device: str | None = None,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Result:
    """Solve a linear assignment problem exactly, with a proof.

    Parameters
    ----------
    cost : (m, n) real matrix
        A NumPy array of any real dtype and layout, a nested list, a pandas frame, an `np.memmap`, a CPU tensor with
        DLPack, a masked array (masked pairs are forbidden), a SciPy sparse matrix (missing pairs are forbidden), or a
        source of `lapwing.costs`, which computes costs, or asks for them, whenever they are read.
        +inf (-inf when maximising) forbids a pair. C- and Fortran-ordered float32, float64, int32 and int64 are
        read in place.
    maximize : bool
    unmatched_cost : None, scalar or (m,) array-like
        Row i may stay free at this price (this value when maximising). None: the smaller side is matched completely.
    start : (u, v) or an earlier Result
        Duals to start from: any finite values, good ones save time.
    method : str or MethodOptions
        "auto", "core", or a reference: "jv", "ssp", "auction", "hungarian-bfs", "hungarian-tree" or "munkres". A method
        with options is asked for by these: `lapwing.Ssp`, `lapwing.Auction`, `lapwing.Munkres`.
    threads : int, optional
        At most so many. Default: as many processors as the problem keeps busy.
    time_limit : float, optional
        Seconds after which the best assignment so far is returned, with status "time_limit" and a valid bound.
    progress : bool or callable
        True shows a live line on standard error; a callable gets a `lapwing.Progress` about every 50 ms.
    certify : bool
        Whether to give the proof of the answer, which takes one more pass over the costs. Without it the answer is
        the optimum all the same: it is proven where rounding might have spoiled it.
    device : None, "cpu", "cuda", "cuda:N" or "auto"
        Where to solve. Default: where the costs are. An array on a GPU (PyTorch, CuPy, JAX, anything with DLPack or
        `__cuda_array_interface__`) is read in place, on its library's current stream, and answered in its library; a
        GPU's "auto" is "core". "auto" takes the first GPU for arrays on the host, if there is one and it pays.
        Costs of points, formulas and `costs.cuda_source` are computed on the GPU; rows of a callback are sent there if
        it is named.
    memory_limit : int or str, optional
        Bytes, or like "8GB", of costs that are held where they need not be. On a CPU, an `np.memmap` that takes more is
        streamed: rows are read from its file when they are needed, and so much of them is kept; of the rows of a
        callback or a formula no more are kept; and no costs are written out to a larger matrix. Default: for a memory
        map half of the machine's memory, for the others what the source says. Lists and duals are extra: see `plan`.
        On a GPU the most that a solve may take of its memory, all by default: a matrix on the host that takes more
        stays there, and its rows are streamed.
    checkpoint : path or Checkpoint, optional
        An .npz file to which duals and assignment are written every two minutes, or as `lapwing.Checkpoint` says, and
        at the end, a time limit or an interruption. If it is there already, the solve goes on from its duals: so a run
        that was stopped, in whatever way, is repeated with the same call, on a CPU or a GPU.

    Returns
    -------
    Result

    Raises
    ------
    InfeasibleError
        If the forbidden pairs leave no assignment; names rows with too few columns.
    InvalidCostError
        If a cost is NaN or infinite with the wrong sign.
    RangeError
        If integer costs are too large for sums in 64 bits, or the optimum of floats is out of the range of float64.
    ArgumentError, DtypeError
        For any other argument that cannot be used.
    KeyboardInterrupt
        Within a fraction of a second of Ctrl-C.
    """
    certify = inputs.check_flag(certify, "certify")
    limit = inputs.check_time_limit(time_limit)
    watcher = inputs.check_progress(progress)
    gpu, why = _place(cost, device, method)
    if gpu:
        from lapwing import gpu_request, on_gpu

        maximize = inputs.check_flag(maximize, "maximize")
        room = inputs.check_memory_limit(memory_limit)
        asked = gpu_request.asked_for(method)
        options = gpu_request.Options(maximize, unmatched_cost, start, certify, limit, watcher, why, room, *asked)
        return on_gpu.solve_on_gpu(cost, gpu, options, checkpoint)
    problem = inputs.make_problem(cost, maximize, unmatched_cost, memory_limit)
    keeper = None if checkpoint is None else _keeper(checkpoint, problem)
    duals = _start(start if keeper is None or keeper.start is None else keeper.start, problem)
    chosen = _plan(problem, method, threads, duals is not None or keeper is not None, why)
    if watcher is False:
        return _solved(problem, chosen, duals, limit, None, certify, keeper)
    with Reporter(watcher, problem.rows_to_match, problem.maximize, chosen.method == "core") as reporter:
        return _solved(problem, chosen, duals, limit, reporter.hook, certify, keeper)


def _keeper(checkpoint: str | os.PathLike[str] | Checkpoint, problem: Problem) -> Keeper:
    from lapwing.checkpoint import Keeper

    return Keeper(checkpoint, problem)


def _place(cost: Any, device: str | None, method: str | MethodOptions) -> tuple[str, str]:
    """The GPU to solve on, or "" for the CPU; and why, if the user left it open."""
    name, _ = name_and_options(method)
    if device is not None and not isinstance(device, str):
        raise DtypeError(f"device must be a string such as 'cuda:0', got {device!r}")
    if device == "cpu":
        if isinstance(cost, FunctionCost):
            raise ArgumentError(ON_GPU_ONLY)
        return "", ""
    if isinstance(cost, CostSource) and device == "auto" and not cost.is_computable_on_gpu:
        return "", "CPU: what supplies these costs is there"
    if _is_on_gpu(cost):
        gpu, why = "cuda" if device in (None, "auto") else device, ""
    elif device == "auto":
        gpu, why = choose_device(inputs.shape_of(cost), name, _usable_gpus())
    else:
        gpu, why = device or "cpu", ""
    if gpu == "cpu":
        return "", why
    from lapwing.gpu.reference import REFERENCE_METHODS

    if name not in ("auto", "core", *REFERENCE_METHODS):
        some = ", ".join(map(repr, REFERENCE_METHODS))
        raise ArgumentError(
            f"method={name!r} is not supported on a GPU, which has 'core', {some}: leave it out, or pass device='cpu'"
        )
    return gpu, why


def _usable_gpus() -> int:
    from lapwing.gpu.runtime.device import device_count

    try:
        return device_count()
    except GpuError:
        return 0


def _is_on_gpu(cost: Any) -> bool:
    """Whether costs are in a GPU's memory, or are computed there from what is."""
    if isinstance(cost, CostSource):
        return cost.home is not None or isinstance(cost, FunctionCost)
    return is_gpu_array(cost)


def _solved(
    problem: Problem,
    chosen: Plan,
    duals: Start | None,
    limit: float,
    hook: Hook | None,
    certify: bool,
    keeper: Keeper | None,
) -> Result:
    counted = problem.cost.counters()
    request = exact.Request(duals, limit, hook, certify=certify)
    if keeper is not None:
        request = request._replace(keep=keeper.keep, keep_every=keeper.interval)
    answer, certificate = exact.solve_proven(problem, chosen, request)
    if keeper is not None:
        keeper.keep(answer)
    if counted:
        answer.statistics.update(_counted_since(counted, problem.cost.counters()))
    return make_result(problem, chosen, answer, certificate)


def _counted_since(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """What a source has counted in one solve, and the cache's hit rate."""
    since = {name: value - before[name] for name, value in now.items()}
    since["cache_hit_rate"] = since["cache_hits"] / max(1, since["cache_hits"] + since["cache_misses"])
    return since


def solve_batch(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    row_counts: Any = None,
    col_counts: Any = None,
    threads: SupportsIndex | None = None,
    duals: bool = False,
    certify: bool = False,
    check: bool | None = None,
) -> BatchResult:
    """Solve many problems, threads over problems.

    Parameters
    ----------
    costs : (B, m, n) real array, or a list of matrices of any shapes
        As for `solve`. An array on a GPU is solved there by `lapwing.gpu.batch.api.solve_batch`, which nothing waits
        for, and answered with what that returns.
    maximize : bool
        For all problems.
    unmatched_cost : None, scalar, or one value a row
        For an array (m,) or (B, m); for a list a scalar or a list with what `solve` takes for each problem.
    row_counts, col_counts : None or (B,) integers
        For an array: problem b is ``costs[b, :row_counts[b], :col_counts[b]]``; what lies beyond is not looked at.
    threads : int, optional
        At most so many. Default: all processors.
    duals : bool
        Whether to return u and v.
    certify : bool
        Whether to prove every answer; implies `duals`.
    check : bool, optional
        Whether to raise for the first problem without an answer. If not, its `status` says why, and all others are
        solved. Default: on a CPU yes; on a GPU no, since it would wait.

    Returns
    -------
    BatchResult

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
        For the first problem that has no answer; a note on the error says which.
    ArgumentError, DtypeError
    """
    if _is_on_gpu(costs):
        from lapwing.gpu.batch.api import solve_batch as solve_batch_on_gpu

        answer: Any = solve_batch_on_gpu(
            costs,
            maximize=maximize,
            unmatched_cost=unmatched_cost,
            row_counts=row_counts,
            col_counts=col_counts,
            duals=duals,
            certify=certify,
            check=False if check is None else check,
        )
        return cast(BatchResult, answer)
    check = check is None or inputs.check_flag(check, "check")
    certify = inputs.check_flag(certify, "certify")
    duals = inputs.check_flag(duals, "duals") or certify
    count = inputs.check_threads(threads) or inputs.processors()
    problems: Stack | list[Problem]
    if isinstance(costs, (list, tuple)):
        if row_counts is not None or col_counts is not None:
            raise ArgumentError(
                "row_counts and col_counts are for an array (B, m, n): the matrices of a list have shapes"
            )
        problems = inputs.make_problems(costs, maximize, unmatched_cost)
    else:
        problems = inputs.make_stack(costs, maximize, unmatched_cost, row_counts, col_counts)

    def refuse(b: int) -> None:
        try:
            run(problems[b], _plan(problems[b], "auto", 1, False), None, math.inf, None)
        except LapwingError as error:
            error.add_note(f"in problem {b} of the batch")
            raise

    solver: Any = solve_stack if isinstance(problems, Stack) else solve_list
    answer = solver(problems, count, duals, refuse if check else None)
    certificates: list[Certificate | None] | None = [None] * len(problems) if certify else None
    for b in range(len(problems)) if certify else sorted(answer.doubtful):
        if answer.status[b] == 0 or b in answer.doubtful:
            chosen = _plan(problems[b], "auto", count, False)
            proof = exact.prove_in_batch(answer, b, problems[b], chosen, certify, check)
            if certificates is not None:
                certificates[b] = proof
    return BatchResult(answer.row_to_col, answer.objective, answer.u, answer.v, answer.status, certificates)


def plan(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    device: str | None = None,
    memory_limit: int | str | None = None,
) -> Plan:
    """What `solve` would do with the same arguments, and why, without solving.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
        As `solve`; also if it needs more memory than a GPU has free.
    """
    gpu, why = _place(cost, device, method)
    if gpu:
        from lapwing import gpu_request, on_gpu

        maximize = inputs.check_flag(maximize, "maximize")
        room = inputs.check_memory_limit(memory_limit)
        named, tuning = gpu_request.asked_for(method)
        options = gpu_request.Options(
            maximize, unmatched_cost, start, why=why, memory_limit=room, method=named, tuning=tuning
        )
        return on_gpu.plan_on_gpu(cost, gpu, options)
    problem = inputs.make_problem(cost, maximize, unmatched_cost, memory_limit)
    return _plan(problem, method, threads, _start(start, problem) is not None, why)


def certify(
    cost: Any,
    row_to_col: Any,
    u: Any,
    v: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    threads: SupportsIndex | None = None,
    memory_limit: int | str | None = None,
) -> Certificate:
    """Prove how far any assignment is from the optimum, given any duals, wherever they come from.

    Parameters
    ----------
    cost, maximize, unmatched_cost, memory_limit
        As for `solve`.
    row_to_col : (m,) integers, -1 where a row is free
    u, v : (m,) and (n,) finite real numbers
        Or (k, m) and (k, n), whose sums over k, taken without rounding, are the duals: as `Certificate.duals` has them.

    Raises
    ------
    ArgumentError, DtypeError, InvalidCostError
    """
    problem = inputs.make_problem(cost, maximize, unmatched_cost, memory_limit)
    assignment = inputs.check_row_to_col(row_to_col, problem.shape[0])
    duals = inputs.check_parts(u, v, problem.shape, "certify")
    count = inputs.check_threads(threads)
    return prove(problem, assignment, *duals, inputs.processors() if count is None else count)


# A compiled function, so that a small call costs no Python at all; its docstring is in cpp/bindings/direct.cpp.
@_core.make_linear_sum_assignment
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[IndexArray, IndexArray]:
    """What the compiled function calls for all that is not small, plain and valid."""
    dimensions = len(np.shape(cost_matrix))
    if dimensions != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {dimensions} array")
    try:
        problem = inputs.make_problem(cost_matrix, bool(maximize), None)
        chosen = _plan(problem, "auto", None, warm_start=False)
        answer, _ = exact.solve_proven(problem, chosen, exact.Request(certify=False))
    except DtypeError as error:
        # what is no array yet fails in this conversion, with NumPy's words
        given = np.asarray(cost_matrix, dtype=None if hasattr(cost_matrix, "dtype") else np.float64).dtype
        text = f"Cannot cast array data from {given!r} to dtype('float64') according to the rule 'safe'"
        raise TypeError(text) from error
    except InvalidCostError as error:
        raise ValueError("matrix contains invalid numeric entries") from error
    except InfeasibleError as error:
        raise ValueError("cost matrix is infeasible") from error
    return matched_pairs(answer.row_to_col)


def _start(start: Result | tuple[Any, Any] | None, problem: Problem) -> Start | None:
    return None if start is None else inputs.check_start(*duals_of(start), problem)


def _plan(
    problem: Problem,
    method: str | MethodOptions,
    threads: SupportsIndex | None,
    warm_start: bool,
    why_here: str = "",
) -> Plan:
    made = _plan_of_form(problem.form, method, inputs.check_threads(threads), warm_start, inputs.processors())
    return replace(made, reasons=(why_here, *made.reasons)) if why_here else made


@lru_cache(maxsize=256)
def _plan_of_form(
    form: Form, method: str | MethodOptions, threads: int | None, warm_start: bool, processors: int
) -> Plan:
    """The plan, made once for the many problems of one form that a tracker solves."""
    name, options = name_and_options(method)
    return make_plan(
        form, _TRAITS, method=name, threads=threads, warm_start=warm_start, processors=processors, options=options
    )
