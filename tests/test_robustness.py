"""Signals, exhausted memory, threads and leaks: the process stays healthy."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from support.checks import ALL_METHODS, KINDS, assert_optimal, hear_interrupts, slow_cost

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc and rlimits")
SLACK = 0.3  # seconds that a busy machine may add


def start_python(code, *arguments):
    """A process with the tests' modules at hand; it talks through pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts if os.name == "posix" else None,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )


# --- signals --------------------------------------------------------------------------------------

INTERRUPTED = """
    import sys, threading, time
    import numpy as np
    import lapwing as lw
    from support.checks import hard_cost

    method, watch = sys.argv[1], sys.argv[2] == "watched"
    if method == "computed":
        method, points = "core", np.random.default_rng(0).random((2, 60_000, 2))
        cost = lw.costs.weighted(lw.costs.squared_euclidean(*points), 1.0, lw.costs.haversine(*points), 1.0)
    else:
        cost = hard_cost(4000)
    print("ready", flush=True)
    try:
        while True:
            lw.solve(cost, method=method, certify=False, progress=(lambda p: None) if watch else False)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    small = np.random.default_rng(0).random((80, 80))
    print(lw.solve(small, method=method).certificate.bound < 1e-12, threading.active_count())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("method", "watched"),
    [(method, "alone") for method in [*ALL_METHODS, "computed"]]
    + [pytest.param(method, "watched", marks=pytest.mark.slow) for method in [*KINDS, "computed"]],
)
def test_interrupt(method, watched):
    process = start_python(INTERRUPTED, method, watched)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    time.sleep(0.4)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    caught, healthy = out.splitlines()
    assert float(caught) - sent < 0.2 + SLACK
    assert healthy == "True 1" and process.returncode == 0, err


INTERRUPTED_SPARSE = """
    import time
    import scipy.sparse as sparse
    import lapwing as lw

    matrix = sparse.eye_array(30_000)
    print("ready", flush=True)
    try:
        lw.solve(matrix, method="core")
    except KeyboardInterrupt:
        print(time.monotonic())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_interrupt_while_a_sparse_matrix_is_written_out():
    """By a method named by the caller: seven gigabytes of forbidden pairs, of which the first are written."""
    process = start_python(INTERRUPTED_SPARSE)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    time.sleep(0.1)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    caught, err = process.communicate(timeout=60)
    assert float(caught) - sent < 0.2 + SLACK, err


def test_solving_off_the_main_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(lw.solve(slow_cost("ssp"), method="ssp", progress=print)))
    thread.start()
    thread.join()
    assert results[0].status == "optimal"


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", KINDS)
def test_two_threads_solve_at_once(method):
    rng = np.random.default_rng(0)
    costs = [rng.random((300, 300)) for _ in range(16)]
    expected = [lw.solve(cost, method=method).objective for cost in costs]
    results = [None] * len(costs)

    def work(offset):
        for k in range(offset, len(costs), 2):
            results[k] = lw.solve(costs[k], method=method, threads=2)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.objective for result in results] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", KINDS)
def test_python_runs_on_while_a_solve_runs(method):
    cost = slow_cost(method)
    done = threading.Event()
    ticks = 0

    def solve():
        lw.solve(cost, method=method)
        done.set()

    thread = threading.Thread(target=solve)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 10


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("cls", ["uniform", "int:1", "geometric"])
@pytest.mark.parametrize("method", ["core", "hungarian-tree"])
def test_the_answer_does_not_depend_on_threads(method, cls, threads):
    cost = lw.instances.generate(cls, 700, 2)
    result = lw.solve(cost, method=method, threads=threads)
    assert_optimal(result, cost)
    assert np.array_equal(result.row_to_col, lw.solve(cost, method=method, threads=1).row_to_col)


# --- costs that change ----------------------------------------------------------------------------

ODD = [np.nan, np.inf, -np.inf, 1.0]
CHANGING = {
    "linear_sum_assignment": (100, np.float64, lw.linear_sum_assignment),
    "batch": (100, np.float64, lambda cost: lw.solve_batch(cost.reshape(25, 20, 20), certify=True)),
    "batch of integers": (100, np.int64, lambda cost: lw.solve_batch(cost.reshape(25, 20, 20), certify=True)),
    **{
        f"{method}, {dtype.__name__}": (
            400,
            dtype,
            lambda cost, method=method: lw.solve(cost, method=method, time_limit=0.5, threads=2),
        )
        for method in ALL_METHODS
        for dtype in (np.float64, np.int64)
    },
}


