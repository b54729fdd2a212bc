#include "lapwing/exact/solve.hpp"

#include "lapwing/exact/unit.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/methods.hpp"

namespace lapwing {
namespace {

template <class T>
Index terms_of(const Problem<T>& problem) {
    return problem.unmatched_cost != nullptr ? problem.cost.rows : std::min(problem.cost.rows, problem.cost.cols);
}

// The digits of all costs and unmatched costs up to `most`. Throws InvalidCost for NaN and -inf.
template <class T>
DigitRange digits_of_costs(const Problem<T>& problem, double most, Control& control) {
    DigitRange digits;
    RowReader<T> reader(problem.cost, problem.source);
    reader.expect(0, problem.cost.rows);
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const T* row = reader.row(i);
        for (Index j = 0; j < problem.cost.cols; ++j) {
            const double c = problem.minimised(row[j]);
            if (!(c > -kInfinity<double>)) throw InvalidCost{i, j};
            if (c <= most) digits.add(c);
        }
        control.poll({"exact"});
    }
    if (problem.unmatched_cost != nullptr)
        for (Index i = 0; i < problem.cost.rows; ++i)
            if (problem.unmatched_cost[i] <= most) digits.add(problem.unmatched_cost[i]);
    return digits;
}

template <class F, class T>
ExactSolution solve_in(const Problem<T>& problem, const ExactRequest& request, int unit, Control& control) {
    std::vector<F> prices, of_cols, start;
    const auto rows = static_cast<std::size_t>(problem.cost.rows), cols = static_cast<std::size_t>(problem.cost.cols);
    for (std::size_t j = 0; request.unmatched_cols != nullptr && j < cols; ++j)
        of_cols.push_back(to_fixed<F>(request.unmatched_cols[j], unit));
    const FixedPointSource<T, F> source(problem, unit, request.most, of_cols);
    if (problem.unmatched_cost != nullptr)
        for (std::size_t i = 0; i < rows; ++i) prices.push_back(source.fixed(problem.unmatched_cost[i]));
    if (request.start_parts > 0) start = fixed_prices<F>(request, cols, unit);
    for (std::size_t j = 0; j < of_cols.size() && !start.empty(); ++j) start[j] -= of_cols[j];
    const Problem<F> exact{{nullptr, problem.cost.rows, problem.cost.cols, problem.cost.cols, 1},
                           false,
                           prices.empty() ? nullptr : prices.data(),
                           &source};
    auto solved = solve_core<F>(exact, start.empty() ? nullptr : start.data(), request.threads, control, {},
                                start.empty() ? nullptr : request.start_rows);
    if (exact.unmatched_cost != nullptr && solved.status == Status::optimal)
        match_ties(exact, solved.row_to_col, solved.v.data());
    for (std::size_t j = 0; j < of_cols.size() && solved.status == Status::optimal; ++j) solved.v[j] += of_cols[j];
    if (solved.status == Status::optimal && rows == cols && prices.empty() && of_cols.empty())
        balance(solved.u, solved.v, unit);
    return in_parts(std::move(solved), unit);
}

}  // namespace

template <class T>
ExactSolution solve_exact(const Problem<T>& problem, const ExactRequest& asked, Control& control) {
    ExactRequest request = asked;
    request.most = std::min(asked.most, std::numeric_limits<double>::max());
    DigitRange digits = digits_of_costs(problem, request.most, control);
    Index terms = terms_of(problem);
    if (request.unmatched_cols != nullptr) {
        terms += problem.cost.cols;
        for (Index j = 0; j < problem.cost.cols; ++j) digits.add(request.unmatched_cols[j]);
    }
    return with_unit(digits, terms, request.precision,
                     [&]<class F>(int unit) { return solve_in<F>(problem, request, unit, control); });
}

template ExactSolution solve_exact(const Problem<float>&, const ExactRequest&, Control&);
template ExactSolution solve_exact(const Problem<double>&, const ExactRequest&, Control&);

}  // namespace lapwing
