// Candidate lists with a bound on the columns that they leave out.
//
// For row i the list holds columns of small c[i,j] - v[j] at the time of listing, and tau[i] is a lower bound on c[i,j]
// - v[j] of every column left out. Invariant: c[i,j] - v[j] >= tau[i] for every column j outside the list. v only falls
// while a solve runs, so tau[i] stays valid: a minimum over the list that is at most tau[i] is the minimum over the
// whole row. A row whose list minimum exceeds tau[i] is *refreshed*: listed again under the current v, with one read of
// the dense row, or of those boxes of columns that may matter where the costs' source has them (costs/source.hpp).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/huge_pages.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/prefetch.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Tuning of the lists, measured on uniform, integer, geometric, disjoint and low-rank costs at n = 1000 to 8000:
// longer lists are refreshed less often, but every scan of a row pays for their length.
struct ListTuning {
    static constexpr Index kCapacity = 64;   // columns a row; all of them, if they are no more
    static constexpr Index kFromBoxes = 28;  // columns that are listed by boxes at first, as many as by whole rows
    static constexpr Index kUseful = kCapacity * 2 / 5;  // columns below a limit, of which a list is made
    // For a list in a problem with the given number of columns.
    static constexpr Index capacity(Index cols) { return (std::min(cols, kCapacity) + 7) / 8 * 8; }
};

// An array of zeros that the system makes when they are first touched: half a gigabyte of them at once takes a second.
template <class T>
class Zeros {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    explicit Zeros(std::size_t size) : data_(static_cast<T*>(std::calloc(std::max<std::size_t>(size, 1), sizeof(T)))) {
        if (data_ == nullptr) throw std::bad_alloc();
        ask_for_huge_pages(data_.get(), size * sizeof(T));
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](std::size_t k) { return data_.get()[k]; }
    const T& operator[](std::size_t k) const { return data_.get()[k]; }

  private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> data_;
};

// A thread's workspace for listing rows.
template <class T>
struct ListScratch {
    int member;  // of the team
    RowReader<T> reader;
    Zeros<Index> found;  // [cols], and room for a blind write
    Zeros<Dual<T>> value;
    std::vector<NearColumn<T>> near;
    std::vector<Dual<T>> minima;         // [cols] of a loop over rows; else empty
    std::int64_t lists_read = 0;         // for their two smallest values
    std::int64_t dense_rows_read = 0;    // by boxes or whole
    std::int64_t pairs_in_boxes = 0;     // costs that were computed for rows read by boxes
    std::int64_t rows_since_prices = 0;  // rows read by boxes since these took the prices ...
    std::int64_t pairs_at_prices = 0;    // ... and what pairs_in_boxes was then

    // Neighbouring rows often have lists that end at about the same value, which saves half of the work; where they do
    // not, guessing is suspended for longer and longer.
    Dual<T> guess = kInfinity<Dual<T>>;
    int rows_until_guess = 0, suspension = 1;
    void forget() {
        guess = kInfinity<Dual<T>>;
        rows_until_guess = 0, suspension = 1;
    }
    void learn(Dual<T> guessed, Dual<T> tau) {
        if (rows_until_guess > 0)
            --rows_until_guess;
        else if (guessed < kInfinity<Dual<T>> && tau != guessed)
            rows_until_guess = suspension = 2 * suspension;
        guess = tau;
    }

    explicit ListScratch(const Problem<T>& problem, int of_member = 0)
        : member(of_member), reader(problem.cost, problem.source), found(problem.cost.cols + 64),
          value(problem.cost.cols + 64) {}
    // Takes what another thread's has counted; a line in which nothing was counted stays in that thread's cache.
    void count(ListScratch& other) {
        if ((other.lists_read | other.dense_rows_read) == 0) return;
        lists_read += std::exchange(other.lists_read, 0);
        dense_rows_read += std::exchange(other.dense_rows_read, 0);
        pairs_in_boxes += std::exchange(other.pairs_in_boxes, 0);
        rows_since_prices += std::exchange(other.rows_since_prices, 0);
    }
    // The row as it lies in memory (not negated), valid until the next call.
    const T* dense_row(Index i) {
        ++dense_rows_read;
        return reader.row(i);
    }
};

