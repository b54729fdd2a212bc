// The public lapwing.linear_sum_assignment, and `partners`, on which lapwing.compat stands: small plain problems are
// solved here, all else is handed to Python.
//
// At ten rows the solver takes a fraction of a microsecond, so this file counts nanoseconds: a plain vectorcall
// function (no argument objects, no dispatch), NumPy's C API (no buffer requests), a workspace on the stack, and the
// GIL kept while a release would cost more than the solve. All other calls are answered, and
// errors raised, by the Python function that make_linear_sum_assignment was given; its module is the function's
// __self__, by which it is found and pickled, so there is no global state.
#define LAPWING_IMPORTS_NUMPY
#include "plain.hpp"
//
#include <cmath>
#include <new>
#include <optional>
#include <vector>

#include "common.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/numbers/total.hpp"

namespace lapwing::bindings {
namespace {

constexpr const char* kFull = "_linear_sum_assignment";  // of its module: the Python function that answers the rest

// The request, if the fast path takes it.
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

// Solves a plain matrix and calls write(answer, cost, tall), which makes the Python object; transposed if
// `tall`. A price is as minimised. Null with no exception set if Python has to look at the problem, or with one.
template <class T, class Write>
PyObject* solve_plain(const Request& request, std::optional<Dual<T>> price, bool with_u, const Write& write) {
    MatrixView<T> cost = view_of<T>(request.cost);
    const bool tall = !price && cost.rows > cost.cols;
    if (tall) cost = cost.transposed();
    Dual<T> prices[kLongestSide];
    if (price) std::fill_n(prices, cost.rows, *price);
    const Problem<T> problem{cost, request.maximize, price ? prices : nullptr};

    SmallSolve<T> small;
    std::vector<Index> row_to_col;  // with as many pairs as an optimum can have
    bool solved = false;
    {
        const DefaultFloatEnvironment arithmetic;
        std::optional<GilRelease> no_gil;
        if (cost.cols > kKeepGilCols) no_gil.emplace();
        solved = small.run(problem, with_u);
        if (solved && price) {
            row_to_col.assign(small.answer.row_to_col, small.answer.row_to_col + cost.rows);
            match_ties(problem, row_to_col, small.answer.v);
            small.answer.row_to_col = row_to_col.data();
        }
    }
    return solved ? write(small.answer, cost, tall) : nullptr;
}

// (row_ind, col_ind)
template <class T>
PyObject* solve_pairs(const Request& request) {
    return solve_plain<T>(request, std::nullopt, false, [](const auto& answer, const auto& cost, bool tall) {
        PyObject* const pair = as_tuple({new_vector(cost.rows, NPY_INT64), new_vector(cost.rows, NPY_INT64)});
        if (pair != nullptr)
            write_pairs(answer.row_to_col, cost.rows, cost.cols, tall, data_of<npy_int64>(PyTuple_GetItem(pair, 0)),
                        data_of<npy_int64>(PyTuple_GetItem(pair, 1)));
        return pair;
    });
}

// The sum of the matched costs, as a double.
template <class T>
double matched_sum(const MatrixView<T>& cost, const Index* row_to_col) {
    Total<double> total;
    for (Index i = 0; i < cost.rows; ++i)
        if (row_to_col[i] >= 0) total.add(static_cast<double>(cost.at(i, row_to_col[i])));
    return total.value();
}

// (row_to_col, col_to_row, sum of the matched costs), int32 and -1 where free.
template <class T>
PyObject* solve_partners(const Request& request, double unmatched_cost) {
    std::optional<Dual<T>> price;
    if (std::isfinite(unmatched_cost)) {
        price = static_cast<Dual<T>>(request.maximize ? -unmatched_cost : unmatched_cost);
        if (std::is_integral_v<T> && (unmatched_cost != std::rint(unmatched_cost) || std::fabs(unmatched_cost) > 1e15))
            return nullptr;
    }
    return solve_plain<T>(request, price, false, [](const auto& answer, const auto& cost, bool tall) {
        PyObject* const parts = as_tuple({new_vector(cost.rows, NPY_INT32), new_vector(cost.cols, NPY_INT32),
                                          PyFloat_FromDouble(matched_sum(cost, answer.row_to_col))});
        if (parts == nullptr) return parts;
        auto* partner = data_of<Index>(PyTuple_GetItem(parts, 0));
        auto* inverse = data_of<Index>(PyTuple_GetItem(parts, 1));
        std::copy_n(answer.row_to_col, cost.rows, partner);
        std::fill_n(inverse, cost.cols, Index{-1});
        for (Index i = 0; i < cost.rows; ++i)
            if (partner[i] >= 0) inverse[partner[i]] = i;
        if (tall) {  // solved as its transpose
            PyObject* const first = PyTuple_GetItem(parts, 0);
            PyObject* const exchanged = PyTuple_New(3);
            if (exchanged != nullptr) {
                PyObject* const all[] = {PyTuple_GetItem(parts, 1), first, PyTuple_GetItem(parts, 2)};
                for (Py_ssize_t k = 0; k < 3; ++k) {
                    Py_INCREF(all[k]);
                    PyTuple_SetItem(exchanged, k, all[k]);
                }
            }
            Py_DECREF(parts);
            return exchanged;
        }
        return parts;
    });
}

// (row_to_col, col_to_row, sum of the matched costs, u, v) of a square matrix; duals of the number type of sums.
template <class T>
PyObject* solve_with_duals(const Request& request) {
    return solve_plain<T>(request, std::nullopt, true, [](const auto& answer, const auto& cost, bool) {
        using D = Dual<T>;
        constexpr int number = std::is_integral_v<D> ? NPY_INT64 : NPY_DOUBLE;
        const Index size = cost.rows;
        PyObject* const parts = as_tuple({new_vector(size, NPY_INT32), new_vector(size, NPY_INT32),
                                          PyFloat_FromDouble(matched_sum(cost, answer.row_to_col)),
                                          new_vector(size, number), new_vector(size, number)});
        if (parts == nullptr) return parts;
        auto* partner = data_of<Index>(PyTuple_GetItem(parts, 0));
        auto* inverse = data_of<Index>(PyTuple_GetItem(parts, 1));
        std::copy_n(answer.row_to_col, size, partner);
        for (Index i = 0; i < size; ++i) inverse[partner[i]] = i;
        std::copy_n(answer.u, size, data_of<D>(PyTuple_GetItem(parts, 3)));
        std::copy_n(answer.v, size, data_of<D>(PyTuple_GetItem(parts, 4)));
        return parts;
    });
}

// partners(cost, unmatched_cost, with_duals=False): None if Python has to look at the problem.
nb::object partners(const nb::handle cost, double unmatched_cost, bool with_duals) {
    if (!PyArray_CheckExact(cost.ptr())) return nb::none();
    const Request request{reinterpret_cast<PyArrayObject*>(cost.ptr()), false};
    if (!is_plain(request.cost) || std::isnan(unmatched_cost)) return nb::none();
    if (with_duals && PyArray_DIM(request.cost, 0) != PyArray_DIM(request.cost, 1)) return nb::none();
    PyObject* const answer = with_number_type(request.cost, [&]<class T>() {
        return with_duals ? solve_with_duals<T>(request) : solve_partners<T>(request, unmatched_cost);
    });
    if (answer != nullptr) return nb::steal(answer);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return nb::none();
}

extern "C" PyObject* linear_sum_assignment(PyObject* module, PyObject* const* args, Py_ssize_t positional,
                                           PyObject* keywords) {
    Request request;
    if (read_arguments(args, positional, keywords, request) && is_plain(request.cost)) {
        try {
            PyObject* pair = with_number_type(request.cost, [&]<class T>() { return solve_pairs<T>(request); });
            if (pair != nullptr || PyErr_Occurred() != nullptr) return pair;
        } catch (const std::bad_alloc&) {
            return PyErr_NoMemory();
        } catch (nb::python_error& error) {  // Ctrl-C
            error.restore();
            return nullptr;
        }
    }
    const nb::object full = nb::steal(PyObject_GetAttrString(module, kFull));
    if (!full.is_valid()) return nullptr;
    return PyObject_Vectorcall(full.ptr(), args, static_cast<std::size_t>(positional), keywords);
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

PyObject* make_linear_sum_assignment(nb::module_ home) {
    static PyMethodDef definition = {"linear_sum_assignment",
                                     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(linear_sum_assignment)),
                                     METH_FASTCALL | METH_KEYWORDS, kDoc};
    const nb::str module = nb::str("lapwing");
    return PyCFunction_NewEx(&definition, home.ptr(), module.ptr());
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
        [](nb::module_ home) { return nb::steal(lapwing::bindings::make_linear_sum_assignment(std::move(home))); },
        "home"_a,
        "The public linear_sum_assignment; `home._linear_sum_assignment(cost_matrix, maximize=False)` answers all that "
        "is not small and plain.");
    module.def(
        "partners", &lapwing::bindings::partners, "cost"_a, "unmatched_cost"_a, "with_duals"_a = false,
        "(row_to_col, col_to_row, sum of matched costs) of a small plain matrix, int32 and -1 where free; None of "
        "any other, or if it has no answer. Rows may stay free at the price, if that is finite. "
        "With duals, of a square matrix alone and without a price, u and v follow.");
}
