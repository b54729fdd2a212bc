"""
What an assignment is
=====================

Twenty places, twenty visitors. Each visitor gets a place of its own, so that the sum of all ways is as short as
possible. Taking the nearest free place in turn is not that: the last visitors walk far.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(5)
visitors, places = rng.random((2, 20, 2))
ways = np.linalg.norm(visitors[:, None] - places[None], axis=2)

# %%
# In turn, each visitor takes the nearest place that is still free.

greedy = np.empty(20, dtype=int)
free = np.ones(20, dtype=bool)
for i in range(20):
    greedy[i] = np.argmin(np.where(free, ways[i], np.inf))
    free[greedy[i]] = False

# %%
# :func:`lapwing.solve` takes the matrix of ways and returns the best assignment, with a proof.

result = lw.solve(ways)
print(result.certificate)

# %%
# Lines that cross can be uncrossed and get shorter: the best assignment in the plane has no crossings.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for ax, chosen, title in ((axes[0], greedy, "in turn"), (axes[1], result.row_to_col, "the best")):
    for i, j in enumerate(chosen):
        ax.plot(*zip(visitors[i], places[j], strict=True), color="gray", linewidth=1.5)
    ax.scatter(*visitors.T, label="visitors", zorder=2)
    ax.scatter(*places.T, marker="s", label="places", zorder=2)
    ax.set_title(f"{title}: {ways[np.arange(20), chosen].sum():.2f}")
    ax.set_aspect("equal")
    ax.axis("off")
axes[0].legend(loc="lower left")
plt.show()
