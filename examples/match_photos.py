"""Match two photographs pixel by pixel, at the least total cost, and morph one into the other.

Each pixel is a point in five dimensions, its colour and its position (`lapwing.images`); the best matching moves every
pixel of the source to a place of its own in the target. The photographs are the two that ship with scikit-learn; at
their full size, 640 x 427, they are 273,280 pixels each, for a GPU: ``--size 640 --device cuda``. Pictures of your own:
``lapwing match-images A.jpg B.jpg``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_images

import lapwing as lw

Floats = NDArray[np.float64]

ZOOM = 4  # pixels of the output for a pixel of the photographs
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def photographs(width: int) -> tuple[Floats, Floats]:
    """Return source and target, (2/3 width, width, 3) with colours in [0, 1]."""
    temple, flower = load_sample_images().images
    height = round(width * flower.shape[0] / flower.shape[1])
    small = [Image.fromarray(image).resize((width, height), Image.Resampling.LANCZOS) for image in (flower, temple)]
    return np.asarray(small[0], dtype=np.float64) / 255, np.asarray(small[1], dtype=np.float64) / 255


def paint(place: Floats, colour: Floats, size: tuple[int, int]) -> Floats:
    """Return a picture, ZOOM times as large, of pixels at any places: each is a soft dot, and dots are averaged."""
    height, width = size[0] * ZOOM, size[1] * ZOOM
    reach = 2 * ZOOM
    centre = place * width - 0.5
    corner = np.floor(centre).astype(int)
    total, weight = np.zeros((height * width, 3)), np.full(height * width, 1e-12)
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            spot = corner + np.array([dx, dy])
            inside = np.all((spot >= 0) & (spot < (width, height)), axis=1)
            distance = np.square(spot - centre).sum(axis=1) / (0.38 * ZOOM) ** 2
            w = np.exp(-0.5 * distance[inside])
            index = spot[inside, 1] * width + spot[inside, 0]
            weight += np.bincount(index, w, height * width)
            for channel in range(3):
                total[:, channel] += np.bincount(index, w * colour[inside, channel], height * width)
    picture: Floats = (total / weight[:, None]).reshape(height, width, 3)
    return picture


def draw(source: Floats, target: Floats, row_to_col: NDArray[np.int64], output: Path) -> None:
    """Write the figure: source, target and the source's pixels in their new places; below, the way there."""
    size = source.shape[0], source.shape[1]
    colour, start = source.reshape(-1, 3), lw.images.places(*size)
    end = start[row_to_col]

    figure = Figure(figsize=(12, 4.4), dpi=120, facecolor="white")
    edges = {"top": 0.94, "bottom": 0.01, "left": 0.01, "right": 0.99}
    grid = figure.add_gridspec(2, 6, height_ratios=(2.06, 1), hspace=0.12, wspace=0.03, **edges)
    pictures = (
        ("source", source),
        ("target", target),
        ("the source's pixels, each moved once", lw.images.rearranged(source, row_to_col)),
    )
    for k, (title, picture) in enumerate(pictures):
        axes = figure.add_subplot(grid[0, 2 * k : 2 * k + 2])
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize=12)
        axes.axis("off")
    for k, t in enumerate(STEPS):
        axes = figure.add_subplot(grid[1, k])
        axes.imshow(paint((1 - t) * start + t * end, colour, size).clip(0, 1))
        axes.set_title(f"{t:.0%}", fontsize=10)
        axes.axis("off")
    figure.savefig(output)


def main() -> None:
    """Solve, print the certificate, write the picture."""
    parser = argparse.ArgumentParser(description="Match two photographs pixel by pixel.")
    parser.add_argument("--output", type=Path, default=Path("lapwing-demo.png"))
    parser.add_argument("--size", type=int, default=96, help="width to reduce them to (640: not at all)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()

    source, target = photographs(options.size)
    cost = lw.images.pixel_costs(source, target)
    print(f"{cost.shape[0]} pixels to as many places\n{lw.plan(cost, device=options.device)}", flush=True)
    result = lw.solve(cost, progress=True, device=options.device)
    seconds = result.statistics["solve_seconds"], result.statistics["certify_seconds"]
    print("solved in {:.2f} s, certified in {:.2f} s".format(*seconds))
    print(result.certificate)
    draw(source, target, result.row_to_col, options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
