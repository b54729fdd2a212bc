#include "lapwing/sparse/exact.hpp"

#include "lapwing/exact/unit.hpp"

namespace lapwing {
namespace {

template <class F, class T>
ExactSolution solve_in(const Adjacency<T>& given, const SparseProblem<T>& problem, const ExactRequest& request,
                       int unit, Control& control) {
    Adjacency<F> pairs;
    pairs.rows.resize(given.rows.size());
    for (std::size_t i = 0; i < given.rows.size(); ++i) {
        auto& row = pairs.rows[i];
        row.begin = static_cast<std::int64_t>(pairs.entries.size());
        for (Index k = 0; k < given.rows[i].count; ++k) {
            const auto& entry = given.entries[static_cast<std::size_t>(given.rows[i].begin + k)];
            if (entry.cost <= request.most) pairs.entries.push_back({to_fixed<F>(entry.cost, unit), entry.col});
        }
        row.count = row.listed = static_cast<Index>(static_cast<std::int64_t>(pairs.entries.size()) - row.begin);
    }
    std::vector<F> exits, free_cols, start;
    if (problem.unmatched_cost != nullptr)
        for (std::size_t i = 0; i < given.rows.size(); ++i) {
            const double price = problem.unmatched_cost[i];
            exits.push_back(price <= request.most ? to_fixed<F>(price, unit) : kInfinity<F>);
        }
    const Index cols = problem.cols();
    for (Index j = 0; problem.unmatched_cols != nullptr && j < cols; ++j)
        free_cols.push_back(to_fixed<F>(problem.unmatched_cols[j], unit));
    if (request.start_parts > 0) start = fixed_prices<F>(request, static_cast<std::size_t>(cols), unit);
    auto solved =
        solve_adjacency<F>(pairs, cols, exits.empty() ? nullptr : exits.data(), start.empty() ? nullptr : start.data(),
                           control, {}, free_cols.empty() ? nullptr : free_cols.data());
    const bool violator_is_cols = solved.violator_is_cols;
    ExactSolution solution = in_parts<F>(std::move(solved), unit);
    solution.violator_is_cols = violator_is_cols;
    return solution;
}

}  // namespace

template <class T>
ExactSolution solve_sparse_exact(const SparseProblem<T>& problem, const ExactRequest& asked, Control& control) {
    ExactRequest request = asked;
    request.most = std::min(asked.most, std::numeric_limits<double>::max());
    const auto pairs = make_adjacency<T>(problem.cost, problem.maximize, problem.transposed);
    DigitRange digits;
    for (const auto& entry : pairs.entries)
        if (entry.cost <= request.most) digits.add(entry.cost);
    Index terms = std::min(problem.cost.rows, problem.cost.cols);
    if (problem.unmatched_cost != nullptr) {
        terms = static_cast<Index>(pairs.rows.size());
        for (Index i = 0; i < terms; ++i)
            if (problem.unmatched_cost[i] <= request.most) digits.add(problem.unmatched_cost[i]);
    }
    if (problem.unmatched_cols != nullptr) {
        terms += problem.cols();
        for (Index j = 0; j < problem.cols(); ++j) digits.add(problem.unmatched_cols[j]);
    }
    return with_unit(digits, terms, request.precision,
                     [&]<class F>(int unit) { return solve_in<F>(pairs, problem, request, unit, control); });
}

template ExactSolution solve_sparse_exact(const SparseProblem<float>&, const ExactRequest&, Control&);
template ExactSolution solve_sparse_exact(const SparseProblem<double>&, const ExactRequest&, Control&);

}  // namespace lapwing
