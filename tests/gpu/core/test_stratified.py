"""Stratified samples of a matrix: one of so many neighbours, and none where costs do not tell who they are."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing._core import Neighbours
from lapwing.gpu.core.stratified import PIVOTS, SampleLists, pivot_points, stratified
from lapwing.gpu.runtime.copies import read, write
from lapwing.gpu.runtime.tuning import BOX_POINTS

SIZES = (200, 260)  # rows and columns


def samples_of(gpu, rows: np.ndarray, cols: np.ndarray, runs: list[int]):
    """Of points with so many coordinates as there are differences."""

    def launch_keys(pivot: int, row_keys: int, col_keys: int) -> None:
        write(gpu.context, row_keys, np.ascontiguousarray(rows[:, pivot - 1]))
        write(gpu.context, col_keys, np.ascontiguousarray(cols[:, pivot - 1]))

    points = pivot_points(gpu.context, SIZES, None, launch_keys)
    if points is None:
        return None
    rows, cols = (Neighbours(side, BOX_POINTS).order() for side in points)
    return SampleLists(gpu.context, stratified(rows, cols, runs), None)


def draw() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.random((SIZES[0], PIVOTS - 1)), rng.random((SIZES[1], PIVOTS - 1)) - 5


def test_a_sample_has_one_of_so_many_neighbours(gpu) -> None:
    points = draw()
    samples = samples_of(gpu, *points, [16, 4])
    assert samples is not None and samples.lists(1) == (0, 0)
    for run in (16, 4):
        for address, side in zip(samples.lists(run), points, strict=True):
            size = len(side)
            members = read(gpu.context, address, size // run, "int32")
            place = np.empty(size, int)
            place[Neighbours(side.astype(np.float32), BOX_POINTS).order()] = np.arange(size)
            assert sorted(place[members] // run) == list(range(size // run))
            assert list(place[members]) != sorted(place[members])


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e300])
def test_none_where_differences_are_not_finite(gpu, value) -> None:
    rows, cols = draw()
    cols[7, 1] = value
    assert samples_of(gpu, rows, cols, [4]) is None
