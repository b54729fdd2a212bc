// Small plain problems, whose calls count nanoseconds: NumPy's C API in place of buffer requests.
//
// Include it before any other header that includes NumPy's. direct.cpp imports NumPy for the whole module.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL lapwing_numpy
#ifndef LAPWING_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/trust.hpp"
#include "lapwing/reductions/large_costs.hpp"

namespace lapwing::bindings {

inline constexpr std::size_t kStackBytes = 36 << 10;  // enough for 200 x 200 costs that need no copy
inline constexpr npy_intp kLongestSide = 8192;
inline constexpr npy_intp kMostPairs =
    1 << 20;                                  // of more rows than the direct path takes: of more pairs, threads count
inline constexpr npy_intp kKeepGilCols = 64;  // up to which a release of the GIL would cost more than the solve

// Not of a subclass's memory, nor of a buffer that is no bytes: that of a map may have lost its file
// (lapwing.costs.streamed).
inline bool has_plain_memory(PyArrayObject* array) {
    PyObject* base = PyArray_BASE(array);
    for (; base != nullptr && PyArray_Check(base); base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base)))
        if (!PyArray_CheckExact(base)) return false;
    return base == nullptr || PyBytes_Check(base) || PyObject_CheckBuffer(base) == 0;
}

inline bool is_plain(PyArrayObject* cost) {
    if (PyArray_NDIM(cost) != 2 || !PyArray_ISBEHAVED_RO(cost) || !has_plain_memory(cost)) return false;
    const npy_intp rows = PyArray_DIM(cost, 0), cols = PyArray_DIM(cost, 1), item = PyArray_ITEMSIZE(cost);
    const npy_intp shorter = std::min(rows, cols);
    return shorter > 0 && std::max(rows, cols) <= kLongestSide &&
           (shorter <= kDirectMaxRows || (shorter <= kJvOrCoreMaxRows && rows * cols <= kMostPairs)) &&
           PyArray_STRIDE(cost, 0) % item == 0 && PyArray_STRIDE(cost, 1) % item == 0;
}

// The costs of a plain array.
template <class T>
MatrixView<T> view_of(PyArrayObject* cost) {
    constexpr npy_intp item = sizeof(T);
    return {static_cast<const T*>(PyArray_DATA(cost)), static_cast<Index>(PyArray_DIM(cost, 0)),
            static_cast<Index>(PyArray_DIM(cost, 1)), PyArray_STRIDE(cost, 0) / item, PyArray_STRIDE(cost, 1) / item};
}

// One solve of a small matrix: its answer lies in memory of this object.
template <class T>
class SmallSolve {
  public:
    using D = Dual<T>;
    DirectAnswer<D> answer;

    // False if there is no answer, the problem is invalid or out of range, or the answer is not sure to be optimal.
    // Throws nb::python_error for Ctrl-C, of more rows than the direct path takes.
    bool run(const Problem<T>& problem, bool with_u) {
        try {
            if (std::min(problem.cost.rows, problem.cost.cols) > kDirectMaxRows) return run_larger(problem);
            const std::size_t bytes = direct_workspace_bytes(problem);
            if (bytes > kStackBytes) on_heap_ = make_workspace(bytes);
            std::byte* const workspace = bytes > kStackBytes ? on_heap_.get() : on_stack_;
            return solve_surely(problem, workspace, with_u, memory_, answer) && answer.status == Status::optimal;
        } catch (const InvalidCost&) {
            return false;
        } catch (const CostTooLarge&) {
            return false;
        } catch (const CostsChanged&) {
            return false;
        }
    }

    // The statistics of the solve, which took so long.
    Statistics statistics(double seconds) const {
        Statistics counted = memory_.solution.statistics;
        if (counted.values.empty()) counted.set("rows_read", answer.rows_read), counted.set("seconds", seconds);
        return counted;
    }

  private:
    static constexpr Index kSampledRows = 16;

    bool run_larger(const Problem<T>& problem) {
        Control control(kNoLimit, [](const Progress&) { return look_for_signals(); }, false);
        Solution<D>& solution = memory_.solution;
        std::optional<LargeCosts> large;
        if constexpr (std::is_floating_point_v<T>) large = find_large_costs(problem, kSampledRows);
        const bool is_sure = large ? solve_beside_large(problem, *large, control, solution)
                                   : solve_larger_surely(problem, control, solution);
        if (!is_sure || solution.status != Status::optimal) return false;
        answer.row_to_col = solution.row_to_col.data();
        answer.u = solution.u.data(), answer.v = solution.v.data();
        return true;
    }

    alignas(kDirectAlignment) std::byte on_stack_[kStackBytes];
    Workspace on_heap_;
    AnswerMemory<D> memory_;
};

// A tuple of arrays and numbers, which it takes; null if one of them is.
template <std::size_t N>
PyObject* as_tuple(PyObject* const (&parts)[N]) {
    PyObject* tuple = std::find(parts, parts + N, nullptr) == parts + N ? PyTuple_New(N) : nullptr;
    for (std::size_t k = 0; k < N; ++k) {
        if (tuple == nullptr) Py_XDECREF(parts[k]);
        if (tuple != nullptr) PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(k), parts[k]);
    }
    return tuple;
}

inline PyObject* new_vector(npy_intp size, int type) { return PyArray_SimpleNew(1, &size, type); }

template <class U>
U* data_of(PyObject* array) {
    return static_cast<U*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
}

template <class Solve>
PyObject* with_number_type(PyArrayObject* cost, const Solve& solve) {
    switch (PyArray_TYPE(cost)) {
        case NPY_DOUBLE: return solve.template operator()<double>();
        case NPY_FLOAT: return solve.template operator()<float>();
        case NPY_INT32: return solve.template operator()<std::int32_t>();
        case NPY_INT64: return solve.template operator()<std::int64_t>();
        default: return nullptr;
    }
}

}  // namespace lapwing::bindings
