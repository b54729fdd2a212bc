#include "lapwing/reductions/separable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/reductions/pair_up.hpp"
#include "lapwing/sparse/solve.hpp"
#include "lapwing/spread.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/reductions/separable.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

constexpr Index kLeastRows = 64;
constexpr Index kLooked = 8, kAlike = 5;  // differences of two rows in so many columns: so many are equal
constexpr Index kSampled = 32;            // rows and columns, by whose costs numbers are found
constexpr Index kFewPairs = 4;            // one pair in so many is few

// Differences of sums of two such numbers, up to this, are those of rounding. Of integers there is none.
template <class D>
D rounding(D one, D other) {
    if constexpr (std::is_floating_point_v<D>) return (std::fabs(one) + std::fabs(other)) * 0x1p-50;
    return 0;
}

template <class D>
D median(std::array<D, kSampled>& numbers) {
    std::nth_element(numbers.begin(), numbers.begin() + kSampled / 2, numbers.end());
    return numbers[kSampled / 2];
}

// Whether two rows differ by the same in most of a few columns.
template <class T>
bool may_be_separable(const MatrixView<T>& cost) {
    std::array<double, kLooked> apart;
    double largest = 0;
    for (Index t = 0; t < kLooked; ++t) {
        const Index j = spread(t, kLooked, cost.cols);
        const auto one = static_cast<double>(cost.at(cost.rows / 3, j)),
                   other = static_cast<double>(cost.at(cost.rows / 2, j));
        apart[t] = one - other;
        if (!std::isfinite(apart[t])) return false;
        largest = std::max({largest, std::fabs(one), std::fabs(other)});
    }
    std::sort(apart.begin(), apart.end());
    const double middle = apart[kLooked / 2];
    return std::count_if(apart.begin(), apart.end(),
                         [&](double x) { return std::fabs(x - middle) <= rounding(largest, 0.0); }) >= kAlike;
}

template <class T>
class SeparableCosts {
  public:
    using D = Dual<T>;

    explicit SeparableCosts(const Problem<T>& problem)
        : problem_(problem), n_(problem.cost.rows), most_(cost_limit<D>(n_) / 4) {}

    // False if some of the costs tell that they are not such, or that more than `each` pairs a row cost less.
    bool find_numbers(Index each) {
        std::array<std::array<D, kSampled>, kSampled> seen;
        for (Index k = 0; k < kSampled; ++k)
            for (Index t = 0; t < kSampled; ++t) {
                seen[k][t] = problem_.at(line(k), line(t));
                if (!fits(seen[k][t])) return false;
            }
        std::array<D, kSampled> of_row, of_col, some;
        for (Index k = 0; k < kSampled; ++k) {
            for (Index t = 0; t < kSampled; ++t) some[t] = seen[k][t] - seen[0][t];
            of_row[k] = median(some);
        }
        for (Index t = 0; t < kSampled; ++t) {
            for (Index k = 0; k < kSampled; ++k) some[k] = seen[k][t] - of_row[k];
            of_col[t] = median(some);
        }
        Index below = 0;
        for (Index k = 0; k < kSampled; ++k)
            for (Index t = 0; t < kSampled; ++t) {
                const D rest = seen[k][t] - (of_row[k] + of_col[t]), equal = rounding(of_row[k], of_col[t]);
                if (rest > equal) return false;
                below += rest < -equal;
            }
        const double share = static_cast<double>(below) / (kSampled * kSampled);
        return share * kFewPairs <= 1 && share * n_ <= each && extend(of_row, of_col);
    }
    // The pairs that cost less. False if one costs more, or there are more than `each` a row, or the time is up.
    bool gather(Index each, Control& control, Adjacency<D>& pairs) {
        const auto size = static_cast<std::size_t>(n_);
        const std::size_t most = std::min(size * size / kFewPairs, size * static_cast<std::size_t>(each));
        const D sign = problem_.maximize ? -1 : 1;
        D largest = 0;
        for (const D number : of_col_) largest = std::max({largest, number, -number});
        pairs.rows.resize(size);
        std::vector<Index> found(size);
        RowReader<T> reader(problem_.cost, nullptr);
        reader.expect(0, n_);
        for (Index i = 0; i < n_; ++i) {
            const T* const row = reader.row(i);
            const Index count = LAPWING_DISPATCH(pairs_below<T>, row, n_, problem_.maximize, of_row_[i], of_col_.data(),
                                                 rounding(of_row_[i], largest), found.data());
            const std::size_t begin = pairs.entries.size();
            if (count < 0 || begin + static_cast<std::size_t>(count) > most || control.poll({"list"})) return false;
            for (Index k = 0; k < count; ++k) {
                pairs.entries.push_back({sign * static_cast<D>(row[found[k]]), found[k]});
                if (!fits(pairs.entries.back().cost)) return false;
            }
            pairs.rows[i].begin = static_cast<std::int64_t>(begin);
            pairs.rows[i].count = pairs.rows[i].listed = count;
        }
        return true;
    }
    const D* row_prices() const { return of_row_.data(); }
    const D* col_prices() const { return of_col_.data(); }

  private:
    Index line(Index k) const { return spread(k, kSampled, n_); }
    // Not if it is not a number.
    bool fits(D cost) const { return cost <= most_ && cost >= -most_; }

    // From the numbers of some rows and columns to those of all.
    bool extend(const std::array<D, kSampled>& of_row, const std::array<D, kSampled>& of_col) {
        std::array<D, kSampled> some;
        bool all_fit = true;
        const auto number = [&](const auto& cost_at, const std::array<D, kSampled>& others) {
            for (Index k = 0; k < kSampled; ++k) {
                const D cost = cost_at(line(k));
                all_fit &= fits(cost);
                some[k] = cost - others[k];
            }
            return all_fit ? median(some) : D{0};
        };
        for (Index i = 0; i < n_; ++i) {
            of_row_.push_back(number([&](Index j) { return problem_.at(i, j); }, of_col));
            of_col_.push_back(number([&](Index r) { return problem_.at(r, i); }, of_row));
        }
        return all_fit;
    }

    const Problem<T>& problem_;
    const Index n_;
    const D most_;
    std::vector<D> of_row_, of_col_;  // a and b
};

}  // namespace

template <class T>
bool solve_separable(const Problem<T>& problem, Index each, Control& control, Solution<Dual<T>>& solution) {
    using D = Dual<T>;
    const MatrixView<T>& cost = problem.cost;
    if (problem.source != nullptr || problem.unmatched_cost != nullptr) return false;
    if (cost.rows != cost.cols || cost.rows < kLeastRows || !may_be_separable(cost)) return false;
    require_range(problem, &control);  // before the least integer is negated
    SeparableCosts<T> separable(problem);
    Adjacency<D> pairs;
    if (!separable.find_numbers(each) || !separable.gather(each, control, pairs)) return false;
    Solution<D> found =
        solve_adjacency<D>(pairs, cost.cols, separable.row_prices(), nullptr, control, {}, separable.col_prices());
    if (found.status != Status::optimal) return false;
    solution = std::move(found);
    solution.statistics.set("separable", 1);
    pair_up(solution.row_to_col, cost.cols);
    return true;
}

#define LAPWING_SEPARABLE(T) template bool solve_separable(const Problem<T>&, Index, Control&, Solution<Dual<T>>&);
LAPWING_SEPARABLE(float)
LAPWING_SEPARABLE(double)
LAPWING_SEPARABLE(std::int32_t)
LAPWING_SEPARABLE(std::int64_t)
#undef LAPWING_SEPARABLE

}  // namespace lapwing
