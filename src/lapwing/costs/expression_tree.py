"""The language of `lapwing.costs.expression`: from a text to a checked tree.

Python's own parser reads the text, nothing ever evaluates it, and every kind of node that is not named in this file is
refused with its place. The rest is a small tree of four classes, which the CPU (`costs/expression.py`) and the GPU
(`costs/expression_cuda.py`) translate each in its own way:

    Number(value)            a literal, or `pi`, or `inf`
    Scalar(name)             a number that was passed by name
    Coordinate(side, k)      x[i, k] or y[j, k]
    Operation(name, args)    one of OPERATIONS, to which all else has been reduced

Values are floats or truth values, never mixed: comparisons make truth values, `and`, `or`, `not` and `where` take them,
nothing else does, and a cost is a float. `OPERATIONS` tells of each operation what it takes and makes. Powers with
whole exponents up to MAX_POWER have become products by repeated squaring, min and max of many those of two.

A node may stand in several places, so walk a tree with a memory of the nodes (by identity) already seen. `size` counts
a node once for each place.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, Literal

from lapwing.errors import ArgumentError

MAX_LENGTH: Final = 2000  # characters
MAX_SIZE: Final = 400  # operations
MAX_DEPTH: Final = 60
MAX_POWER: Final = 16

_FLOAT, _TRUTH = "float", "truth"
_FF = (_FLOAT, _FLOAT)

_OF_ONE = ("abs", "sqrt", "floor", "ceil", "exp", "expm1", "log", "log1p", "log10")
_TRIGONOMETRIC = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh")

#: The arguments and the result of each operation. Arithmetic is that of IEEE 754, functions are the C library's: `div`
#: gives inf and NaN for divisors of 0, `min(a, b)` is b if b < a, else a, `max(a, b)` b if b > a, else a.
OPERATIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = (
    dict.fromkeys(("add", "sub", "mul", "div", "pow", "min", "max", "arctan2"), (_FF, _FLOAT))
    | dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), (_FF, _TRUTH))
    | dict.fromkeys(("and", "or"), ((_TRUTH, _TRUTH), _TRUTH))
    | {"not": ((_TRUTH,), _TRUTH), "neg": ((_FLOAT,), _FLOAT), "where": ((_TRUTH, *_FF), _FLOAT)}
    | dict.fromkeys(_OF_ONE + _TRIGONOMETRIC, ((_FLOAT,), _FLOAT))
)

#: Operations whose results are rounded correctly, or exact, and so the same everywhere.
EXACT: Final = frozenset(OPERATIONS) - {"pow", "arctan2", *_TRIGONOMETRIC, "exp", "expm1", "log", "log1p", "log10"}


@dataclass(frozen=True, eq=False)
class Number:
    """A literal, in float64."""

    value: float


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number that was passed by name."""

    name: str


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A coordinate of the row's point (x) or of the column's (y)."""

    side: Literal["x", "y"]
    dimension: int


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of `OPERATIONS` on other nodes."""

    name: str
    args: tuple[Node, ...]
    size: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        inner = [arg for arg in self.args if isinstance(arg, Operation)]
        object.__setattr__(self, "size", 1 + sum(arg.size for arg in inner))
        object.__setattr__(self, "depth", 1 + max((arg.depth for arg in inner), default=0))


Node = Number | Scalar | Coordinate | Operation

_CONSTANTS = {"pi": math.pi, "inf": math.inf}
_FUNCTIONS = {"arctan2", "min", "max", "where", *_OF_ONE, *_TRIGONOMETRIC}
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
_COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_COORDINATE = re.compile(r"([xy])(\d+)")
_PREFIXES: Final = re.compile(rf"(?:(?:[-+]|not\b) *){{{MAX_DEPTH + 1}}}")
_STRANGE = re.compile(r"[^A-Za-z0-9_+\-*/<>=!()., ]")
_REMEDIES = {
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "^": "a power is written **",
    "%": "there is no remainder",
    "[": "coordinates are written x0, x1, ...",
}


def is_reserved(name: str) -> bool:
    """Whether a scalar cannot have this name, since the language has a use for it."""
    return name in _FUNCTIONS or name in _CONSTANTS or _COORDINATE.fullmatch(name) is not None