template <class T>
class CandidateLists {
  public:
    using D = Dual<T>;

    // `boxes`: null if there are none.
    CandidateLists(const MatrixView<T>& cost, bool maximize, const ColumnBoxes<T>* boxes = nullptr)
        : kernels_(core_kernels<T>(maximize)), maximize_(maximize), most_(largest_cost(cost)), n_(cost.cols),
          all_boxes_(boxes), capacity_(ListTuning::capacity(cost.cols)),
          cols_(static_cast<std::size_t>(cost.rows) * capacity_),
          costs_(static_cast<std::size_t>(cost.rows) * capacity_), count_(cost.rows, 0), tau_(cost.rows, -kInfinity<D>),
          gap_(cost.rows, D{0}) {}

    std::span<const Index> cols(Index i) const { return {cols_.data() + at(i), static_cast<std::size_t>(count_[i])}; }
    // The cost of column cols(i)[place], as the kernels minimise it.
    T cost(Index i, std::ptrdiff_t place) const { return costs_[at(i) + place]; }
    D tau(Index i) const { return tau_[i]; }
    // Asks for the list of row i, which is read soon.
    [[gnu::always_inline]] void ask_for(Index i) const {
        const auto count = static_cast<std::size_t>(count_[i]);
        prefetch(cols_.data() + at(i), count);
        prefetch(costs_.data() + at(i), count);
    }
    const CoreKernels<T>& kernels() const { return kernels_; }
    // These are rows `first` and on of a problem of so many, whose sums limit the costs (numbers/range.hpp).
    void be_part_of(Index rows, Index first) {
        most_ = largest_cost({nullptr, rows, n_, n_, 1});
        first_ = first;
    }

    // Of the boxes that there are, with all columns open.
    std::optional<OpenBoxes> open_boxes() const {
        return all_boxes_ != nullptr ? std::optional(all_boxes_->open_boxes()) : std::nullopt;
    }
    bool are_in_boxes() const { return all_boxes_ != nullptr; }
    // Whether rows are read by boxes now.
    bool has_boxes() const { return boxes_ != nullptr; }
    // To be called before rows are listed under prices that are not all at most the last ones: boxes take them. Where
    // these turn out to be of no use, rows are read whole.
    void take_prices(const D* v, ListScratch<T>& scratch) {
        boxes_ = all_boxes_;
        if (boxes_ == nullptr) return;
        tilt_ = Tilt::untried, prices_.are_tilted = false;
        retake_prices(v, scratch);
        const auto rows = static_cast<Index>(count_.size()), trials = std::min(rows, BoxTuning::kTrials);
        for (bool once_more = true; once_more; once_more = judge_boxes(v, BoxTuning::kWorthwhile, scratch)) {
            for (Index t = 0; t < trials; ++t)
                look_near(static_cast<Index>(std::int64_t{t} * rows / trials), v, ListTuning::kFromBoxes, kInfinity<D>,
                          scratch);
        }
    }

