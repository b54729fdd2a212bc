"""The expression language: what it reads, what it refuses and where, and that nothing is ever evaluated as Python."""

from __future__ import annotations

import functools
import sys
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.costs.expression_tree import MAX_DEPTH, MAX_LENGTH, Coordinate, Number, Operation, Scalar, parse


def read(text, dimensions=(3, 3), scalars=("w", "scale")):
    return parse(text, dimensions, scalars, 1e308)


def shown(node):
    """A tree as nested calls."""
    match node:
        case Number(value):
            return f"{value:g}"
        case Scalar(name):
            return name
        case Coordinate(side, dimension):
            return f"{side}{dimension}"
        case Operation(name, args):
            return f"{name}({', '.join(map(shown, args))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x0", "x0"),
        (" \n x0 +\n\ty0 ", "add(x0, y0)"),
        ("x0 - y0 - 1", "sub(sub(x0, y0), 1)"),
        ("-x0**2", "neg(mul(x0, x0))"),
        ("x0**3", "mul(x0, mul(x0, x0))"),
        ("x0**5", "mul(x0, mul(mul(x0, x0), mul(x0, x0)))"),
        ("x0**1", "x0"),
        ("x0**0", "1"),
        ("x0**-2", "div(1, mul(x0, x0))"),
        ("x0**2.0", "mul(x0, x0)"),
        ("x0**17", "pow(x0, 17)"),
        ("x0**0.5", "pow(x0, 0.5)"),
        ("x0**y1**2", "pow(x0, mul(y1, y1))"),
        ("w*abs(x1-y2)/scale", "div(mul(w, abs(sub(x1, y2))), scale)"),
        ("min(x0, y0, 3)", "min(min(x0, y0), 3)"),
        ("where(not x0 < 1 and x1 >= 2 or y0 != 3, pi, inf)", None),
        ("where(x0 <= 1 or x1 == 2, 1e-3, 0x10)", "where(or(le(x0, 1), eq(x1, 2)), 0.001, 16)"),
        ("+x0", "x0"),
        ("1_000", "1000"),
    ],
)
def test_trees(text, tree):
    assert tree is None or shown(read(text)) == tree


@pytest.mark.parametrize(
    ("text", "words", "position"),
    [
        ("", "invalid syntax", 1),
        ("x0 +", "invalid syntax", 5),
        ("(x0", "was never closed", 1),
        ("x0 y0", "invalid syntax", None),
        ("x0) + (y0", "unmatched", 3),
        ("2 * z", "'z' is not known; there are x0, x1, .* scale, w: pass a scalar as z=", 5),
        ("x0 + x3", "x3 does not exist: points of x have x0 to x2", 6),
        ("y01", "y01 does not exist", 1),
        ("1 + eval(x0)", "'eval' is no function here; there are abs, ", 5),
        ("sqrt", r"sqrt is a function: write sqrt\(...\)", 1),
        ("x0.real", "attribute", 1),
        ("(x0).__class__(3)", "attribute.* is no function", None),
        ("x0[0]", r"'\[' cannot be used: coordinates are written x0", 3),
        ("x0 & y0", "'&' cannot be used: write 'and'", 4),
        ("x0 % y0", "there is no remainder", 4),
        ("'x0'", "no part of this language", 1),
        ("lambda: x0", "':' cannot be used", 7),
        ("x0 # no", "'#' cannot be used", 4),
        ("x0 // y0", r"bin op, floor div\) cannot be used", 1),
        ("x0 << 2", "left shift|l shift", 1),
        ("x0 < y0", r"no number: choose one by where\(condition, one, other\)", 1),
        ("1 + (x0 < y0)", "no number", 6),
        ("where(x0, 1, 2)", "a number is no condition", 7),
        ("x0 and y0", "a number is no condition", 1),
        ("where(0 < x0 < 1, 1, 2)", "cannot be chained: write 'a < b and b < c'", 7),
        ("where(x0 is y0, 1, 2)", r"compare, is\)", 7),
        ("x0 if x0 < 1 else y0", r"write where\(condition, one, other\)", 1),
        ("sqrt(x0, y0)", "sqrt takes 1 argument, got 2", 1),
        ("arctan2(x0)", "arctan2 takes 2 arguments, got 1", 1),
        ("min(x0)", "min takes two or more arguments, got 1", 1),
        ("sqrt(x=x0)", "no arguments by name", 1),
        ("min(*x0, y0)", "starred", 5),
        ("1j", "1j is no real number", 1),
        ("True", "True is no real number", 1),
        ("...", "no real number", 1),
        ("1e400", "above the largest of its arithmetic", 1),
        ("9" * 400, "above the largest of its arithmetic", 1),
        ("(x0, y0)", "tuple", 1),
        ("await x0", r"this \(await\)", 1),
        ("where(x0 for x0 in y0)", "where takes 3 arguments, got 1", 1),
    ],
)
def test_refusals_say_where(text, words, position):
    with pytest.raises(lw.ArgumentError, match=words) as caught:
        read(text)
    message = str(caught.value)
    if position is not None:
        assert f"at character {position}:" in message
        _, line, caret = message.split("\n")
        assert caret.index("^") - 2 == min(position - 1, 40) and text.strip()[:3] in line


