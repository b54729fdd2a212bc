// lapwing._core.certify: the proof of an answer, with the GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "answers.hpp"
#include "common.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "sparse.hpp"

namespace lapwing::bindings {
namespace {

template <class T>
nb::dict certify_as(CertificateInput<T> input, const nb::object& unmatched_cost, const nb::object& unmatched_cols,
                    const nb::object& row_to_col, const nb::object& u, const nb::object& v, int parts, int threads) {
    if (parts < 1 || parts > kMostDualParts || (parts > 1 && !std::is_floating_point_v<T>))
        throw nb::value_error("duals of so many parts cannot be read");
    Vector<Dual<T>> unmatched_holder, cols_holder, u_holder, v_holder;
    Vector<std::int64_t> match_holder;
    const auto rows = static_cast<std::size_t>(input.cost.rows), cols = static_cast<std::size_t>(input.cost.cols);
    input.unmatched_cost = optional_vector(unmatched_cost, rows, unmatched_holder, "unmatched_cost");
    input.unmatched_cols = optional_vector(unmatched_cols, cols, cols_holder, "unmatched_cols");
    input.row_to_col = optional_vector(row_to_col, rows, match_holder, "row_to_col");
    input.parts = parts;
    input.u = optional_vector(u, parts * rows, u_holder, "u");
    input.v = optional_vector(v, parts * cols, v_holder, "v");
    Certificate<Dual<T>> certificate;
    {
        const Computing computing;
        certificate = certify(input, threads, until_a_signal());
    }
    return to_dict(certificate);
}

nb::dict certify_any(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                     const nb::object& unmatched_cols, const nb::object& row_to_col, const nb::object& u,
                     const nb::object& v, int parts, int threads) {
    if (is_sparse(cost)) {
        const auto& sparse = nb::cast<const SparseCosts&>(cost);
        return sparse.with_view([&]<class T>(const SparseView<T>& pairs) {
            CertificateInput<T> input;
            input.cost.rows = sparse.problem_rows();
            input.cost.cols = sparse.problem_cols();
            input.sparse = &pairs;
            input.sparse_by_columns = sparse.transposed;
            input.maximize = maximize;
            return certify_as(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts, threads);
        });
    }
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        CertificateInput<T> input;
        input.cost = matrix;
        input.source = source;
        input.maximize = maximize;
        return certify_as(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts, threads);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_certify(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("certify", &lapwing::bindings::certify_any, "cost"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "unmatched_cols"_a.none(), "row_to_col"_a, "u"_a, "v"_a, "parts"_a, "threads"_a,
               "Prove an assignment; see cpp/include/lapwing/certificate/certificate.hpp for the contract.");
    module.attr("MOST_DUAL_PARTS") = lapwing::kMostDualParts;
}
