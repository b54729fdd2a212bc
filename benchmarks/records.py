"""Costs between records: words, journeys, jobs, preferences, tracks, flights, categories.

`RECORDS` is a part of `everyday.CLASSES`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.random import Generator

from benchmarks.metrics import Maker, Matrix, differences, distances, plane


def edit_distances(rng: Generator, n: int, length: int = 6) -> Matrix:
    """Return Levenshtein distances of random words of four letters."""
    x, y = rng.integers(0, 4, (2, n, length))
    row = np.broadcast_to(np.arange(length + 1)[:, None, None], (length + 1, n, n)).copy()
    for i in range(length):
        above, row = row, np.empty_like(row)
        row[0] = i + 1
        for j in range(length):
            changed = above[j] + (x[:, i, None] != y[None, :, j])
            row[j + 1] = np.minimum(np.minimum(above[j + 1], row[j]) + 1, changed)
    return row[length]


def floored_likelihoods(rng: Generator, n: int) -> Matrix:
    """Return -log likelihoods of Gaussian tracks, where most pairs are floored at 1e30."""
    cost = plane(rng, n) * n / 2
    return np.where(cost < 25, cost + 0.1 * rng.random((n, n)), 1e30)


def bags_of_words(rng: Generator, n: int) -> Matrix:
    """Return cosine distances of sparse bags of words, whose frequencies follow Zipf's law."""
    words = np.minimum(rng.zipf(1.5, (2, n, 12)), 2000) - 1
    bags = np.zeros((2, n, 2000))
    for side in range(2):
        np.add.at(bags[side], (np.arange(n)[:, None], words[side]), 1)
    bags /= np.linalg.norm(bags, axis=2, keepdims=True)
    return np.maximum(1 - bags[0] @ bags[1].T, 0)


def skills(rng: Generator, n: int) -> Matrix:
    """Return how many of a job's needs a person lacks, weighted."""
    needs, has = rng.random((n, 30)) < 0.2, rng.random((n, 30)) < 0.4
    return needs.astype(np.float64) * rng.integers(1, 6, 30) @ (~has).astype(np.float64).T


def tardiness(rng: Generator, n: int) -> Matrix:
    """Return how late a job is that is done as the j-th, weighted: nothing up to its due date."""
    return rng.random((n, 1)) * np.maximum(np.arange(n) - n * rng.random((n, 1)), 0)


def jobs(rng: Generator, n: int) -> Matrix:
    """Return weighted earliness or tardiness of jobs in slots; their dates lie close together."""
    late = np.arange(n) - n * rng.beta(5, 5, (n, 1))
    return rng.random((n, 1)) * np.maximum(0, late) + rng.random((n, 1)) * np.maximum(0, -late)


def tracks(rng: Generator, n: int, other: float) -> Matrix:
    """Return distances of points, each with a dummy of its own at the price of a gate; other dummies cost `other`."""
    half, gate = n // 2, 0.5 / np.sqrt(n)
    cost = np.zeros((n, n))
    cost[:half, : n - half] = distances(rng.random((half, 2)), rng.random((n - half, 2)))
    for part in (cost[:half, n - half :], cost[half:, : n - half]):
        part[:] = other
        np.fill_diagonal(part, gate)
    return cost


def persistence(rng: Generator, n: int) -> Matrix:
    """Return distances of points of two persistence diagrams, each of which may go to the diagonal instead."""
    half, born = n // 2, rng.random(n)
    points = np.stack([born, born + rng.exponential(0.1, n)], axis=1)
    apart, lives = distances(points[:half], points[half:]), (points[:, 1] - points[:, 0]) / np.sqrt(2)
    cost = np.zeros((n, n))
    cost[:half, : n - half] = apart
    cost[:half, n - half :] = cost[half:, : n - half] = apart.max()
    cost[np.arange(n), (np.arange(n) - half) % n] = lives
    return cost


