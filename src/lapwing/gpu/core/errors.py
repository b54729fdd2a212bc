"""Why the core method has no answer: invalid costs, or a Hall violator; in the words of the CPU's methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InternalError, InvalidCostError, LapwingError, RangeError
from lapwing.gpu.core.solver import CoreSolve
from lapwing.gpu.costs.canonical import CanonicalForm
from lapwing.gpu.runtime.copies import read
from lapwing.gpu.runtime.workspace import Workspace


def invalid_cost(view: CanonicalForm, solve: CoreSolve, line: int) -> LapwingError:
    """The error for the first invalid cost of a row of the matrix as oriented, which has one."""
    costs = solve.read_row(line)
    maximize = view.matrix.maximize
    if costs.dtype.kind == "f":
        wrong = np.isnan(costs) | (costs == (np.inf if maximize else -np.inf))
        if wrong.any():
            position = int(wrong.argmax())
            return InvalidCostError(*view.given(line, position), float(costs[position]), maximize)
    finite = np.where(np.isfinite(costs), costs, 0)
    position = int(np.argmax(np.abs(finite.astype(np.float64))))
    row, col = view.given(line, position)
    return RangeError(
        f"cost[{row}, {col}] is {costs[position]}: for this shape, sums of such costs do not stay exact; subtract a "
        "constant from all costs, or divide them"
    )


def hall_violator(view: CanonicalForm, solve: CoreSolve) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a problem whose searches ended without a free column, and the fewer columns that they have.

    Raises
    ------
    InternalError
        If the rows that they reached do not prove it.
    """
    matrix = view.matrix
    sizes = {"rows": (matrix.rows, "uint8"), "cols": (matrix.cols, "uint8"), "outside": (1, "int64")}
    with Workspace(solve.context, sizes) as memory:
        memory.clear()
        solve.name_violator(memory["rows"], memory["cols"], memory["outside"])
        marked = (read(solve.context, memory[name], sizes[name][0], "uint8") for name in ("rows", "cols"))
        violators, reach = (np.flatnonzero(bytes_).astype(np.int64) for bytes_ in marked)
        outside = int(read(solve.context, memory["outside"], 1, "int64")[0])
    if outside or len(violators) <= len(reach):
        raise InternalError("the method called the problem infeasible without a proof")
    return violators, reach
