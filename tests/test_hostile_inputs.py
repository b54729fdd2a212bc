"""Inputs that lie, break or change: every one is solved right or refused in words, and none ends the process."""

from __future__ import annotations

import array
import ctypes
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import lapwing as lw

N = 12


def some_costs(seed=0, n=N):
    return np.random.default_rng(seed).random((n, n))


def best(cost):
    return cost[linear_sum_assignment(cost)].sum()


def refused_or_right(cost, meant):
    """Solve: the optimum of `meant`, or an error of Lapwing's."""
    try:
        result = lw.solve(cost)
    except lw.LapwingError as error:
        assert len(str(error)) > 20
        return
    assert result.objective == pytest.approx(best(meant), rel=1e-12)


# --- sparse matrices ------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    form=st.sampled_from(["csr", "csc", "bsr", "coo"]),
    part=st.sampled_from(["indptr", "indices", "row", "col", "data"]),
    place=st.integers(0, 3 * N),
    value=st.sampled_from([-(2**31), -1, 0, 1, N - 1, N, 2 * N, 1000, 2**31 - 1]),
    cut=st.integers(0, 3),
)
def test_forged_sparse_arrays(form, part, place, value, cut):
    matrix = sp.coo_array(some_costs() + np.eye(N)).asformat(form)
    try:
        parts = getattr(matrix, part)
        forged = parts.copy() if cut == 0 else parts[:-cut].copy()
        if cut == 0 and forged.ndim == 1:
            forged[place % len(forged)] = value
        setattr(matrix, part, forged)
    except (AttributeError, ValueError):
        return  # this format has no such part, or SciPy takes none of that size
    try:
        result = lw.solve(matrix)
    except (lw.LapwingError, ValueError) as error:
        assert str(error)
        return
    meant = matrix.toarray()
    there = np.zeros(meant.shape, bool)
    coo = matrix.tocoo()
    there[coo.coords] = True
    assert result.objective == pytest.approx(lw.solve(np.where(there, meant, np.inf)).objective, rel=1e-12)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_sparse_matrices_without_rows_or_columns(form, shape):
    try:
        empty = sp.coo_array(shape).asformat(form)
    except ValueError:
        pytest.skip("SciPy makes none")
    result = lw.solve(empty, unmatched_cost=1.0)
    assert result.objective == shape[0]


def test_a_sparse_vector_is_no_matrix():
    with pytest.raises(lw.LapwingError):
        lw.solve(sp.coo_array(np.arange(3.0)))


def test_sparse_indices_change_during_the_solve():
    matrix = sp.csr_array(some_costs(n=300))
    stop = threading.Event()

    def write():
        while not stop.is_set():
            matrix.indices[:] = np.random.default_rng().integers(-(2**31), 2**31 - 1, matrix.nnz)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(30):
            try:
                lw.solve(matrix)
            except (lw.LapwingError, ValueError) as error:
                assert str(error)
    finally:
        stop.set()
        thread.join()


# --- arrays and what pretends to be one -----------------------------------------------------------


class Dlpack:
    """Nothing but DLPack; `device` and `fails` lie."""

    def __init__(self, cost, device=(1, 0), fails=None):
        self.cost, self.device, self.fails = cost, device, fails

    def __dlpack__(self, **options):
        if self.fails:
            raise self.fails
        return self.cost.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Interface:
    def __init__(self, **interface):
        self.__array_interface__ = interface


class OfNumPy:
    """Has `__array__` alone."""

    def __init__(self, answer):
        self.answer = answer

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Contrary(np.ndarray):
    """A subclass whose operations lie."""

    def __getitem__(self, key):
        return 7.0

    def __array_ufunc__(self, *args, **kwargs):
        return NotImplemented

    def __array_function__(self, *args, **kwargs):
        raise RuntimeError("no")


def itself():
    made = []
    made.append(made)
    return made


