"""Checkpoints: what they hold, that a solve goes on from them however it ended, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import checkpoint
from lapwing.checkpoint import read_checkpoint
from lapwing.inputs import make_problem
from support.checks import assert_optimal, hard_cost
from support.strategies import matrices

HARD = 2500  # rows; a second or so


def hard_points(n=16000):
    rng = np.random.default_rng(3)
    return rng.random((n, 2), dtype=np.float32), 1 + rng.random((n, 2), dtype=np.float32)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cost=matrices(dtypes=[np.float32, np.float64, np.int32, np.int64]),
    maximize=st.booleans(),
    priced=st.booleans(),
    interval=st.sampled_from([0.001, 1000]),
)
def test_a_finished_solve_leaves_its_duals(tmp_path, cost, maximize, priced, interval):
    path = tmp_path / "run.npz"
    path.unlink(missing_ok=True)
    price = np.median(cost).item() if priced else None
    result = lw.solve(cost, maximize=maximize, unmatched_cost=price, checkpoint=lw.Checkpoint(path, interval))
    assert_optimal(result, cost, maximize=maximize, unmatched_cost=price)
    with np.load(path) as file:
        assert np.array_equal(file["u"], result.u) and np.array_equal(file["v"], result.v)
        assert np.array_equal(file["row_to_col"], result.row_to_col)
    saved = read_checkpoint(path)
    assert saved.about["status"] == "optimal" and saved.about["matched"] == (result.row_to_col >= 0).sum()
    again = lw.solve(cost, maximize=maximize, unmatched_cost=price, checkpoint=path)
    assert again.objective == pytest.approx(result.objective, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", ["square", "wide", "tall", "priced"])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_what_is_written_on_the_way_is_feasible(tmp_path, monkeypatch, maximize, shape, dtype):
    cost = hard_cost(1200) * 1000
    cost = cost.astype(dtype)[: 1000 if shape == "wide" else None, : 1000 if shape == "tall" else None]
    price = float(cost.mean()) // 4 if shape == "priced" else None
    if maximize and price:
        price = float(cost.mean()) * 3 // 2
    seen = []

    def look(source, target):
        seen.append(read_checkpoint(source))
        return rename(source, target)

    rename = os.replace
    monkeypatch.setattr(os, "replace", look)
    best = lw.solve(cost, maximize=maximize, unmatched_cost=price)
    lw.solve(
        cost,
        method="core",
        maximize=maximize,
        unmatched_cost=price,
        checkpoint=lw.Checkpoint(tmp_path / "run.npz", 0.001),
    )
    assert len(seen) > 3 and {saved.about["status"] for saved in seen} == {"running", "optimal"}
    sign = -1 if maximize else 1
    for saved in seen[:: max(1, len(seen) // 10)]:
        proof = lw.certify(cost, saved.row_to_col, saved.u, saved.v, maximize=maximize, unmatched_cost=price)
        assert sign * proof.optimum_bound <= sign * best.objective + 1e-6 * abs(best.objective)


def test_a_time_limit_and_the_way_on(tmp_path):
    cost = hard_cost(HARD)
    path = tmp_path / "run.npz"
    stopped = lw.solve(cost, time_limit=0.3, checkpoint=path)
    if stopped.status == "optimal":
        pytest.skip("too fast a machine")
    assert read_checkpoint(path).about["status"] == "time_limit"
    result = lw.solve(cost, checkpoint=path)
    assert result.status == "optimal"
    assert result.objective == lw.solve(cost).objective
    assert read_checkpoint(path).about["seconds"] > 0.3


@pytest.mark.parametrize("shape", [(2500, 2500), pytest.param((2500, 2000), marks=pytest.mark.slow), (2000, 2500)])
def test_a_stop_before_there_are_prices_costs_no_more_than_a_fresh_solve(tmp_path, shape):
    cost = hard_cost(2500)[: shape[0], : shape[1]]
    path = tmp_path / "run.npz"
    assert lw.solve(cost, method="core", time_limit=0, checkpoint=path).status == "time_limit"
    assert read_checkpoint(path).about["status"] == "time_limit"
    on, fresh = lw.solve(cost, method="core", checkpoint=path), lw.solve(cost, method="core")
    assert on.objective == fresh.objective
    for name in ("start_levels", "bids", "paths", "dense_rows_read"):
        assert on.statistics[name] == fresh.statistics[name]


@pytest.mark.parametrize("share", [0.45, 0.8])
def test_going_on_takes_no_more_work_than_a_fresh_solve(tmp_path, share):
    rng = np.random.default_rng(1)
    cost = lw.costs.euclidean(*(rng.random((20000, 3)).astype(np.float32) for _ in range(2)))
    began = time.perf_counter()
    fresh = lw.solve(cost, threads=1)
    limit = share * (time.perf_counter() - began)
    path = tmp_path / "run.npz"
    lw.solve(cost, threads=1, time_limit=limit, checkpoint=path)
    on = lw.solve(cost, threads=1, checkpoint=path)
    assert on.objective == pytest.approx(fresh.objective, rel=1e-9)
    work, least = (result.statistics["bids"] + result.statistics["rows_scanned"] for result in (on, fresh))
    assert work < 1.25 * least


def test_an_interruption_keeps_what_there_is(tmp_path):
    path = tmp_path / "run.npz"
    cost = hard_cost(HARD)

    def interrupt(progress):
        # of a sample, of which nothing is kept, no bound is known; searches may be over between two calls
        if progress.stage in ("auction", "search") and progress.bound is not None and math.isfinite(progress.bound):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lw.solve(cost, method="core", checkpoint=path, progress=interrupt)
    saved = read_checkpoint(path)
    assert saved.about["status"] == "running" and saved.about["matched"] > 0
    on = lw.solve(cost, checkpoint=path)
    assert on.objective == lw.solve(cost).objective


RUN = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
import lapwing as lw
from test_checkpoint import hard_points
print("ready", flush=True)
result = lw.solve(lw.costs.squared_euclidean(*hard_points()), checkpoint=lw.Checkpoint({path!r}, 0.02))
print(repr(result.objective), result.certificate.exact)
"""


