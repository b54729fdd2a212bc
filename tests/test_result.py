"""Results: objectives without rounding, duals with the right signs, SciPy's order."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lapwing as lw
from support.checks import ALL_METHODS

METHODS = ["auto", *ALL_METHODS]


@pytest.mark.parametrize("method", METHODS)
def test_objectives_of_integers_are_python_integers(method):
    cost = np.full((3, 3), 2**58 - 1) - np.eye(3, dtype=np.int64)
    result = lw.solve(cost, method=method)
    assert type(result.objective) is int and result.objective == 3 * (2**58 - 2)
    assert type(lw.solve(cost, method=method, certify=False).objective) is int


@pytest.mark.parametrize("certify", [False, True])
def test_objectives_of_floats_are_correctly_rounded(certify):
    cost = np.where(np.eye(4, dtype=bool), [1e16, 1.0, -1e16, 1.0], np.inf)
    assert lw.solve(cost, certify=certify).objective == 2.0


@pytest.mark.parametrize("method", ["auto", "core", "jv", "ssp"])
def test_bounds_without_a_certificate(method):
    cost = np.array([[1.0, 1e20], [-1e20, 3.0]])
    for maximize, optimum in ((False, 0), (True, 4)):
        result = lw.solve(cost, maximize=maximize, certify=False, method=method)
        assert result.objective == result.lower_bound == optimum


def test_objectives_of_batches_keep_what_additions_lose():
    cost = np.where(np.eye(3, dtype=bool), [2.0**60, 1.0, -(2.0**60)], np.inf)
    assert lw.solve_batch(cost[None]).objective[0] == 1.0
    priced = lw.solve_batch(np.full((1, 1, 3), np.inf), unmatched_cost=(0.0, [[2.0**60, 1.0, -(2.0**60)]]))
    assert priced.objective[0] == 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(30, 30), (20, 40), (40, 20)])
@pytest.mark.parametrize("maximize", [False, True])
def test_signs_of_the_duals(method, shape, maximize):
    cost = np.random.default_rng(1).integers(-50, 50, shape)
    result = lw.solve(cost, maximize=maximize, method=method)
    reduced = cost - result.u[:, None] - result.v[None, :]
    if maximize:
        reduced = -reduced
    assert (reduced >= 0).all()
    assert (reduced[result.row_ind, result.col_ind] == 0).all()
    assert result.u.sum() + result.v.sum() == result.objective == result.lower_bound
    sign = -1 if maximize else 1
    if shape[0] < shape[1]:
        assert (sign * result.v <= 0).all() and (result.v[result.col_to_row < 0] == 0).all()
    if shape[0] > shape[1]:
        assert (sign * result.u <= 0).all() and (result.u[result.row_to_col < 0] == 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maximize", [False, True])
def test_signs_of_the_duals_with_unmatched_costs(method, maximize):
    cost = np.random.default_rng(2).integers(0, 100, (40, 30))
    price = np.random.default_rng(3).integers(10, 60, 40)
    result = lw.solve(cost, maximize=maximize, unmatched_cost=price, method=method)
    sign = -1 if maximize else 1
    assert (sign * (cost - result.u[:, None] - result.v) >= 0).all()
    assert (sign * result.u <= sign * price).all() and (sign * result.v <= 0).all()
    free = result.row_to_col < 0
    assert free.any() and (result.u[free] == price[free]).all()
    assert result.u.sum() + result.v.sum() == result.objective


def test_scipy_order_of_tall_matrices():
    cost = np.random.default_rng(0).random((9, 4))
    result = lw.solve(cost)
    assert (np.diff(result.row_ind) > 0).all() and sorted(result.col_ind) == [0, 1, 2, 3]
    assert math.fsum(cost[result.row_ind, result.col_ind]) == result.objective


def test_it_reads_for_people():
    assert repr(lw.solve([[1, 2], [2, 1]])) == "<lapwing.Result: optimal, objective 2, 2 x 2, jv>"


def test_statistics_have_times():
    statistics = lw.solve(np.random.default_rng(0).random((300, 300))).statistics
    assert statistics["solve_seconds"] > 0 and statistics["certify_seconds"] > 0
    assert all(isinstance(value, float) for value in statistics.values())


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (0, 3)])
@pytest.mark.parametrize("kind", [np.asarray, lambda c: lw.costs.rows(lambda a, b: c[a:b], c.shape)])
def test_pairs_and_their_costs(shape, kind):
    cost = np.random.default_rng(1).random(shape)
    result = lw.solve(kind(cost), unmatched_cost=0.2)
    row_ind, col_ind = result
    assert np.array_equal(result.pairs, np.stack((row_ind, col_ind), 1)) and result.pairs.dtype == np.int64
    assert sorted([*result.free_rows, *row_ind]) == [*range(shape[0])]
    assert sorted([*result.free_cols, *col_ind]) == [*range(shape[1])]
    assert np.array_equal(result.pair_costs, cost[row_ind, col_ind])
    assert result.matched_cost == math.fsum(cost[row_ind, col_ind])
    assert result.objective == math.fsum([*cost[row_ind, col_ind], *[0.2] * len(result.free_rows)])
    assert result.certificate.exact


def test_matched_costs_of_integers_stay_integers():
    result = lw.solve([[2**55, 5], [5, 2**55]], maximize=True)
    assert result.matched_cost == 2**56 and type(result.matched_cost) is int


def test_pickled_results_keep_the_costs_of_their_pairs():
    result = pickle.loads(pickle.dumps(lw.solve([[4, 1], [2, 0]])))
    assert result.pair_costs.tolist() == [1, 2] and result.certificate.exact and isinstance(result, lw.Result)


def test_copies_keep_the_costs():
    result = lw.solve([[1.0, 2.0], [3.0, 4.5]])
    again = copy.copy(result)
    assert type(again) is type(result) and again.objective == result.objective
    assert again.is_unique()


def test_notebooks_show_a_table():
    html = lw.solve(np.arange(400.0).reshape(20, 20))._repr_html_()
    assert html.startswith("<table>") and "proven exactly" in html and "and 10 more" in html
    assert "optimal, objective" in lw.solve([[1.0]], certify=False)._repr_html_()
    assert "2 problems" in lw.solve_batch(np.ones((2, 3, 3)))._repr_html_()


def test_batches_can_be_indexed():
    costs = np.random.default_rng(0).random((3, 4, 6))
    batch = lw.solve_batch(costs, certify=True)
    for b, problem in enumerate(batch):
        alone = lw.solve(costs[b])
        assert np.array_equal(problem.pairs, alone.pairs) and problem.objective == alone.objective
        assert np.array_equal(problem.col_to_row, batch.col_to_row[b]) and problem.certificate.exact
        assert np.array_equal(batch.row_ind[b], alone.row_ind) and np.array_equal(batch.col_ind[b], alone.col_ind)
        assert problem.u.shape == (4,) and problem.free_cols.size == 2
    assert np.array_equal(batch[-1].row_to_col, batch.row_to_col[2])
    with pytest.raises(IndexError, match="problem 3 of a batch of 3"):
        batch[3]
    with pytest.raises(TypeError, match="give a whole number, got slice"):
        batch[0:2]
    listed = lw.solve_batch([costs[0], costs[1].T])
    assert isinstance(listed, lw.ListResult) and listed.row_ind[1].tolist() == listed[1].row_ind.tolist()
    assert listed.col_to_row[1].tolist() == batch.row_to_col[1].tolist() and listed[1].u is None
    assert repr(listed[1]).startswith("<lapwing.Assignment: objective 1.06")


def test_certify_finds_duals():
    cost = np.random.default_rng(0).random((5, 7))
    best = lw.solve(cost)
    assert lw.certify(cost, best.row_to_col).exact
    worse = lw.certify(cost, np.arange(5))
    assert worse.bound == pytest.approx(np.trace(cost) - best.objective) and not worse.exact
    assert lw.certify(-cost, best.row_to_col, maximize=True).exact
    with pytest.raises(lw.ArgumentError, match="both u and v"):
        lw.certify(cost, best.row_to_col, best.u)


def test_sources_are_arrays():
    points = np.random.default_rng(0).random((5, 2))
    source = lw.costs.squared_euclidean(points, points)
    assert isinstance(source, lw.costs.CostSource) and np.asarray(source, np.float32).dtype == np.float32
    assert np.array_equal(np.asarray(source), source.read(slice(None)))
    sparse = lw.costs.edges([0, 1], [1, 0], [3, 4], (2, 2))
    assert np.asarray(sparse).tolist() == [[np.inf, 3], [4, np.inf]]
    many = np.zeros((100_000, 2))
    with pytest.raises(lw.ArgumentError, match="100000 x 100000 costs"):
        np.asarray(lw.costs.squared_euclidean(many, many))


CLIENT = """
import numpy as np
import lapwing as lw

