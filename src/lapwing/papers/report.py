"""A table's record in words, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

UNITS = {
    "s": "seconds",
    "ms": "milliseconds",
    "rows": "rows evaluated",
    "count": "count",
    "factor": "factor",
    "share": "share of the time",
    "percent": "per cent",
}


def show(record: dict[str, Any]) -> str:
    """The table as text: for each column the published figure, if there is one, beside ours."""
    columns = record["shown"]
    lines = [["", *columns]]
    lines += [[row["instance"], *(_words(row["cells"][column]) for column in columns)] for row in record["rows"]]
    for cls, fit in record["fits"].items():
        for k, name in enumerate(("factor", "power of n", "error in %")):
            lines.append([f"{cls}: {name}", *(_fit(fit[column], k) for column in columns)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns) + 1)]
    text = [
        f"{record['paper'].split(':')[0]} {record['paper'].rsplit(', ', 1)[1]}: {record['title']}",
        f"{UNITS[record['unit']]}; theirs / ours",
        f"theirs: {record['their_machine'] or 'counts, which do not depend on a machine'}",
        f"ours: {_where(record)} of {record['machine']}",
    ]
    text += [f"note: {record['note']}"] if record["note"] else []
    text += ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(text)


def _where(record: dict[str, Any]) -> str:
    if record["device"] != "cpu":
        return str(record["device"])
    return "1 thread" if record["threads"] == 1 else f"{record['threads']} threads"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _printed(value: float | None) -> str:
    """A figure as the paper has it."""
    return "-" if value is None else f"{value:.10g}"


def _words(cell: dict[str, Any]) -> str:
    value = cell["value"]
    if isinstance(value, dict):
        return " ".join(f"{name} {share:.0%}" for name, share in value.items() if share >= 0.005)
    return f"{_printed(cell['published'])} / {cell['remark'] if value is None else _number(value)}"


def _fit(fit: dict[str, Any], k: int) -> str:
    theirs, ours = fit["published"], fit["value"]
    return f"{_printed(theirs[k]) if theirs else '-'} / {f'{ours[k]:.3f}' if ours else '-'}"


def draw(record: dict[str, Any], path: Path) -> None:
    """Write the picture of a table: a panel for each class, one for all where they have one size; shares as bars."""
    from matplotlib.figure import Figure

    shares = record["unit"] == "share"
    by_class = len({row["n"] for row in record["rows"]}) > 1 and not shares
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in record["rows"]:
        groups.setdefault(row["cls"] if by_class else "", []).append(row)
    figure = Figure(figsize=(3.4 * min(4, len(groups)) + 1.6, 3.1 * -(-len(groups) // 4) + 0.6), dpi=110)
    panels = figure.subplots(-(-len(groups) // 4), min(4, len(groups)), squeeze=False).ravel()
    for axes in panels[len(groups) :]:
        axes.remove()
    for axes, (name, rows) in zip(panels, groups.items(), strict=False):
        (_bars if shares else _lines)(axes, rows, record["shown"], by_class)
        axes.set_title(name, fontsize=9)
    panels[0].set_ylabel(UNITS[record["unit"]])
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(fontsize=6)
    figure.suptitle(record["title"], fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def _lines(axes: Any, rows: list[dict[str, Any]], columns: list[str], by_class: bool) -> None:
    """Ours as lines, published figures as crosses of the same colour."""
    for k, column in enumerate(columns):
        x = [row["n"] if by_class else row["cls"] for row in rows]
        cells = [row["cells"][column] for row in rows]
        for kind, style, label in (("value", "o-", column), ("published", "x", f"{column}, published")):
            points = [(at, cell[kind]) for at, cell in zip(x, cells, strict=True) if cell[kind]]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=f"C{k}", label=label, markersize=3)
    if by_class:
        axes.set_xscale("log", base=2)
        axes.set_xlabel("n")
    else:
        axes.tick_params(axis="x", rotation=60, labelsize=7)
    if all(y > 0 for line in axes.get_lines() for y in line.get_ydata()):
        axes.set_yscale("log")
    axes.grid(alpha=0.3)


def _bars(axes: Any, rows: list[dict[str, Any]], columns: list[str], _: bool) -> None:
    """A bar for each instance, of the steps of its one column."""
    labels, values = [], []
    for row in rows:
        for column in columns:
            if row["cells"][column]["value"] is not None:
                labels.append(row["instance"])
                values.append(row["cells"][column]["value"])
    bottom = [0.0] * len(labels)
    for step in dict.fromkeys(name for value in values for name in value):
        heights = [value.get(step, 0.0) for value in values]
        axes.bar(labels, heights, bottom=bottom, label=step.replace("_", " "))
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.tick_params(axis="x", rotation=60, labelsize=7)
