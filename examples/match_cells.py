"""Match two populations of cells, one observed after the other, and plot how the tissue has moved.

The cells of a tissue lie in clusters of different density. Some regions grow and others shrink, every cell jitters by a
part of the distance to its neighbours, and nobody knows which cell is which. The matching of the least total squared
distance, the discrete optimal transport between the two, finds the displacement: exactly so where it is the gradient of
something, as growth is and a rotation is not. 250,000 cells, ``--device cuda``, have a matrix of 250 GB, which is never
made. The default is for a CPU with two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lapwing as lw

Points = NDArray[np.float32]  # (cells, 2), the tissue about 1 wide

CLUSTERS = 40
REGIONS, GROWTH = 5, 0.35  # that grow or shrink; by at most so much
JITTER = 0.3  # of the mean distance between cells
BINS = 28


def populations(cells: int, seed: int) -> tuple[Points, Points, Points]:
    """Return cells before and after, the latter shuffled, and where each of the former has truly gone."""
    rng = np.random.default_rng(seed)
    centres, widths = rng.random((CLUSTERS, 2)), 0.03 + 0.08 * rng.random(CLUSTERS)
    cluster = rng.integers(0, CLUSTERS, cells)
    before = centres[cluster] + widths[cluster, None] * rng.standard_normal((cells, 2))
    moved = before + JITTER / np.sqrt(cells) * rng.standard_normal((cells, 2))
    for middle, growth in zip(rng.random((REGIONS, 2)), np.linspace(-GROWTH, GROWTH, REGIONS), strict=True):
        offset = before - middle
        moved += growth * offset * np.exp(-10 * np.square(offset).sum(axis=1, keepdims=True))
    after = moved[rng.permutation(cells)]
    return before.astype(np.float32), after.astype(np.float32), moved.astype(np.float32)


def mean_by_place(place: Points, values: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres of squares of the plane that hold a few cells, and the mean of the cells' values in each."""
    index = np.floor(place * BINS).astype(int)
    inside = np.all((index >= 0) & (index < BINS), axis=1)
    flat = index[inside, 0] * BINS + index[inside, 1]
    count = np.bincount(flat, minlength=BINS**2)
    sums = [np.bincount(flat, values[inside, axis], BINS**2) for axis in (0, 1)]
    full = np.flatnonzero(count >= 5)
    centres = (np.stack([full // BINS, full % BINS], axis=1) + 0.5) / BINS
    return centres, np.stack(sums, axis=1)[full] / count[full, None]


def draw(before: Points, after: Points, row_to_col: NDArray[np.int64], output: Path) -> None:
    """Write the figure: both populations, and the displacement that the matching finds."""
    figure = Figure(figsize=(11, 5.4), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = np.random.default_rng(0).permutation(len(before))[:20_000]
    left.scatter(*before[shown].T, s=0.6, color="tab:blue", label="before")
    left.scatter(*after[shown].T, s=0.6, color="tab:orange", label="after")
    left.set_title(f"two populations of {len(before):,} cells")
    left.legend(markerscale=12, loc="upper left")
    centres, displacement = mean_by_place(before, after[row_to_col] - before)
    length = np.hypot(*displacement.T)
    arrows = right.quiver(*centres.T, *displacement.T, length, angles="xy", scale_units="xy", scale=0.7, cmap="viridis")
    figure.colorbar(arrows, ax=right, label="mean displacement")
    right.set_title("displacement by the optimal matching")
    for axes in (left, right):
        axes.set(xlim=(-0.15, 1.15), ylim=(-0.15, 1.15), aspect="equal", xticks=[], yticks=[])
    figure.savefig(output)


def main() -> None:
    """Solve, print the certificate and the error of the displacement, write the picture."""
    parser = argparse.ArgumentParser(description="Match two populations of cells.")
    parser.add_argument("--cells", type=int, default=60_000, help="in each population")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("lapwing-cells.png"))
    options = parser.parse_args()

    before, after, moved = populations(options.cells, options.seed)
    cost = lw.costs.squared_euclidean(before, after)
    print(lw.plan(cost, device=options.device), flush=True)
    result = lw.solve(cost, device=options.device, progress=True)
    row_to_col = np.asarray(result.row_to_col)
    seconds = result.statistics["solve_seconds"], result.statistics["certify_seconds"]
    print("solved in {:.2f} s, certified in {:.2f} s".format(*seconds))
    print(result.certificate)
    _, found = mean_by_place(before, after[row_to_col] - before)
    _, true = mean_by_place(before, moved - before)
    size, error = np.hypot(*true.T).mean(), np.hypot(*(found - true).T).mean()
    print(f"mean displacement {size:.4f}, mean error of the one found {error:.4f}")
    draw(before, after, row_to_col, options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
