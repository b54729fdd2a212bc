"""Answers are the optimum of the numbers given, whatever their magnitudes: against rational arithmetic, and SciPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lapwing as lw
from lapwing.cpu.large_costs import find_large
from lapwing.methods import METHODS

LARGE = (1e6, 1e9, 1e12, 1e15, 1e18, 1e30, 1e100, 1e300)


def optimum(costs, prices=None):
    """The least sum over complete assignments of the rows, in rationals; None if there is none. At most 8 columns."""
    best = {0: Fraction(0)}
    for i, row in enumerate(costs):
        after = {}
        for taken, value in best.items():
            options = [(taken | 1 << j, c) for j, c in enumerate(row) if not taken >> j & 1 and math.isfinite(c)]
            if prices is not None and math.isfinite(prices[i]):
                options.append((taken, prices[i]))
            for key, cost in options:
                total = value + Fraction(cost)
                if key not in after or total < after[key]:
                    after[key] = total
        best = after
    return min(best.values(), default=None)


def is_right(cost, prices, result, maximize):
    """Whether the assignment is optimal up to the last digit of its sum."""
    sign = -1 if maximize else 1
    minimised = [[sign * float(c) for c in row] for row in cost]
    priced = None if prices is None else [sign * float(p) for p in prices]
    tall = prices is None and len(minimised) > len(minimised[0])
    best = optimum([list(column) for column in zip(*minimised, strict=True)] if tall else minimised, priced)
    total = Fraction(0)
    for i, j in enumerate(result.row_to_col):
        if j >= 0:
            total += Fraction(minimised[i][j])
        elif priced is not None:
            total += Fraction(priced[i])
    return total - best <= Fraction(math.ulp(float(total)))


def ranges(rng, m, n):
    """Costs of many magnitudes, drawn anew each time."""
    kind = rng.integers(12)
    if kind == 0:  # a large number on most pairs
        return np.where(rng.random((m, n)) < rng.random(), rng.choice(LARGE), rng.random((m, n)))
    if kind == 1:  # several large numbers
        return np.where(rng.random((m, n)) < 0.7, rng.choice(LARGE, (m, n)), rng.random((m, n)))
    if kind == 2:
        return 10.0 ** rng.uniform(-300, 300, (m, n))
    if kind == 3:
        return rng.random((m, n)) ** rng.choice([8, -8, 40])
    if kind == 4:  # rows and columns of their own scales
        return rng.random((m, n)) * 10.0 ** rng.uniform(-150, 150, (m, 1)) * 10.0 ** rng.uniform(-150, 150, n)
    if kind == 5:  # sums that cancel
        return rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-12, 12, (m, n))
    if kind == 6:
        return rng.choice([1e300, -1e300, 1.0, -1.0, 1e-300], (m, n)) * rng.random((m, n))
    if kind == 7:  # large numbers that differ
        return np.where(rng.random((m, n)) < 0.8, 1e12 * (1 + rng.random((m, n))), rng.random((m, n)))
    if kind == 8:  # whole numbers
        return np.where(rng.random((m, n)) < 0.5, 10.0 ** rng.integers(9, 20), rng.integers(0, 1000, (m, n)))
    if kind == 9:  # ties in all but the last digit
        return 1 + rng.integers(0, 5, (m, n)) * 2.0**-52
    if kind == 10:  # large pairs that must be taken
        return np.where(rng.random((m, n)) < 0.3, -rng.choice(LARGE), rng.random((m, n)))
    return rng.random((m, n)) * 1e-310


def draw(seed):
    """A small problem of a random kind: costs, sense and unmatched costs."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 8, 2) if rng.random() < 0.5 else [rng.integers(1, 8)] * 2
    maximize = bool(rng.random() < 0.4)
    cost = ranges(rng, m, n)
    if maximize:
        cost = -cost
    forbidden = -np.inf if maximize else np.inf
    if rng.random() < 0.2:
        with np.errstate(over="ignore"):
            cost = np.nan_to_num(cost.astype(np.float32), posinf=1, neginf=-1)
    if rng.random() < 0.3:
        cost[rng.random((m, n)) < 0.4] = forbidden
    prices = None
    if rng.random() < 0.3:
        known = cost[np.isfinite(cost)].astype(float)
        prices = rng.choice(known, m) if known.size else np.ones(m)
        prices[rng.random(m) < 0.3] = forbidden
    return cost, maximize, prices


