// Method "auction": Bertsekas' forward auction with epsilon scaling, and a last stage that makes it exact.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Free rows bid, one after the other (Gauss-Seidel): row i takes its cheapest column j under c[i,j] - v[j]
//           and lowers v[j] until its second choice is as good, and by epsilon more; the row that had j, if any, bids
//           next. When no row is free, the assignment costs at most rows * epsilon more than the best (epsilon
//           complementary slackness). A phase begins without assignment, with the prices of the last one, and with an
//           epsilon a fifth as large. The last stage is the last phase of "ssp" (ssp/ssp.cpp): shortest paths, exact
//           whatever the prices are; it takes few where they are good.
// Variants  plain: every bid reads the whole row. optimised: a row bids from a list of some 30 columns that were its
//           cheapest when it was listed, with a bound on all others; since v only falls, values only rise, and the
//           bound stays true until a second choice exceeds it. Then the row is read and listed again.
// Epsilons  from a fifth of the costs' range R down to R / (5000 rows); integers are multiplied by rows + 1, where 64
//           bits are enough, and end with epsilon = 1, so that the assignment of the last phase is optimal already.
// Cost      O(R / epsilon) bids a row and phase at worst, each O(cols), or O(1) from a list. Bids are limited, and so
//           is the fall of prices: a price war, or a problem without an assignment, in which it would not end, is left
//           to the last stage. O(rows + cols) memory; the lists take 800 bytes a row.
//
// Deviations: the limits. The authors of the comparison made their auction exact by bids with epsilon = 0, which can go
// on for ever; ours ends with shortest paths, which also give the duals of integers. More columns than rows: one phase
// from v = 0 with the last epsilon, since a column that no row takes must keep its price. Unmatched costs: no phase, as
// in "ssp", where prices that are too low would have to rise again. Price falls are whole multiples of a unit, as
// there.
//
// References: D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem",
// Annals of Operations Research 14, 1988; D. P. Bertsekas, D. A. Castanon, "A forward/reverse auction algorithm for
// asymmetric assignment problems", Computational Optimization and Applications 1, 1992; S. Guthe, D. Thuerck, Algorithm
// 1015 (2021), section 5, and their github.com/sguthe/auction-solver.
#include "lapwing/auction/auction.hpp"

#include <cmath>
#include <numeric>

#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/auction/auction.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

constexpr int kDivisor = 5;
constexpr double kLeastPerRow = 1.0 / 5000;  // last epsilon = this * range / rows
constexpr int kUnitBits = 46;                // largest cost / unit, as a power of two
constexpr std::int64_t kDeepest = 64;        // prices fall by at most so many ranges
constexpr std::int64_t kRoom = 1LL << 53;    // for the scaled range of integers
constexpr std::int64_t kBidsPerRow = 256;    // of all phases; the instance classes take up to 64

template <class T>
class Auction {
    using D = Dual<T>;

  public:
    Auction(SspRows<T>& rows, AuctionVariant variant, Control& control)
        : rows_(rows), problem_(rows.problem()), control_(control), m_(problem_.cost.rows), n_(problem_.cost.cols),
          listed_(variant == AuctionVariant::optimised), row_to_col_(index(m_), -1), col_to_row_(index(n_), -1) {}

    SspStart<D> run() {
        start_.v.assign(ssp_padded(n_), D{0});
        start_.best.assign(index(m_), -1);
        start_.order.resize(index(m_));
        std::iota(start_.order.begin(), start_.order.end(), 0);
        survey();
        if (start_.forbidden_row < 0 && !start_.expired && choose_units()) run_phases();
        report();
        return std::move(start_);
    }

  private:
    struct List {
        Index count = 0;
        D bound = -kInfinity<D>;  // at most the value of every column left out
        Index cols[kAuctionListed];
        D costs[kAuctionListed];  // scaled
    };

    SspRows<T>& rows_;
    const Problem<T>& problem_;
    Control& control_;
    Index m_, n_;
    bool listed_;
    SspStart<D> start_;  // its v: scaled until the end; never rises, which the lists rest on
    D least_ = kInfinity<D>, greatest_ = -kInfinity<D>;
    D scale_ = 1, range_ = 0, last_ = 0, deepest_ = 0;  // range_ and what follows: scaled
    std::vector<List> lists_;
    // c[i,j] - v[j] is at most epsilon above row i's least at its own j.
    std::vector<Index> row_to_col_, col_to_row_;
    Index phase_ = 0, matched_ = 0, left_ = 0;  // left_: free rows where it has ended before its time
    std::int64_t bids_ = 0;
    D objective_ = kInfinity<D>;

    static std::size_t index(Index i) { return static_cast<std::size_t>(i); }
    bool poll(const char* stage) {
        start_.expired = control_.poll({stage, phase_, matched_, start_.bound, static_cast<double>(objective_)});
        return start_.expired;
    }

