#include "lapwing/reductions/capped.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/numbers/trust.hpp"
#include "lapwing/reductions/pair_up.hpp"
#include "lapwing/sparse/solve.hpp"
#include "lapwing/spread.hpp"

namespace lapwing {
namespace {

// More below their caps than this share, and it is no reduction.
constexpr Index kMostShare = 4;

// Reads rows: the cap of each, and the pairs below it. All as the kernels minimise them: integers that are maximised
// are 1 less (signed_cost).
template <class T>
class CapReader {
  public:
    using D = Dual<T>;

    explicit CapReader(const Problem<T>& problem)
        : problem_(problem), kernels_(core_kernels<T>(problem.maximize)), values_(problem.cost.cols + kRoom),
          found_(problem.cost.cols + kRoom), reader_(problem.cost, problem.source) {
        if constexpr (std::is_same_v<T, double>) most_ = cost_limit<double>(std::min(problem.cost.rows, cols()));
    }

    void expect_all() { reader_.expect(0, problem_.cost.rows); }
    // Reads row i. False if a cost is not a number, infinite or out of range, or a pair of floats is forbidden.
    bool read(Index i) {
        row_ = reader_.row(i);
        cap = kernels_.below_largest(row_, cols(), most_, found_.data(), values_.data(), &below);
        return cap < kInfinity<D>;
    }
    // Whether so many pairs share the least cost, and it is below the cap, that any free column will do.
    bool is_tied() {
        constexpr Index kShare = 32;
        if (below == 0) return false;
        const D least = *std::min_element(costs(), costs() + below);
        const auto is_least = [least](D cost) { return cost == least; };
        return std::count_if(costs(), costs() + below, is_least) >= std::max<Index>(cols() / kShare, 2);
    }

    D cap = 0;
    Index below = 0;  // pairs below the cap, valid until the next read:
    const Index* found() const { return found_.data(); }
    const D* costs() const { return values_.data(); }

  private:
    static constexpr Index kRoom = 64;  // for a blind write

    Index cols() const { return problem_.cost.cols; }
    const Problem<T>& problem_;
    CoreKernels<T> kernels_;
    T most_ = std::numeric_limits<T>::max();
    std::vector<D> values_;
    std::vector<Index> found_;
    RowReader<T> reader_;
    const T* row_ = nullptr;
};

// Whether most of a few costs of a few rows are equal.
template <class T>
bool may_have_caps(const Problem<T>& problem) {
    constexpr Index kRows = 3, kCols = 8;
    const Index m = problem.cost.rows, n = problem.cost.cols;
    Index massed = 0;
    for (Index t = 0; t < kRows; ++t) {
        const Index i = static_cast<Index>(static_cast<std::int64_t>(t) * (m - 1) / (kRows - 1));
        T most = problem.cost.at(i, 0);
        Index count = 0;
        for (Index s = 0; s < kCols; ++s) {
            const T c = problem.cost.at(i, static_cast<Index>(static_cast<std::int64_t>(s) * (n - 1) / (kCols - 1)));
            if (problem.maximize ? c < most : c > most) most = c, count = 0;
            count += c == most;
        }
        massed += 2 * count >= kCols;
    }
    return 2 * massed > kRows;
}

// The caps of rows, and the pairs below them.
template <class T>
struct CappedPairs {
    using Cost = std::conditional_t<std::is_floating_point_v<T>, T, Dual<T>>;  // -min of int32 is no int32