    // Lists row i under v for the first time, and checks its costs: InvalidCost, CostTooLarge. Rows can be listed from
    // several threads.
    void list(Index i, const D* v, ListScratch<T>& scratch) {
        if (boxes_ != nullptr) return list_near(i, v, ListTuning::kFromBoxes, kInfinity<D>, scratch);
        const T* row = scratch.dense_row(i);
        const D guess = scratch.rows_until_guess == 0 ? scratch.guess : kInfinity<D>;
        if (!list(kernels_.list_row_checked, i, row, v, guess, scratch)) name_invalid_cost(i, row);
        reject_negative_infinity(i);
        scratch.learn(guess, tau_[i]);
    }
    // Lists only the nearest column of row i, for the first time, and checks the costs. The second smallest c - v is
    // the list's tau; a longer list comes with the first refresh.
    void list_nearest(Index i, const D* v, ListScratch<T>& scratch) {
        if (boxes_ != nullptr) return list(i, v, scratch);
        const T* row = scratch.dense_row(i);
        D values[2];
        const Index j = kernels_.nearest(row, n_, v, most_, values);
        if (j == -2) name_invalid_cost(i, row);
        count_[i] = j >= 0;
        tau_[i] = values[1];
        if (j < 0) return;
        cols_[at(i)] = j;
        costs_[at(i)] = maximize_ ? signed_cost<T, true>(row[j]) : row[j];
        reject_negative_infinity(i);
    }
    // Takes lists that the rows' owners made under v (costs/owners.hpp); `rows` is empty if they are of all.
    void take(std::span<const Index> rows, const ListedRows<T>& listed, const D* v) {
        std::size_t from = 0;
        for (std::size_t k = 0; k < listed.counts.size(); ++k) {
            const Index i = rows.empty() ? static_cast<Index>(k) : rows[k];
            const auto count = static_cast<std::size_t>(listed.counts[k]);
            std::copy_n(listed.cols.begin() + static_cast<std::ptrdiff_t>(from), count, cols_.data() + at(i));
            std::copy_n(listed.costs.begin() + static_cast<std::ptrdiff_t>(from), count, costs_.data() + at(i));
            count_[i] = listed.counts[k];
            tau_[i] = listed.tau[k];
            measure_gap(i, v);
            from += count;
        }
    }
    // Lists row i under other prices than the solve's: whatever is listed must be listed again before the solve goes
    // on.
    void list_under(Index i, const D* prices, ListScratch<T>& scratch) {
        list(kernels_.list_row, i, scratch.dense_row(i), prices, kInfinity<D>, scratch);
    }
    // As prices fall, those that the boxes took are too high, and less and less can be left out. To be called before
    // rows are refreshed or collected; not by several threads.
    void keep_prices_fresh(const D* v, ListScratch<T>& scratch) {
        constexpr Index kColumnsARow = 64;  // to take prices of so many columns takes as long as to read a row by boxes
        if (boxes_ == nullptr) return;
        if (scratch.rows_since_prices < std::max(n_ / kColumnsARow, BoxTuning::kTrials)) return;
        if (!judge_boxes(v, BoxTuning::kHopeless, scratch) && boxes_ != nullptr) retake_prices(v, scratch);
    }
    // Lists row i again; row `next`, if it is known (not -1), is read after it. Rows can be refreshed from several
    // threads.
    void refresh(Index i, const D* v, ListScratch<T>& scratch, Index next = -1) {
        if (count_[i] == 1 && tau_[i] < kInfinity<D>) return extend(i, v, scratch);
        relist(i, v, wider(i, v), scratch, next);
    }
    // The limit of a refresh: a list about as wide as before and somewhat wider, since this row needs it; kInfinity:
    // none is known.
    D wider(Index i, const D* v) const {
        const D least = best(i, v).first;
        return least < kInfinity<D> && tau_[i] < kInfinity<D> ? std::max(least, tau_[i]) + gap_[i] + gap_[i] / 4
                                                              : kInfinity<D>;
    }
    // Lists the columns of row i with c - v up to a limit, if their number is useful.
    void relist(Index i, const D* v, D limit, ListScratch<T>& scratch, Index next = -1) {
        if (boxes_ == nullptr) {
            list(kernels_.list_row, i, scratch.dense_row(i), v, limit, scratch, next);
            return;
        }
        if (limit < kInfinity<D>) list_near(i, v, capacity_, limit, scratch);
        if (!(limit < kInfinity<D>) || count_[i] < ListTuning::kUseful)
            list_near(i, v, ListTuning::kFromBoxes, kInfinity<D>, scratch);
    }

    // All columns of row i with c - v <= limit, and these values: to scratch.found and scratch.value. Returns their
    // number. Those in boxes without an open column need not be among them.
    Index collect(Index i, const D* v, D limit, ListScratch<T>& scratch, const OpenBoxes* open = nullptr) {
        if (boxes_ == nullptr)
            return kernels_.collect(scratch.dense_row(i), n_, v, limit, scratch.found.data(), scratch.value.data());
        look_near(i, v, n_, limit, scratch, open);
        const auto count = static_cast<Index>(scratch.near.size());
        for (Index t = 0; t < count; ++t) {
            scratch.found[t] = scratch.near[t].col;
            scratch.value[t] = scratch.near[t].value;
        }
        return count;
    }

