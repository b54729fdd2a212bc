// Where the "ssp" method starts: prices, the order of the rows, and the first epsilon (Algorithm 1015, "Estimating
// epsilon"), from lower and upper bounds on the optimum. Each step reads every row once:
//   survey   row minima: a first lower bound. Column j's first estimate of v is the second smallest of c[i,j] less its
//            row's minimum: the price at which only one row would take it at no loss.
//   regret   under that v, what it costs a row not to get its best column; a second lower bound.
//   greedy   rows choose the best column left, greatest regret first: an upper bound.
//   reverse  prices under which the greedy choice is stable: the last row to choose fixes its column's price; columns
//            taken before it fall until the row does not prefer them; then the row before it, and so on. Exact where
//            the costs are a sum or a product of a row and a column term; a third lower bound.
// The v with the best lower bound is used; epsilon starts at the gap between the bounds, per row.
//
// Deviations: powers of two for epsilon, so that sums of costs on a binary grid stay exact (DESIGN section 3.5). Only
// the survey is made, and v = epsilon = 0, for unmatched costs (ssp.cpp says why) and for integers too large for the
// prices that scaling can reach.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lapwing/ssp.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/ssp_start.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

// Tuned on the uniform, geometric, disjoint and low-rank classes for the fewest rows read.
constexpr double kEpsilonPerGap = 1.0 / 4;   // first epsilon = this * gap / rows
constexpr double kLeastPerFirst = 1.0 / 64;  // last epsilon before 0 = this * first
constexpr double kEpsilonPerCost = 0x1p-40;  // and at least this * largest cost: keeps sums on a binary grid
constexpr double kScalingLimit = 0x1p57;     // integers: rows * largest cost that allow scaling

template <class T>
class Starter {
    using D = Dual<T>;

  public:
    Starter(SspRows<T>& rows, Control& control)
        : rows_(rows), control_(control), n_(rows.problem().cost.cols), m_(rows.problem().cost.rows),
          maximize_(rows.problem().maximize) {}

    SspStart<D> run() {
        start_.v.assign(ssp_padded(n_), D{0});
        start_.greedy.assign(static_cast<std::size_t>(m_), -1);
        start_.order.resize(static_cast<std::size_t>(m_));
        std::iota(start_.order.begin(), start_.order.end(), 0);
        std::vector<D> estimate = survey();
        if (start_.forbidden_row >= 0 || start_.expired) return std::move(start_);
        best_bound_ = std::accumulate(start_.row_least.begin(), start_.row_least.end(), 0.0);
        if (rows_.problem().unmatched_cost != nullptr) return std::move(start_);
        if (!std::is_floating_point_v<D> && static_cast<double>(magnitude_) * m_ > kScalingLimit) {
            return std::move(start_);
        }
        regret(estimate);
        if (start_.expired) return std::move(start_);
        const double upper = greedy(estimate);
        if (start_.expired) return std::move(start_);
        reverse(estimate);
        choose_epsilon(upper - best_bound_);
        return std::move(start_);
    }

  private:
    SspRows<T>& rows_;
    Control& control_;
    Index n_, m_;
    bool maximize_;
    SspStart<D> start_;
    double best_bound_ = -kInfinity<double>;  // the lower bound that start_.v gives
    D magnitude_ = 0;                         // largest |cost|
    std::vector<std::int64_t> all_columns() const {
        std::vector<std::int64_t> mask(ssp_padded(n_), 0);
        std::fill_n(mask.begin(), n_, -1);
        return mask;
    }
    bool poll() {
        start_.bound = best_bound_;
        start_.expired = control_.poll({"start", 0, 0, start_.bound});
        return start_.expired;
    }
    // Shifts v so that none is positive: feasible for rectangular problems too.
    void make_nonpositive(std::vector<D>& v) const {
        const D greatest = *std::max_element(v.begin(), v.begin() + n_);
        for (Index j = 0; j < n_; ++j) v[static_cast<std::size_t>(j)] -= greatest;
    }
    void propose(const std::vector<D>& v, double bound) {
        if (bound <= best_bound_) return;
        best_bound_ = bound;
        start_.v = v;
    }

