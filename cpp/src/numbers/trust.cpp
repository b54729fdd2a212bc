#include "lapwing/numbers/trust.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lapwing/certificate/certificate.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/reductions/capped.hpp"
#include "lapwing/reductions/large_costs.hpp"

namespace lapwing {
namespace {

constexpr double kSmall = 0x1p-20;  // of the largest cost: smaller ones are to be told apart beside it

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

// The costs of an answer's rows: their sum, and how far apart they are.
struct Paid {
    double sum = 0, largest = 0, least = kInfinity<double>;  // the magnitudes of the largest and of the least but zeros

    void add(double cost) {
        const double magnitude = std::fabs(cost);
        sum += cost;
        largest = magnitude > largest ? magnitude : largest;
        least = magnitude > 0 && magnitude < least ? magnitude : least;
    }
    bool has_small() const { return least < kSmall * largest; }
};
template <class T>
double paid_by(const Problem<T>& problem, const Index* row_to_col, Index i) {
    return row_to_col[i] >= 0 ? static_cast<double>(problem.at(i, row_to_col[i]))
                              : static_cast<double>(problem.unmatched_cost[i]);
}
// As tells_small_costs.
template <class T>
bool tells_small_of(const Problem<T>& problem, const Index* row_to_col, double error) {
    std::vector<double> costs;
    for (Index i = 0; i < problem.cost.rows; ++i) costs.push_back(paid_by(problem, row_to_col, i));
    return tells_small_costs(error, costs.data(), costs.size());
}

constexpr Index kSampledRows = 4;
constexpr double kReadsBesideLarge = 4;  // of each row, as long as a copy without large costs takes

// Whether the first row has magnitudes so far apart that a large number in place of infinity is likely.
template <class T>
bool spans_magnitudes(const Problem<T>& problem) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), largest = 0;
    constexpr auto kInfinityBits = std::bit_cast<std::int64_t>(kInfinity<double>);
    for (Index j = 0; j < problem.cost.cols; ++j) {
        const std::int64_t bits = std::bit_cast<std::int64_t>(std::fabs(static_cast<double>(problem.cost.at(0, j))));
        least = bits > 0 && bits < least ? bits : least;
        largest = bits < kInfinityBits && bits > largest ? bits : largest;
    }
    return largest > least && (largest - least) >> 52 >= 24;
}

// An answer to the problem without its large costs, if there is one and they are not needed.
template <class T>
bool solve_without_large(const Problem<T>& problem, bool with_u, Workspace& memory, DirectAnswer<Dual<T>>& answer) {
    const MatrixView<T>& cost = problem.cost;
    if (problem.unmatched_cost != nullptr) return false;
    const auto large = find_large_costs(problem, std::min(cost.rows, kSampledRows));
    if (!large) return false;
    Problem<T> small{{nullptr, cost.rows, cost.cols, cost.cols, 1}, problem.maximize};
    const std::size_t items = static_cast<std::size_t>(cost.rows) * static_cast<std::size_t>(cost.cols);
    const std::size_t bytes =
        (items * sizeof(T) + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;  // of the costs
    memory = make_workspace(bytes + direct_workspace_bytes(small));
    T* const costs = reinterpret_cast<T*>(memory.get());
    const auto source = small_costs<T>(cost, nullptr, problem.maximize, large->above);
    for (Index i = 0; i < cost.rows; ++i)
        source->read(i, 0, cost.cols, costs + static_cast<std::ptrdiff_t>(i) * cost.cols);
    small.cost.data = costs;
    const auto second = solve_direct(small, memory.get() + bytes, with_u, nullptr);
    if (second.status != Status::optimal) return false;
    if (!are_small(small, second.row_to_col, second.v) && !is_proven(small, second.row_to_col, second.v)) return false;
    // Only some rows were looked at, but if no pair's duals add up to a large cost, these duals prove that none pays.
    double row_dual = -kInfinity<double>, col_dual = -kInfinity<double>;
    for (Index j = 0; j < cost.cols; ++j) col_dual = std::max(col_dual, second.v[j]);
    for (Index i = 0; i < cost.rows; ++i)
        row_dual = std::max(row_dual, small.at(i, second.row_to_col[i]) - second.v[second.row_to_col[i]]);
    if (!(row_dual + col_dual <= large->above / 2)) return false;
    answer = second;
    return true;
}

template <class T>
bool is_sure(const Problem<T>& problem, const Solution<Dual<T>>& solution) {
    const Index* const row_to_col = solution.row_to_col.data();
    return are_small(problem, row_to_col, solution.v.data(), solution.shift) ||
           is_proven(problem, row_to_col, solution.v.data());
}

// solve_capped, and whether its answer is sure.
template <class T>
bool solve_capped_surely(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    bool are_small_beside_cap = false;
    return solve_capped(problem, control, solution, &are_small_beside_cap) && solution.status == Status::optimal &&
           (are_small_beside_cap || is_sure(problem, solution));
}

// An answer to a problem whose costs have a cap, if it is sure.
template <class T>
bool solve_by_caps(const Problem<T>& problem, Solution<Dual<T>>& solution, DirectAnswer<Dual<T>>& answer) {
    Control control;
    if (!solve_capped_surely(problem, control, solution)) {
        solution = {};
        return false;
    }
    answer = {};
    answer.row_to_col = solution.row_to_col.data(), answer.u = solution.u.data(), answer.v = solution.v.data();
    return true;
}

}  // namespace

