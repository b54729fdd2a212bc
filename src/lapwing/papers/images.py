"""Algorithm 1015's experiment with images: distances of all pairs of ten, and a map that keeps them.

An image's pixels are points in colour and position; the distance of two images is the square root of the mean cost at
which the pixels of one can be matched with those of the other. Classical multidimensional scaling (Torgerson 1952)
places the images in the plane, as in the paper's Figure 11. Ours are crops of the two photographs that ship with
scikit-learn and of the one that ships with matplotlib.
"""

from __future__ import annotations

import math
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import costs
from lapwing.papers.tables import PAPERS

Floats = NDArray[np.float64]

SIZE, SMALL_SIZE = (96, 64), (24, 16)  # width, height in pixels
POSITION_WEIGHT = 0.35**2  # of squared distances; colours lie in [0, 1], and a picture's width is 1
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


def positions(height: int, width: int) -> NDArray[np.float32]:
    """The pixels' centres (x, y), row by row, with the picture's width as the unit."""
    y, x = np.mgrid[:height, :width] + 0.5
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32) / np.float32(width)


def distances(images: dict[str, Floats], method: str = "auto") -> tuple[Floats, float]:
    """The distances of all pairs of images of one size, (k, k), and the seconds that took."""
    colours = [image.reshape(-1, 3).astype(np.float32) for image in images.values()]
    height, width = next(iter(images.values())).shape[:2]
    place = positions(height, width)
    position = costs.squared_euclidean(place, place)
    answer = np.zeros((len(colours), len(colours)))
    start = time.perf_counter()
    for a, b in combinations(range(len(colours)), 2):
        cost = costs.weighted(costs.squared_euclidean(colours[a], colours[b]), 1.0, position, POSITION_WEIGHT)
        objective = lapwing.solve(cost, method=method).objective
        answer[a, b] = answer[b, a] = math.sqrt(max(objective, 0.0) / len(place))
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
        "table": "algorithm-1015-figure-11",
        "paper": PAPERS["algorithm-1015"],
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
