"""
Paths that do not cross
=======================

Flow matching trains a network to carry noise to data along straight paths. With noise and data paired at random, paths
cross, and where they cross the network can only learn their mean: the flow is bent. Pairs of the best assignment of a
batch do not cross, and the flow is nearly straight.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(1)
noise = rng.standard_normal((256, 2))
angle = rng.random(256) * 2 * np.pi
data = (3 + 0.2 * rng.standard_normal((256, 1))) * np.stack([np.cos(angle), np.sin(angle)], axis=1)

result = lw.solve(lw.costs.squared_euclidean(noise, data))

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, chosen, title in ((axes[0], np.arange(256), "at random"), (axes[1], result.row_to_col, "the best")):
    ends = data[chosen]
    for start, end in zip(noise, ends, strict=True):
        ax.plot(*zip(start, end, strict=True), color="tab:gray", linewidth=0.5, alpha=0.7)
    ax.scatter(*noise.T, s=6, color="tab:blue", zorder=2)
    ax.scatter(*data.T, s=6, color="tab:orange", zorder=2)
    ax.set(xticks=[], yticks=[], aspect="equal", title=f"{title}: mean length {np.hypot(*(ends - noise).T).mean():.2f}")
plt.show()
