"""How does the time grow with n?

CPU times at n = 1000 to 16000, float32, one thread, of Lapwing (with its certificate) and of every peer while it keeps
within the timeout, with the power of n that fits ours best (least squares on logarithms), and a picture of the curves.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.harness import ROOT, Contest, Report, output_path
from benchmarks.peers import PEERS
from lapwing import instances

CLASSES = ("uniform", "geometric", "disjoint")
OURS = "lapwing:solve"
SEED = 1


def power(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return p of the best fit seconds = a n^p."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def curve(rows: list[dict[str, Any]], cls: str, solver: str) -> tuple[list[int], list[float]]:
    """Return the sizes that a solver finished, and its seconds."""
    cells = [(row["n"], row["solvers"].get(solver, {}).get("cpu")) for row in rows if row["class"] == cls]
    finished = [(n, cpu) for n, cpu in cells if cpu is not None]
    return [n for n, _ in finished], [cpu for _, cpu in finished]


def draw(report: dict[str, Any], path: Path) -> None:
    """Write the picture: a panel for each class, logarithmic axes."""
    rows, classes = report["rows"], list(report["powers"])
    figure = Figure(figsize=(4.2 * len(classes), 4.2), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(classes), sharey=True, squeeze=False)[0]
    peers = [s for s in (*PEERS, "pot:emd") if any(curve(rows, cls, s)[0] for cls in classes)]
    for panel, cls in zip(panels, classes, strict=True):
        for k, peer in enumerate(peers):
            panel.loglog(*curve(rows, cls, peer), marker=".", linewidth=1, color=f"C{k}", label=peer, alpha=0.8)
        sizes, seconds = curve(rows, cls, OURS)
        panel.loglog(sizes, seconds, marker="o", linewidth=2.5, color="black", label="lapwing, certified")
        panel.set_title(f"{cls}: lapwing grows as $n^{{{report['powers'][cls]:.2f}}}$", fontsize=11)
        panel.set_xticks(sizes, [str(n) for n in sizes])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.set_xlabel("n")
    panels[0].set_ylabel("CPU seconds, one thread")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Time every cell, fit the powers, draw the curves."""
    parser = argparse.ArgumentParser(description="Growth of the time with n, and a picture of it.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 2000, 4000, 8000, 16000])
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--output", type=Path, default=output_path("growth", short=False))
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "growth.png")
    options = parser.parse_args()

    powers: dict[str, float] = {}
    with Contest((OURS, *PEERS, "pot:emd"), options.timeout, options.budget, dropped_at=math.inf) as contest:
        report = Report(options.output, "CPU seconds by n, float32, one thread", contest.versions())
        for cls in options.classes:
            for n in options.sizes:
                timings = contest.time(cls, instances.generate(cls, n, SEED, dtype="float32"))
                solvers = {s: t.plain() for s, t in timings.items()}
                report.add({"class": cls, "n": n, "dtype": "float32", "solvers": solvers})
                print(f"{cls:12} {n:6} {timings[OURS].cpu:9.3f} s", flush=True)
            powers[cls] = power(*curve(report.content["rows"], cls, OURS))
            print(f"{cls}: n^{powers[cls]:.2f}", flush=True)
        report.write(powers=powers)
    draw(report.content, options.picture)
    print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
