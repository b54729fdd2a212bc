"""Small problems: one call against every peer's, and batches against lapx's batch functions.

    python benchmarks/small.py calls [--sizes 10,32,100,300] [--classes uniform,geometric,...] [--rounds 7]
    python benchmarks/small.py batches

Peers are taken as found: SciPy, lapjv, and whichever of lap and lapx is installed (both are called ``lap``, so run the
script once in each of two environments). All functions take turns in one process on the same matrix, every one pinned
to one thread; a figure is the minimum over rounds, and the ratio is the best peer's over Lapwing's: above 1, Lapwing is
faster. Every answer is checked against SciPy's optimum.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # lapjv's threads would go on spinning into the next function's turn

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import lapwing

Function = Callable[[NDArray[Any]], object]

CLASSES = ["uniform", "int:0.1", "int:1", "int:10", "int:100", "geometric", "disjoint", "lowrank:1", "lowrank:2"]
CLASSES += ["lowrank:8", "sanity", "rectangular"]
BATCHES = [(10_000, 10), (10_000, 32), (1_000, 128)]
SLOW = 0.2  # seconds: a peer that takes longer on an instance is dropped from it
ROUND = 1e-3  # seconds of calls that make up one timing


def peers(square: bool) -> dict[str, Function]:
    """Every peer function that takes a dense matrix."""
    found: dict[str, Function] = {"scipy": linear_sum_assignment}
    try:
        import lap
    except ImportError:
        pass
    else:
        for name in ("lapjv", "lapjvx", "lapjvs", "lapjvr", "lapjvh"):
            if hasattr(lap, name):
                solve = getattr(lap, name)
                found[f"lap.{name}"] = solve if square else partial(solve, extend_cost=True)
        if hasattr(lap, "lapjvc"):
            found["lap.lapjvc"] = lap.lapjvc
    if square:
        try:
            import lapjv
        except ImportError:
            pass
        else:
            found["lapjv"] = lapjv.lapjv
    return found


def instance(name: str, n: int, seed: int) -> NDArray[np.float64]:
    if name == "rectangular":
        return np.random.default_rng(seed).random((n, 2 * n))
    return lapwing.instances.generate(name, n, seed)


def seconds(function: Function, cost: NDArray[Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function(cost)
    return (time.perf_counter() - start) / calls


def take_turns(functions: dict[str, Function], cost: NDArray[Any], rounds: int) -> dict[str, float]:
    """The least seconds of a call for each function; those that fail or are far too slow are left out."""
    best: dict[str, float] = {}
    for name, function in functions.items():
        try:
            function(cost)
            first = seconds(function, cost, 1)
        except (TypeError, ValueError):
            continue
        if first <= SLOW:
            best[name] = first
    calls = {name: max(1, int(ROUND / first)) for name, first in best.items()}
    for _ in range(rounds):
        for name in best:
            best[name] = min(best[name], seconds(functions[name], cost, calls[name]))
    return best


def verify(cost: NDArray[Any]) -> None:
    ours, theirs = cost[lapwing.linear_sum_assignment(cost)].sum(), cost[linear_sum_assignment(cost)].sum()
    if not math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-12):
        raise AssertionError(f"{ours} is not the optimum {theirs}")


def compare_calls(sizes: list[int], classes: list[str], seeds: int, rounds: int) -> None:
    ratios: dict[tuple[int, str], list[float]] = {}
    for n in sizes:
        for name in classes:
            for dtype in (np.float64, np.float32):
                for seed in range(1, seeds + 1):
                    cost = instance(name, n, seed).astype(dtype)
                    verify(cost)
                    functions = {"lapwing": lapwing.linear_sum_assignment} | peers(cost.shape[0] == cost.shape[1])
                    best = take_turns(functions, cost, rounds)
                    ours = best.pop("lapwing")
                    peer = min(best, key=best.__getitem__)
                    ratio = best[peer] / ours
                    ratios.setdefault((n, name), []).append(ratio)
                    print(
                        f"{n:5} {name:12} {dtype.__name__:8} seed {seed}: {ratio:6.2f}  (best peer: {peer})",
                        flush=True,
                    )
    print("\nratio to the best peer, geometric mean over seeds and dtypes (least in brackets)")
    for (n, name), values in ratios.items():
        print(f"{n:5} {name:12} {math.exp(np.mean(np.log(values))):6.2f}  ({min(values):.2f})")


def compare_batches(rounds: int) -> None:
    import lap

    rng = np.random.default_rng(1)
    for count, n in BATCHES:
        for dtype in (np.float64, np.float32):
            costs = rng.random((count, n, n)).astype(dtype)
            functions: dict[str, Function] = {
                "lapwing": partial(lapwing.solve_batch, threads=1),
                "lapwing, 2 threads": partial(lapwing.solve_batch, threads=2),
            }
            for name in ("lapjvr_batch", "lapjvh_batch", "lapjvx_batch", "lapjvs_batch"):
                functions[f"lapx.{name}"] = partial(getattr(lap, name), n_threads=1)
            best = dict.fromkeys(functions, math.inf)
            for _ in range(rounds):
                for name, function in functions.items():
                    best[name] = min(best[name], seconds(function, costs, 1))
            peer = min((name for name in best if not name.startswith("lapwing")), key=best.__getitem__)
            print(
                f"{count:6} of {n:3} x {n:<3} {dtype.__name__:8}: {best[peer] / best['lapwing']:5.2f} times {peer}, "
                f"{best['lapwing'] / best['lapwing, 2 threads']:4.2f} times faster with 2 threads",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["calls", "batches"])
    parser.add_argument("--sizes", default="10,32,100,300")
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    if given.what == "batches":
        compare_batches(given.rounds)
    else:
        compare_calls([int(n) for n in given.sizes.split(",")], given.classes.split(","), given.seeds, given.rounds)


if __name__ == "__main__":
    main()
