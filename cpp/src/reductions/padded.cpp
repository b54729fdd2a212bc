#include "lapwing/reductions/padded.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "lapwing/numbers/range.hpp"
#include "lapwing/reductions/pair_up.hpp"
#include "lapwing/sparse/solve.hpp"
#include "lapwing/spread.hpp"

namespace lapwing {
namespace {

constexpr Index kLeastRows = 64;
constexpr Index kLooked = 8;           // rows and columns, evenly spread
constexpr Index kAlike = 5;            // of them, together, meet at one cost, at least; of a padded matrix 8 or so
constexpr Index kFewPairs = 4;         // one pair in so many is few
constexpr std::size_t kMostTried = 8;  // costs at which dummies may meet: equal dummies have others in common

// Two rows and two columns that may be dummies, and the cost at which they meet.
template <class T>
struct Guess {
    T meeting;
    std::array<Index, 2> rows, cols;
};

// Costs of a few rows in a few columns, and what they look like.
template <class T>
class Look {
  public:
    explicit Look(const MatrixView<T>& cost) : cost_(cost) {
        for (Index k = 0; k < kLooked; ++k)
            for (Index t = 0; t < kLooked; ++t)
                seen_[k][t] = cost.at(spread(k, kLooked, cost.rows), spread(t, kLooked, cost.cols));
    }

    // The guess that fits the most rows and columns, at a cost that has not been tried.
    std::optional<Guess<T>> best(const std::vector<T>& tried) const {
        std::optional<Guess<T>> guess;
        int most = kAlike - 1;
        for (Index k = 0; k < kLooked; ++k)
            for (Index t = 0; t < kLooked; ++t) {
                const T value = seen_[k][t];
                if (std::find(tried.begin(), tried.end(), value) != tried.end()) continue;
                const unsigned cols = where(k, value);
                int rows = 0;
                Index last = k;
                for (Index i = 0; i < kLooked; ++i)
                    if ((where(i, value) & cols) == cols) ++rows, last = i;
                if (std::popcount(cols) + rows <= most) continue;
                most = std::popcount(cols) + rows;
                guess = {value,
                         {spread(k, kLooked, cost_.rows), spread(last, kLooked, cost_.rows)},
                         {spread(t, kLooked, cost_.cols), spread(std::bit_width(cols) - 1, kLooked, cost_.cols)}};
            }
        return guess;
    }

  private:
    // The columns, as bits, in which a row has this cost.
    unsigned where(Index k, T value) const {
        unsigned cols = 0;
        for (Index t = 0; t < kLooked; ++t) cols |= static_cast<unsigned>(seen_[k][t] == value) << t;
        return cols;
    }

    const MatrixView<T>& cost_;
    std::array<std::array<T, kLooked>, kLooked> seen_;
};

// The parts of a padded matrix. All costs as minimised.
template <class T>
struct Padded {
    using D = Dual<T>;

    std::vector<Index> rows, cols;                  // real ones
    std::vector<Index> dummy_rows, dummy_cols;      // at least as many as cols, and as rows
    std::vector<Index> dummy_of_row, dummy_of_col;  // the cheapest one of each, of no other
    std::vector<D> row_prices, col_prices;          // of real ones that stay free: s, and r - g
    D meeting = 0;                                  // g
};

// Whether an optimum may need a pair.
template <class D>
bool is_left(D cost, D row_price, D col_price) {
    return cost < row_price + col_price;
}

template <class T>
class PaddedFinder {
  public:
    using D = Dual<T>;

    PaddedFinder(const Problem<T>& problem, Control& control)
        : problem_(problem), control_(control), cost_(problem.cost), most_(cost_limit<D>(problem.cost.rows) / 4) {}