@pytest.mark.parametrize("method", ["auto", *sorted(METHODS)])
def test_small_problems_of_any_magnitudes(method):
    for seed in range(400):
        cost, maximize, prices = draw(seed)
        try:
            result = lw.solve(cost, maximize=maximize, unmatched_cost=prices, method=method)
        except lw.InfeasibleError:
            continue
        assert result.status == "optimal", seed
        assert is_right(cost, prices, result, maximize), seed
        assert result.certificate.bound <= len(cost) * 2.0**-52 * abs(result.objective), seed
        proof = result.certificate
        duals = (result.u, result.v) if proof.duals is None else proof.duals
        again = lw.certify(cost, result.row_to_col, *duals, maximize=maximize, unmatched_cost=prices)
        assert (again.bound, again.exact) == (proof.bound, proof.exact), seed


def test_without_certificates():
    problems = [draw(seed) for seed in range(2000)]
    for seed, (cost, maximize, prices) in enumerate(problems):
        try:
            result = lw.solve(cost, maximize=maximize, unmatched_cost=prices, certify=False)
        except lw.InfeasibleError:
            continue
        assert is_right(cost, prices, result, maximize), seed
        if prices is None:
            rows, cols = lw.linear_sum_assignment(cost, maximize)
            assert math.fsum(cost[rows, cols].astype(float)) == result.objective, seed


@pytest.mark.parametrize("certify", [False, True])
def test_batches(certify):
    rng = np.random.default_rng(3)
    stack = np.stack([ranges(rng, 6, 6) for _ in range(300)])
    batch = lw.solve_batch(stack, certify=certify, duals=True)
    for b, cost in enumerate(stack):
        alone = lw.solve(cost)
        assert batch.objective[b] == pytest.approx(alone.objective, rel=1e-15, abs=0), b
        assert (np.sort(batch.row_to_col[b]) == np.arange(6)).all()
        if certify:
            assert batch.certificates[b].bound <= 6 * 2.0**-52 * abs(alone.objective), b
    listed = lw.solve_batch(list(stack[:50]), certify=certify)
    assert (listed.objective == batch.objective[:50]).all()


def with_large(n, large, share, seed=1, dtype=float):
    """Uniform costs with a large number in place of most, and one assignment below it."""
    rng = np.random.default_rng(seed)
    cost = rng.random((n, n)).astype(dtype)
    cost[rng.random((n, n)) < share] = large
    cost[np.arange(n), rng.permutation(n)] = rng.random(n)
    return cost


def scipys(cost, maximize=False):
    return math.fsum(cost[linear_sum_assignment(cost, maximize)].astype(float))


@pytest.mark.parametrize("method", ["auto", "core", "jv", "ssp"])
@pytest.mark.parametrize("large", [1e9, 1e12, 1e18, 1e308])
@pytest.mark.parametrize("n", [60, 400])
def test_a_large_number_in_place_of_infinity(n, large, method):
    cost = with_large(n, large, 0.97)
    forbidden = lw.solve(np.where(cost == large, np.inf, cost))
    result = lw.solve(cost, method=method)
    assert result.objective == pytest.approx(forbidden.objective, rel=1e-15)
    assert lw.solve(-cost, maximize=True, method=method).objective == -result.objective
    rows, cols = lw.linear_sum_assignment(cost)
    assert math.fsum(cost[rows, cols]) == result.objective


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("needed", [1, 2, 150])
def test_pairs_of_the_large_number_that_are_needed(needed, dtype):
    large = float(dtype(1e12))
    cost = with_large(300, large, 0.9, dtype=dtype)
    cost[:needed] = large
    result = lw.solve(cost)
    matched = cost[np.arange(300), result.row_to_col].astype(float)
    assert np.count_nonzero(matched == large) == needed
    rest = lw.solve(np.where(cost == large, np.inf, cost), unmatched_cost=1e4)  # with as few free rows
    assert matched[matched < large].sum() == pytest.approx(rest.objective - needed * 1e4, rel=1e-7)


