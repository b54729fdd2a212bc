"""Square matrices of costs that tie: many pairs are tight at the optimum."""

from __future__ import annotations

import numpy as np


def sums(seed, n, units=20):
    """Rounded sums of two numbers and noise."""
    rng = np.random.default_rng(seed)
    return np.round(units * (rng.random((n, 1)) + rng.random(n) + 0.2 * rng.random((n, n))))


def differences(seed, n, units=40):
    """Differences of small integers."""
    rng = np.random.default_rng(seed)
    return np.abs(rng.integers(0, units, (n, 1)) - rng.integers(0, units, n))
