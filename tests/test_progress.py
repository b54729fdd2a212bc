"""Progress reports, on a terminal, in a log and to a callable."""

import contextlib
import io
import itertools
import math
import os
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.progress import ProgressLine, Remaining, Reporter
from support.checks import HUNGARIAN, KINDS, slow_cost


class Terminal(io.StringIO):
    def isatty(self):
        return True


REPORT = lw.Progress(stage="search", phase=2, matched=30, rows=100, bound=1.5, objective=1.75, seconds=0.25)


def test_a_terminal_has_one_live_line():
    stream = Terminal()
    line = ProgressLine(stream)
    line(REPORT)
    line(lw.Progress("list", 0, 0, 100, -np.inf, np.inf, 0.5))
    line.close()
    assert stream.getvalue().count("\r") == 4 and "\n" not in stream.getvalue()
    assert "search 2  30/100 matched  bound 1.5  gap 0.25" in stream.getvalue()
    assert "list 0  0/100 matched  no bound yet" in stream.getvalue()


def test_a_share_takes_the_place_of_the_phase():
    assert "list 37 %  0/100 matched" in str(lw.Progress("list", 0, 0, 100, -np.inf, np.inf, 0.5, done=0.366))
    long = lw.Progress("certify", 0, 1234567, 1234567, -123456.789012, 1.23456e8, 98765.4, done=0.5)
    assert len(str(long)) <= 79 and "certify 50 %" in str(long)


@pytest.mark.parametrize("maximize", [False, True])
def test_listing_and_the_certificate_say_how_much_is_done(maximize):
    """Of rows that take long, so that reports come in every stage; the certificate knows the method's bound."""
    cost = np.random.default_rng(0).random((256, 20000))

    def slowly(begin, end):
        time.sleep(0.001 * (end - begin))
        return cost[begin:end]

    seen = []
    source = lw.costs.rows(slowly, cost.shape, cache=0)
    result = lw.solve(source, method="core", maximize=maximize, progress=seen.append)
    for stage in ("list", "certify"):
        shares = [report.done for report in seen if report.stage == stage and not math.isnan(report.done)]
        assert len(shares) >= 2 and shares == sorted(shares) and 0 <= shares[0] < shares[-1] <= 1
    last = seen[-1]
    sign = -1 if maximize else 1
    assert last.stage == "certify" and last.matched == last.rows == 256
    assert np.isfinite(last.bound) and sign * last.bound <= sign * result.objective + 1e-9
    assert all(math.isnan(report.done) for report in seen if report.stage in ("auction", "search"))


def test_a_log_has_a_line_a_second():
    stream = io.StringIO()
    line = ProgressLine(stream)
    for seconds in np.arange(0, 3, 0.1):
        line(lw.Progress("search", 0, 0, 100, 0.0, 1.0, float(seconds)))
    line.close()
    assert stream.getvalue().count("\n") == 3


def test_the_bound_has_the_users_sign():
    seen = []
    with Reporter(seen.append, 10, True) as reporter:
        reporter.hook("search", 1, 5, -3.0, -2.5)
    assert (seen[0].bound, seen[0].objective, seen[0].gap, seen[0].rows) == (3.0, 2.5, 0.5, 10)


def test_nobody_watches():
    assert Reporter(False, 10, False).hook is None


@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shift", [pytest.param(0, marks=pytest.mark.slow), 8])
def test_reports_are_in_order_and_bounds_hold(method, maximize, shift):
    seen = []
    cost = (-slow_cost(method) if maximize else slow_cost(method)) - shift
    result = lw.solve(cost, method=method, maximize=maximize, progress=seen.append)
    assert seen, "the solve was too fast to watch"
    sign = -1 if maximize else 1
    tolerance = 1e-9 * abs(result.objective)
    for before, after in itertools.pairwise(seen):
        assert before.seconds < after.seconds
    for report in seen:
        assert report.stage and 0 <= report.matched <= report.rows == len(cost)
        assert sign * report.bound <= sign * result.objective + tolerance
        assert sign * report.objective >= sign * result.objective - tolerance
    assert np.isfinite(seen[-1].bound)
    assert method in ("jv", *HUNGARIAN) or np.isfinite(seen[-1].gap)


