"""Solvers timed in alternation, each in a process of its own; results as JSON with machine, versions, commit, command.

Every solver runs on one thread and on the same core, and is charged the CPU time of its process, so that other work on
the machine disturbs it little; what counts is the minimum of the rounds, and ratios within one run. In each round every
solver has its turn, and finds the matrix in the caches as far as they go, but for peers that are far slower than the
fastest peer.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import select
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.environments import ROOT as ROOT
from benchmarks.environments import python_of
from benchmarks.sparse_classes import SparseInstance

RESULTS = ROOT / "benchmarks" / "results"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LOOP_SECONDS = 0.005  # a measurement lasts at least about this long: shorter calls are repeated, whoever makes them
ROUNDS = 9  # at most; never fewer than two, unless one solve is beyond the budget
CONTENDER = 2.0  # a peer this many times slower than the fastest peer is not timed again,
DROPPED_AT = 10.0  # and one this many times slower is not asked for larger sizes
QUICK = 1.1  # times what the quickest processor takes
SAME_OBJECTIVE = 1e-6  # relative; an answer above the best by more is wrong


class TooSlowError(Exception):
    """A solver did not answer in time; its process has been ended."""


class Worker:
    """A process in the environment of some solvers; see worker.py for what is said."""

    def __init__(self, python: Path) -> None:
        command = [str(python), str(ROOT / "benchmarks" / "worker.py")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD}, preexec_fn=_pin
        )

    def ask(self, timeout: float, **command: Any) -> dict[str, Any]:
        """Return the answer to a command; raise TooSlowError after `timeout` seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            self.close()
            raise TooSlowError
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"ended with {self._process.wait()}"}
        return answer

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def _pin() -> None:
    """Keep this process on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def keep_to_quick_processors() -> None:
    """Let this thread and those that it starts run where nobody else disturbs them.

    On a host that is shared with other machines some processors take 1.6 times as long as others for the same Python,
    at one moment these, at another those; whoever times what the host does for a GPU asks before every case.
    """
    if not _PROCESSORS:
        return
    seconds = {}
    for processor in _PROCESSORS:
        os.sched_setaffinity(0, {processor})
        seconds[processor] = min(_loop_seconds() for _ in range(3))
    best = min(seconds.values())
    os.sched_setaffinity(0, {processor for processor, taken in seconds.items() if taken <= QUICK * best})


def _loop_seconds() -> float:
    began, total = time.perf_counter(), 0
    for i in range(10_000):
        total += i * i
    return time.perf_counter() - began


_PROCESSORS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@dataclass
class Timing:
    """The outcome of one solver on one instance."""

    cpu: float = float("inf")
    wall: float = float("inf")
    objective: float | None = None
    rounds: int = 0
    remark: str = ""
    loops: int = field(default=1, repr=False)

    def add(self, answer: dict[str, Any]) -> None:
        """Count one more measurement."""
        self.cpu, self.wall = min(self.cpu, answer["cpu"]), min(self.wall, answer["wall"])
        self.objective = answer["objective"]
        self.rounds += 1

    def plain(self) -> dict[str, Any]:
        """Return the timing for JSON."""
        if not self.rounds:
            return {"remark": self.remark}
        measured = {"cpu": self.cpu, "wall": self.wall, "rounds": self.rounds, "objective": self.objective}
        return measured | ({"remark": self.remark} if self.remark else {})


class Contest:
    """Times solvers on instance after instance; remembers who is too slow for larger ones."""

    def __init__(
        self,
        solvers: tuple[str, ...],
        timeout: float,
        budget: float,
        contender: float = CONTENDER,
        dropped_at: float = DROPPED_AT,
    ) -> None:
        self.solvers, self.timeout, self.budget = solvers, timeout, budget
        self.contender, self.dropped_at = contender, dropped_at
        self._workers: dict[Path, Worker] = {}
        self._dropped: set[tuple[str, str]] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="lapwing-bench-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()
        self._folder.cleanup()

    def versions(self) -> dict[str, str]:
        """Return the versions of everything that is timed."""
        versions: dict[str, str] = {"python": platform.python_version()}
        for python in {python_of(solver) for solver in self.solvers}:
            versions |= self._worker(python).ask(60, do="versions")
        return versions

    def time(self, series: str, costs: NDArray[Any] | SparseInstance) -> dict[str, Timing]:
        """Return a Timing for each solver; sizes within one `series` must grow from call to call."""
        if isinstance(costs, SparseInstance):
            self._path = Path(self._folder.name) / "costs.npz"
            costs.save(self._path)
        else:
            self._path = Path(self._folder.name) / "costs.npy"
            np.save(self._path, costs)
        for worker in self._workers.values():
            self._load(worker)
        timings = {s: Timing() for s in self.solvers if (series, s) not in self._dropped}
        for solver, timing in timings.items():
            self._measure(solver, timing)
            if timing.cpu < 10 * LOOP_SECONDS:
                self._measure(solver, timing)  # the first call of all loads modules
            if timing.cpu < LOOP_SECONDS:
                timing.loops = max(1, round(LOOP_SECONDS / max(timing.cpu, 1e-7)))
        self._mark_wrong(series, timings)
        start = time.monotonic()
        for round_ in range(1, ROUNDS):
            if round_ > 1 and time.monotonic() - start > self.budget:
                break
            fastest = fastest_peer(timings)
            for solver, timing in timings.items():
                short = round_ == 1 and timing.loops > 1  # its one call so far was a cold one
                if short or timing.cpu <= self.contender * fastest or is_ours(solver):
                    self._measure(solver, timing)
        fastest = fastest_peer(timings)
        for solver, timing in timings.items():
            slow = timing.cpu > self.dropped_at * fastest and timing.cpu > 0.05
            if (slow or timing.rounds == 0) and not is_ours(solver):
                self._dropped.add((series, solver))
        return timings

    def _mark_wrong(self, series: str, timings: dict[str, Timing]) -> None:
        """Compare the objectives: a peer's wrong answer is marked and no longer counts, ours is an error."""
        best = min((t.objective for t in timings.values() if t.objective is not None), default=0.0)
        for solver, timing in timings.items():
            if timing.objective is not None and timing.objective - best > SAME_OBJECTIVE * max(abs(best), 1e-300):
                timing.remark = f"wrong: objective {timing.objective!r}, best {best!r}"
                if is_ours(solver):
                    raise RuntimeError(f"{series}: {solver}: {timing.remark}")

    def _measure(self, solver: str, timing: Timing) -> None:
        if timing.remark:
            return
        try:
            answer = self._worker(python_of(solver)).ask(self.timeout, do="time", solver=solver, loops=timing.loops)
        except TooSlowError:
            timing.remark = f"not done after {self.timeout:g} s"
            return
        if "error" in answer:
            timing.remark = answer["error"]
        else:
            timing.add(answer)

    def _worker(self, python: Path) -> Worker:
        worker = self._workers.get(python)
        if worker is None or not worker.alive():
            worker = self._workers[python] = Worker(python)
            if hasattr(self, "_path"):
                self._load(worker)
        return worker

    def _load(self, worker: Worker) -> None:
        if worker.alive():
            worker.ask(120, do="load", path=str(self._path))


