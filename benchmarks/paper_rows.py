"""How many rows does `ssp` read on the matrices of Algorithm 1015's Table 1?

    python -m benchmarks.paper_rows --sizes 1000 1414 2000 2828 4000 [--methods ...] [--threads 2] [--seconds 300]

Without epsilon a matrix of n = 8000 takes minutes, so the table is counted in parts: each run adds to
`results/paper_rows.json` what is missing there, one matrix after the other as `--sizes` and `--classes` name them, and
begins nothing else after so many seconds. Several matrices are solved at once, by one thread each: counts depend
neither on that nor on the machine. Every objective is that of a certified answer. At the end `results/papers/` has the
table and its figure as `lapwing papers` writes them, of all cells that are complete: means of five matrices, as in the
paper. More seeds (`--seeds 20`) tell how far such means differ by chance; a line for each cell says so. `--rounding`
counts the printed method on matrices of rank one that differ by rounding, or by the order of their columns, alone, and
keeps the counts in `results/paper_rows_rounding.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.harness import RESULTS, Report, commit
from lapwing.papers import TABLES, Column, Instance, Limits, Measurements, run_table
from lapwing.papers.catalogue import AS_PRINTED, CLASSES
from lapwing.papers.measure import NotMeasuredError, Solved

WRITTEN = ("algorithm-1015-1", "algorithm-1015-figure-4")
COLUMNS = {column.label: column for column in TABLES[WRITTEN[0]].columns}
_SAME = 1e-9  # relative; objectives that agree


class Counted(Measurements):
    """The solves that are in the file of counts."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(Limits())
        self._rows = {key_of(row): row for row in rows}

    def of(self, column: Column, instance: Instance) -> list[Solved]:
        """The solves of a column's method on an instance, a seed each."""
        label = next(label for label, each in COLUMNS.items() if each.method == column.method)
        found = [self._rows.get((instance.cls, instance.n, seed, label)) for seed in range(1, instance.seeds + 1)]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            raise NotMeasuredError(f"counted on {len(rows)} of {len(found)} matrices")
        return [Solved(math.nan, math.nan, instance.n, {"dense_rows_read": row["rows_read"]}) for row in rows]


def key_of(row: dict[str, Any]) -> tuple[str, int, int, str]:
    """Class, size, seed and column of a count."""
    return row["class"], row["n"], row["seed"], row["column"]


