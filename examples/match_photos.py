"""Match two photographs pixel by pixel, at the least total cost, and morph one into the other.

Each pixel is a point in five dimensions, its colour and its position (Rubner, Tomasi, Guibas: "The Earth Mover's
Distance as a Metric for Image Retrieval", IJCV 2000; the "images" class of Guthe and Thuerck, "Algorithm 1015", ACM
TOMS 2021). The cost of a pair of pixels is the squared distance of its points; the best matching moves every pixel of
the source to a place of its own in the target. The photographs are the two that ship with scikit-learn.
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

WIDTH, HEIGHT = 96, 64
# Colours lie in [0, 1]; a picture's width is 1 long. At 0.35 a pixel crosses the whole picture for the price of about a
# third of the way from black to white in one channel: colours decide, position orders what is alike.
POSITION_WEIGHT = 0.35
ZOOM = 4  # pixels of the output for a pixel of the photographs
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def photographs() -> tuple[Floats, Floats]:
    """Return source and target, (HEIGHT, WIDTH, 3) with colours in [0, 1]."""
    temple, flower = load_sample_images().images
    small = [Image.fromarray(image).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS) for image in (flower, temple)]
    return np.asarray(small[0], dtype=np.float64) / 255, np.asarray(small[1], dtype=np.float64) / 255


def positions() -> Floats:
    """Return the pixels' centres (x, y), row by row of the picture, with the picture's width as the unit."""
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.stack([x.ravel(), y.ravel()], axis=1) / WIDTH


def pixels(picture: Floats) -> NDArray[np.float32]:
    """Return a picture's pixels as points in five dimensions, (HEIGHT * WIDTH, 5)."""
    return np.hstack([picture.reshape(-1, 3), POSITION_WEIGHT * positions()]).astype(np.float32)


def paint(place: Floats, colour: Floats) -> Floats:
    """Return a picture, ZOOM times as large, of pixels at any places: each is a soft dot, and dots are averaged."""
    height, width = HEIGHT * ZOOM, WIDTH * ZOOM
    reach = 2 * ZOOM
    centre = place * WIDTH * ZOOM - 0.5
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
    colour, start = source.reshape(-1, 3), positions()
    end = start[row_to_col]
    matched = np.empty_like(colour)
    matched[row_to_col] = colour

    figure = Figure(figsize=(12, 4.4), dpi=120, facecolor="white")
    edges = {"top": 0.94, "bottom": 0.01, "left": 0.01, "right": 0.99}
    grid = figure.add_gridspec(2, 6, height_ratios=(2.06, 1), hspace=0.12, wspace=0.03, **edges)
    pictures = (
        ("source", source),
        ("target", target),
        ("the source's pixels, each moved once", matched.reshape(source.shape)),
    )
    for k, (title, picture) in enumerate(pictures):
        axes = figure.add_subplot(grid[0, 2 * k : 2 * k + 2])
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize=12)
        axes.axis("off")
    for k, t in enumerate(STEPS):
        axes = figure.add_subplot(grid[1, k])
        axes.imshow(paint((1 - t) * start + t * end, colour).clip(0, 1))
        axes.set_title(f"{t:.0%}", fontsize=10)
        axes.axis("off")
    figure.savefig(output)


def main() -> None:
    """Solve, print the certificate, write the picture."""
    parser = argparse.ArgumentParser(description="Match two photographs pixel by pixel.")
    parser.add_argument("--output", type=Path, default=Path("lapwing-demo.png"))
    output = parser.parse_args().output

    source, target = photographs()
    cost = lw.costs.squared_euclidean(pixels(source), pixels(target))
    print(f"{cost.shape[0]} pixels to as many places\n{lw.plan(cost)}", flush=True)
    result = lw.solve(cost, progress=True)
    seconds = result.statistics["solve_seconds"], result.statistics["certify_seconds"]
    print("solved in {:.2f} s, certified in {:.2f} s".format(*seconds))
    print(result.certificate)
    draw(source, target, result.row_to_col, output)
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
