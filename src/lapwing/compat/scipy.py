"""SciPy: `from lapwing.compat.scipy import linear_sum_assignment`, or `patch_scipy()` for code that you do not edit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lapwing.api import linear_sum_assignment
from lapwing.errors import MissingPackageError

__all__ = ["linear_sum_assignment", "patch_scipy"]


def patch_scipy() -> Callable[[], None]:
    """Put `lapwing.linear_sum_assignment` in the place of SciPy's, also under names that modules have imported.

    Modules that are loaded later import Lapwing's from SciPy. Names that are local to a function or held in an object
    stay as they are.

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
    except ImportError as error:
        raise MissingPackageError("patch_scipy needs SciPy: pip install scipy") from error
    original = scipy.optimize.linear_sum_assignment
    bound: list[tuple[dict[str, Any], str]] = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "lapwing" or not hasattr(module, "__dict__"):
            continue
        names = vars(module)
        bound += [(names, key) for key, value in list(names.items()) if value is original]
    for names, key in bound:
        names[key] = linear_sum_assignment

    def restore() -> None:
        for names, key in bound:
            if names.get(key) is linear_sum_assignment:
                names[key] = original

    return restore