result = lw.solve(np.eye(3))
print(lw.__version__, result.certificate.bound, result.row_to_col.sum())
print(lw.solve_batch([np.eye(3)]).row_to_col[0].sum())
stopped: lw.Result = lw.solve(np.eye(3), time_limit=1)
if stopped.certificate is not None:
    print(stopped.certificate.exact, lw.solve_batch(np.ones((1, 3, 3))).row_to_col.sum())
"""


def test_a_typed_client(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "client.py").write_text(CLIENT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "client.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    (tmp_path / "client.py").write_text(CLIENT.replace("if stopped.certificate is not None:", "if True:"))
    assert "has no attribute" in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout


class TestTensors:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64"])
    def test_are_answered_with_tensors(self, torch, dtype):
        cost = (torch.rand(4, 6, dtype=torch.float64) * 100).to(getattr(torch, dtype))
        cost.requires_grad_(dtype.startswith("float"))
        result = lw.solve(cost)
        assert result.certificate.bound <= 1e-12
        for part in (result.row_to_col, result.u, result.v, result.col_to_row, result.pairs, result.pair_costs):
            assert isinstance(part, torch.Tensor) and not part.requires_grad
        row_ind, col_ind = result
        assert float(cost.detach()[row_ind, col_ind].double().sum()) == pytest.approx(result.objective)
        batch = lw.solve_batch(torch.stack([cost, cost]), certify=True, row_counts=torch.tensor([4, 2]))
        parts = (batch.row_to_col, batch.objective, batch.status, batch.u, batch.col_to_row, batch.certificate.gap)
        assert all(isinstance(part, torch.Tensor) for part in parts)
        assert torch.equal(batch[0].row_to_col, result.row_to_col)
        assert isinstance(lw.solve_batch([cost]).row_to_col[0], torch.Tensor)

    def test_without_values_are_refused(self, torch):
        for tensor, words in (
            (torch.rand(2, 2, device="meta"), "meta tensor"),
            (torch.rand(2, 2).to(torch.complex64), "real"),
        ):
            with pytest.raises(lw.DtypeError, match=words):
                lw.solve(tensor)

    @pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")  # PyTorch's own
    def test_sparse_ones_are_solved_as_such(self, torch):
        cost = torch.tensor([[0.0, 3, 1], [2, 0, 0], [5, 4, 0]])  # a zero is no pair
        for tensor in (cost.to_sparse_coo(), cost.to_sparse_csr()):
            result = lw.solve(tensor)
            assert result.objective == 7 and result.row_to_col.tolist() == [2, 0, 1] and result.certificate.exact
