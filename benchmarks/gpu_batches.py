"""How long does a batch of problems take on a GPU, beside torch-linear-assignment where it is installed?

Times are the minimum of several calls, by the clock of the host, from a synchronised start until the answer is on the
device; "replay" is the same launches from a CUDA graph, so without Python. Every objective of a sample is compared
with the CPU's. ``--tune`` measures the engines against each other instead, for `gpu/batch/plan.py`'s table.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.harness import SAME_OBJECTIVE, Report, keep_to_quick_processors, output_path
from lapwing.gpu.batch.api import solve_batch
from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.plan import CROSSOVERS, Crossovers
from lapwing.gpu.batch.solve import solve_stack
from lapwing.gpu.runtime.arrays import view_array
from lapwing.gpu.runtime.device import Context
from lapwing.instances import generate

SQUARES = [(1024, 32), (1024, 128), (256, 256), (64, 512), (16, 1024)]
PEER = "torch-linear-assignment"
REPEATS = 5
RATIO_REPEATS = 20  # where two short times are compared
HOST_CALLS, HOST_REPEATS = 20, 40
HOST_REPEATS_IN_PLACE = 4  # before processors are chosen anew
WARM_SECONDS = 0.2  # of calls before those that count: then clocks are up, and Python runs what it has specialised
SAMPLE = 64  # problems whose objectives are compared
PEER_SECONDS = 4.0  # a peer whose first call takes longer is not called again


@dataclass(frozen=True)
class Case:
    """A batch; `counts`: ragged, as detectors have them."""

    cls: str
    count: int
    rows: int
    cols: int
    dtype: str = "float32"
    counts: bool = False

    def __str__(self) -> str:
        ragged = " ragged" if self.counts else ""
        return f"{self.cls:12} {self.dtype:8} {self.count:8} x ({self.rows} x {self.cols}){ragged}"

    def costs(self) -> NDArray[Any]:
        """Problem b from seed 1 + b; many tiny ones and forbidden pairs from one stream of random numbers."""
        shape = (self.count, self.rows, self.cols)
        if self.count >= 100_000 or self.cls == "forbidden":
            rng = np.random.default_rng(1)
            costs = rng.random(shape, np.float32)
            if self.cls == "forbidden":
                costs[rng.random(shape, np.float32) < 0.3] = np.inf
            return costs
        with ThreadPoolExecutor() as pool:
            made = pool.map(
                lambda b: generate(self.cls, self.rows, 1 + b, cols=self.cols, dtype=self.dtype), range(self.count)
            )
            return np.stack(list(made))

    def options(self) -> dict[str, Any]:
        """The rows and columns of each problem, on the GPU."""
        if not self.counts:
            return {}
        rng = np.random.default_rng(2)
        rows, cols = rng.integers(self.rows // 2, self.rows + 1, self.count), rng.integers(1, self.cols + 1, self.count)
        return {"row_counts": torch.from_numpy(rows).cuda(), "col_counts": torch.from_numpy(cols).cuda()}


def cases(short: bool) -> Iterator[Case]:
    """Those that are compared with other solvers, then structured costs and ties."""
    for count, n in SQUARES:
        yield Case("uniform", count, n, n)
    yield Case("uniform", 208, 300, 300)
    yield Case("forbidden", 4096, 100, 20, counts=True)
    if short:
        return
    yield Case("uniform", 1_000_000, 8, 8)
    yield Case("uniform", 100_000, 16, 16)
    for cls, dtype in (("geometric", "float32"), ("int:0.1", "int32"), ("int:10", "int32"), ("sanity", "float32")):
        for count, n in SQUARES:
            yield Case(cls, count, n, n, dtype)


def synchronised(call: Callable[[], object]) -> float:
    """Seconds until the answer is on the device."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def fastest(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The minimum of several calls, after some to warm up."""
    began = time.perf_counter()
    while time.perf_counter() - began < WARM_SECONDS:
        synchronised(call)
    return min(synchronised(call) for _ in range(repeats))


