"""Sparse costs: against the dense solve of the same problem, and against SciPy where every row must be matched."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import lapwing as lw

DTYPES = ["float32", "float64", "int32", "int64", "int8", "uint16"]
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok"]


def random_pairs(rng, shape, density, dtype, spread=100):
    """A COO matrix without duplicates; costs may be 0, which lil and dok cannot hold."""
    there = rng.random(shape) < density
    rows, cols = np.nonzero(there)
    costs = rng.integers(1, spread + 1, len(rows))
    if dtype.startswith("float"):
        costs = costs + rng.random(len(rows))
    return sp.coo_array((costs.astype(dtype), (rows, cols)), shape)


def dense_of(matrix, maximize=False):
    dense = np.full(matrix.shape, -np.inf if maximize else np.inf)
    coo = matrix.tocoo()
    dense[coo.coords] = coo.data
    return dense


def assert_as_dense(matrix, **options):
    """The optimum of the dense problem, or infeasible like it; with an exact or tight proof."""
    try:
        expected = lw.solve(dense_of(matrix, options.get("maximize", False)), **options)
    except lw.InfeasibleError:
        with pytest.raises(lw.InfeasibleError) as failure:
            lw.solve(matrix, **options)
        assert_violator(matrix, failure.value)
        return None
    result = lw.solve(matrix, **options)
    assert result.plan.method == ("none" if 0 in matrix.shape else "sparse")
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    if 0 not in matrix.shape:
        assert result.certificate.complete and result.certificate.fault is None
        assert result.certificate.bound <= 1e-12 * max(1, abs(result.objective))
    return result


def assert_violator(matrix, error):
    """Fewer partners than lines, and no line too many: without any one of them the others can be matched."""
    there = sp.csr_array((np.ones(matrix.nnz, bool), matrix.tocoo().coords), matrix.shape)
    by_cols = len(error.cols) > len(error.rows)
    lines, reach = (error.cols, error.rows) if by_cols else (error.rows, error.cols)
    pairs = (there.T if by_cols else there).tocsr()[lines].toarray()
    assert np.flatnonzero(pairs.any(axis=0)).tolist() == reach.tolist()
    assert len(lines) == len(reach) + 1
    for k in range(len(lines)):
        rest = sp.csr_array(np.delete(pairs, k, axis=0)[:, reach])
        if len(reach):
            assert (sp.csgraph.maximum_bipartite_matching(rest, perm_type="column") >= 0).all()


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 25),
    cols=st.integers(0, 25),
    density=st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]),
    dtype=st.sampled_from(DTYPES),
    form=st.sampled_from(FORMATS),
    maximize=st.booleans(),
    spread=st.sampled_from([1, 3, 100]),
    priced=st.sampled_from([None, "scalar", "row", "some"]),
)
def test_any_matrix_as_the_dense_solve(seed, rows, cols, density, dtype, form, maximize, spread, priced):
    rng = np.random.default_rng(seed)
    matrix = random_pairs(rng, (rows, cols), density, dtype, spread)
    try:
        matrix = matrix.asformat(form)
    except ValueError:
        return  # SciPy makes none of this shape
    prices = {
        None: None,
        "scalar": spread / 2,
        "row": rng.integers(0, spread + 1, rows),
        "some": np.where(rng.random(rows) < 0.5, rng.integers(0, spread + 1, rows), -np.inf if maximize else np.inf),
    }[priced]
    assert_as_dense(matrix, maximize=maximize, unmatched_cost=prices)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize(("rows", "cols", "degree"), [(400, 400, 6), (300, 500, 4), (500, 300, 4), (60, 60, 60)])
def test_complete_matchings_against_scipy(rows, cols, degree, dtype):
    rng = np.random.default_rng([rows, degree])
    size = min(rows, cols)
    pairs = rng.permutation(rows)[:size], rng.permutation(cols)[:size]
    hidden = sp.coo_array((rng.integers(50, 200, size), pairs), (rows, cols))
    matrix = (random_pairs(rng, (rows, cols), degree / cols, dtype) + hidden).astype(dtype).tocsr()
    row_ind, col_ind = min_weight_full_bipartite_matching(matrix)
    result = lw.solve(matrix)
    assert result.objective == pytest.approx(matrix[row_ind, col_ind].sum(), rel=1e-12)
    assert result.objective == pytest.approx(lw.solve(matrix.tocsc()).objective, rel=1e-15)
    assert dtype == "float64" or (result.certificate.exact and isinstance(result.objective, int))


def test_large_integers_stay_integers():
    big = 2**55 + 1
    matrix = sp.csr_array((np.array([big, 1, 2, big + 1]), ([0, 0, 1, 1], [0, 1, 0, 1])), (2, 2))
    assert lw.solve(matrix).objective == 3
    assert lw.solve(matrix, maximize=True).objective == 2 * big + 1


@pytest.mark.parametrize("exponent", [20, 38, 40, 42, 44, 50, 51])
@pytest.mark.parametrize("unmatched", [False, True])
def test_integers_are_exact_whether_or_not_doubles_hold_their_sums(exponent, unmatched):
    rng = np.random.default_rng(exponent)
    n = 300
    rows, cols = np.r_[np.repeat(np.arange(n), 6), np.arange(n)], np.r_[rng.integers(0, n, 6 * n), rng.permutation(n)]
    matrix = sp.csr_array((np.ones(len(rows), np.int64), (rows, cols)), (n, n))
    matrix.data = rng.integers(-(2**exponent), 2**exponent, matrix.nnz)
    price = 2 ** (exponent - 1) if unmatched else None
    result = lw.solve(matrix, unmatched_cost=price)
    assert result.certificate.exact and isinstance(result.objective, int)
    again = lw.solve(matrix, unmatched_cost=price, start=result)
    assert (again.objective, again.certificate.exact) == (result.objective, True)


def test_explicit_zeros_and_infinities():
    matrix = sp.csr_array((np.array([0.0, np.inf, 5.0, 7.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), (2, 2))
    assert lw.solve(matrix).row_to_col.tolist() == [0, 1]
    for bad in (np.nan, -np.inf):
        matrix.data[3] = bad
        for form in ("csr", "csc", "coo"):
            with pytest.raises(lw.InvalidCostError) as failure:
                lw.solve(matrix.asformat(form))
            assert (failure.value.row, failure.value.col) == (1, 1)
            for prices in (9.0, (9.0, 9.0), (9.0, [np.inf, 9.0])):
                with pytest.raises(lw.InvalidCostError):
                    lw.solve(matrix.asformat(form), unmatched_cost=prices)
                assert lw.solve_batch([matrix.asformat(form)], unmatched_cost=prices, check=False).status == [2]


def test_arrays_in_place_and_edges():
    indptr, indices = np.array([0, 2, 4]), np.array([1, 0, 0, 1], np.int32)
    data = np.array([2.0, 1.0, 2.0, 5.0])
    cost = lw.costs.sparse(indptr, indices, data, (2, 2))
    assert np.shares_memory(cost.data, data) and np.shares_memory(cost.indices, indices)
    assert lw.solve(cost).objective == 4
    again = lw.costs.edges([0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1.0, 2.0, 2.0, 2.0, 3.0], (2, 2))
    assert lw.solve(again).objective == 4 and again.data.tolist() == [1, 2, 2, 5]
    assert lw.solve(again, method="core").objective == 4
    assert lw.solve_batch([again, cost]).objective.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (([0, 1], [0, 1], [1.0, 2.0]), "damaged indptr"),
        (([0, 2, 1], [0, 1], [1.0, 2.0]), "damaged indptr.*indptr.2. is 1, below 2"),
        (([0, 1, 5], [0, 1], [1.0, 2.0]), "damaged indptr"),
        (([0, 1, 2], [0, 2], [1.0, 2.0]), "entry in column 2 of 2"),
        (([0, 1, 2], [0, -1], [1.0, 2.0]), "entry in column -1 of 2"),
        (([0, 1, 2], [0, 1], [1.0]), "same length"),
        (([0.5, 1, 2], [0, 1], [1.0, 2.0]), "must be integers"),
        (([[0, 1, 2]], [0, 1], [1.0, 2.0]), "must be 1-D"),
    ],
)
def test_arrays_that_are_no_matrix(arrays, words):
    with pytest.raises((lw.ArgumentError, lw.DtypeError), match=words):
        lw.solve(lw.costs.sparse(*arrays, (2, 2)))


def test_empty_lines_are_named_first():
    pairs = ([0, 1, 2, 2], [0, 0, 1, 2])
    with pytest.raises(lw.InfeasibleError, match=r"this 1 column \(3\) has no row"):
        lw.solve(lw.costs.edges([0, 1, 2, 2, 3], [0, 0, 1, 2, 1], np.ones(5), (4, 4)))
    with pytest.raises(lw.InfeasibleError, match=r"this 1 row \(3\) has no column"):
        lw.solve(lw.costs.edges(*pairs, np.ones(4), (4, 4)))
    with pytest.raises(lw.InfeasibleError) as failure:
        lw.solve(lw.costs.edges([0, 1, 2, 2, 0], [0, 0, 1, 2, 3], np.ones(5), (4, 4)), unmatched_cost=[1, 1, 1, np.inf])
    assert failure.value.rows.tolist() == [3]


def test_start_time_limit_progress_and_checkpoint(tmp_path):
    rng = np.random.default_rng(1)
    n = 3000
    matrix = random_pairs(rng, (n, n), 8 / n, "float64") + sp.eye_array(n) * 1000
    first = lw.solve(matrix)
    again = lw.solve(matrix, start=first)
    assert again.objective == pytest.approx(first.objective, rel=1e-14)
    assert again.statistics["rows_scanned"] <= first.statistics["rows_scanned"]
    seen = []
    lw.solve(matrix, progress=seen.append)
    stopped = lw.solve(matrix, time_limit=0)
    assert stopped.status == "time_limit" and stopped.lower_bound <= first.objective
    path = tmp_path / "kept.npz"
    assert lw.solve(matrix, checkpoint=path).objective == pytest.approx(first.objective, rel=1e-14)
    assert lw.solve(matrix, checkpoint=path).objective == pytest.approx(first.objective, rel=1e-14)
    for options in ({"unmatched_cost": 40.0}, {}):
        part = matrix.tocsr()[:2000] if not options else matrix
        free = lw.solve(part, **options)
        assert lw.solve(part, start=free, **options).objective == pytest.approx(free.objective, rel=1e-14)
        noise = (rng.normal(size=part.shape[0]) * 50, rng.normal(size=n) * 50)
        assert lw.solve(part, start=noise, **options).objective == pytest.approx(free.objective, rel=1e-13)


def test_costs_of_many_magnitudes_are_exact():
    rng = np.random.default_rng(3)
    n = 60
    matrix = random_pairs(rng, (n, n), 0.2, "float64") + sp.eye_array(n) * 2.0**40
    matrix = matrix.tocsr()
    matrix.data *= 2.0 ** rng.integers(-60, 60, matrix.nnz)
    result = lw.solve(matrix)
    assert result.objective == lw.solve(dense_of(matrix)).objective


def test_plan_writes_nothing_out():
    n = 10**7
    plan = lw.plan(sp.eye_array(n, format="csr"))
    assert plan.method == "sparse" and plan.memory_bytes < 10**10
    assert "sparse" in str(plan)


def test_long_rows_list_their_cheapest():
    rng = np.random.default_rng(5)
    for dtype in ("float64", "int32"):
        assert_as_dense(random_pairs(rng, (150, 150), 0.7, dtype, 1000))
        assert_as_dense(random_pairs(rng, (100, 150), 0.7, dtype, 1000), unmatched_cost=5)


@pytest.mark.parametrize("form", ["coo", "csr"])
def test_duplicates_that_add_up_beyond_their_dtype(form):
    for dtype, large in (("int64", 2**62), ("float64", 1.5e308), ("float32", 3e38)):
        data = np.array([large, large, 1], dtype)
        if form == "coo":
            matrix = sp.coo_array((data, ([0, 0, 1], [0, 0, 1])), (2, 2))
        else:
            matrix = sp.csr_array((data, [0, 0, 1], [0, 2, 3]), (2, 2))
        for method in ("auto", "core"):
            with pytest.raises(lw.RangeError, match="duplicate entries"):
                lw.solve(matrix, method=method)


def test_device_and_method_by_name():
    matrix = sp.csr_array(np.arange(1.0, 10).reshape(3, 3))
    automatic = lw.plan(matrix, device="auto")
    assert automatic.method == "sparse" and automatic.device == "cpu" and "sparse" in automatic.reasons[0]
    assert lw.plan(matrix, method="sparse").method == "sparse" and lw.plan(matrix, method="jv").tier == "dense"
    with pytest.raises(lw.ArgumentError, match="unknown method 'sparse'"):
        lw.plan(matrix.toarray(), method="sparse")
    with pytest.raises(lw.ArgumentError, match="not supported on a GPU"):
        lw.plan(matrix, method="sparse", device="cuda")


def test_any_start_where_rows_and_columns_stay_free():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        matrix = random_pairs(rng, (int(rng.integers(4, 24)), int(rng.integers(2, 24))), 0.8, "float64", 1000)
        prices = np.where(rng.random(matrix.shape[0]) < 0.8, rng.random(matrix.shape[0]) * 1000, 1e4)
        noise = tuple(rng.integers(-100, 100, size).astype(float) for size in matrix.shape)
        cold = lw.solve(matrix, unmatched_cost=prices)
        warm = lw.solve(matrix, unmatched_cost=prices, start=noise)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-12)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("unmatched_cost", [None, 5])
@pytest.mark.parametrize("value", [2**61, 2**62, 2**63 - 1, -(2**62), -(2**63)])
def test_integers_out_of_range_are_named(value, unmatched_cost, maximize):
    cost = lw.costs.edges([0, 1], [0, 1], [value, 0], (2, 2))
    with pytest.raises(lw.RangeError, match=rf"cost\[0, 0\] is {value}: "):
        lw.solve(cost, maximize=maximize, unmatched_cost=unmatched_cost)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", ["square", "wide", "free"])
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_components_are_the_problems_that_they_are(threads, shape, dtype):
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 60, 40)
    scales = 10.0 ** rng.integers(0, 5, 40)
    blocks = [
        sp.coo_array((scale * (0.01 + rng.random((n, n + (shape == "wide"))))).astype(dtype) + np.ones(1, dtype))
        for n, scale in zip(sizes, scales, strict=True)
    ]
    price = 300 if shape == "free" else None
    expected = sum(lw.solve(block.toarray(), unmatched_cost=price).objective for block in blocks)
    whole = sp.block_diag(blocks, "csr")
    order, places = rng.permutation(whole.shape[0]), rng.permutation(whole.shape[1])
    result = lw.solve(whole[order][:, places], unmatched_cost=price, threads=threads)
    assert result.objective == pytest.approx(expected, rel=1e-12)
    assert result.certificate.complete and (result.certificate.exact or dtype == "float64")
    assert result.certificate.bound <= 1e-12 * expected


@pytest.mark.parametrize("threads", [1, 3])
def test_a_component_without_an_answer(threads):
    rng = np.random.default_rng(9)
    blocks = [rng.random((40, 40)) + 1 for _ in range(10)]
    blocks[6][5:9, 2:] = 0  # four rows for two columns
    matrix = sp.block_diag([sp.coo_array(block) for block in blocks], "csr")
    with pytest.raises(lw.InfeasibleError) as failure:
        lw.solve(matrix, threads=threads)
    assert_violator(matrix, failure.value)
    result = lw.solve(matrix, unmatched_cost=50.0, threads=threads)
    assert (result.row_to_col < 0).sum() == 2


def test_rows_and_columns_without_pairs_beside_components():
    blocks = sp.block_diag([sp.coo_array(np.full((30, 30), 2) + np.eye(30, dtype=int)) for _ in range(20)], "coo")
    matrix = sp.csr_array((blocks.data, (blocks.row + 7, blocks.col + 9)), (620, 640))
    result = lw.solve(matrix, unmatched_cost=5, threads=2)
    assert result.objective == 600 * 2 + 20 * 5 and result.certificate.exact
    with pytest.raises(lw.InfeasibleError) as failure:
        lw.solve(matrix, threads=2)
    assert len(failure.value.rows) == 1 and len(failure.value.cols) == 0


def test_a_time_limit_ends_all_components():
    rng = np.random.default_rng(10)
    matrix = sp.block_diag([sp.coo_array(rng.random((60, 60)) + 0.1) for _ in range(50)], "csr")
    result = lw.solve(matrix, time_limit=0.0, threads=2)
    assert result.certificate.fault is None and result.lower_bound <= lw.solve(matrix).objective + 1e-9


def test_searches_go_on_where_little_is_left():
    n, k = 150_000, 4  # on a ring, where paths are long
    data = np.random.default_rng(1).random(n * k)
    indices = (np.arange(n)[:, None] + np.arange(k)).ravel() % n
    result = lw.solve(sp.csr_array((data, indices, np.arange(0, n * k + 1, k)), (n, n)))
    assert result.certificate.bound < 1e-9
    assert result.statistics["rows_scanned"] < 100 * n
