"""Sparse matrices, tensors and files that are odd, or shared with other processes: solved right or refused in words."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw

N = 12


def some_costs(n=N, seed=0):
    return np.random.default_rng(seed).random((n, n))


# --- sparse matrices ------------------------------------------------------------------------------

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok"]


@pytest.mark.parametrize("form", FORMATS)
def test_explicit_zeros_are_costs(form):
    cost = np.where(np.eye(4) > 0, 0.0, 1.0)
    rows, cols = np.nonzero(np.ones((4, 4)))
    matrix = sp.coo_array((cost.ravel(), (rows, cols)), (4, 4))
    if form in ("csr", "csc", "coo"):  # the others drop zeros when they are converted
        matrix = matrix.asformat(form)
    result = lw.solve(matrix)
    assert result.objective == 0 and result.row_to_col.tolist() == [0, 1, 2, 3]


def test_negative_zeros_and_infinite_entries():
    matrix = sp.csr_array((np.array([-0.0, np.inf, np.inf, 3.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), (2, 2))
    assert lw.solve(matrix).objective == 3
    matrix.data[3] = np.inf
    with pytest.raises(lw.InfeasibleError):
        lw.solve(matrix)
    matrix.data[3] = -np.inf
    with pytest.raises(lw.InvalidCostError):
        lw.solve(matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_duplicates_that_cancel_overflow_or_forbid(form):
    def with_entries(*values):
        matrix = sp.coo_array((np.array([*values, 1.0]), ([0] * len(values) + [1], [0] * len(values) + [1])), (2, 2))
        if form == "coo":
            return matrix
        line = [0, len(values), len(values) + 1]
        make = sp.csr_array if form == "csr" else sp.csc_array
        return make((matrix.data, [0] * len(values) + [1], line), (2, 2))

    assert lw.solve(with_entries(1e16, 1.0, -1e16)).objective in (1.0, 2.0)  # summed by SciPy, in some order
    assert lw.solve(with_entries(2.0, -2.0)).objective == 1
    for values, error in (
        ((1e308, 1e308), lw.RangeError),
        ((np.inf, -np.inf), lw.InvalidCostError),
        ((np.nan, 1.0), lw.InvalidCostError),
    ):
        with pytest.raises(error):
            lw.solve(with_entries(*values))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_unsorted_indices_of_any_width_under_false_flags(form, index):
    cost = some_costs()
    matrix = sp.coo_array(cost).asformat(form)
    order = np.concatenate([row * N + np.random.default_rng(row).permutation(N) for row in range(N)])
    matrix.indices, matrix.data = matrix.indices[order].astype(index), matrix.data[order]
    matrix.indptr = matrix.indptr.astype(index)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    before = matrix.indices.copy()
    assert lw.solve(matrix).objective == lw.solve(cost).objective
    assert (matrix.indices == before).all()  # the user's matrix stays as it is


def test_indices_beyond_what_int32_holds():
    matrix = sp.csr_array(some_costs())
    for value in (2**32, 2**32 + 3, 2**63 - 1, -(2**63)):
        matrix.indices = np.where(np.arange(N * N) == 5, value, matrix.indices.astype(np.int64) % N)
        with pytest.raises(lw.ArgumentError, match="build the matrix anew"):
            lw.solve(matrix)


def test_parts_of_sparse_matrices_that_are_read_only_or_shared():
    cost = some_costs()
    matrix = sp.csr_array(cost)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    assert lw.solve(matrix).objective == lw.solve(cost).objective
    view = matrix[3:9]  # of fewer rows than columns
    assert lw.solve(view).objective == lw.solve(cost[3:9]).objective
    assert lw.solve(matrix.T).objective == lw.solve(cost.T).objective


def test_batches_of_sparse_matrices():
    costs = [some_costs(seed=seed) for seed in range(3)]
    batch = lw.solve_batch([sp.csr_array(costs[0]), costs[1], sp.coo_array(costs[2])])
    assert batch.objective == pytest.approx([lw.solve(cost).objective for cost in costs], rel=1e-15)
    broken = sp.csr_array(costs[0])
    broken.indptr[3] = 10**6
    with pytest.raises(lw.ArgumentError, match="indptr") as caught:
        lw.solve_batch([costs[1], broken])
    assert caught.value.__notes__ == ["in problem 1 of the batch"]


# --- tensors --------------------------------------------------------------------------------------


def test_tensors_on_the_cpu():
    torch = pytest.importorskip("torch")
    cost = torch.from_numpy(some_costs())
    expected = lw.solve(some_costs()).objective
    by_columns, spread = cost.t().contiguous().t(), cost.repeat_interleave(2, 1)[:, ::2]
    for tensor in (cost, by_columns, spread, cost[None].expand(3, N, N)[1]):
        assert lw.solve(tensor).objective == expected
    assert lw.solve(cost.clone().requires_grad_(False)).objective == expected
    for odd in (cost.requires_grad_(True), cost.to(torch.complex64), cost.detach().to_sparse(), torch._neg_view(cost)):
        try:
            assert lw.solve(odd).objective in (expected, -lw.solve(some_costs(), maximize=True).objective)
        except lw.LapwingError as error:
            assert str(error)
    with pytest.raises(lw.LapwingError):
        lw.solve(torch.empty(N, N, device="meta"))


class Deviceless:
    """A tensor that cannot say where it is, as PyTorch's on the device "meta"."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **options):
        raise BufferError("no memory")

    def __dlpack_device__(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [ValueError("unknown device"), BufferError("none"), None, (), ("cpu", 0), (1, 0)])
