"""The call of each package on a dense matrix; worker.py times it.

A solver takes the matrix and returns a column for each row, or the pair (rows, columns).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[Any]
Solver = Callable[[Matrix], Any]


def _lap_family(function: str, **options: Any) -> Callable[[Matrix], Solver]:
    """Return the maker of a solver out of `lap` or `lapx`, both of which install a module `lap`."""

    def make(matrix: Matrix) -> Solver:
        solve = getattr(import_module("lap"), function)
        extend = {} if matrix.shape[0] == matrix.shape[1] else {"extend_cost": True}
        return lambda c: solve(c, return_cost=False, **options, **extend)

    return make


def _lapx_classic(_: Matrix) -> Solver:
    solve = import_module("lap").lapjvc
    return lambda c: solve(c, return_cost=False)


def _lapx_lapjvs(matrix: Matrix) -> Solver:
    """Return lapjvs, which by default would round float64 costs to float32."""
    return _lap_family("lapjvs", prefer_float32=matrix.dtype == np.float32)(matrix)


def _lap_columns(function: str) -> Callable[[Matrix], Solver]:
    """As _lap_family, for functions that answer (column of each row, row of each column)."""

    def make(matrix: Matrix) -> Solver:
        solve = _lap_family(function)(matrix)
        return lambda c: solve(c)[0]

    return make


def _lapjv(matrix: Matrix) -> Solver:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError("lapjv takes square matrices")
    solve = import_module("lapjv").lapjv
    doubles = matrix.dtype == np.float64
    return lambda c: solve(c, force_doubles=doubles)[0]


def _scipy(_: Matrix) -> Solver:
    solver: Solver = import_module("scipy.optimize").linear_sum_assignment
    return solver


def _pot(matrix: Matrix) -> Solver:
    emd = import_module("ot").emd
    rows, cols = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    return lambda c: emd(rows, cols, c, numItermax=10**9).argmax(axis=1)


def _ortools(matrix: Matrix) -> Solver:
    """Return SimpleLinearSumAssignment, with the arcs that it wants of a matrix."""
    if matrix.dtype.kind != "i":
        raise ValueError("takes integers only")
    module = import_module("ortools.graph.python.linear_sum_assignment")
    rows, cols = (np.ascontiguousarray(part.ravel()) for part in np.indices(matrix.shape, dtype=np.int32))

    def solve(c: Matrix) -> Any:
        solver = module.SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(rows, cols, c.ravel())
        if solver.solve() != solver.OPTIMAL:
            raise ValueError("no optimal answer")
        return np.array([solver.right_mate(i) for i in range(len(c))])

    return solve


def _torch_linear_assignment(_: Matrix) -> Solver:
    """Return its form for CPUs, which calls SciPy for each problem of a batch; the batch has one."""
    from_numpy = import_module("torch").from_numpy
    solve = import_module("torch_linear_assignment").batch_linear_assignment
    return lambda c: solve(from_numpy(c)[None])[0].numpy()


def _lapwing(_: Matrix) -> Solver:
    solver: Solver = import_module("lapwing").linear_sum_assignment
    return solver


def _lapwing_certified(_: Matrix) -> Solver:
    lapwing_solve = import_module("lapwing").solve

    def solve(c: Matrix) -> Any:
        result = lapwing_solve(c, threads=1)
        if result.status != "optimal":
            raise ValueError(f"not certified: {result.certificate}")
        return result.row_ind, result.col_ind

    return solve


MAKERS: dict[str, Callable[[Matrix], Solver]] = {
    "lapwing": _lapwing,
    "lapwing:solve": _lapwing_certified,
    "scipy": _scipy,
    "lap:lapjv": _lap_columns("lapjv"),
    "lapx:lapjv": _lap_columns("lapjv"),
    "lapx:lapjvx": _lap_family("lapjvx"),
    "lapx:lapjvr": _lap_family("lapjvr"),
    "lapx:lapjvh": _lap_family("lapjvh"),
    "lapx:lapjvs": _lapx_lapjvs,
    "lapx:lapjvc": _lapx_classic,
    "lapjv": _lapjv,
    "pot:emd": _pot,
    "ortools": _ortools,
    "torch-linear-assignment": _torch_linear_assignment,
}


def load(path: Path) -> Matrix:
    """Return the matrix of a file."""
    matrix: Matrix = np.load(path)
    return matrix


def touch(matrix: Matrix) -> None:
    """Read the matrix, so that it is in the caches as far as they go."""
    matrix.max()


def objective(matrix: Matrix, answer: Any) -> float:
    """Sum of the matched costs in float64; raises unless every row (of the shorter side) has a column of its own."""
    rows, columns = answer if isinstance(answer, tuple) else (np.arange(len(matrix)), np.asarray(answer))
    size = min(matrix.shape)
    if not len(rows) == len(columns) == len(set(map(int, rows))) == len(set(map(int, columns))) == size:
        raise ValueError("not a perfect matching")
    return float(matrix[rows, columns].sum(dtype=np.float64))
