"""Costs that people have and the literature's classes lack: overlaps, capped distances, ties, wide ranges, shapes.

`CLASSES` maps a name to a maker: `CLASSES[name](rng, n)` is a matrix of about n x n costs, float64 or int64.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.random import Generator

from benchmarks.metrics import Maker, Matrix, differences, distances, plane, squared_distances
from benchmarks.records import RECORDS


def boxes(rng: Generator, n: int, width: float) -> Matrix:
    """Return [n, 4] boxes (x0, y0, x1, y1) in the unit square."""
    corner = rng.random((n, 2))
    return np.hstack([corner, corner + width * (0.5 + rng.random((n, 2)))])


def one_minus_iou(a: Matrix, b: Matrix) -> Matrix:
    """Return 1 - intersection over union of boxes."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=2)
    area_a, area_b = (np.prod(x[:, 2:] - x[:, :2], axis=1) for x in (a, b))
    return 1 - shared / (area_a[:, None] + area_b[None] - shared)


def frames(rng: Generator, n: int) -> Matrix:
    """Return overlaps of the boxes of two frames of a film."""
    before = boxes(rng, n, 0.05)
    after = before + 0.01 * rng.normal(size=(n, 1))
    return one_minus_iou(before, after[rng.permutation(n)])


def gated_frames(rng: Generator, n: int) -> Matrix:
    """Return squared distances of the points of two frames, a large number in place of those beyond a gate."""
    before = rng.random((n, 2))
    cost = squared_distances(before, (before + 0.003 * rng.normal(size=(n, 2)))[rng.permutation(n)])
    return np.where(cost > 0.02, 1e6, cost)


def overlaps(rng: Generator, n: int, width: float) -> Matrix:
    """Return overlaps of random boxes."""
    return one_minus_iou(boxes(rng, n, width), boxes(rng, n, width))


def changing_frames(rng: Generator, n: int, large: float, gate: float = 0.3, share: float = 0.1) -> Matrix:
    """Return distances of the points of two frames, a large number beyond a gate; a share of them come and go."""
    before, changed = rng.random((n, 2)), int(share * n)
    after = before + gate / 3 / np.sqrt(n) * rng.normal(size=(n, 2))
    after[:changed] = rng.random((changed, 2))
    cost = distances(before, after[rng.permutation(n)])
    return np.where(cost > gate / np.sqrt(n), large, cost)


def groups(rng: Generator, n: int, large: float) -> Matrix:
    """Return costs within two groups, a large number between them; they are not equally many on both sides."""
    return np.where(rng.integers(0, 2, (n, 1)) == rng.integers(0, 2, n), rng.random((n, n)), large)


def penalised(rng: Generator, n: int, penalty: float) -> Matrix:
    """Return distances of points of ten kinds, and a penalty where kinds differ; they are not equally many."""
    kinds, others = rng.integers(10, size=(2, n))
    return distances(rng.random((n, 2)), rng.random((n, 2))) + penalty * (kinds[:, None] != others)


def without_diagonal(rng: Generator, n: int) -> Matrix:
    """Return distances of points from each other, but not from themselves: successors in a tour."""
    x = rng.random((n, 2))
    cost = distances(x, x)
    np.fill_diagonal(cost, np.inf)
    return cost


def capped(rng: Generator, n: int, cap: float) -> Matrix:
    """Return distances in the plane, cut off."""
    return np.minimum(np.sqrt(plane(rng, n)), cap)


def integer_differences(rng: Generator, n: int, most: int) -> Matrix:
    """Return |a - b| of random integers."""
    return differences(rng.integers(0, most, n), rng.integers(0, most, n))


def rounded_sums(rng: Generator, n: int, most: int) -> Matrix:
    """Return rounded a[i] + b[j] with some noise."""
    return np.rint(most * (rng.random((n, 1)) + rng.random((1, n)) + 0.1 * rng.random((n, n))))


