"""How often is a row of the matrix read?

Codes of the Jonker-Volgenant family read rows for as long as they search. Lapwing reads a row into its candidate list,
and again when the list no longer proves its minimum; the statistics of the Result count it. The certificate's own pass
is not counted: it is one reading of every row, whatever the class.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.harness import Report, output_path
from lapwing import instances, solve

CLASSES = ("uniform", "int:0.1", "int:1", "int:10", "int:100", "geometric", "disjoint", "lowrank:1", "lowrank:8")
SEEDS = (1, 2, 3)


def main() -> None:
    """Solve every instance; print the mean over the seeds."""
    parser = argparse.ArgumentParser(description="Dense rows read for each row of the matrix.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 2000, 4000])
    parser.add_argument("--short", action="store_true", help="n = 1000 only")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.short:
        options.sizes = [1000]
    report = Report(options.output or output_path("rows", options.short), "dense rows read per row, float32")
    print(f"{'class':12} {'n':>6} {'rows read per row':>18}")
    for cls in options.classes:
        for n in options.sizes:
            read = []
            for seed in SEEDS:
                result = solve(instances.generate(cls, n, seed, dtype="float32"), threads=1, method="core")
                read.append(result.statistics["dense_rows_read"] / n)
            mean = sum(read) / len(read)
            report.add({"class": cls, "n": n, "dtype": "float32", "rows_read_per_row": mean, "by_seed": read})
            print(f"{cls:12} {n:6} {mean:18.2f}", flush=True)


if __name__ == "__main__":
    main()
