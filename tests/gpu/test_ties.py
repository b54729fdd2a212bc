"""Among optimal answers a GPU, too, gives one with the most matches."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.inputs import BatchOptions
from lapwing.gpu.batch.solve import solve_stack
from lapwing.gpu.reference import REFERENCE_METHODS
from support.checks import assert_optimal
from support.ties import most_matches, tied_problem

SHAPES = [(2, 2), (12, 12), (9, 20), (20, 9), (45, 40), (70, 80)]


def check(result, cost, prices, maximize=False):
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=prices)
    assert len(result.pairs) == most_matches(cost, prices, maximize)
    assert result.certificate.exact


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("values", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix(shape, values):
    for dtype, maximize in (("float32", False), ("int32", True)):
        cost, prices = tied_problem(values, *shape, values, dtype)
        result = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=prices)
        check(result, cost, prices, maximize)
        quick = lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=prices, certify=False)
        assert len(quick.pairs) == len(result.pairs) and quick.objective == result.objective


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("method", REFERENCE_METHODS)
def test_reference_methods(method):
    for values in (2, 5):
        cost, prices = tied_problem(values, 20, 18, values, "float32")
        check(lw.solve(cost, device="cuda", unmatched_cost=prices, method=method), cost, prices)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("shape", [(30, 30), (40, 25), (16, 60)])
def test_points(shape):
    """Of a grid, so that distances tie with the price."""
    rng = np.random.default_rng(sum(shape))
    x, y = (rng.integers(0, 4, (n, 2)).astype(np.float32) for n in shape)
    cost = np.abs(x[:, None] - y).sum(-1)
    prices = rng.integers(0, 4, shape[0]).astype(float)
    result = lw.solve(lw.costs.manhattan(x, y), device="cuda", unmatched_cost=prices)
    check(result, cost, prices)


@pytest.mark.usefixtures("emulated_gpu", "meanwhile")
@pytest.mark.parametrize("maximize", [False, True])
def test_a_matrix_on_the_host(maximize, room_for):
    room_for(7, 8)
    cost, prices = tied_problem(5, 40, 44, 5, "float32")
    check(lw.solve(cost, device="cuda", maximize=maximize, unmatched_cost=prices), cost, prices, maximize)


@pytest.mark.usefixtures("emulated_gpu")
def test_decimals():
    """Tenths have no exact duals; a path is used if its exact cost is no higher."""
    for seed in range(20):
        cost, prices = tied_problem(seed, 14, 15, 8, "float64")
        cost, prices = cost / 10, prices / 10
        result = lw.solve(cost, device="cuda", unmatched_cost=prices)
        assert_optimal(result, cost, unmatched_cost=prices)
        assert len(result.pairs) == len(lw.solve(cost, unmatched_cost=prices).pairs)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("shape", [(2, 2), (7, 8), (20, 12), (30, 31), (60, 70), (130, 150)])
def test_batches(gpu, shape, dtype, maximize):
    costs, prices = zip(*(tied_problem(seed, *shape, seed, dtype) for seed in (1, 2, 4, 9, 40)), strict=True)
    costs, prices = np.stack(costs), np.stack(prices).astype("int64" if dtype == "int64" else "float64")
    options = {"maximize": maximize, "unmatched_cost": gpu.put(prices), "certify": True}
    row_to_col, objective, status, u, v, _, gap, fault = (
        gpu.get(array) for array in solve_stack(gpu.context, gpu.put(costs), BatchOptions(**options)).arrays
    )
    assert not status.any() and not fault.any() and not gap.any()
    for b, cost in enumerate(costs):
        assert (row_to_col[b] >= 0).sum() == most_matches(cost, prices[b], maximize)
        proof = lw.certify(cost, row_to_col[b], u[b], v[b], maximize=maximize, unmatched_cost=prices[b])
        assert proof.exact and proof.primal == objective[b]
    plain = solve_stack(gpu.context, gpu.put(costs), BatchOptions(maximize, options["unmatched_cost"]))
    assert (gpu.get(plain.arrays[0]) == row_to_col).all() and plain.arrays[3] is plain.arrays[4] is None


def test_ragged_batches(gpu):
    costs, _ = tied_problem(3, 6 * 12, 13, 3, "float32")
    costs = costs.reshape(6, 12, 13).transpose(0, 2, 1)
    rows, cols = np.array([0, 3, 13, 7, 1, 13]), np.array([5, 12, 12, 0, 1, 3])
    options = BatchOptions(False, 1.0, gpu.put(rows), gpu.put(cols), certify=True)
    row_to_col, *_, fault = (gpu.get(array) for array in solve_stack(gpu.context, gpu.put(costs), options).arrays)
    assert not fault.any()
    for b in range(6):
        cost = costs[b, : rows[b], : cols[b]]
        want = most_matches(cost, np.ones(rows[b])) if cost.size else 0
        assert (row_to_col[b] >= 0).sum() == want


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint32"])
def test_tensors(dtype):
    torch = pytest.importorskip("torch")
    for shape in ((50, 60), (700, 600), (40, 3000)):
        cost, prices = tied_problem(3, *shape, 20, "int64")
        given = torch.from_numpy(cost).cuda().to(getattr(torch, dtype))
        result = lw.solve(given, unmatched_cost=prices)
        assert result.row_to_col.is_cuda and result.certificate.exact
        want = len(lw.solve(cost, unmatched_cost=prices).pairs)
        assert int((result.row_to_col >= 0).sum()) == want
        batch = lw.solve_batch(given[None].expand(3, *shape), unmatched_cost=prices, certify=True)
        assert (batch.row_to_col >= 0).sum(1).tolist() == [want] * 3 and not batch.status.any()


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("shape", [(30, 30), (45, 40), (9, 70)])
def test_sparse_costs(shape):
    """Pairs that are missing are no ties; long rows are read again."""
    for seed in range(4):
        cost, prices = tied_problem(seed, *shape, 4, "float32")
        cost[np.random.default_rng(seed).random(shape) < (0.4, 0.9)[seed % 2]] = np.inf
        row, col = np.nonzero(cost < np.inf)
        pairs = lw.costs.edges(row, col, cost[row, col], shape)
        result, want = lw.solve(pairs, device="cuda", unmatched_cost=prices), lw.solve(cost, unmatched_cost=prices)
        assert result.plan.device == "cuda:0" and result.certificate.exact
        assert result.objective == want.objective and len(result.pairs) == len(want.pairs)
