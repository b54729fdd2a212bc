"""How long does one problem take on several GPUs of a host, against one, certificate included?

    python -m benchmarks.gpu_distributed [--cases uniform:float32@100000 ...] [--gpus 2 4 8] [--solves 5] [--plot]
    python -m benchmarks.gpu_distributed --cases points64:float32@800000 --gpus 4 8 --solves 1 --several
    python -m benchmarks.gpu_distributed --method ssp --cases uniform:float32@16000 ... --gpus 2 4

Blocks of rows are on the GPUs already, as tensors of PyTorch (`costs.sharded`), or normal points of 64 dimensions on
the host; the same matrix is solved on each number of GPUs, and on one, where they have room for it. Points need none:
the GPUs compute what they cannot hold, all of them whenever it is read (of points64@800000, 2.6 TB). Minimum of several
solves, after some to warm up; every answer must be proven, and all must cost the same. With --plot, a picture beside
the results has the times and the efficiency: the time of one over that of so many GPUs, over their number.

--weak N: instead, uniform float32 costs of N rows on one GPU and of N sqrt(P) rows on P, as many costs on each.

Two shards of one GPU (--gpus 1) show what the division itself costs; --memory-limit, what points take whose matrix the
GPUs may not hold. --several leaves out one GPU, which takes minutes for points that it computes by itself. --method
ssp: Algorithm 1015 on the same, whose Figure 7 is of such times.
"""

from __future__ import annotations

import argparse
import gc
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
LONG = 2.0  # seconds of a solve, of which one counts after one to warm up
VERY_LONG = 20.0  # of one that is not repeated
ROWS_AT_ONCE = 2048  # that are made together, whatever the division into blocks
Row = dict[str, Any]  # of the results
SPARE = 0.9  # of a GPU's memory, that a matrix may take beside what is made of it