def test_the_line_goes_to_standard_error(capsys):
    lw.solve(slow_cost("jv"), method="jv", progress=True)
    captured = capsys.readouterr()
    assert "lapwing:" in captured.err and "matched" in captured.err and captured.out == ""


@pytest.mark.parametrize("method", KINDS)
def test_what_the_callable_raises_stops_the_solve(method):
    def stop(progress):
        raise LookupError(f"seen at {progress.matched}")

    with pytest.raises(LookupError, match="seen at"):
        lw.solve(slow_cost(method), method=method, progress=stop)
    assert lw.solve(np.eye(50), method=method).objective == 0


def search(rows, seconds_per_row, step=7):
    """Free rows and times of searches, the last ones the longest; and when the last is done."""
    times, now = [], 0.0
    for free in range(rows, 0, -1):
        if free % step == 0:
            times.append((free, now))
        now += seconds_per_row(free)
    return times, now


@pytest.mark.parametrize("power", [0.85, 1.0, 1.1])
def test_what_remains_of_searches(power):
    """Within a factor of two and a half, but for the last rows, though times are not quite inverse to the free rows."""
    times, end = search(5000, lambda free: 10 / free**power)
    remaining = Remaining()
    assert math.isnan(remaining("auction", 5000, 0.0))
    told = [(left, remaining("search", free, now)) for free, now in times for left in [end - now]]
    assert math.isnan(told[0][1])
    known = [(left, guess) for left, guess in told if not math.isnan(guess) and left > 0.1 * end]
    assert known
    for left, guess in known:
        assert left / 2.5 <= guess <= left * 2.5


def test_what_remains_is_not_known_before_the_searches_or_when_they_start_again():
    remaining = Remaining()
    for free in range(100, 10, -1):
        remaining("search", free, 100.0 - free)
    assert remaining("search", 10, 90.0) > 0
    assert math.isnan(remaining("auction", 50, 91.0))
    assert math.isnan(remaining("search", 50, 92.0))
    assert math.isnan(remaining("search", 26, 93.0))
    assert remaining("search", 25, 94.0) > 0
    assert math.isnan(remaining("search", 70, 95.0))  # of another attempt
    assert remaining("search", 0, 96.0) == 0


def test_what_remains_is_told_to_a_callable():
    seen = []
    cost = lw.instances.generate("geometric", 3000, 1)
    lw.solve(cost, method="core", progress=seen.append, threads=1)
    known = [p for p in seen if not math.isnan(p.remaining)]
    assert all(p.stage == "search" and p.remaining >= 0 for p in known)
    line = replace(seen[0], remaining=42.4)
    assert line.described_remaining() == "  about 42 s of searches left"
    assert str(line).endswith(" left") and "about 42 s" in str(line)
    assert "about 5 min" in str(replace(line, remaining=300))
    assert "about 2 h left" in str(replace(line, remaining=7200))
    assert "left" not in str(replace(line, remaining=math.nan)) + str(replace(line, remaining=0.4))


def test_a_line_fits_a_terminal():
    long = lw.Progress("auction", 12, 1234567, 1234567, -123456.789012, 1.23456e8, 98765.4, remaining=5900)
    assert len(str(long)) <= 79 and "1234567/1234567" in str(long) and "about 98 min left" in str(long)
    assert len(str(replace(long, stage="search", bound=-1.234567e-300, matched=7))) <= 79


@pytest.mark.parametrize("stream", ["missing", "closed", "full"])
def test_a_line_that_nobody_can_read_costs_no_answer(monkeypatch, tmp_path, stream):
    cost = lw.instances.generate("disjoint", 700, 1)
    if stream == "full" and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with contextlib.suppress(OSError), open("/dev/full" if stream == "full" else tmp_path / "log", "w") as given:
        if stream == "closed":
            given.close()
        monkeypatch.setattr(sys, "stderr", None if stream == "missing" else given)
        result = lw.solve(cost, progress=True, method="hungarian-tree")
        monkeypatch.undo()
    assert result.status == "optimal"
