"""Matrices that stay on the host while a GPU solves (emulated): the answers that they have there, certified."""

from __future__ import annotations

import emulated_toolkit
import numpy as np
import pytest

import lapwing as lw
from lapwing import on_gpu
from lapwing.gpu import plan as gpu_plan
from lapwing.gpu.host_rows import Layout
from support import assert_hall_violator, assert_optimal
from test_solve_emulated import draw

pytestmark = pytest.mark.usefixtures("emulated_gpu", "meanwhile")


@pytest.fixture
def meanwhile(monkeypatch):
    """Kernels run beside the host, which they ask for rows."""
    monkeypatch.setattr(emulated_toolkit.BACKGROUND, "meanwhile", True)
    yield
    emulated_toolkit.BACKGROUND.wait()


@pytest.fixture
def room_for(monkeypatch):
    """No room for a matrix, but for so many rows, and stores of such a depth."""

    def apply(room, depth):
        monkeypatch.setattr(on_gpu, "is_too_large", lambda *_: True)
        monkeypatch.setattr(
            gpu_plan,
            "largest_layout",
            lambda shape, dtype, _: Layout(*shape, dtype, min(room, shape[0]), min(depth, shape[1])),
        )

    return apply


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (12, 12), (9, 20), (20, 9), (60, 60), (50, 70)])
@pytest.mark.parametrize("kind", ["uniform", "ties", "points"])
@pytest.mark.parametrize(("room", "depth"), [(7, 5), (100, 40)])
def test_small_problems(room_for, shape, dtype, maximize, kind, room, depth):
    room_for(room, depth)
    cost = draw(shape, dtype, kind=kind)
    given = np.asfortranarray(cost) if maximize else cost
    result = lw.solve(given, device="cuda", maximize=maximize)
    assert result.plan.tier == "streamed"
    assert_optimal(result, cost, maximize=maximize)