def times_around(rng: Generator, n: int, minutes: int = 0) -> Matrix:
    """Return the time of a day from one event to the next other one, in days or in whole minutes."""
    first, second = rng.random((n, 1)), rng.random(n)
    if minutes:
        return (np.floor(minutes * second) - np.floor(minutes * first)) % minutes
    return (second - first) % 1.0


def rotations(rng: Generator, n: int) -> Matrix:
    """Return minutes on the ground between a flight and the next one of its aircraft; 1e6 where these are too few."""
    ground = rng.integers(20, 1640, n) - rng.integers(0, 1440, (n, 1))
    return np.where(ground >= 30, ground, 1e6)


def moved_or_replaced(rng: Generator, n: int) -> Matrix:
    """Return distances of points, or what it costs to delete the one and to insert the other if that is less."""
    reach = 2 / np.sqrt(n)
    return np.minimum(np.sqrt(plane(rng, n)), reach * (rng.random((n, 1)) + rng.random(n)))


def by_a_hub(rng: Generator, n: int) -> Matrix:
    """Return distances within sixteen districts; between them the way is by the centre of all."""
    x, y = rng.random((n, 2)), rng.random((n, 2))
    to_hub = [np.hypot(*(points - 0.5).T) for points in (x, y)]
    district = [(4 * points).astype(int) @ [1, 4] for points in (x, y)]
    apart = district[0][:, None] != district[1]
    return np.where(apart, to_hub[0][:, None] + to_hub[1] + 0.1, distances(x, y))


def categories(rng: Generator, n: int) -> Matrix:
    """Return distances of categories, some frequent; those of a category from itself are zero but for rounding."""
    places = rng.normal(size=(60, 20))
    of = (rng.zipf(1.5, 2 * n) - 1) % 60
    return distances(places[of[:n]], places[of[n:]])


def rooms(rng: Generator, n: int) -> Matrix:
    """Return distances of people from rooms with room for twenty."""
    return distances(rng.random((n, 2)), rng.random((n // 20 + 1, 2))[np.arange(n) // 20])


RECORDS: dict[str, Maker] = {
    "edit distances of words": edit_distances,
    "taxi minutes": lambda rng, n: np.rint(60 * np.sqrt(plane(rng, n))) + 0.01 * rng.random((n, n)),
    "likelihoods, floored": floored_likelihoods,
    "ten preferences, others last": lambda rng, n: np.minimum(rng.random((n, n)).argsort(1).argsort(1), 10),
    "bags of words": bags_of_words,
    "offsets of rows and columns": lambda rng, n: (
        1e4 * rng.normal(size=(n, 1)) + 1e4 * rng.normal(size=n) + rng.random((n, n))
    ),
    "tenths near a million": lambda rng, n: np.round(1e6 + 10 * rng.random((n, n)), 1),
    "skills": skills,
    "wages times hours": lambda rng, n: np.rint(rng.lognormal(3, 0.5, (n, 1))) * rng.integers(1, 40, (n, n)),
    "weighted tardiness": tardiness,
    "jobs with close dates": jobs,
    "w (t - d)^2": lambda rng, n: rng.random((n, 1)) * (np.arange(n) - n * rng.random((n, 1))) ** 2,
    "x^y": lambda rng, n: rng.random((n, 1)) ** (5 * rng.random((1, n))),
    "persistence diagrams": persistence,
    "tracks, forbidden dummies": partial(tracks, other=np.inf),
    "tracks, dear dummies": partial(tracks, other=100.0),
    "rooms of twenty": rooms,
    "hours around the clock": times_around,
    "minutes around the clock": partial(times_around, minutes=1440),
    "aircraft rotations": rotations,
    "moved or replaced": moved_or_replaced,
    "min(d, 0.03) and offsets": lambda rng, n: (
        np.minimum(np.sqrt(plane(rng, n)), 0.03) + rng.random((n, 1)) + rng.random(n)
    ),
    "distances by a hub": by_a_hub,
    "categories that repeat": categories,
    "dates": lambda rng, n: differences(np.sort(rng.integers(0, 3650, n)), rng.integers(0, 3650, n)) // 7,
}
