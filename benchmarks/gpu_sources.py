"""How long do problems take on a GPU whose matrix exists nowhere?

    python -m benchmarks.gpu_sources [--cases geometric@100000 ...] [--growth] [--cubes] [--output results.json]

Costs are computed from points on the GPU, float32; "photographs" are the pixels of scikit-learn's two, colour and
position (273,280 of them, five dimensions; `pip install scikit-learn`); "clusters" are 50 normal ones in the unit
square, of which the two sides have unequal shares; "cubeD" are points in the unit cube of D dimensions; uniform costs
come from a hash. Points are on the GPU when the clock starts (of cubes as tensors, of others as a source), kernels are
compiled; the certificate is included, and every answer must be proven. Beside the time stand the most memory that
PyTorch gave (of uniform costs, what the plan says), the seconds of the certificate, and how often a row was read: by
listings of all rows of the problem itself (samples apart), by refreshes of single rows after the last of these, and by
the certificate, once.

--growth: geometric costs from 10,000 to 1,000,000 points, with the power of n that fits best, and a picture,
`docs/images/gpu_sources.png`. --cubes: points of 8 to 3072 dimensions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import power
from benchmarks.harness import RESULTS, ROOT, Report
from lapwing import costs, instances, solve
from lapwing.gpu.runtime.launch import finish_builds

CASES = (
    *(f"geometric@{n}" for n in (100_000, 250_000, 1_000_000)),
    "disjoint@100000",
    "clusters@50000",
    "clusters@200000",
    "uniform@100000",
    "photographs",
)
CUBES = ("cube8@16384", "cube32@16384", "cube256@16384", "cube3072@16384", "cube512@100000")
GROWTH = (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
POSITION_WEIGHT = 0.35  # as in examples/match_photos.py
SEED = 1


def main() -> None:
    """Time the cases; print a line for each."""
    import torch

    parser = argparse.ArgumentParser(description="Times of problems on a GPU whose costs are computed there.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS@N, or photographs")
    parser.add_argument("--growth", action="store_true", help="instead, geometric costs of many sizes, and a picture")
    parser.add_argument("--cubes", action="store_true", help="instead, points of many dimensions")
    parser.add_argument("--solves", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "gpu_sources.png")
    options = parser.parse_args()
    name, cases = "gpu_sources", options.cases
    if options.growth:
        name, cases = "gpu_sources_growth", [f"geometric@{n}" for n in GROWTH]
    elif options.cubes:
        name, cases = "gpu_cubes", CUBES
    report = Report(options.output or RESULTS / f"{name}.json", "seconds of lapwing.solve, costs computed on a GPU")
    report.write(gpu=torch.cuda.get_device_name())
    print(f"{'case':20} {'n':>9} {'seconds':>8} {'certify':>8} {'MB':>7} {'listed':>7} {'again':>7} certificate")
    for case in cases:
        row = time_case(torch, case, options.solves)
        report.add(row)
        proof = "exact" if row["exact"] else f"{row['bound']:.2g}"
        print(
            f"{case:20} {row['n']:9} {row['seconds']:8.2f} {row['certify_seconds']:8.2f} {row['bytes'] / 1e6:7.0f} "
            f"{row['listed']:7.0f} {row['listed_again']:7.2f} {proof}",
            flush=True,
        )
    if options.growth:
        rows = report.content["rows"]
        exponent = power([row["n"] for row in rows], [row["seconds"] for row in rows])
        report.write(power=exponent)
        draw(report.content, exponent, options.picture)
        print(f"n^{exponent:.2f}; wrote {options.picture}")


def source(torch: Any, case: str) -> Callable[[], Any]:
    """What makes the costs of a case, from points on the GPU; of cubes whenever it is called."""
    if case == "photographs":
        x, y = photographs()
    else:
        cls, n = case.split("@")
        if cls.startswith("cube"):
            random = torch.Generator(device="cuda").manual_seed(SEED)
            of_cube = [torch.rand(int(n), int(cls[4:]), generator=random, device="cuda") for _ in range(2)]
            return lambda: costs.squared_euclidean(*of_cube)
        if cls == "uniform":
            uniform = instances.computed(cls, int(n), SEED, dtype=np.float32)
            return lambda: uniform
        made = clusters(int(n)) if cls == "clusters" else instances.points(cls, int(n), SEED)
        x, y = (points.astype(np.float32) for points in made)
    of_points = costs.squared_euclidean(torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda())
    return lambda: of_points


def clusters(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two sides of n points each around 50 centres, (n, 2)."""
    random = np.random.default_rng(SEED)
    centres = random.random((50, 2))
    x, y = (centres[random.integers(0, 50, n)] + 0.02 * random.normal(size=(n, 2)) for _ in range(2))
    return x, y


def photographs() -> tuple[NDArray[Any], NDArray[Any]]:
    """The pixels of two photographs, (273280, 5): colour and weighted position."""
    from sklearn.datasets import load_sample_images

    pixels = []
    for image in load_sample_images().images:
        rows, cols = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5
        place = POSITION_WEIGHT * np.stack([cols.ravel(), rows.ravel()], axis=1) / image.shape[1]
        pixels.append(np.hstack([image.reshape(-1, 3) / 255, place]).astype(np.float32))
    return pixels[0], pixels[1]


def time_case(torch: Any, case: str, solves: int) -> dict[str, Any]:
    """One case: the best of `solves`, after a small problem of the kind that compiles what there is to compile."""
    warm_up(torch, case)
    made = source(torch, case)
    n = made().shape[0]
    best: dict[str, Any] = {}
    for _ in range(solves):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = solve(made(), device="cuda")
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
        assert not finish_builds(), "it was solved by a quick build, which takes up to six times as long"
        statistics, certificate = result.statistics, result.certificate
        assert certificate is not None and certificate.complete
        if seconds < best.get("seconds", float("inf")):
            best = {
                "case": case,
                "n": n,
                "seconds": seconds,
                "bytes": torch.cuda.max_memory_allocated() - before or result.plan.memory_bytes,
                "planned_bytes": result.plan.memory_bytes,
                "listed": statistics["listings"],
                "listed_again": (statistics["refreshes"] + statistics["full_rows"]) / n,
                "objective": result.objective,
                "exact": certificate.exact,
                "bound": float(certificate.bound),
                **statistics,
            }
    return best


def warm_up(torch: Any, case: str) -> None:
    """Compile the programs of a case, and bring the clocks up: with enough points to lie in boxes."""
    if case == "photographs":  # little memory, since the matrix of few points of five dimensions would be held
        x, y = (torch.from_numpy(points[::13].copy()).cuda() for points in photographs())
        solve(costs.squared_euclidean(x, y), memory_limit="200MB")
    else:
        solve(source(torch, f"{case.split('@')[0]}@20000")(), device="cuda")
    finish_builds()


def draw(report: dict[str, Any], exponent: float, path: Path) -> None:
    """Write the picture, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    sizes, seconds = ([row[name] for row in report["rows"]] for name in ("n", "seconds"))
    axes.loglog(sizes, seconds, marker="o", label=f"$n^{{{exponent:.2f}}}$")
    axes.grid(alpha=0.3)
    axes.set_xlabel("points")
    axes.set_ylabel("seconds, certificate included")
    axes.set_title(report["gpu"], fontsize=11)
    axes.legend(fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    main()
