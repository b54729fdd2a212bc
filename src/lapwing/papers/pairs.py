"""Algorithm 1015's Figure 9: what epsilon-pricing brings on pairs of images.

The paper has all 45 pairs of ten images of 11,000, 44,000 and 176,000 pixels; its text gives quotients alone. Without
epsilon the count of rows grows like n^2, so ours are smaller, and each image is paired with the next one. Images and
costs are those of `images`, in float32, as in the paper.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing.options import Ssp
from lapwing.papers.images import crops, points
from lapwing.papers.published import paper

PAIRS = "algorithm-1015-figure-9"
TITLE = "Figure 9: pairs of images, without and with epsilon"
METHODS = {"without epsilon": Ssp(pricing=False), "with epsilon": Ssp()}
SIZES = ((36, 24), (48, 32), (72, 48))  # width and height in pixels; the first two if small


def run_pairs(small: bool, images: Any = crops) -> dict[str, Any]:
    """The record, as for JSON: of each pair the seconds and the rows evaluated, by one thread.

    Raises
    ------
    ImportError
        As `images.crops`.
    """
    pairs = []
    for size in SIZES[:2] if small else SIZES:
        pixels = {name: points(image) for name, image in images(size).items()}
        names = list(pixels)
        for k, name in enumerate(names):
            other = names[(k + 1) % len(names)]
            pairs.append({"pixels": size[0] * size[1], "pair": [name, other]} | _pair(pixels[name], pixels[other]))
    return {
        "table": PAIRS,
        "paper": paper("algorithm-1015").citation,
        "title": TITLE,
        "small": small,
        "threads": 1,
        "pairs": pairs,
    }


def _pair(one: NDArray[np.float32], other: NDArray[np.float32]) -> dict[str, dict[str, float]]:
    cost = np.sum((one[:, None].astype(float) - other[None]) ** 2, axis=2).astype(np.float32)
    optimum = lapwing.solve(cost).objective
    seconds, rows = {}, {}
    for label, method in METHODS.items():
        began = time.perf_counter()
        result = lapwing.solve(cost, method=method, threads=1, certify=False)
        seconds[label] = time.perf_counter() - began
        if not np.isclose(result.objective, optimum, rtol=1e-9):
            raise lapwing.InternalError(f"{label}: {result.objective}, where {optimum} is proven")
        found = result.statistics
        rows[label] = found["rows_scanned"] - found.get("rows_scanned_start", 0)
    return {"seconds": seconds, "rows": rows}


def quotients(record: dict[str, Any], what: str) -> dict[int, list[float]]:
    """By pixels, of each pair the "seconds" or "rows" without over those with epsilon, in growing order."""
    found: dict[int, list[float]] = {}
    for pair in record["pairs"]:
        without, with_epsilon = (pair[what][label] for label in METHODS)
        found.setdefault(pair["pixels"], []).append(without / with_epsilon)
    return {pixels: sorted(values) for pixels, values in found.items()}


def describe_pairs(record: dict[str, Any]) -> str:
    """A line for each size."""
    lines = [f"{record['title']}; one thread of {record['machine']}"]
    rows, times = quotients(record, "rows"), quotients(record, "seconds")
    for pixels in rows:
        share = [pair["rows"]["without epsilon"] / pixels**2 for pair in record["pairs"] if pair["pixels"] == pixels]
        lines.append(
            f"{pixels} pixels: epsilon divides rows evaluated by {rows[pixels][0]:.1f} to {rows[pixels][-1]:.1f}, the"
            f" time by {times[pixels][0]:.1f} to {times[pixels][-1]:.1f}; without it {min(share):.2f} to"
            f" {max(share):.2f} n^2 rows"
        )
    return "\n".join(lines)


def draw_pairs(record: dict[str, Any], path: Path) -> None:
    """Write the figure: the time of each pair against its pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.6), dpi=110)
    axes = figure.subplots()
    for label in METHODS:
        axes.loglog(
            [pair["pixels"] for pair in record["pairs"]],
            [pair["seconds"][label] for pair in record["pairs"]],
            ".",
            label=label,
        )
    axes.set_xlabel("pixels")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=8)
    axes.set_title(record["title"], fontsize=9)
    figure.tight_layout()
    figure.savefig(path)