class Counts:
    """The file of counts, to which each solve is added as soon as it is made."""

    def __init__(self, path: Path) -> None:
        self.report = Report(path, "rows that searches read on the matrices of Algorithm 1015's Table 1")
        if path.exists():
            self.report.content["rows"] = json.loads(path.read_text(encoding="utf-8"))["rows"]
        self._known = {key_of(row) for row in self.rows}
        self._lock = Lock()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All counts."""
        rows: list[dict[str, Any]] = self.report.content["rows"]
        return rows

    def count(self, cls: str, n: int, seed: int, labels: list[str], until: float) -> None:
        """Solve one matrix by what is missing; `until` is of `time.monotonic`."""
        missing = [label for label in labels if (cls, n, seed, label) not in self._known]
        if not missing or time.monotonic() > until:
            return
        cost = lw.instances.generate(cls, n, seed, dtype=np.float64)
        optimum = lw.solve(cost, threads=1).objective
        for label in missing:
            column, began = COLUMNS[label], time.perf_counter()
            result = lw.solve(cost, method=column.method or "auto", threads=1, certify=False)
            took = time.perf_counter() - began
            assert math.isclose(result.objective, optimum, rel_tol=_SAME, abs_tol=_SAME), (cls, n, seed, label)
            found = result.statistics
            read = found.get("dense_rows_read", found.get("rows_scanned", 0) - found.get("rows_scanned_start", 0))
            row = {"class": cls, "n": n, "seed": seed, "column": label, "rows_read": int(read)}
            row |= {"seconds": round(took, 3), "commit": commit()}
            with self._lock:
                self.report.add(row)
            print(f"{cls:10} {n:6} {seed} {label:22} {int(read):10} {took:8.2f} s", flush=True)


def write_tables(counts: Counts, folder: Path) -> None:
    """The table and its figure, of all counts."""
    content = counts.report.content
    about = {"machine": f"{content['machine']['processor']}, {content['machine']['cores']} cores"}
    about |= {key: content[key] for key in ("commit", "command")}
    measured = Counted(counts.rows)
    for name in WRITTEN:
        record = about | {"lapwing": lw.__version__} | run_table(TABLES[name], measured)
        (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def compare(counts: Counts) -> None:
    """Print, for each printed mean, how far ours are from it, and by how much means of five differ by chance."""
    for instance in TABLES[WRITTEN[0]].instances:
        for label, column in COLUMNS.items():
            printed = instance.printed.get(column.printed or label)
            found = {key_of(row)[2]: row["rows_read"] for row in counts.rows
                     if key_of(row) == (instance.cls, instance.n, row["seed"], label)}  # fmt: skip
            read = [found[seed] for seed in sorted(found)]
            if printed is None or len(read) < instance.seeds:
                continue
            five, every = np.mean(read[: instance.seeds]), np.mean(read)
            chance = np.std(read, ddof=1) / math.sqrt(instance.seeds)
            away = (printed - every) / max(math.hypot(chance, np.std(read, ddof=1) / math.sqrt(len(read))), 1e-9)
            print(
                f"{instance.label:16} {label:16} printed {printed:9}, ours {100 * (five / printed - 1):+6.1f} %; of"
                f" {len(read):2} matrices {100 * (every / printed - 1):+6.1f} %, means of five differ by"
                f" {100 * chance / every:4.1f} %, the printed one by {away:+5.1f} times that"
            )


def of_rank_one(n: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Matrices x x^T; the products of the third are exact, half of those of the last are the next larger numbers."""
    random = np.random.default_rng(seed)
    x = random.random(n)
    short = x.astype(np.float32).astype(np.float64)
    square = np.outer(x, x)
    return {
        "as it is": square,
        "columns sorted": np.outer(x, np.sort(x)),
        "products exact": np.outer(short, short),
        "times 1000": 1000 * square,
        "last bits at random": np.where(random.random((n, n)) < 0.5, square, np.nextafter(square, 2)),
    }


def count_roundings(report: Report, n: int, seeds: int) -> None:
    """Keep the rows that the printed method reads on matrices of rank one; print means and extremes, over n."""
    read: dict[str, list[float]] = {}
    for seed in range(1, seeds + 1):
        for name, cost in of_rank_one(n, seed).items():
            found = lw.solve(cost, method=AS_PRINTED, threads=1, certify=False).statistics
            rows = int(found["rows_scanned"] - found["rows_scanned_start"])
            report.add({"matrix": name, "n": n, "seed": seed, "rows_read": rows})
            read.setdefault(name, []).append(rows / n)
    for name, counts in read.items():
        print(f"{n:6} {name:20} {np.mean(counts):.2f} n, {min(counts):.2f} to {max(counts):.2f}", flush=True)


def main() -> None:
    """Count what is missing; print a line for each solve."""
    parser = argparse.ArgumentParser(description="Rows that Algorithm 1015 reads.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 1414, 2000])
    parser.add_argument("--columns", nargs="+", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--rounding", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS / "paper_rows.json")
    options = parser.parse_args()
    if options.rounding:
        report = Report(RESULTS / "paper_rows_rounding.json", "rows read on matrices of rank one, by their rounding")
        for n in options.sizes:
            count_roundings(report, n, options.seeds)
        return
    counts, until = Counts(options.output), time.monotonic() + options.seconds
    with ThreadPoolExecutor(options.threads) as pool:
        tasks = product(options.sizes, options.classes, range(1, options.seeds + 1))
        for done in [pool.submit(counts.count, cls, n, seed, options.columns, until) for n, cls, seed in tasks]:
            done.result()
    write_tables(counts, RESULTS / "papers")
    compare(counts)


if __name__ == "__main__":
    main()