def rounded_distances(rng: Generator, n: int, decimals: int) -> Matrix:
    """Return distances in the plane, rounded."""
    return np.round(np.sqrt(plane(rng, n)), decimals)


def few_values(rng: Generator, n: int, count: int) -> Matrix:
    """Return random integers from 1 on."""
    return rng.integers(1, count + 1, (n, n))


def zeros(rng: Generator, n: int, share: float) -> Matrix:
    """Return ones, and zeros for a share of the pairs."""
    return (rng.random((n, n)) >= share).astype(np.float64)


def colours(rng: Generator, n: int) -> Matrix:
    """Return Manhattan distances of random colours."""
    x, y = rng.integers(0, 256, (2, n, 3))
    return differences(x[:, 0], y[:, 0]) + differences(x[:, 1], y[:, 1]) + differences(x[:, 2], y[:, 2])


def hamming(rng: Generator, n: int, bits: int) -> Matrix:
    """Return Hamming distances of random codes."""
    x, y = (rng.random((2, n, bits)) < 0.5).astype(np.float64)
    return np.rint(x @ (1 - y).T + (1 - x) @ y.T).astype(np.int64)


def jaccard(rng: Generator, n: int) -> Matrix:
    """Return Jaccard distances of random sets."""
    x, y = (rng.random((2, n, 50)) < 0.1).astype(np.float64)
    shared = x @ y.T
    return 1 - shared / np.maximum(x.sum(1)[:, None] + y.sum(1)[None] - shared, 1)


def log_normal_points(rng: Generator, n: int) -> Matrix:
    """Return squared distances of points whose coordinates span magnitudes, as incomes and sizes of cities do."""
    x, y = (np.exp(2 * rng.normal(size=(n, 2))) for _ in range(2))
    return squared_distances(x, y)


def blobs(rng: Generator, n: int) -> Matrix:
    """Return squared distances of points in thirty clusters."""
    centres = rng.random((30, 2))
    x, y = (centres[rng.integers(0, 30, n)] + 0.01 * rng.normal(size=(n, 2)) for _ in range(2))
    return squared_distances(x, y)


def clouds_apart(rng: Generator, n: int, gap: float) -> Matrix:
    """Return distances of the points of one unit square from those of another to its right."""
    return distances(rng.random((n, 2)), rng.random((n, 2)) + np.array([1 + gap, 0]))


def squares_apart(rng: Generator, n: int) -> Matrix:
    """Return Manhattan distances of the points of one unit square from those of another."""
    (x, y), (right, up) = rng.random((2, n)), rng.random((2, n))
    return differences(x, right + 2) + differences(y, up)


def uneven_clouds(rng: Generator, n: int) -> Matrix:
    """Return distances of points in two clusters: one has a third of the rows, and two thirds of the columns."""
    few, many = np.arange(n) < n // 3, np.arange(n) < 2 * n // 3
    return distances(*(rng.normal(size=(n, 2)) + np.where(first, 0, 5)[:, None] for first in (few, many)))


def uneven_clusters(rng: Generator, n: int, ratio: float) -> Matrix:
    """Return squared distances in twenty clusters, each with another share of the rows than of the columns."""
    centres = rng.random((20, 2))
    shares = (rng.dirichlet(np.ones(20)) for _ in range(2))
    places = (rng.choice(20, size, p=share) for size, share in zip((n, round(n * ratio)), shares, strict=True))
    return squared_distances(*(centres[place] + 0.02 * rng.normal(size=(len(place), 2)) for place in places))


def along_a_line(rng: Generator, n: int) -> Matrix:
    """Return distances of points in a strip that is fifty times as long as wide."""
    return distances(rng.random((n, 2)) * [1, 0.02], rng.random((n, 2)) * [1, 0.02])


def around_a_circle(rng: Generator, n: int) -> Matrix:
    """Return distances of points on a circle."""
    angles = 2 * np.pi * rng.random((2, n))
    return distances(*np.stack([np.cos(angles), np.sin(angles)], axis=2))