    // Not cut short by the time limit: the row minima are the duals that it returns.
    std::vector<D> survey() {
        std::vector<D> first(ssp_padded(n_), kInfinity<D>), second(first);
        start_.row_least.resize(static_cast<std::size_t>(m_));
        for (Index i = 0; i < m_; ++i) {
            poll();
            const T* cost = rows_(i);
            const SspExtremes<D> row = LAPWING_DISPATCH(ssp_extremes, cost, n_, maximize_);
            if (row.invalid >= 0) throw InvalidCost{i, row.invalid};
            start_.row_least[static_cast<std::size_t>(i)] = std::min(row.least, rows_.unmatched_cost(i));
            if (row.least == kInfinity<D>) {
                if (rows_.unmatched_cost(i) == kInfinity<D> && start_.forbidden_row < 0) start_.forbidden_row = i;
                continue;
            }
            magnitude_ = std::max({magnitude_, row.greatest, -row.least});
            LAPWING_DISPATCH(ssp_column_minima, cost, n_, maximize_, row.least, first.data(), second.data());
        }
        for (std::size_t j = 0; j < second.size(); ++j) {
            if (second[j] >= kInfinity<D> / 2) second[j] = first[j] < kInfinity<D> / 2 ? first[j] : 0;
        }
        make_nonpositive(second);
        return second;
    }

    // Orders the rows; the lower bound is that of v.
    void regret(const std::vector<D>& v) {
        const auto columns = all_columns();
        std::vector<D> regrets(static_cast<std::size_t>(m_));
        double bound = std::accumulate(v.begin(), v.begin() + n_, 0.0);
        for (Index i = 0; i < m_; ++i) {
            if (poll()) return;
            const auto row = LAPWING_DISPATCH(ssp_two_least, rows_(i), n_, maximize_, v.data(), columns.data());
            const bool has_choice = row.second < kInfinity<D> / 2;
            regrets[static_cast<std::size_t>(i)] = has_choice ? row.second - row.least : kInfinity<D>;
            bound += static_cast<double>(row.least);
        }
        propose(v, bound);
        std::stable_sort(start_.order.begin(), start_.order.end(), [&](Index a, Index b) {
            return regrets[static_cast<std::size_t>(a)] > regrets[static_cast<std::size_t>(b)];
        });
    }

    // The cost of the greedy assignment; a row that finds nothing counts with the largest cost.
    double greedy(const std::vector<D>& v) {
        auto columns = all_columns();
        double total = 0;
        for (const Index i : start_.order) {
            if (poll()) break;
            const auto row = LAPWING_DISPATCH(ssp_two_least, rows_(i), n_, maximize_, v.data(), columns.data());
            if (row.column < 0 || row.least >= kInfinity<D> / 2) {
                total += static_cast<double>(magnitude_);
                continue;
            }
            start_.greedy[static_cast<std::size_t>(i)] = row.column;
            columns[static_cast<std::size_t>(row.column)] = 0;
            total += static_cast<double>(rows_.problem().at(i, row.column));
        }
        return total;
    }

    void reverse(std::vector<D>& v) {
        std::vector<std::int64_t> earlier(ssp_padded(n_), 0);  // columns taken before the row at hand chose
        for (const Index j : start_.greedy) {
            if (j >= 0) earlier[static_cast<std::size_t>(j)] = -1;
        }
        double bound = 0;
        for (auto k = start_.order.rbegin(); k != start_.order.rend(); ++k) {
            if (poll()) return;
            const Index j = start_.greedy[static_cast<std::size_t>(*k)];
            D ceiling = magnitude_;  // of a row that found no column
            if (j >= 0) {
                earlier[static_cast<std::size_t>(j)] = 0;
                ceiling = rows_.problem().at(*k, j) - v[static_cast<std::size_t>(j)];
            }
            bound += static_cast<double>(
                LAPWING_DISPATCH(ssp_lower_prices, rows_(*k), n_, maximize_, ceiling, earlier.data(), v.data()));
        }
        bound += std::accumulate(v.begin(), v.begin() + n_, 0.0);
        propose(v, bound);
    }

    void choose_epsilon(double gap) {
        start_.bound = best_bound_;
        const double least = static_cast<double>(magnitude_) * kEpsilonPerCost;
        const double first = gap * kEpsilonPerGap / static_cast<double>(m_);
        if constexpr (std::is_floating_point_v<D>) {
            if (!(first > least) || !std::isfinite(first)) return;
            start_.epsilon = std::ldexp(1.0, std::ilogb(first));
            start_.epsilon_least = std::max(least, start_.epsilon * kLeastPerFirst);
        } else {
            start_.epsilon = first >= 1 ? static_cast<D>(first) : 0;
            start_.epsilon_least = std::max(D{1}, static_cast<D>(first * kLeastPerFirst));
        }
    }
};

}  // namespace

template <class T>
SspStart<Dual<T>> ssp_start(SspRows<T>& rows, Control& control) {
    return Starter<T>(rows, control).run();
}

template SspStart<double> ssp_start(SspRows<float>&, Control&);
template SspStart<double> ssp_start(SspRows<double>&, Control&);
template SspStart<std::int64_t> ssp_start(SspRows<std::int32_t>&, Control&);
template SspStart<std::int64_t> ssp_start(SspRows<std::int64_t>&, Control&);

}  // namespace lapwing
