"""
Matching predictions with the truth
===================================

A detector such as DETR is trained on the best pairs of its predictions and the true boxes: a prediction that is paired
with a box learns it, all others learn "nothing". Every picture of a batch is a small problem of its own, with as many
columns as it has boxes. The pairs are found for all of them in one call; with tensors on a GPU, they stay there.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(6)
PICTURES, QUERIES, MOST = 4, 12, 5
boxes = rng.random((PICTURES, MOST, 4)) * [0.7, 0.7, 0.2, 0.2] + [0.05, 0.05, 0.08, 0.08]  # x, y, width, height
counts = np.array([5, 3, 4, 2])
guesses = rng.random((PICTURES, QUERIES, 4)) * [0.7, 0.7, 0.2, 0.2] + [0.05, 0.05, 0.08, 0.08]
guesses[:, :MOST] = boxes + 0.03 * rng.standard_normal(boxes.shape)
guesses = guesses[:, rng.permutation(QUERIES)]

# %%
# The costs: the sum of absolute differences of the boxes. ``col_counts`` says how many boxes each picture has.

cost = np.abs(guesses[:, :, None] - boxes[:, None]).sum(axis=3)
batch = lw.solve_batch(cost, col_counts=counts)
print(batch.row_to_col)

# %%

figure, axes = plt.subplots(1, PICTURES, figsize=(11, 3), layout="constrained")
for b, ax in enumerate(axes):
    for q, (x, y, width, height) in enumerate(guesses[b]):
        paired = batch.row_to_col[b, q] >= 0
        colour = "tab:green" if paired else "lightgray"
        ax.add_patch(plt.Rectangle((x, y), width, height, fill=False, color=colour, linewidth=1.5 if paired else 1))
    for x, y, width, height in boxes[b, : counts[b]]:
        ax.add_patch(plt.Rectangle((x, y), width, height, color="tab:blue", alpha=0.25))
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal", title=f"{counts[b]} boxes")
plt.show()
