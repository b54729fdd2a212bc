"""Matrices from the host's memory to the GPU's: that they come whole and in order, and that a solve begins before."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import defaultdict

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.costs import upload
from lapwing.gpu.costs.upload import Copier
from lapwing.gpu.runtime.copies import read
from support.checks import assert_hall_violator, assert_optimal

ENOUGH = 10  # seconds, after which a wait has failed


@pytest.fixture
def pieces(monkeypatch):
    """Have matrices come by so many threads in pieces of so many bytes, several to a part."""

    def apply(size, threads=3):
        monkeypatch.setattr(upload, "_BUFFER_BYTES", size)
        monkeypatch.setattr(upload, "_LEAST_PART", 2 * size)
        monkeypatch.setattr(upload, "_idle", defaultdict(list))
        monkeypatch.setattr(upload, "copying_threads", lambda: threads)

    return apply


@pytest.fixture
def before_each(monkeypatch):
    """Have a function called with the place of every piece before that is sent."""

    def apply(act):
        send = Copier._send

        def act_and_send(self, lane, at, piece):
            act(at)
            send(self, lane, at, piece)

        monkeypatch.setattr(Copier, "_send", act_and_send)

    return apply


def held(gpu, array):
    """The matrix on the GPU."""
    count = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + 1
    there = read(gpu.context, array.pointer, count, array.dtype)
    strides = tuple(s * there.itemsize for s in array.strides)
    return np.lib.stride_tricks.as_strided(there, array.shape, strides)


@pytest.mark.parametrize("size", [64, 1000, 8 << 20])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
def test_all_of_it(gpu, pieces, size, threads, dtype):
    pieces(size, threads)
    block = np.random.default_rng(0).integers(0, 100, (60, 74)).astype(dtype)
    for matrix in (block, block.T, block[::-2, 3:], block[:, ::-1].T, block[:1], block[:, :1], block[:0], block[:, :0]):
        if matrix.itemsize not in matrix.strides:
            continue
        array, copier = upload.upload(gpu.context, matrix)
        with copier:
            copier.finish()
        assert array.shape == matrix.shape and 1 in array.strides
        if matrix.size:
            assert (held(gpu, array) == matrix).all()


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("rows", [96, 143])
def test_parts_are_there_when_waited_for(gpu, pieces, before_each, threads, rows):
    matrix = np.random.default_rng(1).random((rows, 256), np.float32)
    pieces(4096, threads)  # 4 lines
    array, copier = upload.upload(gpu.context, matrix)
    parts, last = copier.parts, (rows - 1) // 4 * 4
    assert len(parts) > 4 and [k for part in parts for k in part] == list(range(rows))
    wanted = threading.Event()

    def hold(at):
        time.sleep(random.random() / 500)
        if at == 1024 * last:
            assert wanted.wait(ENOUGH), "a part was waited for longer than needed"

    before_each(hold)
    with copier:
        for part in parts:
            if part.stop > last - 4 * threads:  # of a thread the last piece but one is not known to have come
                wanted.set()
            copier.wait_for(part)
            assert (held(gpu, array)[: part.stop] == matrix[: part.stop]).all()


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_solve_begins_before_all_has_come(gpu, monkeypatch, pieces, before_each, dtype, maximize, order):
    cost = np.random.default_rng(2).integers(0, 1000, (200, 200)).astype(dtype, order=order)
    pieces(4096)
    begun = threading.Event()
    parts = []
    launch = CoreSolve._launch

    def note(self, name, grid, *more):
        if name == "column_minima":
            parts.append(range(*more[2:4]))
            begun.set()
        launch(self, name, grid, *more)

    def hold(at):
        if at > cost.nbytes * 3 // 4:
            assert begun.wait(ENOUGH), "nothing began before all had come"

    lw.solve(cost, device="cuda", maximize=maximize)  # or the compiler might take longer than the hold
    monkeypatch.setattr(CoreSolve, "_launch", note)
    before_each(hold)
    result = lw.solve(cost, device="cuda", maximize=maximize)
    assert len(parts) > 4 and [k for part in parts for k in part] == list(range(200))
    assert_optimal(result, cost, maximize=maximize)
    pieces(8 << 20)
    at_once = lw.solve(cost, device="cuda", maximize=maximize)
    assert (at_once.row_to_col == result.row_to_col).all()


@pytest.mark.parametrize("cols", [61, 150, 200])
@pytest.mark.parametrize("options", [{}, {"unmatched_cost": 300}, {"method": "hungarian-tree"}])
def test_solves_that_wait_for_all(gpu, pieces, cols, options):
    """Rows that are no whole packs, rectangles either way, and other methods."""
    for shape in ((cols, cols), (cols, 90), (90, cols)):
        cost = np.random.default_rng(3).integers(0, 1000, shape).astype(np.float32)
        pieces(4096)
        assert_optimal(lw.solve(cost, device="cuda", **options), cost, unmatched_cost=options.get("unmatched_cost"))


def test_duals_to_start_from(gpu, pieces):
    cost = np.random.default_rng(4).integers(0, 1000, (200, 200)).astype(np.float32)
    pieces(4096)
    first = lw.solve(cost, device="cuda")
    assert_optimal(lw.solve(cost, device="cuda", start=(first.u, first.v)), cost)


def test_bad_costs_in_the_last_part(gpu, pieces):
    cost = np.random.default_rng(5).random((200, 200), np.float32)
    cost[:, 7] = np.inf
    pieces(4096)
    with pytest.raises(lw.InfeasibleError) as error:
        lw.solve(cost, device="cuda")
    assert_hall_violator(error.value, cost)
    cost[199, 11] = np.nan
    with pytest.raises(ValueError, match=r"cost\[199, 11\]"):
        lw.solve(cost, device="cuda")


@pytest.mark.parametrize("at", [0, 100, 199])
def test_what_goes_wrong_on_the_way(gpu, pieces, before_each, at):
    pieces(4096)

    def fail(place):
        if place // 800 >= at - 4:
            raise OSError("the file ended")

    before_each(fail)
    with pytest.raises(OSError, match="the file ended"):
        lw.solve(np.zeros((200, 200), np.float32), device="cuda")


def test_ctrl_c_on_the_way(gpu, pieces, before_each):
    """Threads that read the matrix are waited for before the caller has it back."""
    pieces(4096)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    reading, first = [], threading.Lock()

    def hold(at):
        if at > 100_000 and first.acquire(blocking=False):
            reading.append(at)
            for _ in range(2):  # impatient
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                time.sleep(0.2)
            reading.remove(at)

    before_each(hold)
    try:
        with pytest.raises(KeyboardInterrupt):
            lw.solve(np.zeros((200, 200), np.float32), device="cuda")
        assert not reading
    finally:
        signal.signal(signal.SIGINT, before)
