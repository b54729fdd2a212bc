// Auction on sparse rows: prices that make the searches short.
//
// A free row takes its cheapest column j and lowers v[j] until its second choice is as good, and by epsilon more; the
// row that had j waits in a queue for its next bid. With epsilon > 0 this is a phase of Bertsekas' auction with epsilon
// scaling (Annals of Operations Research 14, 1988); with epsilon = 0 Jonker and Volgenant's augmenting row reduction
// (Computing 38, 1987), which leaves tight pairs. O(degree) a bid. Deviations: a phase has a limit of bids, since it
// only prepares prices; bids without epsilon end where a search is cheaper than the bids that it takes to place one row
// more, since wars between rows can be endless. The queue (first in, first out) tells which
// rows bid next, so that their costs are on their way from memory before they are read.
#pragma once

#include "lapwing/prefetch.hpp"
#include "lapwing/sparse/state.hpp"

namespace lapwing {

// Rows that wait for a bid, each at most once.
class RowQueue {
  public:
    explicit RowQueue(Index rows) : rows_(static_cast<std::size_t>(rows)) {}
    bool empty() const { return size_ == 0; }
    Index size() const { return size_; }
    void push(Index i) {
        rows_[last_] = i;
        last_ = last_ + 1 == rows_.size() ? 0 : last_ + 1;
        ++size_;
    }
    Index pop() {
        const Index i = rows_[first_];
        first_ = first_ + 1 == rows_.size() ? 0 : first_ + 1;
        --size_;
        return i;
    }
    // The row that is `ahead` places behind the first; any row if there are fewer.
    Index peek(std::size_t ahead) const {
        const std::size_t at = first_ + ahead;
        return rows_[at < rows_.size() ? at : at % rows_.size()];
    }

  private:
    std::vector<Index> rows_;
    std::size_t first_ = 0, last_ = 0;
    Index size_ = 0;
};

// Tells when bids no longer pay.
class BidsWatch {
  public:
    explicit BidsWatch(Index waiting) { begin(waiting); }
    // After a bid: whether the bids of a window placed too few rows for good.
    bool is_over(Index waiting) {
        if (--left_ > 0) return false;
        const bool poor = std::int64_t{kBidsPerRow} * (before_ - waiting) < window_;
        begin(waiting);
        return poor;
    }

  private:
    static constexpr Index kBidsPerRow = 60;  // take as long as a search
    static constexpr Index kLeast = 64;       // bids of a window

    void begin(Index waiting) {
        before_ = waiting;
        left_ = window_ = std::max(kLeast, waiting);
    }
    Index before_ = 0, window_ = 0, left_ = 0;
};

// Bids until no row waits, or the limit or the time is up, or bids without epsilon do not pay; rows that still wait
// stay free, as do rows without a column. With epsilon == 0 assigned rows' pairs are tight on return, and their u is
// feasible.
template <class T>
void sparse_auction(SparseState<T>& state, RowQueue& queue, Dual<T> epsilon, std::int64_t bid_limit) {
    using D = Dual<T>;
    constexpr std::size_t kAhead = 6;
    const std::int64_t last = state.bids + bid_limit;
    BidsWatch watch(queue.size());
    while (!queue.empty()) {
        if (state.bids >= last || state.control.poll(state.progress)) return;
        if (epsilon == D{0} && watch.is_over(queue.size())) return;
        __builtin_prefetch(&state.pairs.rows[queue.peek(2 * kAhead)]);
        const Index next = queue.peek(kAhead);
        prefetch(state.entries(next), static_cast<std::size_t>(state.pairs.rows[next].listed));
        const Index i = queue.pop();
        const BestPair<D> best = best_pair(state, i);
        ++state.bids;
        if (best.col == kExit) {
            state.u[i] = best.first;
            state.row_to_col[i] = kExit;
            continue;
        }
        if (best.col < 0) continue;
        const Index j = best.col, owner = state.col_to_row[j];
        const D step = best.second < kInfinity<D> ? best.second - best.first + epsilon : epsilon;
        const D price = state.v[j] - step;
        if (!(price < state.v[j]) && owner >= 0) continue;
        state.v[j] = price;
        state.u[i] = best.first + step;
        state.assign(i, j);
        if (owner >= 0) {
            state.row_to_col[owner] = -1;
            queue.push(owner);
        }
    }
}

}  // namespace lapwing
