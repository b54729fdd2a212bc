// Sparse costs in the bindings: lapwing._core.SparseCosts, and what solve, certify and the others do with it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "common.hpp"
#include "lapwing/sparse/matrix.hpp"

namespace lapwing::bindings {

// Arrays of a matrix by rows, as a caller has them; with `transposed` they are read as the transposed problem.
struct SparseCosts {
    Vector<std::int64_t> indptr;
    Vector<Index> indices;
    nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> data;
    Index rows, cols;  // of the arrays
    bool transposed;

    Index problem_rows() const { return transposed ? cols : rows; }
    Index problem_cols() const { return transposed ? rows : cols; }

    // Calls body.operator()<T>(view) with the data's number type.
    template <class Body>
    decltype(auto) with_view(Body&& body) const {
        return with_dtype(data, [&]<class T>() {
            return body.template operator()<T>(SparseView<T>{indptr.data(), indices.data(),
                                                             static_cast<const T*>(data.data()), rows, cols,
                                                             static_cast<std::int64_t>(indices.size())});
        });
    }
};

inline bool is_sparse(const nb::object& cost) { return nb::isinstance<SparseCosts>(cost); }

// These take SparseCosts for `cost`, and are called by the functions of the same names without "sparse".
nb::dict solve_sparse_costs(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                            const nb::object& unmatched_cols, const nb::object& start_v, int threads, double time_limit,
                            const nb::object& hook, const nb::object& keep, double keep_every);
nb::object solve_sparse_exactly(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                                const nb::object& unmatched_cols, const nb::object& start_v, double most,
                                double precision, double time_limit, const nb::object& hook);
nb::object sparse_range_excess(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                               const nb::object& unmatched_cols);

}  // namespace lapwing::bindings
