"""What does a large number M in place of infinity cost, against infinity and against SciPy?

Uniform costs, most of them replaced by M, and one assignment below it. All alternate in one run, one thread; the best
of several is printed, in microseconds, and every objective is compared with SciPy's.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial

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
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 40, 100, 300, 400, 700, 1000, 1500, 3000])
    arguments = parser.parse_args()
    print(f"{'n':>5} {'solve M':>10} {'inf':>10} ratio {'lsa M':>10} {'inf':>10} ratio {'SciPy M':>10}")
    for n in arguments.sizes:
        share = 0.8 if n < 100 else 0.97
        given, forbidden = costs(n, arguments.large, share), costs(n, np.inf, share)
        want = math.fsum(given[linear_sum_assignment(given)])
        assert lw.solve(given).objective <= want * (1 + 2.0**-50)
        calls: dict[str, Callable[[], object]] = {
            "solve M": partial(lw.solve, given, threads=1),
            "solve inf": partial(lw.solve, forbidden, threads=1),
            "lsa M": partial(lw.linear_sum_assignment, given),
            "lsa inf": partial(lw.linear_sum_assignment, forbidden),
            "scipy": partial(linear_sum_assignment, given),
        }
        t = {name: 1e6 * seconds for name, seconds in best_times(calls, max(5, 30_000 // n // 3)).items()}
        print(
            f"{n:5} {t['solve M']:10.1f} {t['solve inf']:10.1f} {t['solve M'] / t['solve inf']:5.2f} "
            f"{t['lsa M']:10.1f} {t['lsa inf']:10.1f} {t['lsa M'] / t['lsa inf']:5.2f} {t['scipy']:10.1f}"
        )


if __name__ == "__main__":
    main()