    std::optional<Padded<T>> find() {
        if (problem_.source != nullptr || problem_.unmatched_cost != nullptr) return {};
        if (cost_.rows != cost_.cols || cost_.rows < kLeastRows) return {};
        const Look<T> look(cost_);
        std::vector<T> tried;
        while (tried.size() < kMostTried) {
            const std::optional<Guess<T>> guess = look.best(tried);
            if (!guess) break;
            if (tried.empty()) require_range(problem_, &control_);  // before the least integer is negated
            if (part(*guess) && seems_sparse() && take_prices()) return std::move(parts_);
            tried.push_back(guess->meeting);
        }
        return {};
    }
    // Whether a cost, and sums of a few, are in range.
    bool fits(D cost) const { return cost <= most_ && cost >= -most_; }

  private:
    // Columns where the guessed rows have the cost are dummies, and rows that have it in all of these.
    bool part(const Guess<T>& guess) {
        parts_ = {};
        const auto meet = [&](Index i, Index j) { return cost_.at(i, j) == guess.meeting; };
        for (Index j = 0; j < cost_.cols; ++j) {
            const bool is_dummy = meet(guess.rows[0], j) && meet(guess.rows[1], j);
            (is_dummy ? parts_.dummy_cols : parts_.cols).push_back(j);
        }
        const std::vector<Index>& cols = parts_.dummy_cols;
        for (Index i = 0; i < cost_.rows; ++i) {
            const bool is_dummy = meet(i, guess.cols[0]) && meet(i, guess.cols[1]) &&
                                  std::all_of(cols.begin(), cols.end(), [&](Index j) { return meet(i, j); });
            (is_dummy ? parts_.dummy_rows : parts_.rows).push_back(i);
            if (parts_.rows.size() > cols.size() || control_.poll({"list"})) return false;
        }
        parts_.meeting = problem_.minimised(guess.meeting);
        return !parts_.rows.empty() && !parts_.cols.empty() && fits(parts_.meeting);
    }
    // Whether few pairs seem to be left, by some of them.
    bool seems_sparse() const {
        constexpr std::size_t kRows = 12, kCols = 12;
        std::size_t left = 0;
        std::vector<D> of_cols;
        for (std::size_t t = 0; t < kCols; ++t) {
            const Index j = parts_.cols[t * parts_.cols.size() / kCols];
            of_cols.push_back(kInfinity<D>);
            for (const Index i : parts_.dummy_rows) of_cols.back() = least_of(of_cols.back(), problem_.at(i, j));
        }
        for (std::size_t k = 0; k < kRows; ++k) {
            const Index i = parts_.rows[k * parts_.rows.size() / kRows];
            const D of_row = least_in(i, parts_.dummy_cols);
            for (std::size_t t = 0; t < kCols; ++t)
                left += is_left(problem_.at(i, parts_.cols[t * parts_.cols.size() / kCols]), of_row,
                                of_cols[t] - parts_.meeting);
        }
        return left * kFewPairs <= 2 * kRows * kCols;
    }
    // Not a number if either is not one.
    static D least_of(D least, D cost) { return cost >= least || least != least ? least : cost; }
    D least_in(Index i, const std::vector<Index>& cols) const {
        D least = kInfinity<D>;
        for (const Index j : cols) least = least_of(least, problem_.at(i, j));
        return least;
    }
    // The cheapest dummies. False if two lines have the same one, or it is forbidden. A real line that meets all
    // dummies at their cost counts as one so far. If it is the cheapest of two lines, and dummies are more than enough,
    // it is taken for real.
    bool take_prices() {
        if (!find_row_prices()) return false;
        const auto of_row = [this](Index i, Index j) { return problem_.at(i, j); };
        std::vector<Index> moved;
        if (!settle(parts_.rows, parts_.dummy_cols, of_row, parts_.row_prices, parts_.dummy_of_row, moved))
            return false;
        parts_.cols.insert(parts_.cols.end(), moved.begin(), moved.end());
        if (!find_col_prices()) return false;
        const auto of_col = [this](Index j, Index i) { return problem_.at(i, j); };
        moved.clear();
        if (!settle(parts_.cols, parts_.dummy_rows, of_col, parts_.col_prices, parts_.dummy_of_col, moved))
            return false;
        add_rows(moved);
        for (D& price : parts_.col_prices) price -= parts_.meeting;
        return true;
    }
    // The least costs in dummies, and a dummy of its own for each line, as far as one is left; both row by row, as they
    // lie in memory. False if a cost is too small or not a number, or the time is up.
    bool find_row_prices() {
        std::vector<char> taken(static_cast<std::size_t>(cost_.rows), 0);
        for (const Index i : parts_.rows) {
            const D least = least_in(i, parts_.dummy_cols);
            if (!(least >= -most_) || control_.poll({"list"})) return false;
            parts_.row_prices.push_back(least);
            parts_.dummy_of_row.push_back(-1);
            for (const Index j : parts_.dummy_cols)
                if (taken[j] == 0 && problem_.at(i, j) == least) {
                    parts_.dummy_of_row.back() = j;
                    taken[j] = 1;
                    break;
                }
        }
        return true;
    }
    bool find_col_prices() {
        const std::size_t cols = parts_.cols.size();
        parts_.col_prices.assign(cols, kInfinity<D>);
        parts_.dummy_of_col.assign(cols, -1);
        for (const Index i : parts_.dummy_rows) {
            if (control_.poll({"list"})) return false;
            for (std::size_t t = 0; t < cols; ++t)
                parts_.col_prices[t] = least_of(parts_.col_prices[t], problem_.at(i, parts_.cols[t]));
        }
        if (!std::all_of(parts_.col_prices.begin(), parts_.col_prices.end(),
                         [this](D price) { return price >= -most_; }))
            return false;
        for (const Index i : parts_.dummy_rows)
            for (std::size_t t = 0; t < cols; ++t)
                if (parts_.dummy_of_col[t] < 0 && problem_.at(i, parts_.cols[t]) == parts_.col_prices[t]) {
                    parts_.dummy_of_col[t] = i;
                    break;
                }
        return true;
    }
    // Gives lines without a dummy one, and moves dummies that stand in the way.
    template <class At>
    bool settle(const std::vector<Index>& lines, std::vector<Index>& dummies, const At& at, std::vector<D>& prices,
                std::vector<Index>& dummy_of, std::vector<Index>& moved) {
        std::vector<Index> holder(static_cast<std::size_t>(cost_.rows), -1), without;
        for (std::size_t k = 0; k < lines.size(); ++k)
            (dummy_of[k] >= 0 ? holder[dummy_of[k]] : without.emplace_back()) = static_cast<Index>(k);
        while (!without.empty()) {
            const Index k = without.back();
            without.pop_back();
            D least = kInfinity<D>;
            Index own = -1, held = -1;
            for (const Index dummy : dummies) {
                const D cost = at(lines[k], dummy);
                if (!(cost <= least) || (cost == least && own >= 0)) continue;
                if (cost < least) own = held = -1;
                least = cost;
                (holder[dummy] < 0 ? own : held) = dummy;
            }
            prices[k] = least;
            dummy_of[k] = own;
            if (own >= 0) {
                holder[own] = k;
                continue;
            }
            if (held < 0 || !has_more_than_needed()) return false;
            moved.push_back(held);
            dummies.erase(std::find(dummies.begin(), dummies.end(), held));
            without.push_back(holder[held]);
            without.push_back(k);
        }
        return std::all_of(prices.begin(), prices.end(), [this](D price) { return fits(price); });
    }
    // Whether one dummy less would still be enough.
    bool has_more_than_needed() const {
        return parts_.dummy_rows.size() + parts_.dummy_cols.size() > static_cast<std::size_t>(cost_.rows);
    }
    // Rows that meet all dummy columns at their cost.
    void add_rows(const std::vector<Index>& rows) {
        std::vector<char> taken(static_cast<std::size_t>(cost_.rows), 0);
        for (const Index j : parts_.dummy_of_row) taken[j] = 1;
        auto next = parts_.dummy_cols.begin();
        for (const Index i : rows) {
            while (taken[*next] != 0) ++next;
            parts_.rows.push_back(i);
            parts_.row_prices.push_back(parts_.meeting);
            parts_.dummy_of_row.push_back(*next++);
        }
    }

