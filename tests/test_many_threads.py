"""Many threads at once: what they share, and that the extension lets them run without the GIL."""

import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lapwing as lw
from lapwing.methods import METHODS

THREADS, TURNS = 8, 6


def together(work):
    """The values of work(k) for THREADS numbers k, all begun at the same moment."""
    start = threading.Barrier(THREADS)

    def begin(k):
        start.wait(30)
        return [work(k) for _ in range(TURNS)]

    with ThreadPoolExecutor(THREADS) as pool:
        return [answer for answers in pool.map(begin, range(THREADS)) for answer in answers]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a build of Python with the GIL")
def test_the_extension_does_not_bring_the_gil_back():
    assert not sys._is_gil_enabled()


@pytest.mark.parametrize("method", METHODS)
def test_solves_of_one_matrix_agree(method):
    cost = np.random.default_rng(0).integers(0, 1000, (60, 80))
    expected = lw.solve(cost, method=method).objective
    for result in together(lambda _: lw.solve(cost, method=method, threads=1)):
        assert result.objective == expected and result.certificate.exact


def test_small_problems_keep_their_answers_apart():
    costs = np.random.default_rng(1).random((THREADS, 12, 12))
    expected = [lw.solve(cost).objective for cost in costs]
    for k, (rows, cols) in together(lambda k: (k, lw.linear_sum_assignment(costs[k]))):
        assert costs[k][rows, cols].sum() == pytest.approx(expected[k], rel=1e-12)


def test_batches_and_shared_sources_of_costs():
    costs = np.random.default_rng(2).random((40, 9, 9))
    expected = lw.solve_batch(costs).objective
    for batch in together(lambda _: lw.solve_batch(costs, threads=2)):
        np.testing.assert_array_equal(batch.objective, expected)

    matrix = np.random.default_rng(3).random((50, 50))
    source = lw.costs.rows(lambda begin, end: matrix[begin:end], matrix.shape, dtype="float64")
    objective = lw.solve(matrix).objective
    for result in together(lambda _: lw.solve(source)):
        assert result.objective == objective and result.certificate.exact
