// The public lapwing.linear_sum_assignment: small plain problems are solved here, all else is handed to Python.
//
// At ten rows the solver takes a fraction of a microsecond, so this file counts nanoseconds: a plain vectorcall
// function (no argument objects, no dispatch), NumPy's C API (no buffer requests), a workspace on the stack, and the
// GIL kept while a release would cost more than the solve. All other calls are answered, and
// errors raised, by the Python function that make_linear_sum_assignment was given; it is the function's __self__, so
// there is no global state.
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <algorithm>
#include <new>
#include <optional>

#include "common.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/numbers/trust.hpp"

namespace lapwing::bindings {
namespace {

constexpr std::size_t kStackBytes = 32 << 10;  // enough for 200 x 200 costs that need no copy
constexpr npy_intp kLongestSide = 8192;
constexpr npy_intp kKeepGilCols = 64;

// What was asked, if the fast path takes it.
struct Request {
    PyArrayObject* cost = nullptr;
    bool maximize = false;
};

bool read_maximize(PyObject* given, Request& request) {
    request.maximize = given == Py_True;
    return given == Py_True || given == Py_False;
}

// linear_sum_assignment(cost_matrix, maximize=False); false if anything needs a closer look.
bool read_arguments(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, Request& request) {
    if (positional < 1 || positional > 2 || !PyArray_CheckExact(args[0])) return false;
    request.cost = reinterpret_cast<PyArrayObject*>(args[0]);
    if (positional == 2 && !read_maximize(args[1], request)) return false;
    if (keywords == nullptr) return true;
    return positional == 1 && PyTuple_Size(keywords) == 1 &&
           PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, 0), "maximize") == 0 &&
           read_maximize(args[1], request);
}

// Not of a subclass's memory, nor of a buffer that is no bytes: that of a map may have lost its file
// (lapwing.costs.streamed).
bool has_plain_memory(PyArrayObject* array) {
    PyObject* base = PyArray_BASE(array);
    for (; base != nullptr && PyArray_Check(base); base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base)))
        if (!PyArray_CheckExact(base)) return false;
    return base == nullptr || PyBytes_Check(base) || PyObject_CheckBuffer(base) == 0;
}

bool is_plain(PyArrayObject* cost) {
    if (PyArray_NDIM(cost) != 2 || !PyArray_ISBEHAVED_RO(cost) || !has_plain_memory(cost)) return false;
    const npy_intp rows = PyArray_DIM(cost, 0), cols = PyArray_DIM(cost, 1), item = PyArray_ITEMSIZE(cost);
    return rows > 0 && cols > 0 && std::min(rows, cols) <= kDirectMaxRows && std::max(rows, cols) <= kLongestSide &&
           PyArray_STRIDE(cost, 0) % item == 0 && PyArray_STRIDE(cost, 1) % item == 0;
}

template <class T>
bool solve_small(const Problem<T>& problem, std::byte* workspace, Workspace& second, DirectAnswer<Dual<T>>& answer) {
    try {
        return solve_surely(problem, workspace, false, second, answer) && answer.status == Status::optimal;
    } catch (const InvalidCost&) {
        return false;
    } catch (const CostTooLarge&) {
        return false;
    } catch (const CostsChanged&) {
        return false;
    }
}

// The matched pairs in the order of rows; row_to_col is of the transposed problem if `tall`.
void write_pairs(const Index* row_to_col, Index rows, Index cols, bool tall, npy_int64* row_ind, npy_int64* col_ind) {
    if (!tall) {
        for (Index i = 0; i < rows; ++i) {
            row_ind[i] = i;
            col_ind[i] = row_to_col[i];
        }
        return;
    }
    Index partner[kLongestSide];
    std::fill_n(partner, cols, Index{-1});
    for (Index i = 0; i < rows; ++i) partner[row_to_col[i]] = i;
    for (Index j = 0; j < cols; ++j) {
        if (partner[j] < 0) continue;
        *row_ind++ = j;
        *col_ind++ = partner[j];
    }
}

