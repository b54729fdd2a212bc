"""The process in which a solver is timed; runs in the environment of the solver and needs NumPy alone besides it.

Reads one JSON command a line on standard input, answers one JSON line each on standard output:

    {"do": "load", "path": P}                         keep the costs in file P: .npy of a matrix, .npz of a sparse one
    {"do": "time", "solver": S, "loops": L}           solve them L times -> cpu and wall seconds of one solve, objective
    {"do": "versions"}                                -> versions of the packages here

The solvers are those of dense_solvers.py and sparse_solvers.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

dense_solvers, sparse_solvers = map(import_module, ("dense_solvers", "sparse_solvers"))  # of this folder
PACKAGES = ("lapwing", "numpy", "scipy", "lap", "lapx", "lapjv", "pot", "ortools", "torch-linear-assignment", "torch")


def _time(kind: Any, solver: Any, costs: Any, loops: int) -> dict[str, float]:
    kind.touch(costs)  # whoever had the turn before
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(loops):
        answer = solver(costs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / loops, "wall": wall / loops, "objective": kind.objective(costs, answer)}


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Answer commands until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")  # what a solver prints must not mix with the answers
    os.dup2(2, 1)
    kind: Any = dense_solvers
    costs: Any = None
    solvers: dict[str, Any] = {}
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if command["do"] == "load":
                path = Path(command["path"])
                kind = sparse_solvers if path.suffix == ".npz" else dense_solvers
                costs, solvers = kind.load(path), {}
            elif command["do"] == "versions":
                answer = dict(_versions())
            else:
                name = command["solver"]
                if name not in solvers:
                    solvers[name] = kind.MAKERS[name](costs)
                answer = _time(kind, solvers[name], costs, command["loops"])
        except Exception as error:  # a peer's failure is a result, whatever its kind
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
