// Where the "ssp" method starts: prices, the order of the rows, and the epsilons, from lower and upper bounds on the
// optimum (Algorithm 1015, section 3, "initial epsilon and dual solution", as its authors' published program has it; a
// field of SspOptions has the paper's text instead, where it differs). Each pass reads every row once:
//   survey   row minima give a lower bound, the diagonal and a greedy choice in the order of the rows upper ones.
//            Column j's first estimate of v is the second smallest of c[i,j] less its row's minimum: the price at which
//            only one row would take it at no loss. Text: the smallest (least_v).
//   regret   under that v, rows choose greedily from the last to the first: better bounds, and what it costs a row not
//            to get its best column. If the gap between the bounds is below a quarter of the survey's, this v is good.
// Else three more:
//   greedy   rows choose the best column left, greatest regret first.
//   reverse  prices under which that choice is stable: the last row to choose fixes its column's price; columns taken
//            before it fall until the row does not prefer them; then the row before it, and so on. Exact where the
//            costs are a sum or a product of a row and a column term. Text: both at once, row by row (picked_v).
//   bound    the gap that is left. v is a mean of both prices: of the first, as much as is left of the survey's gap.
//            Text: v is the second (last_v).
// With g the last gap, at most G / 4 (text: whatever it is, whole_gap), and G the survey's, between diagonal and row
// minima, epsilon starts at g sqrt(g / G) / rows, and scaling ends below G / (16 rows^2). If nothing is left of the
// gap, less than G / 10^6 (text: any_gap), one phase without epsilon takes the rows by growing regret (text: in_order).
//
// Deviations: prices and epsilons are whole multiples of a unit, so that sums of costs on a binary grid stay exact
// (DESIGN section 3.5); dummy rows choose last; a row that finds no column left counts with the largest cost. Only the
// survey is made, and v = epsilon = 0, for unmatched costs (ssp/ssp.cpp says why) and for integers too large for the
// prices that scaling can reach.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lapwing/numbers/range.hpp"
#include "lapwing/ssp/ssp.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/ssp/start.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

// From the authors' program.
constexpr double kGoodGap = 1.0 / 4;       // of the survey's: no greedy prices are needed
constexpr double kNothingLeft = 1e-6;      // of the survey's gap: no epsilon is needed
constexpr double kPureGreedy = 1e-9;       // of the survey's greedy gap: no mean is needed
constexpr double kLeastPerGap = 1.0 / 16;  // last epsilon before 0 = this * gap / rows^2
// Ours.
constexpr int kUnitBits = 46;             // largest cost / unit, as a power of two
constexpr double kScalingLimit = 0x1p57;  // integers: rows * largest cost that allow scaling

template <class T>
class Starter {
    using D = Dual<T>;

  public:
    Starter(SspRows<T>& rows, const SspOptions& options, Control& control)
        : rows_(rows), options_(options), control_(control), n_(rows.problem().cost.cols), m_(rows.problem().cost.rows),
          maximize_(rows.problem().maximize) {}

    SspStart<D> run() {
        start_.v.assign(ssp_padded(n_), D{0});
        start_.best.assign(index(m_), -1);
        start_.order.resize(index(m_));
        std::iota(start_.order.begin(), start_.order.end(), 0);
        std::vector<D> estimate = survey();
        if (start_.forbidden_row >= 0 || start_.expired) return std::move(start_);
        if (!options_.pricing || rows_.problem().unmatched_cost != nullptr) return std::move(start_);
        if (!std::is_floating_point_v<D> && static_cast<double>(magnitude_) * m_ > kScalingLimit) {
            return std::move(start_);
        }
        start_.unit = std::is_floating_point_v<D> && magnitude_ > 0
                          ? std::ldexp(1.0, std::ilogb(static_cast<double>(magnitude_)) - kUnitBits)
                          : 0;
        if (!estimate_prices(std::move(estimate))) start_.expired = true;
        return std::move(start_);
    }

  private:
    struct Bounds {
        double lower = 0, upper = 0;
        double gap() const { return upper - lower; }
    };

