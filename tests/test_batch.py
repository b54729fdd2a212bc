"""solve_batch answers like solve, one problem at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lapwing as lw
from lapwing import _core
from support.checks import DTYPES

LARGE = _core.DIRECT_MAX_ROWS + 1  # beyond the direct path


def assert_same(batch, costs, **options):
    assert len(batch) == len(costs)
    for b, cost in enumerate(costs):
        single = lw.solve(cost, **options)
        certificate = lw.certify(cost, batch.row_to_col[b], batch.u[b], batch.v[b], **options)
        assert certificate.complete and certificate.fault is None
        assert certificate.bound <= 1e-12 * max(1.0, abs(float(single.objective)))
        assert batch.objective[b] == pytest.approx(single.objective, rel=1e-12)


@pytest.mark.parametrize("dtype", [*DTYPES, np.uint8, np.float16])
@pytest.mark.parametrize("shape", [(5, 6, 6), (7, 3, 8), (7, 8, 3), (3, LARGE, LARGE), (1, 1, 1)])
@pytest.mark.parametrize(
    "options", [{}, {"maximize": True}, {"unmatched_cost": 40}, {"unmatched_cost": 60, "maximize": True}]
)
def test_a_stack(shape, dtype, options):
    costs = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
    batch = lw.solve_batch(costs, duals=True, **options)
    assert batch.row_to_col.shape == shape[:2] and batch.row_to_col.dtype == np.int64
    assert batch.objective.shape == shape[:1] and batch.u.shape == shape[:2] and batch.v.shape == (shape[0], shape[2])
    assert_same(batch, costs, **options)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_list_of_unequal_problems(threads):
    rng = np.random.default_rng(1)
    costs = [rng.integers(0, 50, rng.integers(1, 30, 2)) for _ in range(50)]
    batch = lw.solve_batch(costs, threads=threads, duals=True)
    assert isinstance(batch.row_to_col, list) and batch.objective.dtype == np.int64
    assert_same(batch, costs)


def test_a_list_of_mixed_dtypes_layouts_and_empty_problems():
    rng = np.random.default_rng(2)
    costs = [
        rng.random((4, 5)),
        rng.integers(0, 9, (5, 4)),
        np.zeros((0, 3)),
        np.asfortranarray(rng.random((6, 6), dtype=np.float32)),
        [[3, 1], [1, 3]],
        np.zeros((2, 0), int),
        rng.random((9, 9))[::2, ::3],
    ]
    batch = lw.solve_batch(costs, certify=True)
    assert len(batch.certificates) == len(costs) and batch.row_to_col[5].tolist() == [-1, -1]
    assert_same(batch, [np.asarray(cost) for cost in costs])


def test_prices():
    rng = np.random.default_rng(3)
    costs = rng.random((6, 4, 5))
    by_row = rng.random(4)
    assert_same(lw.solve_batch(costs, unmatched_cost=by_row, duals=True), costs, unmatched_cost=by_row)
    each = rng.random((6, 4))
    batch = lw.solve_batch(costs, unmatched_cost=each)
    listed = lw.solve_batch(list(costs), unmatched_cost=list(each))
    single = [lw.solve(cost, unmatched_cost=price).objective for cost, price in zip(costs, each, strict=True)]
    assert batch.objective == pytest.approx(single) and listed.objective == pytest.approx(single)
    whole = lw.solve_batch(np.rint(costs * 10).astype(int), unmatched_cost=2.5, duals=True)
    assert_same(whole, np.rint(costs * 10).astype(int), unmatched_cost=2.5)


@pytest.mark.parametrize(
    "view",
    [
        lambda c: c.transpose(0, 2, 1),
        lambda c: c[::-1],
        lambda c: c[:, ::2, ::-1],
        lambda c: np.asfortranarray(c),
        lambda c: c.astype(">f8"),
        lambda c: np.broadcast_to(c[0], c.shape),
    ],
    ids=["transposed", "reversed", "strided", "F", "big-endian", "broadcast"],
)
def test_any_layout(view):
    costs = view(np.random.default_rng(4).random((8, 10, 10)))
    costs.flags.writeable = False
    assert_same(lw.solve_batch(costs, duals=True), costs)


@pytest.mark.parametrize("shape", [(0, 3, 3), (4, 0, 3), (4, 3, 0)])
def test_nothing_to_match(shape):
    batch = lw.solve_batch(np.zeros(shape), duals=True)
    assert batch.row_to_col.shape == shape[:2] and (batch.row_to_col == -1).all()
    assert batch.objective.tolist() == [0.0] * shape[0]
    assert lw.solve_batch(np.zeros((2, 3, 0)), unmatched_cost=2.0).objective.tolist() == [6.0, 6.0]
    assert len(lw.solve_batch([])) == 0


def test_without_duals():
    batch = lw.solve_batch(np.eye(3)[None])
    assert batch.u is None and batch.v is None and batch.certificates is None
    assert repr(batch) == "<lapwing.BatchResult: 1 problems>"


def test_certificates():
    batch = lw.solve_batch(np.arange(36).reshape(4, 3, 3), certify=True)
    assert all(certificate.exact for certificate in batch.certificates)
    assert [certificate.primal for certificate in batch.certificates] == batch.objective.tolist()


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (np.nan, lw.InvalidCostError, r"cost\[2, 0\] is nan"),
        (np.inf, lw.InfeasibleError, r"this 1 row \(2\) has no column"),
        (1.7e308, lw.RangeError, r"cost\[\d+, \d+\] is 1\.7e\+308"),
    ],
)
@pytest.mark.parametrize("n", [4, LARGE])
def test_the_first_problem_that_fails_is_named(value, error, words, n, as_list):
    costs = np.random.default_rng(5).random((6, n, n))
    costs[3, 2] = value
    costs[5, 1] = value
    if error is lw.RangeError:  # of the optimum, not of a cost
        costs[3] = costs[5] = value
    with pytest.raises(error, match=words) as caught:
        lw.solve_batch(list(costs) if as_list else costs, threads=2)
    assert caught.value.__notes__ == ["in problem 3 of the batch"]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 40}])
def test_problems_in_the_corners_of_a_stack(dtype, options):
    rng = np.random.default_rng(3)
    costs = (rng.random((30, 9, 7)) * 100).astype(dtype)
    rows, cols = rng.integers(0, 10, 30), rng.integers(0, 8, 30)
    for b in range(30 if dtype is np.float32 else 0):
        costs[b, rows[b] :] = np.nan  # padding is never looked at
        costs[b, :, cols[b] :] = np.nan
    batch = lw.solve_batch(costs, row_counts=rows, col_counts=cols.tolist(), certify=True, **options)
    assert batch.row_to_col.shape == (30, 9) and batch.u.shape == (30, 9) and batch.v.shape == (30, 7)
    for b in range(30):
        single = lw.solve(costs[b, : rows[b], : cols[b]], **options)
        assert batch.objective[b] == single.objective and batch.certificates[b].exact
        assert (batch.row_to_col[b, rows[b] :] == -1).all()
        assert (batch.u[b, rows[b] :] == 0).all() and (batch.v[b, cols[b] :] == 0).all()
    assert batch.status.tolist() == [0] * 30
    only_rows = lw.solve_batch(costs[:0], row_counts=[])
    assert only_rows.row_to_col.shape == (0, 9) and only_rows.objective.dtype == batch.objective.dtype


def test_an_error_in_the_corner_of_a_stack():
    costs = np.zeros((3, 4, 4))
    costs[2, :2, :1] = np.inf
    lw.solve_batch(costs, row_counts=[4, 4, 2])
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve_batch(costs, row_counts=[4, 4, 2], col_counts=[4, 4, 1])
    assert caught.value.__notes__ == ["in problem 2 of the batch"]


@pytest.mark.parametrize(
    ("costs", "options", "words"),
    [
        (
            np.zeros((2, 3, 4)),
            {"row_counts": [1]},
            r"row_counts must be of shape \(2,\), .* got \(1,\)",
        ),
        (np.zeros((2, 3, 4)), {"col_counts": [0.5, 1]}, "col_counts must be integers, got dtype float64"),
        (np.zeros((2, 3, 4)), {"col_counts": [4, 5]}, r"col_counts\[1\] is 5, but costs has 4 along that axis"),
        (np.zeros((2, 3, 4)), {"row_counts": [-1, 5]}, r"row_counts\[0\] is -1"),
        ([np.eye(2)], {"row_counts": [2]}, r"for an array \(B, m, n\)"),
        (np.zeros((3, 3)), {}, r"costs must be \(B, m, n\)"),
        (np.zeros((2, 3, 3)), {"unmatched_cost": np.zeros(2)}, r"of shape \(3,\) or \(2, 3\), got \(2,\)"),
        ([np.eye(2)], {"unmatched_cost": [1, 2]}, "a list of 1, one for each problem, got 2"),
        ([np.eye(2), np.zeros(3)], {}, "2-D"),
        (np.zeros((2, 3, 3)), {"threads": 0}, "threads must be at least 1"),
        (np.zeros((2, 3, 3), complex), {}, "complex128"),
        (np.zeros((2, 3, 3)), {"duals": 1}, "duals must be True or False"),
    ],
)
def test_arguments_that_cannot_be_used(costs, options, words):
    with pytest.raises(lw.LapwingError, match=words):
        lw.solve_batch(costs, **options)


@settings(max_examples=100)
@given(
    count=st.integers(1, 40),
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    dtype=st.sampled_from(DTYPES),
    maximize=st.booleans(),
    threads=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_any_stack(count, m, n, dtype, maximize, threads, seed):
    costs = np.random.default_rng(seed).integers(-5, 5, (count, m, n)).astype(dtype)
    batch = lw.solve_batch(costs, maximize=maximize, threads=threads, certify=True)
    assert all(certificate.exact for certificate in batch.certificates)


@pytest.mark.parametrize("kind", ["stack", "ragged", "list"])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_problems_without_an_answer_are_let_pass_if_asked(kind, dtype):
    costs = np.random.default_rng(7).integers(0, 100, (6, 5, 5)).astype(dtype)
    if dtype is np.float64:
        costs[1, 2] = np.inf
        costs[3, 0, 0] = np.nan
        costs[4] = 1e308
    else:
        costs[4, 1, 1] = 2**61
    statuses = [0, 1, 0, 2, 3, 0] if dtype is np.float64 else [0, 0, 0, 0, 3, 0]
    counts = {"row_counts": [5] * 6, "col_counts": [5] * 6} if kind == "ragged" else {}
    given = list(costs) if kind == "list" else costs
    batch = lw.solve_batch(given, check=False, certify=True, **counts)
    assert batch.status.tolist() == statuses and batch.status.dtype == np.int32
    for b, status in enumerate(statuses):
        if status:
            assert (batch.row_to_col[b] == -1).all() and (batch.u[b] == 0).all() and (batch.v[b] == 0).all()
            assert batch.objective[b] == 0 if dtype is np.int64 else np.isnan(batch.objective[b])
            assert batch.certificates[b] is None
        else:
            assert batch.objective[b] == lw.solve(costs[b]).objective and batch.certificates[b].exact
    assert batch.certificate.exact.tolist() == [status == 0 for status in statuses]
    with pytest.raises(lw.LapwingError) as caught:
        lw.solve_batch(given, check=True, **counts)
    assert caught.value.__notes__ == [f"in problem {statuses.index(next(s for s in statuses if s))} of the batch"]


def test_rows_without_columns_are_let_pass_if_asked():
    prices = np.array([[1.0, 2.0], [np.inf, 1.0]])
    stack, listed = np.zeros((2, 2, 0)), [np.zeros((2, 0))] * 2
    for costs, price in ((stack, prices), (listed, list(prices))):
        batch = lw.solve_batch(costs, unmatched_cost=price, check=False)
        assert batch.status.tolist() == [0, 1] and batch.objective[0] == 3 and np.isnan(batch.objective[1])
    with pytest.raises(lw.DtypeError, match="check must be True or False"):
        lw.solve_batch(np.zeros((2, 2, 2)), check=1)


def test_a_list_with_prices_for_some():
    square, tall = np.array([[5.0, 9.0], [9.0, 5.0]]), np.array([[5.0], [9.0]])
    for costs in (
        [square, square],
        [square, tall],
        [tall, square],
        [square.astype(int), tall],
        [square, square[:, :0]],
    ):
        for prices in ([None, 1.0], [1.0, None], [np.array([1.0, np.inf]), None]):
            batch = lw.solve_batch(costs, unmatched_cost=prices, certify=True)
            for b, (cost, price) in enumerate(zip(costs, prices, strict=True)):
                single = lw.solve(cost, unmatched_cost=price)
                assert batch.objective[b] == single.objective
                assert np.array_equal(batch.row_to_col[b], single.row_to_col)


def test_prices_of_problems_without_columns_have_a_range():
    for dtype, price in ((np.int64, 2**60), (np.float64, 1e308)):
        costs = np.zeros((2, 10, 0), dtype)
        with pytest.raises(lw.RangeError, match=r"unmatched_cost\[0\] is"):
            lw.solve_batch(costs, unmatched_cost=price)
        assert lw.solve_batch(list(costs), unmatched_cost=price, check=False).status.tolist() == [3, 3]


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"unmatched_cost": 40}, {"unmatched_cost": (40, 3)}])
def test_a_list_with_sparse_problems(options):
    rng = np.random.default_rng(4)
    costs = []
    for _ in range(12):
        shape = rng.integers(4, 40, 2)
        cells = rng.random(shape) < 0.3
        cells[rng.permutation(shape[0])[: min(shape)], rng.permutation(shape[1])[: min(shape)]] = True
        values = rng.integers(1, 50, cells.sum())
        costs += [sparse.csr_array((values * 1.5, np.nonzero(cells)), tuple(shape)), rng.random((5, 6)) * 50]
        costs.append(lw.costs.edges(*np.nonzero(cells), values, tuple(shape)))
    batch = lw.solve_batch(costs, certify=True, threads=2, **options)
    assert all(certificate.complete for certificate in batch.certificates)
    assert_same(batch, costs, **options)
    whole = lw.solve_batch(costs[2::3], **options)
    assert whole.objective.dtype == np.int64 and whole.u is None


def test_sparse_problems_of_a_list_are_not_written_out():
    n = 40_000  # 12 GB, written out
    costs = [sparse.dia_array((np.ones((1, n)), [shift]), (n, n)).tocsr() for shift in (0, 0)]
    assert lw.solve_batch(costs).objective.tolist() == [n, n]


def test_sparse_problems_without_an_answer():
    good = sparse.csr_array(np.eye(3))
    empty = sparse.csr_array(([1.0], [1], [0, 1, 1]), shape=(2, 2))
    invalid = sparse.csr_array(([np.nan], [0], [0, 1]), shape=(1, 1))
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve_batch([good, np.eye(2), empty, good])
    assert "problem 2" in caught.value.__notes__[0]
    batch = lw.solve_batch([good, empty, invalid, np.eye(2)], check=False, duals=True)
    assert batch.status.tolist() == [0, 1, 2, 0]
    assert batch.row_to_col[1].tolist() == [-1, -1] and np.isnan(batch.objective[1])
    partial = lw.solve_batch([empty, good], infeasible="partial")
    assert partial.status.tolist() == [6, 0] and partial.objective.tolist() == [1.0, 3.0]
