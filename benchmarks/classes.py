"""Is any class of costs that people have slower than with the best peer?

Every class of everyday.py at every size: SciPy, lap, lapx (every function) and lapjv, one thread, against
`lapwing.linear_sum_assignment` and the certified `lapwing.solve`. Writes `results/classes.json`, and draws
`docs/images/classes.png`, the worst cells first.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.everyday import CLASSES
from benchmarks.harness import ROOT, Contest, Report, output_path
from benchmarks.peers import OURS, PEERS, judge

SIZES = (200, 400, 1000, 2000, 4000, 8000)
SEED = 1


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw each cell's ratio, certificate included, with the worst at the top."""
    rows = sorted(rows, key=lambda row: row["ratio"][OURS[1]])
    figure = Figure(figsize=(8, max(4, 0.16 * len(rows))), layout="constrained")
    axes = figure.subplots()
    ratios = [row["ratio"][OURS[1]] for row in rows]
    axes.barh(range(len(rows)), ratios, color=["tab:red" if ratio < 1 else "tab:blue" for ratio in ratios])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [f"{row['class']}, {row['n']}" for row in rows], fontsize=6)
    axes.set_xscale("log")
    axes.set_xlabel("times faster than the best peer, certificate included")
    axes.invert_yaxis()
    axes.margins(y=0.005)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Time every cell, and print the worst last."""
    parser = argparse.ArgumentParser(description="Ratios to the best peer over the costs that people have.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="PART", help="parts of names")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--dtypes", nargs="+", default=["as it is"], help="numpy's names; 'as it is': the class's own")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--short", action="store_true", help="sizes 400 and 1000")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.short:
        options.sizes, options.budget = [400, 1000], 1.0
    names = [name for name in CLASSES if any(part in name for part in options.classes)]
    with Contest((*OURS, *PEERS), options.timeout, options.budget) as contest:
        what = "CPU seconds of every solver; ratio = best peer over ours"
        report = Report(options.output or output_path("classes", options.short), what, contest.versions())
        for dtype in options.dtypes:
            for name in names:
                for n in options.sizes:
                    matrix = CLASSES[name](np.random.default_rng([options.seed, n]), n)
                    matrix = np.ascontiguousarray(matrix, dtype=None if dtype == "as it is" else dtype)
                    timings = contest.time(f"{name} {dtype}", matrix)
                    verdict = judge(timings, options.timeout)
                    solvers = {s: t.plain() for s, t in timings.items()}
                    report.add({"class": name, "n": n, "dtype": dtype, **verdict, "solvers": solvers})
                    plain, proven = (verdict["ratio"][ours] for ours in OURS)
                    best = verdict["best_peer"] or "none"
                    print(f"{name:28} {n:5} {dtype:9} {best:12} {plain:9.2f}x {proven:9.2f}x", flush=True)
        rows = report.content["rows"]
        means = {ours: geometric_mean([row["ratio"][ours] for row in rows]) for ours in OURS}
        report.write(geometric_mean=means)
    picture = ROOT / "docs" / "images" / "classes.png" if options.output is None and not options.short else None
    draw(rows, picture or report.path.with_suffix(".png"))
    for ours, mean in means.items():
        worst = min(rows, key=lambda row: row["ratio"][ours])
        print(f"{ours}: geometric mean {mean:.2f}, worst {worst['ratio'][ours]:.2f} ({worst['class']}, {worst['n']})")


if __name__ == "__main__":
    main()
