"""The GPU's certificate is the CPU's, field by field: its kernels and the Python around them, on the CUDA emulator."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_toolkit import on_gpu

import lapwing as lw
from lapwing.gpu.certify import Answer, prove_on_gpu

SHAPES = [(6, 6), (5, 40), (40, 5), (33, 33), (1, 1), (1, 300), (300, 1), (17, 1025)]


def proofs(context, cost, row_to_col, u, v, *, maximize=False, prices=None, bits=None):
    """The GPU's certificate and the CPU's."""
    cost_view = on_gpu(cost) if bits is None else on_gpu(bits, "bfloat16")
    kind = np.int64 if cost.dtype.kind in "iu" else np.float64
    row_to_col = np.ascontiguousarray(row_to_col, np.int64)
    u, v = np.ascontiguousarray(u, kind), np.ascontiguousarray(v, kind)
    given = None if prices is None else np.ascontiguousarray(-prices if maximize else prices, kind)
    answer = Answer(row_to_col.ctypes.data, u.ctypes.data, v.ctypes.data, 0 if given is None else given.ctypes.data)
    found = prove_on_gpu(context, cost_view, answer, maximize)
    return found, lw.certify(cost, row_to_col, u, v, maximize=maximize, unmatched_cost=prices)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("layout", ["C", "F", "odd", "steps"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.float16, np.uint8])
def test_same_as_the_cpu(emulated_gpu, dtype, layout, maximize):
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        cost = (rng.random(shape) * 200).astype(dtype)
        if layout == "F":
            cost = np.asfortranarray(cost)
        elif layout == "odd":
            cost = np.pad(cost, ((0, 0), (1, 2)))[:, 1:-2]
        elif layout == "steps":
            cost = np.repeat(np.repeat(cost, 2, 0), 3, 1)[::-2, ::3]
        result = lw.solve(cost, maximize=maximize)
        for shift in (0, 1, -1):
            u = result.u.copy()
            u[len(u) // 2] += shift
            found, expected = proofs(emulated_gpu, cost, result.row_to_col, u, result.v, maximize=maximize)
            assert found == expected, (shape, shift)