    SspRows<T>& rows_;
    const SspOptions options_;
    Control& control_;
    Index n_, m_;
    bool maximize_;
    SspStart<D> start_;
    D magnitude_ = 0;                   // largest |cost|
    double gap_ = 0, greedy_gap_ = 0;   // of the survey: to the diagonal, to the better of it and the greedy choice
    double upper_ = kInfinity<double>;  // the best known

    static std::size_t index(Index i) { return static_cast<std::size_t>(i); }
    // A mask of columns, of all or of none.
    std::vector<std::int64_t> columns(bool all) const {
        std::vector<std::int64_t> mask(ssp_padded(n_), 0);
        if (all) std::fill_n(mask.begin(), n_, -1);
        return mask;
    }
    bool poll() { return control_.poll({"start", 0, 0, start_.bound}); }
    // Shifts v so that none is positive: feasible for rectangular problems too.
    void make_nonpositive(std::vector<D>& v) const {
        const D greatest = *std::max_element(v.begin(), v.begin() + n_);
        for (Index j = 0; j < n_; ++j) v[index(j)] -= greatest;
    }
    double sum(const std::vector<D>& v) const { return std::accumulate(v.begin(), v.begin() + n_, 0.0); }
    SspTwoLeast<D> two_least(const T* cost, const std::vector<D>& v, const std::vector<std::int64_t>& among) const {
        return LAPWING_DISPATCH(ssp_two_least, cost, n_, maximize_, v.data(), among.data());
    }
    // The best column among those in the mask, which leaves it; returns its cost.
    double choose(Index i, const T* cost, const std::vector<D>& v, std::vector<std::int64_t>& mask,
                  std::vector<Index>& chosen) const {
        const SspTwoLeast<D> row = two_least(cost, v, mask);
        if (row.column < 0 || row.least >= kInfinity<D> / 2) {
            chosen[index(i)] = -1;
            return static_cast<double>(magnitude_);
        }
        chosen[index(i)] = row.column;
        mask[index(row.column)] = 0;
        return static_cast<double>(rows_.problem().minimised(cost[row.column]));
    }
    void offer(const std::vector<Index>& chosen, double upper) {
        if (upper >= upper_) return;
        upper_ = upper;
        start_.best = chosen;
    }

    // Not cut short by the time limit: the row minima are the duals that it returns.
    std::vector<D> survey() {
        const std::vector<D> zero(ssp_padded(n_), D{0});
        std::vector<D> first(ssp_padded(n_), kInfinity<D>), second(first);
        std::vector<std::int64_t> left = columns(true);
        std::vector<Index> chosen(index(m_), -1);
        double lower = 0, greedy = 0, diagonal = 0;
        const D most = cost_limit<D>(std::min(m_, n_));
        start_.row_least.resize(index(m_));
        rows_.expect_all();
        for (Index i = 0; i < m_; ++i) {
            start_.expired = poll();
            const T* cost = rows_(i);
            const SspExtremes<D> row = LAPWING_DISPATCH(ssp_extremes, cost, n_, maximize_);
            if (row.invalid >= 0) throw InvalidCost{i, row.invalid};
            start_.row_least[index(i)] = std::min(row.least, rows_.unmatched_cost(i));
            if (row.least == kInfinity<D>) {
                if (rows_.unmatched_cost(i) == kInfinity<D> && start_.forbidden_row < 0) start_.forbidden_row = i;
                continue;
            }
            const D largest = std::max(row.greatest, -row.least);
            if (largest > most) throw CostTooLarge{i, 0};
            magnitude_ = std::max(magnitude_, largest);
            LAPWING_DISPATCH(ssp_column_minima, cost, n_, maximize_, row.least, first.data(), second.data());
            lower += static_cast<double>(row.least);
            greedy += choose(i, cost, zero, left, chosen);
            if (i < n_) diagonal += static_cast<double>(std::min(rows_.problem().minimised(cost[i]), row.greatest));
        }
        start_.bound = std::accumulate(start_.row_least.begin(), start_.row_least.end(), 0.0);
        offer(chosen, greedy);
        gap_ = diagonal - lower;
        upper_ = std::min(upper_, diagonal);
        greedy_gap_ = upper_ - lower;
        for (std::size_t j = 0; j < second.size(); ++j) {
            if (n_ > m_ + 1) second[j] = 0;  // a dummy row's price
            if (n_ == m_ + 1 || (n_ == m_ && options_.least_v)) second[j] = first[j];
            if (second[j] >= kInfinity<D> / 2) second[j] = first[j] < kInfinity<D> / 2 ? first[j] : 0;
        }
        make_nonpositive(second);
        return second;
    }

