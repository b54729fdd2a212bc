"""The public functions: inputs -> Problem -> Plan -> method -> Certificate -> Result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np

from lapwing import _core, inputs
from lapwing.assignment import IndexArray, pairs_of
from lapwing.backend import Device, choose_backend, solve_batch_at_once
from lapwing.certificate import Certificate
from lapwing.costs.dtypes import as_scipy_converts
from lapwing.cpu.backend import solve_as_asked
from lapwing.cpu.small import solve_small
from lapwing.errors import ArgumentError, DtypeError, InfeasibleError, InvalidCostError, RangeError
from lapwing.options import MethodOptions
from lapwing.plan import Plan, make_plan
from lapwing.problem import Problem
from lapwing.progress import Progress
from lapwing.request import make_request
from lapwing.result import (
    BatchResult,
    GivenCosts,
    HostCosts,
    ListResult,
    ProvenResult,
    Result,
    StackResult,
    make_result,
)
from lapwing.tensors import is_dtensor, is_tensor, is_tracing

if TYPE_CHECKING:
    from lapwing.checkpoint import Checkpoint


@overload
def solve(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    time_limit: None = None,
    progress: bool | Callable[[Progress], object] = False,
    certify: Literal[True] = True,
    device: Device = None,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> ProvenResult: ...
@overload
def solve(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[Progress], object] = False,
    certify: bool = True,
    device: Device = None,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Result: ...
def solve(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[Progress], object] = False,
    certify: bool = True,
    device: Device = None,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Result:
    """Solve a linear assignment problem exactly, with a proof.

    Parameters
    ----------
    cost : (m, n) real matrix
        A NumPy array of any real dtype and layout, a nested list, a pandas frame, an `np.memmap`, a CPU tensor with
        DLPack, a DTensor whose rows are shared out (see `lapwing.distributed.solve`), a masked array (masked pairs are
        forbidden), a sparse array of SciPy, PyTorch, JAX or CuPy (missing pairs are forbidden, and never written out),
        or a source of `lapwing.costs`, which computes costs, or asks for them, whenever they are read.
        +inf (-inf when maximising) forbids a pair. C or Fortran order of float32/64, int32/64 is read in place.
    maximize : bool
    unmatched_cost : None, scalar, (m,) array-like, or a tuple of two
        Row i may stay free at this price (this value when maximising). None: the smaller side is matched completely.
        A tuple of two has the prices of rows and those of columns, each a scalar or an array; without it free columns
        cost nothing; such problems are solved on the CPU and answered where the costs are. An infinite price (-inf when
        maximising) means that the line must be matched. Of all optimal answers, one with the most matches is given.
    infeasible : "raise" or "partial"
        Of a problem that no assignment solves: whether to raise an error, or to match as many pairs as possible, at the
        least cost among these, with status "partial" and a certificate that says why there are no more. Where some
        rows or columns may stay free at a price, as many as possible are matched of those that must be.
    invalid : "raise" or "forbid"
        Of costs that are NaN: whether to raise an error, or to forbid their pairs, which `Result.invalid_pairs` lists.
        An array on a GPU is copied there.
    start : (u, v) or an earlier Result
        Duals to start from: any finite values, good ones save time.
    method : str or MethodOptions
        "auto", "core", or the name of a reference method (docs/methods.md). The options of a method, such as
        `lapwing.Ssp()`, stand for its name.
    threads : int, optional
        At most so many. Default: as many processors as the problem keeps busy.
    time_limit : float, optional
        Seconds after which the best assignment so far is returned, with status "time_limit" and a valid bound.
    progress : bool or callable
        True shows a live line on standard error; a callable gets a `lapwing.Progress` about every 50 ms.
    certify : bool
        Whether to give the proof of the answer, which takes one more pass over the costs. Without it the answer is
        the optimum all the same: it is proven where rounding might have spoiled it.
    device : None, "cpu", "cuda", "cuda:N", "auto" or a list such as ["cuda:0", "cuda:1"]
        Where to solve. Default: where the costs are. An array on a GPU (PyTorch, CuPy, JAX, anything with DLPack or
        `__cuda_array_interface__`) is read in place, on its library's current stream, and answered in its library; a
        GPU's "auto" is "core". A matrix of at most 40,000 pairs, or sparse costs of at most 10,000 entries, are fetched
        and solved on the host, unless the device is named. Tensors of PyTorch on the CPU are
        read without their gradient, and answered with tensors. "auto" takes the first GPU for arrays on the host, if
        there is one and it pays. Costs of points, formulas and `costs.cuda_source` are computed on the GPU; rows of a
        callback are sent there if it is named. Several GPUs share out a large matrix on the host; see `costs.sharded`.
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
        If the forbidden pairs leave no assignment; names rows with too few columns. With ``infeasible="partial"`` not.
    InvalidCostError
        If a cost is NaN, unless ``invalid="forbid"``, or infinite with the wrong sign.
    RangeError
        If integer costs are too large for sums in 64 bits, or the optimum of floats is out of the range of float64.
    ArgumentError, DtypeError
        For any other argument that cannot be used.
    KeyboardInterrupt
        Within a fraction of a second of Ctrl-C.
    """
    if (
        (start is None and time_limit is None and progress is False)
        and (method == "auto" and device is None and memory_limit is None and checkpoint is None)
        and (infeasible == "raise" and invalid == "raise")
        and (result := solve_small(cost, maximize, unmatched_cost, certify, threads)) is not None
    ):
        return result
    if is_dtensor(cost):
        from lapwing.distributed.dtensor import solve_dtensor

        common = maximize, unmatched_cost, infeasible, start, method, threads, time_limit, progress, certify
        return solve_dtensor(cost, device, invalid, *common, memory_limit, checkpoint)
    request = make_request(
        maximize,
        unmatched_cost,
        start,
        method,
        threads,
        memory_limit,
        certify,
        time_limit,
        progress,
        infeasible,
        invalid,
    )
    given, invalid_pairs = cost, None
    if request.forbid_invalid:
        from lapwing.invalid import InvalidPairs, without_invalid

        cost, invalid_pairs = without_invalid(cost, request.maximize, request.memory_limit), InvalidPairs(cost)
    backend = choose_backend(cost, device, request)
    with backend.problem(cost, request) as problem:
        if checkpoint is not None:
            from lapwing.checkpoint import go_on

            go_on(checkpoint, backend.identified(problem, request), request)
        chosen = backend.plan(problem, request)
        answer, certificate = backend.solve(problem, chosen, request)
        asked = request.maximize, request.unmatched_cost, request.forbid_invalid
        costs = HostCosts(problem) if isinstance(problem, Problem) else GivenCosts(given, *asked)
        return make_result(chosen, answer, certificate, costs, given, invalid_pairs)


@overload
def solve_batch(
    costs: list[Any] | tuple[Any, ...],
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    row_counts: Any = None,
    col_counts: Any = None,
    threads: SupportsIndex | None = None,
    duals: bool = False,
    certify: bool = False,
    check: bool | None = None,
    device: str | None = None,
) -> ListResult: ...
@overload
def solve_batch(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    row_counts: Any = None,
    col_counts: Any = None,
    threads: SupportsIndex | None = None,
    duals: bool = False,
    certify: bool = False,
    check: bool | None = None,
    device: str | None = None,
) -> StackResult: ...
def solve_batch(
    costs: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    row_counts: Any = None,
    col_counts: Any = None,
    threads: SupportsIndex | None = None,
    duals: bool = False,
    certify: bool = False,
    check: bool | None = None,
    device: str | None = None,
) -> BatchResult:
    """Solve many problems, threads over problems.

    Parameters
    ----------
    costs : (B, m, n) real array, or a list of matrices of any shapes
        As for `solve`. An array on a GPU is solved there, which nothing waits for, and answered with arrays there.
    maximize : bool
        For all problems.
    unmatched_cost : None, scalar, one value a row, or a tuple of two
        For an array (m,) or (B, m); for a list a scalar or a list with what `solve` takes for each problem. A tuple of
        two has the prices of rows and those of columns, which are (n,) or (B, n) for an array.
    infeasible : "raise" or "partial"
        As for `solve`; the status of a problem with as many pairs as possible is 6. On a GPU such problems, and those
        with prices of columns, are solved on the host, which waits for the GPU.
    invalid : "raise" or "forbid"
        As for `solve`.
    row_counts, col_counts : None or (B,) integers
        For an array: problem b is ``costs[b, :row_counts[b], :col_counts[b]]``; what lies beyond is not looked at.
    threads : int, optional
        At most so many. Default: all processors.
    duals : bool
        Whether to return u and v.
    certify : bool
        Whether to prove every answer; implies `duals`.
    check : bool, optional
        Whether to raise for the first problem without an answer. If not, its `status` gives the reason, and all
        others are solved. Default: for costs on the host yes; for those on a GPU no, since the check would wait.
    device : None, "cpu", "cuda", "cuda:N" or "auto"
        Where to solve. Default: where the costs are. An array on the host, but no list, is copied to the GPU that is
        named, and the answer back; "auto" takes the first GPU, if there is one and each problem alone would pay.

    Returns
    -------
    BatchResult

    Raises
    ------
    InfeasibleError, InvalidCostError, RangeError
        For the first problem that has no answer; a note on the error gives its index.
    ArgumentError, DtypeError
    """
    if inputs.check_choice(invalid, "invalid", ("raise", "forbid")) == "forbid":
        from lapwing.invalid import numbers_of_batch

        numbers, pairs = numbers_of_batch(costs, inputs.check_flag(maximize, "maximize"))
        asked: Any = {"maximize": maximize, "unmatched_cost": unmatched_cost, "infeasible": infeasible}
        asked |= {"row_counts": row_counts, "col_counts": col_counts, "threads": threads, "device": device}
        solved: BatchResult = solve_batch(numbers, **asked, duals=duals, certify=certify, check=check)
        return replace(solved, invalid=pairs)
    if is_tracing() and is_tensor(costs):
        from lapwing.torch_operator import solve_with_operator

        if device is not None or infeasible != "raise":
            raise ArgumentError(
                "device and infeasible are not for code that PyTorch compiles: move the costs there, and call "
                "solve_batch outside it"
            )
        inputs_of = maximize, unmatched_cost, row_counts, col_counts, duals, certify, check
        row_to_col, objective, u, v, status = solve_with_operator(costs, *inputs_of)
        return StackResult(row_to_col, objective, u, v, status, None, costs.shape[2])
    return solve_batch_at_once(
        costs,
        maximize=maximize,
        unmatched_cost=unmatched_cost,
        infeasible=infeasible,
        row_counts=row_counts,
        col_counts=col_counts,
        threads=threads,
        duals=duals,
        certify=certify,
        check=check,
        device=device,
    )


def plan(
    cost: Any,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    start: Result | tuple[Any, Any] | None = None,
    method: str | MethodOptions = "auto",
    threads: SupportsIndex | None = None,
    device: Device = None,
    memory_limit: int | str | None = None,
) -> Plan:
    """What `solve` would do with the same arguments, and why, without solving.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
        As `solve`; also if it needs more memory than a GPU has free.
    """
    if is_dtensor(cost):
        from lapwing.distributed.dtensor import plan_dtensor

        return plan_dtensor(cost, device, maximize, unmatched_cost, start, method, threads, memory_limit)
    request = make_request(maximize, unmatched_cost, start, method, threads, memory_limit)
    backend = choose_backend(cost, device, request)
    with backend.problem(cost, request) as problem:
        return backend.plan(problem, request)


def certify(
    cost: Any,
    row_to_col: Any,
    u: Any = None,
    v: Any = None,
    *,
    maximize: bool = False,
    unmatched_cost: Any = None,
    infeasible: Literal["raise", "partial"] = "raise",
    invalid: Literal["raise", "forbid"] = "raise",
    threads: SupportsIndex | None = None,
    memory_limit: int | str | None = None,
) -> Certificate:
    """Prove how far any assignment is from the optimum, given any duals, wherever they come from.

    Parameters
    ----------
    cost, maximize, unmatched_cost, memory_limit
        As for `solve`.
    infeasible : "raise" or "partial"
        "partial": of a problem that no assignment solves, prove how far it is from the least cost of as many pairs as
        possible.
    invalid : "raise" or "forbid"
        As for `solve`.
    row_to_col : (m,) integers, -1 where a row is free
    u, v : (m,) and (n,) finite real numbers
        Or (k, m) and (k, n), whose sums over k, taken without rounding, are the duals: as `Certificate.duals` has them.
        Without them the problem is solved, and its optimal duals are taken.

    Raises
    ------
    ArgumentError, DtypeError, InvalidCostError
    """
    maximize = inputs.check_flag(maximize, "maximize")
    limit = inputs.check_memory_limit(memory_limit)
    if inputs.check_choice(invalid, "invalid", ("raise", "forbid")) == "forbid":
        from lapwing.invalid import without_invalid

        cost = without_invalid(cost, maximize, limit)
    problem = inputs.make_problem(cost, maximize, unmatched_cost, limit)
    assignment = inputs.check_row_to_col(row_to_col, problem.shape[0])
    count = inputs.check_threads(threads) or inputs.processors()
    if (u is None) != (v is None):
        raise ArgumentError("certify takes both u and v, or neither")
    partial = inputs.check_choice(infeasible, "infeasible", ("raise", "partial")) == "partial"
    if u is None:
        plan = make_plan(problem.form, threads=count, processors=count)
        answer, _ = solve_as_asked(problem, plan, certify=False, partial=partial)
        u, v = answer.proving_duals
    else:
        u, v = inputs.check_parts(u, v, problem.shape, "certify")
    from lapwing.shifted import prove_shifted
    from lapwing.shortage import prove_in_parts

    return (prove_in_parts if partial else prove_shifted)(problem, assignment, u, v, count)


def _linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[IndexArray, IndexArray]:
    """The fallback of the compiled function for every argument that is not small, plain and valid."""
    dimensions = len(np.shape(cost_matrix))
    if dimensions != 2:
        if not dimensions:
            np.asarray(cost_matrix, np.float64)  # with NumPy's error, if it is no number, as SciPy
        raise ValueError(f"expected a matrix (2-D array), got a {dimensions} array")
    try:
        try:
            problem = inputs.make_problem(cost_matrix, bool(maximize))
        except (DtypeError, RangeError) as error:
            problem = inputs.make_problem(as_scipy_converts(cost_matrix, error), bool(maximize))
        chosen = make_plan(problem.form, processors=inputs.processors())
        answer, _ = solve_as_asked(problem, chosen, certify=False, partial=False)
    except InvalidCostError as error:
        raise ValueError("matrix contains invalid numeric entries") from error
    except InfeasibleError as error:
        raise ValueError("cost matrix is infeasible") from error
    return pairs_of(answer.row_to_col)


# A compiled function, so that a small call costs no Python at all; its docstring is in cpp/bindings/direct.cpp. Of this
# module it calls `_linear_sum_assignment` by its name.
_linear_sum_assignment.__qualname__ = "linear_sum_assignment"  # in messages
linear_sum_assignment: Callable[..., tuple[IndexArray, IndexArray]] = _core.make_linear_sum_assignment(
    sys.modules[__name__]
)