def blocks(rng: Generator, n: int, noise: float) -> Matrix:
    """Return costs between twenty kinds of rows and twenty kinds of columns."""
    kinds = rng.integers(0, 100, (20, 20)).astype(np.float64)
    return kinds[rng.integers(0, 20, n)][:, rng.integers(0, 20, n)] + noise * rng.random((n, n))


def blocks_and_outliers(rng: Generator, n: int) -> Matrix:
    """Return costs between kinds of rows and of columns, of which one in a thousand is far off."""
    return blocks(rng, n, 0) + np.where(rng.random((n, n)) < 0.001, rng.normal(0, 1e4, (n, n)), 0)


def band(rng: Generator, n: int) -> Matrix:
    """Return costs that are forbidden far from the diagonal."""
    place = np.arange(n)
    return np.where(differences(place, place) > max(n // 20, 3), np.inf, rng.random((n, n)))


def forbidden(rng: Generator, n: int) -> Matrix:
    """Return costs of which nine in ten are forbidden."""
    cost = np.where(rng.random((n, n)) < 0.9, np.inf, rng.random((n, n)))
    np.fill_diagonal(cost, 1.0)
    return cost


def diagonal(rng: Generator, n: int, noise: float) -> Matrix:
    """Return costs of which one permutation is cheap."""
    cost = 1 + noise * rng.random((n, n))
    cost[np.arange(n), rng.permutation(n)] *= 0.3
    return cost


def cheap_columns(rng: Generator, n: int, count: int) -> Matrix:
    """Return costs of which the first columns are cheap."""
    cost = 1 + rng.random((n, n))
    cost[:, :count] *= 0.1
    return cost


def zero_lines(rng: Generator, n: int, rows: int, cols: int) -> Matrix:
    """Return costs padded with zeros: the last rows and the first columns."""
    cost = rng.random((n, n))
    cost[n - rows :] = 0
    cost[:, :cols] = 0
    return cost


def unit_vectors(rng: Generator, n: int, d: int = 64) -> Matrix:
    """Return [n, d] random directions."""
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def shape(rng: Generator, n: int, ratio: float) -> Matrix:
    """Return uniform costs of rows x (ratio rows), n^2 in all."""
    rows = max(int(n / ratio**0.5), 1)
    return rng.random((rows, max(int(rows * ratio), rows + 1)))


def grid(rng: Generator, n: int) -> Matrix:
    """Return squared distances of whole-numbered points to the points of a grid."""
    side = int(np.ceil(np.sqrt(n)))
    points = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)[:n]
    return np.rint(squared_distances(rng.integers(0, side, (n, 2)).astype(np.float64), points.astype(np.float64)))


def detection(rng: Generator, n: int) -> Matrix:
    """Return what a detector is trained with: n queries, n / 8 objects, boxes and classes."""
    queries, objects = rng.random((n, 4)), rng.random((max(n // 8, 1), 4))
    scores = np.exp(rng.normal(size=(n, 91)))
    scores /= scores.sum(1)[:, None]
    apart = np.abs(queries[:, None] - objects[None]).sum(2)
    return 5 * apart - scores[:, rng.integers(0, 91, len(objects))]


def random_walks(rng: Generator, n: int) -> Matrix:
    """Return distances of the places of two random walks in the plane."""
    return distances(rng.normal(size=(n, 2)).cumsum(axis=0), rng.normal(size=(n, 2)).cumsum(axis=0))


CLASSES: dict[str, Maker] = {
    # overlaps
    **{f"1 - IoU, boxes {w}": partial(overlaps, width=w) for w in (0.02, 0.05, 0.2)},
    "1 - IoU of two frames": frames,
    "overlap of discs": lambda rng, n: np.minimum(np.sqrt(plane(rng, n)) / 0.05, 1),
    "1 - exp(-d2 / 0.0005)": lambda rng, n: 1 - np.exp(-plane(rng, n) / 0.0005),
    "tanh(d / 0.05)": lambda rng, n: np.tanh(np.sqrt(plane(rng, n)) / 0.05),
    "d2 / (d2 + 0.001)": lambda rng, n: 1 / (1 + 0.001 / np.maximum(plane(rng, n), 1e-300)),
    "gated distances of two frames": gated_frames,
    **{f"points that come and go, {m:g}": partial(changing_frames, large=m) for m in (1e5, 1e12)},
    # capped distances
    **{f"min(d, {t})": partial(capped, cap=t) for t in (0.003, 0.01, 0.03, 0.1)},
    "min(d2, 0.005)": lambda rng, n: np.minimum(plane(rng, n), 0.005),
    "min(d2, 0.02) in space": lambda rng, n: np.minimum(plane(rng, n, 3), 0.02),
    # whole numbers, ties
    **{f"|a - b|, integers to {r}": partial(integer_differences, most=r) for r in (10, 100, 1000)},
    **{f"rounded sums to {r}": partial(rounded_sums, most=r) for r in (10, 100)},
    "exact sums, rounded": lambda rng, n: np.rint(50 * (rng.random((n, 1)) + rng.random((1, n)))),
    **{f"distances to {k} decimals": partial(rounded_distances, decimals=k) for k in (1, 2)},
    "per cent": lambda rng, n: rng.integers(0, 101, (n, n)),
    "per cent, beta": lambda rng, n: np.rint(100 * rng.beta(5, 2, (n, n))),
    **{f"Hamming, {b} bits": partial(hamming, bits=b) for b in (16, 64)},
    "counts": lambda rng, n: rng.poisson(3, (n, n)),
    "ranks": lambda rng, n: rng.random((n, n)).argsort(1).argsort(1),
    "shared ranks": lambda rng, n: (rng.random((1, n)) + 0.3 * rng.random((n, n))).argsort(1).argsort(1),
    "times in 5 minutes": lambda rng, n: 5 * np.rint(288 * differences(rng.random(n), rng.random(n))),
    "ages": lambda rng, n: differences(np.rint(rng.normal(40, 12, n)), np.rint(rng.normal(42, 12, n))),
    **{f"{k} values": partial(few_values, count=k) for k in (2, 3, 5)},
    **{f"0/1, {100 * p:g} % zeros": partial(zeros, share=p) for p in (0.001, 0.002, 0.01, 0.1, 0.99)},
    "five preferences each": lambda rng, n: np.where(rng.random((n, n)) < 5 / n, rng.integers(1, 6, (n, n)), 20),
    "RGB colours": colours,
    # lines that are alike
    "one cheap column": lambda rng, n: cheap_columns(rng, n, 1),
    "a tenth of the columns cheap": lambda rng, n: cheap_columns(rng, n, n // 10),
    "ten equal rows each": lambda rng, n: rng.random((n, n))[rng.integers(0, max(n // 10, 1), n)],
    "ten equal columns each": lambda rng, n: rng.random((n, n))[:, rng.integers(0, max(n // 10, 1), n)],
    "a hundred equal rows each": lambda rng, n: rng.random((n, n))[rng.integers(0, max(n // 100, 1), n)],
    "blocks": lambda rng, n: blocks(rng, n, 0),
    "blocks and noise": lambda rng, n: blocks(rng, n, 1),
    "blocks and outliers": blocks_and_outliers,
    "half of the rows zero": lambda rng, n: zero_lines(rng, n, n // 2, 0),
    "a tenth of the columns zero": lambda rng, n: zero_lines(rng, n, 0, n // 10),
    "all equal": lambda rng, n: np.full((n, n), 3.0),
    # forbidden pairs
    "band": band,
    "90 % forbidden": forbidden,
    **{f"two groups, {m:g} between": partial(groups, large=m) for m in (1e6, 1e9)},
    **{f"ten kinds, {p:g} where they differ": partial(penalised, penalty=p) for p in (1e3, 1e8, 1e12)},
    "distances without the diagonal": without_diagonal,
    # wide ranges
    "u^8": lambda rng, n: rng.random((n, n)) ** 8,
    "u^-8": lambda rng, n: rng.random((n, n)) ** -8.0,
    "exp(5 normal)": lambda rng, n: np.exp(5 * rng.normal(size=(n, n))),
    "10^U(-30, 30)": lambda rng, n: 10.0 ** rng.uniform(-30, 30, (n, n)),
    "Pareto": lambda rng, n: rng.pareto(1.0, (n, n)),
    "negative Pareto": lambda rng, n: -rng.pareto(1.0, (n, n)),
    "-exp(5 normal)": lambda rng, n: -np.exp(5 * rng.normal(size=(n, n))),
    "rows of other scales": lambda rng, n: 10.0 ** rng.uniform(-6, 6, (n, 1)) * rng.random((n, n)),
    "columns of other scales": lambda rng, n: 10.0 ** rng.uniform(-6, 6, (1, n)) * rng.random((n, n)),
    # structure
    "products": lambda rng, n: rng.random((n, 1)) * rng.random((1, n)),
    "negative products": lambda rng, n: -rng.random((n, 1)) * rng.random((1, n)),
    "integer products": lambda rng, n: rng.integers(1, n + 1, (n, 1)) * rng.integers(1, n + 1, (1, n)),
    "i j": lambda _, n: np.outer(np.arange(1.0, n + 1), np.arange(1.0, n + 1)),
    "(i - j)^2": lambda _, n: differences(np.arange(n), np.arange(n)) ** 2.0,
    "|x - y|": lambda rng, n: differences(rng.random(n), rng.random(n)),
    "circulant": lambda rng, n: rng.random(n)[(np.arange(n)[:, None] + np.arange(n)[None]) % n],
    "permuted diagonal": lambda rng, n: diagonal(rng, n, 0),
    "permuted diagonal and noise": lambda rng, n: diagonal(rng, n, 1),
    "sums and noise": lambda rng, n: 100 * (rng.random((n, 1)) + rng.random((1, n))) + rng.random((n, n)),
    # points and features
    "points": plane,
    "blobs": blobs,
    "log-normal points": log_normal_points,
    "grid": grid,
    "cosine, 64 dimensions": lambda rng, n: 1 - unit_vectors(rng, n) @ unit_vectors(rng, n).T,
    "Jaccard": jaccard,
    "detection": detection,
    **{f"distances of clouds, {gap} apart": partial(clouds_apart, gap=gap) for gap in (0, 1)},
    "L1 of squares apart": squares_apart,
    "distances of uneven clouds": uneven_clouds,
    **{f"uneven clusters, n x {f:g} n": partial(uneven_clusters, ratio=f) for f in (1.06, 1.5)},
    "distances from a narrow cloud": lambda rng, n: distances(rng.normal(size=(n, 2)), rng.random((n, 2))),
    "distances, the larger the better": lambda rng, n: -np.sqrt(plane(rng, n)),
    "distances along a line": along_a_line,
    "distances around a circle": around_a_circle,
    "distances of random walks": random_walks,
    "(x - 2y)^2": lambda rng, n: differences(rng.random(n), 2 * rng.random(n)) ** 2,
    "|x - 2y|": lambda rng, n: differences(rng.random(n), 2 * rng.random(n)),
    **RECORDS,
    # noise, shapes
    "uniform": lambda rng, n: rng.random((n, n)),
    "normal": lambda rng, n: rng.normal(size=(n, n)),
    "exponential": lambda rng, n: rng.exponential(size=(n, n)),
    **{f"uniform, n x {f:g} n": partial(shape, ratio=f) for f in (1.01, 1.5, 3, 10, 100)},
    "uniform, 2 n x n": lambda rng, n: shape(rng, n, 2).T,
    "points, 1.1 n x n": lambda rng, n: squared_distances(rng.random((n + n // 10, 2)), rng.random((n, 2))),
}