@pytest.mark.parametrize("job", CHANGING)
def test_another_thread_writes_to_the_matrix(job):
    """Any answer will do, and any error of Lapwing's, but the process lives and the solve ends."""
    size, dtype, solve = CHANGING[job]
    cost = (np.random.default_rng(1).random((size, size)) * 1000).astype(dtype)
    before = cost.copy()
    over = threading.Event()

    def scribble():
        rng = np.random.default_rng(2)
        while not over.is_set():
            values = rng.choice(ODD, 5000) if dtype == np.float64 else rng.integers(-(2**62), 2**62, 5000)
            cost.reshape(-1)[rng.integers(0, cost.size, 5000)] = values

    thread = threading.Thread(target=scribble)
    thread.start()
    end = time.monotonic() + 1
    try:
        while time.monotonic() < end:
            cost[:] = before
            with contextlib.suppress(lw.LapwingError, ValueError):
                solve(cost)
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("kind", ["geometric", "disjoint"])
def test_a_progress_callback_writes_to_the_matrix(kind):
    cost = lw.instances.generate(kind, 1500, 1)
    with contextlib.suppress(lw.LapwingError):
        lw.solve(cost, method="jv", progress=lambda progress: cost.fill(np.nan), time_limit=5)


# --- the host process -----------------------------------------------------------------------------

ENDING = """
    import sys, threading, time
    import numpy as np
    import lapwing as lw

    cost = np.random.default_rng(0).random((1200, 1200))
    batch = cost[:1000, :1000].reshape(-1, 50, 50)
    rows = lw.costs.rows(lambda begin, end: cost[begin:end], cost.shape)
    slow = lw.costs.rows(lambda begin, end: (time.sleep(0.002), cost[begin:end])[1], cost.shape)
    result = lw.solve(cost)
    jobs = {
        "solve": lambda: lw.solve(cost, threads=2),
        "watched": lambda: lw.solve(cost, method="hungarian-tree", progress=lambda progress: None),
        "linear_sum_assignment": lambda: lw.linear_sum_assignment(cost[:300, :300]),
        "batch": lambda: lw.solve_batch(batch),
        "certify": lambda: lw.certify(cost, result.row_to_col, result.u, result.v),
        "rows": lambda: lw.solve(rows),
        "slow rows": lambda: lw.solve(slow, threads=2),
    }

    def work():
        while True:
            jobs[sys.argv[1]]()

    threading.Thread(target=work, daemon=True).start()
    time.sleep(float(sys.argv[2]))
    print("end")
"""


@pytest.mark.parametrize("job", ["solve", "watched", "linear_sum_assignment", "batch", "certify", "rows", "slow rows"])
def test_the_interpreter_ends_while_a_daemon_thread_solves(job):
    for delay in ("0.1", "0.23"):
        process = start_python(ENDING, job, delay)
        out, err = process.communicate(timeout=60)
        assert out == "end\n" and process.returncode == 0, err