def pretenders():
    cost = some_costs()
    address = cost.ctypes.data
    yield "dlpack", Dlpack(cost), cost
    yield "dlpack of another device", Dlpack(cost, device=(2, 0)), cost
    yield "dlpack of no device", Dlpack(cost, device=(99, -1)), cost
    yield "dlpack that fails", Dlpack(cost, fails=BufferError("gone")), cost
    yield "array interface", Interface(version=3, shape=(N, N), typestr="<f8", data=(address, True)), cost
    yield (
        "interface with a negative shape",
        Interface(version=3, shape=(-N, N), typestr="<f8", data=(address, True)),
        cost,
    )
    yield "interface without a type", Interface(version=3, shape=(N, N), data=(address, True)), cost
    yield "interface of strings", Interface(version=3, shape=(N, N), typestr="|S8", data=(address, True)), cost
    yield "__array__", OfNumPy(cost), cost
    yield "__array__ that is none", OfNumPy("cost"), cost
    yield "__array__ that raises", OfNumPy(RuntimeError("no")), cost
    yield "__array__ of objects", OfNumPy(np.array([[object()]])), cost
    yield "a list of itself", itself(), cost
    yield "rows of several lengths", [[1.0], [1.0, 2.0]], cost
    yield "subclass", cost.view(Contrary), cost
    yield "buffer", memoryview(cost), cost
    yield "array.array", array.array("d", cost[0]), cost
    yield "ctypes", (ctypes.c_double * N * N).from_buffer_copy(cost), cost
    yield "structured", np.zeros((N, N), [("a", float), ("b", int)]), cost
    yield "other byte order", cost.astype(cost.dtype.newbyteorder()), cost
    yield "read-only", np.frombuffer(cost.tobytes()).reshape(N, N), cost
    yield "misaligned", np.frombuffer(b"x" + cost.tobytes(), offset=1).reshape(N, N), cost
    yield "backwards", cost[::-1, ::-1], cost[::-1, ::-1]
    yield "one row many times", np.broadcast_to(cost[0], (N, N)), np.tile(cost[0], (N, 1))
    windows = np.lib.stride_tricks.as_strided(cost.ravel(), (N, N), (8, 8))
    yield "overlapping", windows, windows.copy()
    yield "dates", np.zeros((N, N), "datetime64[s]"), cost
    yield "halves of complex", (cost + 1j).real, cost


@pytest.mark.parametrize(("given", "meant"), [pytest.param(g, m, id=name) for name, g, m in pretenders()])
def test_what_pretends_to_be_a_matrix(given, meant):
    try:
        refused_or_right(given, meant)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:  # the object's own, or NumPy's about it
        assert str(error)


@pytest.mark.parametrize("entry", [0, (N - 1)])
@pytest.mark.parametrize("answer", ["nan", "short", "long", "text", "none", "raises", "solves", "huge"])
def test_a_callback_goes_wrong_in_the_middle(entry, answer):
    cost = some_costs(n=700)
    answers = {
        "nan": lambda begin, end: np.full((end - begin, 700), np.nan),
        "short": lambda begin, end: cost[begin:end, :-1],
        "long": lambda begin, end: cost[begin : end + 1],
        "text": lambda begin, end: "costs",
        "none": lambda begin, end: None,
        "raises": lambda begin, end: 1 // 0,
        "solves": lambda begin, end: lw.solve(source),
        "huge": lambda begin, end: np.full((end - begin, 700), 1e308),
    }

    def rows(begin, end):
        return answers[answer](begin, end) if begin <= 50 * entry < end else cost[begin:end]

    source = lw.costs.rows(rows, (700, 700), np.float64, cache="100 kB")
    try:
        result = lw.solve(source)
    except (lw.LapwingError, ZeroDivisionError) as error:
        assert str(error)
    else:
        assert answer == "huge" and result.status == "optimal"


# --- several processes and threads ----------------------------------------------------------------


def objective_of(pickled):
    return lw.solve(pickle.loads(pickled)).objective


def sources():
    x, y = np.random.default_rng(0).random((2, 60, 2))
    return [
        some_costs(),
        sp.csr_array(some_costs()),
        lw.costs.squared_euclidean(x, y),
        lw.costs.expression("abs(x0-y0) + x1*y1", x, y),
    ]


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_problems_are_sent_to_other_processes(start):
    if start not in multiprocessing.get_all_start_methods() or (start == "fork" and sys.version_info >= (3, 12)):
        pytest.skip("not here; and Python 3.12 warns of forks beside threads")
    problems = sources()
    here = [lw.solve(problem, threads=2).objective for problem in problems]
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        there = list(pool.map(objective_of, [pickle.dumps(problem) for problem in problems]))
    assert there == here


def solve_with_checkpoint(path):
    return lw.solve(some_costs(n=400), method="core", checkpoint=lw.Checkpoint(path, 0.001)).objective


def test_two_processes_write_one_checkpoint(tmp_path):
    path = tmp_path / "same.npz"
    expected = best(some_costs(n=400))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(solve_with_checkpoint, [path] * 6))
    assert found == pytest.approx([expected] * 6, rel=1e-12)
    assert solve_with_checkpoint(path) == pytest.approx(expected, rel=1e-12)
    assert os.listdir(tmp_path) == ["same.npz"]


def test_many_threads_read_one_source():
    problems = sources()
    expected = [lw.solve(problem).objective for problem in problems]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(lambda p: lw.solve(p).objective, problems * 4)) == expected * 4


