"""How long do sparse problems take, class by class, and how does that grow with n and with the entries of a row?

Peers: SciPy's min_weight_full_bipartite_matching, OR-tools' SimpleLinearSumAssignment and lapx's lapmod, one thread,
against `lapwing.solve` with its certificate. Writes `results/sparse.json`, and draws `docs/images/sparse.png`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.classes import geometric_mean
from benchmarks.growth import power
from benchmarks.harness import ROOT, Contest, Report, fastest_peer, is_ours, output_path
from benchmarks.sparse_classes import CLASSES, make

SIZES = (1000, 3000, 10_000, 30_000, 100_000)
ENTRIES = (3, 5, 10, 20, 50, 100, 200)  # a row, of random instances
ROWS = 10_000  # of these
OURS = "lapwing:sparse"
PEERS = ("sparse:scipy", "sparse:ortools", "sparse:lapmod")
LEAST = 10_000  # rows from which on the mean is taken
SEED = 1


def measure(contest: Contest, report: Report, cls: str, n: int, series: str, timeout: float) -> None:
    """Time one instance, add it to the report and print it."""
    instance = make(cls, n, SEED)
    timings = contest.time(series, instance)
    seconds = min(fastest_peer(timings), timeout)
    best = min((s for s in timings if not is_ours(s) and timings[s].cpu == seconds), default=None)
    row = {"series": series, "class": cls, "n": n, "entries": len(instance.data), "best_peer": best}
    solvers = {s: t.plain() for s, t in timings.items()}
    report.add({**row, "ratio": seconds / timings[OURS].cpu, "solvers": solvers})
    ratio = report.content["rows"][-1]["ratio"]
    print(f"{cls:12} {n:8} {timings[OURS].cpu:9.4f} s {best or 'none':15} {ratio:8.2f}x", flush=True)


def curves(rows: list[dict[str, Any]], across: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return each solver's seconds over `across`, "n" or "entries" of a row."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        at = row["n"] if across == "n" else row["entries"] / row["n"]
        for solver, timing in row["solvers"].items():
            if "cpu" in timing and not timing.get("remark"):
                xs, ys = found.setdefault(solver, ([], []))
                xs.append(at)
                ys.append(timing["cpu"])
    return found


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each series, logarithmic axes."""
    names = list(dict.fromkeys(row["series"] for row in rows))
    columns = min(4, len(names))
    figure = Figure(figsize=(3.4 * columns, 3.1 * -(-len(names) // columns)), dpi=110, layout="constrained")
    panels = figure.subplots(-(-len(names) // columns), columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        mine = [row for row in rows if row["series"] == name]
        across = "entries of a row" if len({row["n"] for row in mine}) == 1 < len(mine) else "n"
        for solver, (xs, ys) in curves(mine, across).items():
            ours = is_ours(solver)
            color = "black" if ours else f"C{PEERS.index(solver)}"
            panel.loglog(xs, ys, marker=".", color=color, linewidth=2.5 if ours else 1, label=solver.rpartition(":")[2])
        panel.set_title(name, fontsize=10)
        panel.set_xlabel(across)
        panel.grid(alpha=0.3)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    panels[0].set_ylabel("CPU seconds, one thread")
    handles = {label: h for p in panels for h, label in zip(*p.get_legend_handles_labels(), strict=True)}
    labels = [{"sparse": "lapwing, certified"}.get(label, label) for label in handles]
    figure.legend(handles.values(), labels, loc="outside right center", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Time every cell; print the worst and the mean last."""
    parser = argparse.ArgumentParser(description="Sparse problems: ratios to the best peer, and growth.")
    parser.add_argument("--classes", nargs="*", default=list(CLASSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--entries", nargs="*", type=int, default=list(ENTRIES), help="of a row, of random instances")
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds that one solve may take")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for repeating the solvers of one cell")
    parser.add_argument("--short", action="store_true", help="sizes 1000 and 10,000")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.short:
        options.sizes, options.entries, options.budget = [1000, 10_000], [5, 20, 100], 2.0

    with Contest((OURS, *options.peers), options.timeout, options.budget) as contest:
        what = "CPU seconds of every solver on sparse costs; ratio = best peer over ours, certificate included"
        report = Report(options.output or output_path("sparse", options.short), what, contest.versions())
        for cls in options.classes:
            for n in options.sizes:
                measure(contest, report, cls, n, cls, options.timeout)
        for k in options.entries:
            measure(contest, report, f"random:{k}", ROWS, f"random, {ROWS:,} rows", options.timeout)
        rows = report.content["rows"]
        powers: dict[str, float] = {}
        if len(options.sizes) > 1:
            powers = {
                cls: power(*curves([r for r in rows if r["series"] == cls], "n")[OURS]) for cls in options.classes
            }
        least = min(LEAST, max(options.sizes))
        mean = geometric_mean([row["ratio"] for row in rows if row["n"] >= least])
        report.write(powers=powers, geometric_mean=mean)
    picture = ROOT / "docs" / "images" / "sparse.png" if options.output is None and not options.short else None
    draw(rows, picture or report.path.with_suffix(".png"))
    worst = min(rows, key=lambda row: row["ratio"])
    print(", ".join(f"{cls}: n^{p:.2f}" for cls, p in powers.items()))
    print(f"geometric mean, n >= {least}: {mean:.2f}; worst {worst['ratio']:.2f} ({worst['class']}, {worst['n']})")


if __name__ == "__main__":
    main()
