// lapwing._core.certify: the proof of an answer, with the GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "answers.hpp"
#include "common.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "sparse.hpp"

namespace lapwing::bindings {
namespace {

// Calls prove() with the numbers of `input` filled in.
template <class T, class Prove>
nb::dict prove_with(CertificateInput<T>& input, const nb::object& unmatched_cost, const nb::object& unmatched_cols,
                    const nb::object& row_to_col, const nb::object& u, const nb::object& v, int parts,
                    const Prove& prove) {
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
        certificate = prove();
    }
    return to_dict(certificate);
}

template <class T>
nb::dict certify_as(CertificateInput<T> input, const nb::object& unmatched_cost, const nb::object& unmatched_cols,
                    const nb::object& row_to_col, const nb::object& u, const nb::object& v, int parts, int threads,
                    const nb::object& hook) {
    return prove_with(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts,
                      [&] { return certify(input, threads, make_hook(hook, "certify")); });
}

nb::dict certify_any(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                     const nb::object& unmatched_cols, const nb::object& row_to_col, const nb::object& u,
                     const nb::object& v, int parts, int threads, const nb::object& hook) {
    if (is_sparse(cost)) {
        const auto& sparse = nb::cast<const SparseCosts&>(cost);
        return sparse.with_view([&]<class T>(const SparseView<T>& pairs) {
            CertificateInput<T> input;
            input.cost.rows = sparse.problem_rows();
            input.cost.cols = sparse.problem_cols();
            input.sparse = &pairs;
            input.sparse_by_columns = sparse.transposed;
            input.maximize = maximize;
            return certify_as(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts, threads, hook);
        });
    }
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        CertificateInput<T> input;
        input.cost = matrix;
        input.source = source;
        input.maximize = maximize;
        return certify_as(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts, threads, hook);
    });
}

// The numbers of RowProof, each as an array [rows].
template <class T>
nb::object rows_as(CertificateInput<T> input, const Vector<std::int64_t>& row_to_col, const nb::object& u,
                   const nb::object& v, int parts, int threads) {
    if (parts < 1 || parts > kMostDualParts || (parts > 1 && !std::is_floating_point_v<T>))
        throw nb::value_error("duals of so many parts cannot be read");
    const auto rows = static_cast<std::size_t>(input.cost.rows), cols = static_cast<std::size_t>(input.cost.cols);
    if (row_to_col.size() != rows) throw nb::value_error("row_to_col must have an entry for each row");
    Vector<Dual<T>> u_holder, v_holder;
    input.row_to_col = row_to_col.data();
    input.parts = parts;
    input.u = optional_vector(u, parts * rows, u_holder, "u");
    input.v = optional_vector(v, parts * cols, v_holder, "v");
    std::vector<Dual<T>> violation;
    std::vector<std::int32_t> col, invalid;
    std::vector<T> matched;
    {
        const Computing computing;
        for (const RowProof<T>& row : certify_rows(input, threads, until_a_signal())) {
            violation.push_back(row.violation);
            col.push_back(row.col);
            invalid.push_back(row.invalid);
            matched.push_back(row.matched);
        }
    }
    return nb::make_tuple(to_numpy(std::move(violation)), to_numpy(std::move(col)), to_numpy(std::move(invalid)),
                          to_numpy(std::move(matched)));
}

nb::object rows_of_any(const nb::object& cost, bool maximize, const Vector<std::int64_t>& row_to_col,
                       const nb::object& u, const nb::object& v, int parts, int threads) {
    if (is_sparse(cost)) {
        const auto& sparse = nb::cast<const SparseCosts&>(cost);
        if (sparse.transposed) throw nb::value_error("sparse costs must be given by rows");
        return sparse.with_view([&]<class T>(const SparseView<T>& pairs) {
            CertificateInput<T> input;
            input.cost.rows = sparse.rows;
            input.cost.cols = sparse.cols;
            input.sparse = &pairs;
            input.maximize = maximize;
            return rows_as(input, row_to_col, u, v, parts, threads);
        });
    }
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        CertificateInput<T> input;
        input.cost = matrix;
        input.source = source;
        input.maximize = maximize;
        return rows_as(input, row_to_col, u, v, parts, threads);
    });
}

// The proof from the arrays that certify_rows returns, of all rows of a problem [rows, cols].
template <class T>
nb::dict from_rows(Index rows, Index cols, bool maximize, const nb::object& unmatched_cost,
                   const nb::object& unmatched_cols, const nb::object& row_to_col, const nb::object& u,
                   const nb::object& v, int parts, const nb::tuple& found) {
    const auto violation = nb::cast<Vector<Dual<T>>>(found[0]);
    const auto col = nb::cast<Vector<std::int32_t>>(found[1]), invalid = nb::cast<Vector<std::int32_t>>(found[2]);
    const auto matched = nb::cast<Vector<T>>(found[3]);
    const auto count = static_cast<std::size_t>(rows);
    if (violation.size() != count || col.size() != count || invalid.size() != count || matched.size() != count)
        throw nb::value_error("what was found must have an entry for each row");
    std::vector<RowProof<T>> proofs(count);
    for (std::size_t i = 0; i < count; ++i)
        proofs[i] = {violation.data()[i], col.data()[i], invalid.data()[i], matched.data()[i]};
    CertificateInput<T> input;
    input.cost = {nullptr, rows, cols, cols, 1};
    input.maximize = maximize;
    return prove_with(input, unmatched_cost, unmatched_cols, row_to_col, u, v, parts,
                      [&] { return certify(input, std::span<const RowProof<T>>(proofs)); });
}

nb::dict from_any_rows(Index rows, Index cols, bool maximize, const nb::object& unmatched_cost,
                       const nb::object& unmatched_cols, const nb::object& row_to_col, const nb::object& u,
                       const nb::object& v, int parts, const nb::tuple& found) {
    using Numbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
    return with_dtype(nb::cast<Numbers>(found[3]), [&]<class T>() {
        return from_rows<T>(rows, cols, maximize, unmatched_cost, unmatched_cols, row_to_col, u, v, parts, found);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_certify(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("certify", &lapwing::bindings::certify_any, "cost"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "unmatched_cols"_a.none(), "row_to_col"_a, "u"_a, "v"_a, "parts"_a, "threads"_a,
               "hook"_a.none() = nb::none(),
               "Prove an assignment; see cpp/include/lapwing/certificate/certificate.hpp for the contract.");
    module.def("certify_rows", &lapwing::bindings::rows_of_any, "cost"_a, "maximize"_a, "row_to_col"_a, "u"_a, "v"_a,
               "parts"_a, "threads"_a, "What a proof needs to know of some rows: violation, col, invalid, matched.");
    module.def("certify_from_rows", &lapwing::bindings::from_any_rows, "rows"_a, "cols"_a, "maximize"_a,
               "unmatched_cost"_a.none(), "unmatched_cols"_a.none(), "row_to_col"_a, "u"_a, "v"_a, "parts"_a, "found"_a,
               "The proof from what certify_rows found of all rows.");
    module.attr("MOST_DUAL_PARTS") = lapwing::kMostDualParts;
}
