#include "lapwing/exact/solve.hpp"

#include "lapwing/exact/fixed_point.hpp"
#include "lapwing/methods.hpp"

namespace lapwing {
namespace {

// Digits that sums of costs need beyond those of a cost: distances and duals are sums of 2 (terms + 1) costs at most.
int digits_of_sums(Index terms) { return std::bit_width(2 * (static_cast<std::uint64_t>(terms) + 2)) + 2; }

constexpr int kInt128Digits = 124;  // below kInfinity<Int128>

template <class T>
Index terms_of(const Problem<T>& problem) {
    return problem.unmatched_cost != nullptr ? problem.cost.rows : std::min(problem.cost.rows, problem.cost.cols);
}

// Of all costs and unmatched costs up to `most`. Throws InvalidCost for NaN and -inf.
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
    const FixedPointSource<T, F> source(problem, unit, request.most);
    std::vector<F> prices, start;
    const auto rows = static_cast<std::size_t>(problem.cost.rows), cols = static_cast<std::size_t>(problem.cost.cols);
    if (problem.unmatched_cost != nullptr)
        for (std::size_t i = 0; i < rows; ++i) prices.push_back(source.fixed(problem.unmatched_cost[i]));
    if (request.start_parts > 0) {
        // Farther from zero than the sum of all costs of a path no price need be.
        const double farthest = from_fixed(kInfinity<F> / 16 / request.start_parts, unit);
        start.resize(cols);
        for (int part = 0; part < request.start_parts; ++part)
            for (std::size_t j = 0; j < cols; ++j) {
                const double price = request.start_v[static_cast<std::size_t>(part) * cols + j];
                start[j] += to_nearest_fixed<F>(std::clamp(price, -farthest, farthest), unit);
            }
    }
    const Problem<F> exact{{nullptr, problem.cost.rows, problem.cost.cols, problem.cost.cols, 1},
                           false,
                           prices.empty() ? nullptr : prices.data(),
                           &source};
    auto solved = solve_core<F>(exact, start.empty() ? nullptr : start.data(), request.threads, control, {},
                                start.empty() ? nullptr : request.start_rows);
    ExactSolution solution;
    solution.status = solved.status;
    solution.row_to_col = std::move(solved.row_to_col);
    solution.hall_rows = std::move(solved.hall_rows);
    solution.hall_cols = std::move(solved.hall_cols);
    solution.statistics = std::move(solved.statistics);
    if (solved.status == Status::optimal) {
        solution.u = to_parts(std::move(solved.u), unit);
        solution.v = to_parts(std::move(solved.v), unit);
    }
    return solution;
}

}  // namespace

template <class T>
ExactSolution solve_exact(const Problem<T>& problem, const ExactRequest& asked, Control& control) {
    ExactRequest request = asked;
    request.most = std::min(asked.most, std::numeric_limits<double>::max());
    const DigitRange digits = digits_of_costs(problem, request.most, control);
    if (digits.empty()) return solve_in<Int128>(problem, request, 0, control);  // all are 0 or forbidden
    const Index terms = terms_of(problem);
    const int finest = digits.top + digits_of_sums(terms) - kInt128Digits;  // unit that Int128 has room for
    if (digits.lowest >= finest) return solve_in<Int128>(problem, request, digits.lowest, control);
    if (std::ldexp(static_cast<double>(terms), finest) <= request.precision) {
        ExactSolution solution = solve_in<Int128>(problem, request, finest, control);
        solution.rounded = true;
        return solution;
    }
    return solve_in<Wide>(problem, request, digits.lowest, control);
}

template ExactSolution solve_exact(const Problem<float>&, const ExactRequest&, Control&);
template ExactSolution solve_exact(const Problem<double>&, const ExactRequest&, Control&);

}  // namespace lapwing
