// The unit of an exact solve, and the type of integers that has room for it; prices into it, answers out of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lapwing/exact/fixed_point.hpp"
#include "lapwing/exact/solve.hpp"

namespace lapwing {

// Digits that sums of costs need beyond those of a cost: distances and duals are sums of 2 (terms + 1) costs at most.
inline int digits_of_sums(Index terms) { return std::bit_width(2 * (static_cast<std::uint64_t>(terms) + 2)) + 2; }

inline constexpr int kInt128Digits = 124;  // below kInfinity<Int128>

// Calls solve.operator()<F>(unit) with integers that hold all digits of the costs, or all that `precision` asks for.
template <class Solve>
ExactSolution with_unit(const DigitRange& digits, Index terms, double precision, const Solve& solve) {
    if (digits.empty()) return solve.template operator()<Int128>(0);        // all are 0 or forbidden
    const int finest = digits.top + digits_of_sums(terms) - kInt128Digits;  // unit that Int128 has room for
    if (digits.lowest >= finest) return solve.template operator()<Int128>(digits.lowest);
    if (std::ldexp(static_cast<double>(terms), finest) <= precision) {
        ExactSolution solution = solve.template operator()<Int128>(finest);
        solution.rounded = true;
        return solution;
    }
    return solve.template operator()<Wide>(digits.lowest);
}

// The prices to start from, which are sums of parts, in this unit.
template <class F>
std::vector<F> fixed_prices(const ExactRequest& request, std::size_t cols, int unit) {
    // Farther from zero than the sum of all costs of a path no price need be.
    const double farthest = from_fixed(kInfinity<F> / 16 / request.start_parts, unit);
    std::vector<F> start(cols);
    for (int part = 0; part < request.start_parts; ++part)
        for (std::size_t j = 0; j < cols; ++j) {
            const double price = request.start_v[static_cast<std::size_t>(part) * cols + j];
            start[j] += to_nearest_fixed<F>(std::clamp(price, -farthest, farthest), unit);
        }
    return start;
}

// Moves the duals of a square problem from side to side, if some are beyond the range of double, so that both sides are
// equally far from zero.
template <class F>
void balance(std::vector<F>& u, std::vector<F>& v, int unit) {
    if (u.empty()) return;
    const auto [least_u, most_u] = std::minmax_element(u.begin(), u.end());
    const auto [least_v, most_v] = std::minmax_element(v.begin(), v.end());
    const auto in_range = [unit](const F& x) { return std::isfinite(from_fixed(x, unit)); };
    if (in_range(*least_u) && in_range(*most_u) && in_range(*least_v) && in_range(*most_v)) return;
    const F shift = (*least_v + *most_v - *least_u - *most_u) / 4;
    for (F& x : u) x += shift;
    for (F& x : v) x -= shift;
}

template <class F>
ExactSolution in_parts(Solution<F>&& solved, int unit) {
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

}  // namespace lapwing