def test_a_solve_while_the_interpreter_ends():
    code = """
        import numpy as np, lapwing as lw

        some = np.random.default_rng(0).random((90, 90))

        class Last:
            def __del__(self, assign=lw.linear_sum_assignment, cost=some):
                print(len(assign(cost)[0]), flush=True)

        last = Last()
    """
    process = start_python(code)
    assert process.communicate(timeout=60)[0] == "90\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_a_thread_reads_a_source():
    cost = np.random.default_rng(0).random((600, 600))
    reading, over = threading.Event(), threading.Event()

    def supply(begin, end):
        reading.set()
        over.wait(0.05)
        return cost[begin:end]

    source = lw.costs.rows(supply, cost.shape)
    thread = threading.Thread(target=lw.solve, args=(source,))
    thread.start()
    reading.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            lw.solve(source)
        except lw.ArgumentError as error:
            os._exit(0 if "make the source anew in the child process" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    over.set()
    thread.join()
    assert lw.solve(source).certificate.bound < 1e-9


ARITHMETIC = """
    import ctypes, math, mmap, sys
    from fractions import Fraction
    from itertools import permutations
    import numpy as np
    import lapwing as lw

    def set_mxcsr(word):
        # mov dword [rsp - 8], word; ldmxcsr [rsp - 8]; ret
        code = bytes.fromhex("c74424f8") + word.to_bytes(4, "little") + bytes.fromhex("0fae5424f8c3")
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        function = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        function()

    rng = np.random.default_rng(0)
    tiny, points = rng.random((20, 5, 5)) * 1e-309, rng.random((2, 40, 2)) * 1e-155
    large = rng.random((700, 700)) * 1e-309
    def answers():
        batch = lw.solve_batch(tiny, certify=True)
        first = lw.solve(large, method="core", threads=2), lw.solve(large, method="hungarian-tree", threads=2)
        source = lw.costs.squared_euclidean(*points)
        return (
            [lw.linear_sum_assignment(cost)[1].tolist() for cost in tiny],
            batch.row_to_col.tobytes(), batch.objective.tobytes(), batch.certificates,
            [(result.objective, result.row_to_col.tobytes()) for result in first],
            source.read(slice(None)).tobytes(), lw.solve(source).objective,
        )

    expected = answers()
    for word in (0x9FC0, 0x1F80 | 0x2000, 0x1F80 | 0x4000, 0x1F80 | 0x6000):
        set_mxcsr(word)
        found = answers()
        kept = tiny[0, 0, 0] * 1.0 == 0  # the host's own arithmetic is as before
        set_mxcsr(0x1F80)
        assert found == expected and kept == (word == 0x9FC0), hex(word)
    for cost, objective in zip(tiny, np.frombuffer(expected[2])):
        best = min(sum(Fraction(cost[i, j]) for i, j in enumerate(p)) for p in permutations(range(5)))
        assert objective == float(best)
    print("done")
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or os.name == "nt", reason="sets the MXCSR register")
def test_the_hosts_rounding_and_subnormal_numbers():
    """Libraries built with -ffast-math set the processor to flush subnormal numbers to zero."""
    process = start_python(ARITHMETIC)
    out, err = process.communicate(timeout=60)
    assert out == "done\n", err


def test_the_package_is_imported_again():
    code = """
        import sys, lapwing
        for name in [name for name in sys.modules if name.startswith("lapwing")]:
            del sys.modules[name]
        import lapwing
        print(lapwing.solve([[1.0]]).objective, lapwing.costs.euclidean([[1.0]], [[2.0]]).read(slice(None))[0, 0])
    """
    process = start_python(code)
    assert process.communicate(timeout=60)[0] == "1.0 1.0\n"


# --- memory ---------------------------------------------------------------------------------------

SHORT_OF_MEMORY = """
    import resource, sys
    import numpy as np
    import lapwing as lw

    method = sys.argv[1]
    cost = np.random.default_rng(0).random((4000, 4000), dtype=np.float32)
    small = cost[:150, :150].copy()
    lw.solve(small, method=method)
    refused = solved = 0
    for extra in [2**k for k in range(12, 29 if method == "munkres" else 26)]:  # a matrix of 128 MB
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + extra, resource.RLIM_INFINITY))
        try:
            lw.solve(cost, method=method, threads=2, time_limit=0.3, certify=False)
            solved += 1
        except MemoryError:
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(refused > 0, solved > 0, lw.solve(small, method=method).certificate.bound < 1e-12)
"""


@LINUX
@pytest.mark.parametrize("method", KINDS)
def test_out_of_memory_in_the_middle(method):
    process = start_python(SHORT_OF_MEMORY, method)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    refused, solved, healthy = out.split()
    assert (solved, healthy) == ("True", "True")
    assert refused == "True" or method != "core"


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def solve_in_every_way(method):
    rng = np.random.default_rng(0)
    cost = rng.random((40, 50))
    lw.solve(cost, method=method, unmatched_cost=0.3)
    lw.solve(cost.T, method=method, maximize=True, progress=lambda progress: None)
    lw.solve_batch(cost[None], duals=True)
    lw.linear_sum_assignment(cost)
    for wrong in (np.nan, np.inf):
        broken = cost.copy()
        broken[3, :] = wrong
        with pytest.raises(ValueError):
            lw.solve(broken, method=method)
        with pytest.raises(ValueError):
            lw.solve_batch(broken[None])
        with pytest.raises(ValueError):
            lw.linear_sum_assignment(broken)


@LINUX
@pytest.mark.parametrize("method", KINDS)
def test_many_solves_do_not_leak(method):
    for _ in range(100):
        solve_in_every_way(method)
    gc.collect()
    before = resident_bytes()
    for _ in range(300):
        solve_in_every_way(method)
    gc.collect()
    assert resident_bytes() - before < 2 << 20


@pytest.mark.parametrize("method", ALL_METHODS)
def test_nothing_holds_on_to_the_matrix(method):
    cost = np.random.default_rng(0).random((40, 40))
    start = (np.zeros(40), np.zeros(40))
    references = sys.getrefcount(cost), sys.getrefcount(start[1])
    for _ in range(10):
        lw.solve(cost, method=method)
        lw.solve(cost, start=start)
        lw.linear_sum_assignment(cost)
        lw.solve_batch(cost[None])
        lw.solve_batch([cost, cost.T])
    assert (sys.getrefcount(cost), sys.getrefcount(start[1])) == references
