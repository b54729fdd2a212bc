"""How does the time on a GPU grow with n?

    python -m benchmarks.gpu_growth [--classes uniform ...] [--sizes 1000 2000 ...]

Milliseconds of `lapwing.solve`, certificate included, float32, costs made in the GPU's memory; the minimum of several
solves after one to warm up. With the power of n that fits best (least squares on logarithms) up to 16000 and above, and
a picture of the curves beside one read of the matrix: `docs/images/gpu_growth.png`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.gpu_single import time_case, warm_up
from benchmarks.growth import power
from benchmarks.harness import RESULTS, ROOT, Report

CLASSES = ("uniform", "geometric", "disjoint")
SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 64000)
KNEE = 16000  # below it latency counts, above it reading the matrix
SOLVES = 5


def main() -> None:
    """Time every cell, fit the powers, draw the curves."""
    import torch

    parser = argparse.ArgumentParser(description="Growth of the time on a GPU with n, and a picture of it.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_growth.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "gpu_growth.png")
    options = parser.parse_args()
    report = Report(options.output, "milliseconds of lapwing.solve on a GPU by n, float32, certificate included")
    bandwidth = warm_up(torch)
    report.write(gpu=torch.cuda.get_device_name(), copy_bytes_per_second=bandwidth)
    powers: dict[str, dict[str, float]] = {}
    for cls in options.classes:
        for n in options.sizes:
            row = {"class": cls, "n": n} | time_case(torch, f"{cls}@{n}", 1, SOLVES, bandwidth)
            report.add(row)
            print(f"{cls:12} {n:6} {row['ms']:9.2f} ms", flush=True)
        powers[cls] = fitted(report.content["rows"], cls)
        print(f"{cls}: " + ", ".join(f"n^{p:.2f} {where}" for where, p in powers[cls].items()), flush=True)
    report.write(powers=powers)
    draw(report.content, options.picture)
    print(f"wrote {options.picture}")


def curve(rows: list[dict[str, Any]], cls: str) -> tuple[list[int], list[float]]:
    """Sizes and milliseconds of a class."""
    mine = [row for row in rows if row["class"] == cls]
    return [row["n"] for row in mine], [row["ms"] for row in mine]


def fitted(rows: list[dict[str, Any]], cls: str) -> dict[str, float]:
    """The powers below and above `KNEE`, where there are at least two sizes."""
    cells = list(zip(*curve(rows, cls), strict=True))
    sides = {
        f"up to {KNEE}": [cell for cell in cells if cell[0] <= KNEE],
        f"from {KNEE} on": [cell for cell in cells if cell[0] >= KNEE],
    }
    return {
        where: power([n for n, _ in side], [ms for _, ms in side]) for where, side in sides.items() if len(side) > 1
    }


def draw(report: dict[str, Any], path: Path) -> None:
    """Write the picture: logarithmic axes, and one read of the matrix for comparison."""
    figure = Figure(figsize=(6.4, 4.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    sizes: list[int] = []
    for k, (cls, powers) in enumerate(report["powers"].items()):
        sizes, milliseconds = curve(report["rows"], cls)
        exponent = next(iter(powers.values()), float("nan"))
        axes.loglog(sizes, milliseconds, marker="o", color=f"C{k}", label=f"{cls}, $n^{{{exponent:.2f}}}$ up to {KNEE}")
    reads = [4e3 * n * n / report["copy_bytes_per_second"] for n in sizes]
    axes.loglog(sizes, reads, linestyle="--", color="gray", label="one read of the matrix")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.set_xlabel("n")
    axes.set_ylabel("milliseconds, certificate included")
    axes.set_title(report["gpu"], fontsize=11)
    axes.legend(fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    main()
