"""Print the README's table of ratios from results/peers.json and results/transport.json; --write puts it in place."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from benchmarks.harness import RESULTS, ROOT

SIZES = (100, 1000, 2000, 4000, 8000)
START, END = "<!-- ratios: python -m benchmarks.readme_table --write -->", "<!-- end of ratios -->"


def load(name: str) -> dict[str, Any]:
    """Return a full run's results."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def cell(row: dict[str, Any]) -> str:
    """Return a ratio for people; where no peer finished in time it is a lower bound."""
    ratio = row["ratio"]["lapwing"]
    return ("" if row["best_peer"] else "> ") + (f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}")


def table() -> str:
    """Return the table in Markdown: class by size, how many times faster than the best peer."""
    peers, transport = load("peers"), load("transport")
    ratios = {(r["class"], r["n"]): cell(r) for r in peers["rows"] if r["dtype"] == "float32"}
    classes = list(dict.fromkeys(cls for cls, _ in ratios))
    sizes = [n for n in SIZES if any(size == n for _, size in ratios)]
    lines = ["| costs | " + " | ".join(f"n = {n}" for n in sizes) + " |", "|---|" + "---:|" * len(sizes)]
    lines += [f"| {cls} | " + " | ".join(ratios.get((cls, n), "") for n in sizes) + " |" for cls in classes]
    means = "; ".join(f"{sizes} {mean['lapwing']:.1f}" for sizes, mean in peers["geometric_means"].items())
    largest = max(row["n"] for row in transport["rows"])
    emd = ", ".join(f"{row['class']} {row['ratio']:.1f}" for row in transport["rows"] if row["n"] == largest)
    versions = ", ".join(
        f"{k} {v}" for k, v in sorted(peers["versions"].items()) if k not in ("lapwing", "python", "numpy", "pot")
    )
    lines += [
        "",
        f"Times faster than the best function of {versions}; float32, one thread, {peers['machine']['processor']}; "
        f"geometric means over classes and float types: {means}; `>` where no peer finished in time. "
        f"Times faster than POT's `ot.emd` at n = {largest}, certificate included: {emd}.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table or write it between its marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the table in README.md")
    if not parser.parse_args().write:
        print(table())
        return
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    pattern = re.escape(START) + ".*?" + re.escape(END)
    readme.write_text(re.sub(pattern, lambda _: f"{START}\n{table()}\n{END}", text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
