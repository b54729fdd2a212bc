"""`lapwing.solve` with `device="cuda"` on the emulated GPU: Python and kernels together, on small problems."""

from __future__ import annotations

import emulated_toolkit
import numpy as np
import pytest

import lapwing as lw
from lapwing import instances
from lapwing.gpu import compile as compiler
from lapwing.gpu import core_start, launch
from lapwing.gpu.core import workspace_bytes
from lapwing.gpu.launch import kernels
from lapwing.gpu.programs import Program
from support import assert_hall_violator, assert_optimal

pytestmark = pytest.mark.usefixtures("emulated_gpu")
DTYPES = ("float32", "int32")  # others go the same ways; every one is compiled anew, for seconds


def draw(shape, dtype, seed=0, kind="uniform"):
    random = np.random.default_rng(seed)
    if kind == "points":
        x, y = random.random((shape[0], 2)), random.random((shape[1], 2))
        cost = ((x[:, None] - y[None]) ** 2).sum(-1)
    else:
        cost = random.random(shape) if kind == "uniform" else random.integers(0, 4, shape) / 8
    return (1000 * cost).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (12, 12), (9, 20), (20, 9), (33, 33), (64, 65)])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
def test_small_problems(shape, dtype, maximize, kind):
    cost = draw(shape, dtype, kind=kind)
    for given in (cost, np.asfortranarray(cost)):
        result = lw.solve(given, device="cuda", maximize=maximize)
        assert result.plan.device == "cuda:0" and result.certificate.complete
        assert_optimal(result, cost, maximize=maximize)


@pytest.mark.parametrize("kind", ["uniform", "points"])
def test_samples(monkeypatch, kind):
    """With thresholds so low that small problems take all steps of large ones."""
    monkeypatch.setattr(core_start, "_LEAST_ROWS", 20)
    monkeypatch.setattr(core_start, "_FIRST_SAMPLE", 33)  # rows with columns beyond their lists
    monkeypatch.setattr(core_start, "_OPENING_LEFT", 1000)
    monkeypatch.setattr(core_start, "_STRUCTURED_FROM", -1.0)
    levels = set()
    for n in (31, 140, 150):
        cost = draw((n, n), "float32", n, kind)
        result = lw.solve(cost, device="cuda")
        assert_optimal(result, cost)
        levels.add(result.statistics["levels"])
    assert max(levels) >= 2


def test_an_instance_without_structure_needs_no_sample():
    result = lw.solve(instances.generate("uniform", 60, 1, dtype="float32"), device="cuda")
    assert result.statistics["levels"] == 0


@pytest.mark.parametrize("shape", [(20, 20), (12, 30), (30, 12)])
@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(shape, maximize):
    cost = draw(shape, "float32")
    cost[np.random.default_rng(1).random(shape) < 0.5] = -np.inf if maximize else np.inf
    assert_optimal(lw.solve(cost, device="cuda", maximize=maximize), cost, maximize=maximize)
    lines, theirs = (np.s_[:8], np.s_[:8, :3]) if shape[0] <= shape[1] else (np.s_[:, :8], np.s_[:3, :8])
    cost[lines] = -np.inf if maximize else np.inf
    cost[theirs] = 1
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(cost, device="cuda", maximize=maximize)
    assert_hall_violator(caught.value, cost, maximize=maximize)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
def test_invalid_costs_are_named(bad, order):
    cost = draw((20, 30), "float32").copy(order=order)
    cost[11, 13] = bad
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(cost, device="cuda")
    assert (caught.value.row, caught.value.col) == (11, 13)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_matrices(shape):
    result = lw.solve(np.zeros(shape, np.float32), device="cuda")
    assert result.objective == 0 and result.row_to_col.tolist() == [-1] * shape[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(30, 30), (20, 30)])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e12, 1e300])
def test_any_start_will_do(dtype, shape, scale):
    cost = draw(shape, dtype)
    random = np.random.default_rng(4)
    start = (random.normal(size=shape[0]) * scale, random.normal(size=shape[1]) * scale)
    assert_optimal(lw.solve(cost, device="cuda", start=start), cost)
    first = lw.solve(cost, device="cuda")
    again = lw.solve(cost, device="cuda", start=first)
    assert_optimal(again, cost)
    assert again.statistics["scans"] <= first.statistics["scans"]


def test_a_start_of_a_wrong_shape_is_refused():
    cost = draw((10, 20), "float32")
    with pytest.raises(lw.ArgumentError, match=r"v must have shape \(20,\)"):
        lw.solve(cost, device="cuda", start=(np.zeros(10), np.zeros(10)))
    with pytest.raises(lw.ArgumentError, match=r"u\[3\] is not finite"):
        lw.solve(cost, device="cuda", start=(np.where(np.arange(10) == 3, np.inf, 0), np.zeros(20)))


CARVING = """
#include "core_orders.cuh"
extern "C" __global__ void carve(int64 rows, int64 cols, int64* end) {
    State state;
    state.matrix.rows = static_cast<int32>(rows);
    state.matrix.cols = static_cast<int32>(cols);
    state.carve(nullptr);
    *end = reinterpret_cast<int64>(state.end);
}
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_workspace_holds_what_kernels_take(gpu, dtype, monkeypatch, tmp_path):
    for path in compiler.KERNELS.glob("*.cuh"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "carving.cu").write_text(CARVING)
    program = Program("carving", "carving.cu", ("carve",), {"COST": (dtype,)}, {"THREADS": 1024})
    monkeypatch.setattr(compiler, "KERNELS", tmp_path)
    monkeypatch.setattr(emulated_toolkit, "PROGRAMS", (program,))
    monkeypatch.setattr(launch, "_loaded", {})
    carve = kernels(gpu.context, program, program.variant(COST=dtype))["carve"]
    for rows, cols in ((1, 1), (5, 1000), (1000, 1000), (100_000, 180_000), (180_000, 180_000)):
        end = gpu.put(np.zeros(1, np.int64))
        carve.launch(gpu.context, 1, 1, rows, cols, end.pointer)
        taken, planned = int(gpu.get(end)[0]), workspace_bytes(rows, cols, dtype)
        assert taken <= planned <= 1.02 * taken + 20_000
