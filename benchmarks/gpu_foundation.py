"""What do loading, launching and certifying cost on a GPU?

Loading: the first use of a program in a fresh process, and what its first solve takes more than the second, with an
empty cache and from the cache on disk. Launching: one call from Python, by the clock of the host. Certifying: the pass
over the matrix alone, by the clock of the GPU, beside what a copy inside the memory reads and writes in a second, and
all of `prove_on_gpu` by the clock of the host.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT, Report, output_path
from lapwing import solve
from lapwing.gpu.certificate.proof import Candidate, Proof, proof_of_matrix, prove_on_gpu
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray, empty_array, row_major
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import finish_builds, kernels
from lapwing.gpu.runtime.programs import CERTIFICATE, FLOATS, INTEGERS
from lapwing.gpu.runtime.workspace import Workspace

SOLVED = 1000  # rows of a first solve
CERTIFIED = [(dtype, 16384, "rows") for dtype in FLOATS + INTEGERS] + [
    ("float32", n, layout) for n in (1000, 4000, 8000, 32000) for layout in ("rows", "columns")
]
CERTIFIED += [("float32", 8001, "rows"), ("uint8", 16383, "rows"), ("float32", 8000, "steps")]


def load() -> dict[str, float]:
    """Seconds of importing, of the context, of loading one program, and of all others of a solve, in this process."""
    times = [time.perf_counter()]
    toolkit.core()
    times.append(time.perf_counter())
    with Context() as context:
        times.append(time.perf_counter())
        kernels(context, CERTIFICATE, CERTIFICATE.variant(COST="float32"))
        times.append(time.perf_counter())
    cost = np.random.default_rng(1).random((SOLVED, SOLVED), np.float32)
    for _ in range(2):
        solve(cost, device="cuda")
        times.append(time.perf_counter())
    finish_builds()  # so that the next process begins with what is kept for good
    *names, second = "import", "context", "load", "solve", "second solve"
    seconds = {name: after - before for name, before, after in zip((*names, second), times, times[1:], strict=False)}
    seconds["solve"] -= seconds.pop(second)
    return seconds


def loading(report: Report) -> None:
    """The first use, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"LAPWING_CACHE_DIR": folder, "CUDA_CACHE_PATH": f"{folder}/compiler"}  # NVRTC has a cache, too
        for state in ("cold", "from the cache", "from the cache"):
            command = [sys.executable, "-m", "benchmarks.gpu_foundation", "--load"]
            environment = {**os.environ, **own}
            text = subprocess.check_output(command, cwd=ROOT, text=True, env=environment)
            seconds = json.loads(text.splitlines()[-1])
            report.add({"what": "loading", "cache": state, **seconds})
            print(f"loading, {state}: " + ", ".join(f"{k} {v:.3f} s" for k, v in seconds.items()), flush=True)


def launching(report: Report, context: Context) -> None:
    """Microseconds of the host for one call, the queue never full."""
    kernel = kernels(context, CERTIFICATE, CERTIFICATE.variant(COST="float32"))["certify_place"]
    with Workspace(context, {"words": (1024, "int64")}) as memory:
        memory.clear()
        word = memory["words"]
        arguments = (word, 0, 1, 0, word, word, word, word)
        ways: dict[str, Callable[[], None]] = {
            "plain": lambda: kernel.launch(context, 1, 256, *arguments),
            "cooperative": lambda: kernel.launch_cooperative(context, 1, 256, *arguments),
            "memset": memory.clear,
        }
        if context.info.clusters:
            ways["cluster of 8"] = lambda: kernel.launch_clusters(context, 1, 8, 256, *arguments)
        for way, call in ways.items():
            least = min(host_seconds(context, call, 200) for _ in range(5)) * 1e6
            report.add({"what": "launching", "way": way, "microseconds": least})
            print(f"launching, {way}: {least:.2f} us", flush=True)


