"""How many rows the best answers match, where matching may cost as much as staying free."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from support.checks import with_exits

SCALE = 64  # more than an answer has pairs


def most_matches(cost, prices, maximize=False):
    """Pairs are made a little cheaper, less than any cost differs; costs and prices are whole."""
    sign = -1 if maximize else 1
    scale = max(SCALE, 1 + min(cost.shape))
    extended = with_exits(sign * cost.astype(float) * scale - 1, sign * prices.astype(float) * scale)
    _, cols = linear_sum_assignment(extended)
    return int((cols < cost.shape[1]).sum())


def tied_problem(seed, m, n, values, dtype):
    """Few values, so that many pairs cost what staying free costs."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, values, (m, n)).astype(dtype), rng.integers(0, values, m).astype(dtype)
