"""Algorithm 1015's experiment with images: distances of all pairs of ten, and a map that keeps them.

An image's pixels are points in five dimensions, colour and position, each scaled to [0, 1] and all of one weight, as in
the authors' program; the cost of a pair of pixels is their squared Euclidean distance, and the distance of two images
is the optimal cost itself. Classical multidimensional scaling (Torgerson 1952) places the images in the plane, as in
the paper's Figure 11. Ours are crops of the two photographs that ship with scikit-learn and of the one that ships with
matplotlib, not those of the paper; the paper has 11,000, 44,000 and 176,000 pixels.
"""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import costs
from lapwing.papers.published import paper

Floats = NDArray[np.float64]

IMAGES = "algorithm-1015-figure-11"
SIZE, SMALL_SIZE = (128, 85), (24, 16)  # width, height in pixels
_CROPS = {"temple": 4, "flower": 4, "portrait": 2}


def crops(size: tuple[int, int]) -> dict[str, Floats]:
    """The ten images, (height, width, 3) with colours in [0, 1].

    Raises
    ------
    ImportError
        Without matplotlib, scikit-learn and Pillow: the extra `demo`.
    """
    from matplotlib.cbook import get_sample_data
    from PIL import Image
    from sklearn.datasets import load_sample_images

    temple, flower = (Image.fromarray(image) for image in load_sample_images().images)
    portrait = Image.open(get_sample_data("grace_hopper.jpg", asfileobj=False)).convert("RGB")
    images = {}
    for name, photograph in {"temple": temple, "flower": flower, "portrait": portrait}.items():
        width, height = photograph.size[0] // 2, photograph.size[0] // 3
        for k in range(_CROPS[name]):
            left, top = (k % 2) * width, (k // 2) * (photograph.size[1] - height)
            crop = photograph.crop((left, top, left + width, top + height))
            pixels = np.asarray(crop.resize(size, Image.Resampling.LANCZOS), dtype=np.float64)
            images[f"{name} {k + 1}"] = pixels / 255
    return images


def points(image: Floats) -> NDArray[np.float32]:
    """The pixels (colours, x, y), row by row, each coordinate in [0, 1]; colours by their greatest."""
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width]
    place = np.stack([x / max(width - 1, 1), y / max(height - 1, 1)], axis=2)
    colours = image / max(float(image.max()), 1e-9)
    return np.concatenate([colours, place], axis=2).reshape(height * width, 5).astype(np.float32)


def distances(images: dict[str, Floats], method: str = "auto") -> tuple[Floats, float]:
    """The distances of all pairs of images, (k, k), and the seconds that took.

    Of two sizes the smaller image has the rows.
    """
    pixels = [points(image) for image in images.values()]
    answer = np.zeros((len(pixels), len(pixels)))
    start = time.perf_counter()
    for a, b in combinations(range(len(pixels)), 2):
        cost = costs.squared_euclidean(*sorted((pixels[a], pixels[b]), key=len))
        objective = float(lapwing.solve(cost, method=method).objective)
        answer[a, b] = answer[b, a] = max(objective, 0.0)
    return answer, time.perf_counter() - start


def scaled(distance: Floats) -> Floats:
    """Places in the plane, (k, 2), whose distances are as near to the given ones as classical scaling brings them."""
    centre = np.eye(len(distance)) - 1 / len(distance)
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    places: Floats = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    return places


def run_images(small: bool) -> tuple[dict[str, Any], dict[str, Floats]]:
    """The record of the experiment, as for JSON, and the images."""
    images = crops(SMALL_SIZE if small else SIZE)
    distance, seconds = distances(images)
    record = {
        "table": IMAGES,
        "paper": paper("algorithm-1015").citation,
        "title": "Figure 11: multidimensional scaling of the distances of ten images",
        "pixels": int(np.prod(SMALL_SIZE if small else SIZE)),
        "small": small,
        "images": list(images),
        "distances": distance.tolist(),
        "places": scaled(distance).tolist(),
        "seconds": seconds,
    }
    return record, images


def draw_images(record: dict[str, Any], images: dict[str, Floats], path: Path) -> None:
    """Write the map: each image at its place."""
    from matplotlib.figure import Figure
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    places = np.array(record["places"])
    figure = Figure(figsize=(7, 5.4), dpi=110)
    axes = figure.subplots()
    axes.scatter(places[:, 0], places[:, 1], s=1)
    width = next(iter(images.values())).shape[1]
    for place, image in zip(places, images.values(), strict=True):
        axes.add_artist(AnnotationBbox(OffsetImage(image, zoom=46 / width), place, frameon=False))
    axes.margins(0.15)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(f"{record['title']}\n{record['pixels']} pixels each", fontsize=9)
    figure.tight_layout()
    figure.savefig(path)