def replayed(call: Callable[[], object]) -> float:
    """The same from a CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return fastest(graph.replay)


def host_microseconds(call: Callable[[], object]) -> dict[str, float]:
    """Of the host for a call that it does not wait for: the least and the median of many times HOST_CALLS calls."""
    times = []
    for repeat in range(HOST_REPEATS):
        if repeat % HOST_REPEATS_IN_PLACE == 0:
            keep_to_quick_processors()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        times.append((time.perf_counter() - began) / HOST_CALLS * 1e6)
    torch.cuda.synchronize()
    return {"host_us": min(times), "host_median_us": median(times)}


def peer() -> Callable[[Any], Any] | None:
    """The peer's function, if it is installed."""
    if importlib.util.find_spec("torch_linear_assignment") is None:
        return None
    module = importlib.import_module("torch_linear_assignment")
    solver: Callable[[Any], Any] = module.batch_linear_assignment
    return solver


def check(case: Case, costs: NDArray[Any], answer: Any, options: dict[str, Any]) -> None:
    """Compare a sample of the objectives with the CPU's; a status that the CPU does not share ends the run."""
    chosen = np.unique(np.linspace(0, case.count - 1, SAMPLE).astype(int))
    status, objective = answer.status.cpu().numpy(), answer.objective.cpu().numpy()
    rows = options["row_counts"].cpu().numpy() if options else np.full(case.count, case.rows)
    cols = options["col_counts"].cpu().numpy() if options else np.full(case.count, case.cols)
    for b in chosen:
        cost = costs[b, : rows[b], : cols[b]]
        try:
            expected = lw.solve(cost, certify=False).objective
        except lw.InfeasibleError:
            assert status[b] == 1, f"{case}: problem {b} is infeasible, but has status {status[b]}"
            continue
        error = abs(objective[b] - expected) / max(abs(expected), 1e-300)
        assert status[b] == 0 and error < 1e-12, f"{case}: problem {b} has {objective[b]}, the optimum is {expected}"


def peer_row(solver: Callable[[Any], Any], case: Case, costs: Any, ours: Any) -> dict[str, Any]:
    """The peer's time, or why there is none."""
    if case.counts or case.cls == "forbidden":
        costs = torch.where(torch.isinf(costs), 1e6, costs)  # it has no counts; padding and a large cost instead
    try:
        first = synchronised(lambda: solver(costs))
        second = synchronised(lambda: solver(costs))
        seconds = min(first, second) if second > PEER_SECONDS else fastest(lambda: solver(costs))
        row_to_col = solver(costs)
    except Exception as error:  # whatever it is, the run goes on
        return {"peer_remark": f"{type(error).__name__}: {error}"[:200]}
    if case.counts or case.cls == "forbidden":
        return {"peer_ms": seconds * 1e3}
    picked = costs.double().gather(2, row_to_col.clamp(min=0).unsqueeze(2)).sum((1, 2))
    excess = ((picked - ours.double()) / ours.double().abs().clamp(min=1e-300)).max().item()
    remark = {} if excess < SAME_OBJECTIVE else {"peer_remark": f"not optimal, by {excess:.1e}"}
    return {"peer_ms": seconds * 1e3, **remark}


def run_case(case: Case, solver: Callable[[Any], Any] | None) -> dict[str, Any]:
    """One row of the table."""
    made = case.costs()
    costs, options = torch.from_numpy(made).cuda(), case.options()

    def call() -> Any:
        return solve_batch(costs, **options)

    first = synchronised(call)
    answer = call()
    check(case, made, answer, options)
    keep_to_quick_processors()
    row = dataclasses.asdict(case) | {
        "first_ms": first * 1e3,
        "ms": fastest(call) * 1e3,
        "replay_ms": replayed(call) * 1e3,
        **host_microseconds(call),
    }
    if solver is not None:
        row |= peer_row(solver, case, costs, answer.objective)
    return row


