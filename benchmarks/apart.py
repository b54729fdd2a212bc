"""How long do points of two distributions take, of which one lies elsewhere, or is wider, or has heavy tails?

    python -m benchmarks.apart [--size 50000] [--dims 2] [--threads 1] [--device cuda] [--output results.json]

Rows are then matched far away, where costs and prices vary much within a box of points. Squared distances of float32
points, from the source to the answer, certificate included: seconds, how often a row was read, and how many costs were
computed each time. Uniform points and 50 clusters, which are matched nearby, are there to compare.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import RESULTS, Report
from lapwing import costs, solve

SEED = 1
Points = NDArray[Any]


def main() -> None:
    """Time the cases; print a line for each."""
    parser = argparse.ArgumentParser(description="Times of points of two distributions.")
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--solves", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    path = options.output or RESULTS / ("gpu_apart.json" if on_gpu else "apart.json")
    report = Report(path, f"seconds of lapwing.solve of {options.size} points on {options.device}")
    limits = {"device": options.device} if on_gpu else {"threads": options.threads}
    for dims in options.dims:
        if on_gpu:  # compile what there is to compile
            for name in ("uniform", "shifted by 10"):
                solve(source(*cases(20_000, dims)[name], options.device), device=options.device)
            finish()
        for name, (x, y) in cases(options.size, dims).items():
            row = {"case": name, "dims": dims} | best(x, y, options.solves, options.device, limits)
            report.add(row)
            print(f"{name:24} d = {dims} {row['seconds']:8.2f} s, {row['reads']:6.1f} reads a row", flush=True)


def cases(n: int, dims: int) -> dict[str, tuple[Points, Points]]:
    """Two sides of n points each, by name."""
    random = np.random.default_rng(SEED)

    def normal() -> Points:
        return random.normal(size=(n, dims))

    def uniform() -> Points:
        return random.random((n, dims))

    def around(centres: Points, width: float) -> Points:
        return np.asarray(centres[random.integers(0, len(centres), n)] + width * normal())

    clusters, blobs = random.random((50, dims)), 4 * random.normal(size=(8, dims))
    return {
        "uniform": (uniform(), uniform()),
        "50 clusters": (around(clusters, 0.02), around(clusters, 0.02)),
        "normal": (normal(), normal()),
        "normal, uniform": (normal(), 3 * uniform()),
        "normal, 8 blobs": (normal(), around(blobs, 0.3)),
        "shifted by 10": (normal(), normal() + 10),
        "stretched tenfold": (normal(), normal() * np.array([10] + [1] * (dims - 1))),
        "normal cubed, normal": (normal() ** 3, normal()),
        "both cubed": (normal() ** 3, normal() ** 3),
        "Cauchy, normal": (random.standard_cauchy((n, dims)), normal()),
        "log-normal, normal": (np.exp(2 * normal()), normal()),
    }


def source(x: Points, y: Points, device: str) -> Any:
    """The costs, of tensors where a GPU solves."""
    sides: list[Any] = [side.astype(np.float32) for side in (x, y)]
    if device != "cpu":
        import torch

        sides = [torch.from_numpy(side).to(device) for side in sides]
    return costs.squared_euclidean(*sides)


def best(x: Points, y: Points, solves: int, device: str, limits: dict[str, Any]) -> dict[str, Any]:
    """The shortest of some solves."""
    found: dict[str, Any] = {}
    for _ in range(solves):
        of_points = source(x, y, device)
        began = time.perf_counter()
        result = solve(of_points, **limits)
        seconds = time.perf_counter() - began
        certificate, statistics = result.certificate, result.statistics
        assert certificate is not None and certificate.complete
        if seconds < found.get("seconds", float("inf")):
            again = statistics.get("refreshes", 0) + statistics.get("full_rows", 0)
            reads = statistics.get("dense_rows_read", again) / len(x)
            found = {"seconds": seconds, "reads": reads, "objective": result.objective, **statistics}
    return found


def finish() -> None:
    """Wait for the compiler."""
    from lapwing.gpu.runtime.launch import finish_builds

    finish_builds()


if __name__ == "__main__":
    main()