def test_several_large_numbers():
    rng = np.random.default_rng(0)
    cost = rng.random((200, 200))
    cost[rng.random((200, 200)) < 0.9] = 1e6
    cost[rng.random((200, 200)) < 0.5] = 1e12
    cost[:3] = 1e12
    cost[:, :5] = 1e9 * (1 + rng.random((200, 5)))
    result = lw.solve(cost)
    assert result.status == "optimal"
    assert result.objective <= scipys(cost) * (1 + 2.0**-50)


@pytest.mark.parametrize("large", [1e20, 3e38])
def test_float32(large):
    cost = with_large(1100, large, 0.97, dtype=np.float32)
    assert lw.solve(cost).objective == pytest.approx(scipys(cost), rel=1e-15)


@pytest.mark.parametrize("power", [8, -8])
def test_heavy_tails(power):
    cost = np.random.default_rng(2).random((500, 500)) ** power
    result = lw.solve(cost)
    assert result.certificate.bound <= 500 * 2.0**-52 * result.objective
    assert result.objective <= scipys(cost) * (1 + 2.0**-50)


def test_gated_points():
    rng = np.random.default_rng(4)
    x = rng.random((1200, 2))
    y = x[rng.permutation(1200)] + rng.normal(0, 0.005, (1200, 2))
    near = lw.costs.expression("where(abs(x0 - y0) + abs(x1 - y1) < 0.05, abs(x0 - y0) + abs(x1 - y1), 1e15)", x, y)
    result = lw.solve(near)
    cost = near.read(slice(None))
    assert result.objective <= scipys(cost) * (1 + 2.0**-50)
    again = lw.solve(near, start=result)
    assert again.objective == result.objective


def test_starts_and_checkpoints(tmp_path):
    cost = with_large(300, 1e18, 0.97)
    right = lw.solve(cost).objective
    rng = np.random.default_rng(5)
    for scale in (1.0, 1e9, 1e18):
        start = scale * rng.standard_normal(300), scale * rng.standard_normal(300)
        assert lw.solve(cost, start=start).objective == right
    path = tmp_path / "large.npz"
    assert lw.solve(cost, checkpoint=path).objective == right
    assert lw.solve(cost, checkpoint=path).objective == right


@pytest.mark.parametrize("certify", [False, True])
def test_prices_to_start_from_far_above_the_optimum(certify):
    """Rows may stay free: prices are given relative to those of free columns, which hides how large they were."""
    rng = np.random.default_rng(0)
    cost = 10.0 ** rng.uniform(-30, 30, (60, 60))
    prices = np.where(rng.random(60) < 0.3, np.inf, 4e5)
    expected = lw.solve(cost, unmatched_cost=prices).objective
    start = np.zeros(60), 1e100 * rng.standard_normal(60)
    assert lw.solve(cost, unmatched_cost=prices, start=start, certify=certify).objective == expected


