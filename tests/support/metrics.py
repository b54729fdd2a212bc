"""The metrics of lapwing.costs, as tests make sources of them, and their definitions in NumPy."""

from __future__ import annotations

import numpy as np

import lapwing as lw

METRICS = {
    "squared_euclidean": lw.costs.squared_euclidean,
    "euclidean": lw.costs.euclidean,
    "manhattan": lw.costs.manhattan,
    "chebyshev": lw.costs.chebyshev,
    "minkowski": lambda x, y: lw.costs.minkowski(x, y, 2.5),
    "inner_product": lw.costs.inner_product,
    "cosine": lw.costs.cosine,
    "haversine": lw.costs.haversine,
}
METRICS_AND_SUM = METRICS | {
    "sum": lambda x, y: lw.costs.weighted(lw.costs.squared_euclidean(x, y), 0.75, lw.costs.inner_product(x, y), -0.1),
}
DEFINED = ("squared_euclidean", "euclidean", "manhattan", "chebyshev", "inner_product")  # by `defined`


def defined(metric, x, y):
    """As the docstrings say, one dimension after the other, in the dtype of the points."""
    total = np.zeros((len(x), len(y)), x.dtype)
    for k in range(x.shape[1]):
        a, b = x[:, k, None], y[None, :, k]
        if metric == "inner_product":
            total += a * b
        elif metric == "manhattan":
            total += abs(a - b)
        elif metric == "chebyshev":
            total = np.maximum(total, abs(a - b))
        else:
            total += (a - b) * (a - b)
    return np.sqrt(total) if metric == "euclidean" else total
