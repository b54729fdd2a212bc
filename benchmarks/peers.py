"""How much faster than the best peer, class by class and size by size?

Peers: SciPy, lap, lapx (every function), lapjv at their newest releases; the best of them in each cell, one thread.
Two ratios a cell: for `lapwing.linear_sum_assignment`, which answers what the peers answer, and for `lapwing.solve`,
which proves its answer besides. Where nobody finishes within the timeout, the timeout counts.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks.harness import Contest, Report, Timing, is_ours, output_path
from lapwing import instances

SQUARE = (
    "uniform",
    *(f"int:{r}" for r in ("0.1", "1", "10", "100")),
    "geometric",
    "disjoint",
    *(f"lowrank:{k}" for k in (1, 2, 8)),
    "sanity",
)
RECTANGULAR = "uniform n x 2n"
CLASSES = (*SQUARE, RECTANGULAR)
SIZES = (10, 32, 100, 300, 1000, 2000, 4000, 8000)
OURS = ("lapwing", "lapwing:solve")
PEERS = (
    "scipy",
    "lap:lapjv",
    *(f"lapx:{f}" for f in ("lapjv", "lapjvx", "lapjvr", "lapjvh", "lapjvs", "lapjvc")),
    "lapjv",
)
SEED = 1


def instance(cls: str, n: int, dtype: str) -> NDArray[Any]:
    """Return the cost matrix of a class."""
    if cls == RECTANGULAR:
        return instances.generate("uniform", n, SEED, cols=2 * n, dtype=dtype)
    return instances.generate(cls, n, SEED, dtype=dtype)


def judge(timings: dict[str, Timing], timeout: float) -> dict[str, Any]:
    """Return the best peer and our ratios to it (above 1: we are faster)."""
    right = {s: t for s, t in timings.items() if not is_ours(s) and t.rounds and not t.remark}
    best = min(right, key=lambda s: right[s].cpu, default=None)
    seconds = right[best].cpu if best else timeout
    ratios = {ours: seconds / min(timings[ours].cpu, timeout) for ours in OURS}
    return {"best_peer": best, "peer_seconds": seconds, "ratio": ratios}


def geometric_means(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the geometric mean of the ratios over all cells of size n and above, for n = 2000 and 4000."""
    means: dict[str, dict[str, float]] = {}
    for least in (2000, 4000):
        for ours in OURS:
            ratios = [row["ratio"][ours] for row in rows if row["n"] >= least]
            if ratios:
                means.setdefault(f"n >= {least}", {})[ours] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return means


def main() -> None:
    """Time every cell; print a line for each."""
    parser = argparse.ArgumentParser(description="Ratios to the best peer, class by class and size by size.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--short", action="store_true", help="three classes, four sizes, float32")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.short:
        options.classes, options.dtypes = ["uniform", "int:10", "geometric"], ["float32"]
        options.sizes, options.budget = [10, 100, 1000, 2000], 4.0

    with Contest((*OURS, *PEERS), options.timeout, options.budget) as contest:
        what = "CPU seconds of every solver; ratio = best peer over ours"
        report = Report(options.output or output_path("peers", options.short), what, contest.versions())
        print(
            f"{'class':15} {'n':>5} {'dtype':8} {'best peer':12} {'linear_sum_assignment':>22} {'certified solve':>16}"
        )
        for dtype in options.dtypes:
            for cls in options.classes:
                for n in options.sizes:
                    timings = contest.time(f"{cls} {dtype}", instance(cls, n, dtype))
                    verdict = judge(timings, options.timeout)
                    solvers = {s: t.plain() for s, t in timings.items()}
                    report.add({"class": cls, "n": n, "dtype": dtype, **verdict, "solvers": solvers})
                    plain, proven = (verdict["ratio"][ours] for ours in OURS)
                    best = verdict["best_peer"] or "none"
                    print(f"{cls:15} {n:5} {dtype:8} {best:12} {plain:21.2f}x {proven:15.2f}x", flush=True)
        means = geometric_means(report.content["rows"])
        report.write(geometric_means=means)
    for sizes, mean in means.items():
        print(f"geometric mean, {sizes}: " + ", ".join(f"{ours} {value:.2f}x" for ours, value in mean.items()))


if __name__ == "__main__":
    main()
