"""What does a large number M in place of infinity cost, against infinity and against SciPy?

Uniform costs, most of them replaced by M, and one assignment below it. All alternate in one run, one thread; the best
of several is printed, in microseconds, and every objective is compared with SciPy's. With `--device cuda` the costs are
in the GPU's memory; SciPy reads the same numbers in the host's.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import lapwing as lw

Matrix = NDArray[np.float64]


def costs(n: int, large: float, share: float, seed: int = 1) -> Matrix:
    rng = np.random.default_rng(seed)
    cost = rng.random((n, n))
    cost[rng.random((n, n)) < share] = large
    cost[np.arange(n), rng.permutation(n)] = rng.random(n)
    return cost


def best_times(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=float, default=1e12)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 40, 100, 300, 400, 700, 1000, 1500, 3000])
    arguments = parser.parse_args()
    columns = (
        ["solve M", "solve inf", "ratio"] + ["lsa M", "lsa inf", "ratio"] * (arguments.device == "cpu") + ["SciPy M"]
    )
    print(f"{'n':>5}", *(f"{column:>10}" for column in columns))
    for n in arguments.sizes:
        share = 0.8 if n < 100 else 0.97
        given, forbidden = (costs(n, large, share).astype(arguments.dtype) for large in (arguments.large, np.inf))
        want = math.fsum(given[linear_sum_assignment(given)].tolist())
        ours: list[Any] = [given, forbidden]
        if arguments.device == "cuda":
            import torch

            ours = [torch.from_numpy(cost).cuda() for cost in ours]
        assert lw.solve(ours[0]).objective <= want * (1 + 2.0**-50)
        calls: dict[str, Callable[[], object]] = {
            "solve M": partial(lw.solve, ours[0], threads=1),
            "solve inf": partial(lw.solve, ours[1], threads=1),
            "scipy": partial(linear_sum_assignment, given),
        }
        if arguments.device == "cpu":
            calls["lsa M"] = partial(lw.linear_sum_assignment, given)
            calls["lsa inf"] = partial(lw.linear_sum_assignment, forbidden)
        t = {name: 1e6 * seconds for name, seconds in best_times(calls, max(5, 30_000 // n // 3)).items()}
        row = [t["solve M"], t["solve inf"], t["solve M"] / t["solve inf"]]
        if arguments.device == "cpu":
            row += [t["lsa M"], t["lsa inf"], t["lsa M"] / t["lsa inf"]]
        print(f"{n:5}", *(f"{value:10.2f}" for value in [*row, t["scipy"]]))


if __name__ == "__main__":
    main()
