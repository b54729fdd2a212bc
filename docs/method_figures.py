"""Draws how the method works, for methods.md: a list and its tau, an auction phase, and a search.

Each picture shows what its few lines of NumPy computed for a small problem; what they find is compared with
`lapwing.solve`. To draw them again: `python docs/method_figures.py`, which writes images/method_*.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import lapwing as lw

IMAGES = Path(__file__).resolve().parent / "images"
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def save(figure: Any, name: str) -> None:
    """Write a figure, without what would change from run to run."""
    figure.savefig(IMAGES / f"method_{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def draw_list() -> None:
    """Draw `c - v` of a row's columns three times, while prices rise: bars of the list, and tau."""
    rng = np.random.default_rng(9)
    columns, length = 40, 8
    value = np.sort(0.15 + 0.85 * rng.random(columns))  # c - v when the row is listed
    listed, outside = np.arange(length), np.arange(length, columns)
    tau = value[length]
    wanted = np.exp(-3 * value) * (0.35 + rng.random(columns))  # cheap columns are wanted by many rows
    titles = ("listed", "prices have risen: the list decides", "no longer: the row is read again")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    for ax, rise, title in zip(axes, (0.0, 0.4, 1.6), titles, strict=True):
        now = value + rise * wanted
        best = np.argmin(now[listed])
        assert (now[best] <= tau) == (rise < 1) and (now[best] > tau or now[best] == now.min())
        ax.bar(outside, now[outside], color="lightgray", label="left out")
        ax.bar(listed, now[listed], color="tab:blue", label="in the list")
        ax.bar(best, now[best], color="tab:orange", label="least of the list")
        ax.axhline(tau, color="black", linestyle="--", linewidth=1, label="tau")
        ax.set(title=title, xlabel="columns", xticks=[], ylim=(0, 1.45))
    axes[0].set_ylabel("c - v")
    axes[0].legend(loc="upper left", ncols=2, fontsize=8)
    save(figure, "list")


def bid(cost: Floats, epsilon: float, price: Floats, row_to_col: Integers) -> Integers:
    """Let all free rows bid once, in place; return the column that each row bid for, or -1."""
    bids = np.full(len(cost), -1)
    offers = np.full(len(price), -np.inf)
    for i in np.flatnonzero(row_to_col < 0):
        value = cost[i] + price
        first, second = np.argsort(value)[:2]
        bids[i] = first
        offer = price[first] + value[second] - value[first] + epsilon
        if offer > offers[first]:  # of several bids for a column the highest counts
            offers[first] = offer
            row_to_col[row_to_col == first] = -1
            row_to_col[i] = first
    price[:] = np.maximum(price, offers)
    return bids


