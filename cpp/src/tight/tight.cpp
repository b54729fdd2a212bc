#include "lapwing/tight/tight.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/matching/columns.hpp"
#include "lapwing/tight/kernels.hpp"

namespace lapwing {
namespace {

// When to give up.
constexpr Index kJudged = 4;           // the latest phases, by which those to come are judged
constexpr double kMostPhases = 256;    // in all
constexpr Index kWorthKeeping = 4;     // of so many rows, one is free: such a state is of use
constexpr double kMostDummies = 1.75;  // columns for each row that has a dummy row beside it
constexpr Index kShareOfFree = 3;      // of so many free rows, a phase finds a column for one

using Word = Columns::Word;
static_assert(kSmallBlock == Columns::kBits);

class Phases {
  public:
    Phases(Index rows, Index cols)
        : given_(rows), rows_(needs_dummies(rows, cols) ? cols : rows), cols_(cols),
          words_(static_cast<Index>(Columns::words_for(cols))), padded_(words_ * kSmallBlock),
          lines_(std::min(rows + 1, rows_)), memory_(make_workspace(at(lines_ + 3, padded_) * sizeof(Small))),
          costs_(reinterpret_cast<Small*>(memory_.get())), v_(costs_ + at(lines_, padded_)), distance_(v_ + padded_),
          closed_(distance_ + padded_), bits_(at(rows_, words_)), unmatched_(words_), unseen_(words_), found_(words_),
          u_(rows_), row_to_col_(rows_, -1), col_to_row_(cols, -1), is_in_(rows_) {
        if (rows_ > given_) std::fill_n(costs(given_), padded_, Small{0});
    }

    Index padded() const { return padded_; }
    Small* costs(Index i) const { return &costs_[at(std::min(i, given_), padded_)]; }
    std::vector<int> v() const {
        std::vector<int> v(v_, v_ + cols_);
        const int most = rows_ > given_ ? *std::max_element(v.begin(), v.end()) : 0;
        for (int& price : v) price -= most;
        return v;
    }
    // Of the rows that are given, with prices as JvState wants them.
    std::vector<Index> row_to_col() const { return {row_to_col_.begin(), row_to_col_.begin() + given_}; }

    // Costs are there. False if it gives up.
    bool run(Control& control) {
        start();
        std::vector<double> free_after;
        for (;;) {
            match();
            ++count_;
            if (free_.empty()) return true;
            free_after.push_back(static_cast<double>(free_.size()));
            if (control.look({"match", count_, given_ - static_cast<Index>(free_.size())}) || is_hard(free_after) ||
                !search())
                return false;
        }
    }
    // Rows whose pair costs more than it seems are free again. Whether there are any.
    bool release_large() {
        const std::size_t before = free_.size();
        for (Index i = 0; i < given_; ++i)
            if (row_to_col_[i] >= 0 && costs(i)[row_to_col_[i]] == kMostSmall) {
                row_to_col_[i] = -1;
                free_.push_back(i);
            }
        return free_.size() > before;
    }
    Index count() const { return count_; }
    bool is_worth_keeping() const {
        return rows_ == given_ && static_cast<Index>(free_.size()) <= rows_ / kWorthKeeping;
    }

  private:
    static bool needs_dummies(Index rows, Index cols) { return cols <= kMostDummies * rows; }
    static std::size_t at(Index line, Index length) { return static_cast<std::size_t>(line) * length; }
    Word* bits(Index i) { return &bits_[at(i, words_)]; }
    void list(Index i) {
        kernels_.list(costs(i), padded_, v_, static_cast<Small>(u_[i]), bits(i));
        if (cols_ % kSmallBlock != 0) bits(i)[words_ - 1] &= Columns::bit(cols_) - 1;
    }

    void start() {
        std::fill_n(v_, padded_, rows_ == cols_ ? kMostSmall : Small{0});
        for (Index i = 0; i < given_ && rows_ == cols_; ++i) kernels_.lower(costs(i), padded_, v_);
        std::fill_n(v_ + cols_, padded_ - cols_, Small{0});
        for (Index j = 0; j < cols_; ++j) Columns::insert(unmatched_.data(), j);
        for (Index i = 0; i < rows_; ++i) {
            u_[i] = kernels_.least(costs(i), padded_, v_);
            list(i);
            free_.push_back(i);
        }
    }

    // Whether the phases will be too many, if the free rows go on to become fewer by the same share in each, and by one
    // at least.
    static bool is_hard(const std::vector<double>& free_after) {
        const auto done = static_cast<Index>(free_after.size());
        if (done > kMostPhases) return true;
        if (done <= kJudged) return false;
        const double share = std::log(free_after[done - 1 - kJudged] / free_after[done - 1]) / kJudged;
        return done + std::min(free_after[done - 1], std::log(free_after[done - 1]) / share) > kMostPhases;
    }