    // The same of the columns to which base + c - v is below `dist` and `bound`, where columns are not in boxes.
    Index collect_nearer(Index i, const D* v, D base, const D* dist, D bound, ListScratch<T>& scratch) const {
        return kernels_.collect_nearer(scratch.dense_row(i), n_, v, base, dist, bound, scratch.found.data(),
                                       scratch.value.data());
    }

    // The prices by which a search reads rows out.
    void take_prices_for_search(const D* v, BoxPrices<T>& prices) const {
        prices.are_tilted = all_boxes_->can_tilt();
        all_boxes_->take_prices(v, prices);
    }
    // To scratch.near the columns of row i with c - v up to a limit for which base + c - v is below their distance in
    // `reach`, which it becomes. Such a read does not tell whether boxes are of use otherwise.
    void collect_nearer(Index i, const D* v, D base, D limit, const OpenBoxes& open, const BoxPrices<T>& prices,
                        BoxReach& reach, ListScratch<T>& scratch) const {
        ++scratch.dense_rows_read;
        const auto computed = all_boxes_->nearest(
            {i, maximize_, v, &prices, n_, open.open(), &reach, static_cast<double>(base)}, limit, scratch.near);
        scratch.pairs_in_boxes += computed;
        scratch.pairs_at_prices += computed;
    }

    // The smallest c - v of row i in boxes with an open column; infinite if there are none, or all pairs are forbidden.
    D nearest_open(Index i, const D* v, ListScratch<T>& scratch, const OpenBoxes* open) const {
        look_near(i, v, 1, kInfinity<D>, scratch, open);
        return scratch.near.empty() ? kInfinity<D> : scratch.near[0].value;
    }

    // The smallest two of c - v over the list of row i.
    BestInList<D> best(Index i, const D* v) const {
        return kernels_.best_in_list(costs_.data() + at(i), cols_.data() + at(i), count_[i], v);
    }
    // All c - v below `limit`: their places in the list, and values.
    Index below(Index i, const D* v, D limit, Index* places, D* values) const {
        return kernels_.reduce_below(costs_.data() + at(i), cols_.data() + at(i), count_[i], v, limit, places, values);
    }

  private:
    // Finds up to `most` columns with c - v <= limit, the least: to scratch.near. Returns what no other column is
    // below.
    D look_near(Index i, const D* v, Index most, D limit, ListScratch<T>& scratch,
                const OpenBoxes* open = nullptr) const {
        ++scratch.dense_rows_read;
        ++scratch.rows_since_prices;
        scratch.pairs_in_boxes += boxes_->nearest(
            {i, maximize_, v, &prices_, most, open != nullptr ? open->open() : nullptr}, limit, scratch.near);
        return limit;
    }
    void list_near(Index i, const D* v, Index most, D limit, ListScratch<T>& scratch) {
        tau_[i] = look_near(i, v, most, limit, scratch);
        count_[i] = static_cast<Index>(scratch.near.size());
        for (Index t = 0; t < count_[i]; ++t) {
            cols_[at(i) + t] = scratch.near[t].col;
            costs_[at(i) + t] = maximize_ ? signed_cost<T, true>(scratch.near[t].cost) : scratch.near[t].cost;
        }
        measure_gap(i, v);
    }
    void retake_prices(const D* v, ListScratch<T>& scratch) {
        boxes_->take_prices(v, prices_);
        scratch.rows_since_prices = 0, scratch.pairs_at_prices = scratch.pairs_in_boxes;
    }
    // By the costs that were computed since boxes took prices: tries tilted ones, keeps these or not, or gives up boxes
    // if more than the part `useless` of all costs were. Returns whether prices were taken otherwise than before.
    bool judge_boxes(const D* v, double useless, ListScratch<T>& scratch) {
        const double each = static_cast<double>(scratch.pairs_in_boxes - scratch.pairs_at_prices) /
                            static_cast<double>(std::max<std::int64_t>(scratch.rows_since_prices, 1));
        if (tilt_ == Tilt::untried && each > BoxTuning::kNear && boxes_->can_tilt()) {
            tilt_ = Tilt::tried, prices_.are_tilted = true, untilted_ = each;
            retake_prices(v, scratch);
            return true;
        }
        if (tilt_ == Tilt::tried && each > BoxTuning::kSpared * untilted_) {
            tilt_ = Tilt::decided, prices_.are_tilted = false;
            retake_prices(v, scratch);
            return true;
        }
        if (tilt_ == Tilt::tried) tilt_ = Tilt::decided;
        if (each > useless * n_) boxes_ = nullptr;
        return false;
    }

