"""Which classes of costs does a GPU find hard, certificate included?

    python -m benchmarks.gpu_classes [--classes PART ...] [--sizes 2000 8000] [--dtypes narrow] [--output FILE.json]

Every class of everyday.py, in the GPU's memory when the clock starts; needs no other package. Minimum of several
solves, the first of which warm up. The measure of a class is its time over that of uniform costs of the same size and
dtype in the same run. Rows are written, and printed at the end, worst first, with what a long time was spent on:
searches, steps one after the other, and how often a row was read again. Every answer must be proven; one that takes
longer than `--timeout` counts with its time until then.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.everyday import CLASSES
from benchmarks.harness import RESULTS, Report, keep_to_quick_processors
from lapwing import solve
from lapwing.gpu.costs.upload import upload
from lapwing.gpu.runtime.arrays import ITEM_BYTES
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import finish_builds

SIZES = (2000, 4096, 8000)
REFERENCE = "uniform"
NARROW = {"f": "float32", "i": "int32", "u": "int32", "b": "uint8"}  # as people have costs on a GPU
WARM_SOLVES = 2
LEAST_SOLVES = 3  # timed, unless one takes longer than the budget
SEED = 1


class OnGpu:
    """A host matrix in the memory of the first GPU, for as long as this is there."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        with Context() as context:
            self._array, copier = upload(context, matrix)
            with copier:
                copier.finish()
        item = ITEM_BYTES[self._array.dtype]
        self.__cuda_array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": self._array.shape,
            "strides": tuple(stride * item for stride in self._array.strides),
            "typestr": matrix.dtype.str,
            "data": (self._array.pointer, True),
            "stream": None,
        }


def make(name: str, n: int, seed: int, dtype: str) -> NDArray[Any]:
    """A matrix of a class; `dtype`: a name, "narrow" or "as it is"."""
    matrix = CLASSES[name](np.random.default_rng([seed, n]), n)
    wanted = NARROW[matrix.dtype.kind] if dtype == "narrow" else None if dtype == "as it is" else dtype
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(matrix, dtype=wanted)


def time_cell(matrix: NDArray[Any], timeout: float, budget: float) -> dict[str, Any]:
    """The best of several solves of one matrix."""
    cost = OnGpu(matrix)
    best, solves, began = float("inf"), 0, time.perf_counter()
    while True:
        start = time.perf_counter()
        result = solve(cost, time_limit=timeout)
        seconds = time.perf_counter() - start
        finish_builds()
        solves += 1
        if solves > WARM_SOLVES or (solves > 1 and seconds > budget):  # the first one may compile
            best = min(best, seconds)
        spent = time.perf_counter() - began
        if best < float("inf") and (spent > budget or solves >= WARM_SOLVES + LEAST_SOLVES):
            break
    certificate, statistics = result.certificate, result.statistics
    assert certificate is not None and certificate.complete and certificate.fault is None
    return {
        "ms": best * 1e3,
        "status": result.status,
        "objective": float(result.objective),
        "exact": certificate.exact,
        "bound": float(certificate.bound),
        "plan": result.plan.device,
        "read_again": (statistics.get("refreshes", 0) + statistics.get("full_rows", 0)) / min(matrix.shape),
        **statistics,
    }


def worst_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their times over those of uniform costs, the worst first."""
    uniform = {(row["n"], row["kind"]): row["ms"] for row in rows if row["class"] == REFERENCE}
    for row in rows:
        row["times_uniform"] = row["ms"] / uniform[row["n"], row["kind"]]
    return sorted(rows, key=lambda row: -float(row["times_uniform"]))


def main() -> None:
    """Time every cell, and print all of them, the worst first."""
    parser = argparse.ArgumentParser(description="Times of everyday classes of costs on a GPU, the worst first.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="PART", help="parts of names")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument(
        "--dtypes",
        nargs="+",
        default=["narrow"],
        help="numpy's names; 'narrow': float32 and int32; 'as it is': the class's own",
    )
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for repeating the solves of one cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_classes.json")
    options = parser.parse_args()
    names = [name for name in CLASSES if any(part in name for part in options.classes)]
    report = Report(options.output, "milliseconds of lapwing.solve, certificate included; costs on the GPU")
    with Context() as context:
        report.write(gpu=context.info.name)
    keep_to_quick_processors()
    for dtype in options.dtypes:
        for n in options.sizes:
            for name in [REFERENCE, *(name for name in names if name != REFERENCE)]:
                matrix = make(name, n, options.seed, dtype)
                cell = time_cell(matrix, options.timeout, options.budget)
                row = {"class": name, "n": n, "kind": dtype, "dtype": matrix.dtype.name, "shape": matrix.shape, **cell}
                report.add(row)
                print(f"{name:30} {n:6} {row['dtype']:8} {row['ms']:9.2f} ms", flush=True)
    rows = worst_first(report.content["rows"])
    report.write(rows=rows)
    heads = (f"{'class':30}", f"{'n':>6}", f"{'dtype':8}", f"{'ms':>9}", f"{'x uniform':>9}", "searches")
    print()
    print(*heads, f"{'steps':>8}", f"{'read again':>10}")
    for row in rows:
        measured = f"{row['class']:30} {row['n']:6} {row['dtype']:8} {row['ms']:9.2f} {row['times_uniform']:9.1f}"
        counts = f"{row.get('searches', 0):8.0f} {row.get('steps', 0):8.0f} {row['read_again']:10.2f}"
        print(measured, counts, "" if row["status"] == "optimal" else row["status"])


if __name__ == "__main__":
    main()
