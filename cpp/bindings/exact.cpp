// lapwing._core.find_large_costs, small_costs, solve_capped, refine and solve_exact: what keeps answers exact where
// costs span many magnitudes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "answers.hpp"
#include "common.hpp"
#include "lapwing/exact/refine.hpp"
#include "lapwing/exact/solve.hpp"
#include "lapwing/numbers/trust.hpp"
#include "lapwing/reductions/capped.hpp"
#include "lapwing/reductions/large_costs.hpp"
#include "sparse.hpp"

namespace lapwing::bindings {
namespace {

// Calls body.operator()<T>(view, source) with costs of float or double; others have no use for it.
template <class Body>
decltype(auto) with_float_costs(const nb::object& given, Body&& body) {
    return with_costs(given, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        if constexpr (std::is_floating_point_v<T>) return body.template operator()<T>(matrix, source);
        throw nb::type_error("costs must be float32 or float64");
    });
}

// None, or (above, least, leave_digits).
nb::object large_costs_of(const nb::object& cost, bool maximize, const nb::object& unmatched_cost, int rows,
                          int pairs) {
    return with_float_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        Vector<double> holder;
        Problem<T> problem{matrix, maximize, nullptr, source};
        problem.unmatched_cost =
            optional_vector(unmatched_cost, static_cast<std::size_t>(matrix.rows), holder, "unmatched_cost");
        std::optional<LargeCosts> large;
        {
            const Computing computing;
            large = find_large_costs(problem, rows, pairs);
        }
        return large ? nb::object(nb::make_tuple(large->above, large->least, large->leave_digits())) : nb::none();
    });
}

Source source_of_small_costs(const nb::object& cost, bool maximize, double above) {
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> Source {
        if constexpr (std::is_floating_point_v<T>)
            return {matrix.rows, matrix.cols, small_costs<T>(matrix, source, maximize, above), {}, cost};
        throw nb::type_error("costs must be float32 or float64");
    });
}

// None where costs have no caps, or these are no number far above all others.
nb::object solve_beside_caps(const nb::object& cost, bool maximize, double time_limit, const nb::object& hook) {
    return with_float_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        const Problem<T> problem{matrix, maximize, nullptr, source};
        Control control(time_limit, make_hook(hook), !hook.is_none());
        Solution<double> solution;
        LargeParts large;
        bool solved = false;
        {
            const Computing computing;
            if constexpr (std::is_floating_point_v<T>)
                solved = has_caps(problem) && solve_far_capped(problem, control, solution, large);
        }
        if (!solved) return nb::none();
        const std::vector<double> u = std::move(solution.u), v = std::move(solution.v);
        nb::dict answer = to_dict(std::move(solution));
        answer["u"] = parts_to_numpy({large.u, u}, u.size());
        answer["v"] = parts_to_numpy({large.v, v}, v.size());
        answer["provisional"] = !large.are_small;
        return answer;
    });
}

nb::object solve_rest(const nb::object& cost, bool maximize, const Parts& u, const Parts& v,
                      const Vector<std::int64_t>& start_rows, int threads, double time_limit, const nb::object& hook) {
    return with_float_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        const auto n = static_cast<std::size_t>(matrix.cols);
        if (matrix.rows != matrix.cols || u.shape(1) != n || v.shape(1) != n || start_rows.size() != n)
            throw nb::value_error("only square problems are refined, from duals and an assignment of all rows");
        const std::vector<Index> rows(start_rows.data(), start_rows.data() + n);
        const RefineRequest request{u.data(),    v.data(), static_cast<int>(u.shape(0)), static_cast<int>(v.shape(0)),
                                    rows.data(), threads};
        Control control(time_limit, make_hook(hook), !hook.is_none());
        Solution<double> solution;
        try {
            const Computing computing;
            if constexpr (std::is_floating_point_v<T>)
                solution = refine(Problem<T>{matrix, maximize, nullptr, source}, request, control);
        } catch (const InvalidCost&) {  // the costs were checked: a sum is too large
            return nb::none();
        } catch (const CostTooLarge&) {
            return nb::none();
        }
        return to_dict(std::move(solution));
    });
}