    // Lists a row that list_nearest has seen.
    void extend(Index i, const D* v, ListScratch<T>& scratch) {
        const D guess = scratch.rows_until_guess == 0 ? scratch.guess : kInfinity<D>;
        list(kernels_.list_row, i, scratch.dense_row(i), v, guess, scratch);
        scratch.learn(guess, tau_[i]);
    }
    // Returns false if `kernel` checks the row and finds a NaN.
    bool list(typename CoreKernels<T>::ListRow kernel, Index i, const T* row, const D* v, D guess,
              ListScratch<T>& scratch, Index next = -1) {
        const T* const ahead = next >= 0 ? scratch.reader.place_of(next) : nullptr;
        count_[i] = kernel(row, ahead, n_, v, guess, origin(i), capacity_, most_, cols_.data() + at(i),
                           costs_.data() + at(i), &tau_[i], scratch.found.data(), scratch.value.data());
        if (count_[i] < 0) {
            count_[i] = 0;
            return false;
        }
        measure_gap(i, v);
        return true;
    }
    void measure_gap(Index i, const D* v) {
        D gap = tau_[i] < kInfinity<D> && count_[i] > 0 ? tau_[i] - best(i, v).first : D{0};
        if (count_[i] < 24) gap += gap / 2;
        gap_[i] = gap;
    }
    // The column from which ties are taken. Where the columns are in spatial order, so that those which tie follow one
    // another, each row begins among them with another one.
    Index origin(Index i) const {
        constexpr Index kStep = 40503;  // odd, and far from multiples of the length of a list
        if (all_boxes_ == nullptr || count_[i] == 0) return static_cast<Index>((std::int64_t{first_} + i) % n_);
        return cols_[at(i) + static_cast<std::size_t>(i) * kStep % count_[i]];
    }
    std::size_t at(Index i) const { return static_cast<std::size_t>(i) * capacity_; }
    [[noreturn]] void name_invalid_cost(Index i, const T* row) const {
        for (Index j = 0; j < n_; ++j) {
            if (row[j] != row[j]) throw InvalidCost{i, j};
            const T magnitude = row[j] < 0 ? -row[j] : row[j];
            if (magnitude > most_ && magnitude <= std::numeric_limits<T>::max()) throw CostTooLarge{i, j};
        }
        refuse_changed_costs();
    }
    void reject_negative_infinity(Index i) const {
        if constexpr (std::is_floating_point_v<T>)
            for (Index t = 0; t < count_[i]; ++t)
                if (costs_[at(i) + t] == -std::numeric_limits<T>::infinity()) throw InvalidCost{i, cols_[at(i) + t]};
    }

    // Only double can be too large; of the others the largest finite value is as good as any, and infinity may pass.
    static T largest_cost(const MatrixView<T>& cost) {
        if constexpr (std::is_same_v<T, double>) return cost_limit<double>(std::min(cost.rows, cost.cols));
        return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::max();
    }

    CoreKernels<T> kernels_;
    bool maximize_;
    T most_;           // the largest magnitude of a cost
    Index first_ = 0;  // the number of row 0 in the whole problem
    Index n_;
    const ColumnBoxes<T>* all_boxes_;        // null: none
    const ColumnBoxes<T>* boxes_ = nullptr;  // null: none, or no use, or no prices yet
    BoxPrices<T> prices_;                    // of boxes_; not below those that count now
    enum class Tilt { untried, tried, decided } tilt_ = Tilt::untried;
    double untilted_ = 0;  // costs a row that were computed before tilted prices were tried
    Index capacity_;
    Zeros<Index> cols_;         // [rows, capacity]
    Zeros<T> costs_;            // [rows, capacity], as minimised
    std::vector<Index> count_;  // [rows]
    std::vector<D> tau_;        // [rows]
    std::vector<D> gap_;        // [rows] tau - min when listed; 0 where the list is complete
};

}  // namespace lapwing