    const Problem<T>& problem_;
    Control& control_;
    const MatrixView<T>& cost_;
    const D most_;
    Padded<T> parts_;
};

// The pairs that may be in an optimum. False if they are not few, a cost is out of range or not a number, or the time
// is up.
template <class T>
bool gather(const Problem<T>& problem, const Padded<T>& padded, const PaddedFinder<T>& range, Control& control,
            Adjacency<Dual<T>>& pairs) {
    using D = Dual<T>;
    const auto cols = static_cast<Index>(padded.cols.size());
    const std::size_t most = padded.rows.size() * padded.cols.size() / kFewPairs;
    pairs.rows.resize(padded.rows.size());
    for (std::size_t k = 0; k < padded.rows.size(); ++k) {
        const std::size_t begin = pairs.entries.size();
        bool all_fit = true;
        for (Index t = 0; t < cols; ++t) {
            const D cost = problem.at(padded.rows[k], padded.cols[t]);
            all_fit = all_fit && (range.fits(cost) || (std::is_floating_point_v<D> && cost == kInfinity<D>));
            if (is_left(cost, padded.row_prices[k], padded.col_prices[t])) pairs.entries.push_back({cost, t});
        }
        const std::size_t count = pairs.entries.size() - begin;
        if (!all_fit || pairs.entries.size() > most || control.poll({"list"})) return false;
        pairs.rows[k].begin = static_cast<std::int64_t>(begin);
        pairs.rows[k].count = pairs.rows[k].listed = static_cast<Index>(count);
    }
    return true;
}

// The answer of the whole from that of its pairs.
template <class T>
void fill_in(const Problem<T>& problem, const Padded<T>& padded, Solution<Dual<T>>& solution) {
    using D = Dual<T>;
    const auto size = static_cast<std::size_t>(problem.cost.rows);
    const std::vector<Index> of_pairs = std::exchange(solution.row_to_col, std::vector<Index>(size, -1));
    const std::vector<D> u = std::exchange(solution.u, std::vector<D>(size, padded.meeting)),
                         v = std::exchange(solution.v, std::vector<D>(size, D{0}));
    std::vector<char> has_row(padded.cols.size(), 0);
    for (std::size_t k = 0; k < padded.rows.size(); ++k) {
        const Index i = padded.rows[k], t = of_pairs[k];
        solution.u[i] = u[k];
        solution.row_to_col[i] = t >= 0 ? padded.cols[t] : padded.dummy_of_row[k];
        if (t >= 0) has_row[t] = 1;
    }
    for (std::size_t t = 0; t < padded.cols.size(); ++t) {
        solution.v[padded.cols[t]] = v[t];
        if (has_row[t] == 0) solution.row_to_col[padded.dummy_of_col[t]] = padded.cols[t];
    }
    pair_up(solution.row_to_col, problem.cost.cols);  // dummies that are left
}

}  // namespace

template <class T>
bool solve_padded(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    using D = Dual<T>;
    PaddedFinder<T> finder(problem, control);
    const std::optional<Padded<T>> padded = finder.find();
    Adjacency<D> pairs;
    if (!padded || !gather(problem, *padded, finder, control, pairs)) return false;
    const auto cols = static_cast<Index>(padded->cols.size());
    Solution<D> of_pairs =
        solve_adjacency<D>(pairs, cols, padded->row_prices.data(), nullptr, control, {}, padded->col_prices.data());
    if (of_pairs.status != Status::optimal) return false;
    solution = std::move(of_pairs);
    fill_in(problem, *padded, solution);
    solution.statistics.set("dummy_rows", static_cast<double>(padded->dummy_rows.size()));
    solution.statistics.set("dummy_cols", static_cast<double>(padded->dummy_cols.size()));
    return true;
}

#define LAPWING_PADDED(T) template bool solve_padded(const Problem<T>&, Control&, Solution<Dual<T>>&);
LAPWING_PADDED(float)
LAPWING_PADDED(double)
LAPWING_PADDED(std::int32_t)
LAPWING_PADDED(std::int64_t)
#undef LAPWING_PADDED

}  // namespace lapwing
