// lapwing._core.SparseCosts: arrays of a sparse matrix, and the solves that read them.
#include "sparse.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "answers.hpp"
#include "lapwing/sparse/exact.hpp"
#include "lapwing/sparse/solve.hpp"

namespace lapwing::bindings {
namespace {

template <class T>
SparseProblem<T> make_sparse_problem(const SparseCosts& cost, const SparseView<T>& view, bool maximize,
                                     const nb::object& unmatched_cost, const nb::object& unmatched_cols,
                                     Vector<Dual<T>> (&holders)[2]) {
    SparseProblem<T> problem{view, maximize, cost.transposed, nullptr, nullptr};
    problem.unmatched_cost =
        optional_vector(unmatched_cost, static_cast<std::size_t>(cost.problem_rows()), holders[0], "unmatched_cost");
    problem.unmatched_cols =
        optional_vector(unmatched_cols, static_cast<std::size_t>(cost.problem_cols()), holders[1], "unmatched_cols");
    if (problem.unmatched_cost == nullptr && cost.problem_rows() > cost.problem_cols())
        throw nb::value_error("more rows than columns need a partner");
    return problem;
}

SparseCosts make_sparse_costs(const nb::object& indptr, const nb::object& indices, const nb::object& data,
                              std::int64_t rows, std::int64_t cols, bool transposed) {
    SparseCosts made;
    made.indptr = nb::cast<Vector<std::int64_t>>(indptr);
    made.indices = nb::cast<Vector<Index>>(indices);
    made.data = nb::cast<decltype(made.data)>(data);
    constexpr std::int64_t most = std::numeric_limits<Index>::max();
    if (rows < 0 || cols < 0 || rows > most || cols > most) throw nb::value_error("a shape out of range");
    made.rows = static_cast<Index>(rows);
    made.cols = static_cast<Index>(cols);
    if (made.indptr.size() != static_cast<std::size_t>(rows) + 1)
        throw Refused("indptr must have one entry more than there are rows, " + std::to_string(rows + 1) + ", got " +
                      std::to_string(made.indptr.size()));
    if (made.indices.size() != made.data.size())
        throw Refused("indices and data must have the same length, got " + std::to_string(made.indices.size()) +
                      " and " + std::to_string(made.data.size()));
    made.transposed = transposed;
    return made;
}

// Checks the arrays; whether a pair is given twice.
bool has_duplicates_in(const SparseCosts& cost) {
    return cost.with_view([&]<class T>(const SparseView<T>& view) {
        const Computing computing;
        return has_duplicates(view, cost.transposed);
    });
}

}  // namespace

nb::dict solve_sparse_costs(const nb::object& given, bool maximize, const nb::object& unmatched_cost,
                            const nb::object& unmatched_cols, const nb::object& start_v, int threads, double time_limit,
                            const nb::object& hook, const nb::object& keep, double keep_every) {
    const auto& cost = nb::cast<const SparseCosts&>(given);
    return cost.with_view([&]<class T>(const SparseView<T>& view) -> nb::dict {
        Vector<Dual<T>> holders[2], start_holder;
        const auto problem = make_sparse_problem(cost, view, maximize, unmatched_cost, unmatched_cols, holders);
        const Dual<T>* start =
            optional_vector(start_v, static_cast<std::size_t>(cost.problem_cols()), start_holder, "start_v");
        Control control(time_limit, make_hook(hook), !hook.is_none());
        if (!keep.is_none()) control.keep_every(keep_every);
        SparseSolution<Dual<T>> solution;
        try {
            const Computing computing;
            solution = solve_sparse(problem, start, threads, control, make_keep<Dual<T>>(keep));
        } catch (const CostTooLarge&) {  // check_range tells where and by how much
            nb::dict answer;
            answer["status"] = "range";
            return answer;
        }
        const bool violator_is_cols = solution.violator_is_cols;
        nb::dict answer = to_dict(static_cast<Solution<Dual<T>>&&>(solution));
        answer["violator_is_cols"] = violator_is_cols;
        return answer;
    });
}

nb::object solve_sparse_exactly(const nb::object& given, bool maximize, const nb::object& unmatched_cost,
                                const nb::object& unmatched_cols, const nb::object& start_v, double most,
                                double precision, double time_limit, const nb::object& hook) {
    const auto& cost = nb::cast<const SparseCosts&>(given);
    return cost.with_view([&]<class T>(const SparseView<T>& view) -> nb::object {
        if constexpr (std::is_floating_point_v<T>) {
            Vector<double> holders[2];
            const auto problem = make_sparse_problem(cost, view, maximize, unmatched_cost, unmatched_cols, holders);
            ExactRequest request;
            Parts start;
            if (!start_v.is_none()) {
                start = nb::cast<Parts>(start_v);
                if (start.shape(1) != static_cast<std::size_t>(cost.problem_cols()))
                    throw nb::value_error("start_v must have a price for every column");
                request.start_v = start.data();
                request.start_parts = static_cast<int>(start.shape(0));
            }
            request.most = most;
            request.precision = precision;
            Control control(time_limit, make_hook(hook), !hook.is_none());
            ExactSolution solution;
            {
                const Computing computing;
                solution = solve_sparse_exact(problem, request, control);
            }
            return to_dict(std::move(solution), static_cast<std::size_t>(cost.problem_rows()),
                           static_cast<std::size_t>(cost.problem_cols()));
        }
        throw nb::type_error("costs must be float32 or float64");
    });
}

// None, or (limit, extreme, row, col) of a cost that is too large.
nb::object sparse_range_excess(const nb::object& given, bool maximize, const nb::object& unmatched_cost,
                               const nb::object& unmatched_cols) {
    const auto& cost = nb::cast<const SparseCosts&>(given);
    return cost.with_view([&]<class T>(const SparseView<T>& view) -> nb::object {
        Vector<Dual<T>> holders[2];
        const auto problem = make_sparse_problem(cost, view, maximize, unmatched_cost, unmatched_cols, holders);
        CostRange<Dual<T>> range;
        try {
            const Computing computing;
            range = sparse_range(problem, make_adjacency<T>(view, maximize, cost.transposed));
        } catch (const CostTooLarge& at) {  // the least integer, which has no negative
            const auto limit = cost_limit<Dual<T>>(std::min(view.rows, view.cols));
            range = {false, limit, std::numeric_limits<T>::min(), at.row, at.col};
        }
        if (range.fits) return nb::none();
        return nb::make_tuple(range.limit, range.extreme, range.row, range.col);
    });
}

}  // namespace lapwing::bindings

void bind_sparse(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using lapwing::bindings::SparseCosts;
    nb::class_<SparseCosts>(module, "SparseCosts",
                            "A sparse matrix by rows; see cpp/include/lapwing/sparse/matrix.hpp.")
        .def(nb::new_(&lapwing::bindings::make_sparse_costs), "indptr"_a, "indices"_a, "data"_a, "rows"_a, "cols"_a,
             "transposed"_a)
        .def("has_duplicates", &lapwing::bindings::has_duplicates_in);
}