@pytest.mark.parametrize(
    "text",
    [
        "-" * (MAX_LENGTH - 2) + "x0",
        "(" * 900 + "x0" + ")" * 900,
        "where(" + "not " * 300 + "(x0 < 1), 1, 2)",
        "sqrt(" * 300 + "x0" + ")" * 300,
        "x0" + "+x0" * 600,
        "x0" + "**y0" * 300,
        "x0" + "**2" * 300,
        "((x0**16)**16)**16",
        "x0" * 1001,
        "9**" * 300 + "9",
    ],
)
def test_what_is_too_deep_or_long(text):
    with pytest.raises(lw.ArgumentError, match="deep|long|characters|more than|parentheses|invalid decimal|simplify"):
        read(text)


def test_depth_and_length_are_enough_for_sums():
    assert read("+".join(["(x0-y0)**2"] * (MAX_DEPTH - 2))).depth == MAX_DEPTH - 1


class Watch:
    """The events that an audit hook sees while on: evaluating, importing, opening. It cannot be taken away again."""

    on = False
    seen: ClassVar[list[str]] = []

    @classmethod
    @functools.cache
    def install(cls):
        def hook(event, arguments):
            if cls.on and event in ("exec", "import", "open", "os.system", "subprocess.Popen", "object.__getattr__"):
                cls.seen.append(f"{event} {arguments}")

        sys.addaudithook(hook)


PIECES = st.sampled_from(
    [
        *(
            "x0",
            "y0",
            "x1",
            "w",
            "z",
            "pi",
            "inf",
            "(",
            ")",
            "(",
            ")",
            ",",
            ".",
            "+",
            "-",
            "*",
            "/",
            "**",
            "<",
            "<=",
            "==",
        ),
        *("and", "or", "not", "if", "else", "lambda", "for", "in", "await", "yield", "where", "min", "sqrt", "eval"),
        *("exec", "open", "__import__", "__class__", "os", "system", "True", "None", "0", "1", "2.5", "1e308", "0x1f"),
        *(
            "1j",
            ":=",
            ":",
            ";",
            "[",
            "]",
            "{",
            "}",
            "'",
            '"',
            "\\",
            "#",
            "@",
            "&",
            "|",
            "~",
            "^",
            "%",
            "//",
            "<<",
            "is",
        ),
        *("\n", "\t", "\0", "\u00e9", "\ud800", "\uff58" + "0", "x0.real", "(lambda:0)()", "[0][0]", "9" * 30),
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES).map("".join))


@settings(max_examples=1000, deadline=None)
@given(text=TEXTS)
def test_no_text_is_evaluated(text):
    Watch.install()
    Watch.on = True
    try:
        read(text)
    except lw.ArgumentError:
        pass
    finally:
        Watch.on = False
    assert not Watch.seen


def test_the_watch_sees_evaluation():
    Watch.install()
    Watch.on = True
    assert eval("1 + 1") == 2
    Watch.on = False
    assert Watch.seen.pop().startswith("exec") and not Watch.seen


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(" * 190 + "x0" + ")" * 190, "60 parentheses"),
        ("-" * 300 + "x0", "60 signs"),
        ("where(" + "not " * 200 + "x0 < 1, 1, 2)", "60 signs"),
        ("x0" + "**x0" * 200, "60 powers"),
    ],
)
def test_deep_nesting_is_refused_before_python_reads_it(text, words):
    with pytest.raises(lw.ArgumentError, match=words):
        lw.costs.expression(text, np.eye(2), np.eye(2))
    assert lw.costs.expression("(" * 60 + "x0" + ")" * 60, np.eye(2), np.eye(2)).shape == (2, 2)
