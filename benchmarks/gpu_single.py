"""How long does one dense problem take on a GPU, certificate included?

    python -m benchmarks.gpu_single [--seeds 1 2] [--cases uniform@8000 ...] [--large] [--output results.json]

Costs are in the GPU's memory already: float32, integers as int32, or the dtype that a case names. Minimum of several
solves after some to warm up; every answer must be proven. Beside the time stands what it is made of: rounds and steps
(one after the other, so latency), microseconds for each, the time over that of one read of the matrix at the bandwidth
of a large copy, and the most memory that was taken beside the matrix, in per cent of it. `--large` takes matrices of
40 and 65 GB.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.gpu_instances import make
from benchmarks.harness import RESULTS, Report, keep_to_quick_processors
from lapwing import solve
from lapwing.gpu.runtime.launch import finish_builds

CASES = (
    *(f"uniform@{n}" for n in (1000, 2000, 4000, 8000, 16000, 32000)),
    *(f"int:{r}@8192" for r in ("0.1", "1", "10", "100")),
    "int:10@20000",
    *(f"geometric@{n}" for n in (4000, 8000, 16000)),
    *(f"disjoint@{n}" for n in (4000, 8000)),
    *(f"lowrank:8@{n}" for n in (4000, 8000)),
    *(f"lowrank:1@{n}" for n in (4000, 8000)),
    "sanity@8000",
)
LARGE = ("uniform@100000", "uniform@180000@float16")
WARM_SECONDS = 1.0  # of work before the first timing, so that clocks are up
WARM_SOLVES = 5  # of each case, after which Python runs what it has specialised


def main() -> None:
    """Time the cases; print a line for each."""
    import torch

    parser = argparse.ArgumentParser(description="Times of single problems on a GPU.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS@N or CLASS@N@DTYPE")
    parser.add_argument("--large", action="store_true", help="instead, what fills a GPU")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_single.json")
    options = parser.parse_args()
    report = Report(options.output, "milliseconds of lapwing.solve, certificate included; costs on the GPU")
    bandwidth = warm_up(torch)
    report.write(gpu=torch.cuda.get_device_name(), copy_bytes_per_second=bandwidth)
    heads = (f"{'case':22}", "seed", f"{'ms':>9}", "rounds", f"{'steps':>6}", "us each", f"{'reads':>6}", "extra %")
    print(*heads, "certificate")
    for case in LARGE if options.large else options.cases:
        for seed in options.seeds:
            row = time_case(torch, case, seed, options.solves, bandwidth)
            report.add(row)
            proof = "exact" if row["exact"] else row["certificate"]
            print(
                f"{case:22} {seed:4} {row['ms']:9.3f} {row['rounds']:6.0f} {row['steps']:6.0f} {row['us_each']:7.2f} "
                f"{row['reads']:6.1f} {row['extra_percent']:7.2f} {proof}",
                flush=True,
            )


def time_case(torch: Any, case: str, seed: int, solves: int, bandwidth: float) -> dict[str, Any]:
    """One instance: the best of `solves`."""
    cls, size, *named = case.split("@")
    dtype = named[0] if named else "int32" if cls.startswith("int") else "float32"
    cost = make(torch, cls, int(size), seed, dtype)
    matrix_bytes = cost.numel() * cost.element_size()
    best = float("inf")
    keep_to_quick_processors()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    for _ in range(WARM_SOLVES):
        solve(cost)
        finish_builds()
    for _ in range(solves):
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = solve(cost)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    extra = torch.cuda.max_memory_allocated() - before
    statistics = result.statistics
    serial = statistics["rounds"] + statistics["steps"]
    certificate = result.certificate
    assert certificate is not None and certificate.complete
    return {
        "case": case,
        "seed": seed,
        "ms": best * 1e3,
        "objective": result.objective,
        "exact": certificate.exact,
        "certificate": str(certificate),
        "us_each": best * 1e6 / max(serial, 1),
        "reads": best * bandwidth / matrix_bytes,
        "matrix_bytes": matrix_bytes,
        "extra_bytes": extra,
        "extra_percent": 100 * extra / matrix_bytes,
        **statistics,
    }


def warm_up(torch: Any) -> float:
    """Raise the clocks; bytes read and written in a second by a large copy."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < WARM_SECONDS:
        start = time.perf_counter()
        target.copy_(source)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2.0 * float(source.numel()) / best


if __name__ == "__main__":
    main()
