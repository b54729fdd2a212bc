"""Checkpoints of solves on a GPU (emulated): the CPU's files, from which either goes on."""

from __future__ import annotations

import os

import numpy as np
import pytest

import lapwing as lw
from lapwing.checkpoint import read_checkpoint
from lapwing.gpu.kinds.resident import ResidentMatrix
from lapwing.request import Request
from support import emulated_toolkit
from support.checks import assert_optimal
from support.emulated_solves import draw
from support.gpu_memory import Gpu, OnGpu

pytestmark = pytest.mark.usefixtures("emulated_gpu", "meanwhile")


@pytest.fixture
def written(monkeypatch):
    """The files that are written, one by one."""
    seen, rename = [], os.replace

    def look(source, target):
        if str(target).endswith(".npz"):
            seen.append(read_checkpoint(source))
        return rename(source, target)

    monkeypatch.setattr(os, "replace", look)
    return seen


def on_cpu(cost, saved, **options):
    """The same problem on a CPU, from what was saved."""
    return lw.solve(cost, start=(saved.u, saved.v), **options)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(90, 90), (40, 30)])
def test_what_is_written_on_the_way(written, tmp_path, maximize, shape):
    cost = draw(shape, "float32", kind="points")
    kept = lw.Checkpoint(tmp_path / "run.npz", 0.001)
    result = lw.solve(cost, device="cuda", maximize=maximize, checkpoint=kept)
    assert_optimal(result, cost, maximize=maximize)
    assert {saved.about["status"] for saved in written} == {"running", "optimal"}
    assert np.array_equal(written[-1].u, result.u) and np.array_equal(written[-1].row_to_col, result.row_to_col)
    for saved in written:
        cols = saved.row_to_col[saved.row_to_col >= 0]
        assert len(set(cols.tolist())) == len(cols) and cols.max(initial=0) < shape[1]
        assert_optimal(on_cpu(cost, saved, maximize=maximize), cost, maximize=maximize)
    for device in ("cuda", "cpu"):
        again = lw.solve(cost, device=device, maximize=maximize, checkpoint=kept)
        assert_optimal(again, cost, maximize=maximize)
        if shape[0] == shape[1] and device == "cuda":
            assert again.statistics["levels"] == 0 and again.statistics["rounds"] < result.statistics["rounds"]


def test_an_interrupted_solve_goes_on(written, tmp_path):
    cost = draw((90, 90), "float32", kind="points")
    path = tmp_path / "run.npz"
    reports = iter(range(1000))

    def refuse(progress):
        if next(reports) == 2:
            raise KeyboardInterrupt

    emulated_toolkit.BACKGROUND.wait()
    with pytest.raises(KeyboardInterrupt):
        while True:
            lw.solve(cost, device="cuda", progress=refuse, checkpoint=path)
    assert path.exists() and written[-1].about["status"] in ("running", "optimal")
    result = lw.solve(cost, device="cuda", checkpoint=path)
    assert_optimal(result, cost)
    result = lw.solve(cost, device="cuda", time_limit=0.01, checkpoint=path)
    assert read_checkpoint(path).about["status"] == result.status


@pytest.mark.slow
def test_other_costs(tmp_path, emulated_gpu, room_for):
    """In a GPU's memory, computed there, and on the host: files are the same as of the matrix on a CPU."""
    cost = draw((40, 40), "float32", kind="points")
    on_gpu = OnGpu(Gpu(emulated_gpu), cost)
    path = tmp_path / "matrix.npz"
    lw.solve(on_gpu, checkpoint=path)
    lw.solve(cost, device="cpu", checkpoint=path)  # is not refused
    other = OnGpu(Gpu(emulated_gpu), cost + 1)
    with pytest.raises(lw.ArgumentError, match="checkpoint of another problem"):
        lw.solve(other, checkpoint=path)
    room_for(9, 9)
    assert lw.solve(cost, device="cuda", checkpoint=path).plan.tier == "streamed"

    x, y = np.random.default_rng(1).random((2, 40, 2), np.float32)
    points = lw.costs.squared_euclidean(x, y)
    for device in ("cuda", "cpu", "cuda"):
        lw.solve(points, device=device, checkpoint=tmp_path / "points.npz")
    function = lw.costs.cuda_source(
        "__device__ float cost(const Arrays& in, long long i, long long j) { return in.x[i] * j + in.w; }",
        shape=(30, 30),
        arrays={"x": x[:30, 0].copy(), "w": 0.5},
    )
    for _ in range(2):
        lw.solve(function, checkpoint=tmp_path / "function.npz")
    with pytest.raises(lw.ArgumentError, match="writes no checkpoints on a GPU"):
        lw.solve(cost, device="cuda", method="munkres", checkpoint=path)


def test_a_matrix_by_columns_is_refused(emulated_gpu):
    gpu = Gpu(emulated_gpu)
    with pytest.raises(lw.ArgumentError, match="rows are contiguous"):
        ResidentMatrix(emulated_gpu, gpu.put(np.zeros((5, 6), np.float32, order="F"))).identified(Request())
    halves = ResidentMatrix(emulated_gpu, gpu.put(np.zeros((5, 6), np.float16)))
    assert halves.identified(Request()).cost.dtype == np.float32