def host_seconds(context: Context, call: Callable[[], object], count: int) -> float:
    """Seconds of the host for a call, averaged over `count` in a row."""
    context.synchronize()
    began = time.perf_counter()
    for _ in range(count):
        call()
    seconds = (time.perf_counter() - began) / count
    context.synchronize()
    return seconds


def gpu_seconds(context: Context, call: Callable[[], object], count: int) -> float:
    """Seconds of the GPU for a call, averaged over `count` in a row."""
    options = toolkit.core().EventOptions(timing_enabled=True)
    first = context.stream.record(options=options)
    for _ in range(count):
        call()
    last = context.stream.record(options=options)
    last.sync()
    return float(last - first) / 1e3 / count


def bandwidth(context: Context, size: int) -> float:
    """Bytes a second that a copy inside the memory reads and writes."""
    driver = toolkit.driver()
    a, b = (empty_array(context, (size,), "uint8") for _ in range(2))

    def copy() -> None:
        driver.cuMemcpyDtoDAsync(b.pointer, a.pointer, size, context.stream.handle)

    copy()
    return 2 * size / min(gpu_seconds(context, copy, 5) for _ in range(3))


def certifying(report: Report, context: Context) -> None:
    """All-zero costs and duals: every reduced cost is a tie, and certain."""
    copied = bandwidth(context, 2**31)
    print(f"copy: {copied / 1e12:.2f} TB/s", flush=True)
    report.add({"what": "copying", "bytes_per_second": copied})
    for dtype, n, layout in CERTIFIED:
        seconds, whole = certify(context, dtype, n, layout)
        rate = n * n * ITEM_BYTES[dtype] / seconds
        report.add(
            {"what": "certifying", "dtype": dtype, "n": n, "layout": layout, "gpu_seconds": seconds}
            | {"host_seconds": whole, "bytes_per_second": rate, "of_a_copy": rate / copied}
        )
        print(
            f"certifying, {dtype:8} {n:6} {layout:8} {seconds * 1e3:8.3f} ms {rate / 1e12:6.2f} TB/s "
            f"({rate / copied:4.0%} of a copy); in all {whole * 1e3:.3f} ms",
            flush=True,
        )


def certify(context: Context, dtype: str, n: int, layout: str) -> tuple[float, float]:
    """Seconds of the GPU and of the host."""
    steps = 2 if layout == "steps" else 1
    dual = "int64" if dtype in INTEGERS else "float64"
    sizes = {"cost": (n * n * steps, dtype), "u": (n, dual), "v": (n, dual), "row_to_col": (n, "int64")}
    with Workspace(context, sizes) as memory:
        memory.clear()
        strides = tuple(stride * steps for stride in row_major((n, n)))
        strides = strides[::-1] if layout == "columns" else strides
        any_array = empty_array(context, (1,), "uint8")
        cost = GpuArray(None, memory["cost"], (n, n), strides, dtype, 0, context.stream_handle, any_array.library)
        answer = Candidate(memory["row_to_col"], memory["u"], memory["v"])
        seconds = min(pass_seconds(proof_of_matrix(context, cost, answer, False)) for _ in range(3))
        prove_on_gpu(context, cost, answer)
        return seconds, min(host_seconds(context, lambda: prove_on_gpu(context, cost, answer), 5) for _ in range(3))


def pass_seconds(proof: Proof) -> float:
    """Seconds of the GPU for the pass over the matrix."""
    proof.memory.clear()
    return gpu_seconds(proof.context, lambda: proof.costs.launch_lines(proof.at), 10)


def main() -> None:
    """Measure all three; print a line for each figure."""
    parser = argparse.ArgumentParser(description="Loading, launching and certifying on the first GPU.")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--load", action="store_true", help="the loading times of this process alone")
    options = parser.parse_args()
    if options.load:
        print(json.dumps(load()))
        return
    report = Report(options.output or output_path("gpu_foundation", short=False), "loading, launching and certifying")
    loading(report)
    with Context() as context:
        report.write(gpu=context.info.name)
        launching(report, context)
        certifying(report, context)


if __name__ == "__main__":
    main()