def parse(text: str, dimensions: tuple[int, int], scalars: Collection[str], largest: float) -> Node:
    """A text as a checked tree whose value is a float.

    Parameters
    ----------
    text : str
    dimensions : (int, int)
        How many coordinates the points of the rows and of the columns have.
    scalars : names
    largest : float
        Of the numbers of the arithmetic that the tree is for.

    Raises
    ------
    ArgumentError
        For anything that the language does not have, with its place.
    """
    if len(text) > MAX_LENGTH:
        raise ArgumentError(f"the expression has {len(text)} characters, at most {MAX_LENGTH} are read")
    return _Parser(text, dimensions, scalars, largest).tree()


class _Parser:
    def __init__(self, text: str, dimensions: tuple[int, int], scalars: Collection[str], largest: float) -> None:
        self._text = re.sub(r"[\t\r\n]", " ", text)
        self._indent = len(self._text) - len(self._text.lstrip(" "))
        self._dimensions = dict(zip("xy", dimensions, strict=True))
        self._scalars, self._largest = scalars, largest

    def tree(self) -> Node:
        strange = _STRANGE.search(self._text)
        if strange:
            remedy = _REMEDIES.get(strange[0], "no part of this language")
            raise self._fault(f"{strange[0]!r} cannot be used: {remedy}", strange.start())
        self._check_nesting()
        try:
            with warnings.catch_warnings(action="ignore"):
                root = ast.parse(self._text.strip(" "), mode="eval").body
        except SyntaxError as error:
            position = self._indent + error.offset - 1 if error.offset else len(self._text)
            raise self._fault(error.msg, position) from None
        except (RecursionError, MemoryError):
            raise ArgumentError("the expression is nested too deeply to be read; simplify it") from None
        except ValueError as error:
            raise ArgumentError(f"the expression cannot be read: {error}") from None
        try:
            return self._as(_FLOAT, root)
        except RecursionError:
            raise ArgumentError("the expression is nested too deeply to be read; simplify it") from None

    def _check_nesting(self) -> None:
        """Refuse what Python's parser would read by deep recursion: the stack of a thread may be small."""
        depth = 0
        for position, character in enumerate(self._text):
            depth += (character == "(") - (character == ")")
            if depth > MAX_DEPTH:
                raise self._fault(f"more than {MAX_DEPTH} parentheses are open here; simplify it", position)
        row = _PREFIXES.search(self._text)
        if row:
            raise self._fault(f"more than {MAX_DEPTH} signs in a row; simplify it", row.start())
        if self._text.count("**") > MAX_DEPTH:
            raise ArgumentError(f"the expression has more than {MAX_DEPTH} powers; simplify it")

    def _fault(self, what: str, at: ast.expr | int) -> ArgumentError:
        """An error with a caret under its place."""
        position = at if isinstance(at, int) else self._indent + at.col_offset
        begin, end = max(0, position - 40), position + 40
        shown = self._text[begin:end]
        return ArgumentError(
            f"in the expression, at character {position + 1}: {what}\n  {shown}\n  {' ' * (position - begin)}^"
        )

    def _as(self, wanted: str, node: ast.expr) -> Node:
        """The tree of a node, which must have a float, or a truth value."""
        made = self._node(node)
        found = OPERATIONS[made.name][1] if isinstance(made, Operation) else _FLOAT
        if found == wanted:
            return made
        if wanted == _FLOAT:
            raise self._fault("a comparison is no number: choose one by where(condition, one, other)", node)
        raise self._fault("a number is no condition: compare it with something", node)

    def _operation(self, at: ast.expr, name: str, *args: Node) -> Operation:
        made = Operation(name, args)
        if made.size > MAX_SIZE:
            raise self._fault(f"the expression takes more than {MAX_SIZE} operations up to here; simplify it", at)
        if made.depth > MAX_DEPTH:
            raise self._fault(f"the expression is nested more than {MAX_DEPTH} deep here; simplify it", at)
        return made

    def _node(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(ast.USub(), operand):
                return self._operation(node, "neg", self._as(_FLOAT, operand))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self._as(_FLOAT, operand)
            case ast.UnaryOp(ast.Not(), operand):
                return self._operation(node, "not", self._as(_TRUTH, operand))
            case ast.BinOp(base, ast.Pow(), exponent):
                return self._power(node, self._as(_FLOAT, base), exponent)
            case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
                name = _BINARY[type(operator)]
                return self._operation(node, name, self._as(_FLOAT, left), self._as(_FLOAT, right))
            case ast.BoolOp(operator, values):
                name = "and" if isinstance(operator, ast.And) else "or"
                return reduce(
                    lambda a, b: self._operation(node, name, a, b), [self._as(_TRUTH, value) for value in values]
                )
            case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARED:
                name = _COMPARED[type(operator)]
                return self._operation(node, name, self._as(_FLOAT, left), self._as(_FLOAT, right))
            case ast.Compare(_, [_, _, *_]):
                raise self._fault("comparisons cannot be chained: write 'a < b and b < c'", node)
            case ast.Call():
                return self._call(node)
            case ast.IfExp():
                raise self._fault("'if' cannot be used: write where(condition, one, other)", node)
        raise self._fault(f"{_in_words(node)} cannot be used here", node)

    def _number(self, node: ast.Constant) -> Number:
        if type(node.value) not in (int, float):
            raise self._fault(f"{node.value!r} is no real number", node)
        try:
            value = float(node.value)  # type: ignore[arg-type]  # an int or a float
        except OverflowError:
            value = math.inf
        if value > self._largest:
            raise self._fault(f"the number is above the largest of its arithmetic, {self._largest:.3g}", node)
        return Number(value)

    def _name(self, node: ast.Name) -> Node:
        if node.id in self._scalars:
            return Scalar(node.id)
        if node.id in _CONSTANTS:
            return Number(_CONSTANTS[node.id])
        coordinate = _COORDINATE.fullmatch(node.id)
        if coordinate is None:
            if node.id in _FUNCTIONS:
                raise self._fault(f"{node.id} is a function: write {node.id}(...)", node)
            known = ", ".join(["x0, x1, ..., y0, y1, ..., pi, inf", *sorted(self._scalars)])
            raise self._fault(f"{node.id!r} is not known; there are {known}: pass a scalar as {node.id}=...", node)
        side: Literal["x", "y"] = "x" if coordinate[1] == "x" else "y"
        if int(coordinate[2]) >= self._dimensions[side] or coordinate[2] != str(int(coordinate[2])):
            dimensions = self._dimensions[side]
            has = f"{side}0 to {side}{dimensions - 1}" if dimensions else "no coordinates"
            raise self._fault(f"{node.id} does not exist: points of {side} have {has}", node)
        return Coordinate(side, int(coordinate[2]))

    def _call(self, node: ast.Call) -> Node:
        function = node.func
        if not isinstance(function, ast.Name) or function.id not in _FUNCTIONS:
            name = f"{function.id!r}" if isinstance(function, ast.Name) else _in_words(function)
            raise self._fault(f"{name} is no function here; there are {', '.join(sorted(_FUNCTIONS))}", node)
        name = function.id
        if node.keywords:
            raise self._fault(f"{name} takes no arguments by name", node)
        takes, _ = OPERATIONS[name]
        many = name in ("min", "max")
        if len(node.args) != len(takes) and not (many and len(node.args) > 2):
            wanted = "two or more arguments" if many else f"{len(takes)} argument{'s' if len(takes) > 1 else ''}"
            raise self._fault(f"{name} takes {wanted}, got {len(node.args)}", node)
        if many:
            args = [self._as(_FLOAT, arg) for arg in node.args]
            return reduce(lambda a, b: self._operation(node, name, a, b), args)
        args = [self._as(wanted, arg) for wanted, arg in zip(takes, node.args, strict=True)]
        return self._operation(node, name, *args)

    def _power(self, node: ast.expr, base: Node, exponent: ast.expr) -> Node:
        """A product, by repeated squaring from the lowest bit of the exponent on, or a call of the C library's pow."""
        whole = _whole(exponent)
        if whole is None:
            return self._operation(node, "pow", base, self._as(_FLOAT, exponent))
        product: Node | None = None
        square, rest = base, abs(whole)
        while rest:
            if rest & 1:
                product = square if product is None else self._operation(node, "mul", product, square)
            rest >>= 1
            if rest:
                square = self._operation(node, "mul", square, square)
        if product is None:
            return Number(1.0)
        return self._operation(node, "div", Number(1.0), product) if whole < 0 else product


def _whole(exponent: ast.expr) -> int | None:
    """The value of a literal that is a small whole number, with its sign."""
    match exponent:
        case ast.UnaryOp(ast.USub(), ast.Constant(value)):
            sign = -1
        case ast.Constant(value):
            sign = 1
        case _:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return sign * int(value) if value <= MAX_POWER and value == int(value) else None


def _in_words(node: ast.AST) -> str:
    """The node's name in Python."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).lower()
    operator = getattr(node, "op", None) or (getattr(node, "ops", None) or [None])[0]
    if operator is None:
        return f"this ({words})"
    return f"this ({words}, {re.sub(r'(?<!^)(?=[A-Z])', ' ', type(operator).__name__).lower()})"
