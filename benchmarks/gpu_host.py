"""How long does a matrix on the host take on a GPU, and the first solve of a process?

    python -m benchmarks.gpu_host [--rows 32000] [--output results.json]

The matrix: uniform costs, float32. `solve` of it, certificate included, stands beside one plain copy to the GPU (by the
driver, from memory that is not pinned), ours, and `solve` of what lies there already; each the best of three. The first
solve: a process of its own, with an empty cache and from the cache on disk, less what a second solve takes, imports and
the GPU's context.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lapwing as lw
from benchmarks.gpu_streamed import copy_seconds, uniform
from benchmarks.harness import RESULTS, ROOT, Report

_REPEATS = 3
_FIRST_ROWS = 1000  # of the first solve


def main() -> None:
    """Measure both; print a line for each."""
    parser = argparse.ArgumentParser(description="Time of a host's matrix on a GPU, and of a first solve.")
    parser.add_argument("--rows", type=int, default=32_000)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_host.json")
    parser.add_argument("--first", action="store_true", help="the first solve of this process alone")
    options = parser.parse_args()
    if options.first:
        print(json.dumps(first_seconds()))
        return
    report = Report(options.output, "seconds of lapwing.solve for a matrix on the host, and of a process's first solve")
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("cold", "on disk"):
            command = [sys.executable, "-m", "benchmarks.gpu_host", "--first"]
            environment = {**os.environ, "LAPWING_CACHE_DIR": folder}
            text = subprocess.check_output(command, cwd=ROOT, text=True, env=environment)
            seconds = json.loads(text.splitlines()[-1])
            report.add({"what": "first solve", "cache": cache, "seconds": seconds})
            print(f"first solve, cache {cache}: {seconds:.3f} s", flush=True)
    report.add(host_matrix(options.rows))


def host_matrix(rows: int) -> dict[str, object]:
    """One matrix, all ways."""
    import torch

    cost = uniform(rows)
    shared = torch.from_numpy(cost)

    def plain() -> None:
        shared.cuda()
        torch.cuda.synchronize()

    there = shared.cuda()
    row: dict[str, object] = {"what": "host matrix", "rows": rows, "bytes": cost.nbytes}
    solves: dict[str, Callable[[], object]] = {
        "plain_copy": plain,
        "copy": lambda: copy_seconds(cost),
        "solve_there": lambda: solved(there),
        "solve": lambda: solved(cost),
    }
    least = {name: min(timed(call) for _ in range(_REPEATS)) for name, call in solves.items()}
    ratio = (least["solve"] - least["solve_there"]) / least["plain_copy"]
    print(f"n={rows}: " + ", ".join(f"{k} {v * 1e3:.1f} ms" for k, v in least.items()) + f"; {ratio:.2f} plain copies")
    return row | least | {"copies": ratio}


def solved(cost: object) -> None:
    """Solve, proven."""
    certificate = lw.solve(cost, device="cuda").certificate
    assert certificate is not None and certificate.exact


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def first_seconds() -> float:
    """What a process's first solve takes more than its second, when the GPU's context is there."""
    import torch

    cost = torch.rand((_FIRST_ROWS, _FIRST_ROWS), device="cuda")
    torch.cuda.synchronize()
    return timed(lambda: lw.solve(cost)) - timed(lambda: lw.solve(cost))


if __name__ == "__main__":
    main()
