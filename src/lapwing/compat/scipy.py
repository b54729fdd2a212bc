"""SciPy: `from lapwing.compat.scipy import linear_sum_assignment`, or `patch_scipy()` for code that you do not edit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lapwing.api import linear_sum_assignment
from lapwing.bipartite import min_weight_full_bipartite_matching
from lapwing.errors import MissingPackageError

__all__ = ["linear_sum_assignment", "min_weight_full_bipartite_matching", "patch_scipy"]


def patch_scipy() -> Callable[[], None]:
    """Put `lapwing.linear_sum_assignment` and `min_weight_full_bipartite_matching` in the place of SciPy's.

    This holds also under names that modules have imported. Modules that are loaded later import Lapwing's from SciPy.
    Names that are local to a function or held in an object stay as they are.

    Returns
    -------
    function
        Which puts SciPy's back.

    Raises
    ------
    MissingPackageError
        If SciPy is not installed.
    """
    try:
        import scipy.optimize
        import scipy.sparse.csgraph
    except ImportError as error:
        raise MissingPackageError("patch_scipy needs SciPy: pip install scipy") from error
    ours = (
        (scipy.optimize.linear_sum_assignment, linear_sum_assignment),
        (scipy.sparse.csgraph.min_weight_full_bipartite_matching, min_weight_full_bipartite_matching),
    )
    bound: list[tuple[dict[str, Any], str, Any, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "lapwing" or not hasattr(module, "__dict__"):
            continue
        names = vars(module)
        for original, replacement in ours:
            bound += [(names, key, original, replacement) for key, value in list(names.items()) if value is original]
    for names, key, _, replacement in bound:
        names[key] = replacement

    def restore() -> None:
        for names, key, original, replacement in bound:
            if names.get(key) is replacement:
                names[key] = original

    return restore
