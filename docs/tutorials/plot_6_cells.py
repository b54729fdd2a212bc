"""
Cells between two slices
========================

Cells of a tissue at two times; nobody knows which is which. The matching with the least sum of squared distances is the
discrete optimal transport between the two, and shows how the tissue moved: one part grows, another shrinks.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(0)
before = rng.random((2000, 2))
moved = before.copy()
for middle, growth in (((0.3, 0.35), 0.35), ((0.72, 0.65), -0.35)):
    offset = before - middle
    moved += growth * offset * np.exp(-12 * np.square(offset).sum(axis=1, keepdims=True))
after = (moved + 0.004 * rng.standard_normal(moved.shape))[rng.permutation(2000)]

result = lw.solve(lw.costs.squared_euclidean(before, after))
print(result.certificate)

# %%
# The displacement that was found, and the true one, which the solver never saw.

found = after[result.row_to_col] - before
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.8), layout="constrained")
for ax, displacement, title in ((axes[0], found, "found"), (axes[1], moved - before, "true")):
    size = np.linalg.norm(displacement, axis=1)
    ax.quiver(*before.T, *displacement.T, size, angles="xy", scale_units="xy", scale=1, cmap="plasma", width=0.003)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
plt.show()
print("mean error:", np.linalg.norm(found - (moved - before), axis=1).mean())
