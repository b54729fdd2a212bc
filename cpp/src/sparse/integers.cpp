// Integers in doubles, which hold whole numbers up to 2^53 exactly.
//
// A solve's sums stay within 2^53 if costs stay within the limit for 64 bits (numbers/range.hpp) divided by 2^10. Wars
// of bids over too few columns are beyond that limit's reach: prices only fall, so those at the end tell of all.
#include <cmath>

#include "lapwing/numbers/range.hpp"
#include "lapwing/sparse/components.hpp"

namespace lapwing {
namespace {

constexpr double kRoom = 0x1p52;

bool all_within(const std::vector<double>& values, double limit) {
    bool within = true;
    for (const double x : values) within = within && std::fabs(x) <= limit;
    return within;
}

// Infinity stands for itself.
std::vector<double> as_doubles(const std::int64_t* values, Index count) {
    std::vector<double> made;
    for (Index i = 0; values != nullptr && i < count; ++i)
        made.push_back(values[i] == kInfinity<std::int64_t> ? kInfinity<double> : static_cast<double>(values[i]));
    return made;
}

std::vector<std::int64_t> as_integers(const std::vector<double>& values) {
    std::vector<std::int64_t> made;
    made.reserve(values.size());
    for (const double x : values) made.push_back(static_cast<std::int64_t>(x));
    return made;
}

bool have_room(const Adjacency<double>& pairs, const std::vector<double>& exits, const std::vector<double>& free_cols,
               double limit) {
    bool within = all_within(free_cols, limit);
    for (const auto& entry : pairs.entries) within = within && std::fabs(entry.cost) <= limit;
    for (const double price : exits) within = within && (price == kInfinity<double> || std::fabs(price) <= limit);
    return within;
}

const double* data_or_null(const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); }

}  // namespace

template <class T>
bool solve_in_doubles(const SparseProblem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                      const Keep<Dual<T>>& keep, SparseSolution<Dual<T>>& solution) {
    auto pairs = make_adjacency<double>(problem.cost, problem.maximize, problem.transposed);
    const auto rows = static_cast<Index>(pairs.rows.size());
    const Index cols = problem.cols();
    const auto exits = as_doubles(problem.unmatched_cost, rows), free_cols = as_doubles(problem.unmatched_cols, cols),
               start = as_doubles(start_v, cols);
    const double share = problem.unmatched_cols != nullptr ? 2 : 1;
    const double limit = static_cast<double>(cost_limit<std::int64_t>(std::max(rows, cols))) * 0x1p-10 / share;
    if (!have_room(pairs, exits, free_cols, limit) || !all_within(start, kRoom)) return false;
    const auto kept = [&keep](std::vector<double>&& u, std::vector<double>&& v, std::vector<Index>&& row_to_col) {
        if (all_within(u, kRoom) && all_within(v, kRoom)) keep(as_integers(u), as_integers(v), std::move(row_to_col));
    };
    auto solved = solve_components<double>(pairs, cols, data_or_null(exits), data_or_null(start), threads, control,
                                           kept, data_or_null(free_cols), true);
    if (!all_within(solved.u, kRoom) || !all_within(solved.v, kRoom)) return false;
    solution.status = solved.status;
    solution.row_to_col = std::move(solved.row_to_col);
    solution.u = as_integers(solved.u);
    solution.v = as_integers(solved.v);
    solution.hall_rows = std::move(solved.hall_rows);
    solution.hall_cols = std::move(solved.hall_cols);
    solution.statistics = std::move(solved.statistics);
    solution.violator_is_cols = solved.violator_is_cols;
    return true;
}

template bool solve_in_doubles(const SparseProblem<std::int32_t>&, const std::int64_t*, int, Control&,
                               const Keep<std::int64_t>&, SparseSolution<std::int64_t>&);
template bool solve_in_doubles(const SparseProblem<std::int64_t>&, const std::int64_t*, int, Control&,
                               const Keep<std::int64_t>&, SparseSolution<std::int64_t>&);

}  // namespace lapwing
