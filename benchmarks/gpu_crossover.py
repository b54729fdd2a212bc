"""From which size on is a GPU faster for costs on the host, or for those on the GPU?

    python -m benchmarks.gpu_crossover [--resident] [--sizes 200 400 ...] [--classes uniform ...] [--output file]

`lapwing.solve` of a NumPy array (float32, integers as int32) on all processors and on the first GPU, certificate
included, copying included; minimum of several solves after one to warm up. For `GPU_FROM_ROWS` of plan.py:
the smallest size from which the GPU wins in every class. `device="auto"` goes by it.
With `--resident` the costs are a tensor of PyTorch on the GPU, and the CPU's time includes the copies there and back:
what to put into `HOST_PAIRS` of gpu/plan.py.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, Report
from lapwing import instances, solve
from lapwing.gpu import plan as gpu_plan
from lapwing.gpu.runtime.device import device_info
from lapwing.gpu.runtime.launch import finish_builds
from lapwing.plan import GPU_FROM_ROWS

CLASSES = ("uniform", "int:0.1", "int:10", "geometric", "disjoint", "lowrank:2", "sanity")
RESIDENT_SIZES = (16, 32, 64, 100, 150, 200, 256, 300, 400)
SIZES = (200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 4000)
BUDGET = 2.0  # seconds for the solves of one cell


def main() -> None:
    """Print a row for each class and the crossover."""
    parser = argparse.ArgumentParser(description="Where a GPU begins to pay.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--resident", action="store_true", help="costs on the GPU")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    options.sizes = options.sizes or (RESIDENT_SIZES if options.resident else SIZES)
    place, name = ("a GPU", "gpu_crossover_resident.json") if options.resident else ("the host", "gpu_crossover.json")
    what = f"milliseconds of lapwing.solve of costs on {place}, on the CPU and on a GPU"
    report = Report(options.output or RESULTS / name, what)
    if options.resident:
        gpu_plan.HOST_PAIRS = max(options.sizes) ** 2
    print(f"{len(os.sched_getaffinity(0))} processors; milliseconds on the CPU / on the GPU")
    print(f"{'class':10}" + "".join(f"{n:>16}" for n in options.sizes) + "  GPU wins from")
    crossovers = []
    for cls in options.classes:
        won: list[bool] = []
        line = f"{cls:10}"
        for n in options.sizes:
            cost = instances.generate(cls, n, 1, dtype="int32" if cls.startswith("int") else "float32")
            if options.resident:
                cost = on_gpu(cost)
            cpu, gpu = best(cost, None if options.resident else "cpu"), best(cost, "cuda")
            won.append(gpu < cpu)
            line += f"{cpu * 1e3:8.2f} /{gpu * 1e3:6.2f}"
            report.add({"class": cls, "n": n, "cpu_ms": cpu * 1e3, "gpu_ms": gpu * 1e3})
        sure = [n for k, n in enumerate(options.sizes) if all(won[k:])]
        crossovers.append(min(sure, default=max(options.sizes) + 1))
        print(f"{line}  {crossovers[-1]}", flush=True)
    report.write(crossover=max(crossovers), processors=len(os.sched_getaffinity(0)), gpu=device_info(0).name)
    if not options.resident:
        print(f"GPU_FROM_ROWS = {max(crossovers)} (now {GPU_FROM_ROWS})")


def on_gpu(cost: Any) -> Any:
    """A tensor there."""
    import torch

    return torch.from_numpy(cost).cuda()


def best(cost: Any, device: str | None) -> float:
    """Seconds of the fastest of several solves."""
    solve(cost, device=device)
    finish_builds()
    fastest, began = float("inf"), time.perf_counter()
    for _ in range(20):
        start = time.perf_counter()
        solve(cost, device=device)
        now = time.perf_counter()
        fastest = min(fastest, now - start)
        if now - began > BUDGET:
            break
    return fastest


if __name__ == "__main__":
    main()
