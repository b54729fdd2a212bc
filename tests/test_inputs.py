"""Inputs that solve accepts, those that it copies, and the words with which it refuses others."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse

import lapwing as lw
from lapwing import inputs
from support.checks import DTYPES, assert_optimal

SQUARE = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


class Tensor:
    """A tensor of another library: nothing but DLPack."""

    def __init__(self, array, device=(1, 0), failure=None):
        self._array, self._device, self._failure = array, device, failure

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, **options):
        if self._failure is not None:
            raise self._failure
        return self._array.__dlpack__(**options)


# --- accepted -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "read_as"),
    [
        ("bool", "int32"),
        ("int8", "int32"),
        ("int16", "int32"),
        ("int32", "int32"),
        ("int64", "int64"),
        ("uint8", "int32"),
        ("uint16", "int32"),
        ("uint32", "int64"),
        ("uint64", "int64"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_every_real_dtype(dtype, read_as, byteorder):
    cost = SQUARE.astype(np.dtype(dtype).newbyteorder(byteorder))
    result = lw.solve(cost)
    assert_optimal(result, cost)
    assert result.plan.dtype == read_as
    assert isinstance(result.objective, float if read_as.startswith("float") else int)


@pytest.mark.parametrize(
    "given",
    [
        SQUARE.tolist(),
        tuple(map(tuple, SQUARE.tolist())),
        np.matrix(SQUARE),
        pd.DataFrame(SQUARE, columns=list("abc")),
        pd.DataFrame(SQUARE).astype(np.float32),
        pd.DataFrame({"a": [4, 2, 3], "b": [1.0, 0.0, 2.0], "c": [3, 5, 2]}),
        Tensor(SQUARE),
        Tensor(np.asfortranarray(SQUARE).astype(np.float32)),
        np.ma.masked_array(SQUARE, mask=False),
        np.ma.masked_array(SQUARE),
        sparse.csr_array(SQUARE + 1),
        [np.array([4, 1, 3]), [2, 0, 5], (3, 2, 2)],
    ],
    ids=lambda given: type(given).__name__,
)
def test_matrices_of_any_kind(given):
    assert lw.solve(given).row_to_col.tolist() == lw.solve(SQUARE).row_to_col.tolist()


def test_memmap(tmp_path):
    path = tmp_path / "cost.npy"
    np.save(path, SQUARE.astype(np.float64))
    cost = np.load(path, mmap_mode="r")
    assert isinstance(cost, np.memmap)
    assert_optimal(lw.solve(cost), cost)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    assert lw.solve(torch.tensor(SQUARE)).objective == 5
    assert lw.solve(torch.tensor(SQUARE).to(torch.bfloat16)).objective == 5
    assert lw.solve(torch.tensor(SQUARE, dtype=torch.float32, requires_grad=True)).objective == 5


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [*DTYPES, ">f8", ">i4"])
def test_nothing_to_match(shape, dtype):
    result = lw.solve(np.zeros(shape, dtype))
    assert result.row_to_col.tolist() == [-1] * shape[0] and result.col_to_row.tolist() == [-1] * shape[1]
    assert result.objective == 0 and result.certificate.exact and result.status == "optimal"
    assert result.u.shape == (shape[0],) and result.v.shape == (shape[1],)
    assert result.plan.method == "none" and "nothing to match" in str(result.plan)


def test_empty_with_unmatched_costs():
    result = lw.solve(np.zeros((2, 0)), unmatched_cost=[1.5, 2.0])
    assert result.objective == 3.5 and result.certificate.exact
    with pytest.raises(lw.InfeasibleError, match=r"this 1 row \(1\) has no column"):
        lw.solve(np.zeros((2, 0)), unmatched_cost=[1.5, np.inf])
    with pytest.raises(lw.InfeasibleError):
        lw.solve(np.zeros((2, 0), int), unmatched_cost=[-np.inf, 1], maximize=True)


@pytest.mark.parametrize("value", [0, -7, 3.5, True])
def test_one_by_one(value):
    result = lw.solve([[value]])
    assert result.row_to_col.tolist() == [0] and result.objective == value


def test_a_list_of_one_empty_row():
    assert lw.solve([[]]).row_to_col.tolist() == [-1]


# --- not copied -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: a[::2],
        lambda a: a[:, 10:-10],
        lambda a: a.T[:, ::-3],
        lambda a: np.broadcast_to(a[0], a.shape),
    ],
    ids=[
        "C",
        "transposed",
        "F",
        "reversed rows",
        "every second row",
        "columns inside",
        "every third of F",
        "broadcast",
    ],
)
def test_the_core_reads_in_place(view, dtype):
    cost = view(np.arange(120 * 120, dtype=dtype).reshape(120, 120))
    cost.flags.writeable = False
    problem = inputs.make_problem(cost)
    assert np.shares_memory(problem.cost.array, cost)
    assert problem.cost.array.strides == cost.strides


def test_tensors_are_read_in_place():
    cost = np.arange(12.0).reshape(3, 4)
    assert np.shares_memory(inputs.make_problem(Tensor(cost)).cost.array, cost)


@pytest.mark.parametrize("method", ["core", "jv", "ssp", "hungarian-tree", "munkres"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1000, 1000), (2000, 500), (500, 2000)])
def test_nothing_of_the_matrix_size_is_allocated_in_python(order, shape, method):
    cost = np.asarray(np.random.default_rng(0).random(shape, dtype=np.float32), order=order)
    tracemalloc.start()
    try:
        lw.solve(cost, method=method)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < cost.nbytes / 4


def test_the_matrix_is_left_alone():
    cost = np.random.default_rng(0).random((50, 60))
    before = cost.copy()
    lw.solve(cost, maximize=True, unmatched_cost=0.4)
    assert np.array_equal(cost, before)


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.eye(2) * 1j, r"complex128.*cost\.real"),
        (np.array([["a", "b"], ["c", "d"]]), r"<U1.*astype\(float\)"),
        (np.array([[1, None], [2, 3]], dtype=object), r"object.*astype\(float\)"),
        (np.zeros((2, 2), "M8[s]"), r"datetime64\[s\].*timedelta64"),
        (np.zeros((2, 2), "m8[s]"), r"timedelta64\[s\]"),
        (np.zeros((2, 2), [("a", float)]), "astype"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), r"object|str"),
        (Tensor(SQUARE, failure=BufferError("unsupported dtype")), r"unsupported dtype.*astype\('float32'\)"),
    ],
    ids=["complex", "str", "object", "datetime", "timedelta", "record", "frame", "tensor"],
)
def test_dtypes_without_an_exact_place(given, words):
    with pytest.raises(lw.DtypeError, match=words):
        lw.solve(given)
    with pytest.raises(TypeError):
        lw.solve(given)


@pytest.mark.parametrize(
    "given",
    [np.ma.masked, np.ma.masked_all((2, 2), "f8,i4"), np.broadcast_to(np.int8(0), (2**31 - 1, 2**31 - 1))],
    ids=type,
)
def test_odd_arrays_are_refused_in_words(given):
    with pytest.raises(lw.LapwingError):
        lw.solve(given)


def test_what_is_no_matrix_on_any_device():
    with pytest.raises(lw.ArgumentError, match="cost is not a matrix"):
        lw.solve([[1, 2], [3]], device="auto")


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is double here")
def test_long_double_names_the_remedy():
    with pytest.raises(lw.DtypeError, match=r"astype\(np\.float64\)"):
        lw.solve(SQUARE.astype(np.longdouble))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2, 3], r"2-D\), got 1-D of shape \(3,\)"),
        (5.0, "got 0-D"),
        (np.zeros((2, 2, 2)), r"got 3-D of shape \(2, 2, 2\)"),
        ([[1, 2], [3]], "not a matrix"),
        (Tensor(SQUARE, device=(2, 0)), r"copy it to .*the host"),  # without cuda-core, or without a GPU
    ],
    ids=["vector", "scalar", "stack", "ragged", "gpu"],
)
def test_what_is_no_matrix(given, words):
    with pytest.raises(lw.ArgumentError, match=words):
        lw.solve(given)


@pytest.mark.parametrize("method", ["core", "jv", "ssp", "hungarian-tree", "munkres"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(7, 7), (4, 9), (9, 4), (260, 260)])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_invalid_costs_are_named(method, dtype, order, shape, value):
    cost = np.asarray(np.random.default_rng(1).random(shape), dtype=dtype, order=order)
    row, col = shape[0] - 2, shape[1] - 3
    cost[row, col] = value
    for sign in (1, -1):
        with pytest.raises(lw.InvalidCostError, match=rf"cost\[{row}, {col}\] is {sign * value}") as caught:
            lw.solve(sign * cost, maximize=sign < 0, method=method)
        assert (caught.value.row, caught.value.col) == (row, col)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("method", ["core", "jv", "ssp", "hungarian-tree", "munkres"])
def test_invalid_costs_are_named_before_infeasibility(method):
    cost = np.ones((5, 2))
    cost[4, 1] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[4, 1\] is nan"):
        lw.solve(cost, unmatched_cost=[1, np.inf, np.inf, np.inf, np.inf], method=method)
    cost = np.full((5, 5), np.inf)
    cost[4, 1] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[4, 1\] is nan"):
        lw.solve(cost, method=method)


def test_uint64_beyond_int64():
    cost = np.zeros((2, 3), np.uint64)
    cost[1, 2] = 2**63
    with pytest.raises(lw.RangeError, match=r"cost\[1, 2\] is 9223372036854775808"):
        lw.solve(cost)


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: [np.array(a, np.uint64), np.array(b, np.int64)],
        lambda a, b: pd.DataFrame({"a": np.array(a, np.uint64), "b": np.array(b, np.int64)}),
    ],
    ids=["arrays", "frame"],
)
def test_integers_that_numpy_would_round_are_exact(make):
    result = lw.solve(make([2**58 + 1, 2**58], [2**58, 2**58 - 2]))
    assert result.objective == 2**59 - 1 and isinstance(result.objective, int) and result.certificate.exact


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[2**63, 2**62 + 1], [2**62 + 1, 0]], "cost has integers up to 9223372036854775808"),
        ([[2**53 + 1, 0.5], [1, 1]], "cost has the integer 9007199254740993 beside floats"),
        (
            pd.DataFrame({"a": [2**60 + 1, 1], "b": [0.5, 1.0]}),
            "cost has the integer 1152921504606846977 beside floats",
        ),
    ],
    ids=["beyond int64", "floats", "frame"],
)
def test_integers_that_numpy_would_round_are_refused(given, words):
    with pytest.raises(lw.RangeError, match=words):
        lw.solve(given)


def test_prices_that_numpy_would_round_are_refused():
    with pytest.raises(lw.RangeError, match="unmatched_cost has the integer 1152921504606846977 beside floats"):
        lw.solve(np.zeros((2, 2)), unmatched_cost=[2**60 + 1, 0.5])


def test_large_floats_of_lists_are_no_integers():
    assert lw.solve([[1e300, np.inf], [2**60, 1e18]], unmatched_cost=None).objective == 1e300 + 1e18


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("cols", [0, 1, 3])
def test_prices_of_all_rows_must_have_a_sum(dtype, cols):
    price = {np.float64: 1e307, np.int64: 2**59}[dtype]
    with pytest.raises(lw.RangeError, match=r"unmatched_cost\[0\] is"):
        lw.solve(np.zeros((40, cols), dtype), unmatched_cost=price, certify=False)
    assert lw.solve(np.zeros((40, cols), dtype), unmatched_cost=price // 2**20).objective == (40 - cols) * (
        price // 2**20
    )


@pytest.mark.parametrize("method", ["core", "jv", "ssp", "hungarian-tree", "munkres"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3)])
@pytest.mark.parametrize("value", [2**62, -(2**63), 2**60])
def test_int64_sums_that_could_overflow(method, shape, value):
    cost = np.zeros(shape, np.int64)
    cost[2, 1] = value
    with pytest.raises(lw.RangeError, match=rf"cost\[2, 1\] is {value}.*exact in int64.*divide") as caught:
        lw.solve(cost, method=method)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, OverflowError)


@pytest.mark.parametrize("method", ["core", "jv", "ssp", "hungarian-tree", "munkres"])
def test_float64_sums_that_could_overflow(method):
    cost = np.ones((3, 3))
    cost[0, 2] = -1e308  # more than sums in float64 have room for, but the optimum itself is in range
    assert lw.solve(cost, method=method).objective == -1e308
    cost[1] = -1e308
    with pytest.raises(lw.RangeError, match=r"cost\[0, 2\] is -1e\+308"):
        lw.solve(cost, method=method)


# --- unmatched_cost -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "error", "words"),
    [
        (np.nan, lw.ArgumentError, r"unmatched_cost\[0\] is nan"),
        ([1.0, -np.inf, 1.0], lw.ArgumentError, r"unmatched_cost\[1\] is -inf.*\+inf if the row must be matched"),
        ([1.0, 2.0], lw.ArgumentError, r"each of the 3 rows, got shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], lw.ArgumentError, r"got shape \(1, 3\)"),
        ("x", lw.DtypeError, "real numbers"),
        (1j, lw.DtypeError, "complex128"),
        (2**63, lw.RangeError, "9223372036854775808"),
        (2**62, lw.RangeError, "unmatched_cost"),
    ],
)
def test_prices_that_cannot_be_used(price, error, words):
    with pytest.raises(error, match=words):
        lw.solve(SQUARE, unmatched_cost=price)


def test_prices_of_integer_problems():
    assert lw.solve(SQUARE, unmatched_cost=1).u.dtype == np.int64
    assert lw.solve(SQUARE, unmatched_cost=1.0).u.dtype == np.int64
    assert lw.solve(SQUARE, unmatched_cost=[1, np.inf, np.inf]).u.dtype == np.int64
    fractional = lw.solve(SQUARE, unmatched_cost=0.5)
    assert fractional.u.dtype == np.float64
    assert_optimal(fractional, SQUARE.astype(float), unmatched_cost=0.5)
    with pytest.raises(lw.RangeError, match=r"2\^53"):
        lw.solve(SQUARE + 2**53, unmatched_cost=0.5)


def test_negative_prices_and_values():
    assert lw.solve(SQUARE, unmatched_cost=-1).row_to_col.tolist() == [-1, -1, -1]
    assert lw.solve(SQUARE, unmatched_cost=-1).objective == -3
    kept = lw.solve([[5.0, 1.0], [4.0, 1.0]], unmatched_cost=3, maximize=True)
    assert kept.row_to_col.tolist() == [0, -1] and kept.objective == 8.0


def test_a_masked_price_is_absent():
    masked = np.ma.masked_array([1.0, 1e-9, 3.0], [0, 1, 0])
    cost = np.random.default_rng(0).random((3, 4))
    assert lw.solve(cost, unmatched_cost=masked).row_to_col[1] >= 0
    assert lw.solve(-cost, unmatched_cost=-masked, maximize=True).row_to_col[1] >= 0
    batch = lw.solve_batch(cost[None], unmatched_cost=masked)
    assert batch.objective[0] == lw.solve(cost, unmatched_cost=[1.0, np.inf, 3.0]).objective
    whole = np.ma.masked_array([0, 1], [0, 1])
    assert lw.solve(np.ones((2, 3), int), unmatched_cost=whole).u.dtype == np.int64


# --- other options --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"maximize": 2}, lw.DtypeError, "maximize must be True or False, got 2"),
        ({"certify": "yes"}, lw.DtypeError, "certify must be True or False"),
        ({"method": "simplex"}, lw.ArgumentError, r"unknown method 'simplex'; choose from 'auto', 'core', 'jv', 'ssp'"),
        ({"threads": 0}, lw.ArgumentError, "threads must be at least 1, got 0"),
        ({"threads": 1.5}, lw.DtypeError, "threads must be a whole number, got 1.5"),
        ({"time_limit": -1}, lw.ArgumentError, "time_limit must be at least 0 seconds, got -1"),
        ({"time_limit": float("nan")}, lw.ArgumentError, "time_limit"),
        ({"time_limit": "soon"}, lw.DtypeError, "time_limit must be a number of seconds"),
        ({"time_limit": "1"}, lw.DtypeError, "time_limit must be a number of seconds, got '1'"),
        ({"time_limit": 10**400}, lw.ArgumentError, "time_limit is beyond float64"),
        ({"progress": 3}, lw.DtypeError, "progress must be True, False or a callable"),
        ({"start": 3}, lw.DtypeError, r"start must be a Result or a pair \(u, v\)"),
        ({"start": ([0, 0], [0, 0, 0])}, lw.ArgumentError, r"start: u must have shape \(3,\).*got \(2,\)"),
        ({"start": ([0, 0, 0], [0, np.nan, 0])}, lw.ArgumentError, r"start: v\[1\] is not finite"),
        ({"start": ([0, 0, 0], [0, "a", 0])}, lw.DtypeError, "start: v must be real numbers"),
        ({"start": ([0, 0, 0], [0, 0, 0]), "method": "jv"}, lw.ArgumentError, "'jv' cannot use start=.*'core'"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used(options, error, words):
    with pytest.raises(error, match=words):
        lw.solve(SQUARE, **options)


def test_any_number_of_threads_will_do():
    for threads in (1, np.int64(2), True, 10**30):
        assert lw.solve(SQUARE, threads=threads).objective == 5
    assert lw.plan(np.zeros((5000, 5000)), threads=10**9).threads <= max(16, 2 * os.cpu_count())
