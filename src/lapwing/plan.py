"""The plan: which method, how many threads, how much memory, and why. A pure function of its arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lapwing._core import DIRECT_MAX_ROWS, JV_OR_CORE_MAX_ROWS
from lapwing.costs.base import Tier
from lapwing.errors import ArgumentError
from lapwing.methods import Method, methods_for
from lapwing.options import MethodOptions
from lapwing.problem import Form

# Below this many pairs a second thread costs more than it saves.
_PAIRS_PER_THREAD = 1_000_000

# The same of sparse costs, by what their copy takes: 50,000 pairs.
_SPARSE_BYTES_PER_THREAD = 800_000

# From this many rows (of the smaller side) on a GPU is as fast or faster for costs on the host, certificate and copying
# included, in every class of benchmarks/gpu_crossover.py: an H200 and 16 processors of its host (benchmarks/results).
GPU_FROM_ROWS = 1000

# From this many dimensions on a cost is sooner read than computed again.
_DIMS_OF_MATRIX = 16

# Computed costs are written out for a small problem up to this size: then the method for small matrices is the fastest.
_WRITTEN_OUT_BYTES = 16 << 20


@dataclass(frozen=True)
class Plan:
    """How a problem is solved; `str(plan)` explains it.

    Attributes
    ----------
    method : str
        A name from the table of methods, or "none" for an empty problem.
    fallback : str or None
        The method that takes over where the first proves slow: core, if the searches of jv are hard; jv, if many rows
        are indifferent.
    threads : int
    transposed : bool
        Whether the method sees the transposed view of the matrix.
    memory_bytes : int
        Estimated memory beside the matrix, if there is one: with it, if computed costs are written out.
    shape, dtype
        Of the problem as given, after conversion to a number type of the core.
    reasons : tuple of str
        One sentence for each decision.
    device : str
        "cpu", or "cuda:N" for GPU N.
    tier : str
        Where the costs are: "dense", a matrix in memory; "sparse", some pairs of one; "computed", whenever they are
        read; "rows", from a callback; "streamed", from a file; "sharded", in the processes of a group.
    options : MethodOptions or None
        Those of the method, if it has any.
    holds_matrix : bool
        Whether the CPU computes all costs of points first, and holds them.
    """

    method: str
    fallback: str | None
    threads: int
    transposed: bool
    memory_bytes: int
    shape: tuple[int, int]
    dtype: str
    reasons: tuple[str, ...]
    device: str = "cpu"
    tier: Tier = "dense"
    options: MethodOptions | None = None
    holds_matrix: bool = False

    @property
    def where(self) -> str:
        """Threads of the CPU, or the GPU."""
        return _count_threads(self.threads) if self.device == "cpu" else self.device

    def __str__(self) -> str:
        rows, cols = self.shape
        method = f"{self.method!r} or {self.fallback!r}" if self.fallback else repr(self.method)
        source = {
            "dense": "",
            "sparse": ", sparse",
            "computed": ", computed",
            "rows": ", from a callback",
            "streamed": ", streamed",
            "sharded": ", in shards",
        }[self.tier]
        head = f"{rows} x {cols} {self.dtype}{source}: method {method}, {self.where}"
        memory = f"about {_readable_bytes(self.memory_bytes)} " + (
            "beside the matrix" if self.tier == "dense" else "of memory"
        )
        return "\n  - ".join([f"{head}, {memory}", *self.reasons])


def choose_device(shape: tuple[int, ...], method: str, gpus: int) -> tuple[str, str]:
    """The device for costs that are on the host, for `device="auto"`: "cpu" or "cuda", and the reason.

    Parameters
    ----------
    shape : (m, n)
    method : str
        As asked for.
    gpus : int
        How many GPUs can be used.
    """
    size = min(shape, default=0)
    if gpus == 0:
        return "cpu", "on the CPU: no GPU can be used"
    if method not in ("auto", "core"):
        return "cpu", f"on the CPU: a GPU has no method {method!r} that would pay"
    if size < GPU_FROM_ROWS:
        return "cpu", f"on the CPU: with fewer than {GPU_FROM_ROWS} rows or columns a GPU would not pay"
    return "cuda", f"a GPU pays, copying included: at least {GPU_FROM_ROWS} rows and columns"


@lru_cache(maxsize=256)
def make_plan(
    form: Form,
    method: str = "auto",
    options: MethodOptions | None = None,
    threads: int | None = None,
    warm_start: bool = False,
    processors: int = 1,
) -> Plan:
    """Decide how to solve a problem of this form on the CPU; made once for the many problems of one form.

    Parameters
    ----------
    form : Form
    method : str
        "auto" or a name from the table of methods.
    options : MethodOptions or None
        Those of the method.
    threads : int or None
        None: as many of the `processors` as the problem keeps busy.
    warm_start : bool
        Whether there are duals to start from, or to be kept for another start.
    processors : int
        Processors that this process may use.

    Raises
    ------
    ArgumentError
        For an unknown method, one that cannot use a warm start, or one that reads a matrix where it would be huge.
    """
    if _holds_matrix(form):
        of_matrix = form._replace(tier="dense", rows_are_contiguous=True, dims=0)
        plan = make_plan(of_matrix, method, options, threads, warm_start, processors)
        matrix = _matrix_bytes(form)
        why = (
            f"the costs are computed once, as a matrix of {_readable_bytes(matrix)}: of {form.dims} dimensions they "
            "are sooner read than computed again"
        )
        memory, reasons = plan.memory_bytes + matrix, [*plan.reasons, why]
        return replace(plan, tier=form.tier, memory_bytes=memory, reasons=tuple(reasons), holds_matrix=True)
    methods = methods_for(form.tier)
    if method != "auto" and method not in methods:
        raise ArgumentError(f"unknown method {method!r}; choose from {', '.join(map(repr, ['auto', *methods]))}")
    if form.is_empty:
        return _plan(form, "none", None, 1, 0, ["there is nothing to match"])
    reasons = []
    fallback = None
    if method == "auto":
        method, fallback, why = _choose(form, warm_start)
        reasons.append(why)
    traits = methods["core" if fallback else method]
    if warm_start and not traits.warm_start:
        usable = " or ".join(repr(name) for name, other in methods.items() if other.warm_start)
        raise ArgumentError(f"method {method!r} cannot use start= or checkpoint=; use method={usable}, or leave it out")
    reasons.append(f"{method}: {methods[method].summary}" + (f", {options}" if options else ""))
    written_out = 0
    if form.cols_priced and form.tier == "dense":
        written_out = form.shape[0] * form.shape[1] * np.dtype(np.float64).itemsize
        reasons.append(f"the costs less the prices of columns are written out: {_readable_bytes(written_out)}")
    elif form.tier != "dense":
        written_out, why = _written_out(form, methods[method])
        reasons.append(why)
    if form.solved_transposed:
        why = "it is tall" if form.is_tall else "its columns are contiguous"
        reasons.append(f"the matrix is solved as its transposed view, since {why}")
    count, why_threads = _threads(form, traits, threads, processors)
    reasons.append(why_threads)
    rows, cols = form.shape[::-1] if form.solved_transposed else form.shape
    memory = rows * traits.bytes_per_row + cols * (traits.bytes_per_col + rows * traits.bytes_per_pair)
    memory += written_out + form.held_bytes
    return replace(_plan(form, method, fallback, count, memory, reasons), options=options)


def _plan(form: Form, method: str, fallback: str | None, threads: int, memory: int, reasons: list[str]) -> Plan:
    return Plan(
        method=method,
        fallback=fallback,
        threads=threads,
        transposed=form.solved_transposed,
        memory_bytes=memory,
        shape=form.shape,
        dtype=str(form.dtype),
        reasons=tuple(reasons),
        tier=form.tier,
    )


def _holds_matrix(form: Form) -> bool:
    if form.dims < _DIMS_OF_MATRIX or form.is_empty:
        return False
    from lapwing.costs.streamed import physical_limit

    return _matrix_bytes(form) <= min(form.matrix_limit, physical_limit())


def _choose(form: Form, warm_start: bool) -> tuple[str, str | None, str]:
    """Method, fallback and the reason, by the smaller side."""
    if form.tier == "sparse":
        return "sparse", None, "most pairs are forbidden: they are not written out"
    if warm_start:
        return "core", None, "core can start from duals"
    if form.tier == "streamed":
        return "core", None, "core needs no matrix, which would be above the memory limit"
    if form.tier == "sharded":
        return "core", None, "core needs no matrix: the ranks list their own rows"
    size = min(form.shape)
    if size <= JV_OR_CORE_MAX_ROWS and form.tier != "dense":
        if _matrix_bytes(form) > form.matrix_limit:
            return "core", None, "core needs no matrix, which would be above the memory limit"
        if _matrix_bytes(form) > _WRITTEN_OUT_BYTES:
            return "core", None, "core needs no matrix, which would be large"
    if size <= DIRECT_MAX_ROWS:
        why = (
            f"at most {DIRECT_MAX_ROWS} rows or columns: full rows are scanned directly; core's lists pay where most "
            "costs of a row are equal to its largest"
        )
        return "jv", "core", why
    if size <= JV_OR_CORE_MAX_ROWS:
        why = (
            f"at most {JV_OR_CORE_MAX_ROWS} rows or columns: full rows are scanned directly; core takes over if the "
            "searches prove hard"
        )
        return "jv", "core", why
    why = f"more than {JV_OR_CORE_MAX_ROWS} rows and columns: short lists save most of the work"
    if form.tier != "dense":
        return "core", None, why
    return "core", "jv", why + "; jv takes over where many rows have many columns at the same least cost"


def _written_out(form: Form, traits: Method) -> tuple[int, str]:
    """How many bytes of costs are written out as a matrix for a method, and why."""
    if traits.reads_sources:
        if form.tier == "sparse":
            return 0, f"no matrix is held, but a copy of the pairs: {_readable_bytes(form.held_bytes)}"
        if form.tier == "computed":
            return 0, "the costs are computed whenever they are read: no matrix is held"
        kept = f"and {_readable_bytes(form.held_bytes)} of them are kept"
        if form.tier == "sharded":
            return 0, f"rows stay with their ranks; single ones are asked for when they are needed, {kept}"
        if form.tier == "rows":
            return 0, f"the callback is asked for rows when they are needed, {kept}"
        return 0, f"the file is larger than the memory limit: rows are read when they are needed, {kept}"
    size = _matrix_bytes(form)
    limit = form.matrix_limit
    if size > limit:
        raise ArgumentError(
            f"method {traits.name!r} reads a matrix, which takes {_readable_bytes(size)} for costs of shape "
            f"{form.shape}, above the limit of {_readable_bytes(limit)}; use method='core'"
        )
    return size, f"the costs are written out as a matrix once: {_readable_bytes(size)}"


def _matrix_bytes(form: Form) -> int:
    return form.shape[0] * form.shape[1] * form.dtype.itemsize


def _threads(form: Form, traits: Method, asked: int | None, processors: int) -> tuple[int, str]:
    if not traits.parallel:
        return 1, "one thread: the method is serial"
    if asked is not None:
        return asked, f"{_count_threads(asked)}, as asked for"
    if form.tier == "rows":
        return 1, "one thread: the callback is called by one at a time; threads= asks for more"
    if form.tier == "sharded":
        return 1, "one thread of rank 0 searches"
    rows, cols = form.shape
    if form.tier == "sparse":
        count = max(1, min(processors, form.held_bytes // _SPARSE_BYTES_PER_THREAD))
        return count, f"{_count_threads(count)}, which take components of the pairs in turns"
    count = max(1, min(processors, rows * cols // _PAIRS_PER_THREAD))
    if traits.cols_per_thread:
        longest = max(1, max(rows, cols) // traits.cols_per_thread)
        if longest < count:
            return longest, f"{_count_threads(longest)}: the rows are too short to be shared among more"
    if count == processors:
        return count, f"{_count_threads(count)}: all that this process may use"
    return count, f"{_count_threads(count)}: the matrix is too small for more"


def _count_threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _readable_bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
