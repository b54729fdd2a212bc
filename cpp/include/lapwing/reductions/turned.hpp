// Rows that may stay free at one price: the same problem with rows and columns exchanged.
//
// With m rows, n columns and price p, a matching of k pairs costs their costs and (m - k) p; where columns may stay
// free at p instead, their costs and (n - k) p. So the same matchings are optimal. Of m > n rows m - n have to find
// out, one after the other, that they stay free; of columns none has to. From duals x of columns and y of rows there,
// x <= p and y <= 0: u = y + p and v = x - p.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Whether all rows of a matrix may stay free at one price, which is no larger than it may be for so many rows.
template <class T>
bool has_one_price(const Problem<T>& problem) {
    using D = Dual<T>;
    const D* prices = problem.unmatched_cost;
    if (prices == nullptr || problem.source != nullptr || problem.cost.cols == 0) return false;
    const D most = cost_limit<D>(problem.cost.rows);
    return prices[0] <= most && prices[0] >= -most &&
           std::all_of(prices, prices + problem.cost.rows, [&](D price) { return price == prices[0]; });
}

// The exchanged problem; the other one must live as long.
template <class T>
class Turned {
  public:
    explicit Turned(const Problem<T>& problem)
        : prices_(problem.cost.cols, problem.unmatched_cost[0]),
          problem_{problem.cost.transposed(), problem.maximize, prices_.data()} {}
    Turned(const Turned&) = delete;
    Turned& operator=(const Turned&) = delete;
    const Problem<T>& problem() const { return problem_; }

  private:
    std::vector<Dual<T>> prices_;
    Problem<T> problem_;
};

// The answer of the exchanged problem as one of this.
template <class T>
Solution<Dual<T>> turn_back(const Problem<T>& problem, Solution<Dual<T>>&& turned) {
    using D = Dual<T>;
    const D price = problem.unmatched_cost[0];
    Solution<D> solution;
    solution.status = turned.status;
    solution.statistics = std::move(turned.statistics);
    solution.shift = turned.shift + std::fabs(static_cast<double>(price));
    solution.row_to_col.assign(problem.cost.rows, -1);
    for (std::size_t j = 0; j < turned.row_to_col.size(); ++j)
        if (turned.row_to_col[j] >= 0) solution.row_to_col[turned.row_to_col[j]] = static_cast<Index>(j);
    solution.u = std::move(turned.v);
    solution.v = std::move(turned.u);
    if (std::any_of(solution.v.begin(), solution.v.end(), [](D x) { return !(x > -kInfinity<D>); })) {  // no bound
        std::fill(solution.u.begin(), solution.u.end(), -kInfinity<D>);
        std::fill(solution.v.begin(), solution.v.end(), D{0});
        return solution;
    }
    for (D& v : solution.v) v = std::min(v - price, D{0});
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const Index j = solution.row_to_col[i];
        const bool is_tight = solution.status == Status::optimal && j >= 0;
        solution.u[i] = std::min(is_tight ? problem.at(i, j) - solution.v[j] : solution.u[i] + price, price);
    }
    return solution;
}

// The answer by solve(exchanged problem).
template <class T, class Solve>
Solution<Dual<T>> solve_turned(const Problem<T>& problem, const Solve& solve) {
    const Turned<T> turned(problem);
    try {
        return turn_back(problem, solve(turned.problem()));
    } catch (const InvalidCost& at) {
        throw InvalidCost{at.col, at.row};
    } catch (const CostTooLarge& at) {
        throw CostTooLarge{at.col, at.row};
    }
}

}  // namespace lapwing
