"""A table's record in words, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

UNITS = {"seconds": "seconds", "rows": "rows evaluated / n", "path": "rows of a path", "shares": "share of the time"}


def show(record: dict[str, Any]) -> str:
    """The table as text: for each column the published figure, if there is one, beside ours."""
    columns = list(record["rows"][0]["cells"]) if record["rows"] else []
    lines = [["", *columns]]
    lines += [[row["instance"], *(_words(row["cells"][column]) for column in columns)] for row in record["rows"]]
    for cls, fit in record["fits"].items():
        lines.append([f"{cls}: exponent", *(f"{fit[column]:.2f}" if column in fit else "-" for column in columns)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns) + 1)]
    text = [
        f"{record['title']}  ({record['paper']})",
        f"{UNITS[record['measure']]}; published figure / ours; {_where(record)} of {record['machine']}",
        f"published: {record['source']}",
    ]
    text += [f"note: {record['note']}"] if record["note"] else []
    text += ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(text)


def _where(record: dict[str, Any]) -> str:
    if record["device"] != "cpu":
        return str(record["device"])
    return "1 thread" if record["threads"] == 1 else f"{record['threads']} threads"


def _words(cell: dict[str, Any]) -> str:
    published = "-" if cell["published"] is None else f"{cell['published']:.3g}"
    value = cell["value"]
    if value is None:
        return f"{published} / {cell['remark']}"
    if isinstance(value, dict):
        return " ".join(f"{name} {share:.0%}" for name, share in value.items() if share >= 0.005)
    return f"{published} / {value:.3g}"


def draw(record: dict[str, Any], path: Path) -> None:
    """Write the picture of a table: a panel for each class, one for all where they have one size; shares as bars."""
    from matplotlib.figure import Figure

    shares = record["measure"] == "shares"
    by_class = len({row["n"] for row in record["rows"]}) > 1 and not shares
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in record["rows"]:
        groups.setdefault(row["cls"] if by_class else "", []).append(row)
    figure = Figure(figsize=(3.4 * min(4, len(groups)) + 1.6, 3.1 * -(-len(groups) // 4) + 0.6), dpi=110)
    panels = figure.subplots(-(-len(groups) // 4), min(4, len(groups)), squeeze=False).ravel()
    for axes in panels[len(groups) :]:
        axes.remove()
    for axes, (name, rows) in zip(panels, groups.items(), strict=False):
        (_bars if shares else _lines)(axes, rows, by_class)
        axes.set_title(name, fontsize=9)
    panels[0].set_ylabel(UNITS[record["measure"]])
    panels[0].legend(fontsize=7)
    figure.suptitle(record["title"], fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def _lines(axes: Any, rows: list[dict[str, Any]], by_class: bool) -> None:
    """Ours as lines, published figures as crosses of the same colour."""
    for k, column in enumerate(rows[0]["cells"]):
        x = [row["n"] if by_class else row["cls"] for row in rows]
        cells = [row["cells"][column] for row in rows]
        ours = [(at, cell["value"]) for at, cell in zip(x, cells, strict=True) if cell["value"] is not None]
        theirs = [(at, cell["published"]) for at, cell in zip(x, cells, strict=True) if cell["published"] is not None]
        if ours:
            axes.plot(*zip(*ours, strict=True), "o-", color=f"C{k}", label=column, markersize=3)
        if theirs:
            axes.plot(*zip(*theirs, strict=True), "x", color=f"C{k}", label=f"{column}, published")
    if by_class:
        axes.set_xscale("log", base=2)
        axes.set_xlabel("n")
    else:
        axes.tick_params(axis="x", rotation=60, labelsize=7)
    axes.set_yscale("log")
    axes.grid(alpha=0.3)


def _bars(axes: Any, rows: list[dict[str, Any]], _: bool) -> None:
    """A bar for each instance, of the steps of its one column."""
    labels, values = [], []
    for row in rows:
        for cell in row["cells"].values():
            if cell["value"] is not None:
                labels.append(row["instance"])
                values.append(cell["value"])
    bottom = [0.0] * len(labels)
    for step in dict.fromkeys(name for value in values for name in value):
        heights = [value.get(step, 0.0) for value in values]
        axes.bar(labels, heights, bottom=bottom, label=step.replace("_", " "))
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.tick_params(axis="x", rotation=60, labelsize=7)
