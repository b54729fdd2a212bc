// lapwing._core.find_shortage: rows that must be matched and have too few columns between them; match_ties: more
// matches of an optimal answer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>

#include "common.hpp"
#include "lapwing/matching/shortage.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/sparse/solve.hpp"
#include "sparse.hpp"

namespace lapwing::bindings {
namespace {

std::vector<Index> wanted_rows(const Vector<bool>& wanted, Index rows) {
    if (wanted.size() != static_cast<std::size_t>(rows)) throw nb::value_error("wanted must have a flag for every row");
    std::vector<Index> found;
    for (Index i = 0; i < rows; ++i)
        if (wanted.data()[i]) found.push_back(i);
    return found;
}

Control interruptible() {
    return Control(std::numeric_limits<double>::infinity(), [](const Progress&) { return look_for_signals(); }, false);
}

Shortage shortage_of_sparse(const SparseCosts& cost, bool maximize, const Vector<bool>& wanted, bool minimal) {
    const Index rows = cost.problem_rows(), cols = cost.problem_cols();
    const auto sources = wanted_rows(wanted, rows);
    return cost.with_view([&]<class T>(const SparseView<T>& view) {
        const Computing computing;
        Control control = interruptible();
        const auto pairs = make_adjacency<T>(view, maximize, cost.transposed);
        AllowedEntries<T> allowed(pairs, control);
        return find_shortage(allowed, rows, cols, sources, minimal);
    });
}

Shortage shortage_of(const nb::object& cost, bool maximize, const Vector<bool>& wanted, bool minimal) {
    if (is_sparse(cost)) return shortage_of_sparse(nb::cast<const SparseCosts&>(cost), maximize, wanted, minimal);
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        const auto sources = wanted_rows(wanted, matrix.rows);
        const Computing computing;
        Control control = interruptible();
        AllowedBits<T> allowed(Problem<T>{matrix, maximize, nullptr, source}, sources, control);
        return find_shortage(allowed, matrix.rows, matrix.cols, sources, minimal);
    });
}

nb::object find_shortage_in(const nb::object& cost, bool maximize, const Vector<bool>& wanted, bool minimal) {
    const Shortage found = shortage_of(cost, maximize, wanted, minimal);
    return nb::make_tuple(indices_to_numpy(found.rows), indices_to_numpy(found.cols));
}

nb::object match_more(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                      const Vector<std::int64_t>& row_to_col, const nb::object& v, const nb::object& unmatched_cols) {
    // Calls match(prices, matched, v, prices of columns) for a problem of this shape.
    const auto matched = [&]<class D>(D, Index rows, Index cols, const auto& match) {
        Vector<D> holders[3];
        const auto m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(cols);
        const D* prices = optional_vector(unmatched_cost, m, holders[0], "unmatched_cost");
        const D* of_cols = optional_vector(v, n, holders[1], "v");
        const D* col_prices = optional_vector(unmatched_cols, n, holders[2], "unmatched_cols");
        if (row_to_col.size() != m) throw nb::value_error("row_to_col must have an entry for every row");
        std::vector<Index> found(row_to_col.data(), row_to_col.data() + m);
        {
            const Computing computing;
            match(prices, found, of_cols, col_prices);
        }
        return indices_to_numpy(found);
    };
    if (is_sparse(cost)) {
        const auto& pairs = nb::cast<const SparseCosts&>(cost);
        return pairs.with_view([&]<class T>(const SparseView<T>& view) {
            const auto match = [&](const auto* prices, auto& found, const auto* of_cols, const auto* col_prices) {
                match_sparse_ties(SparseProblem<T>{view, maximize, pairs.transposed, prices, col_prices}, found,
                                  of_cols);
            };
            return matched(Dual<T>{}, pairs.problem_rows(), pairs.problem_cols(), match);
        });
    }
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        const auto match = [&](const auto* prices, auto& found, const auto* of_cols, const auto* col_prices) {
            match_ties(Problem<T>{matrix, maximize, prices, source}, found, of_cols, col_prices);
        };
        return matched(Dual<T>{}, matrix.rows, matrix.cols, match);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_matching(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("find_shortage", &lapwing::bindings::find_shortage_in, "cost"_a, "maximize"_a, "wanted"_a, "minimal"_a,
               "The rows and columns of lapwing::Shortage; see cpp/include/lapwing/matching/shortage.hpp.");
    module.def("match_ties", &lapwing::bindings::match_more, "cost"_a, "maximize"_a, "unmatched_cost"_a, "row_to_col"_a,
               "v"_a, "unmatched_cols"_a.none() = nb::none(),
               "The answer with the most matches; see cpp/include/lapwing/matching/ties.hpp.");
}
