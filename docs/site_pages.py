"""The pages of the site that are written by script: the reference, of every public name, and recorded results."""

from __future__ import annotations

import inspect
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.ext.autodoc.mock import mock

import lapwing
import lapwing.compat

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT))

from benchmarks import comparison  # noqa: E402
from benchmarks.readme_table import gpu_table  # noqa: E402


def write(docs: Path) -> None:
    """Write all of them into the folder of documents, where git ignores them."""
    _replace(docs / "reference" / "python.rst", reference())
    _replace(docs / "explanation" / "benchmarks.md", benchmarks())
    _replace(docs / "explanation" / "comparison.md", comparison.page(_load("comparison")))
    _replace(docs / "gallery_gpu.inc", points_on_a_gpu())


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
        path.write_text(text, encoding="utf-8")


def reference() -> str:
    """Return the page of every public name, in groups by what it is."""
    groups: dict[str, list[str]] = {"Functions": [], "Results and options": [], "Errors": []}
    modules = []  # those of `__all__`, then those that are imported by name
    for name in (name for name in lapwing.__all__ if not name.startswith("__")):
        public = getattr(lapwing, name)
        if isinstance(public, ModuleType):
            modules.append(public)
        elif inspect.isclass(public):
            groups["Errors" if issubclass(public, Exception) else "Results and options"].append(f"lapwing.{name}")
        else:
            groups["Functions"].append(f"lapwing.{name}")
    with mock(["jax"]):  # which the site does without
        modules.append(import_module("lapwing.jax"))
    compat = [found.name for found in pkgutil.iter_modules(lapwing.compat.__path__) if found.name != "partners"]
    modules += [import_module(f"lapwing.compat.{name}") for name in compat]
    for module in modules:
        groups[module.__name__] = [f"{module.__name__}.{name}" for name in _names_of(module)]
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
    """Return what the tutorial of a million points includes: the results that were recorded on a GPU."""
    sources = _load("gpu_sources")
    rows = [
        f'   {row["case"].partition("@")[0]}, "{row["n"]:,}", {row["seconds"]:.2f}, {row["bytes"] / 1e9:.2f}'
        for row in sources["rows"]
    ]
    lines = [
        ".. note::",
        "   This page needs an NVIDIA GPU, so the site does not execute it. Its figures were recorded by",
        f"   ``{sources['command']}`` on {sources['date']} on an {sources['gpu']}, commit {sources['commit']}.",
        "",
        ".. csv-table::",
        '   :header: costs, n, "seconds, with the proof", GB on the GPU',
        "",
        *rows,
    ]
    return "\n".join(lines) + "\n"