def start_run(path):
    tests = os.path.dirname(__file__)
    code = RUN.format(tests=tests, path=str(path))
    environment = os.environ | {"PYTHONPATH": tests}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_at_random_moments(tmp_path):
    path = tmp_path / "run.npz"
    began = time.perf_counter()
    expected = lw.solve(lw.costs.squared_euclidean(*hard_points()))
    seconds = time.perf_counter() - began
    killed = 0
    moments = random.Random(os.getpid())
    for _ in range(4):
        run = start_run(path)
        assert run.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 0.8 * seconds))
        run.send_signal(signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
        run.stdout.close()
        if path.exists():
            read_checkpoint(path)  # whole
    assert killed
    run = start_run(path)
    assert run.stdout.readline() == "ready\n"
    objective, exact = run.communicate()[0].split()
    assert float(objective) == expected.objective and exact == "True"


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_leaves_the_checkpoint_before(tmp_path):
    path = tmp_path / "run.npz"
    code = textwrap.dedent(
        f"""
        import resource, warnings
        import numpy as np
        import lapwing as lw

        rng = np.random.default_rng(0)
        source = lw.costs.squared_euclidean(rng.random((3000, 2)), rng.random((3000, 2)))
        lw.solve(source, time_limit=0.2, checkpoint={str(path)!r})
        with open({str(path)!r}, "rb") as file:
            before = file.read()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = lw.solve(source, checkpoint=lw.Checkpoint({str(path)!r}, 0.01))
        assert len(caught) == 1, caught
        print(caught[0].message)
        assert result.status == "optimal" and result.certificate.bound < 1e-9
        with open({str(path)!r}, "rb") as file:
            assert file.read() == before
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "could not be written (File too large): the solve goes on" in done.stdout
    assert os.listdir(tmp_path) == ["run.npz"]


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.99])
def test_truncated_checkpoints_are_refused(tmp_path, share):
    path = tmp_path / "run.npz"
    cost = np.random.default_rng(0).random((300, 300))
    lw.solve(cost, checkpoint=path)
    os.truncate(path, int(share * path.stat().st_size))
    with pytest.raises(lw.ArgumentError, match=r"run\.npz is no checkpoint of Lapwing, or it is damaged.*remove it"):
        lw.solve(cost, checkpoint=path)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(1, 255))
def test_damaged_checkpoints_are_refused_or_do_no_harm(tmp_path, place, value):
    path = tmp_path / "run.npz"
    cost = np.arange(30.0).reshape(5, 6) % 7
    lw.solve(cost, checkpoint=path)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= value
    path.write_bytes(data)
    try:
        assert_optimal(lw.solve(cost, checkpoint=path), cost)
    except lw.ArgumentError as error:
        assert "run.npz" in str(error)
    path.unlink()


def test_a_hash_takes_little_of_a_large_matrix():
    """So that a solve of 60 ms does not take four times as long because it writes a checkpoint."""
    for n, share in [(600, 1), (3000, 1 / 9)]:
        cost = np.zeros((n, n), np.float32)
        hashed = sum(map(len, make_problem(cost).cost.identity()))
        assert hashed / cost.nbytes == pytest.approx(share, abs=0.001)


def test_other_problems_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    cost = np.random.default_rng(0).random((300, 300))
    lw.solve(cost, checkpoint=path)
    changed = cost.copy()
    changed[7, 9] += 1e-9
    for other, options in (
        (changed, {}),
        (cost[:, ::-1], {}),
        (cost.astype(np.float32), {}),
        (cost[:200], {}),
        (cost, {"maximize": True}),
        (cost, {"unmatched_cost": 0.5}),
    ):
        with pytest.raises(lw.ArgumentError, match=r"another problem, 300 x 300 float64 minimised.*remove"):
            lw.solve(other, checkpoint=path, **options)
    assert_optimal(lw.solve(np.asfortranarray(cost), checkpoint=path), cost)


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, w: lw.costs.squared_euclidean(x, w * y),
        lambda x, y, w: lw.costs.weighted(lw.costs.euclidean(x, y), w),
        lambda x, y, w: lw.costs.expression("w*abs(x0-y0)", x, y, w=w),
        lambda x, y, w: lw.costs.rows(lambda begin, end: w * x[begin:end, :1] * y[:, 1], (60, 70)),
    ],
)
def test_sources(tmp_path, make):
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 2)), rng.random((70, 2))
    path = tmp_path / "run.npz"
    result = lw.solve(make(x, y, 1.0), checkpoint=path)
    assert lw.solve(make(x.copy(), y.copy(), 1.0), checkpoint=path).objective == result.objective
    with pytest.raises(lw.ArgumentError, match="another problem"):
        lw.solve(make(x, y, 1.5), checkpoint=path)


def test_arguments(tmp_path):
    cost = np.eye(3)
    with pytest.raises(lw.ArgumentError, match="has no folder .*: make it first"):
        lw.solve(cost, checkpoint=tmp_path / "no" / "run.npz")
    with pytest.raises(lw.DtypeError, match="must be the path of a file"):
        lw.solve(cost, checkpoint=3)
    with pytest.raises(lw.ArgumentError, match="interval must be finite and not negative, got -1"):
        lw.Checkpoint("run.npz", -1)
    with pytest.raises(lw.ArgumentError, match="'jv' cannot use start= or checkpoint=.*'core'"):
        lw.solve(cost, method="jv", checkpoint=tmp_path / "run.npz")
    (tmp_path / "other.npz").write_text("hello")
    with pytest.raises(lw.ArgumentError, match="is no checkpoint"):
        lw.solve(cost, checkpoint=tmp_path / "other.npz")
    about = np.frombuffer(json.dumps({"version": 99, "shape": [3, 3]}).encode(), np.uint8)
    np.savez(tmp_path / "newer.npz", u=np.zeros(3), v=np.zeros(3), row_to_col=np.arange(3), about=about)
    with pytest.raises(lw.ArgumentError, match="another version of Lapwing"):
        lw.solve(cost, checkpoint=tmp_path / "newer.npz")


def test_nothing_to_match(tmp_path):
    for _ in range(2):
        assert lw.solve(np.zeros((0, 3)), checkpoint=tmp_path / "run.npz").objective == 0


def test_notes_and_paths_are_checked_before_the_work(tmp_path):
    with pytest.raises(lw.DtypeError, match="note must be a str, got bytes"):
        lw.Checkpoint("run.npz", note=b"x")
    for path in (b"run.npz", "a\0b"):
        with pytest.raises(lw.ArgumentError, match="path must be a str without null characters"):
            lw.Checkpoint(path)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(lw.ArgumentError, match="not a regular file"):
        lw.solve(np.eye(3), checkpoint=tmp_path / "pipe.npz")


@pytest.mark.parametrize("error", [IsADirectoryError(21, "Is a directory"), lw.ArgumentError("not a regular file")])
@pytest.mark.parametrize("action", ["always", "error"])
def test_a_checkpoint_that_cannot_be_written_costs_no_answer(tmp_path, monkeypatch, error, action):
    def fail(path):
        raise error

    cost = np.random.default_rng(0).random((300, 300))
    monkeypatch.setattr(checkpoint, "atomic_writer", fail)
    with warnings.catch_warnings(record=action == "always") as caught:
        warnings.simplefilter(action)
        result = lw.solve(cost, checkpoint=lw.Checkpoint(tmp_path / "run.npz", interval=0))
    assert result.objective == lw.solve(cost).objective
    assert result.statistics["checkpoints_failed"] >= 1
    assert action == "error" or "could not be written" in str(caught[0].message)


def forged(path, **changes):
    """A checkpoint with other fields or arrays; None leaves one out."""
    arrays = dict(np.load(path))
    about = json.loads(arrays["about"].tobytes())
    for name, value in changes.items():
        where = arrays if name in arrays else about
        where.pop(name, None)
        if value is not None:
            where[name] = value
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: None} for name in ("u", "v", "row_to_col", "problem", "shape", "seconds", "note", "maximize")),
        {"u": np.zeros(2)},
        {"u": np.full(30, np.nan)},
        {"v": np.zeros(30, complex)},
        {"row_to_col": np.zeros((30, 1), int)},
        {"seconds": "long"},
        {"seconds": float("inf")},
        {"shape": [30, "x"]},
        {"shape": [30]},
        {"shape": [10**30, 30]},
        {"problem": 3},
        {"note": ["x"]},
    ],
    ids=str,
)
def test_fields_that_are_missing_or_wrong(tmp_path, changes):
    path = tmp_path / "run.npz"
    lw.solve(np.random.default_rng(0).random((30, 30)), checkpoint=path)
    forged(path, **changes)
    with pytest.raises(lw.ArgumentError, match="remove it to start anew"):
        lw.solve(np.random.default_rng(0).random((30, 30)), checkpoint=path)


def test_a_file_that_unpacks_to_far_more_is_not_unpacked(tmp_path):
    path = tmp_path / "run.npz"
    cost = np.random.default_rng(0).random((30, 30))
    lw.solve(cost, checkpoint=path)
    arrays = dict(np.load(path))
    np.savez_compressed(path, **(arrays | {"u": np.zeros(10_000_000)}))
    with pytest.raises(lw.ArgumentError, match="'u' would take 80000128 bytes"):
        lw.solve(cost, checkpoint=path)
