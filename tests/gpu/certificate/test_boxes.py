"""The certificate by boxes is the one that reads all pairs, field by field, whatever the answer and the boxes."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.certificate.passes import BoxedPass, ComputedPass
from lapwing.gpu.certificate.proof import Candidate, Proof
from lapwing.gpu.costs import spatial_order
from lapwing.gpu.costs.computed import upload_computed
from lapwing.gpu.runtime.copies import read, write
from support.metrics import METRICS

ALL_METRICS = METRICS | {
    "cosine": lambda x, y: lw.costs.cosine(x - 0.5, y - 0.5),
    "haversine": lambda x, y: lw.costs.haversine(x[:, :2], y[:, :2]),
    "gated": lambda x, y: lw.costs.euclidean(x, y, max_distance=0.6),
    "sum": lambda x, y: lw.costs.weighted(lw.costs.manhattan(x, y), 0.75, lw.costs.inner_product(x, y - 0.5), 0.1),
}


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(spatial_order, "_LEAST", 1)


def certificates(gpu, source, row_to_col, u, v, damage=None, prices=None):
    """By boxes, and by all pairs; `damage` changes what is in the boxes' arrays."""
    uploaded = upload_computed(gpu.context, source, None)
    assert uploaded.cost_program.in_order
    answer = Candidate(
        gpu.address(np.ascontiguousarray(row_to_col, np.int64)),
        *(gpu.address(np.ascontiguousarray(duals, np.float64)) for duals in (u, v)),
        gpu.address(prices),
    )
    found = []
    boxed = BoxedPass(gpu.context, uploaded, None, lambda done: None)
    if damage is not None:
        damage(uploaded.held[0])
    for costs in boxed, ComputedPass(gpu.context, uploaded, False, None, lambda done: None):
        proof = Proof(costs, source.dtype.name, answer, None)
        proof.start()
        found.append(proof.finish())
    return found


def sides(shape, dims, dtype, seed=1):
    random = np.random.default_rng(seed)
    return [random.random((count, dims)).astype(dtype) for count in shape]


# of float64, few without being asked: each is a program of its own to compile
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", ALL_METRICS)
def test_every_metric(gpu, metric, dtype):
    source = ALL_METRICS[metric](*sides((300, 330), 3, dtype))
    answer = lw.solve(source, device="cpu")
    assert answer.certificate is not None
    boxed, plain = certificates(gpu, source, answer.row_to_col, answer.u, answer.v)
    assert boxed == plain and boxed.complete
    random = np.random.default_rng(2)
    for scale in (1e-7, 1e-3, 1.0):
        u, v = (duals + scale * random.standard_normal(len(duals)) for duals in (answer.u, answer.v))
        boxed, plain = certificates(gpu, source, answer.row_to_col, u, v)
        assert boxed == plain and boxed.violation > 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (128, 129), (257, 128)])
def test_any_shape(gpu, shape):
    source = lw.costs.squared_euclidean(*sides(shape, 2, "float64"))
    answer = lw.solve(source, device="cpu")
    boxed, plain = certificates(gpu, source, answer.row_to_col, answer.u, answer.v)
    assert boxed == plain and boxed.complete


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_duals_that_are_no_numbers(gpu, bad):
    source = lw.costs.squared_euclidean(*sides((140, 140), 2, "float32"))
    answer = lw.solve(source, device="cpu")
    for at in "uv":
        duals = {"u": answer.u.copy(), "v": answer.v.copy()}
        duals[at][7] = bad
        boxed, plain = certificates(gpu, source, answer.row_to_col, duals["u"], duals["v"])
        assert boxed == plain


@pytest.mark.parametrize("array", ["order_x", "order_y", "sorted_x0", "sorted_y0", "boxes_x0", "boxes_y0"])
def test_boxes_are_not_trusted(gpu, array):
    """A violated pair is found though the boxes hide it."""
    source = lw.costs.squared_euclidean(*sides((300, 300), 2, "float32"))
    answer = lw.solve(source, device="cpu")
    v = answer.v.copy()
    v[17] += 0.5

    def damage(memory):
        dtype = "int32" if array.startswith("order") else "float32"
        size = spatial_order.sizes(source)[array] // 4
        values = read(gpu.context, memory[array], size, dtype).copy()
        if array.startswith("order"):
            values[values == 17] = 18  # one point twice, another never
        elif array.startswith("sorted"):
            values[:] = 9  # far from everything
        else:
            values[: size // 2] = 9  # corners far away
        write(gpu.context, memory[array], values)

    boxed, plain = certificates(gpu, source, answer.row_to_col, answer.u, v, damage)
    assert boxed == plain and boxed.violation > 0


def test_prices_of_free_rows(gpu):
    source = lw.costs.squared_euclidean(*sides((200, 260), 2, "float32"))
    answer = lw.solve(source, device="cpu", unmatched_cost=0.001)
    prices = np.full(200, 0.001)
    boxed, plain = certificates(gpu, source, answer.row_to_col, answer.u, answer.v, prices=prices)
    assert boxed == plain and boxed.complete
