"""POT: `from lapwing.compat.ot import emd`, for uniform weights.

With equally many points the plan is an assignment. With n and m points every point stands for as many copies as make
both sides equal (the least common multiple of n and m), and the plan counts the pairs of copies.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.api import solve
from lapwing.errors import ArgumentError

__all__ = ["emd"]

_MOST_COPIES = 20_000  # rows of the matrix that copies make


def emd(
    a: Any,
    b: Any,
    M: Any,  # noqa: N803  # as POT has it
    numItermax: int = 100000,  # noqa: N803
    log: bool = False,
    center_dual: bool = True,
    numThreads: int | str = 1,  # noqa: N803
    check_marginals: bool = True,
) -> Any:
    """The optimal transport plan (n, m), and with `log` also a dict with `cost`, `u`, `v`, `warning`, `result_code`.

    Parameters
    ----------
    a, b : (n,) and (m,)
        Weights, all equal on each side; empty for uniform ones.
    M : (n, m)
        Costs.
    numItermax, center_dual, numThreads, check_marginals
        Have no meaning here.

    Raises
    ------
    ArgumentError
        If weights are not uniform, or not positive, or n and m need too many copies.
    """
    costs = np.asarray(M, np.float64)
    if costs.ndim != 2:
        raise ArgumentError(f"M must be a matrix, got shape {costs.shape}")
    n, m = costs.shape
    if not costs.size:
        raise ArgumentError(f"M has no entries, but shape {costs.shape}: pass one row and one column at least")
    mass = _mass(a, n, "a")
    if not math.isclose(mass, _mass(b, m, "b"), rel_tol=1e-6):
        raise ArgumentError("a and b must have the same sum")
    size = math.lcm(n, m)
    if size > _MOST_COPIES:
        raise ArgumentError(f"{n} and {m} points need {size} copies of each side, more than {_MOST_COPIES}: use ot.emd")
    rows, cols = np.repeat(np.arange(n), size // n), np.repeat(np.arange(m), size // m)
    result = solve(costs if n == m else costs[np.ix_(rows, cols)], certify=False)
    counts: NDArray[np.float64] = np.zeros((n, m))
    np.add.at(counts, (rows, cols[result.row_to_col]), 1.0)
    plan = counts * (mass / size)
    if not log:
        return plan
    # The largest dual of a point's copies: feasible, since each copy's is against all others.
    u, v = result.u.reshape(n, -1).max(1), result.v.reshape(m, -1).max(1)
    cost = float((plan * np.where(plan > 0, costs, 0)).sum())
    return plan, {"cost": cost, "u": u, "v": v, "warning": None, "result_code": 1}


def _mass(weights: Any, size: int, name: str) -> float:
    values = np.asarray(weights, np.float64)
    if values.size == 0:
        return 1.0
    if values.shape != (size,):
        raise ArgumentError(f"{name} must have shape ({size},), got {values.shape}")
    if not np.allclose(values, values[0], rtol=1e-9, atol=0):
        raise ArgumentError(f"the weights {name} are not uniform, which lapwing.compat.ot needs: use ot.emd")
    if not (values[0] > 0 and math.isfinite(values[0] * size)):
        raise ArgumentError(f"{name}[0] is {values[0]}: weights must be positive, and have a finite sum")
    return float(values.sum())
