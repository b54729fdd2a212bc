"""
Forbidden pairs, and why there is no answer
===========================================

Infinity forbids a pair. If too much is forbidden, there is no assignment at all, and the reason is always of one kind
(Hall, 1935): some rows have, all together, fewer columns than they are. The error names such rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(4)
cost = rng.integers(1, 10, (9, 9)).astype(float)
cost[rng.random((9, 9)) < 0.35] = np.inf
for i in (1, 4, 6):  # three people who can do no more than two jobs
    cost[i] = np.inf
    cost[i, [2, 7]] = 5

try:
    lw.solve(cost)
except lw.InfeasibleError as error:
    rows, cols = error.rows, error.cols
    print(error)

# %%
# The witness: outside of the marked columns, the marked rows have forbidden pairs only.

figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.imshow(np.where(np.isinf(cost), np.nan, cost), cmap="YlGnBu")
for i in rows:
    axes.axhspan(i - 0.5, i + 0.5, color="tab:red", alpha=0.2)
for j in cols:
    axes.axvspan(j - 0.5, j + 0.5, color="tab:orange", alpha=0.25)
axes.set(xlabel="jobs", ylabel="people", title=f"{len(rows)} people, {len(cols)} jobs; white is forbidden")
plt.show()

# %%
# One more permitted pair, and there is an answer.

cost[1, 0] = 8
print(lw.solve(cost).certificate)
