// Whether rounding may have spoiled an answer that nobody asks a certificate for.
//
// Errors of float64 duals are some units in the last place of the largest one. Where that is of the size of the objective, the
// answer is as good as any float64 sum can tell. Where it is much larger (a large number M in place of infinity), only the
// certificate knows. O(rows + cols) for nearly all problems.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lapwing/certificate.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Duals may be so much larger than the objective, 4 of their 52 digits.
inline constexpr double kTrustedRatio = 16;

// Of an optimal answer to a problem with a matrix: true if its proof leaves a bound above rows ulps of the objective.
template <class T>
bool is_doubtful(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v) {
    if constexpr (std::is_integral_v<T>) {
        return false;
    } else {
        const Index rows = problem.cost.rows, cols = problem.cost.cols;
        double objective = 0, largest = 0;
        for (Index i = 0; i < rows; ++i)
            objective += row_to_col[i] >= 0 ? problem.at(i, row_to_col[i]) : problem.unmatched_cost[i];
        for (Index j = 0; j < cols; ++j) largest = std::max(largest, std::fabs(v[j]));
        if (largest <= kTrustedRatio * std::fabs(objective)) return false;

        std::vector<std::int64_t> matching(row_to_col, row_to_col + rows);
        std::vector<double> u(static_cast<std::size_t>(rows));
        for (Index i = 0; i < rows; ++i) {
            const Index j = row_to_col[i];
            u[static_cast<std::size_t>(i)] = j >= 0 ? problem.at(i, j) - v[j] : problem.unmatched_cost[i];
            if (problem.unmatched_cost != nullptr)
                u[static_cast<std::size_t>(i)] = std::min(u[static_cast<std::size_t>(i)], problem.unmatched_cost[i]);
        }
        CertificateInput<T> input;
        input.cost = problem.cost;
        input.maximize = problem.maximize;
        input.unmatched_cost = problem.unmatched_cost;
        input.row_to_col = matching.data();
        input.u = u.data();
        input.v = v;
        return !(certify(input, 1).bound <= rows * 0x1p-52 * std::fabs(objective));
    }
}

}  // namespace lapwing