def test_a_progress_callback_solves_and_drops_the_matrix():
    held = [lw.instances.generate("geometric", 900, 1)]
    expected = best(held[0])
    inner = []

    def progress(report):
        held.clear()
        inner.append(lw.solve(some_costs()).objective)

    assert lw.solve(held[0], progress=progress).objective == pytest.approx(expected, rel=1e-12)
    assert set(inner) <= {lw.solve(some_costs()).objective}


class _Interface:
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


_C, _RAGGED = np.ones((2, 2)), [1, [2]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lw.solve(_C, unmatched_cost=_RAGGED), "unmatched_cost is no array of numbers"),
        (lambda: lw.solve_batch(_C[None], unmatched_cost=_RAGGED), "unmatched_cost is no array of numbers"),
        (lambda: lw.solve_batch(_C[None], row_counts=_RAGGED), "row_counts is no array of numbers"),
        (lambda: lw.certify(_C, _RAGGED), "row_to_col is no array of numbers"),
        (lambda: lw.solve(_C, start=(_RAGGED, [0.0, 0.0])), "start: u is no array of numbers"),
        (lambda: lw.costs.edges([0, [1]], [0, 1], [1.0, 1.0], (2, 2)), "indices is no array of numbers"),
        (lambda: lw.solve_batch(np.full((2, 2, 2), 5), unmatched_cost=2**62), "unmatched_cost 4611686018427387904"),
        (lambda: lw.solve(_C, threads=np.array([2])), "threads must be a whole number"),
        (lambda: lw.solve(_Interface(None)), "cost of type _Interface cannot be viewed"),
        (lambda: lw.instances.generate("uniform", "5"), "n must be an integer, got '5'"),
        (lambda: lw.instances.generate("uniform", 5, cols="5"), "cols must be an integer, got '5'"),
        (lambda: lw.solve(some_costs(n=300), checkpoint="\ud800.npz"), "characters that no file's name has"),
        (lambda: lw.images.read_pair(None, None, 8), "path of a file, got NoneType"),
        (lambda: lw.images.read_pair("a", "b", "8"), "size must be a whole number of pixels, got '8'"),
        (lambda: lw.images.pixels(np.ones((2, 2, 2))), r"shape \(height, width, 3\), got \(2, 2, 2\)"),
        (lambda: lw.images.rearranged(np.ones((2, 2, 3)), np.array([0, 1, 2, 9])), "places 0 to 3 once"),
        (lambda: lw.images.rearranged(np.ones((2, 2, 3)), np.array([0, 1, 2])), "places 0 to 3 once"),
    ],
)
def test_errors_are_lapwings_own(call, words):
    with pytest.raises(lw.LapwingError, match=words):
        call()


def test_a_batch_has_the_objectives_of_its_certificates():
    rng = np.random.default_rng(0)
    costs = rng.random((40, 9, 9)) * 10.0 ** rng.integers(-200, 250, (40, 9, 9))
    batch = lw.solve_batch(costs, certify=True)
    assert batch.objective.tolist() == [each.primal for each in batch.certificates]


def test_lists_of_sparse_problems_without_answers_keep_fractions():
    half = lw.costs.edges([0, 1], [0, 0], [0.5, 0.25], (2, 2))
    whole = lw.costs.edges([0, 1], [0, 1], [5, 2], (2, 2))
    assert lw.solve_batch([half], infeasible="partial").objective.tolist() == [0.25]
    batch = lw.solve_batch([half, half], infeasible="partial", certify=True)
    assert batch.objective.tolist() == [each.primal for each in batch.certificates] == [0.25, 0.25]
    assert np.isnan(lw.solve_batch([half], check=False).objective).tolist() == [True]
    mixed = lw.solve_batch([np.ones((2, 2), int), half], check=False).objective
    assert mixed[0] == 2 and np.isnan(mixed[1])
    assert lw.solve_batch([whole, whole]).objective.dtype == np.int64


def test_invalid_pairs_are_pickled():
    costs = np.array([[[np.nan, 1], [1, 2]], [[1, 2], [3, np.nan]]])
    for problems in (costs, list(costs)):
        batch = lw.solve_batch(problems, invalid="forbid")
        other = pickle.loads(pickle.dumps(batch))
        assert repr(other.invalid_pairs) == repr(batch.invalid_pairs)


@pytest.mark.parametrize("size", [10**26, 10**19])
def test_instances_that_no_memory_holds(size):
    for arguments in ((size, None), (0, size)):
        with pytest.raises(lw.ArgumentError, match="no memory holds"):
            lw.instances.generate("uniform", arguments[0], cols=arguments[1])