def main() -> None:
    """Time the cases; print a line for each number of GPUs."""
    import torch

    parser = argparse.ArgumentParser(description="Times of one problem on several GPUs.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="CLASS:DTYPE@N")
    parser.add_argument(
        "--gpus", type=int, nargs="+", default=[torch.cuda.device_count()], help="how many to use; 1 has two shards"
    )
    parser.add_argument(
        "--weak", type=int, nargs="+", default=[], metavar="N", help="rows on one GPU, of uniform costs"
    )
    parser.add_argument("--several", action="store_true", help="not on one GPU")
    parser.add_argument("--method", default="core")
    parser.add_argument("--memory-limit", help="of each GPU, as lapwing.solve takes it: 20GB")
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu_distributed.json")
    parser.add_argument("--plot", action="store_true", help="a picture beside the results")
    options = parser.parse_args()
    report = Report(options.output, "milliseconds of lapwing.solve, certificate included; blocks of rows on the GPUs")
    report.write(gpu=torch.cuda.get_device_name(), gpus=options.gpus, copy_bytes_per_second=warm_up(torch))
    print(f"{'case':26} {'gpus':>4} {'ms':>10} {'one ms':>10} {'efficiency':>10}      rows certificate")
    rows: list[Row] = []
    for case in options.cases:
        rows += time_case(torch, case, [0] * (not options.several) + options.gpus, options, report)
    for n in options.weak:
        for alone in time_case(torch, f"uniform:float32@{n}", [0], options, report):
            for gpus in options.gpus:
                time_case(torch, f"uniform:float32@{round(n * gpus**0.5)}", [gpus], options, report, alone)
    if options.plot:
        plot(rows, options.output.with_suffix(".png"))


def time_case(
    torch: Any, case: str, counts: list[int], options: argparse.Namespace, report: Report, alone: Row | None = None
) -> list[Row]:
    """One instance on each number of GPUs, 0 for one shard. `alone`: the row of a smaller instance on one GPU."""
    rows: list[Row] = []
    weak = alone is not None
    for gpus in counts:
        best = timed(torch, case, gpus, options)
        if best is None:
            print(f"{case:26} {gpus or 1:4} does not fit")
            continue
        seconds, result = best
        certificate = result.certificate
        assert certificate.complete and all(row["objective"] == result.objective for row in rows)
        rows.append(
            {
                "case": case,
                "method": options.method,
                "gpus": gpus or 1,
                "ms": seconds * 1e3,
                "objective": result.objective,
                "exact": certificate.exact,
                "certificate": str(certificate),
                "plan": str(result.plan),
                **result.statistics,
            }
        )
        del best, result  # which keep the costs
        if gpus == 0:
            alone = rows[-1]
        add(rows[-1], alone, weak, report)
    return rows


def add(row: Row, alone: Row | None, weak: bool, report: Report) -> None:
    """Keep and print a row beside that of one GPU, if there is one."""
    one = None if alone is None else alone["ms"]
    efficiency = None if one is None else one / row["ms"] / (1 if weak else row["gpus"])
    row |= {"one_ms": one, "efficiency": efficiency}
    report.add(row)
    beside = f"{'-':>10} {'-':>10}" if one is None else f"{one:10.3f} {efficiency:10.2f}"
    proof = "exact" if row["exact"] else row["certificate"]
    read = row["rows_scanned" if row["method"] == "ssp" else "refreshes"]
    print(f"{row['case']:26} {row['gpus']:4} {row['ms']:10.3f} {beside} {read:9.0f} {proof}", flush=True)


def timed(torch: Any, case: str, gpus: int, options: argparse.Namespace) -> tuple[float, Any] | None:
    """The best of several solves, in seconds, and its result; None if the costs do not fit."""
    devices = [torch.device("cuda", k) for k in range(gpus or 1)]
    asked = instance(torch, case, devices * 2 if gpus == 1 else devices, is_whole=gpus == 0)
    if asked is None:
        return None
    cost, device = asked
    keep_to_quick_processors()
    best: tuple[float, Any] = (float("inf"), None)
    for turn in range(WARM_SOLVES + options.solves):
        for each in devices:
            torch.cuda.synchronize(each)
        began = time.perf_counter()
        result = solve(cost, device=device, method=options.method, memory_limit=options.memory_limit)
        for each in devices:
            torch.cuda.synchronize(each)
        elapsed = time.perf_counter() - began
        if turn < WARM_SOLVES:
            finish_builds()
        if (turn >= WARM_SOLVES or elapsed > LONG) and elapsed < best[0]:
            best = elapsed, result
        if elapsed > VERY_LONG or (elapsed > LONG and turn > 0):
            break
    return best


def instance(torch: Any, case: str, devices: list[Any], is_whole: bool) -> tuple[Any, Any] | None:
    """Costs in a shard for each device, or whole, and the device to name; None where they do not fit."""
    kind, _, rest = case.partition(":")
    name, _, size = rest.partition("@")
    n, dtype, names = int(size), getattr(torch, name), [str(device) for device in devices]
    gc.collect()
    torch.cuda.empty_cache()
    room = min(SPARE * torch.cuda.mem_get_info(device)[0] for device in devices)
    fits = n * n * dtype.itemsize <= room * len(set(devices))
    if kind == "points64":
        if not fits and len(set(devices)) == 1 and not is_whole:
            return None
        x, y = (torch.randn(n, 64, generator=torch.Generator().manual_seed(seed)).numpy() for seed in (1, 2))
        return costs.squared_euclidean(x, y), names[0] if is_whole else names  # computed, if not held
    if not fits:
        return None
    ends = [n * k // len(devices) for k in range(len(devices) + 1)]
    blocks = [make(torch, kind, n, range(ends[k], ends[k + 1]), device, dtype) for k, device in enumerate(devices)]
    return (blocks[0], names[0]) if is_whole else (costs.sharded(blocks), None)


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


def plot(rows: list[Row], path: Path) -> None:
    """Times and the efficiency by the number of GPUs, a line for each case."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), dpi=120, layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    for case in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == case]
        above.loglog([row["gpus"] for row in own], [row["ms"] for row in own], marker="o", label=case)
        known = [row for row in own if row["efficiency"] is not None]
        below.semilogx([row["gpus"] for row in known], [row["efficiency"] for row in known], marker="o", label=case)
    above.set(ylabel="ms, certificate included")
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    counts = sorted({row["gpus"] for row in rows})
    below.set(ylabel="efficiency", xlabel="GPUs", ylim=(0, 1.1))
    below.set_xticks(counts, [str(count) for count in counts])
    below.minorticks_off()
    for axes in (above, below):
        axes.grid(alpha=0.3)
    figure.savefig(path)


if __name__ == "__main__":
    main()
