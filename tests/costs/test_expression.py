"""Costs from expressions: NumPy's values bit for bit, the dense problem's answer, and the same function in CUDA C++."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.costs.expression_cuda import to_cuda
from lapwing.costs.expression_tree import EXACT, OPERATIONS, Coordinate, Number, Operation, Scalar
from support.checks import assert_optimal

_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
    "min": lambda a, b: np.where(b < a, b, a),
    "max": lambda a, b: np.where(b > a, b, a),
}


def by_numpy(node, x, y, scalars, dtype):
    """The value of a tree for all pairs, by NumPy, each operation in this dtype."""
    match node:
        case Number(value):
            return dtype.type(value)
        case Scalar(name):
            return dtype.type(scalars[name])
        case Coordinate("x", k):
            return x[:, k, None]
        case Coordinate("y", k):
            return y[None, :, k]
        case Operation(name, args):
            values = [by_numpy(arg, x, y, scalars, dtype) for arg in args]
            return (_NUMPY.get(name) or getattr(np, name))(*values)


def expected(source):
    with np.errstate(all="ignore"):
        values = by_numpy(source.tree, source.x, source.y, source.scalars, source.dtype)
    return np.broadcast_to(values, source.shape).astype(source.dtype)


def same_bits(a, b):
    """Equal, NaN for NaN and zeros by their signs."""
    return (
        a.dtype == b.dtype
        and np.array_equal(np.isnan(a), np.isnan(b))
        and np.all(np.isnan(a) | ((a == b) & (np.signbit(a) == np.signbit(b))))
    )


def points(m=40, n=50, d=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, d)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)


# --- texts at random, valid ones -------------------------------------------------------------------

_LEAVES = st.sampled_from(["x0", "x1", "x2", "y0", "y1", "y2", "w", "0", "1", "2.5", "0.1", "1e-3", "pi", "inf"])
_ONE = sorted(name for name in EXACT if OPERATIONS[name] == (("float",), "float") and name != "neg")


def _numbers(inner):
    condition = st.builds("{} {} {}".format, inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner)
    conditions = st.one_of(
        condition, st.builds("not {}".format, condition), st.builds("{} and {} or {}".format, *[condition] * 3)
    )
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("{}({})".format, st.sampled_from(_ONE), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("(-{})".format, inner),
        st.builds("({})**{}".format, inner, st.integers(-3, 5)),
        st.builds("where({}, {}, {})".format, conditions, inner, inner),
    )


EXACT_TEXTS = st.recursive(_LEAVES, _numbers, max_leaves=12)


@settings(max_examples=200)
@given(text=EXACT_TEXTS, dtype=st.sampled_from([np.float32, np.float64]))
def test_exact_operations_are_numpys(text, dtype):
    try:
        source = lw.costs.expression(f"{text} + w", *points(dtype=dtype), w=0.3)
    except lw.ArgumentError as error:
        assert "simplify" in str(error)
        return
    costs = source.read(slice(None))
    assert same_bits(costs, expected(source))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - EXACT - {"pow", "arctan2"}))
def test_functions_are_numpys_up_to_a_few_ulps(name, dtype):
    argument = {"arcsin": "(x0 - y0)/9", "arccos": "(x0 - y0)/9", "log1p": "abs(x0 - y0)"}.get(name, "x0 - y0")
    argument = "abs(x0 - y0) + 0.01" if name in ("log", "log10") else argument
    source = lw.costs.expression(f"{name}({argument})", *points(dtype=dtype))
    np.testing.assert_allclose(source.read(slice(None)), expected(source), rtol=20 * np.finfo(dtype).eps)


ALL = (
    "where(x0 < y0, exp(x0 - y0), log1p(abs(x1*y1))) + abs(x2 - y2)**2.5 + sin(x0*y1) + arctan2(x1, y2) + tanh(x0 + y0)"
    " + expm1(x1/5) * cosh(y2/3) + sqrt(abs(x0)) + w"
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_cost_has_the_same_bits_however_it_is_read(dtype):
    x, y = points(300, 5000, dtype=dtype)
    source = lw.costs.expression(ALL, x, y, w=0.25)
    whole = source.read(slice(None))
    rng = np.random.default_rng(1)
    for _ in range(30):
        begin = int(rng.integers(0, 300))
        end = int(rng.integers(begin, 301))
        assert same_bits(source.read(slice(begin, end)), whole[begin:end])
    assert same_bits(source.read(slice(5, 200, 7)), whole[5:200:7])
    for i in range(0, 300, 37):
        assert same_bits(source.compiled(False).read(i, i + 1), whole[i])
    row_to_col = rng.permutation(5000)[:300]
    row_to_col[::5] = -1
    rows = np.flatnonzero(row_to_col >= 0)
    assert same_bits(source.picked(row_to_col), whole[rows, row_to_col[rows]])
    assert same_bits(source.compiled(False).pairs(rows, row_to_col[rows]), whole[rows, row_to_col[rows]])
    for cols in (1, 2, 3, 7, 31, 33, 1023, 1025, 4097):  # of other lengths, and elsewhere in memory
        at = int(rng.integers(0, 5000 - cols))
        part = lw.costs.expression(ALL, x[:9], y[at : at + cols], w=0.25)
        assert same_bits(part.read(slice(None)), whole[:9, at : at + cols])
    other = source.compiled(True)
    for j in range(0, 5000, 499):
        assert same_bits(other.read(j, j + 1), whole[:, j])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "maximize"),
    [((60, 60), True), ((50, 80), False), ((80, 50), False), ((1100, 1200), False), ((1200, 1100), True)],
)
def test_as_the_dense_problem(dtype, shape, maximize):
    source = lw.costs.expression("(x0-y0)**2 + w*abs(x1-y1)", *points(*shape, dtype=dtype), w=0.3)
    result = lw.solve(source, maximize=maximize)
    assert result.plan.tier == "computed"
    assert_optimal(result, source.read(slice(None)), maximize=maximize)
    if max(shape) > 1000:
        assert result.statistics["requests"] > 0 and 0 < result.statistics["cache_hit_rate"] < 1


def test_docstring_definition():
    x, y = points(30, 40)
    squared = lw.costs.expression("(x0-y0)**2 + (x1-y1)**2 + (x2-y2)**2", x, y)
    assert np.array_equal(squared.read(slice(None)), lw.costs.squared_euclidean(x, y).read(slice(None)))


def test_forbidden_pairs_and_invalid_costs():
    x, y = points(1100, 1200)
    near = lw.costs.expression("where(abs(x0-y0) < 1.5, (x1-y1)**2, inf)", x, y)
    assert_optimal(lw.solve(near, unmatched_cost=4.0), near.read(slice(None)), unmatched_cost=4.0)
    x[700, 2], y[33, 2] = 0.5, 0.5
    for method in ("core", "jv"):
        with pytest.raises(lw.InvalidCostError, match=r"cost\[700, 33\] is nan"):
            lw.solve(lw.costs.expression("0/(x2 - y2)", x, y), method=method)
    with pytest.raises(lw.InvalidCostError, match=r"is -inf: when minimising"):
        lw.solve(lw.costs.expression("log(abs(x2 - y2))", x, y), method="core")


def test_dtypes_of_points():
    assert lw.costs.expression("x0", [[1], [2]], [[3]]).dtype == np.float64
    x, y = points(3, 4, dtype=np.float16)
    assert lw.costs.expression("x0", x, y).dtype == np.float32
    assert lw.costs.expression("x0", x, y.astype(np.float64)).dtype == np.float64
    tenth = lw.costs.expression("0.1 + 0*x0", x, y).read(slice(0, 1))[0, 0]
    assert tenth == np.float32(0.1)
    third = lw.costs.expression("x0/3", [[1.0]], [[0.0]]).read(slice(None))
    assert third[0, 0] == 1 / 3  # never multiplied by the reciprocal


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_match(shape):
    assert lw.solve(lw.costs.expression("x0-y0", np.zeros((shape[0], 1)), np.zeros((shape[1], 2)))).objective == 0


def test_constant_costs_and_other_dimensions():
    assert lw.solve(lw.costs.expression("1", np.zeros((3, 0)), np.zeros((5, 0)))).objective == 3
    source = lw.costs.expression("x2 - y0", np.arange(6.0).reshape(2, 3), np.arange(4.0)[:, None])
    assert np.array_equal(source.read(slice(None)), [[2, 1, 0, -1], [5, 4, 3, 2]])


def test_plan_pickle_and_repr():
    source = lw.costs.expression("x0*y0 + w", *points(3000, 3000), w=2)
    plan = lw.plan(source)
    assert (plan.method, plan.tier) == ("core", "computed")
    again = pickle.loads(pickle.dumps(source))
    assert np.array_equal(again.read(slice(0, 5)), source.read(slice(0, 5)))
    assert repr(source) == "<lapwing.costs.ExpressionCost: 3000 x 3000 float64, x0*y0 + w>"


@pytest.mark.parametrize(
    ("arguments", "scalars", "error", "words"),
    [
        ((3, [[1]], [[2]]), {}, lw.DtypeError, "an expression must be a text, got int"),
        (("x0 + z", [[1]], [[2]]), {}, lw.ArgumentError, "'z' is not known"),
        (("x0 + w", [[1]], [[2]]), {"w": "a"}, lw.DtypeError, "the scalar w must be a number, got 'a'"),
        (("x0 + w", [[1]], [[2]]), {"w": np.inf}, lw.ArgumentError, "the scalar w must be finite in float64, got inf"),
        (("x0 + w", np.float32([[1]]), np.float32([[2]])), {"w": 1e39}, lw.ArgumentError, "finite in float32, got 1e"),
        (("x0", [[1]], [[2]]), {"w": 1}, lw.ArgumentError, "does not use w: leave it out"),
        (("x0", [[1]], [[2]]), {"sqrt": 1}, lw.ArgumentError, "cannot be called sqrt"),
        (("x0", [[1]], [[2]]), {"x1": 1}, lw.ArgumentError, "cannot be called x1"),
        (("x0", [1, 2], [[2]]), {}, lw.ArgumentError, r"pass x\[:, None\]"),
        (("x0", [[1]], [[np.nan]]), {}, lw.ArgumentError, r"y\[0, 0\] is nan; coordinates must be finite"),
    ],
)
def test_refusals(arguments, scalars, error, words):
    with pytest.raises(error, match=words):
        lw.costs.expression(*arguments, **scalars)


def test_too_much_for_numexpr():
    def sum_of(terms):
        half = len(terms) // 2
        return terms[0] if half == 0 else f"({sum_of(terms[:half])}+{sum_of(terms[half:])})"

    with pytest.raises(lw.ArgumentError, match="different numbers, for numexpr"):
        lw.costs.expression(sum_of(["x0", *map(str, range(300))]), [[1]], [[2]]).read(slice(None))
    x, y = points(3, 4, 40)
    with pytest.raises(lw.ArgumentError, match="too many coordinates"):
        lw.costs.expression("+".join(f"x{k}*y{k}" for k in range(40)), x, y).read(slice(None))


def test_numexpr_is_missing_or_built_with_vml(monkeypatch):
    import numexpr

    monkeypatch.setattr(numexpr, "use_vml", True)
    with pytest.raises(lw.MissingPackageError, match="Intel's VML.*install one without"):
        lw.solve(lw.costs.expression("x0", [[1]], [[2]]))
    monkeypatch.setitem(sys.modules, "numexpr", None)
    source = lw.costs.expression("x0", [[1]], [[2]])  # a GPU would not need it
    with pytest.raises(lw.MissingPackageError, match=r"pip install 'lapwing\[expressions\]'"):
        lw.solve(source)


def test_numexpr_does_not_load():
    """OpenMP allows a list in OMP_NUM_THREADS, numexpr does not."""
    code = "import lapwing as lw; lw.costs.expression('x0 + y0', [[1]], [[2]]).read(slice(None))"
    result = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"OMP_NUM_THREADS": "4,2"}, capture_output=True, text=True
    )
    assert re.search("MissingPackageError.*OMP_NUM_THREADS=4,2 .*set NUMEXPR_NUM_THREADS=1", result.stderr)


# --- CUDA C++ --------------------------------------------------------------------------------------


def test_cuda_text():
    source = lw.costs.expression("where(x0 < y1, w*(x0-y1)**2, inf)", *points(dtype=np.float32), w=0.1)
    assert to_cuda(source.tree, source.dtype, tuple(source.scalars), "cost") == (
        "template <class X, class Y, class S>\n"
        "__device__ inline float cost(const X& x, const Y& y, const S& s) {\n"
        "    const bool t0 = x[0] < y[1];\n"
        "    const float t1 = x[0] - y[1];\n"
        "    const float t2 = t1 * t1;\n"
        "    const float t3 = s[0] * t2;\n"
        "    const float t4 = t0 ? t3 : (-logf(0.0f));\n"
        "    return t4;\n"
        "}\n"
    )
    assert "    return 0x1.99999a0000000p-4f;" in to_cuda(Number(0.1), np.dtype(np.float32), (), "cost")
    assert "    return 0x1.999999999999ap-4;" in to_cuda(Number(0.1), np.dtype(np.float64), (), "cost")


TEXTS = [
    "(x0-y0)**2 + w*abs(x1-y1)",
    "where(x0 < y0 and not x1 >= y1 or x2 == y2, min(x0, y0, 1), max(x1, -y1)) / (x2 - y2)",
    "sqrt(abs(x0*y0)) + floor(x1*3) - ceil(y1/0.1) + (x2 - y2)**-3 + pi",
    "where(x0 != y0, inf, -inf)",
    ALL,
    *(f"{name}(x0*y0/9)" for name in sorted(set(OPERATIONS) - EXACT - {"pow", "arctan2"})),
    *("(((x0 - y0)**3 + (x1*y1)**7)/3)**2 - -x2", "1 + 0*x0", "abs(x0)**y1"),
]


WITH_SCALAR = (TEXTS[0], ALL)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cuda_computes_the_same(tmp_path, dtype):
    """As plain C++: the same bits where they are promised."""
    x, y = points(30, 40, dtype=dtype)
    sources = [lw.costs.expression(text, x, y, **({"w": 0.3} if text in WITH_SCALAR else {})) for text in TEXTS]
    number = "float" if dtype == np.float32 else "double"
    code = ["#include <math.h>", "#define __device__"]
    for k, source in enumerate(sources):
        code.append(to_cuda(source.tree, source.dtype, tuple(source.scalars), f"cost{k}"))
        code.append(
            f'extern "C" void fill{k}(const {number}* x, const {number}* y, const {number}* s, {number}* out) {{\n'
            "    for (int i = 0; i < 30; ++i)\n        for (int j = 0; j < 40; ++j)\n"
            f"            out[i * 40 + j] = cost{k}(x + i * 3, y + j * 3, s);\n}}"
        )
    (tmp_path / "costs.cpp").write_text("\n".join(code))
    built = ["g++", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC"]
    subprocess.run([*built, "costs.cpp", "-o", "costs.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "costs.so"))
    for k, source in enumerate(sources):
        scalars = np.array([*source.scalars.values(), 0], dtype)
        out = np.empty((30, 40), dtype)
        getattr(library, f"fill{k}")(*(ctypes.c_void_p(a.ctypes.data) for a in (source.x, source.y, scalars, out)))
        costs = source.read(slice(None))
        if _is_exact(source.tree):
            assert same_bits(out, costs), source.text
        else:
            np.testing.assert_allclose(out, costs, rtol=30 * np.finfo(dtype).eps, err_msg=source.text)


def _is_exact(node):
    return not isinstance(node, Operation) or (node.name in EXACT and all(map(_is_exact, node.args)))
