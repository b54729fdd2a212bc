// Answers of the core as Python sees them: solutions, certificates, and what is kept on the way.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

#include "common.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/exact/solve.hpp"
#include "lapwing/solution.hpp"

namespace lapwing::bindings {

template <class D>
nb::dict to_dict(Solution<D>&& solution) {
    nb::dict answer;
    answer["status"] = status_name(solution.status);
    answer["row_to_col"] = indices_to_numpy(solution.row_to_col);
    answer["u"] = to_numpy(std::move(solution.u));
    answer["v"] = to_numpy(std::move(solution.v));
    answer["shift"] = solution.shift;
    answer["hall_rows"] = indices_to_numpy(solution.hall_rows);
    answer["hall_cols"] = indices_to_numpy(solution.hall_cols);
    answer["statistics"] = counted(solution.statistics);
    return answer;
}

// Calls keep(u, v, row_to_col).
template <class D>
Keep<D> make_keep(const nb::object& callable) {
    return [&callable](std::vector<D>&& u, std::vector<D>&& v, std::vector<Index>&& row_to_col) {
        const GilAcquire gil;
        call(callable, to_numpy(std::move(u)), to_numpy(std::move(v)), indices_to_numpy(row_to_col));
    };
}

inline const char* fault_name(Fault fault) {
    switch (fault) {
        case Fault::column_range: return "column_range";
        case Fault::column_twice: return "column_twice";
        case Fault::forbidden_pair: return "forbidden_pair";
        case Fault::invalid_dual: return "invalid_dual";
        case Fault::invalid_cost: return "invalid_cost";
        default: return "none";
    }
}

inline PyObject* number(double value) { return PyFloat_FromDouble(value); }
inline PyObject* number(std::int64_t value) { return PyLong_FromLongLong(value); }
inline PyObject* number(Int128 value) {
    if (value == static_cast<std::int64_t>(value)) return number(static_cast<std::int64_t>(value));
    const nb::object high = nb::steal(number(static_cast<std::int64_t>(value >> 64))),
                     low = nb::steal(PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(value)));
    return ((high << nb::int_(64)) | low).release().ptr();
}

template <class D>
nb::dict to_dict(const Certificate<D>& certificate) {
    nb::dict answer;
    answer["fault"] = fault_name(certificate.fault);
    answer["fault_row"] = certificate.fault_row;
    answer["fault_col"] = certificate.fault_col;
    answer["matched"] = certificate.matched;
    answer["complete"] = certificate.complete;
    answer["exact"] = certificate.exact;
    answer["primal"] = nb::steal(number(certificate.primal));
    answer["dual"] = nb::steal(number(certificate.dual));
    answer["dual_below"] = nb::steal(number(certificate.dual_below));
    answer["gap"] = nb::steal(number(certificate.gap));
    answer["violation"] = certificate.violation;
    answer["violation_row"] = certificate.violation_row;
    answer["violation_col"] = certificate.violation_col;
    answer["bound"] = certificate.bound;
    return answer;
}

// A NumPy array (parts, size).
inline nb::object parts_to_numpy(const std::vector<std::vector<double>>& parts, std::size_t size) {
    auto all = std::make_unique<std::vector<double>>();
    for (const auto& part : parts) all->insert(all->end(), part.begin(), part.end());
    double* data = all->data();
    nb::capsule owner(all.get(), [](void* p) noexcept {
        std::unique_ptr<std::vector<double>>(static_cast<std::vector<double>*>(p));
    });
    all.release();
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {parts.size(), size}, owner));
}

using Parts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline nb::object to_dict(ExactSolution&& solution, std::size_t rows, std::size_t cols) {
    nb::dict answer;
    answer["status"] = status_name(solution.status);
    answer["rounded"] = solution.rounded;
    answer["violator_is_cols"] = solution.violator_is_cols;
    answer["row_to_col"] = indices_to_numpy(solution.row_to_col);
    answer["u"] = parts_to_numpy(solution.u, rows);
    answer["v"] = parts_to_numpy(solution.v, cols);
    answer["hall_rows"] = indices_to_numpy(solution.hall_rows);
    answer["hall_cols"] = indices_to_numpy(solution.hall_cols);
    answer["statistics"] = counted(solution.statistics);
    return answer;
}

}  // namespace lapwing::bindings
