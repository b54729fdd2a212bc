#include "lapwing/trust.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lapwing/certificate.hpp"

namespace lapwing {
namespace {

// Compared as integers, so that the loop has vector instructions; infinity for NaN and infinity.
double largest_magnitude(const double* x, Index count) {
    std::int64_t largest = 0;
    for (Index j = 0; j < count; ++j) {
        std::int64_t bits;
        std::memcpy(&bits, x + j, sizeof bits);
        bits &= std::numeric_limits<std::int64_t>::max();
        largest = bits > largest ? bits : largest;
    }
    double magnitude;
    std::memcpy(&magnitude, &largest, sizeof magnitude);
    return magnitude;
}

// The bound that a certificate gives, with u from the matched costs.
template <class T>
double proven_bound(const Problem<T>& problem, const Index* row_to_col, const double* v) {
    const Index rows = problem.cost.rows;
    const std::vector<std::int64_t> matching(row_to_col, row_to_col + rows);
    std::vector<double> u;
    for (Index i = 0; i < rows; ++i) {
        const Index j = row_to_col[i];
        u.push_back(j >= 0 ? problem.at(i, j) - v[j] : problem.unmatched_cost[i]);
        if (problem.unmatched_cost != nullptr) u.back() = std::min(u.back(), problem.unmatched_cost[i]);
    }
    CertificateInput<T> input;
    input.cost = problem.cost;
    input.maximize = problem.maximize;
    input.unmatched_cost = problem.unmatched_cost;
    input.row_to_col = matching.data();
    input.u = u.data();
    input.v = v;
    return certify(input, 1).bound;
}

}  // namespace

template <class T>
bool is_doubtful(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v) {
    if constexpr (std::is_floating_point_v<T>) {
        double objective = 0;
        for (Index i = 0; i < problem.cost.rows; ++i) {
            const Index j = row_to_col[i];
            objective += j >= 0 ? static_cast<double>(problem.cost.at(i, j))
                                : (problem.maximize ? -1 : 1) * problem.unmatched_cost[i];
        }
        objective = std::fabs(objective);
        if (largest_magnitude(v, problem.cost.cols) <= kTrustedRatio * objective) return false;
        return !(proven_bound(problem, row_to_col, v) <= problem.cost.rows * 0x1p-52 * objective);
    }
    return false;
}

template bool is_doubtful(const Problem<float>&, const Index*, const double*);
template bool is_doubtful(const Problem<double>&, const Index*, const double*);
template bool is_doubtful(const Problem<std::int32_t>&, const Index*, const std::int64_t*);
template bool is_doubtful(const Problem<std::int64_t>&, const Index*, const std::int64_t*);

}  // namespace lapwing