    std::vector<Dual<T>> caps;
    Adjacency<Cost> pairs;
};

template <class T>
bool gather(const Problem<T>& problem, Control& control, CappedPairs<T>& capped) {
    using D = Dual<T>;
    require_range(problem, &control);
    const Index m = problem.cost.rows, n = problem.cost.cols;
    const D unshift = std::is_integral_v<T> && problem.maximize ? 1 : 0;  // signed_cost
    const std::size_t most = static_cast<std::size_t>(std::min(kMostBelowCap, n / kMostShare)) * m * 2;
    auto& [caps, pairs] = capped;
    caps.resize(static_cast<std::size_t>(m));
    pairs.rows.resize(static_cast<std::size_t>(m));
    CapReader<T> row(problem);
    row.expect_all();
    for (Index i = 0; i < m; ++i) {
        if (!row.read(i)) return false;
        const std::size_t begin = pairs.entries.size();
        if (begin + static_cast<std::size_t>(row.below) > most) return false;
        caps[i] = row.cap + unshift;
        pairs.rows[i].begin = static_cast<std::int64_t>(begin);
        pairs.rows[i].count = pairs.rows[i].listed = row.below;
        pairs.entries.resize(begin + row.below);
        for (Index k = 0; k < row.below; ++k)
            pairs.entries[begin + k] = {static_cast<typename CappedPairs<T>::Cost>(row.costs()[k] + unshift),
                                        row.found()[k]};
        if (control.poll({"list"})) return false;
    }
    return true;
}

// A price far above all costs below the caps, if these are one number as far above them; else 0. Integers lose no
// digits.
template <class T>
double price_far_above(const CappedPairs<T>& capped) {
    constexpr double kSmaller = 128;  // a lower price keeps more digits, and as a rule all rests are below E / 4
    if constexpr (std::is_integral_v<T>) return 0;
    const auto& [caps, pairs] = capped;
    double largest = 0;
    for (const auto& entry : pairs.entries) largest = std::max(largest, std::fabs(static_cast<double>(entry.cost)));
    const double apart = 4.0 * static_cast<double>(caps.size());
    const bool is_far = static_cast<double>(caps[0]) > apart * largest && largest > 0;
    if (!is_far || std::any_of(caps.begin(), caps.end(), [&](auto cap) { return cap != caps[0]; })) return 0;
    return std::min(apart, kSmaller) * largest;
}

// Lowers the duals of matched rows as far as the other pairs below the caps let the prices of their columns rise, in a
// few passes: searches and bids leave many at the price of staying free that need not be there. Whatever is read in a
// pass only becomes smaller, so all pairs stay feasible.
template <class Cost>
void lower_row_duals(const Adjacency<Cost>& pairs, Solution<double>& solution) {
    constexpr int kPasses = 4;
    std::vector<double> limits, matched(pairs.rows.size());
    bool lower = true;
    for (int pass = 0; lower && pass < kPasses; ++pass) {
        limits.assign(solution.v.size(), 0);
        for (std::size_t i = 0; i < pairs.rows.size(); ++i) {
            const auto* const entries = pairs.entries.data() + pairs.rows[i].begin;
            for (Index k = 0; k < pairs.rows[i].count; ++k) {
                const auto [cost, j] = entries[k];
                if (solution.row_to_col[i] == j)
                    matched[i] = static_cast<double>(cost);
                else
                    limits[j] = std::min(limits[j], static_cast<double>(cost) - solution.u[i]);
            }
        }
        lower = false;
        for (std::size_t i = 0; i < pairs.rows.size(); ++i) {
            const Index j = solution.row_to_col[i];
            if (j < 0 || !(limits[j] > solution.v[j])) continue;
            solution.v[j] = limits[j];
            solution.u[i] = matched[i] - limits[j];
            lower = true;
        }
    }
}

// Splits duals into multiples of `unit`, for which `large` is written, and rests; false if a rest is too large.
inline bool split(Solution<double>& solution, double unit, double large, LargeParts& parts) {
    const auto take = [unit, large](std::vector<double>& duals, std::vector<double>& multiples) {
        double worst = 0;
        for (double& dual : duals) {
            const double steps = std::rint(dual / unit);
            dual -= steps * unit;
            worst = std::max(worst, std::fabs(dual));
            multiples.push_back(steps * large);
        }
        return worst <= unit / 4;
    };
    return take(solution.u, parts.u) && take(solution.v, parts.v);
}

// The sum of the magnitudes of matched costs.
template <class T>
double sum_of_pairs(const Problem<T>& problem, const std::vector<Index>& row_to_col) {
    double sum = 0;
    for (Index i = 0; i < problem.cost.rows; ++i)
        if (const Index j = row_to_col[static_cast<std::size_t>(i)]; j >= 0)
            sum += std::fabs(static_cast<double>(problem.cost.at(i, j)));
    return sum;
}

// With the price `far` for staying free in place of the caps.
template <class T>
bool solve_far(const Problem<T>& problem, CappedPairs<T>& capped, double far, Control& control,
               Solution<double>& solution, LargeParts& parts) {
    const std::vector<double> exits(capped.caps.size(), far);
    solution = solve_adjacency(capped.pairs, problem.cost.cols, exits.data(), nullptr, control, Keep<double>{});
    if (solution.status != Status::optimal) return false;
    lower_row_duals(capped.pairs, solution);
    parts.are_small = sum_of_pairs(problem, solution.row_to_col) * kTrustedRatio >= far;
    return split(solution, far, static_cast<double>(capped.caps[0]), parts);
}

template <class T>
void finish(const Problem<T>& problem, Solution<Dual<T>>& solution) {
    solution.statistics.set("capped", 1);
    pair_up(solution.row_to_col, problem.cost.cols);
}

}  // namespace

template <class T>
bool has_caps(const Problem<T>& problem, Index most) {
    constexpr Index kSampled = 5;
    constexpr Index kLeast = 32;  // columns: fewer are quickly searched
    if (problem.source != nullptr || problem.unmatched_cost != nullptr || problem.cost.cols < kLeast) return false;
    if (!may_have_caps(problem)) return false;
    most = std::min(most, problem.cost.cols / kMostShare);
    const Index sampled = std::min(kSampled, problem.cost.rows);
    CapReader<T> row(problem);
    Index below = 0, tied = 0;
    for (Index t = 0; t < sampled; ++t) {
        if (!row.read(static_cast<Index>(static_cast<std::int64_t>(t) * problem.cost.rows / sampled))) return false;
        below += row.below;
        if (below > sampled * most) return false;
        tied += row.is_tied();
    }
    return 2 * tied <= sampled;
}

template <class T>
bool tie_below_caps(const Problem<T>& problem) {
    constexpr Index kSampled = 3, kMany = 64;
    std::array<Dual<T>, kMany> costs;
    CapReader<T> row(problem);
    Index distinct = 0;
    for (Index t = 0; t < kSampled; ++t) {
        if (!row.read(spread(t, kSampled, problem.cost.rows)) || row.below < kMany) return false;
        std::copy_n(row.costs(), kMany, costs.begin());
        std::sort(costs.begin(), costs.end());
        distinct += static_cast<Index>(std::unique(costs.begin(), costs.end()) - costs.begin());
    }
    return 4 * distinct < 3 * kSampled * kMany;
}

template <class T>
bool solve_capped(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution, bool* are_small) {
    using D = Dual<T>;
    CappedPairs<T> capped;
    if (!gather(problem, control, capped)) return false;
    const double far = price_far_above(capped);
    if (far > 0) {
        if constexpr (std::is_floating_point_v<D>) {
            LargeParts parts;
            if (!solve_far(problem, capped, far, control, solution, parts)) return false;
            for (std::size_t i = 0; i < solution.u.size(); ++i) solution.u[i] += parts.u[i];
            for (std::size_t j = 0; j < solution.v.size(); ++j) solution.v[j] += parts.v[j];
            if (are_small != nullptr) *are_small = parts.are_small;
        }
    } else {
        solution = solve_adjacency(capped.pairs, problem.cost.cols, capped.caps.data(), nullptr, control, Keep<D>{});
    }
    finish(problem, solution);
    return true;
}

template <class T>
bool solve_far_capped(const Problem<T>& problem, Control& control, Solution<double>& solution, LargeParts& parts) {
    CappedPairs<T> capped;
    if (!gather(problem, control, capped)) return false;
    const double far = price_far_above(capped);
    if (far == 0 || !solve_far(problem, capped, far, control, solution, parts)) return false;
    finish(problem, solution);
    return true;
}

#define LAPWING_CAPPED(T)                             \
    template bool has_caps(const Problem<T>&, Index); \
    template bool tie_below_caps(const Problem<T>&);  \
    template bool solve_capped(const Problem<T>&, Control&, Solution<Dual<T>>&, bool*);
LAPWING_CAPPED(float)
LAPWING_CAPPED(double)
LAPWING_CAPPED(std::int32_t)
LAPWING_CAPPED(std::int64_t)
#undef LAPWING_CAPPED
template bool solve_far_capped(const Problem<float>&, Control&, Solution<double>&, LargeParts&);
template bool solve_far_capped(const Problem<double>&, Control&, Solution<double>&, LargeParts&);

}  // namespace lapwing
