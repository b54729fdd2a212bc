#include "lapwing/large_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace lapwing {
namespace {

// The magnitudes of the costs with one binary exponent.
struct Magnitudes {
    double least = kInfinity<double>, most = 0;
    bool negative = false;  // whether one of the costs is
};

}  // namespace

template <class T>
std::optional<LargeCosts> find_large_costs(const Problem<T>& problem, Index rows) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    std::vector<Magnitudes> seen(2048);  // by exponent; zeros are left out, since no gap above them costs digits
    const auto add = [&](double x) {
        const double magnitude = std::fabs(x);
        if (!(magnitude > 0 && magnitude < kInfinity<double>)) return;
        Magnitudes& alike = seen[std::bit_cast<std::uint64_t>(magnitude) >> 52];
        alike.least = std::min(alike.least, magnitude);
        alike.most = std::max(alike.most, magnitude);
        alike.negative = alike.negative || x < 0;
    };
    RowReader<T> reader(problem.cost, problem.source);
    rows = std::min(rows, m);
    for (Index t = 0; t < rows; ++t) {
        const T* row = reader.row(static_cast<Index>(static_cast<std::int64_t>(t) * m / rows));
        for (Index j = 0; j < n; ++j) add(problem.minimised(row[j]));
    }
    if (problem.unmatched_cost != nullptr)
        for (Index i = 0; i < m; ++i) add(problem.unmatched_cost[i]);

    const double apart = 4.0 * (problem.unmatched_cost != nullptr ? m : std::min(m, n));
    std::optional<LargeCosts> large;
    double most = 0;
    for (const Magnitudes& alike : seen) {
        if (alike.most == 0) continue;
        if (!large && most > 0 && alike.least / apart > most) large = LargeCosts{apart * most, alike.least};
        if (large && alike.negative) return std::nullopt;
        most = std::max(most, alike.most);
    }
    return large;
}

template std::optional<LargeCosts> find_large_costs(const Problem<float>&, Index);
template std::optional<LargeCosts> find_large_costs(const Problem<double>&, Index);

}  // namespace lapwing
