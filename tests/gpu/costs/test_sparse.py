"""Sparse costs on a GPU: their arrays by lines, checked there, and solves on the emulated GPU that agree with a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.arrays import to_host
from lapwing.gpu.certificate.proof import Candidate, proof_of_sparse
from lapwing.gpu.costs.sparse import GivenEntries, LinesMaker
from lapwing.gpu.runtime.copies import read
from support.checks import assert_hall_violator
from support.gpu_memory import Gpu, OnGpu
from support.sparse import CupyMatrix, pretend_cupy

DTYPES = ("float32", "float64", "int32", "int64")


def draw(shape, dtype, seed=0, share=0.2, kind="uniform"):
    """A matrix in COO, sorted by rows, that has an assignment."""
    rng = np.random.default_rng(seed)
    cells = rng.random(shape) < share
    least = min(shape)
    cells[rng.permutation(shape[0])[:least], rng.permutation(shape[1])[:least]] = True
    row, col = np.nonzero(cells)
    costs = rng.random(len(row)) if kind == "uniform" else rng.integers(0, 3, len(row)) / 8
    return sp.coo_array(((1000 * costs).astype(dtype), (row.astype(np.int32), col.astype(np.int32))), shape)


def on_gpu(gpu, matrix, indices=np.int32, pads=False):
    put = lambda part: gpu.put(np.ascontiguousarray(part))  # noqa: E731
    if matrix.format == "coo":
        row, col = (part.astype(indices) for part in matrix.coords)
        return GivenEntries(matrix.shape, put(matrix.data), put(col), along=put(row), pads=pads)
    ends, across = matrix.indptr.astype(indices), matrix.indices.astype(indices)
    return GivenEntries(matrix.shape, put(matrix.data), put(across), put(ends), by_columns=matrix.format == "csc")


def lines_of(gpu, made):
    """As SciPy's matrix by rows or by columns."""
    ends, across, data = (int(at) for at in read(gpu.context, made.block, 3, "int64"))
    ends = read(gpu.context, ends, made.lines + 1, "int64")
    count = int(ends[-1])
    kind = sp.csc_array if made.by_columns else sp.csr_array
    parts = (read(gpu.context, data, count, made.dtype), read(gpu.context, across, count, "int32"), ends)
    return kind(parts, shape=made.shape)


# --- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(1, 1), (70, 40), (40, 70), (3, 900)])
def test_lines(gpu, form, by_columns, indices, shape):
    matrix = draw(shape, "float32", share=0.1)
    matrix.data[0] = 0  # a cost, too
    given_there = on_gpu(gpu, matrix.asformat(form), indices)
    made = LinesMaker(gpu.context, None).make(given_there, by_columns, is_own=False)
    found = lines_of(gpu, made)
    assert found.nnz == matrix.nnz and (found.toarray() == matrix.toarray()).all()
    assert made.longest == np.diff(found.indptr).max()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_unsorted_entries_of_every_size(gpu, dtype):
    matrix = draw((30, 50), dtype, seed=1)
    order = np.random.default_rng(1).permutation(matrix.nnz)
    mixed = sp.coo_array((matrix.data[order], tuple(part[order] for part in matrix.coords)), matrix.shape)
    found = lines_of(gpu, LinesMaker(gpu.context, None).make(on_gpu(gpu, mixed), False, is_own=False))
    assert (found.toarray() == matrix.toarray()).all()


def test_empty_lines(gpu):
    """More of them, side by side, than a warp has lanes."""
    matrix = sp.csr_array(([1.0, 2.0, 3.0], [4, 0, 4], np.repeat([0, 1, 3], [101, 200, 100])), shape=(400, 6))
    for by_columns in (False, True):
        made = LinesMaker(gpu.context, None).make(on_gpu(gpu, matrix), by_columns, is_own=False)
        assert (lines_of(gpu, made).toarray() == matrix.toarray()).all()
    none = sp.csr_array((5, 3))
    made = LinesMaker(gpu.context, None).make(on_gpu(gpu, none), True, is_own=False)
    assert made.longest == 0 and lines_of(gpu, made).nnz == 0


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_what_only_the_host_reads(gpu, form):
    """Duplicates and damage."""

    def is_refused(row, col, **options):
        places = {"along": gpu.put(np.array(row))}
        if form == "csr":
            places = {"ends": gpu.put(np.searchsorted(row, np.arange(6)))}
        there = GivenEntries((5, 50), gpu.put(np.ones(len(row))), gpu.put(np.array(col)), **places, **options)
        return LinesMaker(gpu.context, None).make(there, False, is_own=False) is None

    columns = list(range(40, 0, -1))  # a long row, falling
    assert not is_refused([0, 1, 1, 3], [3, 4, 2, 0])
    assert not is_refused([2] * 40, columns)
    assert is_refused([0, 1, 1, 3], [3, 4, 4, 0]) and is_refused([0, 1, 1, 1, 3], [3, 4, 2, 4, 0])
    assert is_refused([2] * 41, [*columns, 7])
    for pad in ({}, {"pads": True}):
        assert is_refused([0, 1, 3], [3, -1, 0], **pad) and is_refused([0, 1, 3], [3, 51, 0], **pad)
    if form == "coo":
        assert is_refused([0, 1, 5], [3, 4, 2]) and not is_refused([0, 1, 5], [3, 4, 50], pads=True)
        return
    matrix = draw((5, 50), "float32").tocsr()
    for ends in ([0, 3, 2, 4, 5, 6], [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 10**6], [0, 1, 2], [-1, 2, 3, 4, 5, 6]):
        there = on_gpu(gpu, matrix, np.int64)
        damaged = GivenEntries(there.shape, there.data, there.across, gpu.put(np.array(ends)))
        assert LinesMaker(gpu.context, None).make(damaged, False, is_own=False) is None


