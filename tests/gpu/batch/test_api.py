"""Batches on a GPU against the CPU; each test runs under the emulator too, on small problems."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DtypeError, InfeasibleError, InvalidCostError, RangeError
from lapwing.gpu.batch.inputs import BatchOptions, make_request
from lapwing.gpu.batch.launch import Prepared
from lapwing.gpu.batch.plan import CROSSOVERS
from lapwing.gpu.batch.solve import solve_stack
from lapwing.gpu.runtime.copies import write

DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]

# Engines by force: never lanes; neither lanes nor shared memory.
ENGINES = {
    "auto": CROSSOVERS,
    "shared": dataclasses.replace(CROSSOVERS, lanes=()),
    "memory": dataclasses.replace(CROSSOVERS, lanes=(), shared_bytes=0),
}


@dataclasses.dataclass
class Solved:
    row_to_col: np.ndarray
    objective: np.ndarray
    status: np.ndarray
    u: np.ndarray | None
    v: np.ndarray | None
    violation: np.ndarray | None = None
    gap: np.ndarray | None = None
    fault: np.ndarray | None = None


def solve(gpu, costs, *, bits=None, **options):
    """Solve on the GPU; arrays among the options are put there too."""
    options = {name: gpu.put(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
    crossovers = options.pop("crossovers", CROSSOVERS)
    answer = solve_stack(gpu.context, gpu.put(costs, bits), BatchOptions(**options), crossovers)
    return Solved(*(None if array is None else gpu.get(array) for array in answer.arrays))


def problems_of(costs, row_counts=None, col_counts=None):
    for b, cost in enumerate(costs):
        m = cost.shape[0] if row_counts is None else row_counts[b]
        n = cost.shape[1] if col_counts is None else col_counts[b]
        yield cost[:m, :n]


def assert_optimal(solved, costs, *, maximize=False, unmatched_cost=None, row_counts=None, col_counts=None):
    """Every problem is solved and proven by its duals, or refused as the CPU refuses it."""
    for b, cost in enumerate(problems_of(costs, row_counts, col_counts)):
        m, n = cost.shape
        prices = unmatched_cost
        if prices is not None and np.ndim(prices):
            prices = np.broadcast_to(prices, costs.shape[:2])[b, :m]
        try:
            expected = lw.solve(cost, maximize=maximize, unmatched_cost=prices)
        except InfeasibleError:
            assert_refused(solved, b, 1)
            continue
        except InvalidCostError:
            assert_refused(solved, b, 2)
            continue
        assert solved.status[b] == 0
        assert (solved.row_to_col[b, m:] == -1).all()
        row_to_col, u, v = solved.row_to_col[b, :m], solved.u[b, :m], solved.v[b, :n]
        certificate = lw.certify(cost, row_to_col, u, v, maximize=maximize, unmatched_cost=prices)
        assert certificate.fault is None and certificate.complete
        scale = 1e-12 * (np.abs(u.astype(float)).sum() + np.abs(v.astype(float)).sum() + 1e-300)
        assert certificate.exact or certificate.bound <= scale
        assert abs(solved.objective[b] - expected.objective) <= (0 if solved.u.dtype.kind == "i" else scale)


def assert_refused(solved, b, status):
    assert solved.status[b] == status
    assert (solved.row_to_col[b] == -1).all()
    assert (solved.u[b] == 0).all() and (solved.v[b] == 0).all()
    assert solved.objective[b] == 0 if solved.objective.dtype.kind == "i" else np.isnan(solved.objective[b])


def some_costs(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def is_emulated(gpu):
    return gpu.context.info.name == "Emulated GPU"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(3, 7, 7), (2, 9, 14), (3, 14, 9), (2, 33, 33)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(gpu, dtype, shape, maximize, engine):
    if is_emulated(gpu) and dtype not in ("float32", "int64"):
        pytest.skip("a program takes seconds to build for the emulator")
    costs = some_costs(dtype, shape)
    solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
    assert_optimal(solved, costs, maximize=maximize)


@pytest.mark.parametrize("engine", ENGINES)
def test_bfloat16(gpu, engine):
    if is_emulated(gpu):
        pytest.skip("a program takes seconds to build for the emulator")
    costs = np.random.default_rng(1).random((3, 20, 24), np.float32)
    bits = (costs.view(np.uint32) >> 16).astype(np.uint16)
    rounded = (bits.astype(np.uint32) << 16).view(np.float32)
    assert_optimal(solve(gpu, bits, bits="bfloat16", duals=True, crossovers=ENGINES[engine]), rounded)


LAYOUTS = {
    "transposed": lambda c: c.transpose(0, 2, 1),
    "reversed": lambda c: c[:, ::-1, ::-1],
    "strided": lambda c: c[:, ::2, 1::2],
    "last problem first": lambda c: c[::-1],
    "problems innermost": lambda c: np.ascontiguousarray(c.transpose(1, 2, 0)).transpose(2, 0, 1),
    "broadcast": lambda c: np.broadcast_to(c[0], c.shape),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(gpu, layout, maximize, engine):
    costs = LAYOUTS[layout](some_costs("float32", (3, 12, 16), 2))
    solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
    assert_optimal(solved, np.ascontiguousarray(costs), maximize=maximize)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(gpu, maximize, engine):
    rng = np.random.default_rng(3)
    costs = rng.random((8, 12, 12), np.float32)
    absent = -np.inf if maximize else np.inf
    for b, share in enumerate(np.linspace(0.1, 1, 8)):
        costs[b][rng.random((12, 12)) < share] = absent
    costs[1] = absent
    costs[1][np.arange(12), rng.permutation(12)] = 1  # one assignment
    costs[2][4] = absent
    solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
    assert (solved.status[[1, 2, 7]] == [0, 1, 1]).all()
    assert_optimal(solved, costs, maximize=maximize)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(2, 1, 1), (2, 12, 12), (2, 9, 14), (2, 14, 9), (1, 33, 33)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_all_costs_equal(gpu, dtype, shape, engine):
    costs = np.full(shape, 7, dtype)
    for maximize in (False, True):
        solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
        assert (solved.objective == 7 * min(shape[1:])).all()
        assert_optimal(solved, costs, maximize=maximize)


@pytest.mark.parametrize("engine", ["shared", "memory"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_structured_costs(gpu, dtype, engine):
    """Costs that leave many rows free after the first bids, so that rows bid in phases; integers up to the limit."""
    n, rng = 44, np.random.default_rng(12)
    x, y = rng.random((n, 2)), rng.random((n, 2))
    x[n // 2 :] += 1
    y += np.where(np.arange(n)[:, None] < n // 2, [0, 1], [1, 0])
    costs = np.stack([((x[:, None] - y) ** 2).sum(-1), np.outer(x[:, 0], y[:, 1]), -np.outer(x[:, 0], y[:, 0])])
    if dtype == "int64":
        top = (2**62 - 1) // (2 * (n + 1)) - 1
        costs = (costs / np.abs(costs).max((1, 2), keepdims=True) * (top - 100)).astype(dtype)
    else:
        costs = np.concatenate([costs, np.where(costs[:1] > 2, 1e30, costs[:1]), 1e37 * costs]).astype(dtype)
    for maximize in (False, True):
        solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
        assert_optimal(solved, costs, maximize=maximize)


@pytest.mark.parametrize("engine", ["shared", "memory"])
@pytest.mark.parametrize("maximize", [False, True])
def test_structured_costs_with_forbidden_pairs(gpu, maximize, engine):
    n, rng = 70, np.random.default_rng(13)
    x, y = rng.random((n, 2)), rng.random((n, 2)) ** 2
    costs = np.repeat(((x[:, None] - y) ** 2).sum(-1)[None], 5, 0).astype(np.float32)
    absent = -np.inf if maximize else np.inf
    matching = rng.permutation(n)
    for b, share in enumerate((0.1, 0.5, 0.8, 0.95, 1.0)):  # at last a row has one column
        allowed = rng.random((n, n)) >= share
        allowed[np.arange(n), matching] = True
        costs[b][~allowed] = absent
    solved = solve(gpu, costs, maximize=maximize, duals=True, crossovers=ENGINES[engine])
    assert (solved.status == 0).all()
    assert_optimal(solved, costs, maximize=maximize)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_invalid_problem_harms_no_other(gpu, engine):
    costs = some_costs("float32", (5, 10, 10), 4)
    costs[1, 3, 4] = np.nan
    costs[3, 9, 9] = -np.inf
    solved = solve(gpu, costs, duals=True, crossovers=ENGINES[engine])
    assert solved.status.tolist() == [0, 2, 0, 2, 0]
    assert_optimal(solved, costs)


def test_integers_too_large(gpu):
    costs = some_costs("int64", (3, 5, 5))
    costs[1, 2, 3] = 2**60
    solved = solve(gpu, costs, duals=True)
    assert solved.status.tolist() == [0, 3, 0]
    with pytest.raises(RangeError, match=r"cost\[2, 3\]") as caught:
        solve(gpu, costs, check=True)
    assert caught.value.__notes__ == ["in problem 1 of the batch"]


def test_floats_too_large_for_sums_are_solved_on_the_cpu(gpu):
    if is_emulated(gpu):
        pytest.skip("a program takes seconds to build for the emulator")
    costs = some_costs("float64", (3, 5, 5))
    costs[1, 2, 3] = 1e308
    assert solve(gpu, costs, duals=True).status.tolist() == [0, 3, 0]
    solved = solve(gpu, costs, duals=True, certify=True, check=True)
    assert_optimal(solved, costs)


def with_large(count, rows, cols, large, seed=0):
    """Costs in [0, 1) of which nine in ten are a large number, with an assignment that needs none of these."""
    rng = np.random.default_rng(seed)
    costs = rng.random((count, rows, cols))
    costs[rng.random(costs.shape) < 0.9] = large
    k = np.arange(min(rows, cols))
    for cost in costs:
        cost[rng.permutation(rows)[k], rng.permutation(cols)[k]] = rng.random(len(k))
    return costs


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("rows", "cols"), [(8, 8), (14, 14), (30, 30), (20, 12), (40, 44)])
@pytest.mark.parametrize("maximize", [False, True])
def test_large_numbers_in_place_of_infinity(gpu, engine, rows, cols, maximize):
    costs = with_large(6, rows, cols, 1e18).astype("float32")
    costs[2] = with_large(1, rows, cols, 1.5)[0]  # a narrow range
    if maximize:
        costs = -costs
    options = {"maximize": maximize, "crossovers": ENGINES[engine]}
    raw = solve(gpu, costs, **options)
    assert set(raw.status.tolist()) <= {0, 5} and raw.status[2] == 0
    proven = solve(gpu, costs, duals=True, certify=True, **options)
    for b in np.flatnonzero(proven.status == 0):
        assert proven.objective[b] == pytest.approx(lw.solve(costs[b], maximize=maximize).objective, rel=1e-14)
    checked = solve(gpu, costs, duals=True, certify=True, check=True, **options)
    assert not checked.status.any()
    pairs = min(rows, cols)
    bound = checked.gap + pairs * checked.violation
    assert np.all(bound <= pairs * 2.0**-52 * np.abs(checked.objective))
    for b, cost in enumerate(costs):
        assert checked.objective[b] == pytest.approx(lw.solve(cost, maximize=maximize).objective, rel=1e-14)
        again = lw.certify(cost, checked.row_to_col[b], checked.u[b], checked.v[b], maximize=maximize)
        assert again.primal == checked.objective[b]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["scalar", "by row", "by problem", "broadcast"])
def test_prices(gpu, kind, maximize, dtype, engine):
    costs = some_costs(dtype, (4, 11, 9), 5)
    rng = np.random.default_rng(6)
    duals = np.dtype("float64" if dtype == "float32" else "int64")
    top = 0.3 if dtype == "float32" else 30
    prices = {
        "scalar": duals.type(top),
        "by row": (rng.random(11) * top).astype(duals),
        "by problem": (rng.random((4, 11)) * top).astype(duals),
        "broadcast": np.broadcast_to((rng.random((4, 1)) * top).astype(duals), (4, 11)),
    }[kind]
    if kind == "scalar":
        prices = prices.item()
    solved = solve(gpu, costs, maximize=maximize, unmatched_cost=prices, duals=True, crossovers=ENGINES[engine])
    assert_optimal(solved, costs, maximize=maximize, unmatched_cost=prices)


def test_prices_from_the_host(gpu):
    costs = some_costs("float32", (2, 4, 3), 7)
    for prices in (0.25, [0.1, 0.2, np.inf, 0.3], np.full((2, 4), 0.5, np.float32).tolist(), np.inf):
        solved = solve(gpu, costs, unmatched_cost=prices, duals=True)
        assert_optimal(solved, costs, unmatched_cost=prices)
    whole = some_costs("int64", (2, 4, 3), 8)
    for price in (7, 7.0, np.inf):
        assert_optimal(solve(gpu, whole, unmatched_cost=price, duals=True), whole, unmatched_cost=price)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ragged(gpu, dtype, priced, engine):
    rng = np.random.default_rng(9)
    costs = some_costs("float32", (12, 13, 10), 10)
    rows, cols = rng.integers(0, 14, 12).astype(dtype), rng.integers(0, 11, 12).astype(dtype)
    for b in range(12):
        costs[b, rows[b] :] = np.nan  # padding is never looked at
        costs[b, :, cols[b] :] = np.nan
    prices = 0.4 if priced else None
    for counts in (
        {"row_counts": rows, "col_counts": cols},
        {"row_counts": rows.tolist(), "col_counts": cols.tolist()},
    ):
        solved = solve(gpu, costs, unmatched_cost=prices, duals=True, crossovers=ENGINES[engine], **counts)
        assert_optimal(solved, costs, unmatched_cost=prices, row_counts=rows, col_counts=cols)


def test_counts_beyond_the_array(gpu):
    costs = some_costs("float32", (3, 4, 5))
    solved = solve(gpu, costs, row_counts=np.array([4, 5, 2]), duals=True)
    assert solved.status.tolist() == [0, 4, 0]
    with pytest.raises(ArgumentError, match=r"problem 1 is 5 x 5 .* 4 x 5"):
        solve(gpu, costs, row_counts=np.array([4, 5, 2]), check=True)
    with pytest.raises(ArgumentError, match=r"col_counts\[2\] is 6"):
        solve(gpu, costs, col_counts=[1, 2, 6])


@pytest.mark.parametrize("shape", [(0, 3, 3), (3, 0, 4), (3, 4, 0), (2, 0, 300), (2, 300, 0)])
@pytest.mark.parametrize("priced", [False, True])
def test_nothing_to_match(gpu, shape, priced):
    if is_emulated(gpu) and 300 in shape:
        pytest.skip("too long for the emulator")
    costs = np.zeros(shape, np.float32)
    solved = solve(gpu, costs, unmatched_cost=2.0 if priced else None, duals=True)
    assert (solved.row_to_col == -1).all() and (solved.status == 0).all()
    assert solved.objective.tolist() == [2.0 * shape[1] if priced else 0.0] * shape[0]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda c: c.__setitem__((2, 1, 1), np.nan), InvalidCostError, r"cost\[1, 1\] is nan"),
        (lambda c: c.__setitem__((2, 1), np.inf), InfeasibleError, r"this 1 row \(1\)"),
    ],
)
def test_check_says_which_problem(gpu, change, error, words):
    costs = some_costs("float32", (4, 5, 5))
    solve(gpu, costs, check=True)
    change(costs)
    with pytest.raises(error, match=words) as caught:
        solve(gpu, costs[:, ::-1][:, ::-1], check=True)
    assert caught.value.__notes__ == ["in problem 2 of the batch"]


@pytest.mark.parametrize(
    ("shape", "options", "error", "words"),
    [
        ((3, 3), {}, ArgumentError, r"\(B, m, n\)"),
        ((2, 3, 3), {"unmatched_cost": np.zeros(2)}, ArgumentError, r"of shape \(3,\) or \(2, 3\), got \(2,\)"),
        ((2, 3, 3), {"unmatched_cost": float("nan")}, ArgumentError, "unmatched_cost is nan"),
        ((2, 3, 3), {"unmatched_cost": -np.inf}, ArgumentError, r"unmatched_cost is -inf .* \+inf"),
        ((2, 3, 3), {"row_counts": np.zeros(3, np.int64)}, ArgumentError, r"row_counts .* \(2,\)"),
        ((2, 3, 3), {"row_counts": np.zeros(2)}, DtypeError, "row_counts must be integers"),
        ((2, 3, 3), {"col_counts": [0.5, 1]}, DtypeError, "col_counts must be integers"),
        ((2, 3, 3), {"duals": 1}, DtypeError, "duals must be True or False"),
        ((1, 3, 5000), {}, ArgumentError, "at most 4096 rows and columns: solve larger"),
    ],
)
def test_arguments_that_cannot_be_used(gpu, shape, options, error, words):
    with pytest.raises(error, match=words):
        solve(gpu, np.zeros(shape, np.float32), **options)


def test_prices_of_integers_are_whole(gpu):
    costs = some_costs("int64", (2, 3, 3))
    with pytest.raises(ArgumentError, match=r"unmatched_cost 2.5 is not whole"):
        solve(gpu, costs, unmatched_cost=2.5)
    with pytest.raises(DtypeError, match="pass integers, or costs as float64"):
        solve(gpu, costs, unmatched_cost=np.zeros(3))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("shape", [(4, 9, 9), (4, 7, 12), (4, 12, 7)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_certificates(gpu, dtype, shape, priced, maximize):
    costs = some_costs(dtype, shape, 11)
    costs[1] -= 50 if dtype == "int64" else 1
    if dtype == "float32":
        costs[2, 3] = np.nan
    price = (20 if dtype == "int64" else 0.25) if priced else None
    solved = solve(gpu, costs, maximize=maximize, unmatched_cost=price, certify=True)
    good = [0, 1, 3] if dtype == "float32" else [0, 1, 2, 3]
    assert (solved.violation[good] == 0).all() and (solved.gap[good] == 0).all() and (solved.fault[good] == 0).all()
    if dtype == "float32":
        assert solved.fault[2] == 1 and np.isnan(solved.gap[2])


@pytest.mark.parametrize(
    ("change", "fault", "violated"),
    [
        (lambda rows, u, v: rows.__setitem__((1, 2), 6), 2, False),
        (lambda rows, u, v: rows.__setitem__((1, 2), rows[1, 3]), 3, False),
        (lambda rows, u, v: rows.__setitem__((1, 2), -1), 5, False),
        (lambda rows, u, v: rows.__setitem__((1, slice(None)), np.roll(rows[1], 1)), 0, False),
        (lambda rows, u, v: u.__setitem__((1, 2), u[1, 2] + 2.0**-20), 0, True),
        (lambda rows, u, v: v.__setitem__((1, 2), v[1, 2] - 2.0**-40), 0, False),
    ],
)
def test_certificates_of_wrong_answers(gpu, change, fault, violated):
    costs = some_costs("float32", (3, 6, 6), 12)
    request = make_request(gpu.context, gpu.put(costs), BatchOptions())
    how = Prepared(gpu.context, request.form, CROSSOVERS)
    answer = how.arrays(gpu.context, request.costs, True, True)
    solved = solve(gpu, costs, duals=True)
    change(solved.row_to_col, solved.u, solved.v)
    for pointer, values in zip(answer.pointers, dataclasses.astuple(solved)[:5], strict=False):
        write(gpu.context, pointer, np.ascontiguousarray(values))
    how.certify(gpu.context, request, answer)
    violation, gap, found = (gpu.get(array) for array in answer.arrays[5:])
    assert found.tolist() == [0, fault, 0]
    assert (violation[1] > 0) == violated and violation[[0, 2]].tolist() == [0, 0]
    assert gap[[0, 2]].tolist() == [0, 0] and gap[1] != 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (2, 7), (3, 31)])
def test_prices_far_above_the_objective_are_no_doubt_where_the_duals_prove_the_answer(gpu, engine, shape):
    costs = np.random.default_rng(3).random((200, *shape)).astype("float32")
    solved = solve(gpu, costs, duals=True, crossovers=ENGINES[engine])
    assert not solved.status.any()
    largest = np.abs(np.concatenate([solved.u, solved.v], axis=1)).max(axis=1)
    assert (largest > 16 * solved.objective).any() or 1 not in shape
    assert_optimal(solved, costs)
