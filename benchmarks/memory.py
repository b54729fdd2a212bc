"""How much memory does a solve take besides the matrix?

Measured, not computed: a fresh process makes the matrix, has the kernel reset its high-water mark of resident memory,
solves with a certificate, and reads the mark again (Linux only: /proc/self/clear_refs and VmHWM).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import ROOT, Report, output_path
from lapwing import instances, solve

CLASSES = ("uniform", "int:10", "geometric", "disjoint")
SEED = 1


def resident(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no field {field}; this benchmark needs Linux")


def measure(cls: str, n: int) -> dict[str, float]:
    """Solve one float32 instance in this process; return its peak extra memory and the matrix, in bytes."""
    solve(instances.generate(cls, 64, SEED, dtype="float32"))  # what is loaded once is not the solve's
    cost = instances.generate(cls, n, SEED, dtype="float32")
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    result = solve(cost)
    assert result.certificate is not None
    return {"extra": resident("VmHWM") - before, "matrix": cost.nbytes, "gap": float(result.certificate.gap)}


def main() -> None:
    """Measure every cell in a process of its own; print a line for each."""
    parser = argparse.ArgumentParser(description="Peak memory of lapwing.solve besides the matrix, float32.")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 16000])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", nargs=2, metavar=("CLASS", "N"), help="one cell, in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], int(options.measure[1]))))
        return
    report = Report(options.output or output_path("memory", short=False), "peak extra bytes of lapwing.solve, float32")
    print(f"{'class':12} {'n':>6} {'extra MB':>9} {'of the matrix':>14}")
    for cls in options.classes:
        for n in options.sizes:
            command = [sys.executable, "-m", "benchmarks.memory", "--measure", cls, str(n)]
            measured = json.loads(subprocess.check_output(command, cwd=ROOT, text=True))
            share = measured["extra"] / measured["matrix"]
            report.add({"class": cls, "n": n, "dtype": "float32", "share": share, **measured})
            print(f"{cls:12} {n:6} {measured['extra'] / 1e6:9.1f} {share:13.1%}", flush=True)


if __name__ == "__main__":
    main()