# --- the certificate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("form, shape", [("csr", (40, 60)), ("csc", (60, 40)), ("csr", (50, 50))])
def test_the_certificate_is_that_of_the_cpu(gpu, dtype, maximize, form, shape):
    matrix = draw(shape, dtype, seed=2).asformat(form)
    result = lw.solve(matrix, maximize=maximize)
    made = LinesMaker(gpu.context, None).make(on_gpu(gpu, matrix), form == "csc", is_own=False)

    def both(row_to_col, u, v):
        answer = Candidate(*(gpu.address(np.ascontiguousarray(part)) for part in (row_to_col, u, v)))
        proof = proof_of_sparse(gpu.context, made, answer, maximize)
        proof.start()
        return proof.finish(), lw.certify(matrix, row_to_col, u, v, maximize=maximize)

    found, expected = both(result.row_to_col, result.u, result.v)
    assert found.primal == expected.primal and found.complete and found.fault is None
    assert found.bound == pytest.approx(expected.bound, abs=1e-9)
    u, v, worse = result.u.copy(), result.v.copy(), result.row_to_col.copy()
    u[3] += 5 - 10 * maximize
    v[1] += 7 - 14 * maximize
    found, expected = both(result.row_to_col, u, v)
    assert found.violation == expected.violation > 0 and found.violation_at == expected.violation_at
    matched = np.flatnonzero(worse >= 0)
    has = np.zeros(shape, bool)
    has[matrix.nonzero()] = True
    worse[matched[0]] = np.flatnonzero(~has[matched[0]])[0]
    found, _ = both(worse, u, v)
    assert "forbidden" in str(found.fault)
    worse[matched[0]] = worse[matched[1]]
    assert both(worse, u, v)[0].fault is not None


# --- solves on the emulated GPU ---------------------------------------------------------------------------------------


def check(matrix, device="cuda", **options):
    """The same optimum as on the CPU, proven by the GPU and, once more, by the CPU."""
    result = lw.solve(matrix, device=device, **options)
    assert result.plan.device == "cuda:0" and result.plan.tier == "sparse"
    assert result.status == "optimal" and result.certificate.complete
    expected = lw.solve(matrix, device="cpu", **options)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12, abs=1e-12)
    assert type(result.objective) is type(expected.objective)
    again = lw.certify(matrix, result.row_to_col, result.u, result.v, **options)
    assert again.complete and again.bound <= 1e-9 * (1 + abs(expected.objective))
    return result


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("price", [None, 100])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (60, 60), (40, 70), (70, 40)])
def test_solves(emulated_gpu, dtype, maximize, price, shape):
    for kind, share in (("uniform", 0.1), ("ties", 0.7)):  # of 0.7 rows are longer than lists
        matrix = draw(shape, dtype, 3, share, kind)
        prices = price if price is None or not maximize else -price
        check(matrix.asformat("csc" if maximize else "csr"), maximize=maximize, unmatched_cost=prices)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_small_problem(emulated_gpu, data):
    shape = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    entries = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in shape)), max_size=40, unique=True))
    dtype = data.draw(st.sampled_from(["float32", "int64"]))
    values = st.integers(-5, 5) if dtype == "int64" else st.sampled_from([0.0, 1.0, 0.1, -2.5, 1e6, 1e-6, np.inf])
    costs = np.array(data.draw(st.lists(values, min_size=len(entries), max_size=len(entries))), dtype)
    row, col = np.array(entries, np.int64).reshape(-1, 2).T
    matrix = sp.coo_array((costs, (row, col)), shape)
    price = data.draw(st.sampled_from([None, 0, 3]))
    try:
        lw.solve(matrix, unmatched_cost=price)
    except lw.InfeasibleError as expected:
        with pytest.raises(lw.InfeasibleError) as caught:
            lw.solve(matrix, device="cuda", unmatched_cost=price)
        assert str(caught.value) == str(expected)
        partial = lw.solve(matrix, device="cuda", unmatched_cost=price, infeasible="partial")
        assert partial.status == "partial"
    else:
        check(matrix, unmatched_cost=price)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("kind", ["uniform", "ties"])