def is_ours(solver: str) -> bool:
    """Whether a solver is Lapwing's."""
    return solver.startswith("lapwing")


def fastest_peer(timings: dict[str, Timing]) -> float:
    """Return the CPU time of the fastest peer that answered rightly; infinity if none did."""
    return min((t.cpu for s, t in timings.items() if not is_ours(s) and not t.remark), default=math.inf)


class Report:
    """A JSON file that is complete after every row, so that a long run may be stopped."""

    def __init__(self, path: Path, what: str, versions: dict[str, str] | None = None) -> None:
        self.path = path
        self.content: dict[str, Any] = {
            "what": what,
            "command": shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
            "commit": commit(),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": machine(),
            "versions": versions or {},
            "rows": [],
        }

    def add(self, row: dict[str, Any]) -> None:
        """Append a row and write the file."""
        self.content["rows"].append(row)
        self.write()

    def write(self, **more: Any) -> None:
        """Write the file, with what else is to be said."""
        self.content |= more
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.path)


def commit() -> str:
    """Return the commit of the sources, with `+` when they were changed since."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.check_output([*git, "rev-parse", "--short=12", "HEAD"], text=True)
        sources = ["src", "cpp", "CMakeLists.txt", "benchmarks/*.py"]
        changed = subprocess.check_output([*git, "status", "--porcelain", "--", *sources], text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changed.strip() else "")


def machine() -> dict[str, Any]:
    """Return processor, number of cores and system."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return {"processor": model, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}


def output_path(name: str, short: bool) -> Path:
    """Return where a benchmark writes: results/ holds the full runs, build/bench/ the short ones."""
    return (ROOT / "build" / "bench" if short else RESULTS) / f"{name}.json"
