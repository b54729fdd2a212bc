"""Costs from a formula in the coordinates of two sets of points, which numexpr evaluates in blocks of rows.

The tree (costs/expression_tree.py) is handed to numexpr node by node, as numexpr's own objects: no text reaches it,
since it evaluates text as Python; and nothing is rewritten on the way, as it would rewrite a division by a number. All
arithmetic is that of one dtype, and element by element, by the C library's functions. So a pair's cost does not depend
on the rows and columns that are computed with it, as the contract of a source demands; a numexpr with Intel's vector
library, whose results depend on a number's place in memory, is refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing import _core
from lapwing.costs.base import DENSE_LIMIT_BYTES, CostArray, CostSource, CudaFunction, Tier
from lapwing.costs.coordinates import as_points, device_of_points, frozen, is_small
from lapwing.costs.expression_tree import Coordinate, Node, Number, Operation, Scalar, is_reserved, parse
from lapwing.errors import ArgumentError, DtypeError, MissingPackageError

if TYPE_CHECKING:
    from lapwing.gpu.runtime.arrays import GpuArray

_CACHE_BYTES = 128 << 20  # rows are read some ten times on structured costs, and copied ten times faster than computed
_BLOCK_BYTES = 1 << 20

_PLAIN = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "neg": "neg"}
_LOGIC = {"gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne", "and": "and", "or": "or", "not": "invert"}
_SWAPPED = {"lt": "gt", "le": "ge"}


@dataclass(frozen=True, eq=False)
class ExpressionCost(CostSource):
    """(m, n) costs computed by a formula whenever they are read; made by `lapwing.costs.expression`.

    Attributes
    ----------
    text : str
    x, y : (m, d) and (n, e), float32 or float64, C-ordered, read-only
    scalars : dict of float
        Rounded to the points' dtype.
    nan_becomes : float or None
        The infinity that stands for costs that are not a number.
    """

    tier: ClassVar[Tier] = "computed"
    text: str
    x: CostArray
    y: CostArray
    scalars: Mapping[str, float]
    cache_bytes: int = _CACHE_BYTES
    matrix_limit: int = DENSE_LIMIT_BYTES
    device_of: GpuArray | None = None
    nan_becomes: float | None = None

    def limited(self, limit: int) -> ExpressionCost:
        """The same costs, with fewer rows kept."""
        return replace(self, cache_bytes=min(limit, self.cache_bytes), matrix_limit=min(limit, self.matrix_limit))

    def __repr__(self) -> str:
        return f"<lapwing.costs.ExpressionCost: {self.shape[0]} x {self.shape[1]} {self.dtype}, {self.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        limits = self.cache_bytes, self.matrix_limit
        return type(self), (self.text, self.x, self.y, dict(self.scalars), *limits, None, self.nan_becomes)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), len(self.y)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.x.dtype

    @property
    def held_bytes(self) -> int:
        return min(self.cache_bytes, self.nbytes)

    @property
    def cuda_function(self) -> CudaFunction:
        from lapwing.costs.expression_cuda import device_function

        return device_function(self.tree, self.x, self.y, self.scalars)

    @cached_property
    def tree(self) -> Node:
        """The checked tree; its scalars are names, in the order of `scalars`."""
        dimensions = self.x.shape[1], self.y.shape[1]
        tree = parse(self.text, dimensions, tuple(self.scalars), float(np.finfo(self.dtype).max))
        if self.nan_becomes is None:
            return tree
        infinity: Node = Number(math.inf)
        if self.nan_becomes < 0:
            infinity = Operation("neg", (infinity,))
        return Operation("where", (Operation("eq", (tree, tree)), tree, infinity))

    def compiled(self, transposed: bool) -> Any:
        """The source that the core reads; for the transposed problem, the same operations on the same numbers."""
        if 0 in self.shape:
            return np.zeros(self.shape[::-1] if transposed else self.shape, self.dtype)
        return self._transposed if transposed else self._forward

    def read(self, rows: slice) -> CostArray:
        """The costs of some rows, computed anew."""
        chosen = self.x[rows]
        costs = np.empty((len(chosen), self.shape[1]), self.dtype)
        step = max(1, _BLOCK_BYTES // max(1, self.shape[1] * self.dtype.itemsize))
        supply = _Rows(self._evaluate, chosen, self.y, "xy") if costs.size else None
        for begin in range(0, len(costs) if supply else 0, step):
            costs[begin : begin + step] = supply(begin, min(begin + step, len(costs)))  # type: ignore[misc]
        return costs

    def picked(self, row_to_col: NDArray[np.int64]) -> CostArray:
        """The costs of the matched pairs, in the order of their rows."""
        rows = np.flatnonzero(row_to_col >= 0)
        if not rows.size:
            return np.zeros(0, self.dtype)
        x, y = self.x[rows], self.y[row_to_col[rows]]
        given = {f"x{k}": x[:, k] for k in range(x.shape[1])} | {f"y{k}": y[:, k] for k in range(y.shape[1])}
        return np.broadcast_to(self._evaluate(given), rows.shape)

    def identity(self) -> Iterator[bytes]:
        """The formula, its scalars and the points."""
        yield repr((self.text, sorted(self.scalars.items()), self.x.shape, self.nan_becomes)).encode()
        yield self.x.tobytes()
        yield self.y.tobytes()

    def counters(self) -> dict[str, float]:
        """Rows found in the cache and not, and blocks of rows that were computed."""
        counted: dict[str, float] = {} if 0 in self.shape else self._forward.counters()
        if "_transposed" in vars(self):
            return {name: value + self._transposed.counters()[name] for name, value in counted.items()}
        return counted

    @cached_property
    def _forward(self) -> _core.CostSource:
        return self._supplied(_Rows(self._evaluate, self.x, self.y, "xy"))

    @cached_property
    def _transposed(self) -> _core.CostSource:
        return self._supplied(_Rows(self._evaluate, self.y, self.x, "yx"))

    def _supplied(self, rows: _Rows) -> _core.CostSource:
        make = _core.supplied_costs_float32 if self.dtype == np.float32 else _core.supplied_costs_float64
        return make(*rows.shape, self.cache_bytes, rows)

    @cached_property
    def _evaluate(self) -> Callable[[Mapping[str, CostArray]], CostArray]:
        return _compile(self.tree, self.dtype, self.scalars)


def expression(text: str, x: Any, y: Any, **scalars: Any) -> ExpressionCost:
    """Costs from a formula: ``expression("(x0-y0)**2 + w*abs(x1-y1)", x=X, y=Y, w=0.3)``.

    Parameters
    ----------
    text : str
        A formula in the coordinates x0, x1, ... of a row's point and y0, y1, ... of a column's: numbers, scalars by
        name, ``pi``, ``inf``, ``+ - * / **``, comparisons with ``and``, ``or`` and ``not``,
        ``where(condition, one, other)``, and the functions abs, sqrt, exp, expm1, log, log1p, log10, sin, cos, tan,
        arcsin, arccos, arctan, arctan2, sinh, cosh, tanh, floor, ceil, min, max. docs/costs.md has the whole language.
        Python never evaluates the text.
    x, y : (m, d) and (n, e) real, finite
        The points of the rows and of the columns, copied; if they are on a GPU, costs are computed there. All
        arithmetic is float32 if both are float16 or float32, else float64, each operation rounded to it.
    **scalars : float
        Finite numbers, to be used by their names.

    Returns
    -------
    ExpressionCost, (m, n)

    Raises
    ------
    ArgumentError
        If the text is not of this language: with the place of the fault. Or for points that cannot be used.
    DtypeError, RangeError
    MissingPackageError
        When costs are computed on a CPU, if numexpr is not installed.

    Notes
    -----
    A cost of +inf (-inf when maximising) forbids the pair, however it came about; ``x / 0`` is infinite or NaN, and NaN
    is refused by `solve`, with its place. Whole powers up to 16 are products, others the C library's ``pow``.
    """
    if not isinstance(text, str):
        raise DtypeError(f"an expression must be a text, got {type(text).__name__}")
    points_x, points_y = as_points(x, "x"), as_points(y, "y")
    dtype = np.dtype(np.float32 if is_small(points_x) and is_small(points_y) else np.float64)
    made = ExpressionCost(
        text,
        frozen(points_x.astype(dtype)),
        frozen(points_y.astype(dtype)),
        {name: _as_scalar(name, value, dtype) for name, value in scalars.items()},
        device_of=device_of_points(x, y),
    )
    unused = set(scalars) - _names(made.tree)
    if unused:
        raise ArgumentError(f"the expression does not use {', '.join(sorted(unused))}: leave it out, or name it there")
    return made


def _as_scalar(name: str, given: Any, dtype: np.dtype[Any]) -> float:
    if is_reserved(name):
        raise ArgumentError(f"a scalar cannot be called {name}: the language has another use for this name")
    try:
        with np.errstate(over="ignore"):
            value = float(dtype.type(float(given)))
    except (TypeError, ValueError, OverflowError):
        raise DtypeError(f"the scalar {name} must be a number, got {given!r}") from None
    if not math.isfinite(value):
        raise ArgumentError(f"the scalar {name} must be finite in {dtype}, got {given}")
    return value


def _names(tree: Node) -> set[str]:
    """The scalars that a tree uses."""
    seen: dict[int, Node] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting += node.args if isinstance(node, Operation) else ()
    return {node.name for node in seen.values() if isinstance(node, Scalar)}


class _Rows:
    """Computes rows of costs: the function behind a source of supplied rows. `sides` says whose points the rows are."""

    def __init__(self, evaluate: Callable[..., CostArray], rows: CostArray, cols: CostArray, sides: str) -> None:
        self.shape = len(rows), len(cols)
        self._evaluate, self._rows, self._side = evaluate, rows, sides[0]
        by_dimension = np.ascontiguousarray(cols.T)
        self._cols = {f"{sides[1]}{k}": coordinates for k, coordinates in enumerate(by_dimension)}

    def __call__(self, begin: int, end: int) -> CostArray:
        block = self._rows[begin:end]
        given = {f"{self._side}{k}": block[:, k, None] for k in range(block.shape[1])}
        return np.broadcast_to(self._evaluate(self._cols | given), (end - begin, self.shape[1]))

    def pairs(self, rows: NDArray[np.int32], cols: NDArray[np.int32]) -> CostArray:
        """The costs of pairs, a row and a column each."""
        chosen = self._rows[rows]
        given = {f"{self._side}{k}": chosen[:, k] for k in range(chosen.shape[1])}
        given |= {name: coordinates[cols] for name, coordinates in self._cols.items()}
        return np.ascontiguousarray(np.broadcast_to(self._evaluate(given), rows.shape))


# --- numexpr --------------------------------------------------------------------------------------


def _compile(
    tree: Node, dtype: np.dtype[Any], scalars: Mapping[str, float]
) -> Callable[[Mapping[str, CostArray]], CostArray]:
    """A function from arrays of coordinates, by name, to the costs, by numexpr's machine."""
    numexpr = _numexpr()
    nodes = numexpr.expressions
    kind: Any = "float" if dtype == np.float32 else "double"
    made: dict[int, Any] = {}
    used: set[str] = set()

    def constant(value: float) -> Any:
        return nodes.ConstantNode(dtype.type(value))

    def variable(name: str) -> Any:
        used.add(name)
        return nodes.VariableNode(name, kind)

    def translated(node: Node) -> Any:
        if id(node) not in made:
            match node:
                case Number(value):
                    made[id(node)] = constant(value)
                case Scalar(name):
                    made[id(node)] = constant(scalars[name])
                case Coordinate(side, dimension):
                    made[id(node)] = variable(f"{side}{dimension}")
                case Operation(name, args):
                    made[id(node)] = operation(name, [translated(arg) for arg in args])
        return made[id(node)]

    def operation(name: str, args: list[Any]) -> Any:
        if name in _PLAIN:
            return nodes.OpNode(_PLAIN[name], args, kind)
        if name in _LOGIC:
            return nodes.OpNode(_LOGIC[name], args, "bool")
        if name in _SWAPPED:
            return nodes.OpNode(_SWAPPED[name], args[::-1], "bool")
        if name in ("min", "max"):
            first, second = args
            comes_first = nodes.OpNode("gt", [first, second] if name == "min" else [second, first], "bool")
            return nodes.FuncNode("where", [comes_first, second, first], kind)
        return nodes.FuncNode("absolute" if name == "abs" else name, args, kind)

    root = translated(tree)
    names = sorted(used)
    single: Any = float if dtype == np.float32 else np.double  # as numexpr calls them

    def evaluate(given: Mapping[str, CostArray]) -> CostArray:
        costs: CostArray = program(*(given[name] for name in names), ex_uses_vml=False)
        return costs

    try:
        program = numexpr.NumExpr(root, signature=[(name, single) for name in names])
        evaluate(dict.fromkeys(names, np.zeros(1, dtype)))
    except (ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"the expression has too many coordinates, or different numbers, for numexpr ({error}); simplify it"
        ) from error
    return evaluate


def _numexpr() -> Any:
    try:
        import numexpr
    except ImportError as error:
        raise MissingPackageError(
            "an expression is computed by numexpr on a CPU, which is not installed: pip install 'lapwing[expressions]'"
        ) from error
    except ValueError as error:  # numexpr reads OMP_NUM_THREADS, which may be a list for OpenMP
        raise MissingPackageError(
            f"numexpr, which computes an expression on a CPU, does not load with OMP_NUM_THREADS="
            f"{os.environ.get('OMP_NUM_THREADS')} ({error}); set NUMEXPR_NUM_THREADS=1, or another number"
        ) from error
    if numexpr.use_vml:
        raise MissingPackageError(
            "this numexpr is built with Intel's VML, by which a cost depends on its place in memory: install one "
            "without it, for instance by pip install --force-reinstall numexpr"
        )
    return numexpr
