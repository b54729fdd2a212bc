"""
Frames of a tracker
===================

A tracker pairs the things that it followed so far with what it sees in the next frame. Some have gone, some are new. A
gate says how far a thing can move: a pair beyond it is worse than no pair. ``unmatched_cost`` is that gate, and the
result is optimal with it, which a filter afterwards would not be.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(2)
position = rng.random((14, 2))
speed = 0.04 * rng.standard_normal((14, 2))
gate = 0.12

# %%
# Four frames: each thing is missed with a chance of 15 %, and two detections of each frame are clutter.

frames = []
for t in range(4):
    seen = position + t * speed + 0.004 * rng.standard_normal((14, 2))
    seen = seen[rng.random(14) > 0.15]
    frames.append(np.concatenate([seen, rng.random((2, 2))]))

# %%
# Pairs of consecutive frames. A row that stays free has -1.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, before, after in zip(axes, frames[:-1], frames[1:], strict=True):
    result = lw.solve(lw.costs.euclidean(before, after), unmatched_cost=gate)
    for i, j in enumerate(result.row_to_col):
        if j >= 0:
            ax.annotate("", after[j], before[i], arrowprops={"arrowstyle": "->", "color": "tab:green"})
    ax.scatter(*before.T, facecolors="none", edgecolors="tab:blue", label="this frame")
    ax.scatter(*after.T, marker="x", color="tab:orange", label="the next")
    ax.set_title(f"{(result.row_to_col >= 0).sum()} paired, {(result.row_to_col < 0).sum()} lost")
    ax.set(xticks=[], yticks=[], aspect="equal")
axes[0].legend(loc="lower left", fontsize=8)
plt.show()
