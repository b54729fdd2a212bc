"""How long do rows that may stay free take? Against SciPy, and as points of clusters against a square problem.

    python -m benchmarks.unmatched [--sizes 400 1000] [--points 16000] [--output FILE.json]

Every class of everyday.py with one unmatched cost in the midst of the costs (half of them are below it, or a fiftieth),
minimised and maximised. SciPy knows no such price; it solves the costs cut off at the price, which is as good where
no more rows than columns are there, and else the best that it has. One thread, CPU seconds, the best of several in
alternation; objectives are compared. Points are computed: 40 clusters of equal or other sizes in the plane, or uniform
ones, as many of either set or not, with prices from one that binds nobody to one at which many stay free.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import __version__ as scipy_version
from scipy.optimize import linear_sum_assignment

from benchmarks.everyday import CLASSES
from benchmarks.harness import RESULTS, Report
from lapwing import costs, solve

QUANTILES = (0.5, 0.02)
SHAPES_LEFT_OUT = ("n x 10 n", "n x 100 n")
SAME = 1e-9
BUDGET = 0.5  # seconds, after which nothing is repeated
CLUSTERS, SPREAD = 40, 0.01
PRICES = (None, 1.0, 0.1, 0.01, 0.001, 0.0001)
POINTS = (*((1.0, price) for price in PRICES), (1.05, None), (1.5, None))  # columns a row, and the unmatched cost
Array = NDArray[Any]


def seconds(call: Callable[[], float]) -> tuple[float, float]:
    """Return the CPU seconds of a call, and its answer."""
    began = time.process_time()
    answer = call()
    return time.process_time() - began, answer


def contest(cost: Array, price: float, maximize: bool) -> dict[str, Any]:
    """Time both in alternation; the objective is that of rows that pay the price where they stay free."""

    def ours() -> float:
        result = solve(cost, unmatched_cost=price, maximize=maximize, device="cpu", threads=1, certify=False)
        return float(result.objective)

    def scipys() -> float:
        cut = np.maximum(cost, price) if maximize else np.minimum(cost, price)
        rows, cols = linear_sum_assignment(cut, maximize=maximize)
        return float(cut[rows, cols].sum() + price * (len(cost) - len(rows)))

    best, answers = [math.inf, math.inf], [0.0, 0.0]
    for _ in range(3):
        for k, call in enumerate((ours, scipys)):
            taken, answers[k] = seconds(call)
            best[k] = min(best[k], taken)
        if sum(best) > BUDGET:
            break
    if abs(answers[0] - answers[1]) > SAME * max(abs(answers[1]), abs(price)) * len(cost):
        raise AssertionError(f"{answers[0]!r} by Lapwing, {answers[1]!r} by SciPy")
    return {"seconds": best[0], "scipy": best[1], "ratio": best[1] / best[0]}


def everyday(report: Report, sizes: list[int]) -> None:
    """Every class, the worst last."""
    rows: list[dict[str, Any]] = []
    for name, make in CLASSES.items():
        if any(shape in name for shape in SHAPES_LEFT_OUT):
            continue
        for n in sizes:
            cost = np.ascontiguousarray(make(np.random.default_rng([zlib.crc32(name.encode()), n]), n), dtype=float)
            finite = cost[np.isfinite(cost)]
            for quantile in QUANTILES:
                for maximize in (False, True) if finite.size == cost.size else (False,):
                    price = float(np.quantile(finite, 1 - quantile if maximize else quantile))
                    case = {"class": name, "n": n, "quantile": quantile, "maximize": maximize}
                    rows.append(case | contest(cost, price, maximize))
                    report.add(rows[-1])
    for n in sizes:
        ratios = sorted((row["ratio"], str(row["class"])) for row in rows if row["n"] == n)
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        below = sum(ratio < 1 for ratio, _ in ratios)
        print(f"n = {n}: geometric mean {mean:.2f}, {below} of {len(ratios)} below 1, worst {ratios[:5]}")


def clusters(rng: Generator, count: int, even: bool) -> Array:
    """Return points around centres that are the same for all."""
    centres = np.random.default_rng(7).random((CLUSTERS, 2))
    shares = np.full(CLUSTERS, 1 / CLUSTERS) if even else rng.dirichlet(np.full(CLUSTERS, 2))
    return centres[rng.choice(CLUSTERS, count, p=shares)] + rng.normal(0, SPREAD, (count, 2))


def points(report: Report, n: int) -> None:
    """Clusters and uniform points, square and not."""
    for kind, even in (("even clusters", True), ("uneven clusters", False), ("uniform", None)):
        for ratio, price in POINTS:
            rng = np.random.default_rng([n, round(100 * ratio)])
            m, k = n, round(ratio * n)
            x, y = (rng.random((c, 2)) if even is None else clusters(rng, c, even) for c in (m, k))
            began = time.process_time()
            solve(costs.squared_euclidean(x, y), unmatched_cost=price, device="cpu", threads=1)
            taken = time.process_time() - began
            report.add({"points": kind, "rows": m, "cols": k, "unmatched_cost": price, "seconds": taken})
            print(f"{kind:16} {m} x {k}, unmatched cost {price}: {taken:.2f} s", flush=True)


def main() -> None:
    """Time what is asked for."""
    parser = argparse.ArgumentParser(description="Times of problems whose rows may stay free.")
    parser.add_argument("--sizes", nargs="*", type=int, default=[400, 1000])
    parser.add_argument("--points", type=int, default=16000, help="0: none")
    parser.add_argument("--output", type=Path, default=RESULTS / "unmatched.json")
    options = parser.parse_args()
    report = Report(options.output, "CPU seconds; ratio = SciPy's over ours", {"scipy": scipy_version})
    if options.sizes:
        everyday(report, options.sizes)
    if options.points:
        points(report, options.points)
    report.write()


if __name__ == "__main__":
    main()