def draw_phase() -> None:
    """Draw rounds of an auction phase between points: bids, pairs and prices."""
    rng = np.random.default_rng(4)
    n, epsilon = 24, 0.03
    rows, cols = 0.15 + 0.7 * rng.random((n, 2)), rng.random((n, 2))
    cost = np.linalg.norm(rows[:, None] - cols, axis=2)
    price, row_to_col = np.zeros(n), np.full(n, -1)
    rounds = []
    while (row_to_col < 0).any():
        bids = bid(cost, epsilon, price, row_to_col)
        rounds.append((bids, row_to_col.copy(), price.copy()))
    assert cost[np.arange(n), row_to_col].sum() <= lw.solve(cost).objective + n * epsilon

    shown = (0, 1, 3, next(k for k, (_, pairs, _) in enumerate(rounds) if (pairs < 0).sum() == 1))
    figure, axes = plt.subplots(1, len(shown), figsize=(12, 3.5), layout="constrained")
    drawn = None
    for ax, k in zip(axes, shown, strict=True):
        bids, pairs, prices = rounds[k]
        for i in range(n):
            if pairs[i] >= 0:
                ax.plot(*zip(rows[i], cols[pairs[i]], strict=True), color="gray", linewidth=1.2, zorder=0)
            if bids[i] >= 0 and bids[i] != pairs[i]:
                ax.plot(*zip(rows[i], cols[bids[i]], strict=True), color="tab:red", linewidth=1.4, linestyle=":")
        ax.scatter(*rows.T, s=14, color="black", label="rows", zorder=2)
        drawn = ax.scatter(*cols.T, s=42, marker="s", c=prices, vmin=0, vmax=price.max(), label="columns")
        ax.set(xticks=[], yticks=[], aspect="equal", title=f"round {k + 1}, rows free: {(pairs < 0).sum()}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    figure.colorbar(drawn, ax=axes, label="price", shrink=0.9)
    save(figure, "phase")


def search(cost: Floats, v: Floats, col_to_row: Integers, free_row: int) -> tuple[Floats, Integers, int]:
    """Dijkstra's algorithm over reduced costs: distances of columns, the row before each, and the free column found."""
    distance, before = np.full(len(v), np.inf), np.full(len(v), -1)
    done = np.zeros(len(v), dtype=bool)
    row, reached = free_row, 0.0
    while True:
        # The row's pair is tight, so its dual is known.
        own = np.flatnonzero(col_to_row == row)
        u = cost[row, own[0]] - v[own[0]] if len(own) else (cost[row] - v).min()
        through = reached + cost[row] - u - v
        better = ~done & (through < distance)
        distance[better], before[better] = through[better], row
        column = int(np.argmin(np.where(done, np.inf, distance)))
        done[column], reached = True, distance[column]
        if col_to_row[column] < 0:
            return np.where(done, distance, np.inf), before, column
        row = int(col_to_row[column])


def draw_search() -> None:
    """Draw the tree of a search from the last free row, and the pairs before and after its path is flipped."""
    rng = np.random.default_rng(9)
    n = 30
    rows, cols = rng.random((n, 2)), rng.random((n, 2))
    cost = np.linalg.norm(rows[:, None] - cols, axis=2)
    partial = lw.solve(cost[:-1])  # optimal without the last row
    col_to_row = np.asarray(partial.col_to_row).copy()
    distance, before, column = search(cost, np.asarray(partial.v), col_to_row, n - 1)
    path, flipped = [], col_to_row.copy()
    last = column
    while True:
        row = before[last]
        path.append((row, last))
        flipped[last] = row
        held = np.flatnonzero(col_to_row == row)
        if len(held) == 0:
            break
        last = int(held[0])
    assert np.isclose(cost[flipped, np.arange(n)].sum(), lw.solve(cost).objective)

    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.9), layout="constrained")
    titles = ("one row is free", f"distances; a path of {len(path)} new pairs", "flipped: all are matched")
    for ax, pairs, title in zip(axes, (col_to_row, col_to_row, flipped), titles, strict=True):
        for j in np.flatnonzero(pairs >= 0):
            ax.plot(*zip(rows[pairs[j]], cols[j], strict=True), color="gray", linewidth=1.5, zorder=0)
        ax.set(xticks=[], yticks=[], aspect="equal", title=title)
    reached = np.flatnonzero(np.isfinite(distance))
    for j in reached:
        axes[1].plot(*zip(rows[before[j]], cols[j], strict=True), color="tab:blue", linewidth=0.8, linestyle=":")
    for row, j in path:
        axes[1].plot(*zip(rows[row], cols[j], strict=True), color="tab:red", linewidth=2)
        axes[2].plot(*zip(rows[row], cols[j], strict=True), color="tab:red", linewidth=1.5)
    for ax in axes:
        ax.scatter(*rows.T, s=14, color="black", label="rows", zorder=2)
        ax.scatter(*rows[-1], s=90, facecolors="none", edgecolors="tab:red", zorder=2)
        ax.scatter(*cols.T, s=36, marker="s", color="lightgray", edgecolors="gray", linewidths=0.5, label="columns")
    drawn = axes[1].scatter(*cols[reached].T, s=36, marker="s", c=distance[reached], cmap="viridis", zorder=2)
    figure.colorbar(drawn, ax=axes[1], label="distance", shrink=0.8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    save(figure, "search")


if __name__ == "__main__":
    draw_list()
    draw_phase()
    draw_search()