@pytest.mark.parametrize("price", [None, 300])
@pytest.mark.parametrize("mixed", [False, True])
def test_many_components(emulated_gpu, dtype, kind, price, mixed):
    """Most rows that the auction leaves free have short paths, of a warp each; the others are searched together."""
    sizes = np.random.default_rng(8).integers(1, 13, 40)
    blocks = [draw((size, size), dtype, seed, 0.4, kind) for seed, size in enumerate(sizes)]
    matrix = sp.csr_array(sp.block_diag([*blocks, draw((90, 90), dtype, 99, 0.15, kind)]))  # more than a warp's tree
    if mixed:
        matrix = matrix[np.random.default_rng(9).permutation(matrix.shape[0])]
    first, again = check(matrix, unmatched_cost=price), check(matrix, unmatched_cost=price)
    assert first.statistics["local"] > 0 or first.statistics["left"] < 3
    assert first.statistics["local"] <= first.statistics["left"]
    for name in ("row_to_col", "u", "v"):
        assert np.array_equal(getattr(first, name), getattr(again, name))


def test_components_need_no_search(emulated_gpu):
    rng = np.random.default_rng(10)
    blocks = []
    for size in rng.integers(1, 25, 40):  # points and what is seen of them, in clusters
        points = 2 * rng.standard_normal((size, 2))
        seen = points + rng.standard_normal((size, 2))
        blocks.append(((points[:, None] - seen) ** 2).sum(2))
    matrix = sp.csr_array(sp.block_diag(blocks))
    matrix.data[matrix.data > 9] = np.inf
    counted = check(matrix, unmatched_cost=9.0).statistics
    assert counted["local"] == counted["left"] > 0 and counted["steps"] == 0


def test_narrow_integers_stay_integers(emulated_gpu):
    matrix = draw((20, 20), "int64", 5)
    assert isinstance(check(matrix.astype(np.int8)).objective, int)
    assert check(matrix, unmatched_cost=0.5).objective <= 10  # prices that are not whole


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("shape, price", [((40, 40), None), ((30, 50), None), ((50, 30), None), ((30, 40), 300.0)])
def test_arrays_on_the_gpu(emulated_gpu, monkeypatch, form, shape, price):
    pretend_cupy(monkeypatch)
    matrix = draw(shape, "float32", 6).asformat(form)
    there = CupyMatrix(Gpu(emulated_gpu), matrix, np.int64 if form == "coo" else np.int32)
    result = lw.solve(there, unmatched_cost=price)
    assert result.plan.device == "cuda:0" and result.certificate.complete
    assert not isinstance(result.u, np.ndarray)
    expected = lw.solve(matrix, unmatched_cost=price).objective
    assert result.objective == pytest.approx(expected, rel=1e-12)
    with pytest.raises(lw.ArgumentError, match="on GPU 0"):
        lw.solve(there, device="cuda:1")


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_prices_of_columns_of_arrays_on_the_gpu(emulated_gpu, monkeypatch, form, dtype):
    """The host solves, and answers where the entries are."""
    pretend_cupy(monkeypatch)
    gpu, matrix = Gpu(emulated_gpu), draw((30, 20), dtype, 4).asformat(form)
    there = CupyMatrix(gpu, matrix)
    rows, cols = np.arange(30) * 9, np.where(np.arange(20) % 3, 100, np.inf)
    for prices in ((rows, 50), (rows, cols), (OnGpu(gpu, rows), OnGpu(gpu, cols))):
        result = lw.solve(there, unmatched_cost=prices)
        on_host = tuple(map(to_host, prices))
        expected = lw.solve(matrix, unmatched_cost=on_host)
        assert result.plan.device == "cpu" and "prices of columns" in str(result.plan)
        assert result.objective == expected.objective and result.certificate.bound == 0
        views = {name: getattr(result, name)._view for name in ("row_to_col", "col_to_row", "u", "v")}
        found = {name: read(gpu.context, view.ptr, *view.shape, view.dtype.name) for name, view in views.items()}
        assert all(np.array_equal(values, getattr(expected, name)) for name, values in found.items())
        assert lw.certify(matrix, found["row_to_col"], found["u"], found["v"], unmatched_cost=on_host).bound == 0
    with pytest.raises(lw.InfeasibleError, match="column"):
        lw.solve(CupyMatrix(gpu, draw((4, 20), dtype, 2)), unmatched_cost=(1, np.inf))
    listed = lw.solve_batch([there, there], unmatched_cost=(2, 30))
    assert listed.objective.tolist() == [lw.solve(matrix, unmatched_cost=(2, 30)).objective] * 2