    // Sets v, the order of the rows and the epsilons; false if the time is up.
    bool estimate_prices(std::vector<D> v) {
        std::vector<D> regrets(index(m_));
        Bounds bounds;
        if (!regret(v, regrets, bounds)) return false;
        double gap = std::min(upper_, bounds.upper) - bounds.lower;
        start_.v = v;
        if (gap_ < gap / kGoodGap) {
            std::stable_sort(start_.order.begin(), start_.order.end(), [&](Index a, Index b) {
                return regrets[index(a)] > regrets[index(b)] || (regrets[index(a)] == regrets[index(b)] && a > b);
            });
            std::vector<Index> chosen(index(m_), -1);
            const bool done =
                options_.picked_v ? pick(v, chosen, bounds) : greedy(v, chosen, bounds) && reverse(v, chosen);
            if (!done || !bound(v, bounds)) return false;
            gap = bounds.gap();
            const double share = greedy_gap_ > 0 ? std::clamp(gap / greedy_gap_, 0.0, 1.0) : 0;
            blend(v, options_.last_v ? 0 : share);
        }
        choose_epsilon(gap);
        return true;
    }

    bool regret(const std::vector<D>& v, std::vector<D>& regrets, Bounds& bounds) {
        const std::vector<std::int64_t> all = columns(true);
        std::vector<std::int64_t> left = all;
        std::vector<Index> chosen(index(m_), -1);
        bounds.lower = sum(v);
        for (Index i = m_ - 1; i >= 0; --i) {
            if (poll()) return false;
            const T* cost = rows_(i);
            const SspTwoLeast<D> row = two_least(cost, v, all);
            regrets[index(i)] = row.second < kInfinity<D> / 2 ? row.second - row.least : kInfinity<D>;
            bounds.lower += static_cast<double>(row.least);
            bounds.upper += choose(i, cost, v, left, chosen);
        }
        offer(chosen, bounds.upper);
        start_.bound = std::max(start_.bound, bounds.lower);
        return true;
    }

    bool greedy(const std::vector<D>& v, std::vector<Index>& chosen, Bounds& bounds) {
        std::vector<std::int64_t> left = columns(true);
        bounds.upper = 0;
        for (const Index i : start_.order) {
            if (poll()) return false;
            bounds.upper += choose(i, rows_(i), v, left, chosen);
        }
        offer(chosen, bounds.upper);
        return true;
    }

    bool reverse(std::vector<D>& v, const std::vector<Index>& chosen) {
        std::vector<std::int64_t> earlier = columns(false);  // columns taken before the row at hand chose
        for (const Index j : chosen) {
            if (j >= 0) earlier[index(j)] = -1;
        }
        D floor = kInfinity<D>;  // the dummy rows chose last
        for (Index j = 0; j < n_; ++j) {
            if (earlier[index(j)] == 0) floor = std::min(floor, v[index(j)]);
        }
        for (Index j = 0; j < n_; ++j) {
            if (earlier[index(j)] != 0) v[index(j)] = std::min(v[index(j)], floor);
        }
        for (auto k = start_.order.rbegin(); k != start_.order.rend(); ++k) {
            if (poll()) return false;
            const T* cost = rows_(*k);
            const Index j = chosen[index(*k)];
            D ceiling = magnitude_;  // of a row that found no column
            if (j >= 0) {
                earlier[index(j)] = 0;
                ceiling = rows_.problem().minimised(cost[j]) - v[index(j)];
            }
            LAPWING_DISPATCH(ssp_lower_prices, cost, n_, maximize_, ceiling, earlier.data(), v.data());
        }
        make_nonpositive(v);
        return true;
    }