template <class T>
bool are_small(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v, double shift) {
    if constexpr (std::is_floating_point_v<T>) {
        Paid paid;
        for (Index i = 0; i < problem.cost.rows; ++i) paid.add(paid_by(problem, row_to_col, i));
        const double objective = std::fabs(paid.sum);
        if (!(objective < kInfinity<double>)) return false;
        const double largest = std::max(largest_magnitude(v, problem.cost.cols), shift);
        if (!(largest <= kTrustedRatio * objective)) return false;
        return !paid.has_small() || tells_small_of(problem, row_to_col, largest * 0x1p-52);
    }
    return true;
}

template <class T>
bool is_proven(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v, const Dual<T>* unmatched_cols) {
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
    input.unmatched_cols = unmatched_cols;
    input.row_to_col = matching.data();
    input.u = u.data();
    input.v = v;
    const auto certificate = certify(input, 1);
    const auto bound = static_cast<double>(certificate.bound);
    if (std::is_floating_point_v<T> && !(bound < kInfinity<double>)) return false;
    if (!(bound <= rows * 0x1p-52 * std::fabs(static_cast<double>(certificate.primal)))) return false;
    return rows > kDirectMaxRows || !std::is_floating_point_v<T> || tells_small_of(problem, row_to_col, bound);
}

bool tells_small_costs(double error, const double* costs, std::size_t count, double share) {
    double largest = 0, small = 0;
    for (std::size_t k = 0; k < count; ++k) largest = std::max(largest, std::fabs(costs[k]));
    for (std::size_t k = 0; k < count; ++k)
        if (std::fabs(costs[k]) < kSmall * largest) small += std::fabs(costs[k]);
    return small == 0 || error <= share * small;
}

template <class T>
bool solve_surely(const Problem<T>& problem, std::byte* workspace, bool with_u, AnswerMemory<Dual<T>>& memory,
                  DirectAnswer<Dual<T>>& answer) {
    bool looked = false;
    if constexpr (std::is_floating_point_v<T>) {  // before caps: a large number on most pairs is one, too
        looked = spans_magnitudes(problem);
        if (looked) {  // mostly prices stay small beside large costs, and to leave these out takes a copy
            answer = solve_direct(problem, workspace, with_u, nullptr, kReadsBesideLarge * problem.cost.rows);
            const bool is_solved = !answer.gave_up && answer.status == Status::optimal;
            if (is_solved && are_small(problem, answer.row_to_col, answer.v)) return true;
            if (solve_without_large(problem, with_u, memory.workspace, answer)) return true;
        }
    }
    const bool capped = has_caps(problem);
    if (looked && capped && solve_by_caps(problem, memory.solution, answer)) return true;
    answer = solve_direct(problem, workspace, with_u, nullptr, capped ? kReadsOfCapped * problem.cost.rows : kNoLimit,
                          capped ? JvStart::zero : JvStart::fitting);
    if (answer.gave_up) {
        if (solve_by_caps(problem, memory.solution, answer)) return true;
        answer = solve_direct(problem, workspace, with_u, nullptr);
    }
    if (answer.status != Status::optimal || are_small(problem, answer.row_to_col, answer.v)) return true;
    if constexpr (std::is_floating_point_v<T>)
        if (!looked && solve_without_large(problem, with_u, memory.workspace, answer)) return true;
    return is_proven(problem, answer.row_to_col, answer.v);
}

template <class T>
bool solve_larger_surely(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    solution = std::min(problem.cost.rows, problem.cost.cols) <= kJvOrCoreMaxRows
                   ? solve_jv_or_core(problem, 1, control)
                   : solve_core_or_jv(problem, 1, control);
    return solution.status != Status::optimal || is_sure(problem, solution);
}

template <class T>
bool solve_beside_large(const Problem<T>& problem, const LargeCosts& large, Control& control,
                        Solution<Dual<T>>& solution) {
    if (!copies_for_direct(problem) &&
        solve_jv_within(problem, kReadsBesideLarge * problem.cost.rows, control, solution) &&
        solution.status == Status::optimal && are_small(problem, solution.row_to_col.data(), solution.v.data()))
        return true;
    if (large.leave_digits()) return solve_larger_surely(problem, control, solution);
    return has_caps(problem) && solve_capped_surely(problem, control, solution);
}

#define LAPWING_TRUST(T)                                                                                             \
    template bool are_small(const Problem<T>&, const Index*, const Dual<T>*, double);                                \
    template bool is_proven(const Problem<T>&, const Index*, const Dual<T>*, const Dual<T>*);                        \
    template bool solve_surely(const Problem<T>&, std::byte*, bool, AnswerMemory<Dual<T>>&, DirectAnswer<Dual<T>>&); \
    template bool solve_larger_surely(const Problem<T>&, Control&, Solution<Dual<T>>&);                              \
    template bool solve_beside_large(const Problem<T>&, const LargeCosts&, Control&, Solution<Dual<T>>&);
LAPWING_TRUST(float)
LAPWING_TRUST(double)
LAPWING_TRUST(std::int32_t)
LAPWING_TRUST(std::int64_t)
#undef LAPWING_TRUST

}  // namespace lapwing
