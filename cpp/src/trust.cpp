#include "lapwing/trust.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lapwing/certificate.hpp"
#include "lapwing/large_costs.hpp"

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

template <class T>
double objective_of(const Problem<T>& problem, const Index* row_to_col) {
    double sum = 0;
    for (Index i = 0; i < problem.cost.rows; ++i)
        sum += row_to_col[i] >= 0 ? problem.at(i, row_to_col[i]) : problem.unmatched_cost[i];
    return std::fabs(sum);
}

// An answer to the problem without its large costs, if there is one and they are not needed.
template <class T>
bool solve_without_large(const Problem<T>& problem, bool with_u, SecondSolve<T>& memory,
                         DirectAnswer<Dual<T>>& answer) {
    const MatrixView<T>& cost = problem.cost;
    if (problem.unmatched_cost != nullptr) return false;
    const auto large = find_large_costs(problem, cost.rows);
    if (!large) return false;
    memory.costs.resize(static_cast<std::size_t>(cost.rows) * static_cast<std::size_t>(cost.cols));
    const SmallCostsSource<T> source(cost, nullptr, problem.maximize, large->above);
    for (Index i = 0; i < cost.rows; ++i)
        source.read(i, 0, cost.cols, memory.costs.data() + static_cast<std::ptrdiff_t>(i) * cost.cols);
    const Problem<T> small{{memory.costs.data(), cost.rows, cost.cols, cost.cols, 1}, problem.maximize};
    memory.workspace = make_workspace(direct_workspace_bytes(small));
    const auto second = solve_direct(small, memory.workspace.get(), with_u, nullptr);
    if (second.status != Status::optimal) return false;
    if (!are_small(small, second.row_to_col, second.v) && !is_proven(small, second.row_to_col, second.v)) return false;
    answer = second;
    return true;
}

}  // namespace

template <class T>
bool are_small(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v) {
    if constexpr (std::is_floating_point_v<T>)
        return largest_magnitude(v, problem.cost.cols) <= kTrustedRatio * objective_of(problem, row_to_col);
    return true;
}

template <class T>
bool is_proven(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v) {
    const Index rows = problem.cost.rows;
    const std::vector<std::int64_t> matching(row_to_col, row_to_col + rows);
    std::vector<Dual<T>> u;
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
    const auto bound = static_cast<double>(certify(input, 1).bound);
    return bound <= rows * 0x1p-52 * static_cast<double>(objective_of(problem, row_to_col));
}

template <class T>
bool make_sure(const Problem<T>& problem, bool with_u, SecondSolve<T>& memory, DirectAnswer<Dual<T>>& answer) {
    if (are_small(problem, answer.row_to_col, answer.v)) return true;
    if constexpr (std::is_floating_point_v<T>)
        if (solve_without_large(problem, with_u, memory, answer)) return true;
    return is_proven(problem, answer.row_to_col, answer.v);
}

#define LAPWING_TRUST(T)                                                      \
    template bool are_small(const Problem<T>&, const Index*, const Dual<T>*); \
    template bool is_proven(const Problem<T>&, const Index*, const Dual<T>*); \
    template bool make_sure(const Problem<T>&, bool, SecondSolve<T>&, DirectAnswer<Dual<T>>&);
LAPWING_TRUST(float)
LAPWING_TRUST(double)
LAPWING_TRUST(std::int32_t)
LAPWING_TRUST(std::int64_t)
#undef LAPWING_TRUST

}  // namespace lapwing
