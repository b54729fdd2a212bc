// lapwing._core.solve and check_range: one method on one matrix, with the GIL released and Ctrl-C honoured.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "answers.hpp"
#include "common.hpp"
#include "lapwing/control.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/reductions/column_prices.hpp"
#include "sparse.hpp"

namespace lapwing::bindings {
namespace {

// The options of methods: the fields of lapwing.options, checked there.
struct Options {
    MunkresOptions munkres;
    AuctionVariant auction = AuctionVariant::optimised;
    SspOptions ssp;

    explicit Options(const nb::dict& given) {
        const auto set = [&given](const char* name, bool& field) {
            if (given.contains(name)) field = nb::cast<bool>(given[name]);
        };
        set("fused", munkres.fused);
        set("one_launch", munkres.one_launch);
        set("by_regret", munkres.by_regret);
        set("switches", munkres.switches);
        bool from_rows = false;
        set("from_rows", from_rows);
        if (from_rows) auction = AuctionVariant::plain;
        set("pricing", ssp.pricing);
        set("least_v", ssp.least_v);
        set("picked_v", ssp.picked_v);
        set("last_v", ssp.last_v);
        set("whole_gap", ssp.whole_gap);
        set("any_gap", ssp.any_gap);
        set("in_order", ssp.in_order);
        set("stop_early", ssp.stop_early);
        set("compare_above", ssp.compare_above);
    }
};

template <class T>
Solution<Dual<T>> dispatch(const std::string& method, const Options& options, const Problem<T>& problem,
                           const Dual<T>* start_v, int threads, Control& control, const Keep<Dual<T>>& keep) {
    if (method == "core") return solve_core(problem, start_v, threads, control, keep);
    if (method == "ssp") return solve_ssp(problem, options.ssp, threads, control);
    if (method == "auction") return solve_auction(problem, options.auction, control);
    if (problem.source != nullptr) throw std::invalid_argument("method " + method + " takes a matrix only");
    if (method == "jv") return solve_jv(problem, control);
    if (method == "jv or core") return solve_jv_or_core(problem, threads, control);
    if (method == "core or jv") return solve_core_or_jv(problem, threads, control);
    if (method == "hungarian-bfs") return solve_hungarian_bfs(problem, threads, control);
    if (method == "hungarian-tree") return solve_hungarian_tree(problem, threads, control);
    if (method == "munkres") return solve_munkres(problem, options.munkres, threads, control);
    throw std::invalid_argument("unknown method: " + method);
}

// Calls solve(problem, start_v, keep) with the costs less the prices of columns; the answer is one of `problem`.
template <class T, class Solve>
Solution<Dual<T>> solve_less_prices(const Problem<T>& problem, const Dual<T>* prices, const Dual<T>* start_v,
                                    const Keep<Dual<T>>& keep, const Solve& solve) {
    using D = Dual<T>;
    const LessColumnPrices<T> costs(problem, prices);
    const Index rows = problem.cost.rows, cols = problem.cost.cols;
    Problem<D> less{{nullptr, rows, cols, cols, 1}, problem.maximize, problem.unmatched_cost, nullptr};
    std::vector<D> matrix, start;
    if (problem.source == nullptr) {
        matrix = costs.written_out();
        less.cost.data = matrix.data();
    } else {
        less.source = &costs;
    }
    for (Index j = 0; start_v != nullptr && j < cols; ++j) start.push_back(start_v[j] - prices[j]);
    const Keep<D> keep_of_costs = [&](std::vector<D>&& u, std::vector<D>&& v, std::vector<Index>&& row_to_col) {
        for (Index j = 0; j < cols; ++j) v[j] += prices[j];
        keep(std::move(u), std::move(v), std::move(row_to_col));
    };
    Solution<D> solution = solve(less, start.empty() ? nullptr : start.data(), keep_of_costs);
    if (solution.status == Status::optimal)
        add_column_prices(problem, prices, solution.row_to_col.data(), solution.u.data(), solution.v.data());
    if (solution.status == Status::time_limit)
        for (Index j = 0; j < cols; ++j) solution.v[j] += prices[j];
    return solution;
}

template <class T>
nb::dict solve_as(const std::string& method, const Options& options, Problem<T> problem,
                  const nb::object& unmatched_cost, const nb::object& unmatched_cols, const nb::object& start_v,
                  int threads, double time_limit, const nb::object& hook, const nb::object& keep, double keep_every) {
    Vector<Dual<T>> unmatched_holder, cols_holder, start_holder;
    const auto rows = static_cast<std::size_t>(problem.cost.rows), cols = static_cast<std::size_t>(problem.cost.cols);
    problem.unmatched_cost = optional_vector(unmatched_cost, rows, unmatched_holder, "unmatched_cost");
    const Dual<T>* prices = optional_vector(unmatched_cols, cols, cols_holder, "unmatched_cols");
    if (prices != nullptr && problem.unmatched_cost == nullptr) throw nb::value_error("rows need prices, too");
    const Dual<T>* start = optional_vector(start_v, cols, start_holder, "start_v");
    Control control(time_limit, make_hook(hook), !hook.is_none());
    if (!keep.is_none()) control.keep_every(keep_every);
    Solution<Dual<T>> solution;
    try {
        const Computing computing;
        const auto solve = [&]<class U>(const Problem<U>& costs, const Dual<U>* from, const Keep<Dual<U>>& kept) {
            auto solved = dispatch(method, options, costs, from, threads, control, kept);
            if (solved.status == Status::time_limit) complete_greedily(costs, solved.row_to_col, control);
            return solved;
        };
        const auto kept = make_keep<Dual<T>>(keep);
        solution =
            prices == nullptr ? solve(problem, start, kept) : solve_less_prices(problem, prices, start, kept, solve);
        if (problem.unmatched_cost != nullptr && solution.status == Status::optimal)
            match_ties(problem, solution.row_to_col, solution.v.data(), prices);
    } catch (const CostTooLarge&) {  // check_range tells where and by how much
        nb::dict answer;
        answer["status"] = "range";
        return answer;
    }
    return to_dict(std::move(solution));
}

nb::dict solve(const std::string& method, const nb::dict& options, const nb::object& cost, bool maximize,
               const nb::object& unmatched_cost, const nb::object& unmatched_cols, const nb::object& start_v,
               int threads, double time_limit, const nb::object& hook, const nb::object& keep, double keep_every) {
    if (is_sparse(cost))
        return solve_sparse_costs(cost, maximize, unmatched_cost, unmatched_cols, start_v, threads, time_limit, hook,
                                  keep, keep_every);
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        const Problem<T> problem{matrix, maximize, nullptr, source};
        return solve_as(method, Options(options), problem, unmatched_cost, unmatched_cols, start_v, threads, time_limit,
                        hook, keep, keep_every);
    });
}

