"""How much faster is one problem on more threads?

Wall time of `lapwing.solve`, certificate included, on 1, 2, 4, 8 and 16 threads (as many as there are processors), in
alternation, the best of several rounds. Every answer must be the same to the last bit, whatever the number of threads:
assignment and duals. Dense costs are float32; "points" are squared distances of float32 points of the unit square. The
picture shows how many times as fast as on one thread.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.harness import ROOT, Report, output_path
from lapwing import instances

CLASSES = ("uniform", "geometric", "disjoint", "lowrank:8", "int:10")
SIZES = (2000, 4000, 8000, 16_000)
POINTS = (30_000, 250_000)
THREADS = (1, 2, 4, 8, 16)
SEED = 1
MOST_ROUNDS = 9
STAGES = ("start", "list", "auction", "search", "certify")


def dense(cls: str, n: int, processors: int) -> NDArray[np.float32]:
    """Return an instance, made on all processors."""
    costs = np.empty((n, n), np.float32)
    columns = np.arange(n)

    def make(rows: NDArray[np.int64]) -> None:
        costs[rows] = instances.block(cls, n, SEED, rows, columns)

    with ThreadPoolExecutor(processors) as pool:
        list(pool.map(make, np.array_split(np.arange(n), max(1, n // 128))))
    return costs


def points(n: int) -> lw.costs.CostSource:
    """Return squared distances of points, which are computed when they are read."""
    rng = np.random.default_rng(SEED)
    return lw.costs.squared_euclidean(*rng.random((2, n, 2), dtype=np.float32))


def measure(costs: Any, counts: list[int], budget: float) -> dict[str, dict[str, float]]:
    """Return the best seconds of each number of threads, in all and by stage; at least two rounds."""
    best: dict[str, dict[str, float]] = {}
    first = None
    began = time.perf_counter()
    for round_ in range(MOST_ROUNDS):
        if round_ >= 2 and time.perf_counter() - began > budget:
            break
        for count in counts if round_ % 2 == 0 else reversed(counts):
            start = time.perf_counter()
            result = lw.solve(costs, threads=count)
            seconds = time.perf_counter() - start
            answer = (result.row_to_col, result.u, result.v)
            first = first or answer
            if not all(np.array_equal(a, b) for a, b in zip(first, answer, strict=True)):
                raise RuntimeError(f"{count} threads gave another answer than {counts[0]}")
            if seconds < best.get(str(count), {}).get("seconds", np.inf):
                stages = {s: result.statistics.get(f"{s}_seconds", 0.0) for s in STAGES}
                best[str(count)] = {"seconds": seconds, **stages}
    return best


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the picture: a panel for each size, a line for each class."""
    from matplotlib.figure import Figure  # not on every host with many cores

    sizes = sorted({row["n"] for row in rows})
    figure = Figure(figsize=(3.4 * len(sizes), 3.6), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    classes = list(dict.fromkeys(row["class"] for row in rows))
    for panel, n in zip(panels, sizes, strict=True):
        for row in (row for row in rows if row["n"] == n):
            counts = [int(count) for count in row["threads"]]
            one = row["threads"]["1"]["seconds"]
            speedups = [one / row["threads"][str(count)]["seconds"] for count in counts]
            panel.loglog(counts, speedups, marker="o", color=f"C{classes.index(row['class'])}", label=row["class"])
            panel.loglog(counts, counts, color="grey", linewidth=0.8, linestyle="dashed")
        ticks = [count for count in THREADS if any(str(count) in row["threads"] for row in rows)]
        panel.set_xticks(ticks, [str(count) for count in ticks])
        panel.set_yticks(ticks, [str(count) for count in ticks])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.set_title(f"n = {n:,}", fontsize=11)
        panel.set_xlabel("threads")
    panels[0].set_ylabel("times as fast as one thread")
    labels = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(list(labels.values()), list(labels), loc="outside right center", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Time every cell, print and draw the ratios."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser = argparse.ArgumentParser(description="Times on several threads, and a picture of the ratios.")
    parser.add_argument("--classes", nargs="*", default=list(CLASSES), help="of dense costs")
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--points", nargs="*", type=int, default=list(POINTS), help="numbers of points")
    parser.add_argument("--threads", nargs="+", type=int, default=[t for t in THREADS if t <= processors])
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for repeating one cell")
    parser.add_argument("--output", type=Path, default=output_path("threads", short=False))
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "threads.png")
    options = parser.parse_args()
    counts = sorted({1, *options.threads})

    report = Report(options.output, "wall seconds by the number of threads, certificate included, float32")
    cells = [(cls, n) for n in options.sizes for cls in options.classes] + [("points", n) for n in options.points]
    for cls, n in cells:
        costs = points(n) if cls == "points" else dense(cls, n, processors)
        times = measure(costs, counts, options.budget)
        report.add({"class": cls, "n": n, "threads": times})
        one, most = times["1"], times[str(counts[-1])]
        ratios = "  ".join(f"{count}: {one['seconds'] / times[str(count)]['seconds']:.2f}" for count in counts[1:])
        stages = "  ".join(f"{s} {1e3 * one[s]:.1f} -> {1e3 * most[s]:.1f}" for s in STAGES)
        print(f"{cls:10} {n:7} {1e3 * one['seconds']:9.1f} ms   {ratios}   ({stages})", flush=True)
    draw(report.content["rows"], options.picture)
    print(f"wrote {options.output} and {options.picture}")


if __name__ == "__main__":
    main()
