"""The pages of the site that are written by script: the reference, out of `lapwing.__all__`, and recorded results."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import lapwing

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT))

from benchmarks.readme_table import gpu_table  # noqa: E402


def write(docs: Path) -> None:
    """Write all of them into the folder of documents, where git ignores them."""
    _replace(docs / "reference" / "python.rst", reference())
    _replace(docs / "explanation" / "benchmarks.md", benchmarks())
    _replace(docs / "gallery_gpu.md", points_on_a_gpu())


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
        path.write_text(text, encoding="utf-8")


def reference() -> str:
    """Return the page of every public name, in groups by what it is."""
    groups: dict[str, list[str]] = {"Functions": [], "Results and options": [], "Errors": []}
    modules = []
    for name in (name for name in lapwing.__all__ if not name.startswith("__")):
        public = getattr(lapwing, name)
        if isinstance(public, ModuleType):
            modules.append(name)
        elif inspect.isclass(public):
            groups["Errors" if issubclass(public, Exception) else "Results and options"].append(f"lapwing.{name}")
        else:
            groups["Functions"].append(f"lapwing.{name}")
    for module in modules:
        names = _names_of(getattr(lapwing, module))
        groups[f"lapwing.{module}"] = [f"lapwing.{module}.{name}" for name in names]
    return "\n".join(["Python", "======", "", *(line for group in groups.items() for line in _group(*group))])


def _names_of(module: ModuleType) -> list[str]:
    """Public callables: those that `__all__` names, or else those that the module itself defines."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return [name for name in names if not name.startswith("_") and callable(getattr(module, name))]


def _group(title: str, names: list[str]) -> list[str]:
    listed = [f"   {name}" for name in names]
    return [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated", "", *listed, ""]


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def benchmarks() -> str:
    """Return the page of ratios to other solvers, the worst class first."""
    peers = _load("peers")
    rows = [row for row in peers["rows"] if row["dtype"] == "float32" and row["n"] >= 100]
    cells = {(row["class"], row["n"]): row for row in rows}
    sizes = sorted({n for _, n in cells})
    classes = sorted({cls for cls, _ in cells}, key=lambda cls: min(_ratio(cells, cls, n) for n in sizes))
    lines = [
        "# Benchmarks, the worst class first",
        "",
        "How many times faster `lapwing.linear_sum_assignment` is than the fastest function of other packages, on the",
        "same costs (float32, one thread). A `>` marks cells in which no other package finished in time. Rows are",
        "sorted by their smallest ratio.",
        "",
        "| costs | " + " | ".join(f"n = {n}" for n in sizes) + " |",
        "|---|" + "---:|" * len(sizes),
    ]
    for cls in classes:
        shown = [_cell(cells[cls, n]) if (cls, n) in cells else "" for n in sizes]
        lines.append(f"| {cls} | " + " | ".join(shown) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(peers["versions"].items()))
    lines += [
        "",
        f"Measured on {peers['date']}, {peers['machine']['processor']}, commit {peers['commit']}: {versions}.",
        "All solvers of a cell alternate in one run; an answer that is not optimal does not count. To run it again, in",
        "a clone: `make bench` (minutes), or",
        "",
        "```sh",
        peers["command"],
        "```",
        "",
        "![Time against n for Lapwing and its peers](../images/growth.png)",
        "",
        "## On a GPU",
        "",
        gpu_table(),
        "",
    ]
    return "\n".join(lines)


def _ratio(cells: dict[tuple[str, int], dict[str, Any]], cls: str, n: int) -> float:
    return float(cells[cls, n]["ratio"]["lapwing"]) if (cls, n) in cells else float("inf")


def _cell(row: dict[str, Any]) -> str:
    ratio = row["ratio"]["lapwing"]
    return ("" if row["best_peer"] else "> ") + (f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}")


def points_on_a_gpu() -> str:
    """Return the tutorial of a million points, with the results that were recorded on a GPU."""
    sources = _load("gpu_sources")
    lines = [
        "# A million points on a GPU",
        "",
        ":::{note}",
        "This page needs an NVIDIA GPU, so the site does not execute it. Its figures were recorded by",
        f"`{sources['command']}` on {sources['date']} on an {sources['gpu']}, commit {sources['commit']}.",
        ":::",
        "",
        "A matrix of a million rows and columns of float32 takes 4 TB. Points need no matrix: a GPU computes their",
        "costs whenever it reads them.",
        "",
        "```py",
        "import numpy as np",
        "import lapwing as lw",
        "",
        "rng = np.random.default_rng(1)",
        "X, Y = rng.random((2, 1_000_000, 2), dtype=np.float32)",
        'result = lw.solve(lw.costs.squared_euclidean(X, Y), device="cuda")',
        "print(result.certificate)",
        "```",
        "",
        "| costs | n | seconds, with the proof | GB on the GPU |",
        "|---|---:|---:|---:|",
    ]
    for row in sources["rows"]:
        cls = row["case"].partition("@")[0]
        lines.append(f"| {cls} | {row['n']:,} | {row['seconds']:.2f} | {row['bytes'] / 1e9:.2f} |")
    lines += [
        "",
        "![Seconds against n for points on a GPU](images/gpu_sources.png)",
        "",
        "A solve uses one GPU. Several problems run on several GPUs in one process each",
        "([How to](howto/recipes.md#several-gpus)).",
        "",
    ]
    return "\n".join(lines)