// (row_ind, col_ind), or null with no exception set if Python has to look at the problem, or with one.
template <class T>
PyObject* solve_plain(const Request& request) {
    constexpr npy_intp item = sizeof(T);
    MatrixView<T> cost{static_cast<const T*>(PyArray_DATA(request.cost)),
                       static_cast<Index>(PyArray_DIM(request.cost, 0)),
                       static_cast<Index>(PyArray_DIM(request.cost, 1)), PyArray_STRIDE(request.cost, 0) / item,
                       PyArray_STRIDE(request.cost, 1) / item};
    const bool tall = cost.rows > cost.cols;
    if (tall) cost = cost.transposed();
    const Problem<T> problem{cost, request.maximize, nullptr};

    alignas(kDirectAlignment) std::byte on_stack[kStackBytes];
    std::byte* workspace = on_stack;
    Workspace on_heap;
    const std::size_t bytes = direct_workspace_bytes(problem);
    if (bytes > kStackBytes) {
        on_heap = make_workspace(bytes);
        workspace = on_heap.get();
    }
    DirectAnswer<Dual<T>> answer;
    Workspace second;
    bool solved = false;
    {
        const DefaultFloatEnvironment arithmetic;
        std::optional<GilRelease> no_gil;
        if (cost.cols > kKeepGilCols) no_gil.emplace();
        solved = solve_small(problem, workspace, second, answer);
    }
    if (!solved) return nullptr;

    npy_intp size = cost.rows;
    PyObject* row_ind = PyArray_SimpleNew(1, &size, NPY_INT64);
    PyObject* col_ind = PyArray_SimpleNew(1, &size, NPY_INT64);
    PyObject* pair = row_ind != nullptr && col_ind != nullptr ? PyTuple_New(2) : nullptr;
    if (pair == nullptr) {
        Py_XDECREF(row_ind);
        Py_XDECREF(col_ind);
        return nullptr;
    }
    write_pairs(answer.row_to_col, cost.rows, cost.cols, tall,
                static_cast<npy_int64*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(row_ind))),
                static_cast<npy_int64*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(col_ind))));
    PyTuple_SetItem(pair, 0, row_ind);
    PyTuple_SetItem(pair, 1, col_ind);
    return pair;
}

PyObject* solve_any(const Request& request) {
    switch (PyArray_TYPE(request.cost)) {
        case NPY_DOUBLE: return solve_plain<double>(request);
        case NPY_FLOAT: return solve_plain<float>(request);
        case NPY_INT32: return solve_plain<std::int32_t>(request);
        case NPY_INT64: return solve_plain<std::int64_t>(request);
        default: return nullptr;
    }
}

extern "C" PyObject* linear_sum_assignment(PyObject* full, PyObject* const* args, Py_ssize_t positional,
                                           PyObject* keywords) {
    Request request;
    if (read_arguments(args, positional, keywords, request) && is_plain(request.cost)) {
        try {
            PyObject* pair = solve_any(request);
            if (pair != nullptr || PyErr_Occurred() != nullptr) return pair;
        } catch (const std::bad_alloc&) {
            return PyErr_NoMemory();
        }
    }
    return PyObject_Vectorcall(full, args, static_cast<std::size_t>(positional), keywords);
}

constexpr const char* kDoc =
    R"(linear_sum_assignment($self, cost_matrix, maximize=False)
--

`scipy.optimize.linear_sum_assignment`: the same signature, results, exception types and texts.

Parameters
----------
cost_matrix : (m, n) real matrix
maximize : bool

Returns
-------
row_ind, col_ind : (min(m, n),) int64
    The matched rows in increasing order and their columns.

Raises
------
ValueError
    "expected a matrix (2-D array), got a %r array", "matrix contains invalid numeric entries", "cost matrix is
    infeasible".
TypeError
    "Cannot cast array data ..." for dtypes that float64 cannot hold.
)";

PyObject* make_linear_sum_assignment(nb::callable full) {
    static PyMethodDef definition = {"linear_sum_assignment",
                                     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(linear_sum_assignment)),
                                     METH_FASTCALL | METH_KEYWORDS, kDoc};
    const nb::str module = nb::str("lapwing");
    return PyCFunction_NewEx(&definition, full.ptr(), module.ptr());
}

int import_numpy() {
    import_array1(-1);
    return 0;
}

}  // namespace
}  // namespace lapwing::bindings

void bind_direct(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    if (lapwing::bindings::import_numpy() != 0) throw nb::python_error();
    module.def(
        "make_linear_sum_assignment",
        [](nb::callable full) { return nb::steal(lapwing::bindings::make_linear_sum_assignment(std::move(full))); },
        "full"_a,
        "The public linear_sum_assignment; `full(cost_matrix, maximize=False)` answers all that is not small and "
        "plain.");
}