    // As greedy, with prices of the columns taken so far after each choice: where the row at hand prefers some of them,
    // they fall to what the row pays. That makes a column cheaper for the rows that took others, so of these each
    // column falls by as much as the one taken after it, less what its row can spare.
    bool pick(std::vector<D>& v, std::vector<Index>& chosen, Bounds& bounds) {
        std::vector<std::int64_t> left = columns(true);
        std::vector<Index> taken;
        std::vector<D> spare(index(n_), D{0});  // of a taken column's row, to the columns taken before it
        bounds.upper = 0;
        for (const Index i : start_.order) {
            if (poll()) return false;
            const T* cost = rows_(i);
            bounds.upper += choose(i, cost, start_.v, left, chosen);
            const Index j = chosen[index(i)];
            if (j < 0) continue;
            const auto price = [&](Index k) { return rows_.problem().minimised(cost[k]) - v[index(k)]; };
            const D paid = price(j);
            D least = kInfinity<D>, fall = 0;
            for (const Index k : taken) least = std::min(least, price(k));
            for (auto k = taken.rbegin(); least < paid && k != taken.rend(); ++k) {
                const D before = fall;
                const bool last = k == taken.rbegin();
                fall = std::max({D{0}, paid - price(*k), last ? D{0} : fall - spare[index(*k)]});
                v[index(*k)] -= fall;
                if (!last) spare[index(*k)] += fall - before;
            }
            spare[index(j)] = least < kInfinity<D> / 2 ? std::max(D{0}, least - paid) : D{0};
            taken.push_back(j);
        }
        offer(chosen, bounds.upper);
        make_nonpositive(v);
        return true;
    }

    bool bound(const std::vector<D>& v, Bounds& bounds) {
        const std::vector<std::int64_t> all = columns(true);
        double lower = sum(v);
        for (const Index i : start_.order) {
            if (poll()) return false;
            lower += static_cast<double>(two_least(rows_(i), v, all).least);
        }
        bounds.lower = std::max(bounds.lower, lower);
        start_.bound = std::max(start_.bound, lower);
        return true;
    }

    // start_.v holds the first prices.
    void blend(const std::vector<D>& v, double share) {
        if (!(share > kPureGreedy)) {
            start_.v = v;
            return;
        }
        for (Index j = 0; j < n_; ++j) {
            const double mean =
                static_cast<double>(start_.v[index(j)]) * share + static_cast<double>(v[index(j)]) * (1 - share);
            start_.v[index(j)] = start_.in_units(mean);
        }
    }

    void choose_epsilon(double gap) {
        if (!options_.whole_gap) gap = std::min(gap, gap_ * kGoodGap);
        const auto rows = static_cast<double>(m_), cols = static_cast<double>(n_);
        const double nothing = options_.any_gap ? 0 : kNothingLeft * gap_;
        const double first = gap <= nothing ? 0 : rows * gap * std::sqrt(gap / gap_) / (cols * cols);
        const double least = gap_ * kLeastPerGap / (cols * cols);
        const bool needed = options_.compare_above ? first <= least : first >= least;
        if (std::isfinite(first) && needed && first > 0) {
            start_.epsilon = start_.in_units(first);
            start_.epsilon_least = least;
        }
        if (start_.epsilon > 0 || options_.in_order) {
            std::iota(start_.order.begin(), start_.order.end(), 0);
        } else {
            std::reverse(start_.order.begin(), start_.order.end());
        }
    }
};

}  // namespace

template <class T>
SspStart<Dual<T>> ssp_start(SspRows<T>& rows, const SspOptions& options, Control& control) {
    return Starter<T>(rows, options, control).run();
}

template SspStart<double> ssp_start(SspRows<float>&, const SspOptions&, Control&);
template SspStart<double> ssp_start(SspRows<double>&, const SspOptions&, Control&);
template SspStart<std::int64_t> ssp_start(SspRows<std::int32_t>&, const SspOptions&, Control&);
template SspStart<std::int64_t> ssp_start(SspRows<std::int64_t>&, const SspOptions&, Control&);

}  // namespace lapwing
