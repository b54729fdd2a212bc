"""What does each package take for the same costs, what does it get wrong, and what can it not do?

Writes results/comparison.json, which the site shows, and the same page as build/comparison/index.md; with --output
another file, and the page beside it. Peers are installed at their newest releases, anew with --newest.
Every objective is compared with that of a certified answer; where a peer crashes, is wrong or is not done in time, the
page says so. On GPUs `gpu_batches.py` compares with torch-linear-assignment.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from benchmarks.environments import FOLDER
from benchmarks.harness import RESULTS, ROOT, Contest, Report, Timing
from lapwing import instances

SOLVERS = (
    "lapwing:solve",
    "scipy",
    "lap:lapjv",
    "lapx:lapjvx",
    "lapjv",
    "pot:emd",
    "ortools",
    "torch-linear-assignment",
)
MODULES = {"pot": "ot"}  # of packages that have another name
CASES = (("uniform", "float64"), ("geometric", "float64"), ("disjoint", "float64"), ("lowrank:2", "float64"))
INTEGER_CASES = (("int:1", "int64"), ("int:100", "int64"))
SIZES = (100, 300, 1000, 2000)
SEED = 1
PAGE = ROOT / "build" / "comparison" / "index.md"


def cell(timing: Timing | None, failure: str) -> str:
    """Return a timing as the page shows it: milliseconds, or what went wrong, here or at a smaller size."""
    if timing is None:
        return failure or "too slow before"
    if timing.remark:
        return (
            timing.remark.partition(":")[0]
            if timing.remark.startswith("wrong")
            else timing.remark.removeprefix("ValueError: ")[:60]
        )
    return f"{timing.cpu * 1e3:.3g}"


def page(content: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(content["versions"].items()))
    solvers = list(content["rows"][0]["cells"])
    named = (solver.split(":") for solver in solvers[1:] if ":" in solver)
    functions = ", ".join(f"`{MODULES.get(package, package)}.{function}`" for package, function in named)
    lines = [
        "# Lapwing beside other packages",
        "",
        "Milliseconds of processor time, the best of several runs that alternate, on one thread. Lapwing's time is",
        "that of `lapwing.solve` with its certificate. An answer whose objective is above the certified one by more",
        "than a millionth is wrong. A package that needs ten times as long as the fastest other one is not asked for",
        "larger costs. torch-linear-assignment is given a batch of one, for which it calls SciPy on a CPU; the page on",
        "batches compares with it on a GPU. Where a package has several functions, this one is called:",
        f"{functions}.",
        "",
        "| costs | n | " + " | ".join(solver.partition(":")[0] for solver in solvers) + " |",
        "|---|---:|" + "---:|" * len(solvers),
    ]
    for row in content["rows"]:
        shown = [row["cells"][solver].replace("|", "/").replace("\n", " ") for solver in solvers]
        lines.append(f"| {row['class']} {row['dtype']} | {row['n']} | " + " | ".join(shown) + " |")
    machine = content["machine"]
    lines += ["", f"{content['date']}, {machine['processor']}, commit {content['commit']}; {versions}.", ""]
    return "\n".join(lines)


def main() -> None:
    """Time every cell and write the page."""
    parser = argparse.ArgumentParser(description="A page that compares Lapwing with other packages.")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--newest", action="store_true", help="install the peers anew")
    parser.add_argument("--output", type=Path, help="JSON; by default results/comparison.json is replaced")
    options = parser.parse_args()
    if options.newest:
        shutil.rmtree(FOLDER, ignore_errors=True)

    shown = options.output.with_suffix(".md") if options.output else PAGE
    shown.parent.mkdir(parents=True, exist_ok=True)
    with Contest(SOLVERS, options.timeout, options.budget) as contest:
        path = options.output or RESULTS / "comparison.json"
        report = Report(path, "CPU seconds of every solver", contest.versions())
        for cls, dtype in (*CASES, *INTEGER_CASES):
            failures = dict.fromkeys(SOLVERS, "")
            for n in options.sizes:
                timings = contest.time(f"{cls} {dtype}", instances.generate(cls, n, SEED, dtype=dtype))
                cells = {solver: cell(timings.get(solver), failures[solver]) for solver in SOLVERS}
                failures |= {solver: cells[solver] for solver, timing in timings.items() if timing.remark}
                plain = {solver: timing.plain() for solver, timing in timings.items()}
                report.add({"class": cls, "dtype": dtype, "n": n, "cells": cells, "solvers": plain})
                shown.write_text(page(report.content), encoding="utf-8")
                print(cls, dtype, n, cells, flush=True)
    print(shown)


if __name__ == "__main__":
    main()
