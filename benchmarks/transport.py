"""How much faster than a network simplex on structured costs?

Peer: `ot.emd` of POT, float64, its limit of iterations raised out of the way; both on one thread. These classes are
where codes of the Jonker-Volgenant family take minutes. `lapwing.solve` is timed with its certificate.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from benchmarks.harness import Contest, Report, output_path
from lapwing import instances

CLASSES = ("disjoint", "lowrank:2", "lowrank:8", "lowrank:1", "geometric")
PEER, OURS = "pot:emd", "lapwing:solve"
SEED = 1


def main() -> None:
    """Time every cell; print a line for each."""
    parser = argparse.ArgumentParser(description="Structured costs against POT's network simplex.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 2000, 4000])
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--short", action="store_true", help="n = 1000 only")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.short:
        options.sizes, options.budget = [1000], 4.0

    with Contest((OURS, PEER), 600.0, options.budget, contender=math.inf, dropped_at=math.inf) as contest:
        what = "CPU seconds of lapwing.solve and of POT's ot.emd, float64"
        report = Report(options.output or output_path("transport", options.short), what, contest.versions())
        print(f"{'class':12} {'n':>5} {'ratio to ot.emd':>16}")
        for cls in options.classes:
            for n in options.sizes:
                timings = contest.time(cls, instances.generate(cls, n, SEED))
                ratio = timings[PEER].cpu / timings[OURS].cpu
                solvers = {s: t.plain() for s, t in timings.items()}
                report.add({"class": cls, "n": n, "dtype": "float64", "ratio": ratio, "solvers": solvers})
                print(f"{cls:12} {n:5} {ratio:15.2f}x", flush=True)


if __name__ == "__main__":
    main()