@pytest.mark.parametrize("call", [lw.solve, lw.plan, lw.solve_batch, lambda cost: lw.solve_batch([cost])])
def test_tensors_that_are_nowhere(call, answer):
    with pytest.raises(lw.LapwingError):
        call(Deviceless(answer))


# --- several processes ----------------------------------------------------------------------------


def solve_mapped(path):
    cost = np.load(path, mmap_mode="r")
    return lw.solve(cost, memory_limit="100 kB").objective, lw.solve(cost).objective


def test_processes_read_one_file_at_once(tmp_path):
    path, cost = tmp_path / "cost.npy", some_costs(400)
    np.save(path, cost)
    expected = lw.solve(cost).objective
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(solve_mapped, [path] * 6)) == [(expected, expected)] * 6


def solve_resumed(path, seed):
    try:
        return lw.solve(some_costs(200, seed), method="core", checkpoint=lw.Checkpoint(path, 0.01)).objective
    except lw.LapwingError as error:
        return str(error)


def test_processes_with_different_problems_and_one_checkpoint(tmp_path):
    """Each is answered right, or told that the checkpoint is another problem's."""
    path = tmp_path / "same.npz"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(solve_resumed, [path] * 6, [1, 2] * 3))
    expected = [lw.solve(some_costs(200, seed)).objective for seed in (1, 2)] * 3
    for answer, objective in zip(found, expected, strict=True):
        assert answer == objective or "another problem" in answer
    assert [entry.name for entry in tmp_path.iterdir()] == ["same.npz"]


def test_command_lines_write_one_answer_at_once(tmp_path):
    np.save(tmp_path / "cost.npy", some_costs(50))
    command = [sys.executable, "-m", "lapwing", "solve", "cost.npy", "--output", "answer.npz"]
    running = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["answer.npz", "cost.npy"]
    with np.load(tmp_path / "answer.npz") as written:
        assert sorted(written["row_to_col"].tolist()) == list(range(50))


def test_answers_are_sent_between_processes():
    cost = some_costs()
    result, batch = lw.solve(cost), lw.solve_batch(np.stack([cost, cost]), certify=True)
    again, batch_again = pickle.loads(pickle.dumps((result, batch)))
    assert (again.row_to_col == result.row_to_col).all() and again.certificate == result.certificate
    assert lw.solve(cost, start=again).objective == result.objective
    assert batch_again.certificates == batch.certificates