nb::object solve_exactly(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                         const nb::object& unmatched_cols, const nb::object& start_v, const nb::object& start_rows,
                         double most, double precision, int threads, double time_limit, const nb::object& hook) {
    if (is_sparse(cost))
        return solve_sparse_exactly(cost, maximize, unmatched_cost, unmatched_cols, start_v, most, precision,
                                    time_limit, hook);
    return with_float_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        Vector<double> holder, cols_holder;
        Problem<T> problem{matrix, maximize, nullptr, source};
        const auto rows = static_cast<std::size_t>(matrix.rows), cols = static_cast<std::size_t>(matrix.cols);
        problem.unmatched_cost = optional_vector(unmatched_cost, rows, holder, "unmatched_cost");
        ExactRequest request;
        request.unmatched_cols = optional_vector(unmatched_cols, cols, cols_holder, "unmatched_cols");
        Parts start;
        if (!start_v.is_none()) {
            start = nb::cast<Parts>(start_v);
            if (start.shape(1) != cols) throw nb::value_error("start_v must have a price for every column");
            request.start_v = start.data();
            request.start_parts = static_cast<int>(start.shape(0));
        }
        Vector<std::int64_t> rows_holder;
        std::vector<Index> start_match;
        if (const std::int64_t* given = optional_vector(start_rows, rows, rows_holder, "start_rows")) {
            start_match.assign(given, given + rows);
            request.start_rows = start_match.data();
        }
        request.most = most;
        request.precision = precision;
        request.threads = threads;
        Control control(time_limit, make_hook(hook), !hook.is_none());
        ExactSolution solution;
        {
            const Computing computing;
            solution = solve_exact(problem, request, control);
        }
        return to_dict(std::move(solution), rows, cols);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_exact(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("find_large_costs", &lapwing::bindings::large_costs_of, "cost"_a, "maximize"_a,
               "unmatched_cost"_a.none(), "rows"_a, "pairs"_a = 0,
               "Costs far above all others; see cpp/include/lapwing/reductions/large_costs.hpp for the contract.");
    module.def(
        "small_costs", &lapwing::bindings::source_of_small_costs, "cost"_a, "maximize"_a, "above"_a,
        "The costs without the large ones; see cpp/include/lapwing/reductions/large_costs.hpp for the contract.");
    module.def("solve_capped", &lapwing::bindings::solve_beside_caps, "cost"_a, "maximize"_a, "time_limit"_a,
               "hook"_a.none(),
               "Solve costs of which most are one number far above all others; see "
               "cpp/include/lapwing/reductions/capped.hpp for the contract.");
    module.def("refine", &lapwing::bindings::solve_rest, "cost"_a, "maximize"_a, "u"_a, "v"_a, "start_rows"_a,
               "threads"_a, "time_limit"_a, "hook"_a.none(),
               "The rest that duals lack, or None; see cpp/include/lapwing/exact/refine.hpp for the contract.");
    module.def("solve_exact", &lapwing::bindings::solve_exactly, "cost"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "unmatched_cols"_a.none(), "start_v"_a.none(), "start_rows"_a.none(), "most"_a, "precision"_a,
               "threads"_a, "time_limit"_a, "hook"_a.none(),
               "Solve without rounding; see cpp/include/lapwing/exact/solve.hpp for the contract.");
    module.def(
        "tells_small_costs",
        [](double error, const lapwing::bindings::Vector<double>& costs, double share) {
            return lapwing::tells_small_costs(error, costs.data(), costs.size(), share);
        },
        "error"_a, "costs"_a, "share"_a = lapwing::kSmallError,
        "Whether an error is small beside the small ones of matched costs; see cpp/include/lapwing/numbers/trust.hpp.");
    module.attr("TRUSTED_RATIO") = lapwing::kTrustedRatio;
}