def test_integers_near_the_end_of_the_range_from_any_start():
    """Auction phases lower prices again and again, from wherever they begin."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 8):
        limit = (2**62 - 1) // (2 * (n + 1)) - 1
        for _ in range(40):
            cost = rng.choice([-limit, limit, limit - 1, 1, 0, -1], (n, n))
            expected = optimum([[int(c) for c in row] for row in cost])
            for scale in (1.0, 1e6, 1e18, 1e30):
                start = scale * rng.standard_normal(n), scale * rng.standard_normal(n)
                assert lw.solve(cost, start=start).objective == expected
                assert lw.solve(-cost, start=start, maximize=True).objective == -expected


def test_optima_in_range_of_sums_that_are_not():
    large = 1.7e308
    for cost, objective in (
        ([[large, np.inf, np.inf], [np.inf, large, np.inf], [np.inf, np.inf, -large]], large),
        ([[large, 1.0], [1.0, large]], 2.0),
        ([[large, np.inf], [large, np.inf]], lw.InfeasibleError),
        ([[large, large], [np.nan, 1.0]], lw.InvalidCostError),
        ([[large, large], [large, large]], lw.RangeError),
    ):
        cost = np.array(cost)
        ways = {
            "certified": lambda cost: lw.solve(cost).objective,
            "not certified": lambda cost: lw.solve(cost, certify=False).objective,
            "maximised": lambda cost: -lw.solve(-cost, maximize=True).objective,
            "batch": lambda cost: lw.solve_batch(cost[None]).objective[0],
            "certified batch": lambda cost: lw.solve_batch(cost[None], certify=True).certificates[0].primal,
            "list": lambda cost: lw.solve_batch([cost, cost[:1]]).objective[0],
            "computed": lambda cost: lw.solve(lw.costs.rows(lambda b, e: cost[b:e], cost.shape)).objective,
        }
        for name, way in ways.items():
            if isinstance(objective, float):
                assert way(cost) == objective, name
            else:
                with pytest.raises(objective):
                    way(cost)
        batch = lw.solve_batch([cost, np.eye(2)], check=False, certify=True)
        statuses = {lw.InfeasibleError: 1, lw.InvalidCostError: 2, lw.RangeError: 3}
        assert batch.status.tolist() == [statuses.get(objective, 0), 0]
        assert (batch.certificates[0] is None) == (batch.status[0] != 0)


# Every solve of 400 rows with a cap takes ten seconds.
@pytest.mark.parametrize(("n", "m"), [(3, 3), (50, 50), (400, 240), pytest.param(400, 400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("certify", [False, True])
def test_optima_out_of_range(n, m, certify):
    """Of costs with a cap, of large costs that are needed, and of both."""
    rng = np.random.default_rng(0)
    constant = np.full((n, n), 1.7e308)
    capped = np.where(rng.random((m, m)) < 2 / m, rng.random((m, m)), 1e307 * (50 / m))
    capped[: m // 2 + 1] = 1e308
    for cost in (constant, capped):
        for solve in (lw.solve, lambda cost, **options: lw.solve_batch(cost[None], **options)):
            with pytest.raises(lw.RangeError):
                solve(cost, certify=certify)
            with pytest.raises(lw.RangeError):
                solve(-cost, maximize=True, certify=certify)
        with pytest.raises(lw.RangeError):
            lw.linear_sum_assignment(cost)
    needed = np.where(np.eye(n) > 0, 0.5, 1e307)
    needed[:2] = 1e307
    assert lw.solve(needed, certify=certify).objective == 2e307
    assert lw.solve_batch(needed[None], certify=certify).objective[0] == 2e307


def test_sums_of_duals_beyond_the_range():
    """28 rows of which one must have a column; all others may stay free at 1e307, which two of them need."""
    cost = np.where(np.eye(28) > 0, 0.5, 1e307)
    cost[:3] = 1e307
    prices = np.full(28, 1e307)
    prices[16] = np.inf
    result = lw.solve(cost, unmatched_cost=prices)
    assert result.objective == math.fsum([1e307] * 3 + [0.5] * 25)
    assert result.certificate.bound <= 28 * 2.0**-52 * result.objective


def test_callbacks():
    cost = with_large(1100, 1e18, 0.97)
    source = lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape)
    assert lw.solve(source).objective == lw.solve(cost).objective


def test_a_time_limit_is_kept():
    rng = np.random.default_rng(6)
    cost = np.exp(np.add.outer(rng.normal(0, 20, 600), rng.normal(0, 20, 600)))
    result = lw.solve(cost, time_limit=0.2)
    assert result.status in ("optimal", "time_limit")
    if result.status == "optimal":
        assert result.certificate.bound <= 600 * 2.0**-52 * result.objective


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("certify", [True, False])
def test_an_optimum_beyond_the_range_of_float64(method, certify):
    """It is refused, and never looked for without end."""
    cost = np.full((45, 30), 3e307)
    cost[np.random.default_rng(3).random(cost.shape) < 0.1] = 0.5
    with pytest.raises(lw.RangeError):
        lw.solve(cost, unmatched_cost=3e307, method=method, certify=certify)
    with pytest.raises(lw.RangeError):
        lw.solve(-cost, unmatched_cost=-3e307, method=method, certify=certify, maximize=True)


@pytest.mark.parametrize("limit", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("needed", [0, 5])
def test_time_limits_with_large_costs(limit, needed):
    cost = with_large(700, 1e12, 0.97)
    cost[:needed] = 1e12
    result = lw.solve(cost, time_limit=limit)
    assert (np.sort(result.row_to_col) == np.arange(700)).all()
    assert result.lower_bound <= scipys(cost) <= result.objective * (1 + 2.0**-50)
    assert result.certificate.complete


@pytest.mark.parametrize("threads", [None, 1])
def test_an_ulp_of_a_large_cost_may_be_another_assignment(threads):
    """10^112 that is needed hides 10^97 that is not, by one ulp of the sum and a fraction."""
    cost, maximize, prices = draw(3371)
    result = lw.solve(cost, maximize=maximize, unmatched_cost=prices, threads=threads)
    assert is_right(cost, prices, result, maximize) and result.row_to_col.tolist() == [1, 3, -1, 2]


@pytest.mark.slow
def test_ten_thousand_problems_are_all_proven():
    for seed in range(10_000):
        cost, maximize, prices = draw(seed)
        try:
            result = lw.solve(cost, maximize=maximize, unmatched_cost=prices)
        except lw.InfeasibleError:
            continue
        assert result.status == "optimal", seed
        assert is_right(cost, prices, result, maximize), seed


@pytest.mark.parametrize("seed", range(10))
def test_a_gap_among_the_least_costs_is_none_below_large_ones(seed):
    rng = np.random.default_rng(seed)
    for cost in (rng.random((20, 2000)), rng.random((150, 150)) ** 8):
        assert find_large(cost, False, None) is None
        result = lw.solve(cost)
        assert result.objective == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_largest_numbers_are_proven_or_refused(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    numbers = [0, 1.0, 1.7e308, -1.7e308, 9e307, -9e307, 1e300, 5e-324, -5e-324]
    cost = rng.choice(numbers, (n, n))
    try:
        result = lw.solve(cost)
    except lw.RangeError:
        assert np.abs(cost).max() > 8e307
        return
    assert result.certificate.bound <= n * 2**-52 * abs(result.objective)
    assert np.isfinite(result.u).all() and np.isfinite(result.v).all()
    assert result.objective == pytest.approx(float(optimum(cost)), rel=n * 2**-52, abs=0)
    duals = result.certificate.duals or (result.u, result.v)
    assert lw.certify(cost, result.row_to_col, *duals).bound == result.certificate.bound


def test_large_numbers_that_one_sum_loses():
    """The rest of such costs is too large for the method that refines duals, which once ended in a SystemError."""
    for cost in ([[9e307, 1e300], [5e-324, 1.0]], [[9e307, 0, 1], [0, 4.9e-324, 0], [4.9e-324, 1, 1.7e308]]):
        result = lw.solve(cost)
        assert result.certificate.bound <= 3 * 2**-52 * result.objective
