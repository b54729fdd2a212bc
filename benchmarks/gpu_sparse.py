"""How long does one sparse problem take on a GPU, certificate included?

    python -m benchmarks.gpu_sparse [--cases random:20@100000 ...] [--seed 1] [--solves 5] [--output results.json]

Arrays by rows (CSR, int64 indices, float64 costs or int64) are in the GPU's memory already, as a tensor of PyTorch.
Minimum of several solves after some to warm up; every answer must be proven. Beside the time stand the counts of what
it is made of, and the most memory that was taken beside the arrays, in bytes an entry.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_single import warm_up
from benchmarks.harness import RESULTS, Report, keep_to_quick_processors
from benchmarks.sparse_classes import SparseInstance, make
from lapwing import solve
from lapwing.gpu.runtime.launch import finish_builds

CASES = (
    "random:20@10000",
    "random:20@100000",
    "random:20@1000000",
    "random:5@100000",
    "int:20@100000",
    "band:10@1000000",
    "knn:16@100000",
    "knn:16@1000000",
    "gated:0@1000000",
    "power:10@200000",
)
WARM_SOLVES = 2  # of each case
MAKERS = 6  # processes that make instances meanwhile: a large one takes 4 GB


def main() -> None:
    """Time the cases; print a line for each."""
    import torch

    parser = argparse.ArgumentParser(description="Times of sparse problems on a GPU.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS@N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_sparse.json")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse")  # as PyTorch says of its layouts
    report = Report(options.output, "milliseconds of lapwing.solve, certificate included; sparse arrays on the GPU")
    with ProcessPoolExecutor(MAKERS, get_context("spawn")) as makers:
        cases = [(case.split("@")[0], int(case.split("@")[1])) for case in options.cases]
        coming = [makers.submit(make, cls, n, options.seed) for cls, n in cases]
        report.write(gpu=torch.cuda.get_device_name(), copy_bytes_per_second=warm_up(torch))
        heads = (f"{'case':18}", f"{'ms':>9}", "rounds", f"{'steps':>6}", "searches", "bids/row", "bytes/entry")
        print(*heads, "certificate")
        for case, instance in zip(options.cases, coming, strict=True):
            row = time_case(torch, case, instance.result(), options.solves)
            report.add(row)
            proof = "exact" if row["exact"] else row["certificate"]
            print(
                f"{case:18} {row['ms']:9.3f} {row['rounds']:6.0f} {row['steps']:6.0f} {row['searches']:8.0f} "
                f"{row['bids_a_row']:8.2f} {row['bytes_an_entry']:11.1f} {proof}",
                flush=True,
            )


def time_case(torch: Any, case: str, instance: SparseInstance, solves: int) -> dict[str, Any]:
    """One instance: the best of `solves`."""
    n, entries = len(instance.indptr) - 1, len(instance.data)
    parts = (torch.from_numpy(part).cuda() for part in (instance.indptr, instance.indices, instance.data))
    cost = torch.sparse_csr_tensor(*parts, size=(n, n), check_invariants=False)
    price = None if np.isnan(instance.price) else instance.price
    keep_to_quick_processors()
    for _ in range(WARM_SOLVES):
        solve(cost, unmatched_cost=price)
        finish_builds()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    best = float("inf")
    for _ in range(solves):
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = solve(cost, unmatched_cost=price)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    extra = torch.cuda.max_memory_allocated() - before
    certificate = result.certificate
    assert certificate is not None and certificate.complete
    return {
        "case": case,
        "ms": best * 1e3,
        "entries": entries,
        "objective": result.objective,
        "exact": certificate.exact,
        "certificate": str(certificate),
        "bids_a_row": result.statistics["bids"] / n,
        "bytes_an_entry": extra / entries,
        **result.statistics,
    }


if __name__ == "__main__":
    main()