def half_tiny(count: int, n: int) -> dict[str, Any]:
    """A batch, and the same where every other problem is 2 x 2."""
    costs = torch.from_numpy(Case("uniform", count, n, n).costs()).cuda()
    sizes = torch.full((count,), n, device="cuda")
    mixed = sizes.clone()
    mixed[::2] = 2

    def milliseconds(counts: Any) -> float:
        return fastest(lambda: solve_batch(costs, row_counts=counts, col_counts=counts), RATIO_REPEATS) * 1e3

    keep_to_quick_processors()
    plain, half = milliseconds(sizes), milliseconds(mixed)
    return {"what": "half tiny", "count": count, "n": n, "plain_ms": plain, "half_tiny_ms": half}


# --- tuning -------------------------------------------------------------------------------------------------------


def engines(n: int) -> dict[str, Crossovers]:
    """Every engine that a size can have, by force."""
    found = {"shared": dataclasses.replace(CROSSOVERS, lanes=(), shared_bytes=1 << 30)} if n <= 240 else {}
    found["memory"] = dataclasses.replace(CROSSOVERS, lanes=(), shared_bytes=0)
    return found | ({"lanes": CROSSOVERS} if n <= CROSSOVERS.lanes[-1] else {})


def tune(report: Report) -> None:
    """Each engine at each size, once with few problems and once with many."""
    sizes = (24, 32, 48, 64, 96, 128, 160, 192, 240, 256, 320, 512, 768, 1024, 1536, 2048)
    for cls in ("uniform", "geometric"):
        for n in sizes:
            for count in (16, 264) if n <= 512 else (16,):
                costs = torch.from_numpy(Case(cls, count, n, n).costs()).cuda()
                row: dict[str, Any] = {"what": "tune", "cls": cls, "n": n, "count": count}
                for name, crossovers in engines(n).items():
                    row[name] = engine_ms(costs, crossovers)
                times = {name: ms for name, ms in row.items() if isinstance(ms, float)}
                report.add(row)
                ranked = sorted(times.items(), key=lambda item: item[1])
                print(cls, n, count, " ".join(f"{name} {ms:.3f}" for name, ms in ranked), flush=True)


def engine_ms(costs: Any, crossovers: Crossovers) -> float:
    """Of a call with the engine that these choose."""
    view = view_array(costs)
    with Context(view.ordinal, view.stream) as context:
        return fastest(lambda: solve_stack(context, view, BatchOptions(), crossovers), 3) * 1e3


def main() -> None:
    """Measure; print a line for each case."""
    parser = argparse.ArgumentParser(description="Batches on the first GPU.")
    parser.add_argument("--short", action="store_true", help="only the cases that are compared with other solvers")
    parser.add_argument("--tune", action="store_true", help="the engines against each other")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    name = "gpu_batches_tuning" if options.tune else "gpu_batches"
    solver = None if options.tune else peer()
    versions = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
    if solver is not None:
        versions[PEER] = version(PEER)
    report = Report(options.output or output_path(name, options.short), "batches on a GPU", versions)
    if options.tune:
        return tune(report)
    for case in cases(options.short):
        row = run_case(case, solver)
        report.add(row)
        theirs = f"{row['peer_ms']:10.3f} ms ({row['peer_ms'] / row['ms']:.1f} times)" if "peer_ms" in row else ""
        print(
            f"{case}: {row['ms']:8.3f} ms, replay {row['replay_ms']:8.3f} ms, host {row['host_us']:6.1f} us, "
            f"first {row['first_ms']:6.0f} ms {theirs} {row.get('peer_remark', '')}",
            flush=True,
        )
    for count, n in ((1024, 32), (1024, 128), (64, 512)):
        row = half_tiny(count, n)
        report.add(row)
        print(f"half tiny {count} x {n}: {row['half_tiny_ms']:.3f} ms, plain {row['plain_ms']:.3f} ms", flush=True)
    return None


if __name__ == "__main__":
    main()