    // Step 1.
    void match() {
        for (std::size_t before = free_.size() + 1; free_.size() < before && !free_.empty();) {
            before = free_.size();
            reached_.clear();
            for (Index w = 0; w < words_; ++w) unseen_[w] = ~unmatched_[w];
            std::erase_if(free_, [&](Index i) { return find_column(i); });
        }
    }
    // Depth first along columns that were not seen in this round; matches row i if it can.
    bool find_column(Index i) {
        path_.assign(1, {i, -1, 0});
        for (bool is_new = true; !path_.empty();) {
            Step& step = path_.back();
            const Word* tight = bits(step.row);
            if (is_new && take_unmatched(tight)) return true;
            while (step.word < words_ && (tight[step.word] & unseen_[step.word]) == 0) ++step.word;
            is_new = step.word < words_;
            if (!is_new) {
                path_.pop_back();
                continue;
            }
            const Index j = step.word * kSmallBlock + std::countr_zero(tight[step.word] & unseen_[step.word]);
            Columns::erase(unseen_.data(), j);
            reached_.push_back(j);
            path_.push_back({col_to_row_[j], j, 0});
        }
        return false;
    }
    bool take_unmatched(const Word* tight) {
        for (Index w = 0; w < words_; ++w) {
            if ((tight[w] & unmatched_[w]) == 0) continue;
            Index j = w * kSmallBlock + std::countr_zero(tight[w] & unmatched_[w]);
            Columns::erase(unmatched_.data(), j);
            for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
                col_to_row_[j] = step->row;
                row_to_col_[step->row] = j;
                j = step->entered_by;
            }
            return true;
        }
        return false;
    }

    // Steps 2 and 3. False if a number leaves its range.
    bool search() {
        const bool square = rows_ == cols_;
        const std::size_t wanted = square ? (free_.size() + kShareOfFree - 1) / kShareOfFree : 1;
        std::fill_n(distance_, padded_, kFar);
        std::fill_n(closed_, cols_, static_cast<Small>(-kFar));
        std::fill_n(closed_ + cols_, padded_ - cols_, kFar);
        tree_rows_.clear();
        tree_cols_.clear();
        for (const Index i : free_) tree_rows_.push_back({i, 0});
        for (const Index j : reached_) close(j, 0);
        Small level = 0;
        for (std::size_t read = 0, found = 0; found < wanted;) {
            relax(read);
            read = tree_rows_.size();
            level = kernels_.nearest(distance_, closed_, padded_);
            if (level > kMostSmall) return false;
            kernels_.at_distance(distance_, closed_, padded_, level, found_.data());
            for_each(found_, [&](Index j) { close(j, level); });
            found = tree_cols_.size() - (tree_rows_.size() - free_.size());
        }
        return change_prices(level);
    }
    template <class F>
    void for_each(const std::vector<Word>& set, F&& f) const {
        for (Index w = 0; w < words_; ++w)
            for (Word word = set[w]; word != 0; word &= word - 1) f(w * kSmallBlock + std::countr_zero(word));
    }
    // Column j joins the tree, and with it its row.
    void close(Index j, Small distance) {
        closed_[j] = kFar;
        tree_cols_.push_back({j, distance});
        if (col_to_row_[j] >= 0) tree_rows_.push_back({col_to_row_[j], distance});
    }
    // Reads the rows of the tree from number `first` on.
    void relax(std::size_t first) {
        const Small* rows[kSmallRows];
        Small offsets[kSmallRows];
        for (; first < tree_rows_.size(); first += kSmallRows) {
            for (Index k = 0; k < kSmallRows; ++k) {
                const Labelled row = tree_rows_[std::min(first + k, tree_rows_.size() - 1)];
                rows[k] = costs(row.line);
                offsets[k] = static_cast<Small>(u_[row.line] - row.distance);
            }
            kernels_.relax(rows, offsets, padded_, v_, distance_);
        }
    }
    bool change_prices(Small level) {
        const auto fits = [](int x) { return std::abs(x) <= kMostSmall; };
        for (const auto [i, distance] : tree_rows_)
            if (!fits(u_[i] + (level - distance))) return false;
        for (const auto [j, distance] : tree_cols_)
            if (!fits(v_[j] - (level - distance))) return false;
        std::fill(found_.begin(), found_.end(), Word{0});  // columns whose prices fall
        changed_.clear();                                  // columns at another distance than zero
        for (const auto [i, distance] : tree_rows_) u_[i] += level - distance;
        for (const auto [j, distance] : tree_cols_) {
            v_[j] = static_cast<Small>(v_[j] - (level - distance));
            if (distance < level) Columns::insert(found_.data(), j);
            if (distance > 0) changed_.push_back(j);
        }
        list_again(level);
        check_invariants();
        return true;
    }
    // Prices are feasible, bits are the tight pairs, and pairs are tight.
    void check_invariants() {
#ifdef LAPWING_CHECK_INVARIANTS
        const auto require = [](bool holds) {
            if (!holds) throw std::logic_error("phases of tight pairs: broken invariant");
        };
        for (Index i = 0; i < rows_; ++i)
            for (Index j = 0; j < cols_; ++j) {
                const int slack = costs(i)[j] - v_[j] - u_[i];
                require(slack >= 0 && Columns::has(bits(i), j) == (slack == 0) && (row_to_col_[i] != j || slack == 0));
            }
#endif
    }
    // The tight pairs under the new prices. Rows outside the tree, and those at its end, lose the ones in columns whose
    // prices fell. Rows at distance zero keep theirs in columns at distance zero, and have none beyond the tree.
    void list_again(Small level) {
        const bool few = static_cast<Index>(changed_.size()) <= words_;
        std::fill(is_in_.begin(), is_in_.end(), char{0});
        for (const auto [i, distance] : tree_rows_) {
            if (distance == level) continue;
            is_in_[i] = 1;
            if (distance > 0 || !few) {
                list(i);
                continue;
            }
            const Small* row = costs(i);
            for (const Index j : changed_) {
                Columns::erase(bits(i), j);
                if (row[j] - v_[j] == u_[i]) Columns::insert(bits(i), j);
            }
        }
        for (Index i = 0; i < rows_; ++i)
            for (Index w = 0; w < words_ && !is_in_[i]; ++w) bits(i)[w] &= ~found_[w];
    }

