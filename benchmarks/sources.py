"""What does it cost not to have a matrix?

A run of some tables or sizes leaves the others in the output as they are. Three tables, float32 unless said otherwise,
every answer certified:

- large: problems whose matrix would take gigabytes. Wall time and peak memory of a fresh process (Linux only), all
  processors; how often a row is read to list all rows, to refresh lists, and for the certificate; and how the time of
  geometric problems grows with n, drawn in `docs/images/sources.png`. "images": the pixels of scikit-learn's two
  photographs, colour and position (`make .venv/with-demo`).
- tiers: the same geometric problem as a matrix, as points, as a formula, from a callback that returns blocks of a
  matrix (one thread, its cache empty at first), and streamed from a file that the system has in memory, half of which
  is kept; each the best of several solves in alternation.
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
from benchmarks.growth import power
from benchmarks.harness import ONE_THREAD, ROOT, Report, output_path
from benchmarks.memory import resident

SEED = 1
LARGE = (*(("geometric", n) for n in (10_000, 20_000, 50_000, 100_000)), ("images", 19_200))
PICTURE = ROOT / "docs" / "images" / "sources.png"
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
    counted = {name: value / len(x) for name, value in result.statistics.items() if name.endswith("_rows_read")}
    rows_read = {
        "list": counted["start_rows_read"] + counted["list_rows_read"],
        "refresh": counted["auction_rows_read"] + counted["search_rows_read"],
        "certify": 1.0,
    }
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
    print(f"{'class':12} {'n':>7} {'seconds':>8} {'peak MB':>8}   rows read a row: to list, to refresh, to certify")
    for cls, n in instances:
        command = [sys.executable, "-m", "benchmarks.sources", "--measure", cls, str(n)]
        row = json.loads(subprocess.check_output(command, cwd=ROOT, text=True))
        record(report, {"table": "large"} | row)
        reads = "  ".join(f"{read:6.2f}" for read in row["rows_read_per_row"].values())
        print(f"{cls:12} {n:7} {row['seconds']:8.2f} {row['peak'] / 1e6:8.1f}   {reads}", flush=True)


def draw(rows: list[dict[str, Any]], path: Path) -> float:
    """Draw time and memory of geometric problems against n; return the power of n that fits the times."""
    from matplotlib.figure import Figure

    found = sorted((r["n"], r["seconds"], r["peak"] / 1e6) for r in rows if r.get("class") == "geometric")
    sizes, seconds, megabytes = (list(column) for column in zip(*found, strict=True))
    fitted = power(sizes, seconds)
    figure = Figure(figsize=(9, 3.8), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(sizes, seconds, marker="o", color="black")
    left.set_title(f"seconds, certificate included: $n^{{{fitted:.2f}}}$")
    right.loglog(sizes, megabytes, marker="o", color="black", label="peak of the process")
    right.loglog(sizes, [4e-6 * n * n for n in sizes], linestyle="--", color="grey", label="the matrix, float32")
    right.set_title("megabytes")
    right.legend()
    for panel in (left, right):
        panel.set_xticks(sizes, [f"{n:,}" for n in sizes])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.set_xlabel("points on each side")
    figure.savefig(path)
    return fitted


def record(report: Report, row: dict[str, Any]) -> None:
    """Add a row in place of one for the same cell."""
    cell = [row.get(key) for key in ("table", "class", "tier", "n")]
    rows = report.content["rows"]
    rows[:] = [other for other in rows if [other.get(key) for key in ("table", "class", "tier", "n")] != cell]
    report.add(row)


def tiers(report: Report, sizes: list[int], folder: str) -> None:
    print(f"{'tier':12} {'n':>7} {'seconds':>8} {'to dense':>9}")
    for n in sizes:
        x, y = points(n, "float32")
        source = lw.costs.squared_euclidean(x, y)
        dense = source.read(slice(None))
        file = Path(folder) / f"{n}.npy"
        np.save(file, dense)
        kinds: dict[str, Any] = dict.fromkeys(("dense", "computed", "formula", "callback", "streamed"))
        kinds |= {"dense": dense, "computed": source}
        best = dict.fromkeys(kinds, float("inf"))
        for _ in range(ROUNDS):
            for tier, cost in kinds.items():
                if tier == "callback":  # with an empty cache
                    cost = lw.costs.rows(partial(rows_of, dense), dense.shape, dense.dtype, "8GB")
                if tier == "formula":
                    cost = lw.costs.expression("(x0-y0)**2 + (x1-y1)**2", x, y)
                limit = None
                if tier == "streamed":
                    cost, limit = np.load(file, mmap_mode="r"), dense.nbytes // 2
                best[tier] = min(best[tier], wall(partial(lw.solve, cost, method="core", memory_limit=limit)))
        for tier, seconds in best.items():
            ratio = seconds / best["dense"]
            record(report, {"table": "tiers", "tier": tier, "n": n, "seconds": seconds, "ratio": ratio})
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
        record(
            report, {"table": "lazy", "n": n, "cpu": ours, "pot": float(peer), "pot_version": version, "ratio": ratio}
        )
        print(f"{n:7} {ours:8.2f} {float(peer):8.2f} {ratio:6.1f}x", flush=True)


def main() -> None:
    """Fill the tables; print a line for each row."""
    parser = argparse.ArgumentParser(description="Costs that no matrix holds.")
    parser.add_argument("--tables", nargs="+", choices=["large", "tiers", "lazy"], default=["tiers", "lazy", "large"])
    parser.add_argument("--short", action="store_true", help="small sizes only")
    parser.add_argument("--sizes", nargs="+", type=int, help="of the full sizes, these alone")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", nargs=2, metavar=("CLASS", "N"), help="one large problem, in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_large(options.measure[0], int(options.measure[1]))))
        return

    def wanted(sizes: list[int]) -> list[int]:
        return [n for n in sizes if options.sizes is None or n in options.sizes]

    path = options.output or output_path("sources", options.short)
    others = [] if not path.exists() else json.loads(path.read_text(encoding="utf-8"))["rows"]
    report = Report(path, "costs that no matrix holds")
    report.content["rows"] = others
    if "tiers" in options.tables:
        with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
            tiers(report, [1000] if options.short else wanted([1000, 2000, 4000]), folder)
    if "lazy" in options.tables:
        lazy(report, [1000] if options.short else wanted([2000, 5000, 10_000]))
    if "large" in options.tables:
        large(report, LARGE[:1] if options.short else tuple(cell for cell in LARGE if wanted([cell[1]])))
        if not options.short:
            report.write(power=draw(report.content["rows"], PICTURE))
            print(f"geometric: n^{report.content['power']:.2f}; wrote {PICTURE}")


if __name__ == "__main__":
    main()
