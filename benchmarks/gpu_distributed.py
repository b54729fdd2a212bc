"""How long does one problem take on two GPUs of a host, against one, certificate included?

    python -m benchmarks.gpu_distributed [--cases uniform:float32@100000 ...] [--gpus 2] [--solves 5] [--output r.json]

Blocks of rows are on the GPUs already, as tensors of PyTorch (`costs.sharded`), or points of 64 dimensions on the host;
the same matrix is solved on one GPU where it has room for it. Minimum of several solves, the two in turn, after some to
warm up; every answer must be proven, and both must cost the same. With --plot, a picture beside the results has the
times and the efficiency: the time of one over that of all GPUs, over their number.

Two shards of one GPU (--gpus 1) show what the division itself costs.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.gpu_single import warm_up
from benchmarks.harness import RESULTS, Report, keep_to_quick_processors
from lapwing import costs, solve
from lapwing.gpu.runtime.launch import finish_builds

CASES = (
    "uniform:float32@8000",
    "geometric:float32@8000",
    "uniform:float32@100000",
    "uniform:float16@180000",
    "uniform:float32@250000",
    "points64:float32@200000",
    "geometric:float32@100000",
)
WARM_SOLVES = 2  # of each case
ROWS_AT_ONCE = 2048  # that are made together, whatever the division into blocks
SPARE = 0.9  # of a GPU's memory, that a matrix may take beside what is made of it


def main() -> None:
    """Time the cases; print a line for each."""
    import torch

    parser = argparse.ArgumentParser(description="Times of one problem on several GPUs.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS:DTYPE@N")
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count(), help="how many to use; 1 has two shards")
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_distributed.json")
    parser.add_argument("--plot", action="store_true", help="a picture beside the results")
    options = parser.parse_args()
    report = Report(options.output, "milliseconds of lapwing.solve, certificate included; blocks of rows on the GPUs")
    report.write(gpu=torch.cuda.get_device_name(), gpus=options.gpus, copy_bytes_per_second=warm_up(torch))
    devices = (
        [torch.device("cuda", k) for k in range(options.gpus)] if options.gpus > 1 else [torch.device("cuda", 0)] * 2
    )
    print(f"{'case':26} {'shards ms':>10} {'one ms':>10} {'ratio':>6} refreshes certificate")
    rows = []
    for case in options.cases:
        row = time_case(torch, case, devices, options.solves)
        if row is None:
            print(f"{case:26} does not fit")
            continue
        report.add(row)
        rows.append(row)
        one = "-" if row["one_ms"] is None else f"{row['one_ms']:.3f}"
        ratio = "-" if row["one_ms"] is None else f"{row['one_ms'] / row['ms']:.2f}"
        proof = "exact" if row["exact"] else row["certificate"]
        print(f"{case:26} {row['ms']:10.3f} {one:>10} {ratio:>6} {row['refreshes']:9.0f} {proof}", flush=True)
    if options.plot:
        plot(rows, options.gpus, options.output.with_suffix(".png"))


def time_case(torch: Any, case: str, devices: list[Any], solves: int) -> dict[str, Any] | None:
    """One instance: the best of `solves`, on all devices and on one; None where it does not fit."""
    asked = instance(torch, case, devices)
    if asked is None:
        return None
    keep_to_quick_processors()
    best: list[tuple[float, Any]] = [(float("inf"), None)] * len(asked)
    for turn in range(WARM_SOLVES + solves):
        for k, (cost, device) in enumerate(asked):
            for each in devices:
                torch.cuda.synchronize(each)
            began = time.perf_counter()
            result = solve(cost, device=device)
            for each in devices:
                torch.cuda.synchronize(each)
            elapsed = time.perf_counter() - began
            if turn < WARM_SOLVES:
                finish_builds()
            elif elapsed < best[k][0]:
                best[k] = elapsed, result
    result = best[0][1]
    certificate = result.certificate
    assert certificate.complete and all(other.objective == result.objective for _, other in best)
    return {
        "case": case,
        "ms": best[0][0] * 1e3,
        "one_ms": best[1][0] * 1e3 if len(best) > 1 else None,
        "objective": result.objective,
        "exact": certificate.exact,
        "certificate": str(certificate),
        "plan": str(result.plan),
        **result.statistics,
    }


def instance(torch: Any, case: str, devices: list[Any]) -> list[tuple[Any, Any]] | None:
    """Costs and the device to name, for all devices and, where it has room, for one; None where they do not fit."""
    kind, _, rest = case.partition(":")
    name, _, size = rest.partition("@")
    n, dtype, names = int(size), getattr(torch, name), [str(device) for device in devices]
    torch.cuda.empty_cache()
    matrix, room = n * n * dtype.itemsize, [SPARE * torch.cuda.mem_get_info(device)[0] for device in set(devices)]
    if matrix > sum(room):
        return None
    if kind == "points64":
        x, y = (torch.rand(n, 64, generator=torch.Generator().manual_seed(seed)).numpy() for seed in (1, 2))
        cost = costs.squared_euclidean(x, y)
        return [(cost, names), (cost, names[0])]  # one GPU computes what it has no room to hold
    ends = [n * k // len(devices) for k in range(len(devices) + 1)]
    blocks = [make(torch, kind, n, range(ends[k], ends[k + 1]), device, dtype) for k, device in enumerate(devices)]
    asked: list[tuple[Any, Any]] = [(costs.sharded(blocks), None)]
    if (2 * matrix if len(room) == 1 else matrix * (1 + 1 / len(devices))) < room[0]:
        asked.append((make(torch, kind, n, range(n), devices[0], dtype), names[0]))
    return asked


def make(torch: Any, kind: str, n: int, rows: range, device: Any, dtype: Any) -> Any:
    """Some rows of an instance: the same costs, whoever makes them.

    uniform: independent costs in [0, 1). geometric: squared distances of uniform points in the unit square.
    """
    found = torch.empty(len(rows), n, device=device, dtype=dtype)
    points = torch.rand(2, n, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(device)
    for block in range(rows.start // ROWS_AT_ONCE, -(-rows.stop // ROWS_AT_ONCE)):
        first, last = block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, n)
        own = slice(max(first, rows.start), min(last, rows.stop))
        if kind == "geometric":
            costs_here = torch.cdist(points[0, own], points[1], compute_mode="donot_use_mm_for_euclid_dist") ** 2
        else:
            drawn = torch.rand(last - first, n, generator=torch.Generator(device).manual_seed(1 + block), device=device)
            costs_here = drawn[own.start - first : own.stop - first]
        found[own.start - rows.start : own.stop - rows.start] = costs_here.to(dtype)
    return found


def plot(rows: list[dict[str, Any]], gpus: int, path: Path) -> None:
    """Times of both, and the efficiency."""
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, figsize=(8, 7), sharex=True)
    places = range(len(rows))
    above.bar([p - 0.2 for p in places], [row["ms"] for row in rows], 0.4, label=f"{gpus} GPUs")
    above.bar([p + 0.2 for p in places], [row["one_ms"] or 0 for row in rows], 0.4, label="one GPU")
    above.set(yscale="log", ylabel="ms, certificate included")
    above.legend()
    efficiency = [row["one_ms"] / row["ms"] / gpus if row["one_ms"] else 0 for row in rows]
    below.bar(places, efficiency, 0.5)
    below.set(ylabel="efficiency", ylim=(0, 1))
    below.set_xticks(list(places), [row["case"] for row in rows], rotation=20, ha="right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
