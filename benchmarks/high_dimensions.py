"""How long do points of many dimensions take on a CPU, whose costs are computed once as a matrix?

    python -m benchmarks.high_dimensions [--threads 1] [--output results.json]

Squared distances, one side normal, the other one shifted in some of its coordinates. Seconds, the least of some runs
that alternate: from the points to the answer, certificate included; the same where no matrix may be held; and SciPy's
`cdist`, which computes the matrix alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.spatial.distance import cdist

from benchmarks.harness import RESULTS, Report
from lapwing import costs, solve

SEED, RUNS = 0, 3
CASES = ((2000, 16), (2000, 64), (2000, 784), (4096, 256), (8000, 64))


def main() -> None:
    """Time the cases; print a line for each."""
    parser = argparse.ArgumentParser(description="Times of points of many dimensions.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS / "high_dimensions.json")
    options = parser.parse_args()
    report = Report(options.output, f"seconds of points, seed {SEED}", {"scipy": scipy.__version__})
    for n, dims in CASES:
        for dtype in (np.float32, np.float64):
            row = {"n": n, "dims": dims, "dtype": np.dtype(dtype).name} | times(n, dims, dtype, options.threads)
            report.add(row)
            shown = " ".join(f"{key} {row[key]:.3f} s" for key in ("seconds", "not_held", "cdist"))
            print(f"n = {n}, d = {dims}, {row['dtype']}: {shown}", flush=True)


def times(n: int, dims: int, dtype: Any, threads: int) -> dict[str, float]:
    """The least times of one case."""
    random = np.random.default_rng(SEED)
    x, y = random.normal(size=(2, n, dims))
    y += random.random((n, dims)) < 0.5
    x, y = x.astype(dtype), y.astype(dtype)
    source = costs.squared_euclidean(x, y)
    found = dict.fromkeys(("seconds", "not_held", "cdist"), float("inf"))
    for _ in range(RUNS):
        objectives = set()
        for key, limit in (("seconds", None), ("not_held", 0)):
            began = time.perf_counter()
            result = solve(source, threads=threads, memory_limit=limit)
            found[key] = min(found[key], time.perf_counter() - began)
            assert result.certificate is not None and result.certificate.complete
            objectives.add(result.objective)
        assert len(objectives) == 1
        began = time.perf_counter()
        cdist(x, y, "sqeuclidean")
        found["cdist"] = min(found["cdist"], time.perf_counter() - began)
    return found


if __name__ == "__main__":
    main()
