"""The GPU's certificate is the CPU's, field by field, whatever the answer, the dtype and the layout."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.certificate.proof import Candidate, _joined, _nearest, _upward, prove_on_gpu
from support.gpu_memory import Gpu

DTYPES = [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint16]
SHAPES = [(1, 1), (6, 6), (5, 40), (40, 5), (1, 300), (300, 1), (33, 33), (31, 1025)]
LARGEST = np.iinfo(np.int64).max


def both(gpu, cost, row_to_col, u, v, *, maximize=False, prices=None):
    """The GPU's certificate and the CPU's."""
    kind = np.int64 if cost.dtype.kind in "iu" else np.float64
    row_to_col = np.ascontiguousarray(row_to_col, np.int64)
    u, v = np.ascontiguousarray(u, kind), np.ascontiguousarray(v, kind)
    given = None if prices is None else np.ascontiguousarray(-prices if maximize else prices, kind)
    answer = Candidate(gpu.address(row_to_col), gpu.address(u), gpu.address(v), gpu.address(given))
    found = prove_on_gpu(gpu.context, gpu.put(cost), answer, maximize)
    return found, lw.certify(cost, row_to_col, u, v, maximize=maximize, unmatched_cost=prices)


def laid_out(cost, layout):
    """The same costs in another layout."""
    if layout == "columns":
        return np.asfortranarray(cost)
    if layout == "unaligned":
        return np.pad(cost, ((0, 0), (1, 2)))[:, 1:-2]
    if layout == "steps":
        return np.repeat(np.repeat(cost, 2, 0), 3, 1)[::-2, ::3]
    return cost


@pytest.mark.parametrize("layout", ["rows", "columns", "unaligned", "steps"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_optimal_and_not(gpu, dtype, layout):
    rng = np.random.default_rng(1)
    for shape, maximize in zip(SHAPES * 2, [False] * len(SHAPES) + [True] * len(SHAPES), strict=True):
        cost = laid_out((rng.random(shape) * 120).astype(dtype), layout)
        result = lw.solve(cost, maximize=maximize)
        found, expected = both(gpu, cost, result.row_to_col, result.u, result.v, maximize=maximize)
        assert found == expected and found.bound <= 1e-9, shape
        u, v, worse = result.u.copy(), result.v.copy(), result.row_to_col.copy()
        u[len(u) // 2] += 1
        v[0] -= 2
        worse[[0, -1]] = worse[[-1, 0]]
        found, expected = both(gpu, cost, worse, u, v, maximize=maximize)
        assert found.bound >= abs(found.primal - result.objective) * (1 - 1e-12)
        if layout in ("unaligned", "steps"):  # sums over rows and over columns bound differently, and the CPU may copy
            found = replace(found, bound=expected.bound)
        assert found == expected, shape


@pytest.mark.parametrize("maximize", [False, True])
def test_any_duals(gpu, maximize):
    """Violations nearly everywhere, of all magnitudes, ties among the worst included."""
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-300, 1e300):
        cost = rng.normal(size=(40, 50)) * scale
        u, v = rng.normal(size=40) * scale, rng.normal(size=50) * scale
        found, expected = both(gpu, cost, rng.permutation(50)[:40], u, v, maximize=maximize)
        assert found == expected and found.violation > 0
    ties = rng.integers(0, 3, (64, 64)).astype(np.float32)
    found, expected = both(gpu, ties, np.arange(64), np.ones(64), np.zeros(64), maximize=maximize)
    assert found == expected and found.violation == 1


def test_rounding_is_exact(gpu):
    """Reduced costs far below the last bit of their terms, and ties that only exact arithmetic settles."""
    rng = np.random.default_rng(3)
    cost = rng.random((50, 50))
    u = rng.random(50) * 1e-3
    v = np.array([min(float(c) - x for c, x in zip(column, u, strict=True)) for column in cost.T])
    found, expected = both(gpu, cost, np.arange(50), u, v)
    assert found == expected
    for nudge in (0.0, 5e-324, 2**-60, -(2**-60)):
        found, expected = both(gpu, np.full((3, 3), 1.0), [0, 1, 2], [1.0 + nudge] * 3, [nudge, -nudge, 0.0])
        assert found == expected, nudge


def test_extreme_integers(gpu):
    lowest = np.iinfo(np.int64).min
    rng = np.random.default_rng(4)
    for maximize in (False, True):
        cost = rng.choice(np.array([lowest, lowest + 1, -1, 0, 1, LARGEST]), (30, 30))
        duals = rng.choice(np.array([-LARGEST, -(2**62), 2**61 + 1, 0, 5]), (2, 30))
        found, expected = both(gpu, cost, np.arange(30), *duals, maximize=maximize)
        assert found == expected


def test_forbidden_pairs(gpu):
    rng = np.random.default_rng(5)
    for maximize in (False, True):
        forbidden = -np.inf if maximize else np.inf
        cost = np.where(rng.random((40, 40)) < 0.5, forbidden, rng.random((40, 40))).astype(np.float32)
        np.fill_diagonal(cost, 0.5)
        result = lw.solve(cost, maximize=maximize)
        found, expected = both(gpu, cost, result.row_to_col, result.u, result.v, maximize=maximize)
        assert found == expected and found.complete
        cost[3, result.row_to_col[3]] = forbidden
        found, expected = both(gpu, cost, result.row_to_col, result.u, result.v, maximize=maximize)
        assert found == expected and "which is forbidden" in found.fault


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_prices_of_free_rows(gpu, dtype, maximize):
    rng = np.random.default_rng(6)
    for shape in ((30, 40), (40, 30)):
        cost = (rng.random(shape) * 100).astype(dtype)
        prices = np.floor(rng.random(shape[0]) * 10) + (90 if maximize else 0)
        result = lw.solve(cost, maximize=maximize, unmatched_cost=prices)
        assert (result.row_to_col == -1).any()
        for shift_u, shift_v in ((0, 0), (50, 0), (0, 70)):
            u, v = result.u.copy(), result.v.copy()
            u[7] += -shift_u if maximize else shift_u
            v[9] += -shift_v if maximize else shift_v
            found, expected = both(gpu, cost, result.row_to_col, u, v, maximize=maximize, prices=prices)
            assert found == expected, (shape, shift_u, shift_v)


def test_signs_of_duals_where_not_all_are_matched(gpu):
    rng = np.random.default_rng(7)
    for shape in ((20, 30), (30, 20)):
        cost = rng.random(shape)
        result = lw.solve(cost)
        u, v = result.u - 5.0, result.v - 5.0
        (v if shape[0] < shape[1] else u)[4] = 0.25
        found, expected = both(gpu, cost, result.row_to_col, u, v)
        assert found == expected and found.violation == 0.25
        assert found.violation_at == ((-1, 4) if shape[0] < shape[1] else (4, -1))


@pytest.mark.parametrize("shape", [(9, 9), (7, 12), (12, 7)])
@pytest.mark.parametrize("damage", ["range", "below", "twice", "free", "infinite u", "nan v"])
def test_what_is_no_assignment(gpu, shape, damage):
    cost = np.random.default_rng(8).random(shape)
    result = lw.solve(cost)
    wrong, u, v = result.row_to_col.copy(), result.u.copy(), result.v.copy()
    first, second, *_ = np.flatnonzero(wrong >= 0)
    if damage in ("range", "below"):
        wrong[second] = shape[1] if damage == "range" else -2
    elif damage == "twice":
        wrong[second] = wrong[first]
    elif damage == "free":
        wrong[first] = -1
    elif damage == "infinite u":
        u[3] = np.inf
    else:
        v[2] = np.nan
    answer = Candidate(gpu.address(wrong), gpu.address(u), gpu.address(v))
    found = prove_on_gpu(gpu.context, gpu.put(cost), answer)
    if damage in ("infinite u", "nan v"):  # lw.certify refuses them before it looks
        assert found.fault == f"the dual of {'row 3' if damage == 'infinite u' else 'column 2'} is not finite"
    else:
        expected = lw.certify(cost, wrong, u, v)
        assert (found.fault, found.complete) == (expected.fault, expected.complete)
    assert found.bound == math.inf and not found.exact


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_cost_that_is_no_number(gpu, dtype):
    for layout in ("rows", "columns"):
        for value, maximize in ((np.nan, False), (-np.inf, False), (np.inf, True)):
            cost = np.zeros((40, 30), dtype)
            cost[[17, 17, 35], [9, 4, 2]] = value
            zero = gpu.address(np.zeros(40))
            answer = Candidate(gpu.address(np.full(40, -1)), zero, zero)
            with pytest.raises(lw.InvalidCostError, match=rf"cost\[\d+, \d\] is {value}") as caught:
                prove_on_gpu(gpu.context, gpu.put(laid_out(cost, layout)), answer, maximize)
            assert (caught.value.row, caught.value.col) == ((17, 4) if layout == "rows" else (35, 2))


def test_bfloat16(gpu):
    bits = np.random.default_rng(9).integers(0, 0x4200, (30, 50)).astype(np.uint16)
    cost = (bits.astype(np.uint32) << 16).view(np.float32)
    result = lw.solve(cost)
    u, v = result.u.copy(), result.v.copy()
    u[3] += 0.5
    answer = Candidate(gpu.address(result.row_to_col), gpu.address(u), gpu.address(v))
    found = prove_on_gpu(gpu.context, gpu.put(bits, "bfloat16"), answer)
    assert found == lw.certify(cost, result.row_to_col, u, v)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(1023, 1025), (4096, 4096), (33, 70_000), (70_000, 33), (2000, 3001)])
def test_large(real_gpu, dtype, shape):
    rng = np.random.default_rng(10)
    cost = rng.integers(0, 100, shape).astype(dtype)
    result = lw.solve(cost)
    for shift in (0, 1):
        u = result.u.copy()
        u[len(u) // 3] += shift
        found, expected = both(Gpu(real_gpu), cost, result.row_to_col, u, result.v)
        assert found == expected


# --- sums -------------------------------------------------------------------------------------------------------------


def split(x):
    """The same as split() of kernels/common/exact_sum.cuh."""
    fraction, exponent = math.frexp(x)
    units = int(fraction * 2**53) << max(exponent - 53 + 1074, 0) >> max(-(exponent - 53 + 1074), 0)
    sign, units = (-1, -units) if units < 0 else (1, units)
    return np.array([sign * (units >> 32 * k & 0xFFFFFFFF) for k in range(66)])


def test_sums_are_rounded_once():
    rng = np.random.default_rng(11)
    for scale in (1.0, 1e-310, 1e290):
        for _ in range(50):
            values = (rng.normal(size=20) * 10.0 ** rng.integers(-16, 16, 20) * scale).tolist()
            values += [-x for x in values[: rng.integers(0, 20)]]
            (total,) = _joined(sum(split(x) for x in values), 66)
            assert _nearest(total) == math.fsum(values)
            above = _upward(total)
            assert math.fsum([*values, -above]) <= 0 and math.fsum([*values, -math.nextafter(above, -math.inf)]) > 0


def test_sums_that_overflow():
    (total,) = _joined(split(1e308) * 4, 66)
    assert _nearest(total) == _upward(total) == math.inf and _nearest(-total) == -math.inf