def test_duplicates_on_the_gpu(emulated_gpu, monkeypatch):
    pretend_cupy(monkeypatch)
    matrix = sp.coo_array(([3, 4, 5, 6], ([0, 0, 1, 1], [0, 0, 1, 0])), (2, 2))
    assert lw.solve(CupyMatrix(Gpu(emulated_gpu), matrix)).objective == 12
    damaged = sp.csr_array(draw((5, 5), "float32"))
    damaged.indices[2] = 7
    with pytest.raises(lw.ArgumentError, match="column 7 of 5"):
        lw.solve(CupyMatrix(Gpu(emulated_gpu), damaged))


def test_infeasible(emulated_gpu):
    matrix = draw((30, 30), "float32", 7).tolil()
    matrix[[3, 8, 11, 20]] = 0
    for row in (3, 8, 11, 20):
        matrix[row, [2, 5, 6]] = 1.0
    with pytest.raises(lw.InfeasibleError) as caught:
        lw.solve(matrix.tocsr(), device="cuda")
    dense = np.where(matrix.toarray() > 0, matrix.toarray(), np.inf)
    assert_hall_violator(caught.value, dense)
    empty = draw((30, 30), "float32", 8).tocsc()
    empty.data[empty.indptr[4] : empty.indptr[5]] = np.inf
    with pytest.raises(lw.InfeasibleError, match=r"column \(4\)"):
        lw.solve(empty, device="cuda")


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("share", [0.2, 0.9])  # short rows and long ones
def test_invalid_costs_are_named(emulated_gpu, bad, share):
    matrix = draw((60, 70), "float64", 9, share).tocsr()
    matrix.data[matrix.indptr[11] + 2] = bad
    with pytest.raises(lw.InvalidCostError) as caught:
        lw.solve(matrix, device="cuda")
    assert (caught.value.row, caught.value.col) == (11, matrix.indices[matrix.indptr[11] + 2])


def test_large_numbers_are_exact(emulated_gpu):
    matrix = draw((40, 40), "float64", 10).tocsr()
    matrix.data[::3] = 1e15
    check(matrix)


def test_a_time_limit_a_start_and_no_certificate(emulated_gpu):
    matrix = draw((60, 60), "float32", 11).tocsr()
    best = lw.solve(matrix)
    late = lw.solve(matrix, device="cuda", time_limit=0)
    assert late.status == "time_limit" or late.objective == best.objective
    assert late.lower_bound <= best.objective * (1 + 1e-12)
    again = lw.solve(matrix, device="cuda", start=(best.u, best.v))
    assert again.objective == pytest.approx(best.objective, rel=1e-12)
    assert lw.solve(matrix, device="cuda", certify=False).objective == pytest.approx(best.objective, rel=1e-12)


def test_answers_do_not_depend_on_the_order_of_entries(emulated_gpu):
    matrix = draw((50, 50), "float32", 12, 0.9, "ties")
    order = np.random.default_rng(12).permutation(matrix.nnz)
    mixed = sp.coo_array((matrix.data[order], tuple(part[order] for part in matrix.coords)), matrix.shape)
    csr = matrix.tocsr()
    for i in range(50):
        row = slice(csr.indptr[i], csr.indptr[i + 1])
        csr.indices[row], csr.data[row] = csr.indices[row][::-1].copy(), csr.data[row][::-1].copy()
    answers = [lw.solve(given, device="cuda").row_to_col for given in (matrix, mixed, lw.costs.sparse(
        csr.indptr, csr.indices, csr.data, csr.shape))]  # fmt: skip
    assert (answers[0] == answers[1]).all() and (answers[0] == answers[2]).all()


def test_the_plan(emulated_gpu):
    matrix = draw((2000, 2000), "float32", 13, 0.005).tocsr()
    plan = lw.plan(matrix, device="cuda")
    assert plan.tier == "sparse" and plan.memory_bytes < 2000 * 2000 * 4
    assert "no matrix is written out" in str(plan)
    with pytest.raises(lw.ArgumentError, match="memory_limit"):
        lw.solve(matrix, device="cuda", memory_limit=100_000)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_rows_of_large_integers_that_must_not_stay_free(share):
    """Their infinite prices were taken for costs too large for sums."""
    costs = draw((100, 100), "int64", share=share)
    prices = np.where(np.arange(100) % 7, 300, np.inf)
    result = lw.solve(costs, device="cuda", unmatched_cost=prices)
    assert result.certificate.exact and result.objective == lw.solve(costs, unmatched_cost=prices).objective
