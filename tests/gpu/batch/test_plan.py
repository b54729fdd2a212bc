"""Plans of batches, which need no GPU."""

from __future__ import annotations

import pytest

from lapwing.gpu.batch.plan import BatchForm, plan_batch


def form(shape, dtype="float32", **changes):
    count, rows, cols = shape
    parts = {"strides": (rows * cols, cols, 1), "maximize": False, "priced": False, "ragged": False, **changes}
    return BatchForm(problems=count, rows=rows, cols=cols, dtype=dtype, **parts)


@pytest.mark.parametrize(
    ("shape", "dtype", "kernel", "threads"),
    [
        ((1000, 8, 8), "float32", "solve_in_8_lanes", 64),
        ((1000, 3, 9), "int64", "solve_in_16_lanes", 64),
        ((1000, 32, 32), "float64", "solve_in_32_lanes", 64),
        ((1000, 33, 33), "float32", "solve_in_shared 128", 64),
        ((9, 20, 128), "float32", "solve_in_shared 128", 64),
        ((9, 220, 220), "float16", "solve_in_shared 256", 128),
        ((9, 220, 220), "float32", "solve_in_memory 256", 256),
        ((9, 256, 256), "float32", "solve_in_memory 256", 256),
        ((9, 1024, 1024), "float32", "solve_in_memory 1024", 512),
        ((9, 100, 4096), "float32", "solve_in_memory 4096", 512),
    ],
)
def test_engines_by_size(shape, dtype, kernel, threads):
    plan = plan_batch(form(shape, dtype), 227 * 1024)
    name = " ".join([plan.kernel, *(value for macro, value in plan.variant if macro == "COLUMNS")])
    assert (name, plan.threads) == (kernel, threads)
    assert plan.shared_bytes <= 227 * 1024 and plan.stage is None


@pytest.mark.parametrize(
    ("dtype", "changes", "staged"),
    [
        ("float32", {}, False),
        ("float16", {}, True),
        ("int8", {}, True),
        ("float32", {"maximize": True}, True),
        ("float32", {"strides": (90000, 1, 300)}, True),
        ("float32", {"strides": (1, 600, 2)}, True),
        ("float32", {"strides": (0, 301, 1)}, False),
        ("float32", {"ragged": True}, True),
        ("float32", {"ragged": True, "priced": True}, False),
    ],
)
def test_what_must_be_rearranged(dtype, changes, staged):
    assert (plan_batch(form((2, 300, 300), dtype, **changes), 227 * 1024).stage is not None) == staged
    if changes == {"strides": (90000, 1, 300)}:  # a tall one lies right
        assert plan_batch(form((2, 300, 290), dtype, **changes), 227 * 1024).stage is None
