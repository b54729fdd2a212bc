"""Algorithm 1015's Figures 1 to 3: curves along the searches of `ssp`.

Figures 1 and 2 have, for each row of one matrix, the rows that its searches read (scan count), and the rows of the
augmenting paths that begin at it, beside itself (path length); and how often any search read it (times read), which the
authors' program counts in place of the first. All are summed over the phases. Without epsilon the row is also the
number of the search. Figure 3 has the epsilon of each phase against the distance of the v that it leaves from
the last one: the Euclidean norm of the difference over n. The paper names neither the norm nor the rank in Figure 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from lapwing import _core, instances
from lapwing.options import Ssp
from lapwing.papers.catalogue import AS_PRINTED
from lapwing.papers.published import paper

CURVES: Final = {
    "algorithm-1015-figure-1": "Figure 1: path length and scan count, random matrices",
    "algorithm-1015-figure-2": "Figure 2: path length and scan count, low-rank matrices",
    "algorithm-1015-figure-3": "Figure 3: epsilon against the distance from the last v",
}
_ALONG: Final = {"algorithm-1015-figure-1": ("uniform",), "algorithm-1015-figure-2": ("lowrank:2", "lowrank:8")}
_SIZES: Final = (1000, 1414, 2000, 2828, 4000, 5656, 8000, 11313, 16000, 22627, 32000)
_CLASSES: Final = ("uniform", "geometric", "disjoint", "lowrank:2", "lowrank:4", "lowrank:8")
_N: Final = 1000
_VARIANTS: Final = {"without epsilon": Ssp(pricing=False), "with epsilon": AS_PRINTED}


def run_curves(name: str, small: bool, largest: int | None = None) -> dict[str, Any]:
    """A figure's curves, as for JSON: ``curves`` is a list of dicts with ``label``, and x and y by their names."""
    sizes = tuple(n for n in _SIZES if n <= (_N if small else largest or _SIZES[-1]))
    made = _distances(sizes, 1 if small else 5) if name not in _ALONG else _along(_ALONG[name])
    return {
        "table": name,
        "paper": paper("algorithm-1015").citation,
        "title": CURVES[name],
        "small": small,
        "curves": made,
    }


def _along(classes: tuple[str, ...]) -> list[dict[str, Any]]:
    curves = []
    for cls in classes:
        cost = instances.generate(cls, _N, 1, dtype=np.float64)
        for variant, options in _VARIANTS.items():
            trace = _core.trace_ssp(cost, options.compiled())
            curves.append(
                {
                    "label": f"{cls} {_N}, {variant}",
                    "scan count": trace["searched"].tolist(),
                    "path length": trace["path_rows"].tolist(),
                    "times read": trace["scans"].tolist(),
                }
            )
    return curves


def _distances(sizes: tuple[int, ...], seeds: int) -> list[dict[str, Any]]:
    curves = []
    for cls in _CLASSES:
        for n in sizes:
            for seed in range(1, seeds + 1):
                cost = instances.generate(cls, n, seed, dtype=np.float64)
                trace = _core.trace_ssp(cost, AS_PRINTED.compiled())
                last = trace["v"][-1]
                away = [float(np.linalg.norm(v - last)) / n for v in trace["v"][:-1]]
                curves.append({"label": f"{cls} {n}", "epsilon": trace["epsilon"][:-1], "distance": away})
    return curves


def describe_curves(record: dict[str, Any]) -> str:
    """A line for each curve."""
    lines = [record["title"]]
    for curve in record["curves"]:
        if "scan count" in curve:
            scans, paths = curve["scan count"], curve["path length"]
            tenth = len(scans) // 10
            late, length = sum(scans[-tenth:]) / sum(scans), sum(paths) / len(paths)
            lines.append(f"{curve['label']}: {sum(scans)} reads, {late:.0%} by the last tenth; paths {length:.2f}")
        elif curve["epsilon"]:
            ratios = [away / epsilon for away, epsilon in zip(curve["distance"], curve["epsilon"], strict=True)]
            lines.append(f"{curve['label']}: distance / epsilon {min(ratios):.3g} to {max(ratios):.3g}")
    return "\n".join(lines)


def draw_curves(record: dict[str, Any], path: Path) -> None:
    """Write the figure: a panel for each curve of Figures 1 and 2, for each class of Figure 3."""
    from matplotlib.figure import Figure

    along = "scan count" in record["curves"][0]
    groups: dict[str, list[dict[str, Any]]] = {}
    for curve in record["curves"]:
        groups.setdefault(curve["label"] if along else curve["label"].split()[0], []).append(curve)
    figure = Figure(figsize=(4 * min(3, len(groups)), 3.2 * -(-len(groups) // 3)), dpi=110)
    panels = figure.subplots(-(-len(groups) // 3), min(3, len(groups)), squeeze=False).ravel()
    for axes in panels[len(groups) :]:
        axes.remove()
    for axes, (name, curves) in zip(panels, groups.items(), strict=False):
        for curve in curves:
            if along:
                for what in ("scan count", "times read", "path length"):
                    axes.plot(curve[what], ".", markersize=2, label=what)
                axes.set_xlabel("row")
                axes.legend(fontsize=7)
            elif curve["epsilon"]:
                axes.loglog(curve["epsilon"], curve["distance"], ".-", alpha=0.6, linewidth=0.7)
                axes.set_xlabel("epsilon")
        axes.set_title(name, fontsize=9)
    figure.suptitle(record["title"], fontsize=10)
    figure.tight_layout()
    figure.savefig(path)
