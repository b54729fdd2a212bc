"""
What a price is
===============

A hundred buyers and a hundred shops; a buyer pays the way to a shop and its price. If the prices are right, every
buyer takes its own best offer, and no two buyers want the same shop. Such prices are the *dual variables*, and they
prove that the assignment is best: nobody could do better anywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(3)
buyers = 0.5 + 0.13 * rng.standard_normal((100, 2))  # crowded in the middle
shops = rng.random((100, 2))
result = lw.solve(lw.costs.euclidean(buyers, shops))

# %%
# A shop's price is the negative of its dual variable. Shops in the crowd are dear, those at the border are cheap.

price = -result.v - (-result.v).min()
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for i, j in enumerate(result.row_to_col):
    axes.plot(*zip(buyers[i], shops[j], strict=True), color="lightgray", linewidth=1, zorder=0)
axes.scatter(*buyers.T, s=12, color="black", label="buyers")
drawn = axes.scatter(*shops.T, s=70, c=price, cmap="viridis", label="shops")
figure.colorbar(drawn, label="price")
axes.legend(loc="upper right")
axes.set_aspect("equal")
plt.show()

# %%
# Every buyer is content: way and price of its own shop are as small as anywhere.

ways = np.linalg.norm(buyers[:, None] - shops[None], axis=2)
offers = ways + price
own = offers[np.arange(100), result.row_to_col]
print("largest regret:", (own - offers.min(axis=1)).max())
