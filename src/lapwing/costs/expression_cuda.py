"""The tree of an expression as CUDA C++: a pure function from tree to text.

The text is a function template that computes the cost of one pair, an operation a line, in the order and precision of
the CPU; compile it without fused multiply-add (-fmad=false; as plain C++ with -ffp-contract=off), and operations of
`expression_tree.EXACT` give the same bits as there. The others are the math library's, a few units in the last place
apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lapwing.costs.base import CostArray, CudaFunction
from lapwing.costs.expression_tree import Coordinate, Node, Number, Operation, Scalar

_OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "and": "{} && {}",
    "or": "{} || {}",
    "not": "!{}",
    "where": "{} ? {} : {}",
    "min": "{1} < {0} ? {1} : {0}",
    "max": "{1} > {0} ? {1} : {0}",
}
_RENAMED = {"abs": "fabs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}
_MAKE_TRUTH = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"))


def to_cuda(tree: Node, dtype: np.dtype[np.float32] | np.dtype[np.float64], scalars: Sequence[str], name: str) -> str:
    """A CUDA C++ function for the cost of a pair.

    Parameters
    ----------
    tree : Node
        From `expression_tree.parse`.
    dtype : float32 or float64
        Of all of its arithmetic.
    scalars : names
        In the order in which their values are passed.
    name : str
        Of the function.

    Returns
    -------
    str
        ``template <class X, class Y, class S> __device__ inline T name(const X& x, const Y& y, const S& s)``, where
        x[k], y[k] and s[k] are coordinates and scalars, of type T, float or double.
    """
    number = "float" if dtype == np.float32 else "double"
    suffix = "f" if dtype == np.float32 else ""
    lines: list[str] = []
    named: dict[int, str] = {}

    def literal(value: float) -> str:
        rounded = float(dtype.type(value))
        return rounded.hex() + suffix if rounded < np.inf else f"(-log{suffix}(0{'.0' + suffix}))"

    def operand(node: Node) -> str:
        match node:
            case Number(value):
                return literal(value)
            case Scalar(scalar):
                return f"s[{scalars.index(scalar)}]"
            case Coordinate(side, dimension):
                return f"{side}[{dimension}]"
            case Operation():
                if id(node) not in named:
                    named[id(node)] = line(node)
                return named[id(node)]

    def line(node: Operation) -> str:
        called = f"{_RENAMED.get(node.name, node.name)}{suffix}({', '.join(['{}'] * len(node.args))})"
        value = _OPERATORS.get(node.name, called).format(*map(operand, node.args))
        lines.append(f"    const {'bool' if node.name in _MAKE_TRUTH else number} t{len(lines)} = {value};")
        return f"t{len(lines) - 1}"

    result = operand(tree)
    head = (
        f"template <class X, class Y, class S>\n__device__ inline {number} {name}(const X& x, const Y& y, const S& s)"
    )
    return "\n".join([f"{head} {{", *lines, f"    return {result};", "}", ""])


def device_function(tree: Node, x: CostArray, y: CostArray, scalars: Mapping[str, float]) -> CudaFunction:
    """The program that computes the tree's costs on a GPU. Coordinates are stored by dimension, for coalesced loads.

    Parameters
    ----------
    tree : Node
    x, y : (m, d) and (n, e), both float32 or both float64
    scalars : name -> value, of the tree's
    """
    number = "float" if x.dtype == np.float32 else "double"

    def coordinates(side: str, points: CostArray, place: str) -> str:
        loads = (f"__ldg(in.{side} + {k} * in.{side}_count + {place})" for k in range(points.shape[1]))
        return f"const {number} {side}[] = {{{', '.join(loads) or '0'}}};"

    values = ", ".join(f"static_cast<{number}>(in.scalar_{name})" for name in scalars) or "0"
    text = f"""{to_cuda(tree, x.dtype, tuple(scalars), "pair")}
__device__ {number} cost(const Arrays& in, long long i, long long j) {{
    {coordinates("x", x, "i")}
    {coordinates("y", y, "j")}
    const {number} s[] = {{{values}}};
    return pair(x, y, s);
}}
"""
    arrays: dict[str, int | float | CostArray] = {"x": np.ascontiguousarray(x.T), "y": np.ascontiguousarray(y.T)}
    arrays |= {"x_count": len(x), "y_count": len(y)}
    return CudaFunction(text, arrays | {f"scalar_{name}": float(value) for name, value in scalars.items()})