    const SmallKernels kernels_ = small_kernels();
    const Index given_, rows_, cols_, words_, padded_;
    const Index lines_;  // of costs: rows from number given_ on are dummies, which share one
    const Workspace memory_;
    // [lines, padded] each row's costs less the least, and [padded] v in the same units. costs - v >= u, with equality
    // for pairs.
    Small *const costs_, *const v_;
    Small *const distance_, *const closed_;  // [padded] of one search
    std::vector<Word> bits_;                 // [rows, words] of the tight pairs
    std::vector<Word> unmatched_, unseen_;   // free columns; matched ones that the latest round has not seen
    std::vector<Word> found_;                // at the level, or of falling prices
    std::vector<int> u_;                     // [rows]
    std::vector<Index> row_to_col_, col_to_row_;
    std::vector<Index> free_, reached_;  // rows; columns that the latest round has seen
    struct Step {
        Index row, entered_by, word;  // the column that led to it, -1; words before were looked at
    };
    std::vector<Step> path_;
    struct Labelled {
        Index line;
        Small distance;
    };
    std::vector<Labelled> tree_rows_, tree_cols_;  // the search's, by distance; free rows come first
    std::vector<Index> changed_;                   // columns in it, not at distance zero
    std::vector<char> is_in_;                      // [rows] whose u has changed
    Index count_ = 0;                              // of phases
};

// The costs of all rows. False where they are no multiples, or the time is up.
template <class T>
bool fill(const Problem<T>& problem, Unit unit, Control& control, Phases& phases) {
    RowReader<T> reader(problem.cost, problem.source);
    reader.expect(0, problem.cost.rows);
    for (Index i = 0; i < problem.cost.rows; ++i)
        if (control.poll({"match"}) ||
            !make_small(reader.row(i), problem.cost.cols, problem.maximize, unit, phases.padded(), phases.costs(i)))
            return false;
    return true;
}

}  // namespace

template <class T>
std::optional<TightPairs<Dual<T>>> match_tight_pairs(const Problem<T>& problem, Unit unit, Control& control) {
    using D = Dual<T>;
    const Index rows = problem.cost.rows, cols = problem.cost.cols;
    Phases phases(rows, cols);
    if (!fill(problem, unit, control, phases)) return {};
    const bool ran = phases.run(control), released = phases.release_large(), all = ran && !released;
    if (!all && !phases.is_worth_keeping()) return {};
    if (released && rows != cols) return {};  // prices of free columns are zero
    TightPairs<D> pairs{{std::vector<D>(cols), phases.row_to_col()}, all, phases.count()};
    std::ranges::transform(phases.v(), pairs.state.v.begin(),
                           [&](int v) { return static_cast<D>(v) / static_cast<D>(unit.scale); });
    return pairs;
}

template std::optional<TightPairs<double>> match_tight_pairs(const Problem<float>&, Unit, Control&);
template std::optional<TightPairs<double>> match_tight_pairs(const Problem<double>&, Unit, Control&);
template std::optional<TightPairs<std::int64_t>> match_tight_pairs(const Problem<std::int32_t>&, Unit, Control&);
template std::optional<TightPairs<std::int64_t>> match_tight_pairs(const Problem<std::int64_t>&, Unit, Control&);

}  // namespace lapwing
