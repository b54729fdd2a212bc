"""How long does one problem take over processes, each with a GPU of one host, that may read each other's memory or not?

    python -m benchmarks.gpu_ranks [--cases uniform:float32@100000 ...] [--gpus 2] [--solves 5] [--output r.json]

Each process is a rank of a group with NCCL and has a block of rows on its GPU. With peer access rank 0 opens the memory
of all (lapwing/distributed/peer_memory.py); without it (LAPWING_PEER_MEMORY=0, as between hosts) minima, lists and the
findings of the certificate's passes come by messages (gpu_costs.py). Milliseconds of rank 0, the minimum of several
solves, certificate included; every answer must be proven, and both must cost the same.
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

from benchmarks.gpu_distributed import WARM_SOLVES, make
from benchmarks.harness import RESULTS, Report

CASES = ("uniform:float32@8000", "geometric:float32@8000", "uniform:float32@100000", "uniform:float32@250000")
WAYS = {"peers": "1", "messages": "0"}  # and the value of the switch


def main() -> None:
    """Time the cases, or be one of the processes."""
    parser = argparse.ArgumentParser(description="Times of one problem over processes with a GPU each.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS:DTYPE@N")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_ranks.json")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return solve_as_rank(options)
    report = Report(options.output, "milliseconds of lapwing.distributed.solve, certificate included; NCCL")
    report.write(gpus=options.gpus)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={options.gpus}"]
    own = ["-m", "benchmarks.gpu_ranks", "--rank", "--solves", str(options.solves), "--ways", *options.ways]
    print(f"{'case':26} {'by':9} {'ms':>10} {'solve':>8} {'proof':>8} {'refreshes':>9} {'rows':>9} {'caches':>9} proof")
    for case in options.cases:
        done = subprocess.run([*launch, *own, "--cases", case], stdout=subprocess.PIPE, text=True, check=True)
        for line in filter(lambda text: text.startswith("{"), done.stdout.splitlines()):
            row = json.loads(line)
            report.add(row)
            seconds = [f"{1e3 * row[name]:8.2f}" for name in ("solve_seconds", "certify_seconds")]
            counts = [f"{row.get(name, 0):9.0f}" for name in ("refreshes", "rows_read", "caches_read")]
            proof = "exact" if row["exact"] else row["certificate"]
            print(f"{case:26} {row['by']:9} {row['ms']:10.2f}", *seconds, *counts, proof, flush=True)
    return None


def solve_as_rank(options: argparse.Namespace) -> None:
    """Solve with the other processes; rank 0 prints a line for each way."""
    import torch
    import torch.distributed as dist

    from lapwing import distributed
    from lapwing.gpu.runtime.launch import finish_builds

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    size, case = dist.get_world_size(), options.cases[0]
    kind, _, rest = case.partition(":")
    dtype, _, n = rest.partition("@")
    begin, end = int(n) * rank // size, int(n) * (rank + 1) // size
    rows = make(torch, kind, int(n), range(begin, end), torch.device("cuda", rank), getattr(torch, dtype))
    torch.cuda.empty_cache()
    objectives = set()
    for way in options.ways:
        os.environ["LAPWING_PEER_MEMORY"] = WAYS[way]
        best: tuple[float, Any] = float("inf"), None
        for turn in range(WARM_SOLVES + options.solves):
            torch.cuda.synchronize()
            began = time.perf_counter()
            result = distributed.solve(rows, memory_limit=0)
            torch.cuda.synchronize()
            elapsed = time.perf_counter() - began
            if turn < WARM_SOLVES:
                finish_builds()
            elif elapsed < best[0]:
                best = elapsed, result
        result = best[1]
        assert result.certificate.complete
        objectives.add(result.objective)
        if rank == 0:
            told = {"case": case, "by": way, "ms": 1e3 * best[0], "objective": result.objective}
            told |= {"exact": result.certificate.exact, "certificate": str(result.certificate)}
            print(json.dumps(told | {"plan": str(result.plan)} | result.statistics), flush=True)
    assert len(objectives) == 1, objectives
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