    // Not cut short by the time limit: the row minima are the duals that it returns.
    void survey() {
        const D most = cost_limit<D>(std::min(m_, n_));
        start_.row_least.resize(index(m_));
        rows_.expect_all();
        for (Index i = 0; i < m_; ++i) {
            poll("start");
            const SspExtremes<D> row = LAPWING_DISPATCH(ssp_extremes, rows_(i), n_, problem_.maximize);
            if (row.invalid >= 0) throw InvalidCost{i, row.invalid};
            start_.row_least[index(i)] = std::min(row.least, rows_.unmatched_cost(i));
            if (row.least == kInfinity<D>) {
                if (rows_.unmatched_cost(i) == kInfinity<D> && start_.forbidden_row < 0) start_.forbidden_row = i;
                continue;
            }
            if (std::max(row.greatest, -row.least) > most) throw CostTooLarge{i, 0};
            least_ = std::min(least_, row.least);
            greatest_ = std::max(greatest_, row.greatest);
        }
        start_.bound = std::accumulate(start_.row_least.begin(), start_.row_least.end(), 0.0);
    }

    // False if there is nothing to bid for, or no room for it.
    bool choose_units() {
        if (problem_.unmatched_cost != nullptr || !(greatest_ > least_)) return false;
        const D most = std::max(greatest_, -least_);
        if constexpr (std::is_floating_point_v<D>) {
            range_ = greatest_ - least_;
            start_.unit = std::ldexp(1.0, std::ilogb(most) - kUnitBits);
            last_ = start_.in_units(range_ * kLeastPerRow / static_cast<double>(m_));
            if (!(last_ > 0) || !std::isfinite(range_ * static_cast<double>(kDeepest))) return false;
        } else {
            if (most >= kRoom / 2) return false;
            scale_ = std::clamp<D>(kRoom / 2 / most, 1, D{m_} + 1);
            range_ = (greatest_ - least_) * scale_;
            last_ = 1;
        }
        deepest_ = -range_ * static_cast<D>(kDeepest);
        return true;
    }

    void run_phases() {
        if (listed_) lists_.resize(index(m_));
        D epsilon = m_ != n_ ? last_ : std::max(last_, start_.in_units(static_cast<double>(range_) / kDivisor));
        for (;;) {
            ++phase_;
            if (!bid_for_all(epsilon)) {
                left_ = m_ - matched_;
                break;
            }
            keep_best();
            if (epsilon <= last_) break;
            epsilon = std::max(last_, start_.in_units(static_cast<double>(epsilon) / kDivisor));
        }
        if (scale_ == 1) return;
        for (D& v : start_.v) v = -((-v + scale_ - 1) / scale_);
    }

    // False if the time is up or a limit is reached.
    bool bid_for_all(D epsilon) {
        std::fill(row_to_col_.begin(), row_to_col_.end(), -1);
        std::fill(col_to_row_.begin(), col_to_row_.end(), -1);
        matched_ = 0;
        const std::int64_t limit = kBidsPerRow * m_;
        for (Index first = 0; first < m_; ++first) {
            for (Index i = first; i >= 0;) {
                if (poll("auction") || ++bids_ > limit) return false;
                const SspTwoLeast<D> choice = listed_ ? choose_from_list(i) : choose(i);
                if (choice.column < 0 || choice.column >= n_) return false;  // past the end: costs have changed
                D& price = start_.v[index(choice.column)];
                price -= std::min(choice.second - choice.least, range_) + epsilon;
                if (price < deepest_) return false;
                row_to_col_[index(i)] = choice.column;
                i = std::exchange(col_to_row_[index(choice.column)], i);
                if (i >= 0) row_to_col_[index(i)] = -1;
            }
            ++matched_;
        }
        return true;
    }

    SspTwoLeast<D> choose(Index i) {
        return LAPWING_DISPATCH(auction_two_least, rows_(i), n_, problem_.maximize, scale_, start_.v.data());
    }

    SspTwoLeast<D> choose_from_list(Index i) {
        List& list = lists_[index(i)];
        SspTwoLeast<D> best = two_least(list);
        if (best.second <= list.bound) return best;
        list.count = LAPWING_DISPATCH(auction_list, rows_(i), n_, problem_.maximize, scale_, start_.v.data(), list.cols,
                                      list.costs, &list.bound);
        best = two_least(list);
        best.second = std::min(best.second, std::max(list.bound, best.least));
        return best;
    }
    SspTwoLeast<D> two_least(const List& list) const {
        SspTwoLeast<D> best{kInfinity<D>, kInfinity<D>, -1};
        for (Index t = 0; t < list.count; ++t) {
            const D x = list.costs[t] - start_.v[index(list.cols[t])];
            if (x < best.least) {
                best = {x, best.least, list.cols[t]};
            } else {
                best.second = std::min(best.second, x);
            }
        }
        return best;
    }

    void keep_best() {
        if (!control_.wants_previews()) return;
        const D objective = total_cost(problem_, row_to_col_);
        if (!(objective < objective_)) return;
        objective_ = objective;
        start_.best = row_to_col_;
    }

    void report() {
        start_.statistics.set("auction_phases", static_cast<double>(phase_));
        start_.statistics.set("bids", static_cast<double>(bids_));
        start_.statistics.set("auction_left", static_cast<double>(left_));
    }
};

}  // namespace

template <class T>
Solution<Dual<T>> solve_auction(const Problem<T>& problem, AuctionVariant variant, Control& control) {
    require_range(problem, &control);
    if (problem.source != nullptr && !problem.source->has_parts()) control.look_at_every_poll();
    SspRows<T> rows(problem);
    return ssp_solve(rows, Auction<T>(rows, variant, control).run(), {}, 1, control);
}

#define LAPWING_INSTANTIATE(T) template Solution<Dual<T>> solve_auction(const Problem<T>&, AuctionVariant, Control&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
