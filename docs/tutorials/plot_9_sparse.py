"""
Large entries on the diagonal
=============================

Direct solvers of sparse linear systems like large entries on the diagonal. The permutation with the largest product of
diagonal entries is an assignment: the costs are the negative logarithms, and the zeros of the matrix are no pairs at
all. Its duals are the logarithms of scalings that make these entries 1 and all others at most 1.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

import lapwing as lw

rng = np.random.default_rng(7)
n = 120
rows, cols = rng.integers(0, n, (2, 5 * n))
band = np.arange(n)
hidden = rng.permutation(n)
rows = np.concatenate([rows, band, band[1:]])
cols = np.concatenate([cols, hidden, hidden[:-1]])
values = np.concatenate([0.1 * rng.random(5 * n), 2 + rng.random(n), 1 + rng.random(n - 1)])
matrix = csr_array(coo_array((values, (rows, cols)), shape=(n, n)))

# %%

scaling = lw.equilibrate(matrix)
scaled = diags_array(scaling.row_scale) @ matrix @ diags_array(scaling.col_scale)
permuted = scaled.tocsr()[:, scaling.permutation]
print(abs(permuted.diagonal() - 1).max(), abs(permuted).max())

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, shown, title in ((axes[0], matrix, "before"), (axes[1], permuted, "after")):
    entries = shown.tocoo()
    drawn = ax.scatter(entries.coords[1], entries.coords[0], s=5, c=entries.data, cmap="viridis_r")
    ax.set(title=title, xlim=(-1, n), ylim=(n, -1), aspect="equal", xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes, label="entry", shrink=0.8)
plt.show()
