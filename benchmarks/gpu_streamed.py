"""How long does a matrix take that stays on the host while a GPU solves, against copying it once?

    python -m benchmarks.gpu_streamed [--rows 150000] [--memory 20e9] [--output results.json]

Uniform costs, float32: 90 GB for 150,000 rows. The copy is from the same memory to a GPU that has room for it, the
better of two; the solve, once after a small one that compiles, may take --memory bytes of the GPU. The certificate is
included, and must be exact.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.harness import RESULTS, Report
from lapwing.gpu.costs.upload import upload
from lapwing.gpu.runtime.device import Context, device_info
from lapwing.gpu.runtime.launch import finish_builds

_THREADS = 16
_PARTS = 64
_SMALL = 3000


def main() -> None:
    """Make the matrix, copy it, solve it."""
    parser = argparse.ArgumentParser(description="Time of a matrix that is streamed to a GPU, in copies of it.")
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--memory", type=float, default=20e9)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_streamed.json")
    options = parser.parse_args()
    report = Report(options.output, "seconds of lapwing.solve for a matrix on the host, and of copying it to the GPU")
    report.write(gpu=device_info(0).name)
    small = uniform(_SMALL)
    assert lw.solve(small, device="cuda", memory_limit=small.nbytes * 4 // 5).plan.tier == "streamed"
    finish_builds()
    cost = uniform(options.rows)
    copied = min(copy_seconds(cost) for _ in range(2))
    began = time.perf_counter()
    result = lw.solve(cost, device="cuda", memory_limit=int(options.memory))
    seconds = time.perf_counter() - began
    assert result.plan.tier == "streamed"
    assert result.certificate is not None and result.certificate.exact
    report.add(
        {
            "rows": options.rows,
            "bytes": cost.nbytes,
            "memory": options.memory,
            "copy_seconds": copied,
            "seconds": seconds,
            "copies": seconds / copied,
            "rows_read": result.statistics["rows_read"],
        }
    )
    print(
        f"n={options.rows}: copy {copied:.2f} s ({cost.nbytes / copied / 1e9:.1f} GB/s), solve {seconds:.2f} s, "
        f"{seconds / copied:.2f} copies; {result.certificate}"
    )


def uniform(rows: int) -> NDArray[Any]:
    """A square matrix, made by several threads."""
    cost = np.empty((rows, rows), np.float32)

    def fill(part: int) -> None:
        mine = cost[part * rows // _PARTS : (part + 1) * rows // _PARTS]
        np.random.default_rng([1, part]).random(out=mine, dtype=np.float32)

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(fill, range(_PARTS)))
    return cost


def copy_seconds(cost: NDArray[Any]) -> float:
    """Of one copy to the GPU."""
    with Context() as context:
        began = time.perf_counter()
        _, copier = upload(context, cost)
        with copier:
            copier.finish()
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
