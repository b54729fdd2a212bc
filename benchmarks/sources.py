"""What does it cost not to have a matrix?

Three tables, float32 unless said otherwise, every answer certified:

- large: problems whose matrix would take gigabytes. Wall time and peak memory of a fresh process (Linux only), all
  processors. "images": the pixels of scikit-learn's two photographs, colour and position (`make .venv/with-demo`).
- tiers: the same geometric problem as a matrix, as points, from a callback that returns blocks of a matrix (one thread,
  its cache empty at first), and streamed from a file that the system has in memory, half of which is kept; each the
  best of several solves in alternation.
- lazy: CPU time on one thread against POT's network simplex with costs computed on the fly, `ot.lp.emd2_lazy`, float64.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.environments import python_of
from benchmarks.harness import ONE_THREAD, ROOT, Report, output_path
from benchmarks.memory import resident

SEED = 1
LARGE = (("geometric", 10_000), ("geometric", 20_000), ("geometric", 50_000), ("images", 19_200))
PIXELS = (160, 120)
ROUNDS = 7


def points(n: int, dtype: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two sets of n points in the unit square."""
    rng = np.random.default_rng(SEED)
    return rng.random((n, 2)).astype(dtype), rng.random((n, 2)).astype(dtype)


def photographs() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the pixels of two photographs, (19200, 5): colour and weighted position."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    small = [Image.fromarray(image).resize(PIXELS, Image.Resampling.LANCZOS) for image in load_sample_images().images]
    first, second = (lw.images.pixels(np.asarray(image, dtype=np.float64) / 255) for image in small)
    return first, second


def measure_large(cls: str, n: int) -> dict[str, Any]:
    """Solve one instance in this process; return wall seconds by stage, peak memory and counters."""
    x, y = photographs() if cls == "images" else points(n, "float32")
    began = time.perf_counter()
    result = lw.solve(lw.costs.squared_euclidean(x, y))
    seconds = time.perf_counter() - began
    assert result.certificate is not None
    rows_read = result.statistics["dense_rows_read"] / len(x)
    stages = {name: value for name, value in result.statistics.items() if name.endswith("_seconds")}
    return {
        "class": cls,
        "n": len(x),
        "seconds": seconds,
        "peak": resident("VmHWM"),
        "rows_read_per_row": rows_read,
        "bound": float(result.certificate.bound),
        "exact": result.certificate.exact,
        **stages,
    }


def large(report: Report, instances: tuple[tuple[str, int], ...]) -> None:
    print(f"{'class':12} {'n':>7} {'seconds':>8} {'peak MB':>8} {'rows read a row':>16}")
    for cls, n in instances:
        command = [sys.executable, "-m", "benchmarks.sources", "--measure", cls, str(n)]
        row = json.loads(subprocess.check_output(command, cwd=ROOT, text=True))
        report.add({"table": "large"} | row)
        print(
            f"{cls:12} {n:7} {row['seconds']:8.2f} {row['peak'] / 1e6:8.1f} {row['rows_read_per_row']:16.1f}",
            flush=True,
        )


def tiers(report: Report, sizes: list[int], folder: str) -> None:
    print(f"{'tier':12} {'n':>7} {'seconds':>8} {'to dense':>9}")
    for n in sizes:
        x, y = points(n, "float32")
        source = lw.costs.squared_euclidean(x, y)
        dense = source.read(slice(None))
        file = Path(folder) / f"{n}.npy"
        np.save(file, dense)
        kinds: dict[str, Any] = {"dense": dense, "computed": source, "callback": None, "streamed": None}
        best = dict.fromkeys(kinds, float("inf"))
        for _ in range(ROUNDS):
            for tier, cost in kinds.items():
                if tier == "callback":  # with an empty cache
                    cost = lw.costs.rows(partial(rows_of, dense), dense.shape, dense.dtype, "8GB")
                limit = None
                if tier == "streamed":
                    cost, limit = np.load(file, mmap_mode="r"), dense.nbytes // 2
                best[tier] = min(best[tier], wall(partial(lw.solve, cost, method="core", memory_limit=limit)))
        for tier, seconds in best.items():
            ratio = seconds / best["dense"]
            report.add({"table": "tiers", "tier": tier, "n": n, "seconds": seconds, "ratio": ratio})
            print(f"{tier:12} {n:7} {seconds:8.3f} {ratio:8.2f}x", flush=True)


def rows_of(matrix: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
    """Return a block of rows, as a callback does."""
    return matrix[begin:end]


def wall(solve: Callable[[], object]) -> float:
    began = time.perf_counter()
    solve()
    return time.perf_counter() - began


PEER = """
import sys, time
import numpy as np, ot
n = int(sys.argv[1])
rng = np.random.default_rng(int(sys.argv[2]))
x, y = rng.random((n, 2)), rng.random((n, 2))
began = time.process_time()
value = ot.lp.emd2_lazy(x, y, np.ones(n), np.ones(n), metric="sqeuclidean", numItermax=10**9, return_matrix=False)
print(time.process_time() - began, float(value), ot.__version__)
"""


def lazy(report: Report, sizes: list[int]) -> None:
    print(f"{'n':>7} {'lapwing':>8} {'POT':>8} {'ratio':>7}")
    for n in sizes:
        command = [str(python_of("pot:emd2_lazy")), "-c", PEER, str(n), str(SEED)]
        peer, value, version = subprocess.check_output(command, text=True, env=os.environ | ONE_THREAD).split()
        source = lw.costs.squared_euclidean(*points(n, "float64"))
        began = time.process_time()
        result = lw.solve(source, threads=1)
        ours = time.process_time() - began
        if abs(result.objective - float(value)) > 1e-9 * result.objective:
            raise RuntimeError(f"n = {n}: objective {result.objective!r}, POT's {value}")
        ratio = float(peer) / ours
        report.add({"table": "lazy", "n": n, "cpu": ours, "pot": float(peer), "pot_version": version, "ratio": ratio})
        print(f"{n:7} {ours:8.2f} {float(peer):8.2f} {ratio:6.1f}x", flush=True)


def main() -> None:
    """Fill the tables; print a line for each row."""
    parser = argparse.ArgumentParser(description="Costs that no matrix holds.")
    parser.add_argument("--tables", nargs="+", choices=["large", "tiers", "lazy"], default=["tiers", "lazy", "large"])
    parser.add_argument("--short", action="store_true", help="small sizes only")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", nargs=2, metavar=("CLASS", "N"), help="one large problem, in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_large(options.measure[0], int(options.measure[1]))))
        return
    report = Report(options.output or output_path("sources", options.short), "costs that no matrix holds")
    if "tiers" in options.tables:
        with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
            tiers(report, [1000] if options.short else [1000, 2000, 4000], folder)
    if "lazy" in options.tables:
        lazy(report, [1000] if options.short else [2000, 5000, 10_000])
    if "large" in options.tables:
        large(report, LARGE[:1] if options.short else LARGE)


if __name__ == "__main__":
    main()