// Runs method "ssp" on a square matrix of finite costs, and gives the rows that it reads and its prices (SspTrace).
nb::dict trace_ssp(const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& cost,
                   const nb::dict& options) {
    const auto rows = static_cast<Index>(cost.shape(0)), cols = static_cast<Index>(cost.shape(1));
    SspTrace trace;
    SspOptions chosen = Options(options).ssp;
    chosen.trace = &trace;
    Control control;
    {
        const Computing computing;
        solve_ssp(Problem<double>{{cost.data(), rows, cols, cols, 1}, false, nullptr}, chosen, 1, control);
    }
    nb::list left;
    for (std::vector<double>& v : trace.v) left.append(to_numpy(std::move(v)));
    nb::dict answer;
    answer["scans"] = to_numpy(std::move(trace.scans));
    answer["path_rows"] = to_numpy(std::move(trace.path_rows));
    answer["searched"] = to_numpy(std::move(trace.searched));
    answer["epsilon"] = trace.epsilon;
    answer["v"] = left;
    return answer;
}

// None, or (limit, extreme, row, col) of a cost that is too large.
nb::object range_excess(const nb::object& cost, bool maximize, const nb::object& unmatched_cost,
                        const nb::object& unmatched_cols, int threads) {
    if (is_sparse(cost)) return sparse_range_excess(cost, maximize, unmatched_cost, unmatched_cols);
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        Vector<Dual<T>> holder, cols_holder;
        Problem<T> problem{matrix, maximize, nullptr, source};
        const auto rows = static_cast<std::size_t>(matrix.rows), cols = static_cast<std::size_t>(matrix.cols);
        const Dual<T>* prices = optional_vector(unmatched_cols, cols, cols_holder, "unmatched_cols");
        problem.unmatched_cost = optional_vector(unmatched_cost, rows, holder, "unmatched_cost");
        CostRange<Dual<T>> range;
        {
            const Computing computing;
            range = check_range(problem, threads, until_a_signal(), prices);
        }
        if (range.fits) return nb::none();
        return nb::make_tuple(range.limit, range.extreme, range.row, range.col);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_solve(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("solve", &lapwing::bindings::solve, "method"_a, "options"_a, "cost"_a, "maximize"_a,
               "unmatched_cost"_a.none(), "unmatched_cols"_a.none(), "start_v"_a.none(), "threads"_a, "time_limit"_a,
               "hook"_a.none(), "keep"_a.none() = nb::none(), "keep_every"_a = 0.0,
               "Solve one problem; see cpp/include/lapwing/methods.hpp for the contract.");
    module.def("trace_ssp", &lapwing::bindings::trace_ssp, "cost"_a, "options"_a,
               "The rows that method ssp reads, its paths, and v after each phase.");
    module.def("check_range", &lapwing::bindings::range_excess, "cost"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "unmatched_cols"_a.none(), "threads"_a,
               "Whether all sums fit; see cpp/include/lapwing/numbers/range.hpp for the contract.");
    module.attr("JV_OR_CORE_MAX_ROWS") = static_cast<int>(lapwing::kJvOrCoreMaxRows);
    module.attr("SSP_COLUMNS_PER_THREAD") = static_cast<int>(lapwing::kSspColumnsPerThread);
    module.attr("DIRECT_MAX_ROWS") = static_cast<int>(lapwing::kDirectMaxRows);
    module.attr("ABSENT") = lapwing::kInfinity<std::int64_t>;
}
