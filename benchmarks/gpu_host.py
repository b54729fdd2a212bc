"""How long does a matrix on the host take on a GPU, against copying it there?

    python -m benchmarks.gpu_host [--rows 32000] [--output results.json]

Uniform costs, float32. `solve`, certificate included, stands beside one plain copy to the GPU (by the driver, from
memory that is not pinned), ours, and `solve` of what lies there already; each the best of three.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import lapwing as lw
from benchmarks.gpu_streamed import copy_seconds, uniform
from benchmarks.harness import RESULTS, Report
from lapwing.gpu.runtime.launch import finish_builds

_REPEATS = 3


def main() -> None:
    """One matrix, all ways."""
    import torch

    parser = argparse.ArgumentParser(description="Time of a host's matrix on a GPU.")
    parser.add_argument("--rows", type=int, default=32_000)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_host.json")
    options = parser.parse_args()
    report = Report(options.output, "seconds of lapwing.solve for a matrix on the host, and of copying it to the GPU")
    report.write(gpu=torch.cuda.get_device_name())
    cost = uniform(options.rows)
    shared = torch.from_numpy(cost)
    there = shared.cuda()

    def plain() -> None:
        shared.cuda()
        torch.cuda.synchronize()

    solved(there)
    finish_builds()
    ways: dict[str, Callable[[], object]] = {
        "plain_copy": plain,
        "copy": lambda: copy_seconds(cost),
        "solve_there": lambda: solved(there),
        "solve": lambda: solved(cost),
    }
    least = {name: min(seconds(call) for _ in range(_REPEATS)) for name, call in ways.items()}
    copies = (least["solve"] - least["solve_there"]) / least["plain_copy"]
    report.add({"rows": options.rows, "bytes": cost.nbytes, **least, "copies": copies})
    times = ", ".join(f"{name} {value * 1e3:.1f} ms" for name, value in least.items())
    print(f"n={options.rows}: {times}; {copies:.2f} plain copies")


def solved(cost: object) -> None:
    """Solve, proven."""
    certificate = lw.solve(cost, device="cuda").certificate
    assert certificate is not None and certificate.exact


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
