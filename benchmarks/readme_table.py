"""Print the README's table from results/*.json; --write puts it in place. The site has the table of GPU times, too."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from benchmarks.harness import RESULTS, ROOT

SIZES = (100, 1000, 4000)
MARKS = "<!-- {0}: python -m benchmarks.readme_table --write -->", "<!-- end of {0} -->"
# The best published CUDA solver with the right answer, on the same instance and an H200: milliseconds, and which.
HYLAC, ALGORITHM_1015 = "HyLAC", "Algorithm 1015"
BEST_ON_GPU = {
    "uniform@1000": (115, HYLAC),
    "uniform@4000": (507, HYLAC),
    "uniform@8000": (1585, ALGORITHM_1015),
    "int:0.1@8192": (4.2, HYLAC),
    "int:1@8192": (42.5, HYLAC),
    "int:10@8192": (163, HYLAC),
    "int:100@8192": (1008, HYLAC),
    "geometric@4000": (1478, ALGORITHM_1015),
    "geometric@8000": (3708, ALGORITHM_1015),
    "geometric@16000": (9728, ALGORITHM_1015),
    "disjoint@8000": (5872, ALGORITHM_1015),
    "lowrank:8@4000": (1477, ALGORITHM_1015),
    "lowrank:1@4000": (4303, ALGORITHM_1015),
    "lowrank:1@8000": (13796, ALGORITHM_1015),
    "sanity@8000": (2.3, HYLAC),
}


def load(name: str) -> dict[str, Any]:
    """Return a full run's results."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def cell(row: dict[str, Any]) -> str:
    """Return a ratio for people; where no peer finished in time it is a lower bound."""
    ratio = row["ratio"]["lapwing"]
    return ("" if row["best_peer"] else "> ") + (f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}")


def table() -> str:
    """Return the README's table in Markdown: class by size, how many times faster than the best peer, worst first."""
    peers = load("peers")
    rows = {(r["class"], r["n"]): r for r in peers["rows"] if r["dtype"] == "float32" and r["n"] in SIZES}
    worst = {cls: min(rows[key]["ratio"]["lapwing"] for key in rows if key[0] == cls) for cls, _ in rows}
    lines = ["| costs | " + " | ".join(f"n = {n}" for n in SIZES) + " |", "|---|" + "---:|" * len(SIZES)]
    lines += [
        f"| {cls} | " + " | ".join(cell(rows[cls, n]) for n in SIZES) + " |"
        for cls in sorted(worst, key=worst.__getitem__)
    ]
    versions = ", ".join(
        f"{k} {v}" for k, v in sorted(peers["versions"].items()) if k not in ("lapwing", "python", "numpy", "pot")
    )
    lines += [
        "",
        f"How many times faster `lw.linear_sum_assignment` is than the fastest function of {versions}; float32, one "
        f"thread, {peers['machine']['processor']}. A `>` marks cells that no peer finished in time.",
    ]
    return "\n".join([*lines, "", everyday()])


def everyday() -> str:
    """Return the mean and the worst cell of the costs that people have, without and with the certificate."""
    results = load("classes")
    rows = results["rows"]
    sizes = sorted({row["n"] for row in rows})
    means = results["geometric_mean"]
    said = []
    for ours, call in (("lapwing", "linear_sum_assignment"), ("lapwing:solve", "solve")):
        worst = min(rows, key=lambda row: row["ratio"][ours])
        least = f"{worst['ratio'][ours]:.2f} in the worst cell ({worst['class']}, n = {worst['n']})"
        said.append(f"`lw.{call}` {means[ours]:.1f} times as fast in the geometric mean, {least}")
    return (
        f"Over {len({row['class'] for row in rows})} classes of everyday costs (overlaps, capped distances, ties, wide "
        f"ranges, shapes) at n = {', '.join(map(str, sizes[:-1]))} and {sizes[-1]}: {said[0]}; with the "
        f"certificate, {said[1]}."
    )


def gpu_table() -> str:
    """Return the table in Markdown: instance, milliseconds, and those of the best published solver."""
    results = load("gpu_single")
    times = {row["case"]: row["ms"] for row in results["rows"] if row["seed"] == 1}
    lines = ["| costs | n | Lapwing, ms | best published, ms | times faster |", "|---|---:|---:|---:|---:|"]
    for case, (peer, name) in BEST_ON_GPU.items():
        cls, _, n = case.partition("@")
        lines.append(f"| {cls} | {n} | {times[case]:.2f} | {peer} ({name}) | {peer / times[case]:.0f} |")
    larger = ", ".join(f"{n} in {times[f'uniform@{n}']:.1f} ms" for n in (16000, 32000))
    lines += [
        "",
        f"{results['gpu']}, float32 and int32 costs in its memory; Lapwing's times include the certificate. "
        "The published codes are HyLAC (Kawtikwar and Nagi, 2024) and Algorithm 1015's CUDA code (Guthe and "
        "Thuerck, 2021), which compute no certificate; the faster one whose answer is optimal is shown. "
        f"Uniform costs that neither finished: {larger}.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table or write it between its marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the table in README.md")
    tables = {"ratios": table()}
    if not parser.parse_args().write:
        print("\n\n".join(tables.values()))
        return
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    for name, content in tables.items():
        start, end = (mark.format(name) for mark in MARKS)
        between = re.compile(re.escape(start) + ".*?" + re.escape(end), re.S)
        text = between.sub((f"{start}\n{content}\n{end}").replace("\\", r"\\"), text)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
