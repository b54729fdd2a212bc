#include "lapwing/large_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace lapwing {
namespace {

constexpr int kExponents = 2048;  // of doubles

int exponent_of(double magnitude) { return static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52); }

// Calls visit(cost) for the costs of some rows, as minimised, and for the unmatched costs.
template <class T, class Visit>
void visit_some(const Problem<T>& problem, Index rows, const Visit& visit) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    RowReader<T> reader(problem.cost, problem.source);
    rows = std::min(rows, m);
    for (Index t = 0; t < rows; ++t) {
        const T* row = reader.row(static_cast<Index>(static_cast<std::int64_t>(t) * m / rows));
        for (Index j = 0; j < n; ++j) visit(problem.minimised(row[j]));
    }
    if (problem.unmatched_cost != nullptr)
        for (Index i = 0; i < m; ++i) visit(problem.unmatched_cost[i]);
}

// Whether `wanted` exponents in a row are those of no cost, between those of others: nearly all problems are done here.
template <class T>
bool has_empty_exponents(const Problem<T>& problem, Index rows, int wanted) {
    std::uint64_t seen[kExponents / 64] = {};  // a bit an exponent
    visit_some(problem, rows, [&seen](double x) {
        const int e = exponent_of(std::fabs(x));
        seen[e / 64] |= std::uint64_t{1} << e % 64;
    });
    seen[0] &= ~std::uint64_t{1};                            // zeros, and numbers next to them
    seen[kExponents / 64 - 1] &= ~(std::uint64_t{1} << 63);  // infinity
    int last = kExponents;
    for (int k = 0; k < kExponents / 64; ++k)
        for (std::uint64_t bits = seen[k]; bits != 0; bits &= bits - 1) {
            const int e = 64 * k + std::countr_zero(bits);
            if (e - last > wanted) return true;
            last = e;
        }
    return false;
}

// The magnitudes of the costs with one exponent.
struct Magnitudes {
    double least = kInfinity<double>, most = 0;
    bool negative = false;  // whether one of the costs is
};

}  // namespace

template <class T>
std::optional<LargeCosts> find_large_costs(const Problem<T>& problem, Index rows) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    const double apart = 4.0 * (problem.unmatched_cost != nullptr ? m : std::min(m, n));
    if (!has_empty_exponents(problem, rows, static_cast<int>(std::log2(apart)) - 1)) return std::nullopt;

    std::vector<Magnitudes> seen(kExponents);  // without zeros, since no gap above them costs digits
    visit_some(problem, rows, [&seen](double x) {
        const double magnitude = std::fabs(x);
        if (!(magnitude > 0 && magnitude < kInfinity<double>)) return;
        Magnitudes& alike = seen[static_cast<std::size_t>(exponent_of(magnitude))];
        alike.least = std::min(alike.least, magnitude);
        alike.most = std::max(alike.most, magnitude);
        alike.negative = alike.negative || x < 0;
    });
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
