"""How do the papers' methods scale over the ranks of a group, beside Date and Nagi's GPUs, and `core` on the same?

    python -m benchmarks.papers_over_ranks [--ranks 1 2 4] [--weak 500 707 1000] [--strong 500 1000] [--gpus]

Weak scaling has one size for each number of ranks, strong scaling each of its sizes on all: Date and Nagi's Tables 4
and 5, whole numbers in [0, 10n], with the efficiency that they print for as many GPUs (for strong scaling, at n =
10,000). Ranks are processes with gloo; with --gpus, each has its rows on a GPU of its own, and NCCL. Seconds of
`lapwing.distributed.solve`, certificate included, the best of several; every answer must be proven, and methods
must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, Report

METHODS = {"hungarian-bfs": "class", "hungarian-tree": "tree", "ssp": "", "core": ""}  # and how a paper's column begins
RANGE = "int:10"
STRONG_OF_PAPER = 10_000


def main() -> None:
    """Time both scalings; print a line for each."""
    parser = argparse.ArgumentParser(description="The papers' methods over ranks.")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--weak", type=int, nargs="+", default=[500, 707, 1000], help="a size for each number of ranks")
    parser.add_argument("--strong", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--ssp-rows", type=int, default=500, help="the largest size for ssp, a message a row scanned")
    parser.add_argument("--solves", type=int, default=2)
    parser.add_argument("--gpus", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS / "papers_over_ranks.json")
    parser.add_argument("--rank-solves", nargs="+", type=int, help=argparse.SUPPRESS)  # sizes: this is a rank
    options = parser.parse_args()
    if options.rank_solves:
        return solve_as_rank(options)
    report = Report(options.output, "seconds of lapwing.distributed.solve, certificate included, by ranks")
    report.write(gpus=options.gpus)
    times: dict[tuple[int, str, int], float] = {}
    for ranks, weak in zip(options.ranks, options.weak, strict=True):
        sizes = sorted({weak, *options.strong})
        for row in solved_by(ranks, sizes, options):
            times[row["n"], row["method"], ranks] = row["seconds"]
            report.add(row)
    show("weak", list(zip(options.weak, options.ranks, strict=True)), times, options)
    for size in options.strong:
        show("strong", [(size, ranks) for ranks in options.ranks], times, options)
    return None


def solved_by(ranks: int, sizes: list[int], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Times by so many ranks."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    own = ["-m", "benchmarks.papers_over_ranks", "--rank-solves", *map(str, sizes), "--methods", *options.methods]
    own += ["--solves", str(options.solves), "--ssp-rows", str(options.ssp_rows), *["--gpus"] * options.gpus]
    done = subprocess.run([*launch, *own], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) | {"ranks": ranks} for line in done.stdout.splitlines() if line.startswith("{")]


def solve_as_rank(options: argparse.Namespace) -> None:
    """Solve with the other ranks; rank 0 prints a line for each method and size."""
    import torch
    import torch.distributed as dist

    from lapwing import distributed, instances

    rank = int(os.environ["RANK"])
    if options.gpus:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if options.gpus else "gloo")
    size = dist.get_world_size()
    for n in options.rank_solves:
        begin, end = n * rank // size, n * (rank + 1) // size
        rows = torch.from_numpy(instances.block(RANGE, n, 1, range(begin, end), range(n), dtype="int32"))
        rows = rows.cuda() if options.gpus else rows
        objectives = set()
        for method in options.methods:
            if method == "ssp" and n > options.ssp_rows:
                continue
            best, result = float("inf"), None
            for _ in range(options.solves):
                began = time.perf_counter()
                result = distributed.solve(rows, method=method, memory_limit=0)
                best = min(best, time.perf_counter() - began)
            assert result is not None and result.certificate is not None and result.certificate.exact
            objectives.add(result.objective)
            if rank == 0:
                print(json.dumps({"n": n, "method": method, "seconds": best} | result.statistics), flush=True)
        assert len(objectives) == 1, objectives
    dist.destroy_process_group()


def show(
    scaling: str, cases: list[tuple[int, int]], times: dict[tuple[int, str, int], float], options: argparse.Namespace
) -> None:
    """Seconds, efficiency, and the paper's efficiency."""
    published = json.loads((Path(__file__).parents[1] / "src/lapwing/papers/published/date-nagi.json").read_text())
    table = next(each for each in published["tables"] if each["number"] == ("4" if scaling == "weak" else "5"))
    lines = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    for method in options.methods:
        for n, ranks in cases:
            seconds, first = times.get((n, method, ranks)), times.get((cases[0][0], method, cases[0][1]))
            if seconds is None or first is None:
                continue
            efficiency = first / seconds * (1 if scaling == "weak" else cases[0][1] / ranks)
            theirs = [
                line.get(f"{METHODS[method]}_overall_efficiency")
                for line in lines
                if line["gpus"] == ranks and (scaling == "weak" or line["n"] == STRONG_OF_PAPER)
            ]
            paper = f"{theirs[0]:.2f}" if theirs and theirs[0] is not None else "-"
            print(f"{scaling:7} {method:15} n={n:<6} ranks={ranks:<3} {seconds:9.3f} s {efficiency:5.2f} paper {paper}")


if __name__ == "__main__":
    main()
